package syntax

import (
	"strconv"
	"strings"
)

// String prints the tree: a statement a line with its line number, bodies indented, expressions as
// nested calls.
func (t *Template) String() string {
	p := &printer{t: t}
	p.body(t.Body)
	return p.b.String()
}

type printer struct {
	t     *Template
	b     strings.Builder
	depth int
	line  int // of the offset below, so that lines are counted once
	off   int
}

func (p *printer) body(body []Stmt) {
	for _, s := range body {
		p.stmt(s)
	}
}

// open starts a line for a statement.
func (p *printer) open(n Node, words ...any) {
	off := min(n.Offset(), len(p.t.Source.Text))
	if off >= p.off {
		p.line += strings.Count(p.t.Source.Text[p.off:off], "\n")
	} else {
		p.line -= strings.Count(p.t.Source.Text[off:p.off], "\n")
	}
	p.off = off
	p.label(words...)
	p.b.WriteString(" @" + strconv.Itoa(p.line+1) + "\n")
}

// label starts a line with words: strings as they are, expressions in brackets.
func (p *printer) label(words ...any) {
	p.b.WriteString(strings.Repeat("  ", p.depth))
	for i, w := range words {
		if i > 0 {
			p.b.WriteByte(' ')
		}
		switch w := w.(type) {
		case string:
			p.b.WriteString(w)
		case Expr:
			p.expr(w)
		}
	}
}

func (p *printer) inner(body []Stmt) {
	p.depth++
	p.body(body)
	p.depth--
}

// part prints a labelled second body of a statement, where there is one.
func (p *printer) part(label string, body []Stmt) {
	if len(body) > 0 {
		p.label(label)
		p.b.WriteByte('\n')
		p.inner(body)
	}
}

func (p *printer) stmt(s Stmt) {
	switch s := s.(type) {
	case *Output:
		p.open(s, "output")
		p.depth++
		for _, x := range s.Parts {
			p.label(x)
			p.b.WriteByte('\n')
		}
		p.depth--
	case *If:
		p.open(s, "if", s.Test)
		p.inner(s.Body)
		for _, e := range s.Elif {
			p.open(e, "elif", e.Test)
			p.inner(e.Body)
		}
		p.part("else", s.Else)
	case *For:
		words := []any{"for", s.Target, "in", s.Iter}
		if s.Test != nil {
			words = append(words, "if", s.Test)
		}
		if s.Recursive {
			words = append(words, "recursive")
		}
		p.open(s, words...)
		p.inner(s.Body)
		p.part("else", s.Else)
	case *Macro:
		p.open(s, "macro", s.Name+p.params(s.Params))
		p.inner(s.Body)
	case *CallBlock:
		p.open(s, "call", p.params(s.Params), s.Call)
		p.inner(s.Body)
	case *FilterBlock:
		p.open(s, "filter", s.Filter)
		p.inner(s.Body)
	case *With:
		words := []any{"with"}
		for i, t := range s.Targets {
			words = append(words, t, "=", s.Values[i])
		}
		p.open(s, words...)
		p.inner(s.Body)
	case *Assign:
		p.open(s, "set", s.Target, "=", s.Value)
	case *AssignBlock:
		words := []any{"set", s.Target}
		if s.Filter != nil {
			words = append(words, s.Filter)
		}
		p.open(s, words...)
		p.inner(s.Body)
	case *Block:
		words := []any{"block", s.Name}
		if s.Scoped {
			words = append(words, "scoped")
		}
		if s.Required {
			words = append(words, "required")
		}
		p.open(s, words...)
		p.inner(s.Body)
	case *Extends:
		p.open(s, "extends", s.Template)
	case *Include:
		words := []any{"include", s.Template}
		if s.IgnoreMissing {
			words = append(words, "ignore missing")
		}
		p.open(s, append(words, contextWord(s.WithContext))...)
	case *Import:
		p.open(s, "import", s.Template, "as", s.Target, contextWord(s.WithContext))
	case *FromImport:
		words := []any{"from", s.Template, "import"}
		for _, n := range s.Names {
			words = append(words, n.Name+":"+n.As)
		}
		p.open(s, append(words, contextWord(s.WithContext))...)
	case *Autoescape:
		p.open(s, "autoescape", s.On)
		p.inner(s.Body)
	case *Generation:
		p.open(s, "generation")
		p.inner(s.Body)
	case *Break:
		p.open(s, "break")
	case *Continue:
		p.open(s, "continue")
	}
}

