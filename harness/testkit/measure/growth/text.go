package main

import (
	_ "embed" // the table
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/goassay/assay/engine/ordered"
)

// times repeats a piece until it has about a size; %d in it is its number.
func times(piece string) func(int) string {
	return func(size int) string {
		if !strings.Contains(piece, "%d") {
			return strings.Repeat(piece, (size+len(piece)-1)/len(piece))
		}
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			b.WriteString(strings.ReplaceAll(piece, "%d", fmt.Sprint(i)))
		}
		return b.String()
	}
}

//go:embed testdata/inputs.txt
var inputs string

// tableLine is a generator in testdata/inputs.txt.
var tableLine = regexp.MustCompile(`^(.*?): (.*)([⟦⟨])(.*)[⟧⟩](.*)$`)

// tabled returns the generators of a section of testdata/inputs.txt. It panics where a section has
// none, and at a line that is none: either would be measured by nothing.
func tabled(section string) (all []generator) {
	_, rest, _ := strings.Cut(inputs, "\n# "+section+"\n")
	rest, _, _ = strings.Cut(rest, "\n# ")
	for line := range strings.SplitSeq(strings.Trim(rest, "\n"), "\n") {
		m := tableLine.FindStringSubmatch(line)
		if m == nil {
			panic(fmt.Sprintf("growth: section %q of inputs.txt: %q is no input", section, line))
		}
		for i := range m {
			m[i] = strings.ReplaceAll(m[i], "⏎", "\n")
		}
		make := between
		if m[3] == "⟨" {
			make = list
		}
		all = append(all, generator{m[1], make(m[2], m[4], m[5])})
	}
	return all
}

// placed returns those of a section whose names begin with a place, each in its place.
func placed(section string,
	into func(place string, make func(int) string) func(int) string) []generator {
	all := tabled(section)
	for i, g := range all {
		place, name, _ := strings.Cut(g.name, " ")
		all[i] = generator{name, into(place, g.make)}
	}
	return all
}

// ofJSON returns a door that reads JSON first.
func ofJSON(run func(text string, v ordered.Value) error) func(text string) error {
	return func(text string) error {
		v, err := ordered.ParseString(text)
		if err != nil {
			return err
		}
		return run(text, v)
	}
}

// long takes no refusal for a fault, unless its text is long.
func long(err error) error {
	if err != nil && len(err.Error()) > 10_000 {
		return errors.New("a long error")
	}
	return nil
}

// between returns a function that puts copies of a piece between two texts.
func between(before, piece, after string) func(int) string {
	return func(n int) string { return before + times(piece)(n) + after }
}
