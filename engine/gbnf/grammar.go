// Package gbnf reads, builds, prints, matches and samples grammars in GBNF, the grammar language of
// llama.cpp.
//
// # Terminology
//
// A [Grammar] is a list of rules; the rule named root is the whole text. A [Rule] has alternatives,
// an [Alternate] is a sequence of elements, and an [Element] is a literal, a character class, any
// character, a reference to a rule, a group, a repetition or a token. Everything is over Unicode
// code points, never bytes. A sentence is a text that the grammar derives; a prefix of a sentence
// is a text that can still become one.
//
// # Model
//
// All of these are plain data that print the same text everywhere ([Grammar.String]) and read back
// as they were ([Parse]); xgrammar and llguidance read them in their own notations ([Grammar.EBNF],
// [Grammar.Lark]). A [Builder] composes elements and gives rules readable, deterministic
// names; equal rules are one rule. It also makes grammars for JSON Schemas ([Builder.JSON],
// [Builder.Value]) and for text that stops at markers ([Builder.Until]). A [Matcher] reads a text
// in pieces and keeps every way in which it can still be derived; a [Sampler] writes random
// sentences.
//
// # Source
//
// The language is the one of grammars/README.md in llama.cpp 0.5.0; so is the meaning of a JSON
// Schema as a grammar (properties in order, no additional ones by default, one optional blank or
// line break between JSON tokens). Departures: rules are checked when they are read (undefined,
// defined twice, left-recursive, without an end), integers may have 19 digits rather than 16,
// numbers obey their bounds as well, and an unanchored pattern may match anywhere in a string.
//
// # Limits
//
// Parsing: groups nest [MaxNesting] deep, counts go to [MaxCount]. Building: [MaxRules] rules;
// counts beyond 1,000 are split into nested repetitions, since engines that expand them refuse
// large ones. Matching: [MaxStates] live derivations; counts are kept as numbers, so {0,1000000}
// costs no more than *. Sampling: [Sampler.Max] characters, then the shortest way out.
//
// # Errors
//
// [Parse] returns a [source.Error]; [Grammar.Validate] and [Builder.Grammar]
// return an error that names the rule.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package gbnf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/engine/schema"
)

// Root is the name of the rule that a text must match.
const Root = "root"

// Unlimited is the Max of a repetition without an upper bound.
const Unlimited = -1

// Grammar is a list of rules. Its text is the same for the same rules in the same order.
type Grammar struct {
	Rules []Rule
}

// Rule is a named choice of alternatives. Names are made of ASCII letters, digits and hyphens.
type Rule struct {
	Name string
	Alts []Alternate
}

// Alternate is a sequence of elements; empty, it matches the empty text.
type Alternate []Element

// Kind is the kind of an element.
type Kind uint8

// The kinds of elements, with the fields that they use.
const (
	Never   Kind = iota // matches nothing; only while building, a finished grammar has none
	Literal             // Text
	Class               // one character in Ranges, or outside them where Negated
	Any                 // one character
	Ref                 // the rule named Text
	Group               // Alts
	Repeat              // Alts, Min to Max times; Max is Unlimited where there is no bound
	// the token whose text is Text, or whose number is ID where Text is empty; Negated: any other
	Token
)

// Element is one part of a sequence.
type Element struct {
	Kind     Kind
	Negated  bool
	Text     string
	Ranges   []Range
	ID       int
	Alts     []Alternate
	Min, Max int
}

// Range is the code points from Lo to Hi, both included. [Parse] and [Builder] keep the ranges of a
// class sorted and apart.
type Range = schema.CharRange

// Rule returns the rule with a name, or nil.
func (g *Grammar) Rule(name string) *Rule {
	for i := range g.Rules {
		if g.Rules[i].Name == name {
			return &g.Rules[i]
		}
	}
	return nil
}

// Equal reports whether two grammars have the same rules in the same order.
func Equal(a, b *Grammar) bool {
	return slices.EqualFunc(a.Rules, b.Rules,
		func(r, s Rule) bool { return r.Name == s.Name && equalAlts(r.Alts, s.Alts) })
}

