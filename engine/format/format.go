// Package format is the waist of the engine: it describes output formats as plain data.
//
// A chat template, read backwards, describes how the model will spell reasoning, content and tool
// calls. The analysis writes that down as a [Format]; codegen turns a Format into a parser and a
// grammar and looks at nothing else. A Format can also be written by hand (a dialect), stored in a
// golden file, or shipped to another engine.
//
// # Terminology
//
// A turn is the text after the last message of a prompt: the header, then the model's text (the
// part of it that the generation prompt already contains, the prefill, and the output), then the
// end text. A marker is a literal around a part; a slot is a place for data: a name, an id, a
// value. A call is spelled as parts, literals and slots in order: head, body (the arguments), tail.
//
// # White space
//
// A model often changes the white space beside a marker, so a [Marker] keeps the white space at its
// edges apart.
//
// # Zero values
//
// Everything's zero value means "not found". The comment of a field that the analysis finds names
// the comparison in brackets at its end: R1 to R3 compare turns with and without reasoning, C1
// content, T1 to T7 calls, A1 and A2 arguments. E rules are the engine's;
// docs/internals/engine-rules.md has both.
//
// # Reading this package
//
// Start at [Format], then [Calls] with [Part] and [Body]; [Format.String] prints all of it as
// goldens have it.
//
// # Stability
//
// This package is part of the stable surface; see package engine.
package format

import (
	"html"
	"strings"
)

// Format is one output format in full: reasoning, content and tool calls together.
type Format struct {
	// Name is the name of a hand-written format or fallback spelling; empty for an analysed one.
	Name string

	// Header is the template's text between the last message and the model's first byte: the
	// longest common prefix of all probe turns and generation prompts (E9).
	Header string

	// End lists the texts that the template writes after the last byte of a turn, most common
	// first. Any prefix of one of them at the very end of an output is dropped; a whole one ends
	// the turn.
	End []string

	Reasoning Reasoning // how reasoning is spelled
	Content   Content   // how the text of the answer is spelled

	// Calls lists the spellings of tool calls, tried in order at each position. Analysis finds at
	// most one, fallback spellings add theirs.
	Calls []Calls

	// Routes is set for formats in which every part of a turn is addressed to somebody by a head of
	// its own; Reasoning, Content and Calls are then empty, since the routes say it all.
	Routes []Route

	// Undisclosed reports whether the template describes tools and prints no call, so that calls
	// may come in any registered spelling (E21 T8).
	Undisclosed bool
}

// Marker is a literal that the template writes around a part, its outer white space apart: the
// template writes Before+Text+After.
type Marker struct {
	Before, Text, After string // white space, the literal without it, white space
}

// Pair is an opening and a closing marker.
type Pair struct {
	Open, Close Marker // what stands before and after the part
}

// ReasoningMode describes how a template handles reasoning.
type ReasoningMode uint8

// The modes of reasoning. A parser needs none of them, since it reads the prefill; they are for
// people.
const (
	ReasoningNone       ReasoningMode = iota // no markers found
	ReasoningTagged                          // open, reasoning, close, all written by the model
	ReasoningDelimiter                       // an end marker only
	ReasoningForcedOpen                      // the generation prompt opens it
	// the generation prompt opens and closes it when thinking is off
	ReasoningForcedClosed
	ReasoningToolsOnly // written only beside tool calls
)

// Reasoning describes how reasoning is spelled. Open is empty in delimiter mode.
type Reasoning struct {
	Mode ReasoningMode // how the template treats reasoning, for people (R1, R2, R3)
	// Pair stands around reasoning; where no rendering shows reasoning, the template's search for
	// it tells the markers (R1, R2, R3).
	Pair
	Trim bool // the template trims reasoning text before it writes it (R1)

	// Empty is the block without reasoning, or its close alone, that the template writes before
	// content where an answer has no reasoning; "" where it writes none. A parser needs it not,
	// since it takes any such block; [Format.Continued] writes it (C1, E21 T3).
	Empty string
}

// Basis is the kind of evidence for a field of a format (E28).
type Basis uint8

