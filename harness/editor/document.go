package editor

import (
	"context"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf8"

	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/edit/fix"
)

// maxText bounds the documents that are looked at, in bytes, as that of a template's file is.
const maxText = 4 << 20

// text is the text of a document, with the places of its lines.
type text struct {
	string
	lines []int // where each begins
}

// newText returns a text. Lines end as the protocol has it: LF, CR LF or CR.
func newText(s string) text {
	t := text{s, []int{0}}
	for i := range len(s) {
		if s[i] == '\n' || s[i] == '\r' && (i+1 == len(s) || s[i+1] != '\n') {
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// line returns where a line begins, and where it ends without its end of line.
func (t text) line(n int) (from, to int) {
	from, to = t.lines[n], len(t.string)
	if n+1 < len(t.lines) {
		to = t.lines[n+1]
	}
	return from, from + len(strings.TrimRight(t.string[from:to], "\r\n"))
}

// offset returns the place of a position. One outside of the text is moved to the end of its line,
// or of the text; one within a character to its start.
func (t text) offset(p position) int {
	if p.Line < 0 {
		return 0
	}
	if p.Line >= len(t.lines) {
		return len(t.string)
	}
	from, to := t.line(p.Line)
	units := 0
	for i, r := range t.string[from:to] {
		n := unitsOf(r)
		if units+n > p.Character {
			return from + i
		}
		units += n
	}
	return to
}

// position returns the position of a place.
func (t text) position(off int) position {
	off = max(0, min(off, len(t.string)))
	low, high := 0, len(t.lines)-1
	for low < high {
		if middle := (low + high + 1) / 2; t.lines[middle] <= off {
			low = middle
		} else {
			high = middle - 1
		}
	}
	_, end := t.line(low)
	units := 0
	for _, r := range t.string[t.lines[low]:min(off, end)] {
		units += unitsOf(r)
	}
	return position{low, units}
}

// unitsOf returns how many UTF-16 units a character takes.
func unitsOf(r rune) int {
	if r > 0xffff {
		return 2
	}
	return 1
}

func (t text) span(from, to int) span { return span{t.position(from), t.position(to)} }

// edited returns the text with a change, and where it was made: the text from from up to to is
// another one now.
func (t text) edited(c change) (is text, from, to int) {
	if c.Range == nil {
		return newText(c.Text), 0, len(t.string)
	}
	from, to = t.offset(c.Range.Start), t.offset(c.Range.End)
	to = max(from, to)
	return newText(t.string[:from] + c.Text + t.string[to:]), from, to
}

// at returns the place of a line and a column as people count them, from 1 and in characters.
func at(s string, line, col int) int {
	off := 0
	for ; line > 1; line-- {
		i := strings.IndexByte(s[off:], '\n')
		if i < 0 {
			return len(s)
		}
		off += i + 1
	}
	for ; col > 1 && off < len(s) && s[off] != '\n'; col-- {
		_, n := utf8.DecodeRuneInString(s[off:])
		off += n
	}
	return off
}

// document is a document that the client has opened.
type document struct {
	uri, path string
	version   int
	text      text
	shown     []finding          // as the client has them
	stop      context.CancelFunc // ends the look at it
	look      *look              // the last one that began
}

// part is a template of a document: all of it, or a string in it.
type part struct {
	src subject.Source
	at  []int // where each byte of the template, and its end, is spelled; nil: the document is it
}

// in returns where a place of the template stands in the document.
func (p part) in(off int) int {
	switch {
	case p.at == nil:
		return off
	case len(p.at) == 0:
		return 0
	}
	return p.at[max(0, min(off, len(p.at)-1))]
}

// of returns the place in the template that stands at a place of the document.
func (p part) of(off int) (int, bool) {
	if p.at == nil {
		return off, true
	}
	if len(p.at) == 0 || off < p.at[0] || off > p.at[len(p.at)-1] {
		return 0, false
	}
	for i, at := range p.at {
		if at >= off {
			return i, true
		}
	}
	return 0, false
}

// partsOf returns the templates of a document. The error is that of a text that cannot be read.
func partsOf(path, text string) ([]part, error) {
	sources, err := subject.Texts(path, text)
	if err != nil {
		return nil, err
	}
	parts := make([]part, 0, len(sources))
	for _, src := range sources {
		if src.Text == text {
			return append(parts, part{src: src}), nil
		}
		spelled, err := fix.Spelled(text, src.Text)
		if err != nil {
			return nil, err
		}
		if len(spelled) > 0 { // the others say the same
			parts = append(parts, part{src, spelled[0]})
		}
	}
	return parts, nil
}

// pathOf returns the path of a file by its URI; a document that is no file has its URI as its name.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return uri
	}
	path := u.Path
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, "/")
	}
	return filepath.FromSlash(path)
}

// uriOf returns the URI of a file.
func uriOf(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
