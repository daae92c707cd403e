package source_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goassay/assay/engine/source"
)

func TestErrorText(t *testing.T) {
	src := source.New("a.jinja", "one\ntwö {% x %}\nthree")
	e := source.Errorf(src, strings.Index(src.Text, "x"), "unknown tag %q: %w", "x", io.EOF)
	e.Hint = "close it"
	want := "a.jinja:2:8: unknown tag \"x\": EOF\n    twö {% x %}\n           ^\n    hint: close it"
	if got := e.Detail(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if !errors.Is(e, io.EOF) {
		t.Error("the cause is lost")
	}
	if got := source.Detail(fmt.Errorf("while reading: %w", e)); got != "while reading: "+want {
		t.Errorf("wrapped:\n%s", got)
	}
}

func TestExcerptIsHarmless(t *testing.T) {
	src := source.New("", "a\x1b[31mb\xff"+strings.Repeat("x", 1000))
	got := src.Excerpt(2)
	if strings.ContainsAny(got, "\x1b") || len(got) > 400 ||
		!strings.HasSuffix(strings.Split(got, "\n")[0], "...") {
		t.Errorf("excerpt %q", got)
	}
	for _, off := range []int{-5, 0, len(src.Text), len(src.Text) + 5} {
		src.Excerpt(off)
		src.Position(off)
	}
}

// TestWide holds the caret to the cells of a terminal, and offsets within a character to its start.
func TestWide(t *testing.T) {
	for _, c := range []struct {
		text      string
		off, col  int
		line, bar string
	}{
		{"\t日本{{ x }}", 10, 7, " 日本{{ x }}", "        ^"},
		{"日本語", 4, 2, "日本語", "  ^"},
		{"日本語", 5, 2, "日本語", "  ^"},
		{"e\u0301x", 3, 3, "e\u0301x", " ^"},
		{"😀|", 4, 2, "😀|", "  ^"},
		{"\x80\x80x", 1, 2, "\ufffd\ufffdx", " ^"},
	} {
		src := source.New("", c.text)
		want := "    " + c.line + "\n    " + c.bar
		if got := src.Excerpt(c.off); got != want {
			t.Errorf("%q at %d:\n%s\nwant\n%s", c.text, c.off, got, want)
		}
		if got := src.Position(c.off); got.Col != c.col {
			t.Errorf("%q at %d: column %d, want %d", c.text, c.off, got.Col, c.col)
		}
	}
}

// TestPositions holds the position of each offset of long texts to its definition: the line feeds
// before it, and the runes between the last one and it; within a rune, that of its start.
func TestPositions(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("a", 10_000), strings.Repeat("\n", 10_000), strings.Repeat("né\n", 3_000),
		strings.Repeat("日本語", 2_000), strings.Repeat("日\xff\xe6\n", 2_000),
		strings.Repeat("x", 5_000) + "\n" + strings.Repeat("é", 5_000),
	} {
		s := source.New("", text)
		var want source.Position
		starts := map[int]bool{len(text): true}
		for i := range text {
			starts[i] = true
		}
		for off := range len(text) + 1 {
			if starts[off] {
				start := strings.LastIndexByte(text[:off], '\n') + 1
				want = source.Position{Line: strings.Count(text[:off], "\n") + 1,
					Col: utf8.RuneCountInString(text[start:off]) + 1}
			}
			if got := s.Position(off); got != want {
				t.Fatalf("%.10q at %d: %v, want %v", text, off, got, want)
			}
		}
	}
}
