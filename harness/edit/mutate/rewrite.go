package mutate

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/jinja/syntax"
)

// Rewrites returns the template with each change that keeps its behaviour, at each site. The error
// is that of a template that is no valid Jinja.
func Rewrites(text string) ([]Mutant, error) {
	m, err := newMaker(text)
	if err != nil {
		return nil, err
	}
	m.names()
	m.walk(m.conditions)
	m.walk(m.spelling)
	return m.made, nil
}

// names renames each variable that the template assigns and no request brings.
func (m *maker) names() {
	stands := map[string][]syntax.Span{}
	assigned, taken := map[string]bool{}, map[string]bool{}
	var order []string
	m.walk(func(n syntax.Node, above []syntax.Node) {
		switch n := n.(type) {
		case *syntax.Name:
			if stands[n.Name] == nil {
				order = append(order, n.Name)
			}
			stands[n.Name] = append(stands[n.Name], m.spans.Expr(n))
			switch parent := last(above).(type) {
			case *syntax.Assign:
				assigned[n.Name] = assigned[n.Name] || parent.Target == n
			case *syntax.For:
				assigned[n.Name] = assigned[n.Name] || parent.Target == n
			case *syntax.Tuple:
				if len(above) > 1 {
					loop, ok := above[len(above)-2].(*syntax.For)
					assigned[n.Name] = assigned[n.Name] || ok && loop.Target == parent
				}
			}
		case *syntax.AttrTarget:
			s := m.spans.Expr(n)
			stands[n.Name] = append(stands[n.Name], syntax.Span{From: s.From,
				To: s.From + len(n.Name)})
		case *syntax.Macro: // a parameter may be given by its name
			taken[n.Name] = true
			for _, p := range n.Params.Params {
				taken[p.Name] = true
			}
		case *syntax.AssignBlock:
			if name, ok := n.Target.(*syntax.Name); ok {
				assigned[name.Name] = true
			}
		}
	})
	for _, name := range order {
		if !assigned[name] || taken[name] || slices.Contains(requested, name) {
			continue
		}
		var edits []syntax.Edit
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
func (m *maker) conditions(n syntax.Node, above []syntax.Node) {
	switch n := n.(type) {
	case *syntax.If:
		m.replace(TurnCondition, m.spans.Expr(n.Test), "not (not ("+m.source(n.Test)+"))")
		tags := m.spans.Tags(n)
		if len(tags) != 3 || len(n.Elif) > 0 {
			return
		}
		yes, no := m.bare(tags[0], tags[1]), m.bare(tags[1], tags[2])
		if yes != nil && no != nil { // else white space would be stripped otherwise
			m.add(SwapBranches, m.spans.Expr(n.Test).Replaced("not ("+m.source(n.Test)+")"),
				yes.Replaced(m.cut(*no)), no.Replaced(m.cut(*yes)))
		}
	case *syntax.Cond:
		if n.Else != nil {
			text := "(" + m.source(n.Else) + ") if not (" + m.source(n.Test) + ") else " +
				"(" + m.source(n.Then) + ")"
			m.replace(SwapBranches, m.spans.Expr(n), "("+text+")")
		}
	case *syntax.Compare:
		if len(n.Ops) == 1 && (n.Ops[0].Op == "==" || n.Ops[0].Op == "!=") {
			m.replace(TurnCondition, m.spans.Expr(n),
				"(("+m.source(n.Ops[0].X)+") "+n.Ops[0].Op+" ("+m.source(n.X)+"))")
		}
	case *syntax.Logic:
		m.replace(TurnCondition, m.spans.Expr(n),
			"(("+m.source(n.X)+") "+n.Op+" ("+m.source(n.Y)+"))")
	}
}

// bare returns the text between two tags that strip the white space on both sides of it.
func (m *maker) bare(open, end syntax.Span) *syntax.Span {
	if strings.HasSuffix(m.cut(open), "-%}") && strings.HasPrefix(m.cut(end), "{%-") {
		return &syntax.Span{From: open.To, To: end.From}
	}
	return nil
}

// spelling changes white space inside tags, and quotes.
func (m *maker) spelling(n syntax.Node, above []syntax.Node) {
	if s, ok := n.(syntax.Stmt); ok {
		for _, tag := range m.spans.Tags(s) {
			m.space(tag)
		}
	}
	if o, ok := n.(*syntax.Output); ok {
		for _, x := range o.Parts {
			if tag := m.spans.Print(x); strings.HasPrefix(m.cut(tag), "{{") &&
				m.spans.Expr(x) != tag {
				m.space(tag)
			}
		}
	}
	if c, ok := n.(*syntax.Const); ok && c.Kind == syntax.String {
		if was := m.source(c); was[0] == '\'' && c.Text != "" {
			m.replace(OtherQuotes, m.spans.Expr(c), quote(c.Text, '"'))
		}
	}
}

// space puts more white space into a tag, and strips white space where there is none.
func (m *maker) space(tag syntax.Span) {
	text := m.cut(tag)
	open, end := 2, len(text)-2
	if text[open] == '-' || text[open] == '+' {
		open++
	} else if before := m.text[:tag.From]; before != "" &&
		!strings.ContainsAny(before[len(before)-1:], " \t\r\n") {
		m.replace(SpaceInTags, syntax.Span{From: tag.From + 2, To: tag.From + 2}, "-")
	}
	if text[end-1] == '-' || text[end-1] == '+' {
		end--
	}
	m.replace(SpaceInTags, syntax.Span{From: tag.From, To: tag.To},
		text[:open]+"\n  "+text[open:end]+"  "+text[end:])
}
