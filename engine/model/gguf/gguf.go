// Package gguf reads and writes the metadata of model files in the GGUF format.
//
// # Terminology
//
// A file holds a header and data. The header is the magic, a version, two counts, the key-value
// pairs and the tensor infos; the data are the tensors' bytes, each at an aligned offset. A value
// is a number, a boolean, a text or an array. A named template is a chat template under
// "tokenizer.chat_template.NAME"; the default one has no name. A model may be split into parts, of
// which the first holds the metadata.
//
// # Model
//
// [Open] reads the header once, front to back, through an [io.ReaderAt], so that a file may as well
// be a remote one that is read by ranges. Numbers, booleans and texts are kept; an array is only
// measured, and read where somebody asks ([Array]): a vocabulary of 150,000 texts costs a walk over
// their lengths. The data are never read. Versions 2 and 3 are understood, in either byte order.
//
// [File.Info] reads a model's description of itself: architecture, size, templates, special tokens.
// [Create] writes a file from values and tensors. [Retemplate] copies a file with another chat
// template, and [RetemplateFile] does that from path to path.
//
// # Specifications followed
//
// The comment at the head of ggml/include/gguf.h, and of types and file types the enumerations in
// ggml/include/ggml.h and include/llama.h, of llama.cpp 0.5.0. Keys are those of the same version's
// gguf-py documentation.
//
// # Limits
//
// Files are untrusted. Every length and count is compared with the bytes that are left before
// anything is allocated. Opening takes time linear in the header, and memory of at most 16 times
// the header's length and one buffer of 64 KiB.
//
//	header                 256 MiB     the largest known vocabulary takes 20 MB
//	keys                   65,536      files have less than a hundred
//	tensors                262,144     the largest known files have a few thousand
//	alignment              1 MiB       files use 32
//	arrays within arrays   8 deep      files use none
//	dimensions             4           GGML_MAX_DIMS
//	named templates        256         files have one or two; Info leaves the others out
//
// A tensor must lie within the file, at an aligned offset, and overlap no other; keys and names of
// tensors must be unique. A file that breaks this is cut off or was made to confuse, and is not
// opened.
//
// # Errors
//
// [Error] names a fault and its byte in the file. An error of the underlying reader is wrapped as
// the cause of one.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package gguf

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goassay/assay/engine/internal/bailout"
	"github.com/goassay/assay/engine/source"
)

// Error is a problem at a byte of a file.
type Error struct {
	Off int64  // where, counted from the file's first byte
	Msg string // the fault, the expectation, the remedy
	Err error  // the cause; may be nil
}

