// Package jinja renders chat templates exactly as Python's jinja2 does.
//
// # Terminology
//
// A template is compiled once and rendered with variables, which are JSON values. The environment
// is the one in which Hugging Face transformers renders chat templates: jinja2 3.1.2's
// ImmutableSandboxedEnvironment with trim_blocks and lstrip_blocks, break and continue, the
// generation block, the functions raise_exception and strftime_now, and a tojson that is Python's
// json.dumps without HTML escaping. There is no loader, so extends, include and import fail as they
// do there.
//
// A run is a stretch of output with one origin: the template's own text, or a path into the
// variables such as messages[1].content, the role that the text has there, and the codec that wrote
// it (E3). A trace records which paths a render looks up, and which literals it compares, searches,
// splits or strips their text with (E4).
//
// # Model
//
// Package syntax parses the source into a tree. [Compile] resolves names as jinja2 does, whole
// scopes at a time, and turns the tree into code: one node a statement or expression, with
// variables in numbered slots of frames, one frame for each activation of the template, a macro, a
// block or a recursive loop. Input is converted when it is first looked at. All text goes to one
// buffer, out of which macros and set blocks are cut. Values carry their provenance in one pointer,
// which is nil as long as nobody has asked for origins or a trace.
//
// Values print, compare, add and fail as Python's do: text is a sequence of code points, integers
// have any size, floats print as repr does, dicts keep their order.
//
// # Limits
//
// [Limits] bound the steps of a render (iterations, calls, items handled, code that runs), the
// bytes it writes and builds, how deep calls nest, and the time it takes; a template beyond one
// ends in an error of the class LimitError or RecursionError at the place where it was. Nesting in
// the source is bounded by package syntax. Nothing depends on a clock or on chance unless [Options]
// give one.
//
// # Errors
//
// Errors of [Compile] and of a render are [source.Error] values at the expression at fault, with
// jinja2's text. [Class] gives the name of the exception that jinja2 would raise.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package jinja
