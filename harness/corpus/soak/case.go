package soak

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/stream"
	"github.com/goassay/assay/harness/corpus/reduce"
	"github.com/goassay/assay/harness/corpus/split"
)

// Case is a case that was drawn.
type Case struct {
	reduce.Case
	Name     string // the template's
	Sentence bool   // the output is a sentence of the request's grammar, as the plan has it

	cuts    [][]int // the ways in which the output is cut
	second  chattemplate.Renderer
	accepts Acceptor
}

// ErrDied reports a second renderer that goes down.
var ErrDied = errors.New("the second renderer went down")

// Check prepares the request, reads the output and reports the demands that do not hold.
func (c Case) Check() (stats Stats, err error) {
	stats.Cases = 1
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("internal error: panic: %v\n%s", r, debug.Stack())
		}
	}()
	plan, err := c.plan()
	if err != nil {
		stats.Refused = 1
		return stats, nil // requests are drawn by chance, and some templates are strict
	}
	if err := c.renderTwice(&stats); err != nil {
		return stats, err
	}
	parser := plan.NewParser()
	answer, mismatch := split.CheckSchedules(parser, c.Output, c.Reason, slices.Values(c.cuts))
	if mismatch != nil {
		return stats, mismatch
	}
	stats.Bytes, stats.Parses = uint64(len(c.Output)), uint64(len(c.cuts)+2)
	if err := Coverage(parser, plan.Prefill+c.Output); err != nil {
		return stats, err
	}
	if err := Calls(parser); err != nil {
		return stats, err
	}
	for _, call := range answer.Message.ToolCalls {
		if call.Complete {
			stats.Calls++
		}
	}
	if err := c.acceptTwice(plan, &stats); err != nil {
		return stats, err
	}
	if c.Sentence {
		stats.Sentences = 1
		return stats, c.sentence(plan, answer)
	}
	return stats, nil
}

// acceptTwice compares our matcher with the second engine for grammars. Outputs that are no text
// are left out: engines in C end a text at a NUL and read bytes that are no UTF-8 in their own
// ways.
func (c Case) acceptTwice(plan *engine.Plan, stats *Stats) error {
	if c.accepts == nil || !utf8.ValidString(c.Output) || strings.ContainsRune(c.Output, 0) {
		return nil
	}
	grammar, err := plan.Output.Grammar()
	if err != nil || grammar == nil {
		return err
	}
	m, err := gbnf.NewMatcher(grammar)
	if err != nil {
		return err
	}
	m.AcceptString(c.Output)
	if m.Err() != nil {
		return nil // too many derivations: a limit, not an answer
	}
	stats.Asked = 1
	accepted, err := c.accepts(grammar, c.Output)
	if err != nil {
		return fmt.Errorf("the second engine for grammars: %w", err)
	}
	if accepted {
		stats.Accepted = 1
	}
	if accepted != m.Done() {
		return fmt.Errorf("our matcher says %t of %q, the second engine %t; "+
			"the grammar is\n%s", m.Done(), c.Output, accepted, grammar)
	}
	return nil
}

// plan prepares the case's request.
func (c Case) plan() (*engine.Plan, error) {
	r, err := chat.ParseRequest(c.Request)
	if err != nil {
		return nil, err
	}
	return c.Template.Prepare(r, engine.PrepareOptions{Insist: true, Fallbacks: c.Fallbacks})
}

// renderTwice renders with the second renderer the conversation that the first has rendered.
func (c Case) renderTwice(stats *Stats) error {
	if c.second == nil {
		return nil
	}
	r, err := chat.ParseRequest(c.Request)
	if err != nil {
		return nil
	}
	in := c.Template.Caps().Fit(r).Input
	want, err := c.Template.ChatTemplate().Render(in)
	if err != nil {
		return nil
	}
	stats.Second = 1
	rendering, err := c.second.Compile(c.Template.ChatTemplate().Source)
	var text string
	if err == nil {
		text, err = rendering.Render(c.Template.ChatTemplate().Vars(in), c.Template.ChatTemplate().
			Now)
	}
	if err != nil && strings.Contains(err.Error(), "died") {
		return fmt.Errorf("%w: %w", ErrDied, err)
	}
	if err != nil || text != want {
		stats.Differ = 1
	}
	return nil
}

