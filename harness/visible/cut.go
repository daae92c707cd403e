package visible

import (
	"fmt"
	"unicode/utf8"
)

// Cut returns the beginning of a text that has more than most bytes, with the number of bytes left
// out.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	end := most
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + more(len(s)-end)
}

func more(n int) string { return fmt.Sprintf("... (%d bytes more)", n) }

// MaxLine is how many bytes of a line of messages are shown: names, keys and errors of strangers
// have any length.
const MaxLine = 4 << 10

// lines cuts the lines of a text that comes in pieces.
type lines struct {
	out  []byte
	n    int // bytes of the line so far
	left int // of them left out
}

func (l *lines) write(p []byte) {
	for _, c := range p {
		switch {
		case c == '\n':
			l.end()
			l.out, l.n = append(l.out, c), 0
			continue
		case l.n < MaxLine || l.left == 0 && !utf8.RuneStart(c):
			l.out = append(l.out, c)
		default:
			l.left++
		}
		l.n++
	}
}

// end adds the number of bytes left out of the line.
func (l *lines) end() {
	if l.left > 0 {
		l.out, l.left = append(l.out, more(l.left)...), 0
	}
}