func equalAlts(a, b []Alternate) bool {
	return slices.EqualFunc(a, b,
		func(x, y Alternate) bool { return slices.EqualFunc(x, y, equalElements) })
}

func equalElements(x, y Element) bool {
	return x.Kind == y.Kind && x.Text == y.Text && x.Negated == y.Negated && x.ID == y.ID &&
		x.Min == y.Min && x.Max == y.Max &&
		slices.Equal(x.Ranges, y.Ranges) && equalAlts(x.Alts, y.Alts)
}

// String returns the grammar's text, one rule a line; "" for nil, which constrains nothing.
func (g *Grammar) String() string {
	if g == nil {
		return ""
	}
	var b strings.Builder
	for i := range g.Rules {
		b.WriteString(g.Rules[i].Name)
		b.WriteString(" ::= ")
		b.Write(appendAlts(nil, g.Rules[i].Alts))
		b.WriteByte('\n')
	}
	return b.String()
}

// String returns the element as it stands in a grammar.
func (e Element) String() string { return string(appendElement(nil, e)) }

var hyphen = Range{Lo: '-', Hi: '-'}

func appendAlts(dst []byte, alts []Alternate) []byte {
	for i, alt := range alts {
		if i > 0 {
			dst = append(dst, " | "...)
		}
		if len(alt) == 0 {
			dst = append(dst, `""`...)
		}
		for j, e := range alt {
			if j > 0 {
				dst = append(dst, ' ')
			}
			dst = appendElement(dst, e)
		}
	}
	return dst
}

