package provider

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/corpus/script"
)

// Miss is something that an answer lacks, and the part of the provider that it comes from, as far
// as the answer tells.
type Miss struct {
	Kind  string `json:"kind"`
	Why   string `json:"why"`   // the fault
	Cause string `json:"cause"` // one of the causes
	How   string `json:"how"`   // the evidence for the cause

	call int // the number of the call; -1: none
}

// The kinds of misses.
const (
	MissFailed      = "answer"               // no try had an answer
	MissFunction    = "function"             // a call of a function that does not exist
	MissSchema      = "arguments"            // a call's arguments do not keep the schema
	MissUsable      = "schema"               // the schema of a tool cannot be used
	MissCall        = "call"                 // no call where one is expected
	MissNoCall      = "no-call"              // a call where none is expected
	MissReference   = "call-of-reference"    // no call where the reference's answers end in one
	MissNoReference = "no-call-of-reference" // a call where they do not
	MissEnd         = "end"                  // it was cut off
	MissContent     = "content"              // reasoning and nothing else
	MissEverything  = "empty"                // nothing
	MissOff         = "off"                  // reasoning though thinking is off
	MissLeak        = "leak"                 // a marker in the content
	MissTokens      = "tokens"               // the prompt has other tokens than it has to have
)

// The causes of misses.
const (
	CauseProvider = "provider" // its network, its limits
	CauseLimit    = "limit"    // the request's limit on tokens
	CauseTemplate = "template" // the prompt is not the template's, or the template's fault
	CauseParser   = "parser"   // the text is right, its reading is not
	CauseSchema   = "schema"   // the request's own fault
	CauseModel    = "model"    // the model wrote it so
	CauseUnknown  = "unknown"  // the raw text would tell
)

// maxMisses bounds the misses of an answer that are kept.
const maxMisses = 8

// leastTokens is how many bytes a token has at most, on average over a prompt: a provider that
// counts fewer tokens was not given the whole prompt. Tokenisers of today have 2 to 6.
const leastTokens = 12

// Explainer judges answers, and finds the causes of their misses. It is safe for concurrent use.
type Explainer struct {
	schemas  *schemas
	template *engine.Template // nil: not given
	families func() []string  // the markers of all families
}

func NewExplainer(t *engine.Template, corpus fs.FS) *Explainer {
	return &Explainer{schemas: newSchemas(), template: t,
		families: sync.OnceValue(func() []string {
			markers := script.Markers(corpus)
			for i, m := range markers {
				markers[i] = strings.TrimSpace(m)
			}
			slices.Sort(markers)
			return markers
		})}
}

// telling reports whether a marker is one that nobody writes by chance: a tag or a bracket with a
// name in it.
func telling(marker string) bool {
	return len(marker) >= 6 && (marker[0] == '<' || marker[0] == '[') &&
		!strings.ContainsAny(marker, " \n\t{\"") &&
		strings.ContainsAny(strings.ToLower(marker), "abcdefghijklmnopqrstuvwxyz") &&
		(marker[len(marker)-1] == '>' || marker[len(marker)-1] == ']')
}

// view is a request and the template's plan for it, made when it is needed.
type view struct {
	e    *Explainer
	q    *question
	plan *engine.Plan
	err  error
	made bool
}

// of returns the plan; nil where there is none.
func (v *view) of() *engine.Plan {
	if !v.made && v.e.template != nil {
		v.plan, v.err = v.e.template.Prepare(v.q.request, engine.PrepareOptions{Insist: true})
	}
	v.made = true
	return v.plan
}

// leak returns a marker in the content that the conversation does not have itself.
func (v *view) leak(content string) string {
	if !strings.ContainsAny(content, "<[") {
		return ""
	}
	var markers []string
	if v.e.template == nil {
		markers = v.e.families()
	} else if plan := v.of(); plan != nil {
		markers = plan.Preserved
	}
	for _, m := range markers {
		if !telling(m) || !strings.Contains(content, m) {
			continue
		}
		quoted := slices.ContainsFunc(v.q.request.Messages, func(said ordered.Value) bool {
			return strings.Contains(said.At("content").Text(), m) ||
				strings.Contains(said.String(), m)
		})
		if !quoted {
			return m
		}
	}
	return ""
}

// look judges an answer, and explains its misses.
func (e *Explainer) look(q *question, a *answer) (Outcome, []Miss) {
	o, misses := e.schemas.judge(q, a)
	v := &view{e: e, q: q}
	if e.template != nil {
		if p, err := e.template.Render(q.request); err == nil {
			o.Bytes = uint32(min(len(p.Text), 1<<31))
		}
	}
	leaked := v.leak(a.Message.Content)
	if o.Leaked = leaked != ""; o.Leaked && len(misses) < maxMisses {
		misses = append(misses, Miss{Kind: MissLeak,
			Why: fmt.Sprintf("the content has the marker %q", leaked), call: -1})
	}
	if len(misses) == 0 {
		return o, nil
	}
	var ours []Miss // those that the raw text has as we read it
	var own *answer
	if plan := v.of(); a.Raw != nil && plan != nil {
		reason := chat.FinishStop
		if !o.Ended {
			reason = chat.FinishLength
		}
		r := plan.Parse(*a.Raw, reason)
		own = &answer{Message: r.Message, Finish: a.Finish, Usage: a.Usage}
		_, ours = e.schemas.judge(q, own)
	}
	for i := range misses {
		m := &misses[i]
		m.Cause, m.How = v.cause(m, a, &o, leaked)
		if m.Cause != "" {
			continue
		}
		switch has := slices.ContainsFunc(ours, func(t Miss) bool { return t.Kind == m.Kind }); {
		case own == nil && a.Raw != nil:
			m.Cause, m.How = CauseUnknown, "the raw text is there, and only a template tells how "+
				"to read it"
		case own == nil:
			m.Cause, m.How = v.guess(m, a, &o, leaked)
		case has:
			m.Cause, m.How = CauseModel, "the raw text has it: our parser reads the same"
		default:
			m.Cause, m.How = CauseParser, "our parser reads the raw text without this fault"
		}
	}
	return o, misses
}

