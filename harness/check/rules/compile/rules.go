// Package compile has the rules about a template as a program: whether it compiles and renders, and
// where it runs.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package compile

import "github.com/goassay/assay/harness/check/probe"

// Rules are the rules of the package, in the order of their ids.
var Rules = []*probe.Rule{
	DoesNotCompile,
	RendersNothing,
	SandboxViolation,
	RenderersDiffer,
	TemplateShadowed,
	ClockRead,
	TooCostly,
}
