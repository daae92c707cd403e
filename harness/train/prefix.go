package train

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja/syntax"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/fix"
	"github.com/goassay/assay/harness/subject"
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

// Switch is the variable after which a patch keeps the text that the template drops.
const Switch = "preserve_thinking"

// Keep looks for the condition of a template by which it drops text from turns that are over, and
// puts a switch beside it. The patch is proven: without the switch every conversation renders as
// before, and with it every turn is kept. False: there is no such condition, or nothing to keep.
func Keep(src subject.Source, seed uint64) (*fix.Mended, bool) {
	t, err := src.Compile()
	if err != nil {
		return nil, false
	}
	inputs := Inputs(t, seed)
	before := Prefixes(t, inputs)
	if before.Turns.Broken == 0 {
		return nil, false
	}
	tree, spans, err := syntax.ParseSpans(t.ChatTemplate().Source)
	if err != nil {
		return nil, false
	}
	switched := make([]chattemplate.Input, len(inputs))
	for i, in := range inputs {
		switched[i] = in
		switched[i].Kwargs = append(slices.Clip(in.Kwargs),
			ordered.MemberOf(Switch, ordered.Boolean(true)))
	}
	first := before.Turns.First.Conversation
	for _, test := range tests(tree.Body) {
		span := spans.Expr(test)
		text := src.Text[span.From:span.To]
		for _, with := range []string{Switch + " or (" + text + ")",
			"not " + Switch + " and (" + text + ")"} {
			e := fix.Edit{From: span.From, To: span.To, Text: "(" + with + ")"}
			patched, _ := syntax.Apply(src.Text, e)
			is, err := compile(src, patched)
			if err != nil || Prefixes(is, switched[first:first+1]).Turns.Broken > 0 {
				continue
			}
			if Prefixes(is, switched).Turns.Broken == 0 && same(t, is, inputs) &&
				keeps(t, is, inputs, switched) {
				return &fix.Mended{Source: src, Text: patched, Steps: [][]fix.Edit{{e}}}, true
			}
		}
	}
	return nil, false
}

// keeps reports whether, with the switch, every answer is written as it is without it where it is
// the last message: nothing of it is dropped.
func keeps(was, is *engine.Template, inputs, switched []chattemplate.Input) bool {
	header := was.Analysis().Format.Header
	last := func(text string) string { return text[max(0, strings.LastIndex(text, header)):] }
	for n := range inputs {
		for i, m := range inputs[n].Messages {
			if role(m) != "assistant" {
				continue
			}
			a, b := inputs[n], switched[n]
			a.Messages, b.Messages = a.Messages[:i+1], b.Messages[:i+1]
			want, err := was.ChatTemplate().Render(a)
			if err != nil {
				continue
			}
			if got, err := is.ChatTemplate().Render(b); err != nil || last(got) != last(want) {
				return false
			}
		}
	}
	return true
}

// same reports whether two templates render every conversation alike.
func same(was, is *engine.Template, inputs []chattemplate.Input) bool {
	for _, in := range inputs {
		for _, in.Generate = range []bool{false, true} {
			want, wantErr := was.ChatTemplate().Render(in)
			got, gotErr := is.ChatTemplate().Render(in)
			if want != got || (wantErr == nil) != (gotErr == nil) {
				return false
			}
		}
	}
	return true
}

// tests returns the conditions of a template.
func tests(list []syntax.Stmt) (all []syntax.Expr) {
	var walk func(n syntax.Node)
	walk = func(n syntax.Node) {
		switch n := n.(type) {
		case *syntax.If:
			all = append(all, n.Test)
		case *syntax.Cond:
			all = append(all, n.Test)
		}
		for _, child := range syntax.Children(n) {
			walk(child)
		}
	}
	for _, s := range list {
		walk(s)
	}
	return all
}
