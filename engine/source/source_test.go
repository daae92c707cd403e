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

// TestPositions holds the position of each offset of long texts to its definition: the line feeds
// before it, and the runes between the last one and it.
func TestPositions(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("a", 10_000), strings.Repeat("\n", 10_000), strings.Repeat("né\n", 3_000),
		strings.Repeat("日本語", 2_000), strings.Repeat("日\xff\xe6\n", 2_000),
		strings.Repeat("x", 5_000) + "\n" + strings.Repeat("é", 5_000),
	} {
		s := source.New("", text)
		for off := range len(text) + 1 {
			start := strings.LastIndexByte(text[:off], '\n') + 1
			want := source.Position{Line: strings.Count(text[:off], "\n") + 1,
				Col: utf8.RuneCountInString(text[start:off]) + 1}
			if got := s.Position(off); got != want {
				t.Fatalf("%.10q at %d: %v, want %v", text, off, got, want)
			}
		}
	}
}
