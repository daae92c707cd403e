package editor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/report/visible"
)

// kindWords are the kinds of values in words, each with its name in the model.
var kindWords = []struct {
	kinds flow.Kinds
	word  string
}{
	{flow.Strings, "a text"}, {flow.Numbers, "a number"}, {flow.Bools, "true or false"},
	{flow.Yes, "true"}, {flow.No, "false"}, {flow.Lists, "a list"}, {flow.Items, "a list"},
	{flow.Dicts, "an object"}, {flow.Members, "an object"}, {flow.Text, "a text"},
	{flow.Number, "a number"}, {flow.Null, "none"}, {flow.Undef, "not defined"},
	{flow.Blank, "an empty text"}, {flow.Zero, "0"}, {flow.NoItems, "an empty list"},
	{flow.NoMembers, "an empty object"}, {flow.Object, "an object of Jinja"},
}

// kindsOf says what a value may be.
func kindsOf(k flow.Kinds) string {
	if k == 0 || k == flow.Everything {
		return "any value"
	}
	var words []string
	for _, w := range kindWords {
		if k&w.kinds == w.kinds {
			words = append(words, w.word)
			k &^= w.kinds
		}
	}
	return strings.Join(words, ", or ")
}

// shapeOf returns what the template asks for in a variable or a field, such as message.tool_calls;
// nil where that is not known.
func shapeOf(m *flow.Model, path string) *flow.Shape {
	if m == nil || path == "" {
		return nil
	}
	names := strings.Split(path, ".")
	for _, s := range m.Shapes(names[0]) {
		for _, name := range names[1:] {
			if s = s.Members[name]; s == nil {
				break
			}
			s = s.Find()
		}
		if s != nil {
			return s
		}
	}
	return nil
}

// hover answers what stands at a place.
func (s *server) hover(ctx context.Context, p placeParams) (any, error) {
	_, l, ok := s.looked(p.TextDocument.URI)
	if !ok || !l.wait(ctx) {
		return nil, ctx.Err()
	}
	off := l.text.offset(p.Position)
	for _, part := range l.parts {
		if at, ok := part.of(off); ok {
			return part.hover(l, at), nil
		}
	}
	return nil, nil
}

// hover says what stands at a place of a template: of a name what it may be, of the template's own
// text which markers it has, and of both what is written there.
func (p part) hover(l *look, off int) any {
	var lines []string
	from, to := p.around(off)
	text := p.src.Text[from:to]
	inTag := strings.HasPrefix(text, "{{") || strings.HasPrefix(text, "{%")
	t, err := p.src.Compile()
	switch {
	case inTag:
		lines = append(lines, p.about(l.models[p.src.Name], p.word(off))...)
	case err == nil:
		lines = append(lines, p.markers(t.Analysis().Format, off)...)
	}
	if err == nil {
		lines = append(lines, p.written(t, from, to)...)
	}
	if len(lines) == 0 {
		return nil
	}
	at := l.text.span(p.in(from), p.in(to))
	return hover{markup{"markdown", strings.Join(lines, "\n\n")}, &at}
}

// around returns the tag around a place, or the own text of the template on its line.
func (p part) around(off int) (from, to int) {
	text := p.src.Text
	open := max(strings.LastIndex(text[:min(off+2, len(text))], "{{"),
		strings.LastIndex(text[:min(off+2, len(text))], "{%"),
		strings.LastIndex(text[:min(off+2, len(text))], "{#"))
	if open >= 0 {
		shut := map[byte]string{'{': "}}", '%': "%}", '#': "#}"}[text[open+1]]
		if i := strings.Index(text[open:], shut); i >= 0 && open+i+2 > off && open <= off {
			return open, open + i + 2
		}
	}
	from = 1 + max(strings.LastIndexByte(text[:off], '\n'), strings.LastIndex(text[:off], "}}")+1,
		strings.LastIndex(text[:off], "%}")+1)
	to = len(text)
	for _, end := range []string{"\n", "{{", "{%", "{#"} {
		if i := strings.Index(text[off:], end); i >= 0 {
			to = min(to, off+i)
		}
	}
	return min(from, off), to
}

