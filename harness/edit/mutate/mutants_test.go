package mutate

import (
	"regexp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/jinja/edit"
)

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
