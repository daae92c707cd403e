package main

import (
	"errors"
	"fmt"
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
