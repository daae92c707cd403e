// Package glyphs draws chat templates whose markers look like nothing in particular, and judges the
// engine's findings about them.
//
// # Model
//
// A marker is made of runes of one class or two: punctuation, symbols, emoji, letters of five
// scripts, plain words. A template is drawn from a seed: the spelling of its calls, whether it
// writes reasoning, wraps content or calls, and a marker for each place. So its turns are known
// without the engine (Template.Turn), and the engine's findings can be compared with them.
//
// A template is accepted where the engine reports that it supports tools and all shapes are
// verified. One that is accepted must be right: the format that was found spells turns of other
// messages than the proof's, and the parser reads them back. No template may be accepted and wrong;
// refused is a loss, and its reason names the shape.
//
// # Stability
//
// This package may change with every release; it has tests alone.
package glyphs
