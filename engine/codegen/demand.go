package codegen

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/peg"
)

// demand is a request with its demands on a grammar. It decides when the grammar sets in.
type demand struct {
	*request
	parallel bool // several calls are allowed
}

// callable returns the tools that may be called, of several with one name the first.
func (d *demand) callable() (tools []*tool) {
	for _, n := range d.words() {
		if d.allowed(n) {
			tools = append(tools, &tool{n, d.list[n].Name, d.schemas[n]})
		}
	}
	return tools
}

// grammar makes the grammar of an output from its trigger on, or of all of it.
func (d *demand) grammar(lazy bool) (*gbnf.Grammar, error) {
	for i, s := range d.schemas {
		if d.allowed(i) && s.IsNever() {
			return nil, fmt.Errorf("tools[%d].function.parameters: no object satisfies the schema, "+
				"so that the tool %.80q cannot be called; expected one of the type object", i,
				d.list[i].Name)
		}
	}
	tree, err := d.tree(lazy)
	if err != nil {
		return nil, err
	}
	return lower(tree)
}

func (d *demand) tree(lazy bool) (*peg.Tree, error) {
	dropped := d.droppedTexts()
	// which a lazy grammar does not see; each has the last one at its end
	if ends := d.headerEnds(); len(ends) > 0 && !lazy {
		dropped = append(dropped, token(ends[len(ends)-1]))
	}
	w := newWriter(d, dropped)
	tree := &peg.Tree{Kinds: slices.Clone(kindNames[:])}
	if lazy {
		tree.Root = w.armed()
	} else {
		tree.Root = w.whole()
	}
	tree.Rules = w.rules
	return tree, w.err
}

// droppedTexts returns a literal of each marker that the parser drops from the answer's text (E20).
// The end of reasoning, which models write where there is no beginning, is not among them.
func (d *demand) droppedTexts() (texts []string) {
	for _, m := range d.strays(false) {
		if !strings.HasSuffix(d.f.Reasoning.Close.Text, m) {
			texts = append(texts, token(m))
		}
	}
	return texts
}

// token returns the first part of a literal that does not occur by chance.
func token(text string) string {
	parts := segments(text)
	return parts[max(0, slices.IndexFunc(parts, distinctive))]
}

// triggers reports whether a grammar can wait, and returns its triggers (E23): it waits for calls,
// and for reasoning's marker, since inside reasoning text that looks like a call may be none (E16),
// which the grammar knows and a trigger does not. Where the prompt opened reasoning, the grammar
// waits for its end, and for a call at its very beginning. No trigger has a repetition without a
// bound: engines that match by recursion would exhaust their stack on a long text.
func (d *demand) triggers() (lazy bool, triggers []Trigger) {
	if d.answer != nil || !d.calling() || d.required() || len(d.f.Routes) > 0 ||
		d.begunMarker() != "" {
		return false, nil
	}
	add := func(t Trigger) {
		if !slices.ContainsFunc(triggers, func(o Trigger) bool { return o.Text == t.Text }) {
			triggers = append(triggers, t)
		}
	}
	forced := d.insideReasoning()
	for _, s := range d.calls {
		pattern, word := d.trigger(s)
		switch {
		case forced && word == "":
			return false, nil
		case forced && d.callsBlock() || !forced && !d.on(ContentAround):
			add(Trigger{Pattern: true, Text: atBeginning(pattern), Call: true})
		case forced:
		case word != "":
			add(Trigger{Text: word, Call: true})
		default:
			add(Trigger{Pattern: true, Text: "(" + pattern + ")", Call: true})
		}
	}
	if forced {
		add(Trigger{Text: d.f.Reasoning.Close.Text})
	} else if open := d.f.Reasoning.Open; open.Text != "" &&
		(worded(open) || !d.on(LooseReasoning) || !d.on(ContentAround)) {
		add(Trigger{Pattern: true, Text: atBeginning(regexp.QuoteMeta(open.Text))})
	} else if open.Text != "" {
		add(Trigger{Text: open.Text})
	}
	return true, triggers
}

// atBeginning is the pattern of a trigger that counts where the output begins.
func atBeginning(pattern string) string { return "^" + someSpace + "(" + pattern + ")" }

// someSpace is white space in a trigger's pattern.
const someSpace = `\s{0,40}`

// trigger returns the regular expression for the beginning of a call as the template writes it,
// and, where that is a distinctive literal with which nothing else begins, the literal.
func (d *demand) trigger(s *spelling) (pattern, word string) {
	o := s.openings[0]
	if !s.tentative(o) && distinctive(o.first.Text) && !s.addressed(o) ||
		o.first == s.Section.Open || o.first == s.Call.Open {
		return regexp.QuoteMeta(o.first.Text), o.first.Text
	}
	name := "(?:" + strings.Join(lists.Map(d.list,
		func(t chat.Tool) string { return regexp.QuoteMeta(t.Name) }), "|") + ")"
	if s.Array {
		pattern = `\[` + someSpace
	}
	if s.Object == nil {
		parts := s.Head
		if parts[0].Kind == format.SlotID {
			parts = parts[0].Parts
		}
		for _, p := range parts {
			if p.Kind != format.SlotLit {
				if p.Kind == format.SlotName {
					pattern += name
				}
				break
			}
			pattern += d.freeSpace(p.Text.Before) + regexp.QuoteMeta(p.Text.Text) +
				d.freeSpace(p.Text.After)
		}
		return strings.TrimLeft(strings.TrimPrefix(pattern, someSpace), format.Space), ""
	}
	pattern += `\{` + someSpace
	if s.Object.NameIsKey {
		return pattern + `["']` + name + `["']`, ""
	}
	first := s.Object.Fields[0]
	pattern += regexp.QuoteMeta(quoted(quoteOf(s.Object), first.Path[0])) + someSpace + ":" +
		someSpace
	if first.Slot == format.SlotName && len(first.Path) == 1 {
		pattern += `["']` + name + `["']`
	}
	return pattern, ""
}

// freeSpace is the regular expression for the white space of a marker, if it has any.
func (d *demand) freeSpace(s string) string {
	if s == "" || !d.on(FreeSpace) {
		return s
	}
	return someSpace
}

// preserved returns all markers, which a tokeniser must not cut.
func (t *turn) preserved() []string {
	texts := either(t.parts(), literals(t.endTexts())).all(nil)
	for _, s := range t.calls {
		texts = append(texts, s.Body.Codec.Quote)
	}
	var out []string
	for _, text := range texts {
		if distinctive(text) && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}
