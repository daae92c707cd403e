package gbnf

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/schema"
)

// coder describes how the characters of a string are written.
type coder struct {
	l       *lowering
	kind    coderKind
	quote   rune   // the quote that must be escaped, 0 where there is none
	avoid   []rune // characters that a class of several does not use: the first ones of markers
	exclude []Range
	escapes []escape
}

type coderKind uint8

const (
	coderRaw coderKind = iota
	coderJSON
	coderPython
	coderEntity
)

// escape is a character written otherwise.
type escape struct {
	char rune
	text string
}

var (
	controls   = Range{Lo: 0, Hi: 0x1f}
	notASCII   = []Range{{Lo: 0x80, Hi: unicode.MaxRune}}
	everything = []Range{{Lo: 0, Hi: unicode.MaxRune}}
)

func (l *lowering) jsonCoder() coder {
	return coder{
		l: l, kind: coderJSON, quote: '"',
		exclude: schema.NormalRanges([]Range{controls, {Lo: '"', Hi: '"'}, {Lo: '\\', Hi: '\\'}}),
		escapes: []escape{{'"', `\"`}, {'\\', `\\`}, {'/', `\/`}, {'\b', `\b`}, {'\f', `\f`}, {'\n', `\n`}, {'\r', `\r`}, {'\t', `\t`}},
	}
}

func (l *lowering) pythonCoder(quote rune) coder {
	return coder{
		l: l, kind: coderPython, quote: quote,
		exclude: schema.NormalRanges([]Range{controls, {Lo: quote, Hi: quote},
			{Lo: '\\', Hi: '\\'}}),
		escapes: []escape{{'\'', `\'`}, {'"', `\"`}, {'\\', `\\`}, {'\n', `\n`}, {'\r', `\r`}, {'\t', `\t`}},
	}
}