func contextWord(with bool) string {
	if with {
		return "with context"
	}
	return "without context"
}

func (p *printer) params(ps Params) string {
	q := &printer{}
	q.b.WriteByte('(')
	for i, param := range ps.Params {
		if i > 0 {
			q.b.WriteString(", ")
		}
		q.b.WriteString(param.Name)
		if d := i - len(ps.Params) + len(ps.Defaults); d >= 0 {
			q.b.WriteByte('=')
			q.expr(ps.Defaults[d])
		}
	}
	q.b.WriteByte(')')
	return q.b.String()
}

// node prints name(parts).
func (p *printer) node(name string, parts ...Expr) {
	p.b.WriteString(name + "(")
	p.list(parts)
	p.b.WriteByte(')')
}

func (p *printer) list(parts []Expr) {
	for i, x := range parts {
		if i > 0 {
			p.b.WriteString(", ")
		}
		p.expr(x)
	}
}

func (p *printer) args(name string, x Expr, a Args) {
	p.b.WriteString(name + "(")
	n := 0
	sep := func(prefix string) {
		if n++; n > 1 {
			p.b.WriteString(", ")
		}
		p.b.WriteString(prefix)
	}
	if x != nil {
		sep("")
		p.expr(x)
	}
	for _, arg := range a.Args {
		sep("")
		p.expr(arg)
	}
	for _, k := range a.Keywords {
		sep(k.Name + "=")
		p.expr(k.Value)
	}
	if a.Star != nil {
		sep("*")
		p.expr(a.Star)
	}
	if a.StarStar != nil {
		sep("**")
		p.expr(a.StarStar)
	}
	p.b.WriteByte(')')
}

func (p *printer) expr(x Expr) {
	switch x := x.(type) {
	case nil:
		p.b.WriteByte('_')
	case *Name:
		p.b.WriteString(x.Name)
	case *AttrTarget:
		p.b.WriteString(x.Name + "." + x.Attr)
	case *Const:
		switch x.Kind {
		case None:
			p.b.WriteString("none")
		case True:
			p.b.WriteString("true")
		case False:
			p.b.WriteString("false")
		case Int, Float:
			p.b.WriteString(x.Text)
		case String:
			p.b.WriteString(strconv.Quote(x.Text))
		case Data:
			p.b.WriteString("data " + strconv.Quote(x.Text))
		}
	case *Tuple:
		p.node("tuple", x.Items...)
	case *List:
		p.node("list", x.Items...)
	case *Dict:
		p.b.WriteString("dict(")
		for i, pair := range x.Items {
			if i > 0 {
				p.b.WriteString(", ")
			}
			p.expr(pair.Key)
			p.b.WriteString(": ")
			p.expr(pair.Value)
		}
		p.b.WriteByte(')')
	case *Unary:
		p.node(x.Op, x.X)
	case *Binary:
		p.node(x.Op, x.X, x.Y)
	case *Logic:
		p.node(x.Op, x.X, x.Y)
	case *Concat:
		p.node("~", x.Items...)
	case *Compare:
		p.b.WriteString("compare(")
		p.expr(x.X)
		for _, op := range x.Ops {
			p.b.WriteString(" " + op.Op + " ")
			p.expr(op.X)
		}
		p.b.WriteByte(')')
	case *Cond:
		p.node("cond", x.Test, x.Then, x.Else)
	case *Attr:
		p.b.WriteString("attr(")
		p.expr(x.X)
		p.b.WriteString(", " + x.Name + ")")
	case *Item:
		p.node("item", x.X, x.Index)
	case *Slice:
		p.node("slice", x.Start, x.Stop, x.Step)
	case *Call:
		p.args("call", x.Func, x.Args)
	case *Filter:
		p.args("|"+x.Name, x.X, x.Args)
	case *Test:
		p.args("is "+x.Name, x.X, x.Args)
	}
}
