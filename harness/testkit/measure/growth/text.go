package main

import (
	"fmt"
	"strings"
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

// between returns a function that puts copies of a piece between two texts.
func between(before, piece, after string) func(int) string {
	return func(n int) string { return before + times(piece)(n) + after }
}
