package train

import (
	"fmt"
	"iter"
	"strings"
	"unicode"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/source"
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

// shown is how much of a text is shown where two part, in bytes.
const shown = 40

// note counts a step.
func (k *Kept) note(s Step) {
	k.Steps++
	was, is := s.Was, s.Is
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
	k.First = &Break{s.Conversation, s.Message, off, source.Cut(was[off:], shown),
		source.Cut(is[off:], shown)}
}

// Step is a message that is added to a conversation.
type Step struct {
	Conversation int // of [Inputs]
	Message      int
	Prompt       bool // Was is the prompt for the message; else it is the rendering without it
	Was, Is      string
}

// Steps renders every beginning of every conversation.
func Steps(t *engine.Template, inputs []chattemplate.Input) iter.Seq[Step] {
	return func(yield func(Step) bool) {
		for n, in := range inputs {
			if !stepsOf(t, n, in, yield) {
				return
			}
		}
	}
}

func stepsOf(t *engine.Template, n int, in chattemplate.Input, yield func(Step) bool) bool {
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
		if ok && rendered && !yield(Step{n, k - 1, false, was, is}) {
			return false
		}
		if k > 1 && rendered && role(messages[k-1]) == "assistant" {
			if prompt, asked := render(k-1, true); asked &&
				!yield(Step{n, k - 1, true, prompt, is}) {
				return false
			}
		}
		was, ok = is, rendered
	}
	return true
}

// Prefixes renders every beginning of every conversation and compares each with the next one.
func Prefixes(t *engine.Template, inputs []chattemplate.Input) (p Prefix) {
	for s := range Steps(t, inputs) {
		p.note(s)
	}
	return p
}

func (p *Prefix) note(s Step) {
	if s.Prompt {
		p.Prompts.note(s)
	} else {
		p.Turns.note(s)
	}
}

// Seam tells whether the tokens stay on both sides of the place at which a text goes on. No
// tokeniser is asked: an added token at that place keeps them, whichever it is.
type Seam int

const (
	SeamKept   Seam = iota // an added token ends or begins there
	SeamOpen               // none does: the tokeniser may join the texts on both sides
	SeamBroken             // an added token reaches across, or takes along the white space there
)

// Seam looks at the place where Is goes on after Was, with which it begins.
func (s Step) Seam(v *engine.Vocabulary) Seam {
	cut := len(s.Was)
	seam := SeamOpen
	if cut == len(s.Is) {
		seam = SeamKept
	}
	for _, m := range v.Scan(s.Is) {
		switch {
		case m.End() < cut || m.Off > cut:
		case m.Off < cut && m.End() > cut,
			m.End() == cut && m.RStrip && space(s.Is[cut:]) > 0,
			m.Off == cut && m.LStrip && strings.TrimRightFunc(s.Was, unicode.IsSpace) != s.Was:
			return SeamBroken
		default:
			seam = SeamKept
		}
	}
	return seam
}

// space is the length of the white space with which a text begins.
func space(text string) int { return len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace)) }

// Seams counts the seams of the steps whose bytes are kept.
type Seams struct {
	Counts [3]int // by [Seam]
	First  string // the first that is broken, or else open; "" where all are kept
	worst  Seam   // that of First
}

// note counts the seam of a step whose bytes are kept.
func (s *Seams) note(at Step, v *engine.Vocabulary) {
	if !strings.HasPrefix(at.Is, at.Was) {
		return
	}
	seam := at.Seam(v)
	if s.Counts[seam]++; seam <= s.worst {
		return
	}
	const some = 20
	s.worst = seam
	s.First = fmt.Sprintf("conversation %d: message %d: after %q comes %q", at.Conversation,
		at.Message, source.CutFront(at.Was, some), source.Cut(at.Is[len(at.Was):], shown))
}
