// Package diff compares two revisions of a chat template by their behaviour.
//
// # Model
//
// [Compare] looks at both through the same eyes: capabilities, format, the prompts of the checks'
// requests, the messages that each reads from the other's turns and from recorded outputs, the
// languages of their grammars, and the findings of the automatic checks. Every change has a rule
// (D001, ...) and is classed:
//
//	breaking   something that worked does not, or means something else (an error; it fails a gate)
//	risky      the model sees another prompt, or may be constrained to another spelling (a warning)
//	safe       something was added or mended (a note)
//
// Where a prompt differs, an account of the request's values and of the template's own text between
// them tells what breaks: the old revision is the reference. An edit that ends findings and brings
// none mends a fault of the old revision, so other frames are only risky there.
//
// A change that nobody can observe (comments, white space inside tags, names of variables) does not
// count.
//
// Where the limits ended the look at one of them, the two were not compared (D017): that is no
// change, and never a reason to accept an edit.
//
// # Errors
//
// There are none: a revision that does not compile is a change.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package diff
