// Package requests has the rules about one thing said in several spellings: members that are null,
// empty or absent, text and parts, ids of other models (package sent).
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package requests

import "github.com/goassay/assay/harness/check/probe"

// Rules are the rules of the package, in the order of their ids.
var Rules = []*probe.Rule{
	SpellingCrashes,
	SpellingLosesText,
	SpellingChangesPrompt,
	SpellingRefused,
	InlineReasoningMangled,
	TurnsDependOnContext,
	ParameterNotDescribed,
}