// The bases, the strongest first.
const (
	Observed Basis = iota // the template writes it
	Traced                // the template searches or splits answers with it
	// the template writes or traces its counterpart alone, whose shape names it: <x> and </x>
	Mirrored
	Assumed // nothing that the template does tells it from another reading
)

// ContentMode describes how a template wraps content.
type ContentMode uint8

// The modes of content.
const (
	ContentPlain                ContentMode = iota // no markers
	ContentWrapped                                 // always between markers
	ContentWrappedWithReasoning                    // between markers only where there is reasoning
	ContentWrappedWithCalls                        // between markers only beside calls
	ContentWrappedWithoutCalls                     // between markers except beside calls
)

// Wraps reports whether content stands between the markers in a turn with or without reasoning and
// calls.
func (c Content) Wraps(reasoning, calls bool) bool {
	switch c.Mode {
	case ContentWrapped:
		return true
	case ContentWrappedWithReasoning:
		return reasoning
	case ContentWrappedWithCalls:
		return calls
	case ContentWrappedWithoutCalls:
		return !calls
	}
	return false
}

// Content describes how content is spelled.
type Content struct {
	Mode ContentMode // in which turns content stands between the markers (C1)
	// Pair stands around content; of plain content, Open is the white space that the template
	// writes before it (C1).
	Pair
	Trim bool // the template trims content before it writes it (C1)
}

// Calls is one spelling of tool calls.
//
// A section of n calls is written
//
//	Section.Open (Array: "[") Call.Open call₁ Call.Close Sep Call.Open call₂ Call.Close ... (Array: "]") Section.Close
//
// where a call is Head Body Tail, or, in JSON, an object with the fields of Object.
type Calls struct {
	Name    string // the name of a fallback spelling; empty for the template's own
	Section Pair   // around all calls of a turn (T1, T2)
	Call    Pair   // around each call (T1, T2)
	Sep     Marker // what stands between two calls (T2)
	Array   bool   // the calls are the items of a JSON array (T1)
	// a call is one JSON object with these fields; Head, Body and Tail are then empty (T1)
	Object *Object
	Head   []Part // the parts before the arguments (T3, T7)
	Body   Body   // how the arguments are spelled (A1, A2, T5, T6)
	Tail   []Part // the parts after the arguments (T3, T7)

	// Unclosed reports whether the template leaves a section of one call open: only after several
	// it writes the close (T2).
	Unclosed bool

	// Tentative reports whether nothing in the spelling is distinctive: a call is held back whole
	// until it is complete, and is content if it does not become one (E13, E14).
	Tentative bool
}

// Object is a call spelled as one JSON object.
type Object struct {
	// Fields are the object's members in the template's order. Nothing else is needed to read them:
	// keys may come in any order (E21 T6).
	Fields []Field
	// NameIsKey reports whether the object has one member whose key is the function's name and
	// whose value is the arguments.
	NameIsKey bool
	Quote     byte // '\'' where the template writes Python dicts, else 0 or '"'
}

// Field is a member of an [Object], or of an object nested in it.
type Field struct {
	Path  []string // keys from the call's object down: ["function", "name"]
	Slot  SlotKind // SlotName, SlotArgs, SlotID, SlotNumber; SlotLit for a constant
	Const string   // the constant's JSON text
	// SlotArgs: the arguments are a string of JSON text; SlotID, SlotNumber: the number is written
	// as a string
	Text bool
	IDs  IDs // SlotID: those that the template takes (T7)
}

// SlotKind is the kind of datum that a [Part] stands for.
type SlotKind uint8

// The kinds of parts.
const (
	SlotLit       SlotKind = iota // literal text
	SlotName                      // the function's name
	SlotID                        // the call's id; Part.Parts, if set, are the parts of an id
	SlotIndex                     // the call's number in the turn, counted from Part.Base
	SlotRecipient                 // to whom a route is addressed
	SlotKey                       // an argument's name
	SlotType                      // an argument's type, in the words of Part.Types
	SlotArgs                      // the arguments, in Calls.Head of a Route; a Body everywhere else
	SlotValue                     // an argument's value
	SlotWord                      // a run of bytes up to the next literal that means nothing to us
	// a number that the template computes, such as a length, and that means nothing to us
	SlotNumber
)

