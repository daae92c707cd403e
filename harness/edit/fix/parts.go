package fix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja/edit"
	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/ordered"
)

// moreWords are the text of a second part.
const moreWords = "Medoru."

// inParts returns a change of the content of one role's messages into a list of parts: of the text,
// and of the further texts.
func inParts(role string, further ...string) recast {
	return said(role, func(text string) ordered.Value {
		parts := []ordered.Value{chat.TextPart(ordered.Str(text))}
		for _, more := range further {
			parts = append(parts, chat.TextPart(ordered.Str(more)))
		}
		return ordered.ArrayOf(parts...)
	})
}

// said returns a change of the texts that messages of a role have.
func said(role string, to func(string) ordered.Value) recast {
	return func(in chattemplate.Input) chattemplate.Input {
		return eachMessage(in, func(msg ordered.Value) ordered.Value {
			if text := msg.At("content").Text(); msg.At("role").Text() == role && text != "" {
				return msg.With("content", to(text))
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
		var joined []recast
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
	return "map(attribute=" + s.quoted("text") + ")|join"
}

// joinParts makes one text of a content in parts, and lets parts pass where a test asks for text.
func joinParts(s *site) ([]Edit, bool) {
	if s.use == asTested {
		return s.Around(s.Source+" is iterable or ", ""), s.Simple()
	}
	return s.unlessText(s.joined())
}

// joinOrNone does so, and leaves null as it is.
func joinOrNone(s *site) ([]Edit, bool) {
	if !s.Simple() || s.use == asTested {
		return nil, false
	}
	return s.Else(fmt.Sprintf("%[1]s|%[2]s if %[1]s is iterable and %[1]s is not string", s.Source,
		s.joined())), true
}

// allParts reads the text of all parts in place of that of one.
func allParts(s *site) ([]Edit, bool) {
	key, of, ok := s.Field()
	if !ok || key != "text" || !of.Is(edit.Item) || !of.Y.IsLiteral() || s.Source[0] == '(' ||
		s.use == asTested {
		return nil, false
	}
	text := of.X.Source + "|" + s.joined()
	if s.Slot() == edit.Chained {
		text = "(" + text + ")"
	}
	return []Edit{s.Replaced(text)}, true
}

// statements returns edits that carry the value of a variable out of a loop, and those that write a
// content as another place of the template does.
func statements(a *atlas) [][]Edit { return slices.Concat(a.copied(), carried(a)) }

// copied returns edits that put a statement which asks whether a content is text in the place of
// the tags that print the content whatever it is, one of them and all.
func (a *atlas) copied() [][]Edit {
	var all [][]Edit
	for s := range a.All() {
		if !s.Is(edit.If) || !s.Test.Is(edit.Test, "string") ||
			len(s.Bodies[1]) == 0 && len(s.Elif) == 0 || s.Has(edit.Set) {
			continue
		}
		var every []Edit
		for x := range a.All() {
			if !x.Up.Is(edit.Output) || s.Covers(x.Up.Off) {
				continue
			}
			if read := a.read(x); read != "" && read == a.read(s.Test.X) {
				e := x.Print.Replaced(s.Source)
				every = append(every, e)
				all = append(all, []Edit{e})
			}
		}
		if len(every) > 1 {
			all = append(all, every)
		}
	}
	return all
}

// read is a name for an expression that reads the field a fault is about, however it is spelled; ""
// where it reads another one.
func (a *atlas) read(x *edit.Node) string {
	key, of, ok := x.Field()
	if !ok || !slices.Contains(a.keys, key) {
		return ""
	}
	return of.Source + "." + key
}

// carried returns edits that carry the value of a variable which a loop sets out of it.
func carried(a *atlas) [][]Edit {
	var all [][]Edit
	for _, c := range a.Flow().Chains() {
		done := map[*edit.Node]bool{}
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
func (a *atlas) outermost(in, out int) *edit.Node {
	for n := range a.All() {
		if n.Is(edit.For) && n.Covers(in) && !n.Covers(out) {
			return n
		}
	}
	return nil
}

// carry keeps a variable in a namespace while a loop runs.
func (a *atlas) carry(c *flow.Chain, loop *edit.Node) []Edit {
	name, indent := a.Unused("kept"), a.Indent(loop.From)
	tag := func(set string) string { return a.Like(loop.From, "{%- set "+set+" %}") }
	edits := loop.Around(tag(name+" = namespace("+c.Name+"="+c.Name+")")+indent,
		indent+tag(c.Name+" = "+name+"."+c.Name))
	for _, r := range slices.Concat(c.Sets, c.Gets) {
		if off := r.Off(); loop.Covers(off) && r.Kind != flow.Passed {
			if at := strings.Index(a.Text[off:loop.To], c.Name); at >= 0 {
				edits = append(edits, edit.Insert(off+at, name+"."))
			}
		}
	}
	return edit.Sorted(edits)
}