// Error returns "byte N: message".
func (e *Error) Error() string { return fmt.Sprintf("byte %d: %s", e.Off, e.Msg) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func errorf(off int64, format string, args ...any) *Error {
	return &Error{Off: off, Msg: fmt.Sprintf(format, args...)}
}

// The format's constants.
const (
	magic            = "GGUF"
	minVersion       = 2 // version 1 wrote lengths in 32 bits
	maxVersion       = 3
	defaultAlignment = 32
	alignmentKey     = "general.alignment"
)

// The limits; see the package's comment.
const (
	maxHeader    = 256 << 20 // bytes
	maxPairs     = 1 << 16
	maxTensors   = 1 << 18
	maxAlignment = 1 << 20 // bytes
	maxDepth     = 8       // arrays within arrays
	maxDims      = 4
	maxTemplates = 256 // named ones that Info returns
)

// The fewest bytes that a pair and a tensor's info take: a length, a text of at least one byte, and
// the rest.
const (
	minPair   = 8 + 1 + 4 + 1
	minTensor = 8 + 1 + 4 + 4 + 8
)

// File is an opened file. It is safe for concurrent use if its reader is.
type File struct {
	Version   uint32
	Order     ByteOrder // of numbers, in the header and in the data
	Size      int64     // of the file, in bytes
	Alignment int64     // of data, in bytes
	Pairs     []Pair    // in the file's order
	Tensors   []Tensor  // in the file's order
	// Data is where the data begin, in bytes from the file's start; Size where there are none.
	Data int64

	r        io.ReaderAt
	infos    int64 // where the tensor infos begin, and
	infosEnd int64 // where they end
	index    map[string]int
}

// Pair is a key with its value.
type Pair struct {
	Key   string
	Value Value

	off, end int64 // where it lies in the file
}

// Tensor is the header's entry of a tensor.
type Tensor struct {
	Name   string
	Dims   []uint64 // innermost first
	Type   TensorType
	Offset uint64 // in bytes from the start of the data
}

// Elements returns the number of elements. It is at most 2^63 in an opened file.
func (t Tensor) Elements() uint64 {
	n := uint64(1)
	for _, d := range t.Dims {
		n *= d
	}
	return n
}

// Bytes returns the number of bytes that the tensor takes. It is false where its type is not known.
func (t Tensor) Bytes() (uint64, bool) {
	layout, ok := layouts[t.Type]
	if !ok {
		return 0, false
	}
	return t.Elements() / layout.block * layout.bytes, true
}

func (t Tensor) String() string {
	return fmt.Sprintf("%s: %v %s at %d", t.Name, t.Dims, t.Type, t.Offset)
}

// Open reads the header of a file of a given size in bytes.
func Open(r io.ReaderAt, size int64) (file *File, err error) {
	f := &File{Size: size, r: r}
	s := newScanner(r, 0, size)
	defer bailout.Catch[*Error](&err)
	pairs, tensors := f.open(s)
	f.readPairs(s, pairs)
	f.Alignment = f.alignment()
	f.infos = s.pos
	f.readTensors(s, tensors)
	f.infosEnd = s.pos
	f.Data = min(align(s.pos, f.Alignment), size)
	return f, f.checkTensors()
}

// attempt calls a function of a [scanner]. They leave by panic where the file has a fault.
func attempt[T any](read func() T) (v T, err error) {
	defer bailout.Catch[*Error](&err)
	return read(), nil
}

// open reads magic, version and counts.
func (f *File) open(s *scanner) (pairs, tensors uint64) {
	b := s.take(4)
	if string(b) != magic {
		panic(errorf(0, "expected %q, found %q: this is not a GGUF file", magic, b))
	}
	b = s.take(4)
	// A version is a small number, so the order in which it is one is the file's.
	f.Order = binary.LittleEndian
	if f.Version = f.Order.Uint32(b); f.Version&0xffff == 0 {
		f.Order = binary.BigEndian
		f.Version = f.Order.Uint32(b)
	}
	s.order = f.Order
	if f.Version < minVersion || f.Version > maxVersion {
		panic(errorf(4, "version %d is not supported, only 2 and 3 are; convert "+
			"the model again", f.Version))
	}
	if tensors = s.count("tensors", minTensor); tensors > maxTensors {
		panic(errorf(s.pos-8, "%d tensors, expected at most %d", tensors, maxTensors))
	}
	if pairs = s.count("key-value pairs", minPair); pairs > maxPairs {
		panic(errorf(s.pos-8, "%d key-value pairs, expected at most %d", pairs, maxPairs))
	}
	return pairs, tensors
}

func (f *File) readPairs(s *scanner, n uint64) {
	f.Pairs, f.index = make([]Pair, 0, n), make(map[string]int, n)
	for range n {
		p := Pair{off: s.pos}
		p.Key = s.name("key")
		if i, ok := f.index[p.Key]; ok {
			panic(errorf(p.off, "key %q is there twice, first at byte %d", p.Key, f.Pairs[i].off))
		}
		p.Value = within("key", p.Key, func() Value { return s.value(s.valueType(), 0) })
		p.end = s.pos
		f.index[p.Key] = len(f.Pairs)
		f.Pairs = append(f.Pairs, p)
	}
}

// within calls a function of a [scanner] that reads a part of a name, which goes before the message
// of a fault.
func within[T any](part, name string, read func() T) T {
	v, err := attempt(read)
	if e, ok := err.(*Error); ok {
		panic(&Error{Off: e.Off, Msg: fmt.Sprintf("%s %q: %s", part, name, e.Msg), Err: e.Err})
	}
	return v
}

func (f *File) alignment() int64 {
	p, ok := f.Find(alignmentKey)
	if !ok {
		return defaultAlignment
	}
	n, ok := p.Value.Uint()
	if err := checkAlignment(n, ok); err != nil {
		panic(errorf(p.off, "%v", err))
	}
	return int64(n)
}

// checkAlignment judges an alignment; ok reports that it is a number at all.
func checkAlignment(n uint64, ok bool) error {
	if !ok || n == 0 || n&(n-1) != 0 || n > maxAlignment {
		return fmt.Errorf("%s must be a power of two, at most %d", alignmentKey, maxAlignment)
	}
	return nil
}

func align(off, alignment int64) int64 { return (off + alignment - 1) / alignment * alignment }

func (f *File) readTensors(s *scanner, n uint64) {
	f.Tensors = make([]Tensor, 0, n)
	seen := make(map[string]bool, n)
	var total uint64
	for range n {
		off := s.pos
		name := s.name("name of a tensor")
		if seen[name] {
			panic(errorf(off, "tensor %q is there twice", name))
		}
		seen[name] = true
		t := within("tensor", name, s.tensor)
		t.Name = name
		if err := t.check(uint64(f.Alignment)); err != nil {
			panic(errorf(off, "tensor %q: %v", t.Name, err))
		}
		if total += t.Elements(); total > maxElements {
			panic(errorf(off, "tensor %q: more than 2^63 elements in all", t.Name))
		}
		f.Tensors = append(f.Tensors, t)
	}
}

// tensor reads the entry after a tensor's name.
func (s *scanner) tensor() (t Tensor) {
	dims := s.uint32()
	if dims > maxDims {
		panic(errorf(s.pos-4, "%d dimensions, expected at most %d", dims, maxDims))
	}
	t.Dims = make([]uint64, dims)
	for i := range t.Dims {
		t.Dims[i] = s.uint64()
	}
	t.Type = TensorType(s.uint32())
	t.Offset = s.uint64()
	return t
}

const maxElements = 1 << 63

// check judges a tensor by itself.
func (t Tensor) check(alignment uint64) error {
	n := uint64(1)
	for _, d := range t.Dims {
		if d > 0 && n > maxElements/d {
			return fmt.Errorf("dimensions %d: more than 2^63 elements", t.Dims)
		}
		n *= d
	}
	if t.Offset%alignment != 0 {
		return fmt.Errorf("offset %d is not a multiple of the alignment %d", t.Offset, alignment)
	}
	layout, ok := layouts[t.Type]
	if !ok {
		return nil
	}
	row := uint64(1)
	if len(t.Dims) > 0 {
		row = t.Dims[0]
	}
	if row%layout.block != 0 {
		return fmt.Errorf("rows of %d elements, expected a multiple of %d as %s "+
			"is made of blocks", row, layout.block, t.Type)
	}
	if n/layout.block > maxElements/layout.bytes {
		return fmt.Errorf("dimensions %d: more than 2^63 bytes", t.Dims)
	}
	return nil
}

// checkTensors compares the tensors with the file and with each other.
func (f *File) checkTensors() error {
	room := uint64(f.Size - f.Data)
	order := make([]int, len(f.Tensors))
	for i, t := range f.Tensors {
		order[i] = i
		n, known := t.Bytes()
		if t.Offset > room || known && n > room-t.Offset {
			return errorf(f.Size, "tensor %q: %d bytes at %d of the data, which begin at byte "+
				"%d, end beyond the file: it is cut off, or damaged",
				t.Name, n, t.Offset, f.Data)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(f.Tensors[i].Offset, f.Tensors[j].Offset)
	})
	var end uint64
	var last string
	for _, i := range order {
		t := f.Tensors[i]
		n, _ := t.Bytes()
		if n == 0 {
			continue
		}
		if t.Offset < end {
			return errorf(f.Data+int64(t.Offset), "tensors %q and %q overlap", last, t.Name)
		}
		end, last = t.Offset+n, t.Name
	}
	return nil
}

// Find returns the pair with a key.
func (f *File) Find(key string) (Pair, bool) {
	i, ok := f.index[key]
	if !ok {
		return Pair{}, false
	}
	return f.Pairs[i], true
}

// String lists pairs and tensors, one a line.
func (f *File) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "version %d, %s, alignment %d, "+
		"data at %d of %d\n", f.Version, f.Order, f.Alignment, f.Data, f.Size)
	for _, p := range f.Pairs {
		fmt.Fprintf(&b, "%s = %s\n", p.Key, p.Value)
	}
	for _, t := range f.Tensors {
		fmt.Fprintln(&b, t)
	}
	return b.String()
}

