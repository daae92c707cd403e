package visible_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/harness/report/visible"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain text", "a b\n\tc: d::e # f", "a b\n\tc: d::e # f"},
		{"letters of all scripts", "Zürich, 東京, \u200cنمی\u200cخواهم, 👩\u200d🚀\u3000x", "Zürich, 東京, \u200cنمی\u200cخواهم, 👩\u200d🚀\u3000x"},
		{"colours", "\x1b[31mred\x1b[0m", `\u001b[31mred\u001b[0m`},
		{"a window's title", "\x1b]0;root\x07", `\u001b]0;root\u0007`},
		{"C1 controls", "\u009b2J\u0085", `\u009b2J\u0085`},
		{"carriage return, backspace, delete", "FAIL\rok\b\x7f", `FAIL\u000dok\u0008\u007f`},
		{"direction", "a\u202eb\u2066c\u200fd\u061c", `a\u202eb\u2066c\u200fd\u061c`},
		{"zero width, soft hyphen, tags", "a\u200bb\ufeffc\u00add\U000e0041", `a\u200bb\ufeffc\u00add\udb40\udc41`},
		{"separators and characters without a meaning", "a\u2028b\u2029c\ufffed\ue000", `a\u2028b\u2029c\ufffed\ue000`},
		{"no UTF-8", "a\xffb\xc3", `a\xffb\xc3`},
		{"a runner's command", "x\n::error::no\n  ::add-mask::a", "x\n\\u003a:error::no\n  \\u003a:add-mask::a"},
		{"a command after white space of a runner", "\u00a0\u2003\x0b::stop", "\u00a0\u2003" + `\u000b\u003a:stop`},
		{"the older commands", "a ##[error]b", `a \u0023#[error]b`},
	} {
		if got := visible.Text(c.text); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	if got := visible.Line("a\nb\t\x1b"); got != `a\nb\t\u001b` {
		t.Errorf("a line: %q", got)
	}
}

// FuzzWriter demands that pieces make no difference, that nothing is left that shows nothing, and
// that JSON stays the same JSON.
func FuzzWriter(f *testing.F) {
	f.Add("a\x1b[31m\u202e\n ::error::##[x]\xf0\x9f", uint64(1))
	f.Add(`{"a": ["\u001b`+"\u202e\U000e0041\x7f"+`"]}`, uint64(2))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		want := visible.Text(text)
		var out bytes.Buffer
		w := visible.NewWriter(&out)
		r := rand.New(rand.NewPCG(seed, 0))
		for rest := text; rest != ""; {
			n := 1 + r.IntN(len(rest))
			if _, err := w.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.Flush(); err != nil || out.String() != want {
			t.Fatalf("%q: in pieces %q, in one go %q, %v", text, out.String(), want, err)
		}
		for _, r := range want {
			if r != '\n' && r != '\t' && r != '\u200c' && r != '\u200d' && !unicode.IsGraphic(r) {
				t.Fatalf("%q: %q has %U", text, want, r)
			}
		}
		for line := range strings.Lines(want) {
			if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") {
				t.Fatalf("%q: a command is left in %q", text, want)
			}
		}
		if visible.Text(want) != want {
			t.Fatalf("%q: escaped twice it is another text", want)
		}
		var before, after any
		if json.Unmarshal([]byte(text), &before) == nil && !strings.Contains(text, "\xff") {
			if err := json.Unmarshal([]byte(strings.ToValidUTF8(want, "")), &after); err == nil {
				a, _ := json.Marshal(before)
				if b, _ := json.Marshal(after); validJSON(text) && !bytes.Equal(a, b) {
					t.Fatalf("%q means %s, escaped %s", text, a, b)
				}
			} else if validJSON(text) {
				t.Fatalf("%q is JSON, %q is not: %v", text, want, err)
			}
		}
	})
}

// validJSON reports whether a text is UTF-8 throughout, which JSON must be, and has no carriage
// return: between tokens that is white space, and still it moves the cursor, so that it must be
// escaped. The JSON that this project writes has none.
func validJSON(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\r") }
