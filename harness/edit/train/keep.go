package train

import (
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja/edit"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/edit/fix"
)

// Switch is the variable after which a patch keeps the text that the template drops.
const Switch = "preserve_thinking"

// Keeping is a template that keeps, after the [Switch], the text that it drops without.
type Keeping struct {
	Mended *fix.Mended
	Before Prefix // without the switch, as the template was
	After  Prefix // with it; the turns are all kept
}

// The reasons why there is no patch.
var (
	ErrKept   = errors.New("every turn and every prompt is kept as it was; nothing is to be mended")
	ErrSwitch = errors.New("with " + Switch + " the template keeps every turn already")
	ErrDrops  = errors.New("no condition decides about the text that is dropped, and no place " +
		"writes it as the generation prompt does")
)

// maxKept bounds how many edits a patch has.
const maxKept = 4

// Keep makes a template keep, after a switch, the text that it drops from turns that are over, and
// the text with which its generation prompt opens an answer. The switch goes beside the conditions
// that decide about such text; where the history never writes the generation prompt's text, it gets
// a copy of it. The patch is proven: without the switch every conversation renders as before; with
// it every turn is kept, more prompts are, and no answer lacks anything. The error wraps
// [engine.ErrExhausted] where the limits of the source end the search or the proof, as of [Tag].
func Keep(src subject.Source, seed uint64) (*Keeping, error) {
	t, err := src.Compile()
	if err != nil {
		return nil, err
	}
	kept, err := keep(src, t, seed)
	if ended := t.Exhausted(); ended != nil {
		return nil, ended
	}
	return kept, err
}

func keep(src subject.Source, t *engine.Template, seed uint64) (*Keeping, error) {
	inputs := Inputs(t, seed)
	before := Prefixes(t, inputs)
	if before.broken() == 0 {
		return nil, ErrKept
	}
	k := newKeeper(src, t, inputs)
	own := Prefixes(t, k.switched)
	if own.broken() < before.broken() && own.Turns.Broken == 0 {
		return nil, ErrSwitch
	}
	best := kept{text: src.Text, prefix: own}
	var steps [][]fix.Edit
	for len(steps) < maxKept && best.prefix.broken() > 0 {
		next, ok := k.step(best)
		if !ok {
			break
		}
		best, steps = next, append(steps, []fix.Edit{next.edit})
	}
	if best.prefix.Turns.Broken > 0 || steps == nil {
		return nil, ErrDrops
	}
	return &Keeping{&fix.Mended{Source: src, Text: best.text, Steps: steps}, before, best.prefix},
		nil
}

// keeper looks for edits.
type keeper struct {
	src              subject.Source
	header           string
	inputs, switched []chattemplate.Input
	// was has the renderings of the template as it was: of each conversation, by the number of its
	// messages that are rendered. Every candidate is compared with them.
	was [][]rendered
}

// rendered is a rendering, and the one that asks for an answer.
type rendered struct {
	text, asked       string
	failed, notAsking bool
}

func renderedBy(t *engine.Template, in chattemplate.Input) (r rendered) {
	for _, in.Generate = range []bool{false, true} {
		text, err := t.ChatTemplate().Render(in)
		if in.Generate {
			r.asked, r.notAsking = text, err != nil
		} else {
			r.text, r.failed = text, err != nil
		}
	}
	return r
}

func newKeeper(src subject.Source, t *engine.Template, inputs []chattemplate.Input) *keeper {
	k := &keeper{src: src, header: framed(t).Header, inputs: inputs}
	for _, in := range inputs {
		messages := in.Messages
		renderings := make([]rendered, len(messages)+1)
		for i := range renderings {
			in.Messages = messages[:i]
			renderings[i] = renderedBy(t, in)
		}
		in.Kwargs = append(slices.Clip(in.Kwargs), ordered.MemberOf(Switch, ordered.Boolean(true)))
		k.was, k.switched = append(k.was, renderings), append(k.switched, in)
	}
	return k
}

