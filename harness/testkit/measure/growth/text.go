package main

import (
	"fmt"
	"strings"
)

// times repeats a piece until it has about a size; %d in it is its number.
func times(piece string) func(int) string {
	return func(size int) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			b.WriteString(strings.ReplaceAll(piece, "%d", fmt.Sprint(i)))
		}
		return b.String()
	}
}
