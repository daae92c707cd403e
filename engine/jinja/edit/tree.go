package edit

import (
	"iter"
	"sync"

	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/jinja/syntax"
	"github.com/goassay/assay/engine/source"
)

// Kind is what a part of a template is.
type Kind uint8

// The kinds of expressions. X is the operand that comes first, Y the other one.
const (
	Other   Kind = iota
	Data         // the template's own text, in an output
	Text         // 'a text'
	Int          // a whole number
	Const        // none, true, false, or any other number
	Name         // a variable
	Member       // X.word, or X['word'] with Y for the index
	Item         // X[Y]
	Cut          // the index start:stop:step
	Call         // X(Args)
	Filter       // X|word(Args); X is nil where a block is filtered
	Test         // X is word(Args)
	Unary        // not X, -X, +X
	Logic        // X and Y, X or Y
	Math         // X + Y, and the other operators on numbers
	Concat       // a ~ b ~ c
	Compare      // X == Y, and all in Parts of a chain
	Choice       // X if Test else Y; Y may be nil
	List         // [a, b]
	Tuple        // (a, b)
	Dict         // {key: value}, both in Parts
	Field        // word.field as the target of a set
)

// The kinds of statements.
const (
	Output     Kind = iota + 32
	If              // with Test and Elif; Bodies has its own body and that of else
	For             // Target in X, where Test holds; the second of Bodies is that of else
	Set             // Target = X
	Capture         // {% set Target %}
	Macro           // word(Args)
	With            // Args are the values
	Called          // the body of {% call %} or {% filter %}
	Block           // a part that other templates may write anew
	Scope           // {% autoescape %}
	Generation      // the model's text
	Import          // names from another template
	Loaded          // another template's text
	Leave           // break and continue
)

// Node is a part of a template as the author wrote it. A field that a kind does not have is zero,
// and the methods take nil for a part that is not there.
type Node struct {
	Kind   Kind
	Word   string // a name, a member, an operator, the content of a text
	Off    int    // by which errors and references name the part
	Span          // where it stands, the brackets around it included; of a statement with all tags
	Source string // the text of the span
	Up     *Node  // the part that it is right below; nil: a statement of the template itself
	Parts  []*Node

	X, Y, Test, Target *Node
	Args, Keywords     []*Node
	Elif               []*Node
	Bodies             [][]*Node // of a statement; those of Elif are theirs
	Tags               []Span    // of a statement
	Print              Span      // of a part of an output the whole {{ tag }}, else the span
}

// Template is a text with its parts.
type Template struct {
	Text  string
	Body  []*Node
	nodes map[syntax.Node]*Node
	spans *syntax.Spans
	// Flow is the model of what the template does, made where it is asked for.
	Flow func() *flow.Model
}

// Parse reads a template. The error is that of [syntax.Parse].
func Parse(src *source.Source) (*Template, error) {
	tree, spans, err := syntax.ParseSpans(src)
	if err != nil {
		return nil, err
	}
	t := &Template{Text: src.Text, nodes: map[syntax.Node]*Node{}, spans: spans,
		Flow: sync.OnceValue(func() *flow.Model { return flow.New(tree) })}
	t.Body = t.list(tree.Body, nil)
	return t, nil
}

// Of returns the part that a reference of the model is about; nil: it is none that stands here.
func (t *Template) Of(n syntax.Node) *Node { return t.nodes[n] }

// All yields all parts of a template, each before those below it.
func (t *Template) All() iter.Seq[*Node] { return all(t.Body) }

// All yields a part and all below it, each before those below it.
func (n *Node) All() iter.Seq[*Node] { return all([]*Node{n}) }

func all(list []*Node) iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for _, n := range list {
			if !yield(n) {
				return
			}
			for below := range all(n.Parts) {
				if !yield(below) {
					return
				}
			}
		}
	}
}

// list reads statements; nil stays nil.
func (t *Template) list(list []syntax.Stmt, up *Node) (all []*Node) {
	if list != nil {
		all = []*Node{}
	}
	for _, s := range list {
		all = append(all, t.node(s, up))
	}
	return all
}

// node reads a part of the tree, once.
func (t *Template) node(of syntax.Node, up *Node) *Node {
	if known := t.nodes[of]; known != nil {
		return known
	}
	n := &Node{Off: of.Offset(), Up: up}
	t.nodes[of] = n
	syntax.Each(of, func(c syntax.Node) { n.Parts = append(n.Parts, t.node(c, n)) })
	if x, ok := of.(syntax.Expr); ok {
		n.Span, n.Print = Span(t.spans.Expr(x)), Span(t.spans.Print(x))
		t.expr(n, x)
	} else if s, ok := of.(syntax.Stmt); ok {
		n.Span = Span(t.spans.Stmt(s))
		for _, tag := range t.spans.Tags(s) {
			n.Tags = append(n.Tags, Span(tag))
		}
		t.stmt(n, s)
	}
	n.Source = t.Text[n.From:n.To]
	return n
}

