// Package answers draws the answers of models, and puts them to formats, to the objects that are
// emitted for transformers, and through `assay serve` to the official clients.
//
// # Model
//
// The message is drawn, and the template writes its turn: so it is known what a reader must find,
// without the engine. Where a template leaves a part out, the turn does not count.
//
// # Stability
//
// This package may change with every release, and has tests alone.
package answers