// rawCoder writes characters as they are, or HTML-escaped.
func (l *lowering) rawCoder(stops []string, entity bool) coder {
	c := coder{l: l}
	for _, stop := range stops {
		r, _ := utf8.DecodeRuneInString(stop)
		c.avoid = append(c.avoid, r)
	}
	if entity {
		c.kind = coderEntity
		c.exclude = runes(`&<>"'`)
		c.escapes = []escape{{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"},
			{'"', "&#34;"}, {'\'', "&#39;"}, {'\'', "&#x27;"}}
	}
	return c
}

// char matches one character of a string.
func (c coder) char() Element {
	b := c.l.b
	switch c.kind {
	case coderJSON:
		return c.l.once("char", func() Element {
			return b.Alt(b.Class(c.exclude, true), b.Seq(b.Lit(`\`), b.Alt(b.Class(runes(`"\/bfnrt`), false), c.unicode(false))))
		})
	case coderPython:
		return c.l.once("char-in-"+map[rune]string{'"': "double", '\'': "single"}[c.quote],
			func() Element {
				return b.Alt(b.Class(c.exclude, true), b.Seq(b.Lit(`\`), b.Alt(
					b.Class(runes(`'"\nrtabfv0`), false), b.Seq(b.Lit("x"), b.Repeat(c.hex(), 2, 2)), c.unicode(false))))
			})
	}
	return c.class(everything)
}

func (c coder) hex() Element {
	return c.l.b.Class([]Range{{Lo: '0', Hi: '9'}, {Lo: 'A', Hi: 'F'}, {Lo: 'a', Hi: 'f'}}, false)
}

// unicode matches the escape of one character after the backslash: a surrogate only in a pair.
// Beyond ASCII only, where wanted.
func (c coder) unicode(beyondASCII bool) Element {
	b := c.l.b
	hex := c.hex()
	hexes := func(n int) Element { return b.Repeat(hex, n, n) }
	set := func(s string) Element { return b.Class(runes(s), false) }
	pair := b.Seq(set("dD"), set("89abAB"), hexes(2), b.Lit(`\u`), set("dD"), set("cdefCDEF"), hexes(2))
	if !beyondASCII {
		return b.Seq(b.Lit("u"), b.Rule("unicode", b.Alt(
			b.Seq(set("0123456789abcefABCEF"), hexes(3)),
			b.Seq(set("dD"), set("01234567"), hexes(2)), pair)))
	}
	return b.Seq(b.Lit("u"), b.Rule("unicode-beyond-ascii", b.Alt(
		b.Seq(set("123456789abcefABCEF"), hexes(3)), b.Seq(set("dD"), set("01234567"), hexes(2)),
		pair,
		b.Seq(b.Lit("0"), set("123456789abcdefABCDEF"), hexes(2)),
		b.Seq(b.Lit("00"), set("89abcdefABCDEF"), hex))))
}

// class matches one of some characters, as the codec writes them.
func (c coder) class(ranges []Range) Element {
	b := c.l.b
	if (c.kind == coderJSON || c.kind == coderPython) && len(complement(ranges)) == 0 {
		return c.char()
	}
	plain := subtract(ranges, c.exclude)
	if len(c.avoid) > 0 && !(len(ranges) == 1 && ranges[0].Lo == ranges[0].Hi) {
		plain = subtract(plain, runes(string(c.avoid)))
	}
	choices := []Element{b.anyOf(plain)}
	var letters []rune
	for _, esc := range c.escapes {
		switch {
		case !schema.InRanges(ranges, esc.char):
		case c.kind == coderEntity:
			choices = append(choices, b.Lit(esc.text))
		default:
			letters = append(letters, rune(esc.text[1]))
		}
	}
	if c.kind == coderJSON || c.kind == coderPython {
		escapes := []Element{b.Class(runes(string(letters)), false)}
		if len(subtract(notASCII, ranges)) == 0 {
			escapes = append(escapes, c.unicode(true))
		}
		if len(subtract([]Range{controls}, ranges)) == 0 {
			escapes = append(escapes,
				b.Seq(b.Lit("u00"), b.Class([]Range{{Lo: '0', Hi: '1'}}, false), c.hex()))
		}
		choices = append(choices, b.Rule("escaped", b.Seq(b.Lit(`\`), b.Alt(escapes...))))
	}
	return b.inPlace("class", b.Alt(choices...))
}

// anyOf matches one character of normal ranges, written the shorter way.
func (b *Builder) anyOf(ranges []Range) Element {
	if other := complement(ranges); len(other) < len(ranges) {
		return b.Class(other, true)
	}
	return b.Class(ranges, false)
}

// quoted matches a string, its inside made for each kind of quotes.
func (l *lowering) quoted(inside func(c coder) Element) Element {
	b := l.b
	around := func(quote string, c coder) Element {
		return b.Seq(b.Lit(quote), inside(c), b.Lit(quote))
	}
	switch {
	case l.codec.Quote != "":
		return around(l.codec.Quote, l.rawCoder([]string{l.codec.Quote}, false))
	case l.codec.Style == Python:
		return b.Alt(around(`"`, l.pythonCoder('"')), around(`'`, l.pythonCoder('\'')))
	}
	return around(`"`, l.jsonCoder())
}

// anyString matches any string with its quotes.
func (l *lowering) anyString() Element {
	if quote := l.codec.Quote; quote != "" { // a builder may see several
		return l.rule("string", l.b.Seq(l.b.Lit(quote), l.b.Until(quote), l.b.Lit(quote)))
	}
	return l.once("string", func() Element {
		return l.quoted(func(c coder) Element { return l.b.Repeat(c.char(), 0, Unlimited) })
	})
}

// text matches the strings of a schema.
func (l *lowering) text(s *schema.Schema, bare bool) Element {
	b := l.b
	if s.IsFree(schema.String) {
		return l.anyString()
	}
	if s.MaxLength >= 0 && s.MinLength > s.MaxLength {
		return b.Never()
	}
	if len(s.Patterns) > 0 {
		root := withLengths(s.Patterns[0].Root, s.MinLength, s.MaxLength)
		if bare {
			return l.pattern(root, l.rawCoder(l.codec.Stops, l.codec.Entity))
		}
		return l.quoted(func(c coder) Element { return l.pattern(root, c) })
	}
	if bare {
		return l.bareText(s.MinLength, s.MaxLength)
	}
	if quote := l.codec.Quote; quote != "" {
		return b.Seq(b.Lit(quote), b.until([]string{quote}, s.MinLength, s.MaxLength), b.Lit(quote))
	}
	return l.quoted(func(c coder) Element { return b.Repeat(c.char(), s.MinLength, s.MaxLength) })
}

// withLengths adds the lengths of a string to a pattern that repeats single characters; beside any
// other pattern they are left out.
func withLengths(n *schema.Node, lo, hi int) *schema.Node {
	if n.Op != schema.OpRepeat || n.Subs[0].Op != schema.OpClass {
		return n
	}
	lo = max(lo, n.Min)
	if hi < 0 || n.Max >= 0 && n.Max < hi {
		hi = n.Max
	}
	if hi >= 0 && lo > hi {
		return &schema.Node{Op: schema.OpAlt} // no string is as long
	}
	return &schema.Node{Op: schema.OpRepeat, Subs: n.Subs, Min: lo, Max: hi}
}

// bareText matches text without quotes up to a marker.
func (l *lowering) bareText(lo, hi int) Element {
	if l.codec.Entity {
		return l.b.Repeat(l.b.Rule("entity-char", l.rawCoder(nil, true).class(everything)), lo, hi)
	}
	return l.b.until(l.codec.Stops, lo, hi)
}

// bareWord is a text as it stands without quotes.
func (l *lowering) bareWord(text string) string {
	if l.codec.Entity {
		text = html.EscapeString(text)
	}
	return validText(text)
}

func validText(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// spellings are the ways in which a string is written with its quotes.
func (l *lowering) spellings(text string) []string {
	quoted := string(ordered.AppendQuoted(nil, text, false))
	if l.codec.Style != Python {
		return []string{quoted}
	}
	inside := strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	return []string{`'` + strings.ReplaceAll(inside, `'`, `\'`) + `'`, quoted}
}

// pattern matches the texts that a regular expression matches.
func (l *lowering) pattern(n *schema.Node, c coder) Element {
	b := l.b
	switch n.Op {
	case schema.OpClass:
		return c.class(complement(complement(n.Ranges))) // without surrogates
	case schema.OpRepeat:
		return b.Repeat(l.pattern(n.Subs[0], c), n.Min, n.Max)
	case schema.OpRule:
		return patternRule(l, n, c)
	}
	parts := lists.Map(n.Subs, func(sub *schema.Node) Element { return l.pattern(sub, c) })
	if n.Op == schema.OpAlt {
		return b.Alt(parts...)
	}
	return b.Seq(parts...)
}

// patternKey is a rule of a grammar of texts, and how its characters are written.
type patternKey struct {
	rule  *schema.Node
	coder string
}

// patternRule matches the texts of a rule.
func patternRule(l *lowering, n *schema.Node, c coder) Element {
	b := l.b
	key := patternKey{n, fmt.Sprint(c.kind, c.quote, c.avoid)}
	e, ok := b.patterns[key]
	switch {
	case ok:
	case n.Recursive:
		e = b.Declare(n.Name)
		b.patterns[key] = e
		b.Define(e, l.pattern(n.Subs[0], c))
	default:
		e = b.inPlace(n.Name, l.pattern(n.Subs[0], c))
		b.patterns[key] = e
	}
	return e
}

// maxKey bounds how many characters of a declared key are told apart from an additional one; a
// longer one is told by its beginning.
const maxKey = 200

// anyKey matches any key but the given ones.
func (l *lowering) anyKey(names []string) Element {
	b := l.b
	if l.codec.BareKeys {
		c := coder{l: l, exclude: runes(" \t\r\n\"'`:,<>()[]{}|")}
		if len(names) == 0 {
			return l.rule("key", b.Repeat(c.class(everything), 1, Unlimited))
		}
		return l.rule("other-key", l.otherKey(append(slices.Clone(names), ""), c))
	}
	if len(names) == 0 {
		return l.anyString()
	}
	return l.rule("other-key", l.quoted(func(c coder) Element { return l.otherKey(names, c) }))
}

// otherKey matches the inside of a key that is not one of the names, by walking their trie: at
// every place, a character that leads out of the trie and then anything, or an end where no name
// ends.
func (l *lowering) otherKey(names []string, c coder) Element {
	rows := lists.Map(names, func(name string) []rune { return []rune(validText(name)) })
	slices.SortFunc(rows, slices.Compare)
	return l.outside(rows, 0, c)
}

func (l *lowering) outside(rows [][]rune, depth int, c coder) Element {
	b := l.b
	if depth >= maxKey {
		return b.Never()
	}
	var choices []Element
	var known []Range
	ends := false
	for len(rows) > 0 {
		if len(rows[0]) == depth {
			ends = true
			rows = rows[1:]
			continue
		}
		r := rows[0][depth]
		run := 1
		for run < len(rows) && rows[run][depth] == r {
			run++
		}
		known = append(known, Range{Lo: r, Hi: r})
		choices = append(choices,
			b.Seq(c.class([]Range{{Lo: r, Hi: r}}), l.outside(rows[:run], depth+1, c)))
		rows = rows[run:]
	}
	away := complement(schema.NormalRanges(known))
	anything := c.class(everything)
	if len(known) == 0 {
		choices = append(choices, b.Repeat(anything, 1, Unlimited))
	} else {
		choices = append(choices, b.Seq(c.class(away), b.Repeat(anything, 0, Unlimited)))
	}
	if !ends {
		choices = append(choices, b.Empty())
	}
	e := b.Alt(choices...)
	if depth%8 == 7 {
		e = b.Rule(l.prefix+"other-key-rest", e)
	}
	return e
}
