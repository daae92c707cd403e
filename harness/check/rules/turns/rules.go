// Package turns has the rules about how turns begin and end: a turn ends as it ends elsewhere, and
// the next one opens as it opens elsewhere.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package turns

import "github.com/goassay/assay/harness/check/probe"

// Rules are the rules of the package, in the order of their ids.
var Rules = []*probe.Rule{
	BOSDoubled,
	TurnNotClosed,
	TurnNotOpened,
	TurnClosedTwice,
	TurnsSpacedDifferently,
	HeaderWithoutRole,
	EndMissing,
}