func appendElement(dst []byte, e Element) []byte {
	switch e.Kind {
	case Never:
		return append(dst, "<never>"...)
	case Literal:
		dst = append(dst, '"')
		for _, r := range e.Text {
			dst = appendRune(dst, r, `"\`)
		}
		return append(dst, '"')
	case Class:
		dst = append(dst, '[')
		if e.Negated {
			dst = append(dst, '^')
		}
		if slices.Contains(e.Ranges, hyphen) {
			dst = append(dst, '-') // where it cannot be taken for a range
		}
		for _, r := range e.Ranges {
			if r == hyphen {
				continue
			}
			dst = appendRune(dst, r.Lo, `\[]^-`)
			if r.Hi > r.Lo+1 {
				dst = append(dst, '-')
			}
			if r.Hi != r.Lo {
				dst = appendRune(dst, r.Hi, `\[]^-`)
			}
		}
		return append(dst, ']')
	case Any:
		return append(dst, '.')
	case Ref:
		return append(dst, e.Text...)
	case Token:
		if e.Negated {
			dst = append(dst, '!')
		}
		if e.Text != "" {
			return append(dst, e.Text...)
		}
		return fmt.Appendf(dst, "<[%d]>", e.ID)
	case Group:
		return append(appendAlts(append(dst, '('), e.Alts), ')')
	}
	if len(e.Alts) == 1 && len(e.Alts[0]) == 1 && e.Alts[0][0].Kind != Group &&
		e.Alts[0][0].Kind != Repeat {
		dst = appendElement(dst, e.Alts[0][0])
	} else {
		dst = append(appendAlts(append(dst, '('), e.Alts), ')')
	}
	return appendCount(dst, e)
}

// appendCount appends how often a repetition repeats.
func appendCount(dst []byte, e Element) []byte {
	switch {
	case e.Min == 0 && e.Max == 1:
		return append(dst, '?')
	case e.Min == 0 && e.Max == Unlimited:
		return append(dst, '*')
	case e.Min == 1 && e.Max == Unlimited:
		return append(dst, '+')
	}
	dst = strconv.AppendInt(append(dst, '{'), int64(e.Min), 10)
	if e.Max != e.Min {
		dst = append(dst, ',')
		if e.Max != Unlimited {
			dst = strconv.AppendInt(dst, int64(e.Max), 10)
		}
	}
	return append(dst, '}')
}

// appendRune appends a character of a literal or a class. Only escapes that the language documents
// are used: the hyphen and the caret of a class, which have none of their own, are written by
// number.
func appendRune(dst []byte, r rune, special string) []byte {
	switch r {
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	case '-', '^':
		if !strings.ContainsRune(special, r) {
			return append(dst, byte(r))
		}
		return fmt.Appendf(dst, `\x%02X`, r)
	}
	switch {
	case r < utf8.RuneSelf && strings.ContainsRune(special, r):
		return append(dst, '\\', byte(r))
	case r < 0x20 || r >= 0x7f && r <= 0xff && !unicode.IsPrint(r):
		return fmt.Appendf(dst, `\x%02X`, r)
	case unicode.IsPrint(r):
		return utf8.AppendRune(dst, r)
	case r <= 0xffff:
		return fmt.Appendf(dst, `\u%04X`, r)
	}
	return fmt.Appendf(dst, `\U%08X`, r)
}

// Problem is something wrong with a grammar that reads well.
type Problem struct {
	Rule string // the rule at fault; "" where the grammar as a whole is
	Ref  string // the rule that Rule should not have referred to; may be empty
	Msg  string
}

func (p *Problem) Error() string { return "grammar: " + p.Msg }

// Validate returns the first [Problem]: no root, a rule defined twice, an undefined rule, a
// malformed element, left recursion (the rule comes back to itself before a character is read), or
// a rule from which no text can end.
func (g *Grammar) Validate() error {
	index := make(map[string]int, len(g.Rules))
	for i, r := range g.Rules {
		if !validName(r.Name) {
			return &Problem{Rule: r.Name, Msg: fmt.Sprintf("rule name %q: expected ASCII "+
				"letters, digits and hyphens", r.Name)}
		}
		if _, ok := index[r.Name]; ok {
			return &Problem{Rule: r.Name, Msg: fmt.Sprintf("rule %s is defined twice", r.Name)}
		}
		index[r.Name] = i
	}
	if _, ok := index[Root]; !ok {
		return &Problem{Msg: "there is no rule named root; it is where a grammar starts"}
	}
	for _, r := range g.Rules {
		if len(r.Alts) == 0 {
			return &Problem{Rule: r.Name, Msg: fmt.Sprintf("rule %s has no alternatives", r.Name)}
		}
		if p := checkAlts(r.Alts, index, 0); p != nil {
			p.Rule, p.Msg = r.Name, fmt.Sprintf("rule %s: %s", r.Name, p.Msg)
			return p
		}
	}
	null := nullable(g, index)
	if p := leftRecursion(g, index, null); p != nil {
		return p
	}
	for i, s := range sizes(g, index) {
		if s >= infinite {
			return &Problem{Rule: g.Rules[i].Name, Msg: fmt.Sprintf("rule %s never ends: every "+
				"alternative leads back to itself", g.Rules[i].Name)}
		}
	}
	return nil
}

func validName(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool { return !isWord(r) }) < 0
}

func isWord(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-'
}

func checkAlts(alts []Alternate, index map[string]int, depth int) *Problem {
	if depth > MaxNesting {
		return &Problem{Msg: fmt.Sprintf("groups nest deeper than %d levels", MaxNesting)}
	}
	for _, alt := range alts {
		for _, e := range alt {
			var p *Problem
			switch e.Kind {
			case Literal:
				if !utf8.ValidString(e.Text) {
					p = &Problem{Msg: fmt.Sprintf("literal %q is not UTF-8", e.Text)}
				}
			case Class:
				if len(e.Ranges) == 0 {
					p = &Problem{Msg: "a character class is empty"}
				}
				for _, r := range e.Ranges {
					if r.Lo < 0 {
						p = &Problem{Msg: fmt.Sprintf("the range begins at %d, "+
							"which is no character", r.Lo)}
					} else if r.Lo > r.Hi || r.Hi > unicode.MaxRune {
						p = &Problem{Msg: fmt.Sprintf("the range from U+%04X to U+%04X "+
							"is not in order", r.Lo, r.Hi)}
					}
				}
			case Any:
			case Ref:
				if _, ok := index[e.Text]; !ok {
					p = &Problem{Ref: e.Text, Msg: fmt.Sprintf("there is no rule named %s", e.Text)}
				}
			case Token:
				if e.Text == "" && e.ID < 0 || e.Text != "" && !validToken(e.Text) {
					p = &Problem{Msg: fmt.Sprintf("token %q, number %d: expected a text such as <name> or a number from 0", e.Text, e.ID)}
				}
			case Repeat:
				if e.Min < 0 || e.Min > MaxCount || e.Max > MaxCount ||
					e.Max < e.Min && e.Max != Unlimited {
					p = &Problem{Msg: fmt.Sprintf("repetition {%d,%d}: expected counts in order, at most %d", e.Min, e.Max, MaxCount)}
				}
				fallthrough
			case Group:
				if len(e.Alts) == 0 {
					p = &Problem{Msg: "a group has no alternatives"}
				} else if p == nil {
					p = checkAlts(e.Alts, index, depth+1)
				}
			default:
				p = &Problem{Msg: "an element that matches nothing"}
			}
			if p != nil {
				return p
			}
		}
	}
	return nil
}

// validToken reports whether a token's text can be written in a grammar as it is: <...> without
// brackets and white space.
func validToken(text string) bool {
	return len(text) > 2 && text[0] == '<' && text[1] != '[' &&
		strings.IndexByte(text, '>') == len(text)-1 &&
		!strings.ContainsAny(text, "\n\r") && utf8.ValidString(text)
}

// nullable says for each rule whether it derives the empty text.
func nullable(g *Grammar, index map[string]int) []bool {
	null := make([]bool, len(g.Rules))
	settle(g, index, func(i int) bool {
		if null[i] || !nullableAlts(g.Rules[i].Alts, index, null) {
			return false
		}
		null[i] = true
		return true
	})
	return null
}

// settle computes a property of each rule from the rules that it uses: update computes one rule and
// reports whether that changed it; then the rules that use it are computed again.
func settle(g *Grammar, index map[string]int, update func(rule int) bool) {
	n := len(g.Rules)
	var refs []int // of all rules; those of rule i end at ends[i]
	ends, users := make([]int, n), make([]int, n+1)
	for i := range g.Rules {
		refs = allRefs(refs, g.Rules[i].Alts, index)
		ends[i] = len(refs)
	}
	for _, ref := range refs {
		users[ref+1]++
	}
	for i := range n {
		users[i+1] += users[i]
	}
	by := make([]int, len(refs)) // the users of all rules; those of rule i begin at users[i]
	at := slices.Clone(users)
	for i, from := 0, 0; i < n; i++ {
		for _, ref := range refs[from:ends[i]] {
			by[at[ref]] = i
			at[ref]++
		}
		from = ends[i]
	}
	queued := make([]bool, n)
	queue := make([]int, n) // a ring: no rule is in it twice
	for i := range n {
		queue[i], queued[i] = n-1-i, true // rules mostly come before those that they use
	}
	for first, waiting := 0, n; waiting > 0; {
		i := queue[first]
		first, waiting, queued[i] = (first+1)%n, waiting-1, false
		if !update(i) {
			continue
		}
		for _, user := range by[users[i]:users[i+1]] {
			if !queued[user] {
				queue[(first+waiting)%n], queued[user] = user, true
				waiting++
			}
		}
	}
}

func nullableAlts(alts []Alternate, index map[string]int, null []bool) bool {
	return slices.ContainsFunc(alts, func(alt Alternate) bool {
		return !slices.ContainsFunc(alt,
			func(e Element) bool { return !nullableElement(e, index, null) })
	})
}

func nullableElement(e Element, index map[string]int, null []bool) bool {
	switch e.Kind {
	case Literal:
		return e.Text == ""
	case Ref:
		return null[index[e.Text]]
	case Group:
		return nullableAlts(e.Alts, index, null)
	case Repeat:
		return e.Min == 0 || nullableAlts(e.Alts, index, null)
	}
	return false
}

// leftRecursion finds a rule that reaches itself before a character is read, by depth-first search
// with an own stack, so that long chains of rules cannot exhaust Go's.
func leftRecursion(g *Grammar, index map[string]int, null []bool) *Problem {
	const (
		fresh = iota
		open
		closed
	)
	type visit struct {
		rule int
		refs []int // rules that can come first, not yet visited
	}
	state := make([]uint8, len(g.Rules))
	for start := range g.Rules {
		if state[start] != fresh {
			continue
		}
		state[start] = open
		stack := []visit{{start, leftRefs(nil, g.Rules[start].Alts, index, null)}}
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if len(top.refs) == 0 {
				state[top.rule] = closed
				stack = stack[:len(stack)-1]
				continue
			}
			next := top.refs[0]
			top.refs = top.refs[1:]
			switch state[next] {
			case open:
				from, to := g.Rules[top.rule].Name, g.Rules[next].Name
				return &Problem{Rule: from, Ref: to, Msg: fmt.Sprintf(
					"left recursion: rule %s comes back to rule %s before a "+
						"character is read", from, to)}
			case fresh:
				state[next] = open
				stack = append(stack, visit{next, leftRefs(nil, g.Rules[next].Alts, index, null)})
			}
		}
	}
	return nil
}

func leftRefs(refs []int, alts []Alternate, index map[string]int, null []bool) []int {
	for _, alt := range alts {
		for _, e := range alt {
			switch e.Kind {
			case Ref:
				refs = append(refs, index[e.Text])
			case Group, Repeat:
				if e.Kind == Group || e.Max != 0 {
					refs = leftRefs(refs, e.Alts, index, null)
				}
			}
			if !nullableElement(e, index, null) {
				break
			}
		}
	}
	return refs
}

// infinite is the cost of a rule that never ends; costs are added without overflow up to it.
const infinite = 1 << 40

// sizes computes the cost of the cheapest derivation of every rule: its characters plus one per
// choice made, so that the parts of a derivation always cost less than the whole.
func sizes(g *Grammar, index map[string]int) []int {
	all := make([]int, len(g.Rules))
	for i := range all {
		all[i] = infinite
	}
	settle(g, index, func(i int) bool {
		cost, _ := cheapest(g.Rules[i].Alts, index, all)
		if cost = min(cost+1, infinite); cost >= all[i] {
			return false
		}
		all[i] = cost
		return true
	})
	return all
}

func allRefs(refs []int, alts []Alternate, index map[string]int) []int {
	for _, alt := range alts {
		for _, e := range alt {
			switch e.Kind {
			case Ref:
				refs = append(refs, index[e.Text])
			case Group, Repeat:
				refs = allRefs(refs, e.Alts, index)
			}
		}
	}
	return refs
}

// cheapest returns the cost of the cheapest alternative and its index.
func cheapest(alts []Alternate, index map[string]int, all []int) (int, int) {
	best, which := infinite, 0
	for i, alt := range alts {
		cost := 0
		for _, e := range alt {
			cost = min(cost+elementCost(e, index, all), infinite)
		}
		if cost < best {
			best, which = cost, i
		}
	}
	return best, which
}

func elementCost(e Element, index map[string]int, all []int) int {
	switch e.Kind {
	case Literal:
		return utf8.RuneCountInString(e.Text)
	case Ref:
		return all[index[e.Text]]
	case Group:
		cost, _ := cheapest(e.Alts, index, all)
		return min(cost+1, infinite)
	case Repeat:
		if e.Min == 0 {
			return 1
		}
		cost, _ := cheapest(e.Alts, index, all)
		if cost > infinite/e.Min {
			return infinite
		}
		return min(1+e.Min*(cost+1), infinite)
	}
	return 1
}
