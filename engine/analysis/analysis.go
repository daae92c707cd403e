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
	"strings"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
)

// Analysis is what the comparisons found.
type Analysis struct {
	Format   format.Format
	Evidence []Evidence
	// Prefills are the texts that generation prompts were seen to add behind the header: for each setting of the
	// template's flags, one.
	Prefills []string
	// TextArguments says that the template wants a call's arguments as a string of JSON (E27).
	TextArguments bool
	// NullContent says that a null content beside calls is printed as text (None) or refused, so that an empty string
	// must be given instead (E27).
	NullContent bool
	// Parts says that the template writes content only where it comes as typed parts.
	Parts bool
	// Unread says why calls cannot be read although the template writes them; empty where they can, and where it writes none.
	Unread string
	// Unescaped says that strings are written between quotes, or up to the end of a line or a separator, that are not escaped inside,
	// so that a string which holds one can be read in two ways.
	Unescaped bool
	// Thinking are the variables under which reasoning is written, and Typed says that it is read from typed parts of
	// the content.
	Thinking []ordered.Member
	Typed    bool
	// turnStart is what stands between a user's text and the model's first byte in a conversation of one user message: the end of
	// the user's turn and the header.
	turnStart string
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
	// Bound are variables that the template demands in every conversation (see caps.Bind).
	Bound []ordered.Member
}

