// Package codegen makes a parser and a grammar for an output format and a request.
//
// [Generate] turns a [format.Format] and [Options] into a tree of patterns (package peg), which is
// compiled into the program that package stream runs. [Output.Grammar] makes a second tree, as the
// template writes and with the schemas of the arguments in it, and lowers it to a grammar (package
// gbnf). Both trees are made from one description of how a turn is spelled, and the language of the
// grammar is part of the language of the parser of the same tolerances (E21).
// docs/internals/rationale.md says why there are two.
//
// # Where to look
//
//	turn.go       a request's demands on a format, and the place that the prefill has reached
//	spelling.go   how a call is spelled: its openings, its parts, their order, which may be missing
//	shape.go      the order of a format's literals, of which FIRST, FOLLOW and the closing markers are computed
//	literal.go    how one literal is written
//	read*.go      the parser's tree: a turn (reader.go), calls, objects, arguments, addressed parts,
//	              closers of nothing, calls that are malformed, empty or of something else
//	link.go       the frame of a program, which serves all tools, and the parts linked into it for each of them
//	write*.go     the grammar's tree, with the same parts
//	lower.go      the grammar of that tree
//	demand.go     when a grammar sets in: triggers; and which literals a tokeniser must keep whole
//
// It decides by the format (format, and dialect for the fallback spellings), by the request (chat,
// and schema for the arguments) and by nothing else; it makes patterns (peg) with scanners for
// values (codec), and grammars (gbnf).
//
// # Terminology
//
// The text that a program reads is the prefill, which the prompt already contains, and the output.
// A turn is in one of a few states, which are the rules of the trees:
//
//	content       text of the answer, until a marker comes
//	after         the same, once there was a call
//	reasoning     between reasoning's markers
//	section K     after a call of spelling K: another one, the section's end, or neither
//	rest K        after the name of a call of spelling K: its arguments and closing markers
//	refused       after an opener that turned out to be text
//	ended         after the end of the turn
//
// States go on to each other without returning. A spelling is one [format.Calls]. An opener is a
// marker by which a call can begin; a guard is the text that must be read until a call is announced
// (E14).
//
// # Events
//
// The program's events have the kinds of this package: text of the message, where calls, arguments
// and values begin and end, and markers, beside which white space may be dropped (E19). Input that
// is in no event was a marker.
//
// # Reading loosely, writing strictly
//
// The tolerances are those of E21, each with a bit in [Tolerances]. The grammar has keys in the
// template's order, wrappers where the template has them, values in its notation and arguments as
// their schemas want them. Beyond that, it leaves a choice to the model only where the parser of
// the same plan reads each variant as it is meant. A tolerance that is switched off can therefore
// narrow the grammar:
//
//	T1 free-space        on: white space beside markers and around values is free; off: as the template writes it, none where it writes none
//	T2 content-around    on: text, calls, text; off: either text or calls, and calls begin where the output does, or after reasoning
//	T3 loose-reasoning   on: reasoning ends with its marker, a call or the turn, and may come in the middle of text; off: it comes first
//	                     and its marker alone ends it. Without reasoning, or with none between the markers, a turn reads alike either way
//	T4 optional-wrapper  the grammar always writes the wrappers
//	T5 stray-closers     on: the text of the answer has no closing marker of calls and not the end of the header, which the parser drops there;
//	                     off: they are text. The end of reasoning that closes none is let through, since models write it
//	T6 any-literal       the grammar always writes the template's notation, keys in its order
//	T7 fences            on: an answer in JSON may stand in a fence; off: it may not
//	T8 any-spelling      on: undisclosed calls come in the registered spellings; off: there are none, even where the request wants one
//	T9 close-arguments   the grammar's arguments are closed
//	T10 repeated-opener  on: reasoning has no opener of its own in its text, of which the parser drops one at its beginning
//	T11 quoted-scalars   the grammar's values are of the schema's types
//	T12 text-after-end   nothing of the grammar stands after the end of a turn
//
// A lazy grammar without T2 or T3 is armed at the beginning of the output alone, since the parser
// looks for calls, or for reasoning, there alone. Formats of addressed parts (format.Route) name
// the kind of each part, so that T2 and T3 change nothing. No text of the answer has a marker in it
// with which a call or reasoning could begin, whatever is tolerated. A part of the turn's end may
// be dropped from the very end of a text (E9, EndStub).
//
// # Limits
//
// Names and keys have at most [MaxName] bytes. The machine bounds the text that must be held until
// it is known to be a call (vm.Limits.Held), and so does [MaxMarkers] the markers. A program is
// made in proportion to the bytes of a format and of its tools.
//
// # Errors
//
// [Generate] returns an error for a format that cannot be read: a spelling without anything to
// recognise it by or with markers that are too long to be held, an unknown fallback, a tool whose
// schema is broken or whose name has white space around it.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package codegen

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/peg"
	"github.com/goassay/assay/engine/schema"
)

