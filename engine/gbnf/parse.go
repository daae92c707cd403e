package gbnf

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/engine/schema"
	"github.com/goassay/assay/engine/source"
)

// MaxNesting bounds how deep groups nest, in levels.
const MaxNesting = 200

// MaxCount bounds the counts of a repetition.
const MaxCount = 1_000_000_000

// Parse reads a grammar's text and validates it. Every error is a [source.Error] with the place of
// the fault.
func Parse(src *source.Source) (*Grammar, error) {
	p := &parser{src: src, text: src.Text, defs: map[string]int{}, refs: map[string]int{}}
	g := &Grammar{}
	for p.space(true); p.pos < len(p.text) && p.err == nil; p.space(true) {
		g.Rules = append(g.Rules, p.rule())
	}
	if p.err != nil {
		return nil, p.err
	}
	if err := g.Validate(); err != nil {
		var problem *Problem
		off := 0
		if errors.As(err, &problem) {
			if at, ok := p.refs[problem.Rule+" "+problem.Ref]; ok {
				off = at
			} else {
				off = p.defs[problem.Rule]
			}
		}
		return nil, &source.Error{Src: src, Off: off, Msg: problem.Msg, Err: err}
	}
	return g, nil
}

// ParseString is [Parse] for a text without a name.
func ParseString(text string) (*Grammar, error) { return Parse(source.New("", text)) }

type parser struct {
	src  *source.Source
	text string
	pos  int
	// the first fault; then the position is at the end and everything returns at once
	err  *source.Error
	name string // the rule being read
	defs map[string]int
	refs map[string]int // "rule ref" -> offset of the first such reference
}

func (p *parser) fail(off int, hint, format string, args ...any) {
	if p.err == nil {
		p.err = source.Errorf(p.src, off, format, args...)
		p.err.Hint = hint
	}
	p.pos = len(p.text)
}

// space skips blanks and comments, and line breaks where they do not end a rule.
func (p *parser) space(newlines bool) {
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == ' ' || c == '\t' || newlines && (c == '\n' || c == '\r'):
			p.pos++
		case c == '#':
			if end := strings.IndexAny(p.text[p.pos:], "\r\n"); end >= 0 {
				p.pos += end
			} else {
				p.pos = len(p.text)
			}
		default:
			return
		}
	}
}

func (p *parser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

// found describes the text at the position.
func (p *parser) found() string {
	if p.pos >= len(p.text) {
		return "the end of the grammar"
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.pos:])
	if r == '\n' || r == '\r' {
		return "the end of the line"
	}
	return strconv.QuoteRune(r)
}

func (p *parser) word() string {
	start := p.pos
	for p.pos < len(p.text) && isWord(rune(p.text[p.pos])) {
		p.pos++
	}
	return p.text[start:p.pos]
}

func (p *parser) rule() Rule {
	start := p.pos
	p.name = p.word()
	if p.name == "" {
		p.fail(start, "a line break ends a rule, except in parentheses and after |", "expected the name of a rule, found %s", p.found())
		return Rule{}
	}
	if p.peek() == '_' {
		p.fail(p.pos, "write a hyphen", "a rule's name may not contain an underscore")
		return Rule{}
	}
	p.space(false)
	if !strings.HasPrefix(p.text[p.pos:], "::=") {
		p.fail(p.pos, "", "expected ::= after the rule name %s, found %s", p.name, p.found())
		return Rule{}
	}
	if _, ok := p.defs[p.name]; ok {
		p.fail(start, "", "rule %s is defined twice", p.name)
		return Rule{}
	}
	p.defs[p.name] = start
	p.pos += len("::=")
	p.space(true)
	r := Rule{Name: p.name, Alts: p.alts(0)}
	if c := p.peek(); p.err == nil && p.pos < len(p.text) && c != '\n' && c != '\r' {
		p.fail(p.pos, "", "expected an element or the end of rule %s, found %s", p.name, p.found())
	}
	return r
}

