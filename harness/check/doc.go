// Package check has the automatic checks: those that need no hand-written case and run on any
// template.
//
// # Model
//
// A rule looks for one kind of fault; it has an id that never changes its meaning, a severity, an
// example of the damage and a remedy ([Rules], docs/reference/rules.md). [Template] runs all rules
// on one template. Rules look at a template's behaviour: they render conversations with needles,
// texts that occur nowhere else, and parse the renderings. A finding has texts such as people send
// in their place (package words). None of them looks for a word in the source, or at a name.
//
// Rules belong to groups, which are the columns of the matrix that `assay run` prints.
//
// [Model] checks a model folder or a model file: rules of its own about which template is taken by
// whom, and then every template that is there.
//
// Where all requests of a kind end in an error that the template did not mean, [Template] judges it
// again with the broken expression replaced (package repair), three times at most: one fault hides
// no other. Such a finding has its place in the template as it was given, and a line that says so.
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
// # Packages below
//
// A rule is a file of a package below rules, named after its id and name. What several rules want
// to know of a template is a fact, of a package below fact; probe has the template under check, and
// sample the messages that rules render. rule has the parts of every judgement, subject opens the
// templates that are judged, batch does work on all cores with its results in order.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package check
