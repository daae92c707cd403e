// Package foreign meets other engines and their formats.
//
// # Contents
//
// engines puts the corpus to other engines through adapters and picks their parsers for a
// template. encoder runs the programs that write prompts without a template. vector runs portable
// cases as JSON lines, canitoolcall writes and reads the records of that suite, responsetemplate
// reads the objects of transformers, target lists what `assay emit` writes. gonja is the second renderer.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package foreign
