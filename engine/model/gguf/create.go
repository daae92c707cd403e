package gguf

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/goassay/assay/engine/source"
)

// version is the version of new files.
const version = maxVersion

// Content is a tensor to write: its entry in the header, less the offset, and its bytes.
type Content struct {
	Tensor
	Data io.Reader // gives exactly as many bytes as the tensor takes, in the file's byte order
}

// Create writes a file of pairs and tensors, in the given order, version 3, little-endian unless
// another byte order is given. Offsets follow from the sizes; the alignment is that of the pair
// "general.alignment", where there is one.
func Create(w io.Writer, order ByteOrder, pairs []Pair, tensors []Content) error {
	if order == nil {
		order = binary.LittleEndian
	}
	alignment := int64(defaultAlignment)
	seen := map[string]bool{}
	for _, p := range pairs {
		if err := unique(seen, "key", p.Key); err != nil {
			return err
		}
		if p.Key == alignmentKey {
			n, ok := p.Value.Uint()
			if err := checkAlignment(n, ok); err != nil {
				return err
			}
			alignment = int64(n)
		}
	}
	e := &encoder{w: w, order: order}
	e.header(version, len(tensors), len(pairs))
	for _, p := range pairs {
		e.pair(p.Key, p.Value)
	}
	clear(seen)
	var offset uint64
	for _, c := range tensors {
		if err := unique(seen, "tensor", c.Name); err != nil {
			return err
		}
		c.Offset = offset
		if err := c.writable(alignment); err != nil {
			return fmt.Errorf("tensor %q cannot be written: %w", c.Name, err)
		}
		n, _ := c.Bytes()
		e.tensor(c.Tensor)
		offset = uint64(align(int64(offset+n), alignment))
	}
	for _, c := range tensors {
		e.pad(alignment)
		n, _ := c.Bytes()
		if e.copy(c.Data, int64(n)); e.err != nil {
			return fmt.Errorf("tensor %q: %w", c.Name, e.err)
		}
	}
	return e.err
}

// writable judges a tensor by itself, as Open would, and demands that its size be known.
func (t Tensor) writable(alignment int64) error {
	if _, ok := layouts[t.Type]; !ok {
		return fmt.Errorf("its type, %s, is not known", t.Type)
	}
	if len(t.Dims) > maxDims {
		return fmt.Errorf("%d dimensions, expected at most %d", len(t.Dims), maxDims)
	}
	return t.check(uint64(alignment))
}

// unique checks a name, and that it is new.
func unique(seen map[string]bool, what, name string) error {
	if err := checkName(name); err != nil {
		return fmt.Errorf("%s %q %w", what, source.Cut(name, maxQuoted), err)
	}
	if seen[name] {
		return fmt.Errorf("%s %q is given twice", what, source.Cut(name, maxQuoted))
	}
	seen[name] = true
	return nil
}

// encoder writes a file. The first error stays, and stops it.
type encoder struct {
	w     io.Writer
	order ByteOrder
	n     int64 // bytes written
	buf   []byte
	err   error
}

func (e *encoder) bytes(b []byte) {
	if e.err != nil {
		return
	}
	n, err := e.w.Write(b)
	e.n, e.err = e.n+int64(n), err
}

func (e *encoder) uint32(v uint32) { e.bytes(e.order.AppendUint32(e.buf[:0], v)) }
func (e *encoder) uint64(v uint64) { e.bytes(e.order.AppendUint64(e.buf[:0], v)) }

func (e *encoder) text(s string) {
	e.uint64(uint64(len(s)))
	e.bytes([]byte(s))
}

func (e *encoder) header(version uint32, tensors, pairs int) {
	e.bytes([]byte(magic))
	e.uint32(version)
	e.uint64(uint64(tensors))
	e.uint64(uint64(pairs))
}

func (e *encoder) pair(key string, v Value) {
	e.text(key)
	e.uint32(uint32(v.typ))
	e.value(v)
}

func (e *encoder) value(v Value) {
	switch v.typ {
	case String:
		e.text(v.text)
	case ArrayType:
		e.uint32(uint32(v.array.Type))
		e.uint64(v.array.Len)
		for item, err := range v.array.All() {
			if err != nil && e.err == nil {
				e.err = err
			}
			e.value(item)
		}
	case Uint8, Int8, Bool:
		e.bytes([]byte{byte(v.bits)})
	case Uint16, Int16:
		e.bytes(e.order.AppendUint16(e.buf[:0], uint16(v.bits)))
	case Uint32, Int32:
		e.uint32(uint32(v.bits))
	case Float32:
		e.uint32(math.Float32bits(float32(math.Float64frombits(v.bits))))
	default:
		e.uint64(v.bits)
	}
}

func (e *encoder) tensor(t Tensor) {
	e.text(t.Name)
	e.uint32(uint32(len(t.Dims)))
	for _, d := range t.Dims {
		e.uint64(d)
	}
	e.uint32(uint32(t.Type))
	e.uint64(t.Offset)
}

// pad writes zeros up to a multiple of the alignment.
func (e *encoder) pad(alignment int64) {
	e.bytes(make([]byte, align(e.n, alignment)-e.n))
}

// copy copies exactly n bytes.
func (e *encoder) copy(r io.Reader, n int64) {
	if e.err != nil {
		return
	}
	copied, err := io.CopyN(e.w, r, n)
	if err == io.EOF {
		err = fmt.Errorf("%d bytes of data, expected %d: %w", copied, n, io.ErrUnexpectedEOF)
	}
	e.n, e.err = e.n+copied, err
}
