package gbnf

import (
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// EBNF returns the grammar as xgrammar reads it. That language is GBNF with a few differences: it
// has no dot, a name begins with a letter, \x takes any number of digits, and a negated class takes
// the bytes of a surrogate, which no text has. So every class is written by the characters that it
// takes. A grammar that names tokens is an error.
func (g *Grammar) EBNF() (string, error) {
	p := ebnf{names: names(g, Root, "-", func(name string) string {
		if name[0] <= '9' { // a hyphen or a digit
			name = "r-" + name
		}
		return name
	})}
	for _, r := range g.Rules {
		p.text(p.names[r.Name])
		p.text(" ::= ")
		p.alts(r.Alts)
		p.text("\n")
	}
	return string(p.dst), p.err
}

// names maps the rules of a grammar to their names in another language, which has its own for the
// root. Of rules that are spelled alike, all but the first get a number behind a sign.
func names(g *Grammar, root, sign string, spelled func(name string) string) map[string]string {
	names, taken := map[string]string{Root: root}, map[string]bool{root: true}
	for _, r := range g.Rules {
		if r.Name == Root {
			continue
		}
		base := spelled(r.Name)
		name := base
		for n := 2; taken[name]; n++ {
			name = base + sign + strconv.Itoa(n)
		}
		names[r.Name], taken[name] = name, true
	}
	return names
}

type ebnf struct {
	names map[string]string
	dst   []byte
	err   error
}

func (p *ebnf) text(s string) { p.dst = append(p.dst, s...) }

func (p *ebnf) alts(alts []Alternate) { writeAlts(alts, p.text, p.element) }

// writeAlts writes alternatives and their parts, as all languages of grammars space them.
func writeAlts(alts []Alternate, text func(string), element func(*Element)) {
	for i, alt := range alts {
		if i > 0 {
			text(" | ")
		}
		if len(alt) == 0 {
			text(`""`)
		}
		for j := range alt {
			if j > 0 {
				text(" ")
			}
			element(&alt[j])
		}
	}
}

func (p *ebnf) element(e *Element) {
	switch e.Kind {
	case Literal:
		p.dst = appendString(p.dst, e.Text)
	case Class:
		ranges := e.Ranges
		if e.Negated {
			ranges = complement(ranges)
		}
		p.class(ranges)
	case Any:
		p.class(complement(nil))
	case Ref:
		p.text(p.names[e.Text])
	case Group, Repeat:
		p.text("(")
		p.alts(e.Alts)
		p.text(")")
		if e.Kind == Repeat {
			p.dst = appendCount(p.dst, *e)
		}
	default:
		p.err = unwritable(*e, "xgrammar")
	}
}

// class writes the characters of normal ranges.
func (p *ebnf) class(ranges []Range) {
	p.text("[")
	for _, r := range complement(complement(ranges)) { // without surrogates
		p.dst = appendEscaped(p.dst, r.Lo)
		if r.Hi > r.Lo {
			p.text("-")
			p.dst = appendEscaped(p.dst, r.Hi)
		}
	}
	p.text("]")
}

// appendEscaped appends a character of a class, by number where it could mean something else.
func appendEscaped(dst []byte, r rune) []byte {
	switch {
	case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9':
		return append(dst, byte(r))
	case r > 0xffff:
		return fmt.Appendf(dst, `\U%08X`, r)
	case unicode.IsLetter(r):
		return utf8.AppendRune(dst, r)
	}
	return fmt.Appendf(dst, `\u%04X`, r)
}

// appendString appends a literal with escapes that JSON has, too: GBNF's \x takes two digits here
// and any number there.
func appendString(dst []byte, text string) []byte {
	dst = append(dst, '"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case r < 0x20 || r <= 0xffff && !unicode.IsPrint(r):
			dst = fmt.Appendf(dst, `\u%04X`, r)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

func unwritable(e Element, reader string) error {
	return fmt.Errorf("grammar: %s is a token and no text; a grammar for %s is written of "+
		"characters", e, reader)
}