// kept is a text of the template, the edit that has led to it, and the steps that hold with the
// switch.
type kept struct {
	text   string
	edit   fix.Edit
	prefix Prefix
}

// step returns the edit that keeps most, the first of several that keep as much.
func (k *keeper) step(now kept) (best kept, found bool) {
	t, err := compile(k.src, now.text)
	if err != nil {
		return best, false
	}
	tree, err := edit.Parse(t.ChatTemplate().Source)
	if err != nil {
		return best, false
	}
	c := candidates{Template: tree, t: t}
	first := now.prefix.first()
	one := Prefixes(t, k.switched[first:first+1]).broken()
	for e := range c.edits(k.header) {
		text, _ := edit.Apply(now.text, e)
		is, err := compile(k.src, text)
		if err != nil || Prefixes(is, k.switched[first:first+1]).broken() >= one {
			continue
		}
		p := Prefixes(is, k.switched)
		if most := now.prefix.broken(); found {
			if p.broken() >= best.prefix.broken() {
				continue
			}
		} else if p.broken() >= most {
			continue
		}
		if p.Turns.Broken > now.prefix.Turns.Broken || !k.same(is) || !k.whole(is) {
			continue
		}
		if best, found = (kept{text, e, p}), true; p.broken() == 0 {
			break
		}
	}
	return best, found
}

// whole reports whether, with the switch, nothing is dropped or added but the generation prompt's
// text before an answer: a message adds the text that it adds without it, where that can be told,
// an answer is written as it is where it is the last message, and so is the generation prompt.
func (k *keeper) whole(is *engine.Template) bool {
	for n, in := range k.switched {
		messages := in.Messages
		var was, now rendered // without the last message
		known := true
		for i := range messages {
			in.Messages = messages[:i+1]
			want, got := k.was[n][i+1], renderedBy(is, in)
			if want.failed != got.failed {
				return false
			}
			if known = known && !want.failed; want.failed {
				continue
			}
			if !k.answered(n, i, want, got) || known && !k.adds(n, i, was, want, now, got) ||
				!asks(want, got) {
				return false
			}
			was, now, known = want, got, true
		}
	}
	return true
}

// answered reports whether an answer that is the last message is written as it was. One that goes
// on in the turn of another is not looked at here.
func (k *keeper) answered(n, i int, want, got rendered) bool {
	opened, ok := k.opened(n, i)
	if !ok {
		return true
	}
	last := func(text string) string { return text[max(0, strings.LastIndex(text, k.header)):] }
	return last(got.text) == last(want.text) || last(got.text) == k.open(opened, last(want.text))
}

// adds reports whether a message adds the text that it did.
func (k *keeper) adds(n, i int, was, want, now, got rendered) bool {
	before, ok := strings.CutPrefix(want.text, was.text)
	after, kept := strings.CutPrefix(got.text, now.text)
	if !ok || !kept || before == after {
		return true
	}
	opened, ok := k.opened(n, i)
	return ok && after == k.open(opened, before)
}

// open returns the text of an answer as the prompt opens it, which most answers begin with as they
// are.
func (k *keeper) open(opened, answer string) string {
	before, rest, ok := strings.Cut(answer, k.header)
	if !ok || strings.HasPrefix(k.header+rest, opened) {
		return answer
	}
	return before + opened + rest
}

// opened returns the header of an answer and the text with which its prompt opens it. False: the
// message is none, or the prompt has no header, so that the answer goes on in a turn that is open.
func (k *keeper) opened(n, i int) (string, bool) {
	prompt := k.was[n][i]
	added, ok := strings.CutPrefix(prompt.asked, prompt.text)
	if i == 0 || role(k.inputs[n].Messages[i]) != "assistant" || prompt.failed ||
		prompt.notAsking || !ok {
		return "", false
	}
	at := strings.LastIndex(added, k.header)
	if at < 0 {
		return "", false
	}
	return added[at:], true
}

