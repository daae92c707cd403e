// Package constraint shows the grammar of a plan and its triggers to people.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package constraint

import (
	"fmt"

	"github.com/goassay/assay/engine/codegen"
)

// Text returns a plan's grammar as text, "" where the request needs none.
func Text(plan *codegen.Output) (string, error) {
	grammar, err := plan.Grammar()
	if err != nil || grammar == nil {
		return "", err
	}
	return grammar.String(), nil
}

// TriggerText is a trigger for people: its kind, and its text quoted.
func TriggerText(t codegen.Trigger) string {
	if t.Pattern {
		return fmt.Sprintf("pattern %q", t.Text)
	}
	return fmt.Sprintf("word %q", t.Text)
}
