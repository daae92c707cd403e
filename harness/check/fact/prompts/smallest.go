package prompts

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/conversation"
)

// Show reports a fault of the text at an offset, with what the model sees there, and the smallest
// request that has the same text from the same place of the template.
func (t *Prompt) Show(s *probe.Subject, find probe.Finder, off int, format string, args ...any) {
	t, off = t.Around(s, off)
	find(t.At(off).Needing(), format, args...)
}

// Around returns the smallest prompt with the text around an offset, and the offset there.
func (t *Prompt) Around(s *probe.Subject, off int) (*Prompt, int) {
	const around = 40 // bytes, as a quote has
	from, to := max(0, off-around), min(len(t.Text), off+around)
	text, starts, ends := t.Text[from:to], from == 0, to == len(t.Text)
	wrote, _ := t.Seen.WrittenAt(off)
	in := func(p *Prompt) int {
		at := strings.Index(p.Text, text)
		if at < 0 || starts && at > 0 || ends && at+len(text) < len(p.Text) {
			return -1
		}
		if now, _ := p.Seen.WrittenAt(at + off - from); now != wrote {
			return -1
		}
		return at + off - from
	}
	if p := t.Smallest(s, func(p *Prompt) bool { return in(p) >= 0 }); p != t {
		return p, in(p)
	}
	return t, off
}

// Smallest returns a prompt that shows the same as this one, of a request without the messages, the
// tools, the reasoning and the parts of content that this does not need.
func (t *Prompt) Smallest(s *probe.Subject, shows func(*Prompt) bool) *Prompt {
	try := func(change func(*chattemplate.Input)) bool {
		in := t.In
		in.Messages = slices.Clone(in.Messages)
		change(&in)
		p := Look(s, in)
		if (p.Err == nil) != (t.Err == nil) || !shows(p) {
			return false
		}
		t = p
		return true
	}
	for size := len(t.Kinds) - 1; size > 0; size-- {
		for from := len(t.Kinds) - size; from >= 0; from-- {
			if to := from + size; to <= len(t.Kinds) && t.dispensable(from, to) {
				try(func(in *chattemplate.Input) {
					in.Messages = slices.Delete(in.Messages, from, to)
					last := conversation.KindOf(in.Messages[len(in.Messages)-1])
					in.Generate = in.Generate && last != conversation.Answer &&
						last != conversation.Call
				})
			}
		}
	}
	if bound := s.Template.Caps().Needs.Bound; len(t.In.Kwargs) > len(bound) {
		try(func(in *chattemplate.Input) { in.Kwargs = bound })
	}
	for i := len(t.In.Tools) - 1; i >= 0; i-- {
		try(func(in *chattemplate.Input) {
			in.Tools = slices.Delete(slices.Clone(in.Tools), i, i+1)
		})
	}
	for i := range t.In.Messages {
		for _, plain := range []func(ordered.Value) ordered.Value{unthought, untyped, unspoken} {
			if m := plain(t.In.Messages[i]); !ordered.Equal(m, t.In.Messages[i]) {
				try(func(in *chattemplate.Input) { in.Messages[i] = m })
			}
		}
	}
	return t
}

// ordinary are the kinds of messages that clients send after a kind, with their results.
var ordinary = map[conversation.Kind][]conversation.Kind{
	conversation.None:      {conversation.System, conversation.Question},
	conversation.System:    {conversation.Question},
	conversation.Developer: {conversation.Question},
	conversation.Question:  {conversation.Answer, conversation.Call},
	conversation.Answer:    {conversation.Question},
	conversation.Result:    {conversation.Answer, conversation.Call},
}

// dispensable reports whether a conversation can do without a stretch of its messages: somebody
// still asks, calls keep their results, and no two messages meet that clients do not send so.
func (t *Prompt) dispensable(from, to int) bool {
	before := conversation.None
	if from > 0 {
		before = t.Kinds[from-1]
	}
	switch {
	case !slices.Contains(t.Kinds[:from], conversation.Question) &&
		!slices.Contains(t.Kinds[to:], conversation.Question):
		return false
	case to == len(t.Kinds):
		return !Instructs(before) && (t.Kinds[from] != conversation.Result ||
			before == conversation.Call)
	}
	return t.Kinds[from] != conversation.Result && slices.Contains(ordinary[before], t.Kinds[to])
}

// unthought returns a message without its reasoning.
func unthought(m ordered.Value) ordered.Value {
	for _, field := range chat.ReasoningFields {
		m = m.Without(field)
	}
	return m
}

// unspoken returns a message with calls without its content.
func unspoken(m ordered.Value) ordered.Value {
	if conversation.KindOf(m) != conversation.Call {
		return m
	}
	return m.With("content", ordered.Str(""))
}

// untyped returns a message whose parts, or lack of content, are the one text that it has.
func untyped(m ordered.Value) ordered.Value {
	text, content := "", m.At("content")
	for _, part := range content.Items() {
		text += part.At("text").Text()
	}
	if text == "" && !content.IsNull() {
		return m
	}
	return m.With("content", ordered.Str(text))
}
