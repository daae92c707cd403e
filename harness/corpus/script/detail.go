package script

import (
	"context"
	"fmt"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/split"
)

// details are the facts that a page shows of a script's cases; a case that cannot be prepared has
// none.
func (s *Suite) details(ctx context.Context, src subject.Source, file string) []rule.Detail {
	cases, err := Read(s.Corpus.FS, file)
	if err != nil {
		return nil
	}
	var all []rule.Detail
	limited := s.limited(ctx)
	for _, c := range cases {
		plan, err := planOf(&c, src, limited)
		if err != nil || !c.Parsed {
			continue
		}
		parts, message := parts(plan, c)
		all = append(all, rule.Detail{About: c.About, Prompt: plan.Prompt.Text,
			Prefill: len(plan.Prefill), Output: c.Output, Parts: parts,
			Message: message, Timeline: timeline(plan, c)})
	}
	return all
}

// planOf prepares a case with a template, or with the one that the script itself has, which is
// limited.
func planOf(c *families.Case, src subject.Source,
	limited func(subject.Source) subject.Source) (*engine.Plan, error) {
	if c.Template != "" {
		src = limited(subject.New(c.Family, c.Template))
	}
	t, err := src.Compile()
	if err != nil {
		return nil, err
	}
	r, err := chat.ParseRequest(c.Request)
	if err != nil {
		return nil, err
	}
	return t.Prepare(r, engine.PrepareOptions{Insist: true, Fallbacks: c.Fallbacks})
}

// parts returns the fate of each byte of an output, and the message.
func parts(plan *engine.Plan, c families.Case) ([]rule.Span, string) {
	p := plan.NewParser()
	message := split.Feed(p, c.Output, nil, c.Reason).Message
	var spans []rule.Span
	for _, s := range p.Coverage() {
		start, end := max(0, s.Off-p.Prefill()), min(len(c.Output), s.End-p.Prefill())
		if start >= end {
			continue
		}
		if n := len(spans); n > 0 && spans[n-1].Class == s.Class.String() {
			spans[n-1].End = end
			continue
		}
		spans = append(spans, rule.Span{Start: start, End: end, Class: s.Class.String()})
	}
	return spans, FormatMessage(message)
}

// timeline feeds an output byte by byte and notes the time at which each part left; deltas of the
// same part in a row are one step.
func timeline(plan *engine.Plan, c families.Case) []rule.Step {
	var steps []rule.Step
	note := func(read int, deltas []chat.Delta) {
		for _, d := range deltas {
			part, text := partOf(d)
			if last := len(steps) - 1; last >= 0 && steps[last].Part == part {
				steps[last].To = read
				steps[last].Text += text
				continue
			}
			steps = append(steps, rule.Step{Part: part, From: read, To: read, Text: text})
		}
	}
	p := plan.NewParser()
	for i := range len(c.Output) {
		note(i+1, p.Write([]byte{c.Output[i]}))
	}
	note(len(c.Output), p.Close(c.Reason))
	return steps
}

// partOf names the part of the message that a delta belongs to, and its text.
func partOf(d chat.Delta) (part, text string) {
	switch {
	case d.Reasoning != "":
		return "reasoning", d.Reasoning
	case len(d.ToolCalls) == 0:
		return "content", d.Content
	}
	call := d.ToolCalls[len(d.ToolCalls)-1]
	return fmt.Sprintf("call %d", call.Index+1), call.Name + call.Arguments
}
