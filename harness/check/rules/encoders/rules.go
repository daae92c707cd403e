// Package encoders has the rules that hold a template to the program that its format was published
// with.
//
// # Model
//
// An encoder ([probe.Encoder]) writes the prompt of each conversation that the checks render, from
// the variables that the template got. Differences are gathered by the place of the template that
// wrote the first byte of a difference: that place is one cause.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package encoders

import "github.com/goassay/assay/harness/check/probe"

// Rules are the rules of the package, in the order of their ids.
var Rules = []*probe.Rule{
	PromptUnlikeEncoder,
	RefusedUnlikeEncoder,
	UnknownToEncoder,
}
