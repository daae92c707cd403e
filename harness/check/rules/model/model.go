package model

import (
	"github.com/goassay/assay/harness/check/rule"
)

// Finder takes the findings of a rule about a model: a sentence, with evidence on further
// lines. Errors in it say where.
type Finder func(format string, args ...any)

// anywhere makes of a function whose findings have no place but those of errors one that a lookout
// has.
func anywhere(look func(*Subject, Finder)) func(*Subject, rule.Finder[struct{}]) {
	return func(s *Subject, find rule.Finder[struct{}]) {
		look(s, func(format string, args ...any) { find(struct{}{}, format, args...) })
	}
}