func (p *parser) alts(depth int) []Alternate {
	if depth > MaxNesting {
		p.fail(p.pos, "", "groups nest deeper than %d levels", MaxNesting)
		return nil
	}
	var alts []Alternate
	for {
		alts = append(alts, p.sequence(depth))
		p.space(depth > 0)
		if p.peek() != '|' {
			return alts
		}
		p.pos++
		p.space(true)
	}
}

func (p *parser) sequence(depth int) Alternate {
	var seq Alternate
	for p.err == nil {
		p.space(depth > 0)
		start := p.pos
		var e Element
		switch c := p.peek(); {
		case c == '"':
			if e = (Element{Kind: Literal, Text: p.literal()}); e.Text == "" {
				e = Element{Kind: Group, Alts: []Alternate{{}}}
			}
		case c == '[':
			e = p.class()
		case c == '.':
			p.pos++
			e = Element{Kind: Any}
		case c == '<' || c == '!':
			e = p.token()
		case c == '(':
			p.pos++
			p.space(true)
			e = Element{Kind: Group, Alts: p.alts(depth + 1)}
			if p.peek() != ')' {
				p.fail(start, "", "this group is not closed: expected ), found %s", p.found())
				return seq
			}
			p.pos++
		case isWord(rune(c)):
			name := p.word()
			if p.peek() == '_' {
				p.fail(p.pos, "write a hyphen", "a rule's name may not contain an underscore")
				return seq
			}
			if at := p.pos; depth == 0 {
				// A name before ::= is the next rule: the line break before it must not have been
				// eaten.
				if p.space(false); strings.HasPrefix(p.text[p.pos:], "::=") {
					p.fail(start, "begin every rule on a new line; "+
						"an empty rule is \"\"", "rule %s begins inside rule %s", name, p.name)
					return seq
				}
				p.pos = at
			}
			if key := p.name + " " + name; p.refs[key] == 0 {
				p.refs[key] = start
			}
			e = Element{Kind: Ref, Text: name}
		case c == '*' || c == '+' || c == '?' || c == '{':
			p.fail(start, "", "expected an element before the repetition %c", c)
			return seq
		default:
			return seq
		}
		whole := p.repetitions(e, depth)
		if p.text[start] == '"' && isEmpty(whole) {
			continue // the empty literal is how an empty sequence is written
		}
		seq = append(seq, whole)
	}
	return seq
}

func (p *parser) repetitions(e Element, depth int) Element {
	for nested := 0; p.err == nil; nested++ {
		p.space(depth > 0)
		if nested > MaxNesting {
			p.fail(p.pos, "", "repetitions nest deeper than %d levels", MaxNesting)
		}
		lo, hi := 0, Unlimited
		switch p.peek() {
		case '*':
		case '+':
			lo = 1
		case '?':
			hi = 1
		case '{':
			start := p.pos
			p.pos++
			p.space(depth > 0)
			lo = p.count()
			hi = lo
			p.space(depth > 0)
			if p.peek() == ',' {
				p.pos++
				p.space(depth > 0)
				hi = Unlimited
				if p.peek() != '}' {
					hi = p.count()
				}
				p.space(depth > 0)
			}
			if p.peek() != '}' {
				p.fail(p.pos, "", "expected } to close a repetition, found %s", p.found())
			} else if hi != Unlimited && hi < lo {
				p.fail(start, "", "repetition {%d,%d}: the smaller count comes first", lo, hi)
			}
		default:
			return e
		}
		if p.err != nil {
			return e
		}
		p.pos++
		alts := []Alternate{{e}}
		if e.Kind == Group {
			alts = e.Alts
		}
		e = Element{Kind: Repeat, Alts: alts, Min: lo, Max: hi}
	}
	return e
}

func (p *parser) count() int {
	start := p.pos
	for p.pos < len(p.text) && p.text[p.pos] >= '0' && p.text[p.pos] <= '9' {
		p.pos++
	}
	if start == p.pos {
		p.fail(p.pos, "", "expected a count in a repetition, found %s", p.found())
		return 0
	}
	n, err := strconv.Atoi(p.text[start:p.pos])
	if err != nil || n > MaxCount {
		p.fail(start, "", "a repetition of more than %d", MaxCount)
		return 0
	}
	return n
}

