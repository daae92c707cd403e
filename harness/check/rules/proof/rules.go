// Package proof has the rules about what the analysis of a template proves: round trips, streaming
// and grammars.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package proof

import "github.com/goassay/assay/harness/check/probe"

// Rules are the rules of the package, in the order of their ids.
var Rules = []*probe.Rule{
	AnalysisUnverified,
	StreamDiffers,
	MarkerLeaks,
	GrammarRejectsTurn,
	SampleNotParsed,
	CallsWithoutTools,
	NotEscapable,
	PlainAnswerMisread,
	ShapeDropped,
	CallsUndisclosed,
	ToolsIgnored,
	TurnAmbiguous,
}
