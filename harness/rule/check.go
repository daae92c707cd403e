package rule

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// Check is a rule with the function that looks for its fault in a subject of the type S, where At
// is a place in that.
type Check[S, At any] struct {
	Rule
	Group string // a column of the matrix
	Find  func(S, Finder[At])
}

// Finder takes the findings of a rule: where, and a sentence, with evidence on further lines. An
// error in the arguments that has a place of its own may have the last word on that
// ([Scope].Place). An error [NotJudged] in the arguments makes no finding: the rule is not judged.
type Finder[At any] func(at At, format string, args ...any)

// Scope holds the members that the results of checks on one subject share.
type Scope[At any] struct {
	Suite string
	File  string // where results are that passed
	// Place says where a finding is, and its text beside that.
	Place func(At, error) (Place, string)
	// Suppressed reports whether findings of a rule are silenced; where one might be and is not,
	// note says so. nil: none is.
	Suppressed func(id string) (silenced bool, note string)
}

// Run runs the check, guarded: a panic is a bug of the engine and a finding of the rule that showed
// it.
func (c *Check[S, At]) Run(subject S, scope Scope[At]) []Result {
	var found Findings
	func() {
		defer func() {
			if p := recover(); p != nil {
				found.Add(Place{File: scope.File},
					fmt.Sprintf("internal error: panic: %v\n%s", p, debug.Stack()))
			}
		}()
		c.Find(subject, func(at At, format string, args ...any) {
			err := fmt.Errorf(format, args...)
			place, text := scope.Place(at, err)
			if scope.Suppressed != nil {
				silenced, note := scope.Suppressed(c.ID)
				if silenced {
					return
				}
				text += note
			}
			if errors.As(err, new(NotJudged)) {
				found.Unjudged(place, text)
			} else {
				found.Add(place, text)
			}
		})
	}()
	return c.Results(Result{Suite: scope.Suite, Group: c.Group, Place: Place{File: scope.File}},
		&found)
}

// Declared returns the rules of checks.
func Declared[S, At any](checks []Check[S, At]) []Rule {
	rules := make([]Rule, len(checks))
	for i := range checks {
		rules[i] = checks[i].Rule
	}
	return rules
}
