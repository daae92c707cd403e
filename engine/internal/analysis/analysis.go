// Package analysis derives an output format from the chat template alone, by differential analysis
// with provenance.
//
// # Model
//
// The analysis renders small conversations (probes) and knows the origin of every byte of a
// rendering (E3). So a turn falls apart into literals, which are the format's markers, and slots.
// Comparing probes that differ in one respect shows which part of the format each literal belongs
// to:
//
//	R1  an answer with and without reasoning        open and close of reasoning
//	R2  thinking on and off, generation prompt      the parts that the prompt opens already
//	R3  reasoning beside content and beside calls   reasoning that is written only beside calls
//	C1  content alone, beside reasoning and calls   how content is wrapped
//	T1  no call and one call                        the form of a call: JSON object or parts
//	T2  one call and two                            section, call, separator
//	T3  the name's surroundings                     the literals before and after the name
//	T5  one argument and two                        the separator of arguments
//	T6  no argument and one                         the literals around the arguments
//	T7  the id's surroundings                       where an id stands, and how it is made
//	A1  the key's surroundings                      how an argument's name is written
//	A2  values of different types                   how a value is written and escaped
//
// docs/internals/engine-rules.md has a paragraph for each (E8).
//
// # Provenance locates, it does not determine (E6)
//
// A template may print nothing of a call, drop content beside calls, print a slot twice, or replace
// an id by a counter. Fields that cannot be found keep their zero values, and the evidence names
// them; the round trip of package verify decides whether the result holds.
//
// # Errors
//
// There are none: a probe that the template refuses is evidence (E5). A template that renders no
// answer at all has an empty format, and the evidence has the reason.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package analysis

import (
	"slices"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/internal/observe"
)

// Analysis is the result of the comparisons.
type Analysis struct {
	Format   format.Format
	Evidence []Evidence
	// Prefills are the texts that generation prompts were seen to add after the header: for each
	// setting of the template's flags, one.
	Prefills []string
	// Unread says why calls cannot be read although the template writes them; empty where they can,
	// and where it writes none.
	Unread string
	// NextTurn is the text between the end of an answer and the text of a user's message that
	// follows, where answers with calls were seen before one alone (see [observe.Needs]).
	NextTurn string
	// Judged reports whether an assistant's message is a part of the question and no answer, either
	// always or where there are no tools.
	Judged bool
	// BesideTools reports whether answers are written beside tools alone, and prompts without tools
	// end with the header of such answers all the same.
	BesideTools bool
	// NextPrompt is the prompt for another answer that the template writes, unasked, after the end
	// of a last one. It is no part of the turn.
	NextPrompt string
	// NextTokens are the ends of the format that begin the messages after a turn: the template
	// writes no end of its own, and a model stops at these.
	NextTokens []string
	// Unescaped reports whether strings are written between quotes, or up to the end of a line or a
	// separator, that are not escaped inside, so that a string which holds one can be read in two
	// ways.
	Unescaped bool

	heading
}

// HasCalls reports whether there is a way to read tool calls: a spelling, routes, or the registered
// ones.
func (a *Analysis) HasCalls() bool {
	return len(a.Format.Calls) > 0 || a.Format.Undisclosed ||
		slices.ContainsFunc(a.Format.Routes,
			func(r format.Route) bool { return r.Kind == format.RouteCall })
}

// OwnEnds returns the ends of a turn that the template writes itself.
func (a *Analysis) OwnEnds() []string {
	return slices.DeleteFunc(slices.Clone(a.Format.End),
		func(end string) bool { return slices.Contains(a.NextTokens, end) })
}

// Evidence is one comparison and its finding.
type Evidence struct {
	Comparison string       `json:"comparison"`       // R1, R2, ...
	Fields     []string     `json:"fields,omitempty"` // the fields that it gave, by the names that Format.String prints
	Basis      format.Basis `json:"basis"`            // the basis of these fields
	Found      string       `json:"found"`            // in words and quoted markers
}

// String returns the evidence in one line.
func (e Evidence) String() string {
	line := e.Comparison + "  " + e.Found
	if len(e.Fields) > 0 && e.Basis != format.Observed {
		line += " (" + e.Basis.String() + ")"
	}
	return line
}

