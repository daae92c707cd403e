// Package lists has the rules about how a template lists and describes the tools.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package lists

import "github.com/goassay/assay/harness/check/probe"

// Rules are the rules of the package, in the order of their ids.
var Rules = []*probe.Rule{
	ToolDescriptionDropped,
	InstructionsDiffer,
	ToolsJoined,
	PairEmpty,
	ValueMissing,
	ToolsWrappedUnread,
	HeadingEmpty,
}
