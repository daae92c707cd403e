package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/corpus/split"
)

// answers counts answers that an encoder wrote, and what the format learnt from it makes of them.
// Each is a turn of the model in a conversation of the grammar: its text, reasoning and calls.
type answers struct {
	Read, Wrong     int // the message is the one that was written, or another one
	Thought, Called int // of those read: with reasoning, with calls
	Refused         int // by the encoder: it writes no such turn
}

func (a answers) String() string {
	return fmt.Sprintf("%d answers read, %d with reasoning, %d with calls, and %d wrong; "+
		"the encoder refuses %d", a.Read, a.Thought, a.Called, a.Wrong, a.Refused)
}

// answer has the encoder write answers, drawn from seed after seed, until so many were read in one
// go and in pieces.
func (p *pair) answer(learnt *engine.Template, most int) {
	for seed := uint64(1); seed <= mostSeeds; seed++ {
		for _, c := range conversation.New(seed).Conversations {
			for i, m := range c.Request.Messages {
				if p.answers.Read+p.answers.Wrong >= most {
					return
				}
				if m.At("role").Text() == "assistant" {
					p.read(learnt, c.Request, i)
				}
			}
		}
	}
}

// read has one message of a request written and read.
func (p *pair) read(learnt *engine.Template, r chat.Request, at int) {
	message, invalid := chat.ParseMessage(r.Messages[at])
	// the package openai-harmony leaves reasoning out of a conversation's first answer, also where
	// that is the one to be written
	r.Kwargs = r.Kwargs.With("auto_drop_analysis", ordered.Boolean(false))
	if message.Reasoning != "" {
		r.Kwargs = r.Kwargs.With("thinking", ordered.Boolean(true))
	}
	asked, told := r, r
	asked.Messages, asked.NoGeneration = r.Messages[:at], false
	told.Messages, told.NoGeneration = r.Messages[:at+1], true
	plan, err := learnt.Prepare(asked, engine.PrepareOptions{})
	var full engine.Prompt
	if err == nil {
		full, err = learnt.Render(told)
	}
	if err != nil || invalid != nil {
		p.answers.Refused++
		return
	}
	output, ok := strings.CutPrefix(full.Text, plan.Prompt.Text)
	if !ok {
		p.wrong("place", full.Text, "it does not go on from its prompt")
		return
	}
	got, mismatch := split.Check(plan.NewParser(), output, chat.FinishStop)
	if mismatch != nil {
		p.wrong("pieces", output, mismatch.Error())
		return
	}
	want := written(message, plan.Prefill+output)
	if kind, why := unlike(want, got.Message); kind != "" {
		p.wrong(kind, output, why)
		return
	}
	p.answers.Read++
	if want.Reasoning != "" {
		p.answers.Thought++
	}
	if len(want.ToolCalls) > 0 {
		p.answers.Called++
	}
}

// written is the part of a message that an encoder writes: with thinking switched off, say, it
// leaves the reasoning out, and most formats have no ids.
func written(m chat.Message, output string) chat.Message {
	if !strings.Contains(output, m.Reasoning) {
		m.Reasoning = ""
	}
	m.ToolCalls = slices.Clone(m.ToolCalls)
	for i := range m.ToolCalls {
		m.ToolCalls[i].Complete = true
		if c := &m.ToolCalls[i]; !strings.Contains(output, c.ID) {
			c.ID = ""
		}
	}
	return m
}

// unlike returns which part of a message is read as another one, and how; "" where none is.
// Arguments are compared as JSON, and an id that was not written may be any.
func unlike(want, got chat.Message) (kind, why string) {
	for i := range min(len(want.ToolCalls), len(got.ToolCalls)) {
		w, g := &want.ToolCalls[i], &got.ToolCalls[i]
		if w.ID == "" {
			w.ID = g.ID
		}
		a, errA := ordered.ParseString(w.Arguments)
		b, errB := ordered.ParseString(g.Arguments)
		if errA == nil && errB == nil && ordered.Equal(a, b) {
			w.Arguments = g.Arguments
		}
	}
	why = split.Diff(want, got)
	kind, _, _ = strings.Cut(why, " ")
	kind, _, _ = strings.Cut(kind, "[")
	return kind, why
}

// wrong counts an answer that is read as another message.
func (p *pair) wrong(kind, output, why string) {
	p.answers.Wrong++
	p.count("ANSWER "+kind, 1, func() string { return fmt.Sprintf("%s\n\tof %q", why, output) })
}
