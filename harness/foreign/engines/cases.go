package engines

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/turns"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/script"
)

// Case is one output to hold an engine to.
type Case struct {
	ID      string // family and case
	Family  string
	About   string // the subject of the case, in a sentence
	Tools   bool   // the request declares tools
	Request Request
	Want    Message
	// Full is the message wanted with the part that the request gave, of a message that is
	// continued; engines return either.
	Full *Message
	// Incomplete reports whether a call in the output is malformed after its name. LoneClosers are
	// the closers of calls in it that nothing opened. Engines differ on both by design.
	Incomplete  bool
	LoneClosers []string
	// Other, of a turn of a template, is the same turn as models write it, where the template shows
	// another order of a call's head than they have; empty where they are alike.
	Other string
	// End, of a turn of a template, is the token that ended it where that is not the one that ends
	// the others. Servers cut such a token off, or keep it for their parser.
	End string
}

// Subject is a template that engines are asked about.
type Subject struct {
	Source   subject.Source
	Template *engine.Template
}

// NewSubject compiles a template.
func NewSubject(src subject.Source) (*Subject, error) {
	t, err := src.Compile()
	if err != nil {
		return nil, err
	}
	return &Subject{src, t}, nil
}

// marker matches a delimiter that a tokeniser may hold as one token: a bracketed word without white
// space.
var marker = regexp.MustCompile(`<[^<>\s="']{1,60}>|\[[A-Z/][A-Z_/ ]{1,40}\]`)

// specialTokens returns the markers of a plan that can be single tokens.
func specialTokens(plan *engine.Plan, f *format.Format, prefill string) []string {
	var tokens []string
	for _, text := range slices.Concat(plan.Preserved, plan.Stops, f.End,
		[]string{f.Header, prefill}) {
		tokens = append(tokens, marker.FindAllString(text, -1)...)
	}
	slices.Sort(tokens)
	return slices.Compact(tokens)
}

// vocabulary returns the markers that a tokeniser of the template's model could hold: those in its
// source and those that its turns and prompts have, which a macro may put together.
func (s *Subject) vocabulary() []string {
	a := s.Template.Analysis()
	texts := slices.Concat([]string{s.Source.Text, a.Format.Header}, a.Format.End, a.Prefills)
	for _, shape := range s.Template.Verify().Shapes {
		texts = append(texts, shape.Turn)
	}
	var tokens []string
	for _, text := range texts {
		tokens = append(tokens, marker.FindAllString(text, -1)...)
	}
	slices.Sort(tokens)
	return slices.Compact(tokens)
}

// request makes the part of an adapter's request that is the same for all ways to cut an output.
func (s *Subject) request(r chat.Request, value json.RawMessage, output string,
	reason chat.FinishReason) (Request, error) {
	plan, err := s.Template.Prepare(r, engine.PrepareOptions{Insist: true})
	if err != nil {
		return Request{}, err
	}
	prefill, err := plan.Prompt.Prefill()
	if err != nil {
		return Request{}, err
	}
	f := &s.Template.Analysis().Format
	if reason == "" {
		reason = chat.FinishStop
	}
	return Request{Op: "parse", Template: s.Source.Text, BOS: s.Source.BOS, EOS: s.Source.EOS,
		Request: value, Prompt: plan.Prompt.Text,
		Prefill: prefill, ReasoningOpen: turns.LeavesOpen(f, prefill), Output: output,
		Reason:        string(reason),
		SpecialTokens: specialTokens(plan, f, prefill), Vocabulary: s.vocabulary()}, nil
}

// CorpusCases returns the cases of a family that parse an output, with the family's own template.
func CorpusCases(c *families.Corpus, f *families.Family) (*Subject, []Case, error) {
	s, read, err := familyOf(c, f)
	if err != nil {
		return nil, nil, err
	}
	var cases []Case
	for _, one := range read {
		r, err := chat.ParseRequest(one.Request)
		if err != nil {
			return nil, nil, err
		}
		if r.ReasoningFormat == chat.ReasoningKeep {
			continue // the caller's wish, too
		}
		id := fmt.Sprintf("%s/%s/%d", f.Name, one.Name, one.Number)
		request, err := s.request(r, json.RawMessage(one.Request.String()), one.Output, one.Reason)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", id, err)
		}
		about, _, _ := strings.Cut(one.About, "\n")
		c := Case{ID: id, Family: f.Name, About: about, Tools: len(r.Tools) > 0,
			Request: request, Want: messageOf(one.Message)}
		if err := c.note(s, r, one); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", id, err)
		}
		if r.Continue != chat.ContinueNone {
			full := c.Want
			c.Full, c.Want = &full, continuation(r, full)
		}
		cases = append(cases, c)
	}
	return s, cases, nil
}

