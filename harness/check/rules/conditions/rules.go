// Package conditions has the rules about the conditions under which a template writes words of its
// own.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package conditions

import "github.com/goassay/assay/harness/check/probe"

// Rules are the rules of the package, in the order of their ids.
var Rules = []*probe.Rule{
	PromptHangsOnWords,
	KnowsThatItIsTested,
	TextAtACount,
	ThresholdNotExercised,
	TextAtARepetition,
	TextWithoutAReason,
	TextAtASwitch,
	DefaultMixed,
}
