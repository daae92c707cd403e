// Package check has the automatic checks: those that need no hand-written case and run on any
// template.
//
// # Model
//
// A rule looks for one kind of fault; it has an id that never changes its meaning, a severity, an
// example of the damage and a remedy ([Rules], docs/rules.md). [Template] runs all rules on one
// template. Rules look at a template's behaviour: they render conversations with needles, texts
// that occur nowhere else, and parse the renderings. None of them looks for a word in the source,
// or at a name.
//
// Rules belong to groups, which are the columns of the matrix that `assay run` prints.
//
// [Model] checks a model folder or a model file: rules of its own about which template is taken by
// whom, and then every template that is there.
//
// # Suppressions
//
// A finding that is meant to be is suppressed by a comment in the template, {# assay:ignore A021
// the reason #}, or by [Options].Suppressed for templates that are not ours. A suppression needs a
// reason, and one that suppresses nothing is a finding itself (A098, A099). A template that does
// not compile or render, and one that is too costly, cannot suppress that. A template cannot judge
// itself either: a gate takes only the suppressions of the revision before ([Options].Accepted).
//
// # Errors
//
// There are none: a template that does not compile and a bug of the engine are findings. A rule
// whose probe fails for a reason of its own is not judged, with that reason ([rule.NotJudged]).
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package check

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/rule"
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

// lookout is a rule about a template with the function that looks for its fault.
type lookout = rule.Check[*Subject, where]

// finder takes the findings of a rule: where in the template, and a sentence, with evidence on
// further lines.
type finder = rule.Finder[where]

// rules has all rules in the order of their ids.
var rules = slices.Concat(compileRules, proofRules, templateRules, inputRules, historyRules,
	valueRules, turnRules, endRules, needleRules, refusalRules, fidelityRules, switchRules,
	loopRules, injectionRules, literalRules, testedRules, grownRules, hangRules, markerRules,
	fieldRules, instructionRules, stepRules, listRules, bracketRules, stateRules, assignedRules,
	branchRules, suppressionRules, costRules)

// Rules returns the declarations of all rules, in the order of their ids.
func Rules() []rule.Rule {
	all := slices.Concat(rule.Declared(rules), rule.Declared(modelRules),
		rule.Declared(requirements),
		rule.Declared(clientRules))
	slices.SortFunc(all, func(a, b rule.Rule) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// Options control how a template is checked. The zero value is usable.
type Options struct {
	Renderer   chattemplate.Renderer // the second renderer to compare with; nil: none
	Suppressed map[string]string     // rule ids with reasons, beside those in the template
	// the rules that comments in the template may suppress; nil: any
	Accepted  *[]string
	Fallbacks []string // names of fallback spellings that whatever parses allows
	Only      []string // ids of the rules to run; nil: all
	// the conversations on which the template is tried; nil: those of the usual seed
	Grammar *conversation.Grammar
	// Differ names in a word how two templates differ, and in which part; "" where nobody can
	// observe a difference. [Model] needs it.
	Differ func(was, is subject.Source) (class, evidence string)
}

// runs reports whether a rule is to be run.
func (o Options) runs(id string) bool { return o.Only == nil || slices.Contains(o.Only, id) }

// Template runs all rules on a template. A rule gives one result that passed, or one for each
// finding.
func Template(src subject.Source, o Options) []rule.Result {
	s := newSubject(src, o)
	s.rules = rules
	scope := rule.Scope[where]{Suite: src.Name, File: src.File, Place: s.place,
		Suppressed: s.suppressed}
	var results []rule.Result
	for i := range rules {
		if s.Template != nil && s.Template.Exhausted() != nil {
			break // what follows would be void, too
		}
		if o.runs(rules[i].ID) && (s.Template != nil || rules[i].Group == groupCompile) {
			results = append(results, rules[i].Run(s, scope)...)
		}
	}
	if s.Template == nil || s.Template.Exhausted() == nil {
		return results
	}
	results = nil // the findings are due to renders that were refused
	for i := range rules {
		switch l := &rules[i]; {
		case l.ID == TooCostly: // whatever was asked for, else nothing would tell
			results = append(results, l.Run(s, scope)...)
		case !o.runs(l.ID):
		case l.Group == groupCompile:
			results = append(results, l.Run(s, scope)...)
		default:
			results = append(results, cutOff(l, scope)...)
		}
	}
	return results
}
