// Package analysis finds out what an output format is from the chat template alone: differential analysis with provenance.
//
// # Model
//
// The analysis renders small conversations (probes) and knows of every byte of a rendering where it came from (E3). A turn
// thus falls apart into literals, which are the format's markers, and slots. Comparing probes that differ in one respect
// says which literal belongs to what:
//
//	R1  an answer with and without reasoning        open and close of reasoning
//	R2  thinking on and off, generation prompt      what the prompt opens already
//	R3  reasoning beside content and beside calls   reasoning that is written only beside calls
//	C1  content alone, beside reasoning and calls   how content is wrapped
//	T1  no call and one call                        the form of a call: JSON object or parts
//	T2  one call and two                            section, call, separator
//	T3  the name's surroundings                     what precedes and follows the name
//	T5  one argument and two                        the separator of arguments
//	T6  no argument and one                         what encloses the arguments
//	T7  the id's surroundings                       where an id stands, and what it is made of
//	A1  the key's surroundings                      how an argument's name is written
//	A2  values of different types                   how a value is written and escaped
//
// The names are those of the compositional specification (T4 there is A1 and A2 here).
//
// # Provenance locates, it does not determine (E6)
//
// A template may print nothing of a call, drop content beside calls, print a slot twice, or replace an id by a counter. What
// cannot be found is left at its zero value and said in the evidence; the round trip of package verify decides whether the
// result holds.
//
// # Errors
//
// There are none: a probe that the template refuses is evidence (E5). A template that renders no answer at all has an empty
// format, and the evidence says why.
package analysis

import (
	"fmt"
	"slices"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/observe"
)

// Analysis is what the comparisons found.
type Analysis struct {
	Format   format.Format
	Evidence []Evidence
	// Prefills are the texts that generation prompts were seen to add behind the header: for each setting of the
	// template's flags, one.
	Prefills []string
	// Unread says why calls cannot be read although the template writes them; empty where they can, and where it writes none.
	Unread string
	// Unescaped says that strings are written between quotes, or up to the end of a line or a separator, that are not escaped inside,
	// so that a string which holds one can be read in two ways.
	Unescaped bool
	// turnStart is what stands between a user's text and the model's first byte in a conversation of one user message: the end of
	// the user's turn and the header.
	turnStart string
	// otherStarts are the same where a flag changes the end of the user's turn, and headless says that some answers follow that end without
	// the header.
	otherStarts []string
	headless    bool
	// unasked says that the template writes its generation prompt whether it is asked to or not, or has none.
	unasked bool
}

// HasCalls says that there is a way to read tool calls: a spelling, routes, or the registered ones.
func (a *Analysis) HasCalls() bool {
	return len(a.Format.Calls) > 0 || a.Format.Undisclosed || slices.ContainsFunc(a.Format.Routes, func(r format.Route) bool { return r.Kind == format.RouteCall })
}

// Evidence is one comparison and what it found.
type Evidence struct {
	Comparison string // R1, R2, ...
	Found      string // in words and quoted markers
}

func (e Evidence) String() string { return e.Comparison + "  " + e.Found }

// Options are what the analysis is told beside the template.
type Options struct {
	// Dialects are hand-written formats; one is taken where it spells every probe as the template does (E10).
	Dialects []format.Format
}

type analyzer struct {
	observer *observe.Observer
	turns    map[*observe.Rendering]*observation
	result   Analysis

	contentCloses bool // what closes reasoning opens content without reasoning, too

	othersEnd string // what the template writes behind a user's message that nothing follows
	callsOpen string // what opens the calls of a turn
	callEnd   string // what ends a turn with calls
	prefills  []string

	plain   turn // content only
	bare    turn // content only, under the flags of thought
	thought turn // reasoning and content; body nil where no template shows it
	called  turn // one call
	acted   turn // reasoning and one call
	spoken  turn // content and one call
	double  turn // two calls
}

// Analyze analyses the template of an observer.
func Analyze(o *observe.Observer, opt Options) *Analysis {
	a := &analyzer{observer: o, turns: map[*observe.Rendering]*observation{}}
	t := o.Turns
	for _, it := range []struct {
		turn *turn
		from *observe.Rendering
	}{{&a.plain, t.Plain}, {&a.bare, t.Bare}, {&a.thought, t.Thought}, {&a.called, t.Called}, {&a.acted, t.Acted}, {&a.spoken, t.Spoken}, {&a.double, t.Double}} {
		it.turn.observation = a.seen(it.from)
	}
	if err := a.plain.Err; err != nil {
		a.found("C1", "the template renders no answer: %v", err)
		return &a.result
	}
	a.findHeader()
	a.compareReasoning()
	a.compareContent()
	a.compareCalls()
	a.findEnds()
	a.matchDialect(opt.Dialects)
	return &a.result
}

func (a *analyzer) found(comparison, text string, args ...any) {
	a.result.Evidence = append(a.result.Evidence, Evidence{comparison, fmt.Sprintf(text, args...)})
}

// turn is a probe's rendering behind the header.
type turn struct {
	*observation
	body []observe.Atom
}

// shown says that the probe was rendered and its turn has an atom of a kind.
func (t turn) shown(k observe.Kind) bool {
	return t.observation != nil && t.Err == nil && slices.ContainsFunc(t.tail, func(at observe.Atom) bool { return at.Kind == k })
}

// maxWords bounds how many words a flag is set to.
const maxWords = 4

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
