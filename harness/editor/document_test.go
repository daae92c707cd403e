package editor

import (
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// FuzzText edits a text at any place, and compares positions with those of the text in UTF-16.
func FuzzText(f *testing.F) {
	f.Add("a\r\nb🙂c\rd", 1, 1, 1, 3, "é\n")
	f.Add("", 0, 0, 9, 9, "x")
	f.Add("\r\r\n\n", 2, 0, 0, 5, "")
	f.Fuzz(func(t *testing.T, s string, l1, c1, l2, c2 int, with string) {
		if !utf8.ValidString(s) || !utf8.ValidString(with) {
			t.Skip("a message is UTF-8")
		}
		is := newText(s)
		for off := range s { // at each character
			p := is.position(off)
			from, to := is.line(p.Line)
			if off <= to && (is.offset(p) != off ||
				p.Character != len(utf16.Encode([]rune(s[from:off])))) {
				t.Fatalf("%q: the place %d is %+v, which is %d", s, off, p, is.offset(p))
			}
		}
		change := change{&span{position{l1, c1}, position{l2, c2}}, with}
		edited, from, to := is.edited(change)
		if from < 0 || to < from || to > len(s) || edited.string != s[:from]+with+s[to:] ||
			!utf8.ValidString(edited.string) {
			t.Fatalf("%q: %+v edits it from %d up to %d into %q", s, change, from, to, edited.string)
		}
	})
}

// FuzzStrings maps the places of templates in JSON files.
func FuzzStrings(f *testing.F) {
	f.Add(`{"chat_template": "{{ \u00e9\ud83d\ude42 }}\n"}`, 20)
	f.Add(`{"chat_template": [{"name": "default", "template": "\ud83d a"}]}`, 3)
	f.Fuzz(func(t *testing.T, file string, off int) {
		parts, err := partsOf("tokenizer_config.json", file)
		if err != nil {
			t.Skip()
		}
		for _, p := range parts {
			for i := range p.src.Text + " " {
				at := p.in(i)
				if back, ok := p.of(at); !ok || back > i || p.in(back) != at || at > len(file) {
					t.Fatalf("%q: the place %d of the template is %d of the file, which is %d", file,
						i, at, back)
				}
			}
			p.of(off)
		}
	})
}
