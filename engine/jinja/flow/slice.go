package flow

import "github.com/goassay/assay/engine/jinja/syntax"

// Slice is the part of a template that a decision depends on: its condition, the statements that
// set the variables which the condition names, the conditions around those, and so on. A variable
// has the definitions of its name in all scopes, so that a slice is rather too large.
type Slice struct {
	Levels   map[int]int     // how many steps each place is away from the condition, by offset
	Literals []Literal       // the texts and numbers in it, nearest first
	Names    map[string]bool // the variables that it reads
}

// Literal is a text or a number that stands in a template.
type Literal struct {
	Text  string // as the tree has it
	IsInt bool
	IsNum bool // an integer, or any other number
}

// MaxLevel bounds how far a slice goes: all its levels are below.
const MaxLevel = 5

// part is an expression or a statement of a slice.
type part struct {
	node   syntax.Node
	around *Branch  // whose conditions decide whether it runs; nil: none do
	into   []string // the variables that its value goes into
}

// site returns a decision with its place; nil: the template has none of that name.
func (m *Model) site(d Decision) *decided {
	m.indexed.Do(func() {
		m.sites = map[Decision]*decided{}
		for i := range m.decisions {
			m.sites[m.decisions[i].Decision] = &m.decisions[i]
		}
	})
	return m.sites[d]
}

// BranchOf returns the branch that a decision stands in.
func (m *Model) BranchOf(d Decision) *Branch {
	if site := m.site(d); site != nil {
		return site.at.Branch
	}
	return &Branch{}
}

// parts returns what decides: of a text it is the expression that it stands in.
func (d *decided) parts() []part {
	at := d.at.Branch
	switch n := d.node.(type) {
	case *syntax.If:
		return []part{{n.Test, at, nil}}
	case *syntax.Cond:
		return []part{{n.Test, at, nil}}
	case *syntax.For:
		all := []part{{n.Iter, at, nil}}
		if n.Test != nil {
			all = append(all, part{n.Test, at, nil})
		}
		return all
	}
	return []part{{d.at.Root, at, d.at.Into}}
}

// Slice returns the slice of a decision; an empty one where the template has no such decision.
func (m *Model) Slice(d Decision) *Slice {
	out := &Slice{Levels: map[int]int{}, Names: map[string]bool{}}
	site := m.site(d)
	if site == nil {
		return out
	}
	seen := map[string]bool{}
	now := site.parts()
	for i := 0; i < len(now); i++ { // where the value of a text goes counts as it does
		for _, into := range now[i].into {
			if key := "use " + into; !seen[key] {
				seen[key] = true
				for r := range m.Reads(into) {
					now = append(now, part{r.At.Root, r.At.Branch, r.At.Into})
				}
				for r := range m.Definitions(into) { // which take its place
					if r.Kind == Set || r.Kind == Captured || r.Kind == Bound || r.Kind == Param {
						now = append(now, part{r.Node, r.At.Branch, r.At.Into})
					}
				}
			}
		}
	}
	for level := 0; level < MaxLevel && len(now) > 0; level++ {
		var next []part
		name := func(key string) {
			if seen[key] {
				return
			}
			seen[key] = true
			for r := range m.Definitions(key) {
				// Defaults, and what methods put into lists, widen a slice more than they guide.
				if r.Value != nil && r.Kind != Put && r.Kind != Param {
					next = append(next, part{r.Value, r.At.Branch, nil})
				}
			}
			for _, macro := range m.Macros[key] {
				for _, s := range macro.Body {
					next = append(next, part{node: s})
				}
			}
		}
		var walk func(n syntax.Node)
		walk = func(n syntax.Node) {
			if _, ok := out.Levels[n.Offset()]; !ok {
				out.Levels[n.Offset()] = level
			}
			switch n := n.(type) {
			case *syntax.Name:
				out.Names[n.Name] = true
				name(n.Name)
			case *syntax.Attr:
				if x, ok := n.X.(*syntax.Name); ok {
					name(x.Name + "." + n.Name)
				}
			case *syntax.Const:
				if n.Kind >= syntax.Int && n.Kind <= syntax.String {
					out.Literals = append(out.Literals, Literal{n.Text, n.Kind == syntax.Int,
						n.Kind != syntax.String})
				}
			}
			syntax.Each(n, walk)
		}
		for _, p := range now {
			walk(p.node)
			if p.around != nil {
				for _, x := range p.around.Around() {
					next = append(next, part{node: x})
				}
			}
		}
		now = next
	}
	return out
}