type analyzer struct {
	template *chattemplate.Template
	bound    []ordered.Member
	seen     map[string]*observation
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

// Analyze analyses a template.
func Analyze(t *chattemplate.Template, o Options) *Analysis {
	a := &analyzer{template: t, bound: o.Bound, seen: map[string]*observation{}}
	if !a.render() {
		a.found("C1", "the template renders no answer: %v", a.plain.err)
		return &a.result
	}
	a.findHeader()
	a.compareReasoning()
	a.compareContent()
	a.compareCalls()
	a.findEnds()
	a.matchDialect(o.Dialects)
	return &a.result
}

func (a *analyzer) found(comparison, text string, args ...any) {
	a.result.Evidence = append(a.result.Evidence, Evidence{comparison, fmt.Sprintf(text, args...)})
}

// turn is a probe's rendering behind the header.
type turn struct {
	*observation
	body []atom
}

// shown says that the probe was rendered and its turn has an atom of a kind.
func (t turn) shown(k kind) bool {
	return t.observation != nil && t.err == nil && slices.ContainsFunc(t.tail, func(at atom) bool { return at.kind == k })
}

// render renders the probes that the comparisons share. It says whether there is an answer to analyse.
func (a *analyzer) render() bool {
	answer := probe{content: textOf(contentNeedle)}
	a.plain.observation = a.observe(answer)
	if !a.plain.shown(content) {
		a.result.Parts = true
		if o := a.observe(answer); (turn{observation: o}).shown(content) {
			a.plain.observation = o
		} else {
			a.result.Parts = false
		}
	}
	if a.plain.err != nil {
		return false
	}
	a.thought.observation = a.thoughtful(probe{content: textOf(contentNeedle)})
	if a.thought.observation != nil {
		a.wrote(a.thought.probe)
		// What reasoning adds is seen against an answer under the same flags.
		a.bare.observation = a.observe(a.thought.probe.with(func(p *probe) { p.reasoning, p.typed = false, false }))
	}
	one := []ordered.Member{member(keyNeedles[0], ordered.Str(valueNeedle))}
	a.called.observation = a.firstCall(callsWith(1, one...))
	if a.called.observation == nil {
		a.result.NullContent = true
		return true
	}
	p := a.called.probe
	a.result.TextArguments = p.text
	a.result.NullContent = p.content != nil
	a.double.observation = a.observe(p.with(func(p *probe) { p.calls = callsWith(2, one...) }))
	a.spoken.observation = a.observe(p.with(func(p *probe) { p.content = textOf(contentNeedle) }))
	a.acted.observation = a.thoughtful(p)
	if a.acted.observation != nil && a.thought.observation == nil {
		a.wrote(a.acted.probe)
	}
	return true
}

// wrote notes how reasoning must be given to be written.
func (a *analyzer) wrote(p probe) {
	a.result.Thinking, a.result.Typed = p.kwargs, p.typed
}

func (p probe) with(change func(*probe)) probe {
	p.kwargs = slices.Clone(p.kwargs)
	change(&p)
	return p
}

// thoughtful renders a probe with reasoning added: under the names of fields, then as typed parts, then with the template's
// flags switched on, each of them alone, but only if all of them together, where that can be rendered, show anything. The
// first rendering that shows reasoning is returned, nil if none does.
func (a *analyzer) thoughtful(p probe) *observation {
	fields := p.with(func(p *probe) { p.reasoning = true })
	ways := []probe{fields, fields.with(func(p *probe) { p.typed = true })}
	for _, q := range ways {
		if o := a.observe(q); (turn{observation: o}).shown(reasoning) {
			return o
		}
	}
	with := func(p probe, flags ...string) *observation {
		return a.observe(p.with(func(p *probe) {
			for _, flag := range flags {
				p.kwargs = append(p.kwargs, member(flag, ordered.Boolean(true)))
			}
		}))
	}
	for _, q := range ways {
		if o := with(q, a.flags()...); o.err == nil && !(turn{observation: o}).shown(reasoning) {
			continue
		}
		for _, flag := range a.flags() {
			if o := with(q, flag); (turn{observation: o}).shown(reasoning) {
				return o
			}
		}
	}
	return nil
}

// standard are the variables that every conversation has; the others that a template reads may be flags.
var standard = []string{"messages", "tools", "add_generation_prompt", "bos_token", "eos_token", "pad_token", "unk_token",
	"documents", "raise_exception", "strftime_now", "namespace", "range", "dict", "tools_in_user_message", "date_string",
	"custom_tools", "builtin_tools", "continue_final_message"}

// maxFlags bounds how many flags are tried, so that a template with hundreds of variables costs no more than others.
const maxFlags = 12

// maxWords bounds how many words a flag is set to.
const maxWords = 4

func (a *analyzer) flags() []string {
	var flags []string
	for _, n := range a.template.Names() {
		if !slices.Contains(standard, n) && !slices.ContainsFunc(a.bound, func(m ordered.Member) bool { return m.Key == n }) {
			flags = append(flags, n)
		}
	}
	// Names that speak of thinking first, since they are the likely ones; this is an order of trying, nothing more.
	slices.SortStableFunc(flags, func(x, y string) int {
		return boolInt(!strings.Contains(x, "think")) - boolInt(!strings.Contains(y, "think"))
	})
	return flags[:min(len(flags), maxFlags)]
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// firstCall climbs the ladder for an answer with calls, arguments as an object or as text, with the tools described or not,
// content null or empty, up to the first rendering that is clean and shows the call; nil if there is none.
func (a *analyzer) firstCall(calls []call) *observation {
	for _, text := range []bool{false, true} {
		for _, tools := range []bool{true, false} {
			for _, content := range []*string{nil, textOf("")} {
				o := a.observe(probe{content: content, calls: calls, tools: tools, text: text})
				if a.clean(o) && (turn{observation: o}).shown(name) {
					return o
				}
			}
		}
	}
	return nil
}

// clean says that a rendering with a call is as the model would write it: no null content printed, and no arguments
// written as a Python value where a string of JSON would have been copied.
func (a *analyzer) clean(o *observation) bool {
	if o.err != nil {
		return false
	}
	for _, at := range o.tail {
		if at.kind == content && o.probe.content == nil {
			return false // "None"
		}
		if at.kind == structure && at.path == "" && at.codec == python && !o.probe.text && a.copiesText(o.probe) {
			return false
		}
		if at.kind == argValue && at.path == "" && at.codec != plain {
			return false // JSON text quoted once more
		}
	}
	return true
}

// copiesText says that arguments given as a string of JSON are copied as they are.
func (a *analyzer) copiesText(p probe) bool {
	o := a.observe(p.with(func(p *probe) { p.text = true }))
	return o.err == nil && slices.ContainsFunc(o.tail, func(at atom) bool {
		return at.kind == argValue && at.path == "" && at.codec == plain && at.exact
	})
}
