package codegen

import (
	"regexp"
	"strings"
)

// Constrained returns the part of an answer's text that the grammar constrains: all of it, or,
// where the grammar is lazy, the part from the first trigger on. ok is false where no trigger is in
// the text.
func (o *Output) Constrained(output string) (text string, ok bool) {
	if !o.Lazy {
		return output, true
	}
	start := -1
	for _, trigger := range o.Triggers {
		if at := trigger.armed(output); at >= 0 && (start < 0 || at < start) {
			start = at
		}
	}
	if start < 0 {
		return "", false
	}
	return output[start:], true
}

// armed is where a trigger starts the grammar, as a byte offset; -1 if it does not.
func (t Trigger) armed(output string) int {
	if !t.Pattern {
		return strings.Index(output, t.Text)
	}
	pattern, err := regexp.Compile(t.Text)
	if err != nil {
		return -1
	}
	if m := pattern.FindStringSubmatchIndex(output); len(m) >= 4 {
		return m[2]
	}
	return -1
}