// MaxName bounds names of functions and of arguments that are not declared, ids, and words, in
// bytes.
const MaxName = 256

// MaxMarkers is how long the markers of a format may be together, in bytes, so that each of them is
// read wherever it stands: a parser holds its beginning until it knows (peg.ConfirmBytes).
const MaxMarkers = peg.ConfirmBytes - 2*MaxName

// MaxFormat is how long the markers of a format may be together, in bytes, in any case: patterns
// hold them many times over. Those of known formats have some hundred bytes.
const MaxFormat = 1 << 16

// The kinds of the events.
const (
	_         peg.Kind = iota
	Content            // text: of the answer
	Reasoning          // text: of the reasoning
	Dropped            // text: not part of the message (E20)
	EndStub            // text: the beginning of a turn's end, at the end of the output
	Mark               // a marker begins or ends here: number Arg of Output.Marks
	Call               // a call of spelling Arg begins
	Name               // the call's function is number Arg of Output.Tools: it is announced
	ID                 // text: of the call's id
	// the id is complete; Arg is the quote that it stands between, whose escapes it has, or 0
	IDEnd
	Args    // text: of the arguments, JSON
	ArgsEnd // the arguments are complete
	// an object begins under a key that means nothing: the arguments, where the call has no others
	Spare
	SpareText  // text: of it, JSON
	Open       // the arguments come as entries: a brace is ours to write
	Key        // an entry begins; the text is its key as JSON
	KeyText    // text: of a key that is not declared
	KeyEnd     // it is complete; Arg 1: it may have entities
	Value      // text: of a value
	ValueBegin // a value of kind Arg of Output.Values begins
	ValueEnd   // the value is complete
	Verbatim   // Arg 1: the rest of the value is literal text; 0: no more
	Close      // the entries are complete
	CallEnd    // the call is complete
	CallBroken // the call ends incomplete
	Skipped    // text: the rest of an incomplete call
	Undeclared // text that looks like a call names a function that is not declared
	EndOfTurn  // the turn has ended
	AfterEnd   // text: after the end of the turn
	kindCount
)

var kindNames = [kindCount]string{"", "content", "reasoning", "dropped", "end-stub", "mark", "call",
	"name", "id", "id-end", "args", "args-end", "spare", "spare-text",
	"open", "key", "key-text", "key-end", "value", "value-begin", "value-end", "verbatim", "close",
	"call-end", "call-broken", "skipped", "undeclared", "end-of-turn", "after-end"}

// Tolerances is a set of the tolerances of E21.
type Tolerances uint16

// The tolerances.
const (
	FreeSpace      Tolerances = 1 << iota // T1: white space at markers is free
	ContentAround                         // T2: content around calls
	LooseReasoning                        // T3: reasoning absent, empty or implicitly closed
	// T4: outer wrappers are optional where the inner opener is distinctive
	OptionalWrapper
	StrayClosers   // T5: closers that close nothing are dropped
	AnyLiteral     // T6: JSON and Python literals both, keys in any order
	Fences         // T7: a Markdown fence around JSON
	AnySpelling    // T8: undisclosed calls in any registered spelling
	CloseArguments // T9: arguments that break off are closed
	// T10: an opener that the model repeats is dropped: of an open block, of calls before a call
	RepeatedOpener
	// T11: a number, true or false is a string where the schema allows strings alone
	QuotedScalars
	// T12: text after the end of a turn is content
	TextAfterEnd

	// Usual are the tolerances that are on unless a caller decides otherwise.
	Usual = FreeSpace | ContentAround | LooseReasoning | OptionalWrapper | StrayClosers |
		AnyLiteral | Fences | AnySpelling | RepeatedOpener | QuotedScalars | TextAfterEnd
)

