package gbnf

import "strings"

// After returns the grammar of the rests of the sentences that begin with a text. ok is false
// where that cannot be told from literals, groups and rules alone, or where no sentence begins with
// the text.
func (g *Grammar) After(text string) (rest *Grammar, ok bool) {
	const deep = 64
	ok = true
	var after func(alts []Alternate, text string, depth int) []Alternate
	after = func(alts []Alternate, text string, depth int) (out []Alternate) {
		for _, alt := range alts {
			switch {
			case text == "":
				out = append(out, alt)
				continue
			case len(alt) == 0:
				continue
			}
			first, tail := alt[0], alt[1:]
			inner := first.Alts
			switch first.Kind {
			case Literal:
				if left, cut := strings.CutPrefix(text, first.Text); cut {
					out = append(out, after([]Alternate{tail}, left, depth)...)
				} else if left, cut := strings.CutPrefix(first.Text, text); cut {
					out = append(out, append(Alternate{{Kind: Literal, Text: left}}, tail...))
				}
				continue
			case Ref:
				inner = g.Rule(first.Text).Alts
			case Group:
			default:
				ok = false
				continue
			}
			if depth == deep {
				ok = false
				return nil
			}
			for _, in := range inner {
				out = append(out, after([]Alternate{append(in[:len(in):len(in)], tail...)}, text,
					depth+1)...)
			}
		}
		return out
	}
	alts := after(g.Rule(Root).Alts, text, 0)
	if !ok || len(alts) == 0 {
		return nil, false
	}
	b := NewBuilder()
	for _, r := range g.Rules {
		b.rules[r.Name] = r.Alts
	}
	rest, err := b.Grammar(Element{Kind: Group, Alts: alts})
	return rest, err == nil
}

// WithTokens returns a copy of the grammar with each literal replaced by the parts that cut returns
// for it: literals and tokens.
func (g *Grammar) WithTokens(cut func(literal string) []Element) *Grammar {
	var alts func(list []Alternate) []Alternate
	alts = func(list []Alternate) []Alternate {
		out := make([]Alternate, len(list))
		for i, alt := range list {
			for _, e := range alt {
				if e.Kind == Literal {
					out[i] = append(out[i], cut(e.Text)...)
					continue
				}
				e.Alts = alts(e.Alts)
				out[i] = append(out[i], e)
			}
		}
		return out
	}
	out := &Grammar{Rules: make([]Rule, len(g.Rules))}
	for i, r := range g.Rules {
		out.Rules[i] = Rule{r.Name, alts(r.Alts)}
	}
	return out
}
