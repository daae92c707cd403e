// Package probe has the template under check: it compiles the template, renders conversations with
// it, finds the place of the template that wrote a byte of a prompt, and keeps the facts that rules
// have learnt.
//
// # Facts
//
// A fact is what several rules want to know of a template, such as where its turns end. Each has a
// package below harness/check/fact, and is asked for by name:
//
//	var Gaps = probe.NewFact(findGaps)
//
//	for _, g := range boundary.Gaps.Of(s) { ... }
//
// It is computed when the first rule asks for it, and once for a template.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package probe

import (
	"sync"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/words"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/conversation/clients"
)

// Rule is a rule about a template, with the function that looks for its fault.
type Rule = rule.Check[*Subject, Where]

// Finder takes the findings of a rule: where in the template, and a sentence, with evidence on
// further lines.
type Finder = rule.Finder[Where]

// Subject is a template while it is checked.
type Subject struct {
	Source   subject.Source
	Template *engine.Template // nil where it does not compile
	Err      error            // why it does not compile
	Options  Options
	// Rules are those that run on the template; a rule asks them for the findings of those that it
	// requires.
	Rules   rule.Runner[*Subject, Where]
	Clients []clients.Client // whose requests are asked for
	Encoder Encoder          // that the prompts are compared with; nil: none

	Suppressions []*Suppression
	// Standing tells what a suppression of a rule does.
	Standing func(id string) Standing

	teller *words.Teller // of the template

	guard sync.Mutex
	facts map[any]any // functions that return the facts, by *Fact
}

// New returns a template to be checked by rules.
func New(src subject.Source, o Options, rules []*Rule) *Subject {
	s := &Subject{Source: src, Options: o, Suppressions: SuppressionsIn(src.Text, o.Suppressed),
		teller: words.NewTeller(src.Text), facts: map[any]any{}}
	s.Rules = rule.Runner[*Subject, Where]{Checks: rules, Subject: s,
		Scope: rule.Scope[Where]{Suite: src.Name, File: src.File, Place: s.place,
			When: s.when, Suppressed: s.suppressed,
			Help: func(at Where) string { return at.help }}}
	if o.Requests {
		s.Rules.Scope.Request = s.requestOf
	}
	s.Template, s.Err = src.Compile()
	return s
}

// Fact is what rules want to know of a template.
type Fact[T any] struct{ learn func(*Subject) T }

// NewFact returns a fact that a function learns from a template.
func NewFact[T any](learn func(*Subject) T) *Fact[T] { return &Fact[T]{learn} }

// Of returns the fact of a template. The first call learns it.
func (f *Fact[T]) Of(s *Subject) T {
	s.guard.Lock()
	known, ok := s.facts[f]
	if !ok {
		known = sync.OnceValue(func() T { return f.learn(s) })
		s.facts[f] = known
	}
	s.guard.Unlock()
	return known.(func() T)()
}

// Findings returns the findings of another rule, which the rule that asks for them requires.
func (s *Subject) Findings(id string) []rule.Fault[Where] { return s.Rules.Findings(id) }

// Fires reports whether another rule has findings.
func (s *Subject) Fires(id string) bool { return len(s.Findings(id)) > 0 }

var model = NewFact(func(s *Subject) *flow.Model {
	m, _ := flow.Parse(s.Source.Places()) // it compiles
	return m
})

// Flow returns the model of the template: its variables, conditions and literals.
func (s *Subject) Flow() *flow.Model { return model.Of(s) }

// Grammar returns the conversations on which the template is tried.
func (s *Subject) Grammar() *conversation.Grammar {
	if s.Options.Grammar != nil {
		return s.Options.Grammar
	}
	return s.Source.Grammar()
}