// sentence checks the demands on a sentence of the plan's grammar.
func (c Case) sentence(plan *engine.Plan, answer split.Answer) error {
	grammar, err := plan.Output.Grammar()
	if err != nil {
		return err
	}
	m, err := gbnf.NewMatcher(grammar)
	if err != nil {
		return err
	}
	for _, cuts := range append(c.cuts, nil) {
		m.Reset()
		start := 0
		for _, end := range append(slices.Clip(cuts), len(c.Output)) {
			m.AcceptString(c.Output[start:end])
			start = end
		}
		if m.Err() != nil {
			return nil // too many derivations: a limit, not an answer
		} else if !m.Done() {
			return fmt.Errorf("the grammar does not take its "+
				"own sentence %q, cut at %d", c.Output, cuts)
		}
	}
	if c.required() && answer.Finish != chat.FinishToolCalls {
		return fmt.Errorf("a sentence of the grammar "+
			"is read as %s: %q", answer.Message.Value(), c.Output)
	}
	return nil
}

// required reports whether the request demands a call, and the template or a fallback has a
// spelling for one. With a schema of the answer as well, it is either (E22).
func (c Case) required() bool {
	r, err := chat.ParseRequest(c.Request)
	return err == nil && len(r.Tools) > 0 && !r.HasJSONSchema &&
		(len(c.Fallbacks) > 0 || c.Template.Analysis().HasCalls()) &&
		(r.ToolChoice.Mode == chat.ChoiceRequired || r.ToolChoice.Mode == chat.ChoiceNamed)
}

// Coverage says where a parser's account of a text, prefill and output, does not add up (E20): a
// gap, an overlap, or text of the message that is not where the account has it.
func Coverage(p *stream.Parser, text string) error {
	var content, reasoning strings.Builder
	at := 0
	for _, s := range p.Coverage() {
		if s.Off != at || s.End <= s.Off || s.End > len(text) {
			return fmt.Errorf("the account of the output has a gap or "+
				"an overlap at byte %d: %v", at, p.Coverage())
		}
		at = s.End
		switch s.Class {
		case stream.ClassContent:
			content.WriteString(text[s.Off:s.End])
		case stream.ClassReasoning:
			reasoning.WriteString(text[s.Off:s.End])
		}
	}
	if at != len(text) {
		return fmt.Errorf("the account of the output ends at byte %d of %d", at, len(text))
	}
	if m := p.Message(); content.String() != m.Content || reasoning.String() != m.Reasoning {
		return fmt.Errorf("the account of the output has the content %q and the reasoning %q, "+
			"the message has %q and %q",
			content.String(), reasoning.String(), m.Content, m.Reasoning)
	}
	return nil
}

// Calls says which call of a parser's message breaks its promise (E37): one that is complete has an
// object in JSON as its arguments, and one that is not has a diagnostic.
func Calls(p *stream.Parser) error {
	incomplete := 0
	for i, call := range p.Message().ToolCalls {
		if !call.Complete {
			incomplete++
			continue
		}
		if v, err := ordered.ParseString(call.Arguments); err != nil || v.Kind() != ordered.Object {
			return fmt.Errorf("tool_calls[%d] is complete, its arguments are no JSON object: %q",
				i, call.Arguments)
		}
	}
	for _, d := range p.Diagnostics() {
		if d.Kind == "incomplete-call" {
			incomplete--
		}
	}
	if incomplete > 0 {
		return fmt.Errorf("%d incomplete calls have no diagnostic", incomplete)
	}
	return nil
}

// sample draws a sentence of the grammar that a plan has; ok is false where it has none.
func sample(plan *engine.Plan, seed int64, most int) (text string, ok bool) {
	grammar, err := plan.Output.Grammar()
	if err != nil || grammar == nil {
		return "", false
	}
	sampler, err := gbnf.NewSampler(grammar, newRand(seed))
	if err != nil {
		return "", false
	}
	sampler.Max = most
	text, err = sampler.Sample()
	return text, err == nil
}
