package train

import (
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja/syntax"
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
		in.Kwargs = append(slices.Clip(in.Kwargs),
			ordered.MemberOf(Switch, ordered.Boolean(true)))
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
	tree, spans, err := syntax.ParseSpans(t.ChatTemplate().Source)
	if err != nil {
		return best, false
	}
	c := candidates{t: t, src: now.text, spans: spans}
	first := now.prefix.first()
	one := Prefixes(t, k.switched[first:first+1]).broken()
	for e := range c.edits(tree.Body, k.header) {
		text, _ := syntax.Apply(now.text, e)
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
	t     *engine.Template
	src   string
	spans *syntax.Spans
	yield func(fix.Edit) bool
	done  bool // no more are asked for, or the limits of the template are met
}

// edits returns the candidates. There may be the square of the template's length of them, so each
// is made when it is tried.
func (c *candidates) edits(list []syntax.Stmt, header string) iter.Seq[fix.Edit] {
	return func(yield func(fix.Edit) bool) {
		c.yield = yield
		c.conditions(list)
		c.copies(list, header)
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

// text returns the source of an expression.
func (c *candidates) text(x syntax.Expr) string {
	span := c.spans.Expr(x)
	return c.src[span.From:span.To]
}

// conditions puts the switch beside each condition.
func (c *candidates) conditions(list []syntax.Stmt) {
	walk(list, func(n syntax.Node, _ bool) {
		var test syntax.Expr
		switch n := n.(type) {
		case *syntax.If:
			test = n.Test
		case *syntax.Cond:
			test = n.Test
		default:
			return
		}
		span, text := c.spans.Expr(test), c.text(test)
		c.try(fix.Edit{From: span.From, To: span.To, Text: "(" + Switch + " or (" + text + "))"})
		c.try(fix.Edit{From: span.From, To: span.To,
			Text: "(not " + Switch + " and (" + text + "))"})
	})
}

// copies writes the text with which the generation prompt opens an answer at each place of the
// loops: around a part of the output, as an operand, as the other branch of a condition.
func (c *candidates) copies(list []syntax.Stmt, header string) {
	var places []func(text string)
	walk(list, func(n syntax.Node, looped bool) {
		if !looped {
			return
		}
		switch n := n.(type) {
		case *syntax.Output:
			for _, part := range n.Parts {
				if k, ok := part.(*syntax.Const); !ok || k.Kind != syntax.Data {
					places = append(places, func(text string) { c.around(part, text) })
				}
			}
		case *syntax.If:
			tags := c.spans.Tags(n) // an elif has no end of its own
			if len(tags) > 1 && len(n.Elif) == 0 && n.Else == nil {
				end := tags[len(tags)-1].From
				left, _, _ := strings.Cut(strings.TrimPrefix(c.src[end:], "{%"), "endif")
				places = append(places, func(text string) {
					c.try(fix.Edit{From: end, To: end,
						Text: "{%" + strings.TrimSpace(left) + " else %}{{ " + text + " }}"})
				})
			}
		}
	})
	if places == nil {
		return
	}
	c.blocks(list, header, func(block string) {
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
func (c *candidates) around(part syntax.Expr, text string) {
	insert := func(at int, text string) { c.try(fix.Edit{From: at, To: at, Text: text}) }
	tag := c.spans.Print(part)
	left, right := tagSigns(c.src[tag.From:tag.To])
	insert(tag.To, "{{ "+text+" "+right+"}}")
	insert(tag.From, "{{"+left+" "+text+" }}")
	var operands func(x syntax.Expr)
	operands = func(x syntax.Expr) {
		switch x := x.(type) {
		case *syntax.Concat:
			for _, item := range x.Items[:len(x.Items)-1] {
				insert(c.spans.Expr(item).To, " ~ "+text)
			}
		case *syntax.Binary:
			if x.Op == "+" {
				operands(x.X)
				insert(c.spans.Expr(x.X).To, " + "+text)
			}
		case *syntax.Cond:
			insert(c.spans.Expr(x.Then).To, " + "+text)
			operands(x.Then)
			if x.Else == nil {
				insert(c.spans.Expr(x.Test).To, " else "+text)
			} else {
				insert(c.spans.Expr(x.Else).To, " + "+text)
				operands(x.Else)
			}
		}
	}
	operands(part)
}

// blocks visits expressions of the text that the generation prompt writes after the header: the
// ends of the branches that are taken only where a prompt is asked for.
func (c *candidates) blocks(list []syntax.Stmt, header string, visit func(block string)) {
	walk(list, func(n syntax.Node, _ bool) {
		branch, ok := n.(*syntax.If)
		if !ok || c.done || !asksForPrompt(branch.Test) {
			return
		}
		operands, ok := c.operands(branch.Body)
		if !ok {
			return
		}
		for i, operand := range operands {
			if c.done {
				return
			}
			rest := operands[i+1:]
			if k, ok := operand.expr.(*syntax.Const); ok {
				at := strings.LastIndex(k.Text, header)
				if at >= 0 && at+len(header) < len(k.Text) {
					own := written{text: quote(k.Text[at+len(header):])}
					rest = append([]written{own}, rest...)
				}
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
	})
}

// asksForPrompt reports whether a condition asks whether a prompt is wanted.
func asksForPrompt(test syntax.Node) bool {
	if name, ok := test.(*syntax.Name); ok && name.Name == "add_generation_prompt" {
		return true
	}
	return slices.ContainsFunc(syntax.Children(test), asksForPrompt)
}

// written is an expression that is written.
type written struct {
	text string
	expr syntax.Expr // nil: made of statements

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
	var texts []string
	for _, w := range list {
		texts = append(texts, w.text)
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return "(" + strings.Join(texts, " ~ ") + ")"
}

// operands returns the expressions that statements write, one after the other. False: they do more
// than write.
func (c *candidates) operands(list []syntax.Stmt) (all []written, ok bool) {
	for _, s := range list {
		switch s := s.(type) {
		case *syntax.Output:
			for _, part := range s.Parts {
				if k, ok := part.(*syntax.Const); ok && k.Kind == syntax.Data {
					all = append(all, written{text: quote(k.Text), expr: part})
					continue
				}
				c.flatten(part, &all)
			}
		case *syntax.If:
			w, ok := c.choice(s, s.Elif, s.Else)
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
func (c *candidates) choice(branch *syntax.If, elif []*syntax.If, other []syntax.Stmt) (w written,
	ok bool) {
	texts := [2]string{"''", "''"}
	if c.done {
		return w, false
	}
	for i, list := range [2][]syntax.Stmt{branch.Body, other} {
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
	w = chosen(c.text(branch.Test), texts[0], texts[1])
	c.spend(w.text) // the texts of a chain of branches contain each other
	return w, true
}

// flatten appends the operands of a chain of + and ~.
func (c *candidates) flatten(x syntax.Expr, out *[]written) {
	switch y := x.(type) {
	case *syntax.Concat:
		for _, item := range y.Items {
			c.flatten(item, out)
		}
		return
	case *syntax.Binary:
		if y.Op == "+" {
			c.flatten(y.X, out)
			c.flatten(y.Y, out)
			return
		}
	case *syntax.Cond:
		other := "''"
		if y.Else != nil {
			other = c.text(y.Else)
		}
		*out = append(*out, chosen(c.text(y.Test), c.text(y.Then), other))
		return
	}
	text := c.text(x)
	switch x.(type) {
	case *syntax.Const, *syntax.Name, *syntax.Attr, *syntax.Call:
	default:
		if text[0] != '(' {
			text = "(" + text + ")"
		}
	}
	*out = append(*out, written{text: text, expr: x})
}

// walk visits the nodes of statements, and tells of each whether it is in a loop.
func walk(list []syntax.Stmt, visit func(n syntax.Node, looped bool)) {
	var each func(n syntax.Node, looped bool)
	each = func(n syntax.Node, looped bool) {
		visit(n, looped)
		_, loop := n.(*syntax.For)
		for _, child := range syntax.Children(n) {
			each(child, looped || loop)
		}
	}
	for _, s := range list {
		each(s, false)
	}
}
