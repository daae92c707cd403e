// Package editor is the room of the language server: it tells an editor what the checks find in a
// template while somebody writes it.
//
// # Model
//
// [Serve] speaks the Language Server Protocol 3.17 with one client. A document is a Jinja file, or
// a JSON file that has templates as strings, such as a tokenizer_config.json; every place in such a
// template is mapped through the escapes of its string. Each change of a document begins a look at
// it, and ends the one before: first the rules that only read the text, at once, then, where the
// writer pauses, all others, then the search for patches. A finding of an earlier look moves with
// the text until the next look has its answer.
//
// Settings are those of assay.toml, as `assay check` finds and applies them. A document that the
// client has opened has the client's text, settings files included.
//
// # Positions
//
// A position of the protocol counts UTF-16 units in a line; in here, places are byte offsets.
//
// # Errors
//
// A request that cannot be answered gets an error, and the next one is read. A message that breaks
// the framing ends the connection.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package editor
