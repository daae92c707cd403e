package census

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxLine bounds a line of a file, in bytes: a template that 500,000 places hold.
const maxLine = 128 << 20

// Write writes a header and the lines that next returns until io.EOF.
func Write(w io.Writer, h Header, next func() (Line, error)) error {
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
	last   string // the digest of the line before
}

// NewReader reads the header.
func NewReader(r io.Reader) (*Reader, error) {
	f := &Reader{in: bufio.NewScanner(r)}
	f.in.Buffer(nil, maxLine)
	if err := f.next(&f.Header); err == io.EOF {
		return nil, errors.New("it is empty, expected the results of `assay survey`")
	} else if err != nil {
		return nil, fmt.Errorf("%w; expected the results of `assay survey`", err)
	}
	h := f.Header
	switch {
	case h.Census != Format:
		return nil, fmt.Errorf("line 1: census is %d, expected %d: it is of another version of "+
			"this program, or of another one", h.Census, Format)
	case !h.inOrder():
		return nil, fmt.Errorf("line 1: of is %d and parts are %d, expected parts in order, "+
			"within 1 to of", h.Of, h.Parts)
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

// Next returns the next line, or io.EOF.
func (f *Reader) Next() (Line, error) {
	var line Line
	if err := f.next(&line); err != nil {
		return line, err
	}
	if line.Digest <= f.last || len(line.Entries) == 0 {
		return line, fmt.Errorf("line %d: expected a template with its entries, in the order of "+
			"the digests", f.line)
	}
	f.last = line.Digest
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

// Merge joins files of one census into the file that one process would have written, and returns
// its header and lines. Files that were merged before can be merged again. Unless partial is set
// every shard must be there.
func Merge(files []*Reader, names []string, partial bool) (Header, func() (Line, error), error) {
	if len(files) == 0 {
		return Header{}, nil, errors.New("there are no results to merge")
	}
	h := files[0].Header
	h.Parts = nil
	from := map[int]string{}
	for i, f := range files {
		switch g := f.Header; {
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
	return h, merged(files, names), nil
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
func merged(files []*Reader, names []string) func() (Line, error) {
	heads := make([]*Line, len(files))
	done := make([]bool, len(files))
	return func() (Line, error) {
		first := -1
		for i, f := range files {
			if heads[i] == nil && !done[i] {
				line, err := f.Next()
				switch {
				case err == io.EOF:
					done[i] = true
				case err != nil:
					return Line{}, fmt.Errorf("%s: %w", names[i], err)
				default:
					heads[i] = &line
				}
			}
			if heads[i] == nil {
				continue
			}
			if first >= 0 && heads[i].Digest == heads[first].Digest {
				return Line{}, fmt.Errorf("%s and %s both have the template %s", names[first],
					names[i], heads[i].Digest)
			}
			if first < 0 || heads[i].Digest < heads[first].Digest {
				first = i
			}
		}
		if first < 0 {
			return Line{}, io.EOF
		}
		line := *heads[first]
		heads[first] = nil
		return line, nil
	}
}
