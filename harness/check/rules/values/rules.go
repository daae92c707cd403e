// Package values has the rules about the values that calls and tools carry: they survive being
// written.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package values

import "github.com/goassay/assay/harness/check/probe"

// Rules are the rules of the package, in the order of their ids.
var Rules = []*probe.Rule{
	ArgumentOrderChanged,
	NumberChanged,
	ValuesAmbiguous,
	TextEscaped,
	WhitespaceChanged,
	NullAmbiguous,
	PythonPrinted,
	ValuesAsPython,
}
