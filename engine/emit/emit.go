// Package emit writes a format, and the grammar of its answers, in the languages of other engines.
//
// # Targets
//
//	ResponseTemplate   transformers' response_template, version 1: a parser of whole and streamed outputs
//	GBNF               llama.cpp's grammars
//	EBNF               xgrammar's grammars
//	Lark               llguidance's grammars
//	StructuralTag      xgrammar's structural tags, which vLLM and SGLang take in requests
//
// # Exact, or refused
//
// A target either reads the format's turns, or the emitter returns an [Inexpressible] that names
// the part of the format for which the target's language has no words. It never approximates.
//
// # Stability
//
// This package may change with every release; engine, engine/chat and engine/format are the stable
// surface.
package emit

import "fmt"

// Inexpressible is the error of a format that a target's language cannot express.
type Inexpressible struct {
	Target string // such as "response_template"
	Part   string // of the format
	Reason string
}

func (e *Inexpressible) Error() string {
	return fmt.Sprintf("%s cannot express this format's %s: %s", e.Target, e.Part, e.Reason)
}
