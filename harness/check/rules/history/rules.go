// Package history has the rules about how a prompt grows from turn to turn. Servers keep the work
// done for a prompt as long as the next one starts with it.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package history

import "github.com/goassay/assay/harness/check/probe"

// Rules are the rules of the package, in the order of their ids.
var Rules = []*probe.Rule{
	GenerationPromptDiffers,
	HistoryRewritten,
	GenerationPromptIgnored,
	StepRewritten,
}
