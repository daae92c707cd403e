// Package mutate measures how many bugs the automatic checks notice, and how often they blame a
// harmless change.
//
// # Model
//
// [Mutants] makes the mistakes that authors of templates make, one at a time, at every site of a
// template: a branch is dropped, a condition negated, the first taken for the last, tojson
// forgotten, a separator, a marker or a role left out, a field misspelt, a block moved or repeated.
// [Rewrites] makes changes that keep the behaviour: other names, turned conditions, white space
// inside tags. Both edit the source where a part stands ([edit.Node]); all else stays as the author
// wrote it.
//
// [Reference] has conversations that no check knows of. Whether a mutant matters is decided by
// their renderings alone: some rendering changes, or none does. [Judge] then asks the checks, which
// see only the mutant, and the comparison of revisions, which sees both.
//
// The bugs in testdata are made by hand, as are the edits that do no harm; they are read by
// [ReadEdits].
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package mutate

import (
	"regexp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/jinja/edit"
	"github.com/goassay/assay/engine/source"
)

// Operator is a sort of mistake, or of rewriting.
type Operator string

// The operators of mistakes.
const (
	DropBranch    Operator = "drop a branch"
	Negate        Operator = "negate a condition"
	SwapEnds      Operator = "swap first and last"
	DropToJSON    Operator = "drop tojson"
	DropSeparator Operator = "drop a separator"
	DropMarker    Operator = "drop a marker" // an opener or a closer
	DropRole      Operator = "drop a role"
	MisspellField Operator = "misspell a field"
	MoveBlock     Operator = "move a block"
	RepeatBlock   Operator = "repeat a block"
)

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

// Mutants returns the template with each mistake at each site. The error is that of a template that
// is no valid Jinja.
func Mutants(text string) ([]Mutant, error) {
	m, err := newMaker(text)
	if err != nil {
		return nil, err
	}
	m.walk(m.branches, m.ends, m.written, m.fields)
	m.blocks(m.Body)
	m.walk(func(n *edit.Node) {
		for _, body := range n.Bodies {
			m.blocks(body)
		}
	})
	return m.made, nil
}

// branches drops branches and negates conditions.
func (m *maker) branches(n *edit.Node) {
	if n.Test != nil {
		m.replace(Negate, n.Test.Span, "not ("+n.Test.Source+")")
	}
	switch n.Kind {
	case edit.If:
		for i := 1; i < len(n.Tags); i++ { // an elif has none: they are those of the first if
			m.replace(DropBranch, edit.Span{From: n.Tags[i-1].To, To: n.Tags[i].From}, "")
		}
	case edit.Choice:
		m.replace(DropBranch, n.Span, n.X.Source)
		if n.Y != nil {
			m.replace(DropBranch, n.Span, "("+n.Y.Source+")")
		}
	}
}

// ends swaps first and last, and drops tojson.
func (m *maker) ends(n *edit.Node) {
	swap := map[string]string{"first": "last", "last": "first", "0": "-1", "-1": "0"}
	switch {
	case n.IsAttribute() && n.X.Is(edit.Name, "loop") && swap[n.Word] != "":
		m.replace(SwapEnds, n.Span, n.X.Source+"."+swap[n.Word])
	case n.Is(edit.Filter, "first", "last") && n.X != nil:
		m.replace(SwapEnds, n.Span, n.X.Source+" | "+swap[n.Word])
	case n.Is(edit.Filter, "tojson") && n.X != nil:
		m.replace(DropToJSON, n.Span, n.X.Source)
	case n.Is(edit.Item) && swap[n.Y.Source] != "":
		m.replace(SwapEnds, n.Y.Span, swap[n.Y.Source])
	}
}

// printed reports whether an expression reaches the prompt as text: it is a part of an output, or
// of a text that is put together for one.
func printed(x *edit.Node) bool {
	for up := x.Up; ; x, up = up, up.Up {
		switch {
		case up.Is(edit.Output), up.Is(edit.Set):
			return up.Target != x
		case up.Is(edit.Concat), up.Is(edit.Math, "+"), up.Is(edit.Choice) && up.Test != x:
		default:
			return false
		}
	}
}

// marker is a special token as authors write them. It says where a mutant is made, and decides
// nothing.
var marker = regexp.MustCompile(`<[^\s<>]{1,60}>|\[/?[A-Z_]{3,}\]`)

// written drops separators, markers and roles from the template's output.
func (m *maker) written(n *edit.Node) {
	if n.Is(edit.Member, "role") && printed(n) {
		m.replace(DropRole, n.Span, "''")
	}
	if !n.Is(edit.Data) && (!n.Is(edit.Text) || !printed(n)) {
		return
	}
	text := n.Word
	drop := func(of Operator, from, to int) {
		switch {
		case n.Is(edit.Text):
			m.replace(of, n.Span, edit.Quote(text[:from]+text[to:], "'"))
		case len(n.Source) == len(text): // else line ends are not as they are written
			m.replace(of, edit.Span{From: n.From + from, To: n.From + to}, "")
		}
	}
	if strings.TrimSpace(text) == "" {
		if text != "" {
			drop(DropSeparator, 0, len(text))
		}
		return
	}
	lead := len(text) - len(strings.TrimLeft(text, "\n"))
	if lead > 0 {
		drop(DropSeparator, 0, lead)
	}
	if trail := len(strings.TrimRight(text, "\n")); trail < len(text) {
		drop(DropSeparator, trail, len(text))
	}
	if strings.Trim(text, " \n,;:") == "" {
		drop(DropSeparator, 0, len(text))
	}
	at := 0
	for _, found := range append(marker.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		between := text[at:found[0]]
		if word := strings.TrimSpace(between); slices.Contains(m.roles, word) && (at > 0 ||
			found[0] < len(text) || word == text) {
			from := at + strings.Index(between, word)
			drop(DropRole, from, from+len(word))
		}
		if found[0] < found[1] {
			drop(DropMarker, found[0], found[1])
		}
		at = found[1]
	}
}

// fields misspells the fields of a request that the template looks up.
func (m *maker) fields(n *edit.Node) {
	name, of, ok := n.Field()
	switch {
	case !ok:
	case n.IsAttribute():
		if of.Is(edit.Name, m.own...) || n.Up.Is(edit.Call) && n.Up.X == n { // a method
			return
		}
		m.replace(MisspellField, edit.Span{From: n.To - len(name), To: n.To}, misspelt(name))
	case n.Is(edit.Member):
		m.replace(MisspellField, n.Y.Span, edit.Quote(misspelt(name), "'"))
	default:
		m.replace(MisspellField, n.Args[0].Span, edit.Quote(misspelt(name), "'"))
	}
}

// misspelt leaves out the letter in the middle.
func misspelt(name string) string {
	at := len(name) / 2
	return name[:at] + name[min(at+1, len(name)):]
}

// blocks moves each statement of a body after the next one, and repeats each.
func (m *maker) blocks(body []*edit.Node) {
	for i, n := range body {
		if strings.TrimSpace(n.Source) == "" {
			continue
		}
		switch n.Kind {
		case edit.Macro, edit.Import:
			continue // where a definition stands is no matter
		case edit.Leave:
		default:
			m.replace(RepeatBlock, edit.Span{From: n.To, To: n.To}, n.Source)
		}
		if i+1 < len(body) {
			next := body[i+1]
			if next.From >= n.To && strings.TrimSpace(next.Source) != "" {
				m.add(MoveBlock, n.Replaced(next.Source), next.Replaced(n.Source))
			}
		}
	}
}
