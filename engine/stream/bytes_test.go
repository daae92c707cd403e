package stream_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/stream"
)

// sameBytes demands that a text reads alike in one go, byte by byte and in blocks, in all that a
// parser says of it.
func sameBytes(t *testing.T, out *codegen.Output, text string) {
	t.Helper()
	p, whole := read(t, out, text)
	account := fmt.Sprint(p.Diagnostics(), p.Coverage())
	var blocks []string
	for rest := text; rest != ""; {
		n := min(len(rest), 1009)
		blocks = append(blocks, rest[:n])
		rest = rest[n:]
	}
	for _, pieces := range [][]string{bytesOf(text), blocks,
		{text[:len(text)/2], text[len(text)/2:]}} {
		if p, m := read(t, out, pieces...); !reflect.DeepEqual(m, whole) ||
			fmt.Sprint(p.Diagnostics(), p.Coverage()) != account {
			t.Fatalf("%.200q in %d pieces differs from one piece", text, len(pieces))
		}
	}
}

// TestLongSpace puts white space of about the length of the caps into the outputs of all forms.
func TestLongSpace(t *testing.T) {
	for i, f := range forms {
		turn := f.cases[i%len(f.cases)]
		out := generate(t, f.f, usual(turn.prefill))
		for n, at := range []int{0, len(turn.output) / 3, 2 * len(turn.output) / 3,
			len(turn.output)} {
			run := strings.Repeat([]string{" ", "\n"}[n%2], stream.MaxSpace-1+i%3)
			if n == i%4 {
				sameBytes(t, out, turn.output[:at]+run+turn.output[at:])
			}
			sameBytes(t, out, turn.output[:at]+run[:255+i%3]+turn.output[at:])
		}
	}
}

// TestSpaceBesideMarkers checks that white space beside a marker goes, and that whole blocks of it
// within a text stay.
func TestSpaceBesideMarkers(t *testing.T) {
	const block = stream.MaxSpace
	space := func(n int) string { return strings.Repeat(" ", n) }
	out := generate(t, formNamed(t, "json in tag"), usual(""))
	const ping = `<tool_call>{"name": "ping", "arguments": {}}</tool_call>`
	for _, c := range []struct{ output, want string }{
		{ping + space(block+10) + "So.", "So."},
		{ping + space(3*block) + "So.", "So."},
		{"So." + space(block) + ping, "So."},
		{"So." + space(block+10) + ping, "So." + space(block)},
		{"So." + space(2*block+10) + "and", "So." + space(2*block+10) + "and"},
	} {
		for _, pieces := range [][]string{{c.output}, bytesOf(c.output),
			{c.output[:block], c.output[block:]}} {
			if _, m := read(t, out, pieces...); m.Content != c.want {
				t.Errorf("%.80q in %d pieces: content of "+
					"%d bytes, want %d", c.output, len(pieces), len(m.Content), len(c.want))
			}
		}
	}
}

// TestNoUTF8 puts bytes that are no UTF-8 into the outputs of all forms, the three-byte forms of
// surrogates among them.
func TestNoUTF8(t *testing.T) {
	for _, f := range forms {
		for _, turn := range f.cases {
			out := generate(t, f.f, usual(turn.prefill))
			for i, bad := range []string{"\xed\xa0\x80", "\xed\xa0\xbd\xed\xb8\x80", "\xed\xa0",
				"\xf0\x9f\x98", "\xff\xc3"} {
				for at := i; at <= len(turn.output); at += 11 {
					sameBytes(t, out, turn.output[:at]+bad+turn.output[at:])
				}
			}
		}
	}
}

// TestReplaced checks that U+FFFD stands for each of them in arguments.
func TestReplaced(t *testing.T) {
	out := generate(t, formNamed(t, "tagged arguments"), usual(""))
	output := "<function=get>\n<parameter=city>\na\xed\xa0\x80b\xf0\x9f\x98c\n</parameter>\n</function>"
	want := message("", call("", "get", "{\"city\": \"a\ufffd\ufffd\ufffdb\ufffd\ufffd\ufffdc\"}"))
	for _, pieces := range [][]string{{output}, bytesOf(output)} {
		if _, m := read(t, out, pieces...); !reflect.DeepEqual(m, want) {
			t.Errorf("%+v, want %+v", m, want)
		}
	}
}
