// Package suppression has the rules about suppressions.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package suppression

import "github.com/goassay/assay/harness/check/probe"

// Rules are the rules of the package, in the order of their ids.
var Rules = []*probe.Rule{
	SuppressionInvalid,
	SuppressionUnused,
}
