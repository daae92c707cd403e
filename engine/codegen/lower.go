package codegen

import (
	"fmt"
	"unicode/utf8"

	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/peg"
)

// maxGrammarSpace bounds white space beside markers in a grammar, in characters, so that a model
// cannot go on with it for ever.
const maxGrammarSpace = 40

// lowering turns a writer's tree into a grammar.
type lowering struct {
	b     *gbnf.Builder
	rules map[string]peg.Pattern
	refs  map[string]gbnf.Element
	err   error
}

// lower returns the grammar of a tree.
func lower(tree *peg.Tree) (*gbnf.Grammar, error) {
	l := lowering{b: gbnf.NewBuilder(), rules: map[string]peg.Pattern{},
		refs: map[string]gbnf.Element{}}
	for _, r := range tree.Rules {
		l.rules[r.Name] = r.P
	}
	root := l.lower(tree.Root)
	if l.err != nil {
		return nil, l.err
	}
	return l.b.Grammar(root)
}

func (l *lowering) lower(p peg.Pattern) gbnf.Element {
	b := l.b
	switch p := p.(type) {
	case peg.Lit:
		return b.Lit(p.Text)
	case peg.Set:
		return b.Class(ranges(p.Set), false)
	case peg.Any:
		return b.Any()
	case peg.Space: // beside markers models write more than between JSON tokens
		return b.Rule("space",
			b.Repeat(b.Class([]gbnf.Range{{Lo: ' ', Hi: ' '}, {Lo: '\t', Hi: '\t'},
				{Lo: '\n', Hi: '\n'}}, false), 0, maxGrammarSpace))
	case peg.Seq:
		return b.Seq(l.all(flatten(nil, p))...)
	case peg.Choice:
		return b.Alt(l.all(p)...)
	case peg.Rep:
		hi := p.Max
		if hi == 0 {
			hi = gbnf.Unlimited
		} else if set, ok := p.P.(peg.Set); ok && set.Set.Has(0x80) {
			// The parser counts bytes, a grammar characters.
			hi = max(p.Min, hi/utf8.UTFMax)
		}
		return b.Repeat(l.lower(p.P), p.Min, hi)
	case peg.Opt:
		return b.Opt(l.lower(p.P))
	case peg.Dispatch:
		after := b.Empty()
		if p.After != nil {
			after = l.lower(p.After)
		}
		var alts []gbnf.Element
		for i, word := range p.Words {
			body := b.Empty()
			if len(p.Bodies) > 0 {
				body = l.lower(p.Bodies[i])
			}
			alts = append(alts, b.Seq(b.Lit(word), after, body))
		}
		return b.Alt(alts...)
	case peg.Until:
		return b.Until(stopTexts(p)...)
	case peg.Label:
		switch c := p.Value.(type) {
		case Constraint:
			return b.Value(c.Name, c.Schema, c.Codec)
		case bound:
			return b.Brief(int(c), stopTexts(p.P.(peg.Until))...)
		}
		return l.lower(p.P)
	case peg.Ref:
		return l.ref(p.Name)
	}
	if l.err == nil {
		l.err = fmt.Errorf("a %T has no grammar", p)
	}
	return b.Never()
}

func stopTexts(p peg.Until) []string {
	return lists.Map(p.Stops, func(s peg.Stop) string { return s.Text })
}

// flatten appends the parts of a sequence and of those in it; white space after white space is left
// out.
func flatten(dst []peg.Pattern, seq peg.Seq) []peg.Pattern {
	for _, p := range seq {
		switch p := p.(type) {
		case peg.Seq:
			dst = flatten(dst, p)
		case peg.Space:
			if n := len(dst); n > 0 && dst[n-1] == peg.Pattern(peg.Space{}) {
				continue
			}
			dst = append(dst, p)
		default:
			dst = append(dst, p)
		}
	}
	return dst
}

func (l *lowering) all(list []peg.Pattern) []gbnf.Element {
	return lists.Map(list, l.lower)
}

// ref lowers a rule when it is first referred to. A rule that matches nothing is replaced where it
// is used.
func (l *lowering) ref(name string) gbnf.Element {
	if e, ok := l.refs[name]; ok {
		return e
	}
	e := l.b.Declare(name)
	l.refs[name] = e
	l.b.Define(e, l.lower(l.rules[name]))
	return e
}

// ranges returns the characters of a set of bytes. Bytes beyond ASCII stand for all characters
// beyond it.
func ranges(set peg.ByteSet) []gbnf.Range {
	var out []gbnf.Range
	for c := 0; c < 0x80; c++ {
		if set.Has(byte(c)) {
			if n := len(out); n > 0 && out[n-1].Hi == rune(c-1) {
				out[n-1].Hi = rune(c)
			} else {
				out = append(out, gbnf.Range{Lo: rune(c), Hi: rune(c)})
			}
		}
	}
	if set.Has(0x80) {
		out = append(out, gbnf.Range{Lo: 0x80, Hi: 0x10ffff})
	}
	return out
}