// word returns the name at a place, with the names before it: message.tool_calls.
func (p part) word(off int) string {
	text := p.src.Text
	to := off + len(text[off:]) - len(strings.TrimLeftFunc(text[off:], isWord))
	return chain(text[:to])
}

// about says what a name may be.
func (p part) about(m *flow.Model, name string) (lines []string) {
	if name == "" {
		return nil
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	code := "`" + name + "`"
	if shape := shapeOf(m, name); shape != nil {
		line := code + ": as the template asks, " + kindsOf(shape.Kinds)
		if len(shape.Texts) > 0 {
			line += "; it is compared with " + quoted(shape.Texts)
		}
		if names := slices.Sorted(maps.Keys(shape.Members)); len(names) > 0 {
			line += "; members: " + quoted(names)
		}
		lines = append(lines, line)
	}
	if about := asked[name]; about != "" {
		lines = append(lines, code+": "+about)
	}
	if m != nil {
		var set []string
		for r := range m.Definitions(name) {
			at := p.src.Places().Position(r.Off())
			set = append(set, fmt.Sprintf("%d:%d", at.Line, at.Col))
		}
		if len(set) > 0 {
			lines = append(lines, code+" gets a value at "+strings.Join(most(set), ", "))
		}
	}
	if len(lines) > 0 {
		return lines
	}
	for _, table := range []struct {
		what string
		of   map[string]flow.Builtin
	}{{"filter", flow.Filters}, {"function", flow.Functions}, {"method", flow.Methods}} {
		if b, ok := table.of[last]; ok {
			lines = append(lines, fmt.Sprintf("`%s`: a %s of Jinja; it returns %s", last, table.what,
				kindsOf(b.Result)))
			break
		}
	}
	if _, ok := flow.Tests[last]; ok && len(lines) == 0 {
		lines = append(lines, "`"+last+"`: a test of Jinja")
	}
	return lines
}

// quoted lists texts.
func quoted(texts []string) string {
	var all []string
	for _, t := range most(texts) {
		all = append(all, "`"+strings.ReplaceAll(visible.Line(t), "`", "'")+"`")
	}
	return strings.Join(all, ", ")
}

// most returns the first of many.
func most(all []string) []string {
	const shown = 12
	if len(all) > shown {
		return append(slices.Clone(all[:shown]), fmt.Sprintf("%d more", len(all)-shown))
	}
	return all
}

// markers says what the markers around a place mean in the format of the model's answers.
func (p part) markers(f format.Format, off int) (lines []string) {
	var found []string
	f.Literals(func(literal string) string {
		text := strings.Trim(literal, format.Space)
		for i := max(0, off-len(text)); text != "" && i <= off; i++ {
			if strings.HasPrefix(p.src.Text[i:], text) && off < i+len(text) {
				found = append(found, text)
				break
			}
		}
		return literal
	})
	for line := range strings.Lines(f.String()) {
		if slices.ContainsFunc(found, func(text string) bool {
			inner := strconv.Quote(text)
			return strings.Contains(line, inner[1:len(inner)-1])
		}) {
			lines = append(lines, "    "+visible.Line(strings.TrimSpace(line)))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return []string{"A marker of the model's answers:", strings.Join(lines, "\n")}
}

// tried bounds the conversations that are rendered for a hover.
const tried = 24

// written shows what is written at a place, in the first conversation that it is written in.
func (p part) written(t *engine.Template, from, to int) []string {
	x := p.src.Explored()
	if x == nil {
		return nil
	}
	for _, c := range x.Conversations[:min(tried, len(x.Conversations))] {
		o, err := t.ChatTemplate().Observe(c.Input(x.Bound))
		if err != nil {
			continue
		}
		first, last := -1, -1
		for i := range len(o.String) {
			at, ok := o.WrittenAt(i)
			switch inside := ok && from <= at && at < to; {
			case inside && first < 0:
				first, last = i, i+1
			case inside && last == i:
				last = i + 1
			}
		}
		if first >= 0 {
			return []string{fmt.Sprintf("In the conversation \"%s\" this writes %s:", c.Name,
				quoted([]string{report.Quote(o.String[first:last], 0)})),
				"    " + report.Quote(o.String, first)}
		}
	}
	return nil
}
