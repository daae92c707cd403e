// Package check has the automatic checks: those that need no hand-written case and run on any template.
//
// # Model
//
// A rule looks for one kind of fault; it has an id that never changes its meaning, a severity, an example of the damage and what
// to do about it ([Rules], docs/rules.md). [Template] runs all rules on one template. Rules look at what the template does:
// they render conversations with needles, texts that occur nowhere else, and parse what came of it. None of them looks for a
// word in the source, or at a name.
//
// Rules belong to groups, which are the columns of the matrix that `assay run` prints.
//
// [Model] checks a model folder or a model file: rules of its own about which template is taken by whom, and then every
// template that is there.
//
// # Suppressions
//
// A finding that is meant to be is suppressed by a comment in the template, {# assay:ignore A021 the reason #}, or by
// [Options].Suppressed for templates that are not ours. A suppression needs a reason, and one that suppresses nothing is a
// finding itself (A098, A099). A template that does not compile or render, and one that is too costly, cannot suppress that. A
// template cannot judge itself either: a gate takes only the suppressions of the revision before ([Options].Accepted).
//
// # Errors
//
// There are none: a template that does not compile, a probe that a template refuses, a bug of the engine, all are findings.
package check

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/subject"
)

// The groups of rules.
const (
	groupCompile = "compile" // it compiles and renders
	groupVerify  = "verify"  // the analysis holds in a round trip
	groupStream  = "stream"  // streaming equals non-streaming, and the delta protocol is kept
	groupLeak    = "leak"    // no marker leaks
	groupGrammar = "grammar" // grammar and parser agree
	groupLint    = "lint"    // everything else
)

// Groups returns the groups in the order of the columns.
func Groups() []string {
	return []string{groupCompile, groupVerify, groupStream, groupLeak, groupGrammar, groupLint}
}

// rule is a rule and what looks for its fault.
type rule struct {
	report.Rule
	group string
	run   func(*Subject, finder)
}

// finder takes the findings of a rule: where in the template, and a sentence, with evidence on further lines.
type finder func(at where, format string, args ...any)

// rules has all rules in the order of their ids.
var rules = slices.Concat(compileRules, proofRules, templateRules, inputRules, historyRules, valueRules, turnRules, suppressionRules, costRules)

// Rules returns the declarations of all rules, in the order of their ids.
func Rules() []report.Rule {
	var all []report.Rule
	for i := range rules {
		all = append(all, rules[i].Rule)
	}
	for i := range modelRules {
		all = append(all, modelRules[i].Rule)
	}
	slices.SortFunc(all, func(a, b report.Rule) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// Options say how a template is checked. The zero value is usable.
type Options struct {
	Renderer   chattemplate.Renderer // the second renderer to compare with; nil: none
	Suppressed map[string]string     // rule ids with reasons, beside those in the template
	Accepted   *[]string             // the rules that comments in the template may suppress; nil: any
	Fallbacks  []string              // names of fallback spellings that whatever parses allows
	Only       []string              // ids of the rules to run; nil: all
	Grammar    *conversation.Grammar // the conversations that the template is held against; nil: those of the usual seed
	// Differ says in a word how two templates differ, and what of; "" where nobody can observe it. [Model] needs it.
	Differ func(was, is subject.Source) (class, evidence string)
}

// runs reports whether a rule is to be run.
func (o Options) runs(id string) bool { return o.Only == nil || slices.Contains(o.Only, id) }

// Template runs all rules on a template. A rule gives one result that passed, or one for each finding.
func Template(src subject.Source, o Options) []report.Result {
	s := newSubject(src, o)
	s.rules = rules
	var results []report.Result
	for i := range rules {
		if o.runs(rules[i].ID) && (s.Template != nil || rules[i].group == groupCompile) {
			results = append(results, rules[i].results(s)...)
		}
	}
	if s.Template != nil && s.Template.Exhausted() != nil { // what the others found is due to renders that were refused
		results = slices.DeleteFunc(results, func(res report.Result) bool { return res.Group != groupCompile && res.Rule != tooCostly })
	}
	return results
}

// results runs the rule on a template.
func (r *rule) results(s *Subject) []report.Result {
	return results(r.Rule, r.group, s.Source.Name, s.Source.File, s.suppressed, func(add func(report.Place, string)) {
		r.run(s, func(at where, format string, args ...any) { add(s.place(at, fmt.Errorf(format, args...))) })
	})
}

// unsuppressed silences nothing.
func unsuppressed(string) (bool, string) { return false, "" }

// results runs a rule, guarded: a panic is a bug of the engine and a finding of the rule that showed it.
func results(rule report.Rule, group, suite, file string, suppressed func(id string) (bool, string), run func(add func(report.Place, string))) (results []report.Result) {
	add := func(place report.Place, text string) {
		silenced, note := suppressed(rule.ID)
		if silenced {
			return
		}
		text += note
		status := report.Found
		if rule.Severity == report.Error {
			status = report.Failed
		}
		results = append(results, report.Result{Suite: suite, Group: group, Name: rule.Name, Rule: rule.ID, Severity: rule.Severity, Status: status,
			Place: place, Text: text})
	}
	func() {
		defer func() {
			if p := recover(); p != nil {
				suppressed = unsuppressed
				add(report.Place{File: file}, fmt.Sprintf("internal error: panic: %v\n%s", p, debug.Stack()))
			}
		}()
		run(add)
	}()
	if len(results) == 0 {
		results = append(results, report.Result{Suite: suite, Group: group, Name: rule.Name, Rule: rule.ID, Place: report.Place{File: file}})
	}
	return results
}
