// Package source holds texts with positions and the one positioned error type.
//
// # Terminology
//
// An offset is a 0-based byte index into a text. A position, for people, is a line and a column,
// both 1-based; the column counts runes. Lines end at a line feed.
//
// # Texts in messages
//
// [Cut], [CutFront] and [CutMiddle] shorten foreign texts for messages, and are the one way to;
// [Printable] escapes them.
//
// # Errors
//
// [Error] is the error of every reader of foreign text (templates, grammars, case files, vectors,
// JSON). It prints as "file:line:column: message"; [Error.Detail] adds the line with a caret under
// the place, and the remedy.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package source

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Source is a named text.
type Source struct {
	Name string // its name in errors: a file name, usually
	Text string
	// the number of the text's first line, where it is a part of the file; 0 is the beginning
	First int

	index sync.Once
	marks []mark // one in each page of the text; nil: the text is short
}

// page is how many bytes of a text lie between two marks.
const page = 1 << 10

// mark is a place of a text whose position is known.
type mark struct{ off, feeds, col int } // line feeds and, of its line, runes before it

// New returns a source. An empty name prints as "<input>".
func New(name, text string) *Source { return &Source{Name: name, Text: text} }

// Position is a place for people.
type Position struct {
	Line int // 1-based
	Col  int // 1-based, in runes
}

// Position converts a byte offset. An offset outside the text is moved to its nearer end, one
// within a character to its start.
func (s *Source) Position(off int) Position {
	off = s.onRune(off)
	m := s.markBefore(off)
	rest := s.Text[m.off:off]
	if i := strings.LastIndexByte(rest, '\n'); i >= 0 {
		m.feeds, m.col, rest = m.feeds+strings.Count(rest[:i+1], "\n"), 0, rest[i+1:]
	}
	return Position{Line: m.feeds + max(s.First, 1), Col: m.col + utf8.RuneCountInString(rest) + 1}
}

// onRune returns an offset of the text that is not within a character.
func (s *Source) onRune(off int) int {
	off = min(max(off, 0), len(s.Text))
	for start := off - 1; start >= max(0, off-utf8.UTFMax+1); start-- {
		if _, size := utf8.DecodeRuneInString(s.Text[start:]); start+size > off {
			return start
		}
	}
	return off
}

// markBefore returns the last mark that is not after an offset, so that a position costs the same
// wherever it lies: a text may have as many findings as bytes, and a single line.
func (s *Source) markBefore(off int) mark {
	if len(s.Text) < 4*page {
		return mark{}
	}
	s.index.Do(func() {
		m, next := mark{}, 0
		for i, r := range s.Text {
			if i >= next {
				m.off = i
				s.marks = append(s.marks, m)
				next += page
			}
			if m.col++; r == '\n' {
				m.feeds, m.col = m.feeds+1, 0
			}
		}
	})
	k := min(off/page, len(s.marks)-1)
	if s.marks[k].off > off { // it stands at the first rune of its page
		k--
	}
	return s.marks[k]
}

// excerptWidth bounds an excerpt, in runes either side of the place, so that a one-line file of a
// megabyte stays readable.
const excerptWidth = 60

// Excerpt returns the line around an offset and a caret under the place, two lines, each with an
// indent of four spaces. Control characters are shown as spaces, so that an excerpt of hostile text
// cannot drive a terminal. The caret stands right where wide characters take two cells ([Cells]).
func (s *Source) Excerpt(off int) string { return s.Stretch(off, off) }

// Stretch is [Source.Excerpt] of a stretch, of which it shows up to twice as much.
func (s *Source) Stretch(off, to int) string {
	off = s.onRune(off)
	// bytes that are looked at, of a line that may be huge
	const most = (2*excerptWidth + 1) * utf8.UTFMax
	start, end := max(0, off-most), min(len(s.Text), off+most)
	if i := strings.LastIndexByte(s.Text[start:off], '\n'); i >= 0 {
		start += i + 1
	}
	if i := strings.IndexByte(s.Text[off:end], '\n'); i >= 0 {
		end = off + i
	}
	before, after := []rune(clean(s.Text[start:off])), []rune(clean(s.Text[off:end]))
	left, right := "", ""
	if len(before) > excerptWidth {
		before, left = before[len(before)-excerptWidth:], "..."
	}
	if width := min(max(excerptWidth, to-off+excerptWidth/2), 2*excerptWidth); len(after) > width {
		after, right = after[:width], "..."
	}
	return "    " + left + string(before) + string(after) + right + "\n    " +
		strings.Repeat(" ", len(left)+Cells(string(before))) + "^"
}

func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// Printable makes foreign text fit for a terminal: valid UTF-8, and if there is a control character
// in it escaped as in Go.
func Printable(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		q := strconv.Quote(s)
		return q[1 : len(q)-1]
	}
	return s
}

// Error is a problem at a place in a text. The zero Src means that no text is at hand; then no
// position is printed.
type Error struct {
	Src  *Source
	Off  int    // byte offset into Src.Text
	Msg  string // the fault and the expectation, without position
	Hint string // the remedy; may be empty
	Err  error  // the cause; may be nil
}

// Encoding returns what is wrong with a text that begins as one that is not plain UTF-8, and what
// to do; "" where nothing is. Neither JSON nor TOML allows a byte order mark.
func Encoding(text string) string {
	switch {
	case strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") ||
		strings.Count(text[:min(2, len(text))], "\x00") == 1:
		return "the text is in UTF-16, expected UTF-8; save it as UTF-8"
	case strings.HasPrefix(text, "\ufeff"):
		return "the text begins with a byte order mark; save it as UTF-8 without one"
	}
	return ""
}

// Errorf returns an error at an offset. A %w verb sets its cause.
func Errorf(src *Source, off int, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Src: src, Off: off, Msg: err.Error(), Err: errors.Unwrap(err)}
}

// Error returns "file:line:column: message".
func (e *Error) Error() string {
	if e.Src == nil {
		return e.Msg
	}
	p := e.Src.Position(e.Off)
	name := e.Src.Name
	if name == "" {
		name = "<input>"
	}
	return fmt.Sprintf("%s:%d:%d: %s", name, p.Line, p.Col, e.Msg)
}

// Detail returns Error, an excerpt with a caret, and the hint, each where there is one. It ends
// without a line feed.
func (e *Error) Detail() string {
	var b strings.Builder
	b.WriteString(e.Error())
	if e.Src != nil && e.Src.Text != "" {
		b.WriteString("\n" + e.Src.Excerpt(e.Off))
	}
	if e.Hint != "" {
		b.WriteString("\n    hint: " + e.Hint)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Detail returns the detailed text of the first [Error] in err's chain, else err's own text.
func Detail(err error) string {
	var e *Error
	if errors.As(err, &e) {
		if text, detail := err.Error(), e.Detail(); text != e.Error() {
			return text + strings.TrimPrefix(detail, e.Error())
		} else {
			return detail
		}
	}
	return err.Error()
}
