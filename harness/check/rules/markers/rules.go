// Package markers has the rules about the template's own text in a prompt: it closes each marker
// that it opens, it stands apart from the texts of others, and it stands there once.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package markers

import "github.com/goassay/assay/harness/check/probe"

// Rules are the rules of the package, in the order of their ids.
var Rules = []*probe.Rule{
	MarkersUnescaped,
	MarkerUnpaired,
	TextGlued,
	OwnTextRepeated,
	StartMoved,
}