// constants are the kinds of literals.
var constants = map[syntax.ConstKind]Kind{syntax.Data: Data, syntax.String: Text, syntax.Int: Int}

// expr fills the fields of an expression in.
func (t *Template) expr(n *Node, x syntax.Expr) {
	at := func(x syntax.Expr) *Node { return t.nodes[x] }
	args := func(a *syntax.Args) {
		for _, x := range a.Args {
			n.Args = append(n.Args, at(x))
		}
		for _, k := range a.Keywords {
			n.Keywords = append(n.Keywords, at(k.Value))
		}
	}
	switch x := x.(type) {
	case *syntax.Name:
		n.Kind, n.Word = Name, x.Name
	case *syntax.Const:
		if n.Kind, n.Word = constants[x.Kind], x.Text; n.Kind == Other {
			n.Kind = Const
		}
	case *syntax.Attr:
		n.Kind, n.Word, n.X = Member, x.Name, at(x.X)
	case *syntax.Item:
		n.Kind, n.X, n.Y = Item, at(x.X), at(x.Index)
		if n.Y.Kind == Text {
			n.Kind, n.Word = Member, n.Y.Word
		}
	case *syntax.Slice:
		n.Kind = Cut
	case *syntax.Call:
		n.Kind, n.X = Call, at(x.Func)
		args(&x.Args)
	case *syntax.Filter:
		n.Kind, n.Word, n.X = Filter, x.Name, at(x.X)
		args(&x.Args)
	case *syntax.Test:
		n.Kind, n.Word, n.X = Test, x.Name, at(x.X)
		args(&x.Args)
	case *syntax.Unary:
		n.Kind, n.Word, n.X = Unary, x.Op, at(x.X)
	case *syntax.Logic:
		n.Kind, n.Word, n.X, n.Y = Logic, x.Op, at(x.X), at(x.Y)
	case *syntax.Binary:
		n.Kind, n.Word, n.X, n.Y = Math, x.Op, at(x.X), at(x.Y)
	case *syntax.Compare:
		n.Kind, n.Word, n.X, n.Y = Compare, x.Ops[0].Op, at(x.X), at(x.Ops[0].X)
	case *syntax.Cond:
		n.Kind, n.X, n.Test, n.Y = Choice, at(x.Then), at(x.Test), at(x.Else)
	case *syntax.AttrTarget:
		n.Kind, n.Word = Field, x.Name
	case *syntax.Concat:
		n.Kind = Concat
	case *syntax.List:
		n.Kind = List
	case *syntax.Tuple:
		n.Kind = Tuple
	case *syntax.Dict:
		n.Kind = Dict
	}
}

// stmt fills the fields of a statement in.
func (t *Template) stmt(n *Node, s syntax.Stmt) {
	at := func(x syntax.Expr) *Node { return t.nodes[x] }
	body := func(kind Kind, bodies ...[]syntax.Stmt) {
		n.Kind = kind
		for _, body := range bodies {
			n.Bodies = append(n.Bodies, t.list(body, n))
		}
	}
	switch s := s.(type) {
	case *syntax.Output:
		n.Kind = Output
	case *syntax.If:
		body(If, s.Body, s.Else)
		n.Test = at(s.Test)
		for _, e := range s.Elif {
			n.Elif = append(n.Elif, t.nodes[e])
		}
	case *syntax.For:
		body(For, s.Body, s.Else)
		n.Target, n.X, n.Test = at(s.Target), at(s.Iter), at(s.Test)
	case *syntax.Macro:
		body(Macro, s.Body)
		n.Word = s.Name
		for _, p := range s.Params.Params {
			n.Args = append(n.Args, t.nodes[p])
		}
	case *syntax.With:
		body(With, s.Body)
		for _, v := range s.Values {
			n.Args = append(n.Args, at(v))
		}
	case *syntax.Assign:
		n.Kind, n.Target, n.X = Set, at(s.Target), at(s.Value)
	case *syntax.AssignBlock:
		body(Capture, s.Body)
		n.Target = at(s.Target)
	case *syntax.CallBlock:
		body(Called, s.Body)
	case *syntax.FilterBlock:
		body(Called, s.Body)
	case *syntax.Block:
		body(Block, s.Body)
	case *syntax.Autoescape:
		body(Scope, s.Body)
	case *syntax.Generation:
		body(Generation, s.Body)
	case *syntax.Import, *syntax.FromImport:
		n.Kind = Import
	case *syntax.Extends, *syntax.Include:
		n.Kind = Loaded
	default:
		n.Kind = Leave
	}
}