// scanner reads a file's header front to back.
type scanner struct {
	r     io.ReaderAt
	end   int64 // where reading must stop: the file's size, or the end of an array
	limit int64 // the first byte that is too far from the start
	order ByteOrder
	pos   int64  // of the next byte
	buf   []byte // the bytes from start on
	start int64
}

// window is the size of a read, in bytes.
const window = 64 << 10

func newScanner(r io.ReaderAt, pos, end int64) *scanner {
	return &scanner{r: r, pos: pos, end: end, limit: maxHeader, start: pos,
		order: binary.LittleEndian}
}

// room checks that n bytes can follow.
func (s *scanner) room(n uint64) {
	switch left := s.end - s.pos; {
	case n > uint64(max(left, 0)):
		panic(errorf(s.pos, "%d bytes are expected, and %d are left: the file is cut "+
			"off, or damaged", n, left))
	case n > uint64(max(s.limit-s.pos, 0)):
		panic(errorf(s.pos, "the header is longer than %d MiB", maxHeader>>20))
	}
}

// take returns the next n bytes, at most a window; they are valid until the next call.
func (s *scanner) take(n int) []byte {
	if at := s.pos - s.start; at >= 0 && at+int64(n) <= int64(len(s.buf)) {
		s.pos += int64(n)
		return s.buf[at : at+int64(n)]
	}
	s.room(uint64(n))
	want := int(min(window, s.end-s.pos))
	if cap(s.buf) < want {
		s.buf = make([]byte, want)
	}
	s.buf, s.start = s.buf[:want], s.pos
	if err := readFull(s.r, s.buf, s.pos); err != nil {
		s.buf = s.buf[:0]
		panic(err)
	}
	s.pos += int64(n)
	return s.buf[:n]
}

