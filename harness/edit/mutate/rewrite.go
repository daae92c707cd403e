package mutate

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/jinja/edit"
)

// Rewrites returns the template with each change that keeps its behaviour, at each site. The error
// is that of a template that is no valid Jinja.
func Rewrites(text string) ([]Mutant, error) {
	m, err := newMaker(text)
	if err != nil {
		return nil, err
	}
	m.names()
	m.walk(m.conditions, m.spelling)
	return m.made, nil
}

// names renames each variable that the template assigns and no request brings.
func (m *maker) names() {
	stands := map[string][]edit.Span{}
	assigned, taken := map[string]bool{}, map[string]bool{}
	var order []string
	m.walk(func(n *edit.Node) {
		switch n.Kind {
		case edit.Name:
			if stands[n.Word] == nil {
				order = append(order, n.Word)
			}
			stands[n.Word] = append(stands[n.Word], n.Span)
			target := n
			if n.Up.Is(edit.Tuple) && n.Up.Up.Is(edit.For) {
				target = n.Up
			}
			assigned[n.Word] = assigned[n.Word] || target.Up.Target == target
		case edit.Field:
			stands[n.Word] = append(stands[n.Word],
				edit.Span{From: n.From, To: n.From + len(n.Word)})
		case edit.Macro: // a parameter may be given by its name
			taken[n.Word] = true
			for _, p := range n.Args {
				taken[p.Word] = true
			}
		}
	})
	for _, name := range order {
		if !assigned[name] || taken[name] || slices.Contains(requested, name) {
			continue
		}
		var edits []edit.Edit
		for _, s := range stands[name] {
			edits = append(edits, s.Replaced(name+"_x"))
		}
		m.add(RenameVariable, edits...)
	}
}

// requested are the variables that requests bring; a template may assign them as well.
var requested = []string{"messages", "tools", "add_generation_prompt", "bos_token", "eos_token",
	"enable_thinking", "thinking", "documents",
	"reasoning_effort", "date_string", "tools_in_user_message", "builtin_tools", "custom_tools",
	"functions", "datetime", "model_identity",
	"builtin_tools", "xml_tools", "python_tools", "keep_past_thinking", "clear_thinking",
	"preserve_thinking", "add_vision_id", "today"}

// conditions writes conditions in another way that comes to the same.
func (m *maker) conditions(n *edit.Node) {
	switch {
	case n.Is(edit.If):
		not := "not (" + n.Test.Source + ")"
		m.replace(TurnCondition, n.Test.Span, "not ("+not+")")
		if len(n.Tags) != 3 || len(n.Elif) > 0 {
			return
		}
		yes, no := m.bare(n.Tags[0], n.Tags[1]), m.bare(n.Tags[1], n.Tags[2])
		if yes != nil && no != nil { // else white space would be stripped otherwise
			m.add(SwapBranches, n.Test.Replaced(not), yes.Replaced(m.Text[no.From:no.To]),
				no.Replaced(m.Text[yes.From:yes.To]))
		}
	case n.Is(edit.Choice) && n.Y != nil:
		m.replace(SwapBranches, n.Span, "(("+n.Y.Source+") if not ("+n.Test.Source+") else ("+
			n.X.Source+"))")
	case n.Is(edit.Compare, "==", "!=") && len(n.Parts) == 2:
		m.replace(TurnCondition, n.Span, "(("+n.Y.Source+") "+n.Word+" ("+n.X.Source+"))")
	case n.Is(edit.Logic):
		m.replace(TurnCondition, n.Span, "(("+n.X.Source+") "+n.Word+" ("+n.Y.Source+"))")
	}
}

// bare returns the text between two tags that strip the white space on both sides of it.
func (m *maker) bare(open, end edit.Span) *edit.Span {
	if strings.HasSuffix(m.Text[:open.To], "-%}") && strings.HasPrefix(m.Text[end.From:], "{%-") {
		return &edit.Span{From: open.To, To: end.From}
	}
	return nil
}

// spelling changes white space inside tags, and quotes.
func (m *maker) spelling(n *edit.Node) {
	for _, tag := range n.Tags {
		m.space(tag)
	}
	if n.Is(edit.Output) {
		for _, x := range n.Parts {
			if strings.HasPrefix(m.Text[x.Print.From:], "{{") && x.Span != x.Print {
				m.space(x.Print)
			}
		}
	}
	if n.Is(edit.Text) && n.Source[0] == '\'' && n.Word != "" {
		m.replace(OtherQuotes, n.Span, edit.Quote(n.Word, `"`))
	}
}

// space puts more white space into a tag, and strips white space where there is none.
func (m *maker) space(tag edit.Span) {
	text := m.Text[tag.From:tag.To]
	open, end := 2, len(text)-2
	if text[open] == '-' || text[open] == '+' {
		open++
	} else if before := m.Text[:tag.From]; before != "" &&
		!strings.ContainsAny(before[len(before)-1:], " \t\r\n") {
		m.replace(SpaceInTags, edit.Span{From: tag.From + 2, To: tag.From + 2}, "-")
	}
	if text[end-1] == '-' || text[end-1] == '+' {
		end--
	}
	m.replace(SpaceInTags, tag, text[:open]+"\n  "+text[open:end]+"  "+text[end:])
}
