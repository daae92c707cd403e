// Package spelling guesses the word that a person meant who typed another one.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package spelling

import (
	"strings"

	"github.com/spf13/cobra"
)

// longest bounds the words that are compared, in bytes: a longer one is no slip of the hand, and
// costs its length times that of each name.
const longest = 100

// Meant is the end of a sentence that names the likely meaning of a word; "" where none is near.
func Meant(typed string, names []string) string {
	if len(typed) > longest {
		return ""
	}
	near := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, name := range names {
		near.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	if found := near.SuggestionsFor(typed); len(found) > 0 && len(found) <= 3 {
		return "; did you mean " + strings.Join(found, " or ") + "?"
	}
	return ""
}