// asks reports whether the generation prompt is the same, where it can be told.
func asks(want, got rendered) bool {
	if want.notAsking || got.notAsking {
		return want.notAsking == got.notAsking
	}
	before, ok := strings.CutPrefix(want.asked, want.text)
	after, kept := strings.CutPrefix(got.asked, got.text)
	return !ok || kept && before == after
}

// same reports whether a template renders every conversation as it did, without the switch.
func (k *keeper) same(is *engine.Template) bool {
	for n, in := range k.inputs {
		if renderedBy(is, in) != k.was[n][len(in.Messages)] {
			return false
		}
	}
	return true
}

// candidates are edits that may make a template keep more.
type candidates struct {
	*edit.Template
	t     *engine.Template
	yield func(fix.Edit) bool
	done  bool // no more are asked for, or the limits of the template are met
}

// edits returns the candidates. There may be the square of the template's length of them, so each
// is made when it is tried.
func (c *candidates) edits(header string) iter.Seq[fix.Edit] {
	return func(yield func(fix.Edit) bool) {
		c.yield = yield
		c.conditions()
		c.copies(header)
	}
}

// try yields a candidate.
func (c *candidates) try(e fix.Edit) {
	if c.spend(e.Text); !c.done {
		c.done = !c.yield(e)
	}
}

// spend takes the steps for a text that is made of the template's.
func (c *candidates) spend(text string) {
	c.t.ChatTemplate().Budget.Spend(int64(len(text) / bytesPerStep))
	c.done = c.done || c.t.Exhausted() != nil
}

// conditions puts the switch beside each condition.
func (c *candidates) conditions() {
	for n := range c.All() {
		if n.Is(edit.If) || n.Is(edit.Choice) {
			c.try(n.Test.Replaced("(" + Switch + " or (" + n.Test.Source + "))"))
			c.try(n.Test.Replaced("(not " + Switch + " and (" + n.Test.Source + "))"))
		}
	}
}

// copies writes the text with which the generation prompt opens an answer at each place of the
// loops: around a part of the output, as an operand, as the other branch of a condition.
func (c *candidates) copies(header string) {
	var places []func(text string)
	for n := range c.All() {
		switch {
		case len(n.In(edit.For)) == 0:
		case n.Up.Is(edit.Output) && !n.Is(edit.Data):
			places = append(places, func(text string) { c.around(n, text) })
		case n.Is(edit.If) && len(n.Tags) > 1 && len(n.Elif) == 0 && n.Bodies[1] == nil:
			end := n.Tags[len(n.Tags)-1].From // an elif has no end of its own
			left, _, _ := strings.Cut(strings.TrimPrefix(c.Text[end:], "{%"), "endif")
			open := "{%" + strings.TrimSpace(left) + " else %}{{ "
			places = append(places, func(text string) {
				c.try(edit.Insert(end, open+text+" }}"))
			})
		}
	}
	if places == nil {
		return
	}
	c.blocks(header, func(block string) {
		text := "(" + block + " if " + Switch + " else '')"
		for _, place := range places {
			if c.done {
				return
			}
			place(text)
		}
	})
}

// around writes a text before and after a part of an output, and between its operands.
func (c *candidates) around(part *edit.Node, text string) {
	insert := func(at int, text string) { c.try(edit.Insert(at, text)) }
	tag := part.Print
	left, right := edit.Signs(c.Text[tag.From:tag.To])
	insert(tag.To, "{{ "+text+" "+right+"}}")
	insert(tag.From, "{{"+left+" "+text+" }}")
	var operands func(x *edit.Node)
	operands = func(x *edit.Node) {
		switch {
		case x.Is(edit.Concat):
			for _, item := range x.Parts[:len(x.Parts)-1] {
				insert(item.To, " ~ "+text)
			}
		case x.Is(edit.Math, "+"):
			operands(x.X)
			insert(x.X.To, " + "+text)
		case x.Is(edit.Choice):
			insert(x.X.To, " + "+text)
			operands(x.X)
			if x.Y == nil {
				insert(x.Test.To, " else "+text)
			} else {
				insert(x.Y.To, " + "+text)
				operands(x.Y)
			}
		}
	}
	operands(part)
}

