// Package mutate measures how many bugs the automatic checks notice, and how often they blame a
// harmless change.
//
// # Model
//
// [Mutants] makes the mistakes that authors of templates make, one at a time, at every site of a
// template: a branch is dropped, a condition negated, the first taken for the last, tojson
// forgotten, a separator, a marker or a role left out, a field misspelt, a block moved or repeated.
// [Rewrites] makes changes that keep the behaviour: other names, turned conditions, white space
// inside tags. Both edit the source where the tree reports that a part stands ([syntax.Spans]); all
// else stays as the author wrote it.
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

	"github.com/goassay/assay/engine/jinja/syntax"
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
	text  string
	tree  *syntax.Template
	spans *syntax.Spans
	made  []Mutant
	seen  map[string]bool // texts
	roles []string        // words that the template writes for who speaks
	own   []string        // variables whose fields are not those of a request
}

func newMaker(text string) (*maker, error) {
	tree, spans, err := syntax.ParseSpans(source.New("template", text))
	if err != nil {
		return nil, err
	}
	m := &maker{text: text, tree: tree, spans: spans, seen: map[string]bool{text: true},
		roles: []string{"system", "user", "assistant", "tool", "model", "developer"}}
	m.own = append(m.own, "loop")
	m.walk(func(n syntax.Node, _ []syntax.Node) {
		switch n := n.(type) {
		case *syntax.Assign:
			if call, ok := n.Value.(*syntax.Call); ok && syntax.IsName(call.Func, "namespace") {
				if name, ok := n.Target.(*syntax.Name); ok {
					m.own = append(m.own, name.Name)
				}
			}
		case *syntax.Compare: // a role that the template asks for
			for _, op := range n.Ops {
				if c, ok := op.X.(*syntax.Const); ok && c.Kind == syntax.String && isField(n.X,
					"role") && !slices.Contains(m.roles, c.Text) {
					m.roles = append(m.roles, c.Text)
				}
			}
		}
	})
	return m, nil
}

// isField reports whether an expression looks up a field of a name.
func isField(x syntax.Expr, name string) bool {
	switch x := x.(type) {
	case *syntax.Attr:
		return x.Name == name
	case *syntax.Item:
		c, ok := x.Index.(*syntax.Const)
		return ok && c.Kind == syntax.String && c.Text == name
	}
	return false
}

// walk visits every node with those above it, the outermost first.
func (m *maker) walk(visit func(n syntax.Node, above []syntax.Node)) {
	var above []syntax.Node
	var down func(n syntax.Node)
	down = func(n syntax.Node) {
		visit(n, above)
		above = append(above, n)
		for _, child := range syntax.Children(n) {
			down(child)
		}
		above = above[:len(above)-1]
	}
	for _, s := range m.tree.Body {
		down(s)
	}
}

func (m *maker) cut(s syntax.Span) string { return m.text[s.From:s.To] }

func (m *maker) source(x syntax.Expr) string { return m.cut(m.spans.Expr(x)) }

// add adds the mutant that an edit makes, unless another one has the same text.
func (m *maker) add(of Operator, edits ...syntax.Edit) {
	text, edits := syntax.Apply(m.text, edits...)
	if m.seen[text] {
		return
	}
	m.seen[text] = true
	first := edits[0]
	was, is := m.cut(syntax.Span{From: first.From, To: first.To}), first.Text
	m.made = append(m.made, Mutant{Operator: of, Off: first.From, Was: was, Is: is, Text: text})
}

// replace adds the mutant in which another text stands for a part.
func (m *maker) replace(of Operator, s syntax.Span, text string) {
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
	m.walk(m.branches)
	m.walk(m.ends)
	m.walk(m.written)
	m.walk(m.fields)
	m.blocks(m.tree.Body)
	m.walk(func(n syntax.Node, _ []syntax.Node) {
		for _, body := range bodies(n) {
			m.blocks(body)
		}
	})
	return m.made, nil
}

// bodies returns the bodies of a statement; those of an elif are its own.
func bodies(n syntax.Node) [][]syntax.Stmt {
	switch n := n.(type) {
	case *syntax.If:
		return [][]syntax.Stmt{n.Body, n.Else}
	case *syntax.For:
		return [][]syntax.Stmt{n.Body, n.Else}
	case *syntax.Macro:
		return [][]syntax.Stmt{n.Body}
	case *syntax.AssignBlock:
		return [][]syntax.Stmt{n.Body}
	case *syntax.Generation:
		return [][]syntax.Stmt{n.Body}
	}
	return nil
}

// branches drops branches and negates conditions.
func (m *maker) branches(n syntax.Node, above []syntax.Node) {
	switch n := n.(type) {
	case *syntax.If:
		m.negate(n.Test)
		tags := m.spans.Tags(n)
		for i := 1; i < len(tags); i++ { // an elif has none: they are those of the first if
			m.replace(DropBranch, syntax.Span{From: tags[i-1].To, To: tags[i].From}, "")
		}
	case *syntax.For:
		if n.Test != nil {
			m.negate(n.Test)
		}
	case *syntax.Cond:
		m.negate(n.Test)
		whole := m.spans.Expr(n)
		m.replace(DropBranch, whole, m.source(n.Then))
		if n.Else != nil {
			m.replace(DropBranch, whole, "("+m.source(n.Else)+")")
		}
	}
}

func (m *maker) negate(test syntax.Expr) {
	m.replace(Negate, m.spans.Expr(test), "not ("+m.source(test)+")")
}

