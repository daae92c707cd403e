// Package peg holds patterns and the programs made from them: parsers of model output as plain
// data.
//
// A [Tree] of [Pattern] nodes is written (by codegen, mostly), [Compile] turns it into a [Program],
// and package peg/vm runs the program over bytes that arrive in pieces, handing out each [Event] as
// early as it is certain.
//
// # Terminology
//
// The input is one text, however it is cut into pieces. Positions and offsets are absolute byte
// offsets into it, 0-based. An event is text of a [Kind], or an Emit's mark. Events are logged as
// patterns match, and leave (are handed out) when no failure can take them back any more. A
// backtrack entry is made where an alternative is tried that may have to be undone; it remembers
// the position and the length of the log. To commit is to remove an entry. Text that is neither in
// an event nor left unread was a marker.
//
// # Model
//
// Programs are those of LPeg (R. Ierusalimschy, A Text Pattern-Matching Tool based on Parsing
// Expression Grammars, 2009, section 4), with four differences. Every instruction can suspend where
// the input ends and go on there (E12). Captures leave early (E13), and Compile refuses patterns of
// which no event could leave before the end. Until is an instruction with an automaton of its own.
// Try catches a failure where it happened.
//
// # Limits
//
// See package peg/vm. A program itself is bounded by [MaxCode] instructions.
//
// # Errors
//
// [Compile] returns an [*Error] that names the place in the tree and the remedy.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package peg
