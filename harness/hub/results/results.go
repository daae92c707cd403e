// Package results has the files in which the shards of a work leave their results, and joins them.
//
// # Model
//
// A file of JSON lines: a [Header] that names the manifest, the program's version and the shard,
// then a [Line] for each thing that was judged, in the order of their keys. [Write] writes one
// while the lines come, [Merge] joins those of all shards to the file that one process would have
// written, to the byte; the result can be merged again.
//
// # Limits
//
// A line has at most 128 MiB. A merge keeps a line of each file in memory.
//
// # Errors
//
// Files that do not belong together, and shards that are missing, are errors that name them.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package results

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goassay/assay/harness/hub/manifest"
)

// maxLine bounds a line of a file, in bytes: a template that 500,000 places hold.
const maxLine = 128 << 20

// The kinds of results.
const (
	Survey = "survey" // of templates: package census
	Fleet  = "fleet"  // of models: package fleet
)

// maxShards bounds the shards of a run.
const maxShards = 1_000_000

// Format is the version of the files.
const Format = 2

// Header is the first line of a file.
type Header struct {
	Results  string `json:"results"` // [Survey] or [Fleet]
	Format   int    `json:"format"`
	Version  string `json:"version"`  // of the program that judged
	Manifest string `json:"manifest"` // its digest
	Entries  int    `json:"entries"`  // of the whole manifest
	Of       int    `json:"of"`       // the number of shards; 1 where the file has everything
	Parts    []int  `json:"parts"`    // the shards that the file has, in order, counted from 1
}

// NewHeader returns the header of a shard's file, without the manifest.
func NewHeader(kind, version string, shard manifest.Shard) Header {
	return Header{Results: kind, Format: Format, Version: version, Of: max(1, shard.Of),
		Parts: []int{max(1, shard.Part)}}
}

// Name is the name of the file of a shard.
func (h Header) Name() string {
	return fmt.Sprintf("%.16s.%d-of-%d.jsonl", h.Manifest, h.Parts[0], h.Of)
}

// Line has the findings of one thing.
type Line interface {
	Key() string  // its digest; "" where the line is of nothing
	Places() int  // how many entries of the manifest hold the thing
	Check() error // why the line is none that this program writes; nil: it is one
}

// CheckEntries returns why the places of a line are none of a manifest of a kind that hold what has
// the digest.
func CheckEntries(digest, what string, entries []manifest.Entry) error {
	for _, e := range entries {
		if err := e.Check(what); err != nil {
			return err
		}
		if e.Digest != digest {
			return fmt.Errorf("the digest of %.80q is %.16s, that of its line %.80q", e.Where,
				e.Digest, digest)
		}
	}
	return nil
}

// Write writes a header and the lines that next returns until io.EOF.
func Write[T Line](w io.Writer, h Header, next func() (T, error)) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	if err := out.Encode(h); err != nil {
		return err
	}
	for {
		line, err := next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := out.Encode(line); err != nil {
			return err
		}
	}
}

// Reader reads a file that Write wrote.
type Reader struct {
	Header Header
	in     *bufio.Scanner
	line   int
	last   string // the key of the line before
	places int    // entries of the lines so far
}

// expected are the commands that write results.
const expected = "the results of `assay survey` or `assay live --manifest`"

// NewReader reads the header of results of a kind; "": of any.
func NewReader(r io.Reader, kind string) (*Reader, error) {
	f := &Reader{in: bufio.NewScanner(r)}
	f.in.Buffer(nil, maxLine)
	if err := f.next(&f.Header); err == io.EOF {
		return nil, errors.New("it is empty, expected " + expected)
	} else if err != nil {
		return nil, fmt.Errorf("%w; expected %s", err, expected)
	}
	h := f.Header
	switch {
	case h.Format != Format:
		return nil, fmt.Errorf("line 1: format is %d, expected %d: it is of another version of "+
			"this program, or of another one", h.Format, Format)
	case h.Results != Survey && h.Results != Fleet || kind != "" && h.Results != kind:
		return nil, fmt.Errorf("line 1: results is %.40q, expected %s", h.Results, expected)
	case !manifest.IsDigest(h.Manifest):
		return nil, fmt.Errorf("line 1: manifest is %.80q, expected a SHA-256 in 64 hexadecimal "+
			"digits", h.Manifest)
	case h.Entries < 0:
		return nil, fmt.Errorf("line 1: entries is %d, expected those of the manifest", h.Entries)
	case h.Of > maxShards:
		return nil, fmt.Errorf("line 1: of is %d, expected at most %d shards", h.Of, maxShards)
	case !h.inOrder():
		return nil, fmt.Errorf("line 1: of is %d and parts are %.80s, expected parts in "+
			"order, within 1 to of", h.Of, fmt.Sprint(h.Parts))
	}
	return f, nil
}

// inOrder reports whether the shards of a header are within bounds, each once and in order.
func (h Header) inOrder() bool {
	last := 0
	for _, part := range h.Parts {
		if part <= last || part > h.Of {
			return false
		}
		last = part
	}
	return last > 0
}

// whole reports whether a header is of all shards.
func (h Header) whole() bool { return len(h.Parts) == h.Of }

