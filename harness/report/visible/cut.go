package visible

import (
	"unicode/utf8"

	"github.com/goassay/assay/engine/source"
)

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
		l.out, l.left = append(l.out, source.More(l.left)...), 0
	}
}