var toleranceNames = [...]string{"free-space", "content-around", "loose-reasoning",
	"optional-wrapper", "stray-closers", "any-literal", "fences", "any-spelling", "close-arguments",
	"repeated-opener", "quoted-scalars", "text-after-end"}

// ToleranceNames returns the names of all tolerances, T1 first.
func ToleranceNames() []string { return slices.Clone(toleranceNames[:]) }

// ParseTolerance returns the tolerance of a name, or of "T1" to "T12".
func ParseTolerance(name string) (Tolerances, error) {
	for i, n := range toleranceNames {
		if name == n || name == fmt.Sprintf("T%d", i+1) {
			return 1 << i, nil
		}
	}
	return 0, fmt.Errorf("tolerance %q: expected one of %q", name, toleranceNames)
}

// Incomplete is the policy for calls that break off or are malformed after their announcement
// (E30).
type Incomplete uint8

// The policies. Under the latter two a call comes when it is complete, as a whole.
const (
	// the call is in the message, as far as it came, and is not complete
	IncompleteKeep Incomplete = iota
	IncompleteDrop            // it is in no message; a diagnostic tells
	IncompleteText            // its text is content
)

var incompleteNames = [...]string{"keep", "drop", "text"}

func (i Incomplete) String() string { return incompleteNames[i] }

// IncompleteNames returns the names of the policies, that of the default first.
func IncompleteNames() []string { return slices.Clone(incompleteNames[:]) }

// ParseIncomplete returns the policy of a name: "keep", "drop" or "text".
func ParseIncomplete(name string) (Incomplete, error) {
	if i := slices.Index(incompleteNames[:], name); i >= 0 {
		return Incomplete(i), nil
	}
	return 0, fmt.Errorf("policy %q for incomplete calls: "+
		"expected one of %q", name, incompleteNames)
}

// Options are the parts of a request that matter beside the format.
type Options struct {
	Tools         []chat.Tool
	Choice        chat.ToolChoice
	Parallel      bool // the grammar allows several calls
	Reasoning     chat.ReasoningFormat
	JSONSchema    ordered.Value // of the answer
	HasJSONSchema bool
	Prefill       string // the prompt's text after the header
	Continue      chat.Continue
	Tolerances    Tolerances
	Fallbacks     []string // names of dialect.Spellings
	Incomplete    Incomplete

	// Literal, where set, returns a literal with a [TokenMark] before each token in it: the program
	// then reads tokens by their ids. The prefill has to have the marks. A generator is asked for
	// programs with one such function only, or with none.
	Literal func(string) string
}

// Values is the number of tools, keys and values in the options. An output and its grammar take
// memory in proportion to it: up to [ValueBytes] for each.
func (o *Options) Values() int {
	n := count(o.JSONSchema)
	for i := range o.Tools {
		n += 4 + count(o.Tools[i].Parameters)
	}
	return n
}

// ValueBytes is the most memory that an output and its grammar take, in bytes for each of
// [Options.Values]. MakingBytes is the most that they take while they are made.
const (
	ValueBytes  = 1792
	MakingBytes = 7168
)

// Clone returns options that share no memory with the request that they are from, so that an output
// that is kept keeps nothing else.
func (o Options) Clone() Options {
	o.Choice.Name, o.Prefill = strings.Clone(o.Choice.Name), strings.Clone(o.Prefill)
	o.JSONSchema = ordered.Clone(o.JSONSchema)
	o.Tools = slices.Clone(o.Tools)
	for i, t := range o.Tools {
		o.Tools[i] = chat.Tool{Name: strings.Clone(t.Name), Parameters: ordered.Clone(t.Parameters)}
	}
	return o
}

// marked reports whether the program reads tokens by their ids.
func (o *Options) marked() bool { return o.Literal != nil }

// spelled returns a format as the program is to read it.
func (o *Options) spelled(f format.Format) format.Format {
	if o.Literal == nil {
		return f
	}
	return f.Literals(o.Literal)
}

// ValueInfo describes how the text of a tagged value becomes JSON. Values that are literals in the
// output never get here: their text comes as Args.
type ValueInfo struct {
	Mode   ValueMode
	Types  schema.TypeSet // ValueHeld: the types as which it may be read
	Before string         // white space before the closing marker that is not the value's
	After  string         // white space after the opening marker that is not
	Entity bool           // text is HTML-escaped
}

// ValueMode says when a value is understood.
type ValueMode uint8

// The modes.
const (
	ValueRaw  ValueMode = iota // a string, as it comes
	ValueHeld                  // when it has ended (E18)
)