func (p *parser) literal() string {
	start := p.pos
	p.pos++
	if i := strings.IndexAny(p.text[p.pos:], `"\`); i >= 0 && p.text[p.pos+i] == '"' && utf8.ValidString(p.text[p.pos:p.pos+i]) {
		text := p.text[p.pos : p.pos+i]
		p.pos += i + 1
		return text
	}
	var b strings.Builder
	for p.err == nil {
		if p.pos >= len(p.text) {
			p.fail(start, "", "this literal has no closing quote")
			break
		}
		if p.peek() == '"' {
			p.pos++
			break
		}
		b.WriteRune(p.char())
	}
	return b.String()
}

func (p *parser) class() Element {
	start := p.pos
	p.pos++
	e := Element{Kind: Class}
	if p.peek() == '^' {
		e.Negated = true
		p.pos++
	}
	for p.err == nil && p.peek() != ']' {
		if p.pos >= len(p.text) {
			p.fail(start, "", "this character class has no closing ]")
			return e
		}
		at := p.pos
		r := Range{Lo: p.char()}
		r.Hi = r.Lo
		if p.peek() == '-' && p.pos+1 < len(p.text) && p.text[p.pos+1] != ']' {
			p.pos++
			if r.Hi = p.char(); r.Hi < r.Lo && p.err == nil {
				p.fail(at, "", "the range %s-%s: the smaller "+
					"character comes first", strconv.QuoteRune(r.Lo), strconv.QuoteRune(r.Hi))
			}
		}
		e.Ranges = append(e.Ranges, r)
	}
	if p.err == nil && len(e.Ranges) == 0 {
		p.fail(start, "write . for any character", "this character class is empty")
	}
	p.pos = min(p.pos+1, len(p.text))
	e.Ranges = schema.NormalRanges(e.Ranges)
	return e
}

// char reads one character of a literal or a class.
func (p *parser) char() rune {
	start := p.pos
	r, n := utf8.DecodeRuneInString(p.text[p.pos:])
	if r == utf8.RuneError && n <= 1 {
		if n == 0 {
			p.fail(start, "", "expected a character, found %s", p.found())
		} else {
			p.fail(start, "", "the byte 0x%02X is not UTF-8", p.text[p.pos])
		}
		return 0
	}
	p.pos += n
	if r != '\\' {
		return r
	}
	digits := 0
	c := p.peek()
	p.pos = min(p.pos+1, len(p.text))
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case '\\', '"', '[', ']', '-': // the last is not documented; llama.cpp 0.5.0 takes it
		return rune(c)
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	default:
		p.fail(start, `the escapes are \n \r \t \\ \" \[ \] \- \xXX \uXXXX \UXXXXXXXX`, "unknown escape")
		return 0
	}
	if p.pos+digits <= len(p.text) {
		if code, err := strconv.ParseUint(p.text[p.pos:p.pos+digits], 16, 32); err == nil {
			p.pos += digits
			if code > unicode.MaxRune || code >= 0xd800 && code < 0xe000 {
				p.fail(start, "", "U+%04X is not a character", code)
				return 0
			}
			return rune(code)
		}
	}
	p.fail(start, "", `expected %d hexadecimal digits after \%c`, digits, c)
	return 0
}

func (p *parser) token() Element {
	start := p.pos
	e := Element{Kind: Token}
	if p.peek() == '!' {
		e.Negated = true
		p.pos++
	}
	end := strings.IndexAny(p.text[p.pos:], ">\n\r")
	if p.peek() != '<' || end < 0 || p.text[p.pos+end] != '>' {
		p.fail(start, "", "expected a token such as <name> or <[123]>")
		return e
	}
	text := p.text[p.pos : p.pos+end+1]
	p.pos += end + 1
	if number, ok := strings.CutPrefix(text, "<["); ok {
		id, err := strconv.ParseUint(strings.TrimSuffix(number, "]>"), 10, 31)
		if err != nil { // as it is where the > stays
			p.fail(start, "", "expected a token's number as in <[123]>")
		}
		e.ID = int(id)
		return e
	}
	if !validToken(text) {
		p.fail(start, "", "expected a token such as <name> or <[123]>")
	}
	e.Text = text
	return e
}
