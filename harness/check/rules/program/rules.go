// Package program has the rules about a template's tree: its variables and its branches.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package program

import "github.com/goassay/assay/harness/check/probe"

// Rules are the rules of the package, in the order of their ids.
var Rules = []*probe.Rule{
	SetInVain,
	BranchUnreachable,
	BranchEmpty,
	StateNeverChanges,
	OperandsConfused,
	ConditionInVain,
}
