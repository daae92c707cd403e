package source_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

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

func TestList(t *testing.T) {
	src := source.New("f", strings.Repeat("x\n", 30))
	var l source.List
	for i := range 25 {
		l = append(l, source.Errorf(src, 50-2*i, "bad"))
	}
	l.Sort()
	lines := strings.Split(l.Error(), "\n")
	if lines[0] != "f:2:1: bad" || lines[len(lines)-1] != "and 5 more" || len(lines) != 21 {
		t.Errorf("got %d lines, first %q, last %q", len(lines), lines[0], lines[len(lines)-1])
	}
}
