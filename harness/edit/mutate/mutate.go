// Package mutate measures how many bugs the automatic checks notice, and how often they blame a
// harmless change.
//
// # Model
//
// [Rewrites] makes changes of a template that keep its behaviour: other names, turned conditions,
// white space inside tags. It edits the source where a part stands ([edit.Node]); all else stays as
// the author wrote it. [Plants] are bugs and harmless edits by people who had not read the rules.
// [Check] and [Found.More] tell what the checks find in a template that they did not find before.
//
// The tests measure with these, with the mistakes of authors made one at a time at every site, and
// with bugs and harmless edits made by hand. Whether a mutant matters is decided by the renderings
// of conversations that no check knows of.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package mutate

import (
	"slices"

	"github.com/goassay/assay/engine/jinja/edit"
	"github.com/goassay/assay/engine/source"
)

// Operator is a sort of mistake, or of rewriting.
type Operator string

// The operators of rewritings.
const (
	RenameVariable Operator = "rename a variable"
	TurnCondition  Operator = "turn a condition around"
	SwapBranches   Operator = "swap the branches and negate"
	SpaceInTags    Operator = "white space in a tag"
	OtherQuotes    Operator = "other quotes"
)

// Mutant is a template with one change.
type Mutant struct {
	Operator Operator
	Off      int    // where the change begins, a byte offset into the unchanged source
	Was, Is  string // the stretch that changes
	Text     string // the whole mutant
}

// maker makes mutants of one template.
type maker struct {
	*edit.Template
	made  []Mutant
	seen  map[string]bool // texts
	roles []string        // words that the template writes for who speaks
	own   []string        // variables whose fields are not those of a request
}

func newMaker(text string) (*maker, error) {
	t, err := edit.Parse(source.New("template", text))
	if err != nil {
		return nil, err
	}
	m := &maker{Template: t, seen: map[string]bool{text: true}, own: []string{"loop"},
		roles: []string{"system", "user", "assistant", "tool", "model", "developer"}}
	for n := range t.All() {
		switch {
		case n.Is(edit.Set) && n.X.Is(edit.Call) && n.X.X.Is(edit.Name, "namespace"):
			if n.Target.Is(edit.Name) {
				m.own = append(m.own, n.Target.Word)
			}
		case n.Is(edit.Compare) && n.X.Is(edit.Member, "role"): // a role that the template asks for
			for _, x := range n.Parts[1:] {
				if x.Is(edit.Text) && !slices.Contains(m.roles, x.Word) {
					m.roles = append(m.roles, x.Word)
				}
			}
		}
	}
	return m, nil
}

// walk visits every node.
func (m *maker) walk(visits ...func(n *edit.Node)) {
	for _, visit := range visits {
		for n := range m.All() {
			visit(n)
		}
	}
}

// add adds the mutant that an edit makes, unless another one has the same text.
func (m *maker) add(of Operator, edits ...edit.Edit) {
	text, edits := edit.Apply(m.Text, edits...)
	if m.seen[text] {
		return
	}
	m.seen[text] = true
	first := edits[0]
	m.made = append(m.made, Mutant{Operator: of, Off: first.From,
		Was: m.Text[first.From:first.To], Is: first.Text, Text: text})
}

// replace adds the mutant in which another text stands for a part.
func (m *maker) replace(of Operator, s edit.Span, text string) {
	if s.From < s.To || text != "" {
		m.add(of, s.Replaced(text))
	}
}