// readFull fills b from an offset.
func readFull(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return &Error{Off: off + int64(n), Msg: fmt.Sprintf("reading: %v", err), Err: err}
}

func (s *scanner) uint32() uint32 {
	return s.order.Uint32(s.take(4))
}

func (s *scanner) uint64() uint64 {
	return s.order.Uint64(s.take(8))
}

// count reads how many things follow, each of at least so many bytes.
func (s *scanner) count(what string, least uint64) uint64 {
	n := s.uint64()
	if left := uint64(s.end - s.pos); n > left/least {
		panic(errorf(s.pos-8, "%d %s, and %d bytes are left: the file is cut "+
			"off, or damaged", n, what, left))
	}
	return n
}

// text reads a length and as many bytes.
func (s *scanner) text() string {
	n := s.uint64()
	if n <= window {
		return string(s.take(int(n)))
	}
	s.room(n)
	b := make([]byte, n)
	if err := readFull(s.r, b, s.pos); err != nil {
		panic(err)
	}
	s.pos += int64(n)
	return string(b)
}

// name reads a text that names something.
func (s *scanner) name(what string) string {
	off := s.pos
	name := s.text()
	if problem := checkName(name); problem != nil {
		panic(errorf(off, "%s %q %v", what, source.Cut(name, maxQuoted), problem))
	}
	return name
}

func checkName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("is empty")
	case !utf8.ValidString(name):
		return fmt.Errorf("is not valid UTF-8")
	case strings.ContainsRune(name, 0):
		return fmt.Errorf("has a null byte in it")
	}
	return nil
}

// maxQuoted bounds a foreign text in a message, in bytes.
const maxQuoted = 64

// skip moves on without reading.
func (s *scanner) skip(n uint64) {
	s.room(n)
	s.pos += int64(n)
}
