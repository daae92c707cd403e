package fix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/jinja/syntax"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/repair"
)

// moreWords are the text of a second part.
const moreWords = "Medoru."

// inParts returns a change of the content of one role's messages into a list of parts: of the text,
// and of the further texts.
func inParts(role string, further ...string) func(chattemplate.Input) chattemplate.Input {
	return said(role, func(text string) ordered.Value {
		parts := []ordered.Value{chat.TextPart(ordered.Str(text))}
		for _, more := range further {
			parts = append(parts, chat.TextPart(ordered.Str(more)))
		}
		return ordered.ArrayOf(parts...)
	})
}

// said returns a change of the texts that messages of a role have.
func said(
	role string,
	change func(string) ordered.Value,
) func(chattemplate.Input) chattemplate.Input {
	return func(in chattemplate.Input) chattemplate.Input {
		return eachMessage(in, func(msg ordered.Value) ordered.Value {
			if text := msg.At("content").Text(); msg.At("role").Text() == role && text != "" {
				return msg.With("content", change(text))
			}
			return msg
		})
	}
}

// inOne makes one text of the parts of each content, and leaves parts that are no text out.
func inOne(in chattemplate.Input) chattemplate.Input {
	return eachMessage(in, func(msg ordered.Value) ordered.Value {
		if msg.At("content").Kind() != ordered.Array {
			return msg
		}
		return msg.With("content", ordered.Str(strings.Join(words(msg), "")))
	})
}

// words are the texts of a message's content.
func words(msg ordered.Value) []string {
	all := []string{msg.At("content").Text()}
	for _, part := range msg.At("content").Items() {
		all = append(all, part.At("text").Text())
	}
	return slices.DeleteFunc(all, func(text string) bool { return text == "" })
}

// unsaid reports whether a text of the messages stands in a prompt more or less often than in its
// twin, or parts are printed as a list.
func unsaid(in chattemplate.Input, text, twin string) bool {
	return printsParts(in, text) ||
		slices.ContainsFunc(in.Messages, func(msg ordered.Value) bool {
			return slices.ContainsFunc(words(msg), func(w string) bool {
				return strings.Count(text, w) != strings.Count(twin, w)
			})
		})
}

// printsParts reports whether a content in parts, or one of them, is printed as a value.
func printsParts(in chattemplate.Input, text string) bool {
	printed := func(v ordered.Value) bool {
		return strings.Contains(text, python(v)) || strings.Contains(text, v.String())
	}
	if !strings.Contains(text, "type") { // which each part has
		return false
	}
	return slices.ContainsFunc(in.Messages, func(msg ordered.Value) bool {
		list := msg.At("content")
		return list.Kind() == ordered.Array &&
			(printed(list) || slices.ContainsFunc(list.Items(), printed))
	})
}

// partsFaults are texts that come as one part and as two. How a template joins two is its own
// matter.
func partsFaults(m *mender) []fault {
	var faults []fault
	for _, role := range []string{"user", "system", "assistant", "tool"} {
		faults = append(faults, m.put(inParts(role), unsaid, itself)...)
		var joined []func(chattemplate.Input) chattemplate.Input
		for _, between := range []string{"", "\n", " ", "\n\n"} {
			joined = append(joined, said(role, func(text string) ordered.Value {
				return ordered.Str(text + between + moreWords)
			}))
		}
		faults = append(faults, m.put(inParts(role, moreWords), unsaid, joined...)...)
	}
	return unrefused(m, faults)
}

// joined is the filters that make one text of parts.
func (s *site) joined() string {
	return "map(attribute=" + s.quote + "text" + s.quote + ")|join"
}

// joinParts makes one text of a content in parts, and lets parts pass where a test asks for text.
func joinParts(s *site) ([]Edit, bool) {
	if !repair.Simple(s.x) {
		return nil, false
	}
	if s.use == asTested {
		return s.around(s.text+" is iterable or ", ""), true
	}
	return merged(s.chosen(s.text+" if "+s.text+" is string"), s.filtered(s.joined())), true
}

// joinOrNone does so, and leaves null as it is.
func joinOrNone(s *site) ([]Edit, bool) {
	if !repair.Simple(s.x) || s.use == asTested {
		return nil, false
	}
	return s.chosen(fmt.Sprintf("%s|%s if %s is iterable and %s is not string", s.text, s.joined(),
		s.text, s.text)), true
}

