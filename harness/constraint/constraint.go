// Package constraint looks at the grammar of a plan from the outside: which part of an output it constrains, where it refuses a text, and
// how it and its triggers are shown to people.
//
// # Stability
//
// This package may change with every release; package engine says what is stable.
package constraint

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/gbnf"
)

// Part returns the part of an output that a plan's grammar constrains: all of it, or, where the grammar is lazy, what
// comes from the first trigger on. ok is false where no trigger is in the output.
func Part(plan *codegen.Output, output string) (text string, ok bool) {
	if !plan.Lazy {
		return output, true
	}
	start := -1
	for _, trigger := range plan.Triggers {
		if at := armed(trigger, output); at >= 0 && (start < 0 || at < start) {
			start = at
		}
	}
	if start < 0 {
		return "", false
	}
	return output[start:], true
}

// armed is where a trigger starts the grammar, -1 if it does not.
func armed(trigger codegen.Trigger, output string) int {
	if !trigger.Pattern {
		return strings.Index(output, trigger.Text)
	}
	pattern, err := regexp.Compile(trigger.Text)
	if err != nil {
		return -1
	}
	if m := pattern.FindStringSubmatchIndex(output); len(m) >= 4 {
		return m[2]
	}
	return -1
}

// Text returns a plan's grammar as text, "" where the request needs none.
func Text(plan *codegen.Output) (string, error) {
	grammar, err := plan.Grammar()
	if err != nil || grammar == nil {
		return "", err
	}
	return grammar.String(), nil
}

// TriggerText is a trigger for people: what kind it is, and its text quoted.
func TriggerText(t codegen.Trigger) string {
	if t.Pattern {
		return fmt.Sprintf("pattern %q", t.Text)
	}
	return fmt.Sprintf("word %q", t.Text)
}

// Refusal says where a grammar stops taking a text, and what it expects there; "" if the text is a sentence.
func Refusal(g *gbnf.Grammar, text string) (string, error) {
	m, err := gbnf.NewMatcher(g)
	if err != nil {
		return "", err
	}
	m.AcceptString(text)
	if m.Err() != nil || m.Done() {
		return "", m.Err()
	}
	at := len(text)
	if m.Dead() {
		at = m.Offset()
		m.Reset()
		m.AcceptString(text[:at])
	}
	return fmt.Sprintf("the grammar takes %q\nand not %q\nit expects %s", text[:at], text[at:], strings.Join(m.Expected(), " or ")), nil
}