// Part is one literal or slot. A slot that is written twice must read the same both times.
type Part struct {
	Kind  SlotKind   // a literal, or the datum that stands here
	Text  Marker     // SlotLit: the literal
	Alts  []string   // SlotLit: further texts that mean the same
	Parts []Part     // SlotID: the parts of an id, such as "functions." name ":" index
	IDs   IDs        // SlotID without parts: those that the template takes (T7)
	Base  int        // SlotIndex: the first call's number
	Types []TypeName // SlotType: the words and their meanings
	Opt   bool       // the part may be missing

	// Escapes lists the entities that the template writes for characters of a name or a key, such
	// as "&amp; &quot;", with spaces between them (T3, A1).
	Escapes string
}

// Escaped returns a name or a key as the part writes it.
func (p Part) Escaped(text string) string {
	if p.Escapes == "" {
		return text
	}
	var pairs []string
	for _, entity := range strings.Fields(p.Escapes) {
		pairs = append(pairs, html.UnescapeString(entity), entity)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// Lit returns a literal part with its white space set apart.
func Lit(text string) Part { return Part{Kind: SlotLit, Text: Mark(text)} }

// TypeName is a word that a template writes for the type of an argument.
type TypeName struct {
	Word string // as the template writes it, such as "str"
	Raw  bool   // the value is raw text, as for "string"; else it is JSON
}

// BodyKind describes how arguments are spelled.
type BodyKind uint8

// The kinds of bodies.
const (
	BodyNone   BodyKind = iota // no arguments seen
	BodyJSON                   // one JSON object
	BodyTagged                 // an entry per argument: markers, key, value
	BodyKwargs                 // key=value, separated, values as Python literals
	BodyDict                   // key:value in braces with unquoted keys; nested values alike
)

// Body is the spelling of arguments.
type Body struct {
	Kind  BodyKind // JSON, tags, keywords or a dict
	Pair           // around the arguments (T6)
	Entry []Part   // BodyTagged: one argument, from its first to its last byte (A1, A2)
	Sep   Marker   // what stands between two entries (T5)
	Codec Codec    // how a value is written (A2)

	// Sorted reports whether the template writes keys in alphabetical order, those of nested
	// objects too, so that the model has learnt them so (T5).
	Sorted bool

	// Item is set where an entry's value nests (Codec.Nested): one item of an array.
	Item []Part
}

// ValueStyle describes how values are written.
type ValueStyle uint8

// The styles of values.
const (
	StyleJSON   ValueStyle = iota // JSON, strings quoted
	StyleRaw                      // strings as they are, everything else JSON
	StylePython                   // Python literals: single or double quotes, True, False, None
	// strings as they are, everything else as Python's str() writes it
	StyleStr
)

// Codec describes how a value is written and escaped.
type Codec struct {
	Style  ValueStyle // JSON, raw text or Python
	CDATA  bool       // a raw string may come in <![CDATA[ ... ]]> (only where it needs to)
	Entity bool       // raw strings are HTML-escaped: &lt; &gt; &amp; &quot; &#39;
	// Escaped reports whether JSON values are HTML-escaped as well as strings.
	Escaped bool
	// the token that stands for a string's quotes, both sides; strings are not escaped inside
	Quote  string
	Nested bool // objects and arrays are spelled as entries and items, not as JSON
}

// RouteKind is the kind of a route's text.
type RouteKind uint8

// The kinds of routes.
const (
	RouteContent RouteKind = iota
	RouteReasoning
	RouteCall    // the part's text is the arguments of the call whose name is in the head
	RouteDropped // addressed to somebody who is not declared (E20)
)

// Route is one kind of addressed part: Head, text, Close. Heads are tried in order.
type Route struct {
	Kind  RouteKind // what the part is to the message
	Start Marker    // the text before the head of every part but the first
	Head  []Part    // the address, and the name of a call
	Body  Body      // RouteCall: how the arguments are spelled
	Close []Marker  // the ends of the part; a further Start and the turn's end end it, too
}