// allParts reads the text of all parts in place of that of one.
func allParts(s *site) ([]Edit, bool) {
	key, of, ok := field(s.x)
	item, isItem := of.(*syntax.Item)
	if !ok || key != "text" || !isItem || s.text[0] == '(' || s.use == asTested {
		return nil, false
	}
	if c, isConst := item.Index.(*syntax.Const); !isConst || c.Kind == syntax.String {
		return nil, false
	}
	list := strings.TrimRight(s.text[:strings.LastIndexByte(s.text[:len(s.text)-s.tail(of)], '[')],
		" ")
	text := list + "|" + s.joined()
	if s.place == chained {
		text = "(" + text + ")"
	}
	return []Edit{s.span.Replaced(text)}, true
}

// statements returns edits that carry the value of a variable out of a loop, and those that write a
// content as another place of the template does.
func statements(a *atlas) [][]Edit { return slices.Concat(a.copied(), carried(a)) }

// copied returns edits that put a statement which asks whether a content is text in the place of
// the tags that print the content whatever it is, one of them and all.
func (a *atlas) copied() [][]Edit {
	tree, _ := a.st.parsed()
	var all [][]Edit
	for n := range tree.All() {
		s, ok := n.(*syntax.If)
		if !ok {
			continue
		}
		asks, ok := s.Test.(*syntax.Test)
		if !ok || asks.Name != "string" || len(s.Else) == 0 && len(s.Elif) == 0 || assigns(s) {
			continue
		}
		at := a.spans.Stmt(s)
		var every []Edit
		for out := range tree.All() {
			o, ok := out.(*syntax.Output)
			if !ok || at.From <= o.Offset() && o.Offset() < at.To {
				continue
			}
			for _, x := range o.Parts {
				if a.read(x) != "" && a.read(x) == a.read(asks.X) {
					e := a.spans.Print(x).Replaced(a.st.text[at.From:at.To])
					every = append(every, e)
					all = append(all, []Edit{e})
				}
			}
		}
		if len(every) > 1 {
			all = append(all, every)
		}
	}
	return all
}

// assigns reports whether a statement sets a variable.
func assigns(n syntax.Node) bool {
	if _, ok := n.(*syntax.Assign); ok {
		return true
	}
	return slices.ContainsFunc(syntax.Children(n), assigns)
}

// read is a name for an expression that reads the field a fault is about, however it is spelled; ""
// where it reads another one.
func (a *atlas) read(x syntax.Expr) string {
	key, of, ok := field(x)
	if !ok || !slices.Contains(a.keys, key) {
		return ""
	}
	span := a.spans.Expr(of)
	return a.st.text[span.From:span.To] + "." + key
}

// carried returns edits that carry the value of a variable which a loop sets out of it.
func carried(a *atlas) [][]Edit {
	var all [][]Edit
	for _, c := range a.model.Chains() {
		done := map[*syntax.For]bool{}
		for _, set := range c.Sets {
			late := c.Lost(set)
			if late == nil {
				continue
			}
			loop := a.outermost(set.Off(), late.Off())
			if loop == nil || done[loop] {
				continue
			}
			done[loop] = true
			all = append(all, a.carry(c, loop))
		}
	}
	return all
}

// outermost returns the outermost loop that has one place and not the other; nil: none.
func (a *atlas) outermost(in, out int) *syntax.For {
	tree, _ := a.st.parsed()
	for n := range tree.All() {
		if f, ok := n.(*syntax.For); ok {
			if s := a.spans.Stmt(f); s.From <= in && in < s.To && (out < s.From || out >= s.To) {
				return f
			}
		}
	}
	return nil
}

// carry keeps a variable in a namespace while a loop runs.
func (a *atlas) carry(c *flow.Chain, loop *syntax.For) []Edit {
	span := a.spans.Stmt(loop)
	name := a.st.unused("kept")
	edits := []Edit{
		{From: span.From, To: span.From, Text: a.st.styled(span.From, "{%- set "+name+
			" = namespace("+c.Name+"="+c.Name+") %}") + a.st.indent(span.From)},
		{From: span.To, To: span.To, Text: a.st.indent(span.From) + a.st.styled(span.From,
			"{%- set "+c.Name+" = "+name+"."+c.Name+" %}")},
	}
	for _, r := range slices.Concat(c.Sets, c.Gets) {
		if off := r.Off(); span.From <= off && off < span.To && r.Kind != flow.Passed {
			if at := strings.Index(a.st.text[off:span.To], c.Name); at >= 0 {
				edits = append(edits, Edit{From: off + at, To: off + at, Text: name + "."})
			}
		}
	}
	return sorted(edits)
}
