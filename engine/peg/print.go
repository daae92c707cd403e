package peg

import (
	"fmt"
	"strconv"
	"strings"
)

// String prints the tree, a rule a line at least, in the notation of LPeg and regular expressions:
//
//	"text"  [a-z]  .  _      a literal, a set, any byte, white space
//	$  ^n  "text"...         End, Before, Stub
//	a b   a / b   ( )        sequence, choice, grouping
//	p*  p+  p{2,5}  p?       repetitions
//	!  @  hold(p)            Cut, Rejected (with its kind, as in @content), Hold
//	&p  ~p  try(p; else)     And, Not, Try
//	kind<p>                  Capture
//	kind=3  kind="text"      Emit
//	kind{_"stop" ... }       Until: _ for Space, ... for Stub, &p for After
//	kind%scanner             Scan
//	name                     Ref
//	dispatch(...) switch(s)  Dispatch, Switch
func (t Tree) String() string {
	pr := printer{t: t}
	pr.b.WriteString("root = ")
	pr.print(t.Root, 0)
	pr.b.WriteByte('\n')
	for _, r := range t.Rules {
		pr.b.WriteString(r.Name + " = ")
		pr.print(r.P, 0)
		pr.b.WriteByte('\n')
	}
	return pr.b.String()
}

type printer struct {
	b strings.Builder
	t Tree
}

// Levels of binding: a looser pattern inside a tighter level is grouped.
const (
	levelChoice = iota
	levelSeq
	levelPost
)

func (pr *printer) kind(k Kind) string {
	if k == 0 {
		return ""
	}
	return (&Program{Kinds: pr.t.Kinds}).Kind(k)
}

func (pr *printer) print(p Pattern, level int) {
	b := &pr.b
	group := func(own int, body func()) {
		if level > own {
			b.WriteByte('(')
			body()
			b.WriteByte(')')
		} else {
			body()
		}
	}
	join := func(list []Pattern, sep string, level int) {
		for i, q := range list {
			if i > 0 {
				b.WriteString(sep)
			}
			pr.print(q, level)
		}
	}
	call := func(name string, list ...Pattern) {
		b.WriteString(name + "(")
		join(list, "; ", levelChoice)
		b.WriteByte(')')
	}
	switch p := p.(type) {
	case nil:
		b.WriteString("<nil>")
	case Lit:
		b.WriteString(strconv.Quote(p.Text))
	case Set:
		b.WriteString(p.Set.String())
	case Any:
		b.WriteByte('.')
	case Space:
		b.WriteByte('_')
	case End:
		b.WriteByte('$')
	case Before:
		fmt.Fprintf(b, "^%d", p.Off)
	case Stub:
		b.WriteString(strconv.Quote(p.Text) + "...")
	case Cut:
		b.WriteByte('!')
	case Rejected:
		b.WriteString("@" + pr.kind(p.Kind))
	case Ref:
		b.WriteString(p.Name)
	case Seq:
		if len(p) == 0 {
			b.WriteString("()")
			break
		}
		group(levelSeq, func() { join(p, " ", levelPost) })
	case Choice:
		group(levelChoice, func() { join(p, " / ", levelSeq) })
	case Opt:
		pr.print(p.P, levelPost)
		b.WriteByte('?')
	case Rep:
		pr.print(p.P, levelPost)
		switch {
		case p.Min == 0 && p.Max == 0:
			b.WriteByte('*')
		case p.Min == 1 && p.Max == 0:
			b.WriteByte('+')
		case p.Max == 0:
			fmt.Fprintf(b, "{%d,}", p.Min)
		default:
			fmt.Fprintf(b, "{%d,%d}", p.Min, p.Max)
		}
	case And:
		b.WriteByte('&')
		pr.print(p.P, levelPost)
	case Not:
		b.WriteByte('~')
		pr.print(p.P, levelPost)
	case Hold:
		call("hold", p.P)
	case Try:
		call("try", p.P, p.Else)
	case Capture:
		b.WriteString(pr.kind(p.Kind) + "<")
		pr.print(p.P, levelChoice)
		b.WriteByte('>')
	case Emit:
		b.WriteString(pr.kind(p.Kind))
		if p.Text == "" || p.Arg != 0 {
			fmt.Fprintf(b, "=%d", p.Arg)
		}
		if p.Text != "" {
			b.WriteString("=" + strconv.Quote(p.Text))
		}
	case Until:
		b.WriteString(pr.kind(p.Kind) + "{")
		for i, s := range p.Stops {
			if i > 0 {
				b.WriteByte(' ')
			}
			if s.Space {
				b.WriteByte('_')
			}
			b.WriteString(strconv.Quote(s.Text))
			if s.Stub {
				b.WriteString("...")
			}
			if s.After != nil {
				b.WriteByte('&')
				pr.print(s.After, levelPost)
			}
		}
		if p.TrimEnd {
			b.WriteString(" _$")
		}
		b.WriteByte('}')
	case Scan:
		b.WriteString(pr.kind(p.Kind) + "%" + p.Scanner.Name())
	case Dispatch:
		b.WriteString("dispatch(")
		for i, w := range p.Words {
			if i > 0 {
				b.WriteString("; ")
			}
			b.WriteString(strconv.Quote(w))
			if i < len(p.Bodies) {
				b.WriteByte(' ')
				pr.print(p.Bodies[i], levelSeq)
			}
		}
		b.WriteByte(')')
		if p.After != nil {
			b.WriteByte('&')
			pr.print(p.After, levelPost)
		}
	case Switch:
		b.WriteString("switch(" + p.Name + ")")
		if p.After != nil {
			b.WriteByte('&')
			pr.print(p.After, levelPost)
		}
	case Label:
		b.WriteString(p.Name + ":")
		pr.print(p.P, levelPost)
	default:
		fmt.Fprintf(b, "<%T>", p)
	}
}