// Ground describes how a field of the format is known: which comparison gave it, and on which
// evidence (E28).
type Ground struct {
	Field      string       `json:"field"` // as Format.String prints it
	Comparison string       `json:"comparison"`
	Basis      format.Basis `json:"basis"`
}

// String returns "field: comparison basis".
func (g Ground) String() string { return g.Field + ": " + g.Comparison + " " + g.Basis.String() }

// Grounds returns how each field of the format is known, in the order in which the format prints
// them. Of several comparisons that gave a field the last one counts. A field that none gave was
// not analysed but given by the caller, and is left out.
func (a *Analysis) Grounds() []Ground {
	var grounds []Ground
	for _, field := range a.Format.Fields() {
		for _, e := range slices.Backward(a.Evidence) {
			if slices.Contains(e.Fields, field) {
				grounds = append(grounds, Ground{field, e.Comparison, e.Basis})
				break
			}
		}
	}
	return grounds
}

// Options are the inputs of the analysis beside the template.
type Options struct {
	// Dialects are hand-written formats; one is taken where it spells every probe as the template
	// does (E10).
	Dialects []format.Format
}

// Analyze analyses the template of an observer: it runs the passes in order, and each starts from
// the findings of the ones before.
func Analyze(o *observe.Observer, opt Options) *Analysis {
	s := state{lab: &lab{observer: o, tails: map[*observe.Rendering]*observation{}}}
	if o.Facts.Needs.Followed {
		s.next = s.nextTurn()
	}
	s.turns = s.shared()
	if err := s.plain.Err; err != nil {
		s.found("C1", "the template renders no answer: %v", err)
		return s.result()
	}
	s = findHeader(s)                // R2: header.go
	s = findReasoning(s)             // R1, R2, R3: reasoning.go
	s = findContent(s)               // C1: content.go
	s = findCalls(s)                 // T1 to T7, A1, A2: calls.go, object.go, arguments.go
	s.findEnds()                     // ends.go
	s = findDialect(s, opt.Dialects) // dialect.go
	return s.result()
}

// state holds the findings of the passes so far. A pass takes one and returns one.
type state struct {
	*lab
	turns
	heading
	format        format.Format
	contentCloses bool   // the close of reasoning opens content without reasoning, too
	callEnd       string // the end of a turn with calls
	appended      string // the text written unasked after the end of a last answer
	nextTokens    []string
	unreadable    string // why calls cannot be read
	unescaped     bool   // the end of a string is not escaped in it
}

func (a *state) result() *Analysis {
	a.format.Header = a.proper
	return &Analysis{Format: a.format, Evidence: a.evidence, Prefills: a.prefills,
		Unread: a.unreadable, Unescaped: a.unescaped, NextTurn: a.next, NextPrompt: a.appended,
		NextTokens: a.nextTokens, Judged: a.judging, BesideTools: a.besideTools,
		heading: a.heading}
}

// turns are the answers that the comparisons share. One that the template does not write has no
// observation.
type turns struct {
	plain   turn // content only
	bare    turn // content only, under the flags of thought
	thought turn // reasoning and content; body nil where no template shows it
	called  turn // one call
	acted   turn // reasoning and one call
	spoken  turn // content and one call
	double  turn // two calls
}

// answers returns the probes that show an answer.
func (a *turns) answers() []*turn {
	var shown []*turn
	for _, t := range []*turn{&a.plain, &a.bare, &a.thought, &a.called, &a.acted, &a.spoken,
		&a.double} {
		if t.observation != nil && t.Err == nil {
			shown = append(shown, t)
		}
	}
	return shown
}

// turn is a probe's rendering after the header.
type turn struct {
	*observation
	body []observe.Atom
}

// shown reports whether the probe was rendered and its turn has an atom of a kind.
func (t turn) shown(k observe.Kind) bool {
	return t.observation != nil && t.Err == nil &&
		slices.ContainsFunc(t.tail, func(at observe.Atom) bool { return at.Kind == k })
}