// blocks visits expressions of the text that the generation prompt writes after the header: the
// ends of the branches that are taken only where a prompt is asked for.
func (c *candidates) blocks(header string, visit func(block string)) {
	for n := range c.All() {
		if !n.Is(edit.If) || c.done || !n.Test.Has(edit.Name, "add_generation_prompt") {
			continue
		}
		operands, ok := c.operands(n.Bodies[0])
		if !ok {
			continue
		}
		for i, operand := range operands {
			if c.done {
				return
			}
			rest := operands[i+1:]
			at := strings.LastIndex(operand.literal, header)
			if at >= 0 && at+len(header) < len(operand.literal) {
				own := written{text: edit.Quote(operand.literal[at+len(header):], "'")}
				rest = append([]written{own}, rest...)
			}
			if len(rest) > 0 {
				visit(sum(rest))
			}
			if len(rest) == 1 && rest[0].test != "" { // an answer may have one of them already
				w := rest[0]
				visit(choose(w.test, w.then, "''"))
				visit(choose(w.test, "''", w.other))
			}
		}
	}
}

// written is an expression that is written.
type written struct {
	text    string
	literal string // the text that it always is; "" where that is not known

	test, then, other string // of a choice between two texts; test is "" of any other
}

// chosen is an expression that is one of two, by a test.
func chosen(test, then, other string) written {
	return written{text: choose(test, then, other), test: test, then: then, other: other}
}

func choose(test, then, other string) string {
	return "(" + then + " if " + test + " else " + other + ")"
}

// sum returns an expression of the text of several.
func sum(list []written) string {
	texts := lists.Map(list, func(w written) string { return w.text })
	if len(texts) == 1 {
		return texts[0]
	}
	return "(" + strings.Join(texts, " ~ ") + ")"
}

// operands returns the expressions that statements write, one after the other. False: they do more
// than write.
func (c *candidates) operands(list []*edit.Node) (all []written, ok bool) {
	for _, n := range list {
		switch n.Kind {
		case edit.Output:
			for _, part := range n.Parts {
				c.flatten(part, &all)
			}
		case edit.If:
			w, ok := c.choice(n, n.Elif, n.Bodies[1])
			if !ok {
				return nil, false
			}
			all = append(all, w)
		default:
			return nil, false
		}
	}
	return all, true
}

// choice returns an expression of the text that a condition's branches write.
func (c *candidates) choice(branch *edit.Node, elif, other []*edit.Node) (w written, ok bool) {
	texts := [2]string{"''", "''"}
	if c.done {
		return w, false
	}
	for i, list := range [2][]*edit.Node{branch.Bodies[0], other} {
		if i == 1 && len(elif) > 0 {
			next, ok := c.choice(elif[0], elif[1:], other)
			if !ok {
				return w, false
			}
			texts[i] = next.text
			continue
		}
		all, ok := c.operands(list)
		if !ok {
			return w, false
		}
		if all != nil {
			texts[i] = sum(all)
		}
	}
	w = chosen(branch.Test.Source, texts[0], texts[1])
	c.spend(w.text) // the texts of a chain of branches contain each other
	return w, true
}

// flatten appends the operands of a chain of + and ~.
func (c *candidates) flatten(x *edit.Node, out *[]written) {
	text, literal := x.Source, x.Content()
	switch {
	case x.Is(edit.Concat), x.Is(edit.Math, "+"):
		for _, item := range x.Parts {
			c.flatten(item, out)
		}
		return
	case x.Is(edit.Choice):
		other := "''"
		if x.Y != nil {
			other = x.Y.Source
		}
		*out = append(*out, chosen(x.Test.Source, x.X.Source, other))
		return
	case x.Is(edit.Data):
		text, literal = edit.Quote(x.Word, "'"), x.Word
	case !x.IsLiteral() && !x.Is(edit.Name) && !x.IsAttribute() && !x.Is(edit.Call) &&
		text[0] != '(':
		text = "(" + text + ")"
	}
	*out = append(*out, written{text: text, literal: literal})
}
