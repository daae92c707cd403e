// Package notation has the rules about the brackets and the JSON that a template writes around
// values.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package notation

import "github.com/goassay/assay/harness/check/probe"

// Rules are the rules of the package, in the order of their ids.
var Rules = []*probe.Rule{
	BracketsUnbalanced,
	ListBracketsUnbalanced,
	CallNotJSON,
	ListNotJSON,
}
