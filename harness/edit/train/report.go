package train

import (
	"fmt"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/subject"
)

// Report holds the facts that matter for training with a template.
type Report struct {
	Source    subject.Source
	Tagged    *Tagged // nil: see Err
	Err       error   // why there are no tags
	Arguments string  // the form that the template takes: "object" or "text"
	Content   string  // "text", "parts" or "text and parts"
	// Ended and Unended count answers with and without an end of the turn. One without teaches
	// nobody to stop.
	Ended, Unended int
	// Opened counts answers that training renders otherwise than inference: the generation prompt
	// opens them with a text that the rendering has not.
	Opened int
	Opens  string // that text, of the first one
	Prefix Prefix
	// Seams are of the turns and the prompts that are kept, where a vocabulary is known; else nil.
	Seams []Seams
}

// Look finds the facts that matter for training with a template, and with the vocabulary of a
// tokeniser, which may be nil. The error wraps [engine.ErrExhausted] where the limits of the source
// end the look, as of [Tag]; a template that gets no tags is none.
func Look(src subject.Source, v *engine.Vocabulary, seed uint64) (*Report, error) {
	t, err := src.Compile()
	if err != nil {
		return nil, err
	}
	r := &Report{Source: src, Arguments: "text", Content: "text"}
	c := t.Caps()
	if c.ObjectArguments {
		r.Arguments = "object"
	}
	switch {
	case c.TypedOnly():
		r.Content = "parts"
	case c.TypedContent:
		r.Content = "text and parts"
	}
	inputs := Inputs(t, seed)
	header := framed(t).Header
	for _, in := range inputs {
		rendering, err := Render(t, in)
		if err != nil {
			continue
		}
		r.Unended += len(rendering.Unended)
		r.Ended += len(rendering.Headers) - len(rendering.Unended)
		for k, i := range rendering.Answers {
			if rendering.Headers[k].From == rendering.Headers[k].To {
				continue // the prompt opens nothing
			}
			from := rendering.Headers[k].To
			asked := in
			asked.Messages, asked.Generate = in.Messages[:i], true
			prompt, err := t.ChatTemplate().Render(asked)
			at := strings.LastIndex(prompt, header)
			if err != nil || at < 0 {
				continue
			}
			if opens := prompt[at+len(header):]; !strings.HasPrefix(rendering.String[from:],
				opens) {
				if r.Opened++; r.Opened == 1 {
					r.Opens = opens
				}
			}
		}
	}
	if v != nil {
		r.Seams = make([]Seams, len(seamNames))
	}
	for s := range Steps(t, inputs) {
		r.Prefix.note(s)
		switch {
		case v == nil:
		case s.Prompt:
			r.Seams[seamsOfPrompts].note(s, v)
		default:
			r.Seams[seamsOfTurns].note(s, v)
		}
	}
	r.Tagged, r.Err = Tag(src, seed)
	if err := t.Exhausted(); err != nil {
		return nil, err
	}
	return r, nil
}

// String returns the report in lines for people.
func (r *Report) String() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	switch {
	case r.Err != nil:
		line("tags: none: %v", r.Err)
	case r.Tagged.Tags:
		line("tags: the template has them")
	default:
		placed := "placed"
		if r.Tagged.Status() == Partial {
			placed = "placed in part"
		}
		line("tags: %s; %d renderings are the same with them", placed, r.Tagged.Tested)
		for _, n := range r.Tagged.Headers {
			line("  line %d writes headers and parts of answers alike; those headers are marked", n)
		}
		for _, m := range r.Tagged.Untagged {
			line("  line %d: %s; no tags are proven there", m.Line, m.Reason)
		}
	}
	line("arguments: %s", r.Arguments)
	line("content: %s", r.Content)
	line("end of turn: trained in %d answers, not written in %d", r.Ended, r.Unended)
	if r.Opened > 0 {
		line("inference: the prompt opens %d answers with %q, which training "+
			"does not render", r.Opened, r.Opens)
	}
	kept := func(name string, k Kept) {
		if line("%s: kept in %d of %d steps", name, k.Steps-k.Broken, k.Steps); k.First != nil {
			line("  %s", k.First)
		}
	}
	kept("turns", r.Prefix.Turns)
	kept("prompts", r.Prefix.Prompts)
	for i, s := range r.Seams {
		line("%s in tokens: kept in %d steps, the tokeniser decides in %d, broken in %d",
			seamNames[i], s.Counts[SeamKept], s.Counts[SeamOpen], s.Counts[SeamBroken])
		if s.First != "" {
			line("  %s", s.First)
		}
	}
	return b.String()
}

// The places of a report's seams, and their names.
const (
	seamsOfTurns = iota
	seamsOfPrompts
)

var seamNames = [...]string{seamsOfTurns: "turns", seamsOfPrompts: "prompts"}

// Value returns the report as JSON.
func (r *Report) Value() ordered.Value {
	kept := func(k Kept) ordered.Value {
		v := ordered.Pairs("steps", k.Steps, "broken", k.Broken)
		if k.First != nil {
			v = v.With("first", ordered.Str(k.First.String()))
		}
		return v
	}
	v := ordered.Pairs("template", r.Source.Name, "arguments", r.Arguments, "content", r.Content,
		"ended", r.Ended, "unended", r.Unended, "opened", r.Opened, "turns", kept(r.Prefix.Turns),
		"prompts", kept(r.Prefix.Prompts))
	for i, s := range r.Seams {
		seams := ordered.Pairs("kept", s.Counts[SeamKept], "open", s.Counts[SeamOpen],
			"broken", s.Counts[SeamBroken])
		if s.First != "" {
			seams = seams.With("first", ordered.Str(s.First))
		}
		v = v.With(seamNames[i]+"_in_tokens", seams)
	}
	if r.Err != nil {
		return v.With("status", ordered.Str("none")).With("error", ordered.Str(r.Err.Error()))
	}
	lines := []ordered.Value{}
	for _, m := range r.Tagged.Untagged {
		lines = append(lines, ordered.Pairs("line", m.Line, "reason", m.Reason))
	}
	return v.With("status", ordered.Str(string(r.Tagged.Status()))).
		With("untagged", ordered.ArrayOf(lines...)).
		With("marked_headers", ordered.ListOf(r.Tagged.Headers, ordered.Int)).
		With("tagged", ordered.Boolean(r.Tagged.Tags)).
		With("diff", ordered.Str(r.Tagged.Mended().Diff())).
		With("renderings", ordered.Int(r.Tagged.Tested))
}
