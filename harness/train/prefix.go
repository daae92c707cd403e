package train

import (
	"fmt"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chattemplate"
)

// Prefix reports whether a conversation's rendering begins with those of its beginnings. A cache of
// keys and values needs that, and so does training over several turns.
type Prefix struct {
	Turns   Kept // the rendering without a message begins the one with it
	Prompts Kept // the prompt for an answer begins the rendering with the answer
}

// Kept counts steps of conversations.
type Kept struct {
	Steps, Broken int
	First         *Break // the first that is broken
}

// broken is the number of steps that are broken.
func (p Prefix) broken() int { return p.Turns.Broken + p.Prompts.Broken }

// first returns the conversation of the first step that is broken.
func (p Prefix) first() int {
	if p.Turns.First != nil {
		return p.Turns.First.Conversation
	}
	return p.Prompts.First.Conversation
}

// Break is where a rendering does not begin with the one before it.
type Break struct {
	Conversation int    // of [Inputs]
	Message      int    // the one that was added
	Off          int    // the first byte that differs
	Was, Is      string // some of the text there
}

func (b *Break) String() string {
	return fmt.Sprintf("conversation %d: message %d changes byte "+
		"%d: %q becomes %q", b.Conversation, b.Message, b.Off, b.Was, b.Is)
}

// Whole is the number of steps that are kept.
func (k Kept) Whole() int { return k.Steps - k.Broken }

// note counts a step.
func (k *Kept) note(conversation, message int, was, is string) {
	k.Steps++
	if strings.HasPrefix(is, was) {
		return
	}
	if k.Broken++; k.First != nil {
		return
	}
	off := 0
	for off < len(was) && off < len(is) && was[off] == is[off] {
		off++
	}
	k.First = &Break{conversation, message, off, short(was[off:]), short(is[off:])}
}

// short is the beginning of a text.
func short(text string) string {
	const most = 40
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// Prefixes renders every beginning of every conversation and compares each with the next one.
func Prefixes(t *engine.Template, inputs []chattemplate.Input) (p Prefix) {
	for n, in := range inputs {
		p.look(t, n, in)
	}
	return p
}

func (p *Prefix) look(t *engine.Template, n int, in chattemplate.Input) {
	messages := in.Messages
	render := func(k int, generate bool) (string, bool) {
		in.Messages, in.Generate = messages[:k], generate
		text, err := t.ChatTemplate().Render(in)
		return text, err == nil
	}
	was, ok := "", false
	for k := 1; k <= len(messages); k++ {
		if k < len(messages) && role(messages[k-1]) == "tool" && role(messages[k]) == "tool" {
			continue // results that come together share a turn
		}
		is, rendered := render(k, false)
		if ok && rendered {
			p.Turns.note(n, k-1, was, is)
		}
		if k > 1 && rendered && role(messages[k-1]) == "assistant" {
			if prompt, asked := render(k-1, true); asked {
				p.Prompts.note(n, k-1, prompt, is)
			}
		}
		was, ok = is, rendered
	}
}