// cause returns the cause that is plain whatever the raw text is; "": none is.
func (v *view) cause(m *Miss, a *answer, o *Outcome, leaked string) (cause, how string) {
	switch {
	case m.Kind == MissUsable:
		return CauseSchema, "the data set's own"
	case m.Kind == MissTokens:
		return CauseTemplate, "the template, the tokeniser or the count is not the publisher's"
	case m.Kind == MissEnd && a.Finish == chat.FinishLength:
		return CauseLimit, "the answer reached max_tokens, or the provider's own limit"
	case m.Kind == MissEnd:
		return CauseProvider, "the reason is the provider's"
	case !o.Ended && (m.Kind == MissSchema || m.Kind == MissCall):
		return CauseLimit, "the answer is cut off"
	case o.Prompt > 0 && o.Bytes > leastTokens*o.Prompt:
		return CauseTemplate, fmt.Sprintf("the provider counts %d tokens of a prompt that has %d "+
			"bytes as the template renders it: a part of it is missing", o.Prompt, o.Bytes)
	}
	if v.e.template != nil && m.Kind == MissCall && len(v.q.tools) > 0 {
		if err := v.e.template.Gate().Incapable; err != nil {
			return CauseTemplate, fmt.Sprintf("the template is not tool-capable: %.200v", err)
		}
	}
	if v.e.template != nil && m.Kind == MissOff {
		on, off := v.q.request, v.q.request
		yes, no := true, false
		on.EnableThinking, off.EnableThinking = &yes, &no
		a, err1 := v.e.template.Render(on)
		b, err2 := v.e.template.Render(off)
		if err1 == nil && err2 == nil && a.Text == b.Text {
			return CauseTemplate, "the template renders the same prompt with thinking on and off"
		}
	}
	return "", ""
}

// guess returns the cause as far as the message tells it.
func (v *view) guess(m *Miss, a *answer, o *Outcome, leaked string) (cause, how string) {
	if m.Kind == MissLeak || leaked != "" && m.Kind != MissNoCall {
		return CauseParser, fmt.Sprintf("the marker %q was left in the content", leaked)
	}
	switch m.Kind {
	case MissCall, MissContent, MissEverything:
		if plan := v.of(); plan != nil && m.Kind == MissCall {
			for _, text := range [...]string{a.Message.Content, a.Message.Reasoning} {
				if r := plan.Parse(text, chat.FinishStop); len(r.Message.ToolCalls) > 0 {
					return CauseParser, "our parser reads a call in the content or the reasoning"
				}
			}
		}
		if read := len(a.Message.Content) + len(a.Message.Reasoning); a.Usage != nil &&
			a.Usage.Completion > read+lostTokens {
			return CauseParser, fmt.Sprintf("the provider counts %d tokens of output, and the "+
				"message has %d bytes: text was lost", a.Usage.Completion, read)
		}
	case MissSchema:
		if cause, how := v.arguments(&a.Message.ToolCalls[m.call]); cause != "" {
			return cause, how
		}
	}
	return CauseUnknown, "the provider does not give the raw text, which would tell the model's " +
		"fault from the parser's"
}

// lostTokens is how many tokens of an output may be markers.
const lostTokens = 32

// arguments returns the cause of arguments that do not keep their schema, where a usual mistake of
// parsers mends them when it is undone.
func (v *view) arguments(call *chat.ToolCall) (cause, how string) {
	schema, err := v.e.schemas.of(v.q.tools[call.Name])
	if err != nil {
		return "", ""
	}
	args, err := ordered.ParseString(call.Arguments)
	switch {
	case err != nil && keeps(schema, strings.TrimSpace(call.Arguments)+"}") == nil:
		return CauseParser, "a closing brace is missing: it was taken for a part of the marker"
	case err != nil:
		return "", ""
	case args.Kind() == ordered.String && keeps(schema, args.Text()) == nil:
		return CauseParser, "the arguments are encoded twice: as a string with JSON"
	}
	cast := args
	for _, m := range args.Members() {
		// each on its own, so that a string which the schema wants as one stays
		if meant, err := ordered.ParseString(m.Value.Text()); err == nil &&
			m.Value.Kind() == ordered.String && wrongType(schema, m) {
			cast = cast.With(m.Key, meant)
		}
	}
	if !ordered.Equal(cast, args) && keeps(schema, cast.String()) == nil {
		return CauseParser, "values have the right text and the wrong type: they are strings"
	}
	return "", ""
}

// wrongType reports whether a schema's property refuses an argument.
func wrongType(schema *jsonschema.Schema, m ordered.Member) bool {
	property := schema.Properties[m.Key]
	return property != nil && property.Validate(m.Value.Text()) != nil
}
