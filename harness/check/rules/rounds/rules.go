// Package rounds has the rules about the parts of a conversation that come again: rounds of the
// same form, results of several calls, answers to questions and to results.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package rounds

import "github.com/goassay/assay/harness/check/probe"

// Rules are the rules of the package, in the order of their ids.
var Rules = []*probe.Rule{
	RoundsDiffer,
	ResultMisattributed,
	EscapePrinted,
	AnswerNotPrompted,
	EndDependsOnHistory,
}