// ends swaps first and last, and drops tojson.
func (m *maker) ends(n syntax.Node, above []syntax.Node) {
	swap := map[string]string{"first": "last", "last": "first"}
	switch n := n.(type) {
	case *syntax.Attr:
		if other, ok := swap[n.Name]; ok && syntax.IsName(n.X, "loop") {
			m.replace(SwapEnds, m.spans.Expr(n), m.source(n.X)+"."+other)
		}
	case *syntax.Filter:
		if n.X == nil {
			return
		}
		whole := m.spans.Expr(n)
		if other, ok := swap[n.Name]; ok {
			m.replace(SwapEnds, whole, m.source(n.X)+" | "+other)
		}
		if n.Name == "tojson" {
			m.replace(DropToJSON, whole, m.source(n.X))
		}
	case *syntax.Item:
		switch m.source(n.Index) {
		case "0":
			m.replace(SwapEnds, m.spans.Expr(n.Index), "-1")
		case "-1":
			m.replace(SwapEnds, m.spans.Expr(n.Index), "0")
		}
	}
}

// printed reports whether an expression reaches the prompt as text: it is a part of an output, or
// of a text that is put together for one.
func printed(x syntax.Expr, above []syntax.Node) bool {
	var child syntax.Node = x
	for i := len(above) - 1; i >= 0; i-- {
		switch n := above[i].(type) {
		case *syntax.Output:
			return true
		case *syntax.Assign:
			return n.Value == child
		case *syntax.Concat:
		case *syntax.Binary:
			if n.Op != "+" {
				return false
			}
		case *syntax.Cond:
			if n.Test == child {
				return false
			}
		default:
			return false
		}
		child = above[i]
	}
	return false
}

// marker is a special token as authors write them. It says where a mutant is made, and decides
// nothing.
var marker = regexp.MustCompile(`<[^\s<>]{1,60}>|\[/?[A-Z_]{3,}\]`)

// written drops separators, markers and roles from the template's output.
func (m *maker) written(n syntax.Node, above []syntax.Node) {
	if x, ok := n.(syntax.Expr); ok && isField(x, "role") && printed(x, above) {
		m.replace(DropRole, m.spans.Expr(x), "''")
	}
	c, ok := n.(*syntax.Const)
	if !ok || c.Kind != syntax.Data && (c.Kind != syntax.String || !printed(c, above)) {
		return
	}
	drop := func(of Operator, from, to int) {
		rest := c.Text[:from] + c.Text[to:]
		switch span := m.spans.Expr(c); {
		case c.Kind == syntax.String:
			m.replace(of, span, quote(rest, '\''))
		case span.To-span.From == len(c.Text): // else line ends are not as they are written
			m.replace(of, syntax.Span{From: span.From + from, To: span.From + to}, "")
		}
	}
	text := c.Text
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

// quote spells a text as a literal of Jinja.
func quote(text string, mark byte) string {
	var b strings.Builder
	b.WriteByte(mark)
	for _, r := range text {
		switch r {
		case rune(mark), '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte(mark)
	return b.String()
}

// fields misspells the fields of a request that the template looks up.
func (m *maker) fields(n syntax.Node, above []syntax.Node) {
	switch n := n.(type) {
	case *syntax.Attr:
		if name, ok := n.X.(*syntax.Name); ok && slices.Contains(m.own, name.Name) {
			return
		}
		if call, ok := last(above).(*syntax.Call); ok && call.Func == n {
			return // a method
		}
		whole := m.spans.Expr(n)
		m.replace(MisspellField, syntax.Span{From: whole.To - len(n.Name), To: whole.To},
			misspelt(n.Name))
	case *syntax.Item:
		if c, ok := n.Index.(*syntax.Const); ok && c.Kind == syntax.String {
			m.replace(MisspellField, m.spans.Expr(c), quote(misspelt(c.Text), '\''))
		}
	case *syntax.Call:
		if f, ok := n.Func.(*syntax.Attr); ok && f.Name == "get" && len(n.Args.Args) > 0 {
			if c, ok := n.Args.Args[0].(*syntax.Const); ok && c.Kind == syntax.String {
				m.replace(MisspellField, m.spans.Expr(c), quote(misspelt(c.Text), '\''))
			}
		}
	}
}

func last(above []syntax.Node) syntax.Node {
	if len(above) == 0 {
		return nil
	}
	return above[len(above)-1]
}

// misspelt leaves out the letter in the middle.
func misspelt(name string) string {
	at := len(name) / 2
	return name[:at] + name[min(at+1, len(name)):]
}

// blocks moves each statement of a body after the next one, and repeats each.
func (m *maker) blocks(body []syntax.Stmt) {
	for i, s := range body {
		span := m.spans.Stmt(s)
		if span.From == span.To || strings.TrimSpace(m.cut(span)) == "" {
			continue
		}
		switch s.(type) {
		case *syntax.Macro, *syntax.Import, *syntax.FromImport:
			continue // where a definition stands is no matter
		case *syntax.Break, *syntax.Continue:
		default:
			m.replace(RepeatBlock, syntax.Span{From: span.To, To: span.To}, m.cut(span))
		}
		if i+1 < len(body) {
			next := m.spans.Stmt(body[i+1])
			if next.From >= span.To && strings.TrimSpace(m.cut(next)) != "" {
				m.add(MoveBlock, span.Replaced(m.cut(next)), next.Replaced(m.cut(span)))
			}
		}
	}
}
