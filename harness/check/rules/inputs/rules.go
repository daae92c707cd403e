// Package inputs has the rules about the requests that a template refuses or fails on.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package inputs

import "github.com/goassay/assay/harness/check/probe"

// Rules are the rules of the package, in the order of their ids.
var Rules = []*probe.Rule{
	RoleRefused,
	SystemRefused,
	RequestCrashes,
	PartsCrash,
	FieldMisspelt,
	VariableRequired,
	PartsRefused,
}