// MarkInfo is a marker in the message's text: white space beside it may be dropped (E19).
type MarkInfo struct {
	Before, After string // the template's text there
	Free          bool   // all white space there goes (T1)
	// it closes nothing: in the middle of a text it leaves the white space beside it alone
	Stray bool
}

// IDPlace says where a template writes the id of a call, of which a delta comes before those of the
// arguments.
type IDPlace uint8

// The places.
const (
	IDNone  IDPlace = iota // there is none
	IDFirst                // before the arguments: once they come, none is waited for
	IDLast                 // after the arguments, which wait for it
)

// Trigger switches a lazy grammar on.
type Trigger struct {
	// Pattern reports whether Text is a regular expression in the syntax that RE2 and ECMAScript
	// share, to be searched in the output from its beginning; the grammar constrains the output
	// from its one group on. Else Text is a word, and the grammar constrains the output from it on.
	Pattern bool
	Text    string // the word or the expression that switches the grammar on
	Call    bool   // a call begins there; else reasoning begins or ends, and a call may come
}

// String returns the trigger's kind and its text, quoted.
func (t Trigger) String() string {
	if t.Pattern {
		return fmt.Sprintf("pattern %q", t.Text)
	}
	return fmt.Sprintf("word %q", t.Text)
}

// Output is the result of [Generate]. It is safe for concurrent use.
type Output struct {
	Program   *peg.Program
	Tools     []Function // by the number in Name events
	Marks     []MarkInfo
	Values    []ValueInfo
	Spellings []SpellingInfo // by the number in Call events
	// the part of the prefill that a parser reads first: all of it that may reach the message (E29)
	Prefill string

	TrimContent   bool // the template trims content
	TrimReasoning bool // the template trims reasoning
	CloseArgs     bool // T9
	Incomplete    Incomplete

	Lazy      bool      // the grammar waits for a trigger
	Triggers  []Trigger // of a lazy grammar
	Stops     []string  // texts that end the turn and nothing else
	Preserved []string  // all markers, which a tokeniser must not cut

	made made
}

// Faults returns the places at which the request's schemas are none, and are read as if they
// allowed anything (schema.Note).
func (o *Output) Faults() (all []schema.Note) {
	for _, s := range o.made.schemas {
		for _, note := range s.Notes() {
			if note.Fault {
				all = append(all, note)
			}
		}
	}
	return all
}

// Function is one that may be called.
type Function struct {
	Name   string
	Schema *schema.Schema // of its arguments
	Quotes bool           // scalars become strings by the schema (T11)
}

// SpellingInfo is how the parser reads a spelling of calls.
type SpellingInfo struct {
	ID     IDPlace    // the parts that wait for a call's id (E24)
	IDs    format.IDs // those that the template takes (T7)
	Nested bool       // objects are entries between tags, so that a key may be repeated (E18)
}

// Generate makes the program for a format and a request. A [Generator] makes several for one
// format, faster.
func Generate(f format.Format, o Options) (*Output, error) { return NewGenerator(f).Generate(o) }

// Tree returns the patterns of the program: the frame's, those that the tools have added, and, as a
// rule for each place where a name has been read, the continuation for each tool.
func (o *Output) Tree() *peg.Tree {
	tree, parts := *o.made.frame.tree, o.made.parts
	tree.Rules = append(slices.Clip(tree.Rules), parts.Rules...)
	for _, name := range slices.Sorted(maps.Keys(parts.Bodies)) {
		tree.Rules = append(tree.Rules,
			peg.Rule{Name: "switch " + name,
				P: peg.Dispatch{Words: parts.Words, Bodies: parts.Bodies[name]}})
	}
	return &tree
}

// Grammar returns the grammar for decoding. It is made when it is first asked for.
func (o *Output) Grammar() (*gbnf.Grammar, error) { return o.made.grammar() }

// Whole returns the grammar of all of an answer: [Output.Grammar] where that waits for nothing. It
// is made when it is first asked for.
func (o *Output) Whole() (*gbnf.Grammar, error) { return o.made.whole() }

// count returns the number of values of which a value consists, itself and the keys of objects
// counted.
func count(v ordered.Value) int {
	n := 1
	for _, item := range v.Items() {
		n += count(item)
	}
	for _, m := range v.Members() {
		n += 1 + count(m.Value)
	}
	return n
}