// tally returns why lines with so many places, all of them where at the end, are not the results of
// the header's manifest. A file that lacks lines is found by it.
func (h Header) tally(places int, end bool) error {
	if places > h.Entries || end && h.whole() && places < h.Entries {
		return fmt.Errorf("the lines have %d places, and the manifest has %d "+
			"entries: lines are missing, or made up", places,
			h.Entries)
	}
	return nil
}

// Next returns the next line, or io.EOF.
func Next[T Line](f *Reader) (T, error) {
	var line T
	if err := f.next(&line); err == io.EOF {
		return line, cmp.Or(f.Header.tally(f.places, true), err)
	} else if err != nil {
		return line, err
	}
	f.places += line.Places()
	if err := f.Header.tally(f.places, false); err != nil {
		return line, fmt.Errorf("line %d: %w", f.line, err)
	}
	if line.Key() <= f.last {
		return line, fmt.Errorf("line %d: expected a digest with its entries, in the order of "+
			"the digests", f.line)
	}
	f.last = line.Key()
	if err := line.Check(); err != nil {
		return line, fmt.Errorf("line %d: %w", f.line, err)
	}
	return line, nil
}

func (f *Reader) next(to any) error {
	if !f.in.Scan() {
		if err := f.in.Err(); err != nil {
			return fmt.Errorf("line %d: %w", f.line+1, err)
		}
		return io.EOF
	}
	f.line++
	d := json.NewDecoder(bytes.NewReader(f.in.Bytes()))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return fmt.Errorf("line %d: %w", f.line, err)
	}
	return nil
}

// Merge joins files of one manifest into the file that one process would have written, and returns
// its header and lines. Files that were merged before can be merged again. Unless partial is set
// every shard must be there.
func Merge[T Line](files []*Reader, names []string, partial bool) (Header, func() (T, error),
	error) {
	if len(files) == 0 {
		return Header{}, nil, errors.New("there are no results to merge")
	}
	h := files[0].Header
	h.Parts = nil
	from := map[int]string{}
	for i, f := range files {
		switch g := f.Header; {
		case g.Results != h.Results:
			return h, nil, fmt.Errorf("%s has results of a %s, and %s of a %s", names[i], g.Results,
				names[0], h.Results)
		case g.Manifest != h.Manifest || g.Entries != h.Entries:
			return h, nil, fmt.Errorf("%s is of the manifest %.16s, and %s of %.16s", names[i],
				g.Manifest, names[0], h.Manifest)
		case g.Of != h.Of:
			return h, nil, fmt.Errorf("%s is of %d shards, and %s of %d", names[i], g.Of, names[0],
				h.Of)
		case g.Version != h.Version:
			return h, nil, fmt.Errorf("%s was made by version %.40s, and %s by %.40s", names[i],
				g.Version, names[0], h.Version)
		}
		for _, part := range f.Header.Parts {
			if other, twice := from[part]; twice {
				return h, nil, fmt.Errorf("%s and %s both have shard %d of %d", other, names[i],
					part, h.Of)
			}
			from[part] = names[i]
			h.Parts = append(h.Parts, part)
		}
	}
	slices.Sort(h.Parts)
	switch missing := h.missing(); {
	case missing == "":
		h.Of, h.Parts = 1, []int{1}
	case !partial:
		return h, nil, fmt.Errorf("of %d shards of the manifest %.16s these are missing: %s", h.Of,
			h.Manifest, missing)
	}
	next, places := merged[T](files, names), 0
	return h, func() (T, error) {
		line, err := next()
		if err == nil {
			places += line.Places()
		}
		if err == nil || err == io.EOF {
			err = cmp.Or(h.tally(places, err == io.EOF), err)
		}
		return line, err
	}, nil
}

// missing lists the shards that are not there, the first twenty of them.
func (h Header) missing() string {
	var list []string
	n := 0
	for part := 1; part <= h.Of; part++ {
		if _, found := slices.BinarySearch(h.Parts, part); found {
			continue
		}
		if n++; n <= 20 {
			list = append(list, fmt.Sprint(part))
		}
	}
	if n > 20 {
		list = append(list, fmt.Sprintf("and %d more", n-20))
	}
	return strings.Join(list, ", ")
}

// merged returns the lines of all files in the order of their digests.
func merged[T Line](files []*Reader, names []string) func() (T, error) {
	var none T
	heads := make([]*T, len(files))
	done := make([]bool, len(files))
	return func() (T, error) {
		first := -1
		for i, f := range files {
			if heads[i] == nil && !done[i] {
				line, err := Next[T](f)
				switch {
				case err == io.EOF:
					done[i] = true
				case err != nil:
					return none, fmt.Errorf("%s: %w", names[i], err)
				default:
					heads[i] = &line
				}
			}
			if heads[i] == nil {
				continue
			}
			if first >= 0 && (*heads[i]).Key() == (*heads[first]).Key() {
				return none, fmt.Errorf("%s and %s both have %s", names[first],
					names[i], (*heads[i]).Key())
			}
			if first < 0 || (*heads[i]).Key() < (*heads[first]).Key() {
				first = i
			}
		}
		if first < 0 {
			return none, io.EOF
		}
		line := *heads[first]
		heads[first] = nil
		return line, nil
	}
}