// familyOf returns a family's own template, and its cases that another engine can run: those that
// parse an output by no fallback spelling, which is the caller's wish.
func familyOf(c *families.Corpus, f *families.Family) (*Subject, []families.Case, error) {
	src, err := script.Own(c, f.Name)
	if err != nil {
		return nil, nil, err
	}
	s, err := NewSubject(src)
	if err != nil {
		return nil, nil, err
	}
	cases, err := script.ReadAll(c.FS, f.Cases)
	return s, slices.DeleteFunc(cases, func(one families.Case) bool {
		return !one.Parsed || one.Template != "" || len(one.Fallbacks) > 0
	}), err
}

// note notes the oddities of a case's output on which engines differ by design.
func (c *Case) note(s *Subject, r chat.Request, one families.Case) error {
	plan, err := s.Template.Prepare(r, engine.PrepareOptions{Insist: true})
	if err != nil {
		return err
	}
	for _, d := range plan.Parse(one.Output, chat.FinishReason(c.Request.Reason)).Diagnostics {
		switch d.Kind {
		case "incomplete-call":
			c.Incomplete = true
		case "dropped":
			f := &s.Template.Analysis().Format
			if f.Undisclosed || closesCalls(f, strings.TrimSpace(d.Text)) {
				c.LoneClosers = append(c.LoneClosers, d.Text)
			}
		}
	}
	return nil
}

// closesCalls reports whether a text is one of those with which a format closes calls.
func closesCalls(f *format.Format, text string) bool {
	for _, c := range f.Calls {
		closers := []string{c.Section.Close.Text, c.Call.Close.Text}
		for _, part := range c.Tail {
			closers = append(closers, part.Text.Text)
		}
		if text != "" && slices.ContainsFunc(closers, func(closer string) bool {
			return strings.Contains(closer, text)
		}) {
			return true
		}
	}
	return false
}

// continuation takes the text of a message that the request continues off the message wanted:
// engines return the model's addition.
func continuation(r chat.Request, m Message) Message {
	if len(r.Messages) == 0 {
		return m
	}
	last := r.Messages[len(r.Messages)-1]
	m.Content = strings.TrimPrefix(m.Content, last.At("content").Text())
	m.Reasoning = strings.TrimPrefix(m.Reasoning, last.At("reasoning_content").Text())
	return m
}

func messageOf(m chat.Message) Message {
	out := Message{Reasoning: m.Reasoning, Content: m.Content, Calls: []Call{}}
	for _, c := range m.ToolCalls {
		out.Calls = append(out.Calls, Call{c.ID, c.Name, c.Arguments})
	}
	return out
}

// channels is the name of the dialect whose calls have two orders.
const channels = "channels"

// recipientFirst matches the head of a call as templates of channels write it in the history.
var recipientFirst = regexp.MustCompile(
	`^ to=(functions\.[^\s<]+)<\|channel\|>(\w+) (?:<\|constrain\|>)?json<\|message\|>`)

// modelOrder returns a turn of a format of channels as models write it: they think, then write the
// channel before the recipient, and mark the type of the arguments
// (https://cookbook.openai.com/articles/openai-harmony). It is empty where the turn has no call
// with the recipient first.
func modelOrder(turn string) string {
	const thought, start = "<|channel|>analysis<|message|>I see.<|end|>", "<|start|>assistant"
	parts := strings.Split(turn, start)
	found := false
	for i, part := range parts {
		if recipientFirst.MatchString(part) {
			found = true
			parts[i] = recipientFirst.ReplaceAllString(part,
				"<|channel|>$2 to=$1 <|constrain|>json<|message|>")
		}
	}
	if !found {
		return ""
	}
	if strings.HasPrefix(parts[0], "<|channel|>analysis") {
		return strings.Join(parts, start)
	}
	return thought + start + strings.Join(parts, start)
}

// Turns returns the turns that a template itself writes, as cases.
func (s *Subject) Turns() ([]Case, error) {
	all, err := turns.Of(s.Template)
	if err != nil {
		return nil, err
	}
	cases := make([]Case, len(all))
	for i, turn := range all {
		r, err := s.request(turn.Request, turn.JSON, turn.Output, chat.FinishStop)
		if err != nil {
			return nil, err
		}
		r.Prompt, r.Prefill = turn.Prompt, turn.Prefill
		cases[i] = Case{ID: turn.Name, Family: s.Source.Name, About: turn.Name, Tools: turn.Tools,
			Request: r, Want: messageOf(turn.Message), End: turn.End}
		if s.Template.Analysis().Format.Name == channels {
			cases[i].Other = modelOrder(turn.Output)
		}
		if ends := s.Template.Analysis().Format.End; len(ends) > 0 && turn.End == ends[0] {
			cases[i].End = ""
		}
	}
	return cases, nil
}
