// Package calls has the rules about how a template writes calls and their results.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package calls

import "github.com/goassay/assay/harness/check/probe"

// Rules are the rules of the package, in the order of their ids.
var Rules = []*probe.Rule{
	ToolResultDropped,
	ArgumentsDoubleEncoded,
	CallDropped,
	CallIDDropped,
	ArgumentsRefused,
	CallLost,
	CallsClosedDifferently,
	CallEscaped,
	CallsJoined,
	ResultAsQuestion,
	NumbersSkip,
	ResultUnnamed,
	TextBesideCallDropped,
	TextBesideCallLost,
	PromptForbidsCalls,
	ResultNamedTwice,
	ResultNamedOtherwise,
}
