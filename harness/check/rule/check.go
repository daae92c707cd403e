package rule

import (
	"cmp"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/goassay/assay/engine/lists"
)

// Lint is the group of the rules that belong to no other one.
const Lint = "lint"

// Check is a rule with the function that looks for its fault in a subject of the type S, where At
// is a place in that.
type Check[S, At any] struct {
	Rule
	Group string // a column of the matrix; "": [Lint]
	// Supersedes are the ids of rules that stay silent where this one finds something: they would
	// report the same cause again.
	Supersedes []string
	// Requires are the ids of rules whose findings Find asks for.
	Requires []string
	// Unsuppressible tells that no suppression silences the rule.
	Unsuppressible bool
	// Static tells that the rule reads its subject and tries nothing with it, so that it answers
	// while somebody types.
	Static bool
	// Sized tells that the rule compares requests that differ in their size, their texts or the day
	// alone, and that no other one brings its fault about.
	Sized bool
	Find  func(S, Finder[At])
}

// Finder takes the findings of a rule: where, and a sentence, with evidence on further lines. An
// error in the arguments that has a place of its own may have the last word on that
// ([Scope].Place). An error [NotJudged] in the arguments makes no finding: the rule is not judged.
// An error [*Weighed] gives the finding a severity of its own.
type Finder[At any] func(at At, format string, args ...any)

// Fault is a finding of a rule before it has a place in a file, or why the rule was not judged: an
// error [NotJudged].
type Fault[At any] struct {
	At  At
	Err error
}

// Judged reports whether it is a finding.
func (f Fault[At]) Judged() bool { return !errors.As(f.Err, new(NotJudged)) }

// Scope holds the members that the results of checks on one subject share.
type Scope[At any] struct {
	Suite string
	File  string // where results are that passed
	// Place says where a finding is, and its text beside that.
	Place func(At, error) (Place, string)
	// Request is the request that shows a fault, as JSON; "" where none is known. nil: nobody asks.
	Request func(At) string
	// When begins the first line of a finding with the condition under which the fault shows, where
	// its text does not say it. nil: every text does.
	When func(at At, text string) string
	// Help is the remedy of a finding where it has one of its own, "" for that of its rule. nil:
	// none has.
	Help func(At) string
	// Suppressed reports whether findings of a rule are silenced; where one might be and is not,
	// note says so. nil: none is.
	Suppressed func(id string) (silenced bool, note string)
}

// Run runs one check alone.
func (c *Check[S, At]) Run(subject S, scope Scope[At]) []Result {
	r := Runner[S, At]{Checks: []*Check[S, At]{c}, Subject: subject, Scope: scope}
	return r.Run(c)
}

// Runner runs checks on one subject, each at most once.
type Runner[S, At any] struct {
	Checks  []*Check[S, At]
	Subject S
	Scope   Scope[At]

	looks map[string]*look[At]
}

// look is what a check found.
type look[At any] struct {
	found []Fault[At]
	crash string // a panic with its stack; "" where there was none
}

// Findings returns the findings of the check with an id: none where another check supersedes it,
// and none where it is not judged.
func (r *Runner[S, At]) Findings(id string) []Fault[At] {
	i := slices.IndexFunc(r.Checks, func(c *Check[S, At]) bool { return c.ID == id })
	if i < 0 || r.superseded(id) {
		return nil
	}
	return lists.Filter(r.look(r.Checks[i]).found, Fault[At].Judged)
}

// Reasons are the errors for which checks were run and not judged, in the order of the checks.
func (r *Runner[S, At]) Reasons() (all []error) {
	for _, c := range r.Checks {
		if one, ok := r.looks[c.ID]; ok {
			for _, f := range one.found {
				if !f.Judged() {
					all = append(all, f.Err)
				}
			}
		}
	}
	return all
}

// superseded reports whether a check that found something says the same as another one would.
func (r *Runner[S, At]) superseded(id string) bool {
	return slices.ContainsFunc(r.Checks, func(c *Check[S, At]) bool {
		return slices.Contains(c.Supersedes, id) && len(r.Findings(c.ID)) > 0
	})
}

// look runs a check, guarded: a panic is a bug of the engine.
func (r *Runner[S, At]) look(c *Check[S, At]) (one *look[At]) {
	if known, ok := r.looks[c.ID]; ok {
		return known
	}
	one = new(look[At])
	if r.looks == nil {
		r.looks = map[string]*look[At]{}
	}
	r.looks[c.ID] = one
	defer func() {
		if p := recover(); p != nil {
			one.crash = fmt.Sprintf("internal error: panic: %v\n%s", p, debug.Stack())
		}
	}()
	c.Find(r.Subject, func(at At, format string, args ...any) {
		one.found = append(one.found, Fault[At]{at, fmt.Errorf(format, args...)})
	})
	return one
}

// Run runs a check and returns its results. A panic is a finding of the rule that showed it.
func (r *Runner[S, At]) Run(c *Check[S, At]) []Result {
	if r.superseded(c.ID) {
		return r.results(c, nil, "")
	}
	one := r.look(c)
	return r.results(c, one.found, one.crash)
}

// Unjudged returns the results of a check that nobody ran, and why.
func (r *Runner[S, At]) Unjudged(c *Check[S, At], at At, why error) []Result {
	return r.results(c, []Fault[At]{{at, NotJudged{why}}}, "")
}

// results makes results of the findings of a check.
func (r *Runner[S, At]) results(c *Check[S, At], all []Fault[At], crash string) []Result {
	var found Findings
	for _, f := range all {
		place, text := r.Scope.Place(f.At, f.Err)
		if r.Scope.Suppressed != nil && !c.Unsuppressible {
			silenced, note := r.Scope.Suppressed(c.ID)
			if silenced {
				continue
			}
			text += note
		}
		if f.Judged() {
			one := Finding{Place: place, Text: text, help: c.Fix}
			if r.Scope.Help != nil {
				one.help = cmp.Or(r.Scope.Help(f.At), c.Fix)
			}
			if r.Scope.Request != nil {
				one.request = r.Scope.Request(f.At)
			}
			if r.Scope.When != nil {
				one.when = r.Scope.When(f.At, text)
			}
			errors.As(f.Err, &one.weight)
			found.add(one)
		} else {
			found.Unjudged(place, text)
		}
	}
	if crash != "" {
		found.Add(Place{File: r.Scope.File}, crash)
	}
	return c.Rule.Results(Result{Suite: r.Scope.Suite, Group: cmp.Or(c.Group, Lint),
		Place: Place{File: r.Scope.File}}, &found)
}

// Declared returns the rules of checks.
func Declared[S, At any](checks []*Check[S, At]) []Rule {
	rules := make([]Rule, len(checks))
	for i := range checks {
		rules[i] = checks[i].Rule
	}
	return rules
}
