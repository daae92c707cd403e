// Package visible makes untrusted text safe to show: the text of a template, a model, a file or its
// name must not move the cursor, change colours, hide or reorder its neighbours, or give orders to
// a reader of the log.
//
// # Model
//
// Everything that a person or a CI system reads goes through [Text], [Line] or a [Writer], once.
// Characters that are not visible themselves become their escape: control characters (ANSI
// sequences begin with one), the marks that reverse the direction of text, zero-width and other
// format characters, separators, unassigned code points, and invalid UTF-8 (\x9b). Line feeds and
// tabs are kept, and so are the joiners of Persian words and of emoji. Two things that runners of
// CI jobs take for commands have their first character escaped: "::" at the start of a line and
// "##[".
//
// The escapes are JSON's, so that JSON text stays JSON with the same meaning, unless carriage
// returns stand between its tokens. A backslash of the text itself is not escaped, so the result is
// for reading and cannot be decoded.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package visible

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Text returns a text as it may be shown, with its lines and tabs.
func Text(s string) string {
	if plain(s) {
		return s
	}
	e := escaper{start: true}
	e.write([]byte(s))
	e.flush()
	return string(e.out)
}

// Line is [Text] on one line: line feeds and tabs are escaped as well.
func Line(s string) string {
	if strings.ContainsAny(s, "\n\t") {
		s = strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(s)
	}
	return Text(s)
}

// plain reports, quickly for most texts, that nothing needs an escape.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 && c != '\n' && c != '\t' || c >= 0x7f || c == ':' || c == '#' {
			return false
		}
	}
	return true
}

// Writer makes its text visible as [Text] does and writes it to another writer. It is safe for
// concurrent use. Flush must be called at the end: the beginning of a character, and of a text that
// a runner might take for a command, is held back until it is known how it goes on.
type Writer struct {
	w     io.Writer
	mu    sync.Mutex
	e     escaper
	lines *lines // nil: lines have any length
}

// NewWriter returns a writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w, e: escaper{start: true}} }

// NewMessages returns a writer to w that cuts lines at [MaxLine] bytes: for messages, in which
// names and keys may be long.
func NewMessages(w io.Writer) *Writer {
	m := NewWriter(w)
	m.lines = new(lines)
	return m
}

// put writes the escaped text.
func (w *Writer) put(end bool) error {
	out := w.e.out
	if l := w.lines; l != nil {
		l.out = l.out[:0]
		if l.write(out); end {
			l.end()
		}
		out = l.out
	}
	if len(out) == 0 {
		return nil
	}
	_, err := w.w.Write(out)
	return err
}

// Write implements [io.Writer].
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.e.out = w.e.out[:0]
	w.e.write(p)
	if err := w.put(false); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes the text that was held back.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.e.out = w.e.out[:0]
	w.e.flush()
	return w.put(true)
}

// escaper escapes a text that comes in pieces.
type escaper struct {
	out   []byte
	held  []byte // the beginning of something, at most three bytes
	start bool   // only white space since the line began
}

func (e *escaper) write(p []byte) {
	if len(e.held) > 0 {
		p = append(e.held, p...)
		e.held = nil
	}
	for i := 0; i < len(p); {
		n := e.next(p[i:], false)
		if n == 0 {
			e.held = append([]byte(nil), p[i:]...)
			return
		}
		i += n
	}
}

func (e *escaper) flush() {
	for len(e.held) > 0 {
		e.held = e.held[e.next(e.held, true):]
	}
}

// next handles the first character of p, which is not empty, and returns its length; 0 if it needs
// to see more. end reports that the text ends with p.
func (e *escaper) next(p []byte, end bool) int {
	switch c := p[0]; {
	case c == '\n':
		e.start = true
		e.out = append(e.out, c)
		return 1
	case c == ':' && e.start:
		if len(p) == 1 && !end {
			return 0
		}
		e.start = false
		if len(p) > 1 && p[1] == ':' {
			e.escape(':')
			return 1
		}
		e.out = append(e.out, c)
		return 1
	case c == '#':
		e.start = false
		const order = "##["
		if len(p) < len(order) && !end && strings.HasPrefix(order, string(p)) {
			return 0
		}
		if len(p) >= len(order) && string(p[:len(order)]) == order {
			e.escape('#')
			return 1
		}
		e.out = append(e.out, c)
		return 1
	case c == ' ' || c == '\t':
		e.out = append(e.out, c)
		return 1
	case c > ' ' && c < 0x7f:
		e.start = false
		e.out = append(e.out, c)
		return 1
	}
	if !utf8.FullRune(p) && !end {
		return 0
	}
	r, n := utf8.DecodeRune(p)
	switch {
	case r == utf8.RuneError && n == 1:
		e.out = fmt.Appendf(e.out, `\x%02x`, p[0])
	case unicode.IsGraphic(r) || r == '\u200c' || r == '\u200d':
		e.out = append(e.out, p[:n]...)
	default:
		e.escape(r)
		// e.start stays as it is: a runner may take the character for white space
		return n
	}
	e.start = e.start && unicode.IsSpace(r)
	return n
}

// escape writes a character as JSON's escape.
func (e *escaper) escape(r rune) {
	if r >= 0x10000 {
		r -= 0x10000
		e.out = fmt.Appendf(e.out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		return
	}
	e.out = fmt.Appendf(e.out, `\u%04x`, r)
}
