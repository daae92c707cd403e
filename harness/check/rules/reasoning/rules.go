// Package reasoning has the rules about the reasoning of a model, and the switch for it.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package reasoning

import "github.com/goassay/assay/harness/check/probe"

// Rules are the rules of the package, in the order of their ids.
var Rules = []*probe.Rule{
	EmptyReasoningPrinted,
	ReasoningPreopened,
	ThinkingInverted,
	SwitchIgnored,
	ReasoningLostInLoop,
	ReasoningReadAndDropped,
	ReasoningNeverAsked,
	AnswerLostWithReasoning,
	ReasoningOfSomeTurns,
	InlineReasoningUneven,
}
