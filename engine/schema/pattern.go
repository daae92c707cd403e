package schema

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/engine/internal/bailout"
	"github.com/goassay/assay/engine/lists"
)

// Op is the operation of a pattern's node.
type Op uint8

// The operations.
const (
	OpSeq    Op = iota // Subs one after the other; without any, the empty text
	OpAlt              // one of Subs
	OpClass            // one character in Ranges
	OpRepeat           // Subs[0], Min to Max times; Max is -1 without a bound
	OpRule             // Subs[0], which may have the same node in it
)

// Node is one part of a pattern. A rule of a grammar is one node wherever it is named.
type Node struct {
	Op        Op
	Subs      []*Node
	Ranges    []CharRange // sorted, not touching
	Min, Max  int
	Name      string // of a rule
	Recursive bool   // the rule names itself, by way of others at least
}

// CharRange is the characters from Lo to Hi, both included.
type CharRange struct {
	Lo, Hi rune
}

// Pattern is a regular expression in the regular subset of ECMA 262, or a grammar ([ParseLark]).
// Root matches the whole string: where an expression is not anchored, it begins or ends with any
// text.
type Pattern struct {
	Text string
	Root *Node
}

// errUnsupported marks regular expressions that cannot be grammars: look-around, back references,
// word boundaries, flags, anchors in the middle.
var errUnsupported = errors.New("not in the regular subset")

// ParsePattern reads a regular expression. The error says at which byte the fault is.
func ParsePattern(text string) (*Pattern, error) {
	if len(text) > MaxPattern {
		return nil, fmt.Errorf("the pattern is longer than %d bytes", MaxPattern)
	}
	p := &patternParser{text: text}
	root, err := p.parse()
	if err != nil {
		return nil, err
	}
	return &Pattern{Text: text, Root: root}, nil
}

// anything surrounds an expression without anchors.
func anything() *Node {
	return &Node{Op: OpRepeat, Subs: []*Node{{Op: OpClass, Ranges: everything}}, Max: -1}
}

var everything = []CharRange{{0, unicode.MaxRune}}

var (
	digits   = []CharRange{{'0', '9'}}
	wordSet  = []CharRange{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}
	spaceSet = []CharRange{{'\t', '\r'}, {' ', ' '}, {0xa0, 0xa0}, {0x1680, 0x1680},
		{0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000},
		{0xfeff, 0xfeff}}
	lineSet = []CharRange{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}
)

// Negate returns the characters outside sorted ranges.
func negate(ranges []CharRange) []CharRange {
	var out []CharRange
	next := rune(0)
	for _, r := range ranges {
		if r.Lo > next {
			out = append(out, CharRange{next, r.Lo - 1})
		}
		next = r.Hi + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, CharRange{next, unicode.MaxRune})
	}
	return out
}

// NormalRanges sorts ranges and joins those that touch.
func NormalRanges(ranges []CharRange) []CharRange {
	sorted := slices.Clone(ranges)
	slices.SortFunc(sorted, func(a, b CharRange) int { return cmp.Compare(a.Lo, b.Lo) })
	out := sorted[:0]
	for _, r := range sorted {
		if n := len(out); n > 0 && r.Lo <= out[n-1].Hi+1 {
			out[n-1].Hi = max(out[n-1].Hi, r.Hi)
		} else {
			out = append(out, r)
		}
	}
	return out
}

type patternParser struct {
	text  string
	pos   int
	depth int
}

type patternError struct {
	off int
	msg string
	err error
}

func (e *patternError) Error() string {
	return fmt.Sprintf("%s at byte %d of the pattern", e.msg, e.off)
}
func (e *patternError) Unwrap() error { return e.err }

// fail and unsupported leave the parser by panic; parse turns them into errors.
func (p *patternParser) fail(off int, format string, args ...any) {
	panic(&patternError{off: off, msg: fmt.Sprintf(format, args...)})
}

func (p *patternParser) unsupported(off int, what string) {
	panic(&patternError{off: off, msg: what, err: errUnsupported})
}

func (p *patternParser) parse() (root *Node, err error) {
	defer bailout.Catch[*patternError](&err)
	if i := invalidUTF8(p.text); i >= 0 {
		p.fail(i, "a byte that is not UTF-8")
	}
	branches := p.branches()
	if p.pos < len(p.text) {
		p.fail(p.pos, "a ) without its (")
	}
	alts := lists.Map(branches, branch.whole)
	return alt(alts), nil
}

func invalidUTF8(s string) int {
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			return i
		}
	}
	return -1
}

// branch is one alternative of a group with the anchors at its ends.
type branch struct {
	node       *Node
	begin, end bool
	off        int
	sole       []branch // the node is a single group with these branches
}

// whole returns the node for the whole string. A group that is all of a branch may have anchors of
// its own.
func (b branch) whole() *Node {
	if b.sole != nil {
		var alts []*Node
		for _, inner := range b.sole {
			inner.begin, inner.end = inner.begin || b.begin, inner.end || b.end
			alts = append(alts, inner.whole())
		}
		return alt(alts)
	}
	parts := []*Node{b.node}
	if !b.begin {
		parts = append([]*Node{anything()}, parts...)
	}
	if !b.end {
		parts = append(parts, anything())
	}
	return seq(parts)
}

func seq(parts []*Node) *Node {
	if len(parts) == 1 {
		return parts[0]
	}
	return &Node{Op: OpSeq, Subs: parts}
}

func alt(subs []*Node) *Node {
	if len(subs) == 1 {
		return subs[0]
	}
	return &Node{Op: OpAlt, Subs: subs}
}

func (p *patternParser) branches() []branch {
	var all []branch
	for {
		all = append(all, p.branch())
		if p.pos >= len(p.text) || p.text[p.pos] != '|' {
			return all
		}
		p.pos++
	}
}

// atAnchor reads an anchor of the given spellings.
func (p *patternParser) atAnchor(spellings ...string) bool {
	for _, s := range spellings {
		if strings.HasPrefix(p.text[p.pos:], s) {
			p.pos += len(s)
			return true
		}
	}
	return false
}

func (p *patternParser) branch() branch {
	b := branch{off: p.pos}
	for p.atAnchor("^", `\A`) {
		b.begin = true
	}
	var parts []*Node
	for p.pos < len(p.text) && p.text[p.pos] != '|' && p.text[p.pos] != ')' {
		start := p.pos
		if p.atAnchor("$", `\z`, `\Z`) {
			for p.atAnchor("$", `\z`, `\Z`) {
			}
			if p.pos < len(p.text) && p.text[p.pos] != '|' && p.text[p.pos] != ')' {
				p.unsupported(start, "an anchor $ that is not at the end")
			}
			b.end = true
			break
		}
		node, group := p.atom()
		quantified := p.quantified(node)
		for _, inner := range group {
			if inner.anchored() {
				if quantified != node || start != b.off && !(b.begin && start == b.off+1) {
					p.unsupported(start, "an anchor inside a group that is not the whole pattern")
				}
				b.sole = group
			}
		}
		if b.sole != nil && len(parts) > 0 {
			p.unsupported(start, "an anchor inside a group that is not the whole pattern")
		}
		parts = append(parts, quantified)
	}
	if len(parts) > 1 && b.sole != nil {
		p.unsupported(b.off, "an anchor inside a group that is not the whole pattern")
	}
	b.node = seq(parts)
	return b
}

func (b branch) anchored() bool {
	return b.begin || b.end || slices.ContainsFunc(b.sole, branch.anchored)
}

// maxPatternNesting bounds how deep the groups of a pattern nest, in levels.
const maxPatternNesting = 150

// atom reads one atom; of a group it returns the branches as well.
func (p *patternParser) atom() (*Node, []branch) {
	start := p.pos
	r, n := utf8.DecodeRuneInString(p.text[p.pos:])
	p.pos += n
	switch r {
	case '(':
		if p.depth++; p.depth > maxPatternNesting {
			p.fail(start, "groups nest deeper than %d levels", maxPatternNesting)
		}
		if strings.HasPrefix(p.text[p.pos:], "?") {
			rest := p.text[p.pos+1:]
			switch {
			case strings.HasPrefix(rest, ":"):
				p.pos += 2
			case strings.HasPrefix(rest, "<=") || strings.HasPrefix(rest, "<!") ||
				strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, "!"):
				p.unsupported(start, "look-around")
			case strings.HasPrefix(rest, "<") || strings.HasPrefix(rest, "P<"):
				end := strings.IndexByte(rest, '>')
				if end < 0 {
					p.fail(start, "a group's name without >")
				}
				p.pos += 1 + end + 1
			default:
				p.unsupported(start, "a group with flags")
			}
		}
		group := p.branches()
		if p.pos >= len(p.text) {
			p.fail(start, "a ( without its )")
		}
		p.pos++
		p.depth--
		alts := lists.Map(group, func(b branch) *Node { return b.node })
		return alt(alts), group
	case '[':
		return &Node{Op: OpClass, Ranges: p.class(start)}, nil
	case '.':
		return &Node{Op: OpClass, Ranges: negate(lineSet)}, nil
	case '*', '+', '?':
		p.fail(start, "nothing to repeat before %c", r)
	case '{':
		if _, _, n := p.counts(start); n > 0 {
			p.fail(start, "nothing to repeat before {")
		}
	case '^':
		p.unsupported(start, "an anchor ^ that is not at the beginning")
	case '\\':
		set, _ := p.escape(start, false)
		return &Node{Op: OpClass, Ranges: set}, nil
	}
	return &Node{Op: OpClass, Ranges: []CharRange{{r, r}}}, nil
}

// counts reads {m}, {m,} or {m,n} at an offset; n is its length in bytes, 0 where there is none
// (the brace is a character then).
func (p *patternParser) counts(off int) (lo, hi, n int) {
	end := strings.IndexByte(p.text[off:], '}')
	if end < 0 {
		return 0, 0, 0
	}
	first, second, comma := strings.Cut(p.text[off+1:off+end], ",")
	number := func(s string) int {
		if s == "" || strings.Trim(s, "0123456789") != "" {
			return -1
		}
		v, err := strconv.Atoi(s)
		if err != nil || v > MaxCount {
			p.fail(off, "a repetition of more than %d", MaxCount)
		}
		return v
	}
	if lo = number(first); lo < 0 {
		return 0, 0, 0
	}
	hi = lo
	if comma {
		if hi = number(second); hi < 0 && second != "" {
			return 0, 0, 0
		}
	}
	if hi >= 0 && hi < lo {
		p.fail(off, "the counts of {%d,%d} are not in order", lo, hi)
	}
	return lo, hi, end + 1
}

func (p *patternParser) quantified(node *Node) *Node {
	if p.pos >= len(p.text) {
		return node
	}
	lo, hi, n := 0, -1, 1
	switch p.text[p.pos] {
	case '*':
	case '+':
		lo = 1
	case '?':
		hi = 1
	case '{':
		if lo, hi, n = p.counts(p.pos); n == 0 {
			return node
		}
	default:
		return node
	}
	p.pos += n
	if p.pos < len(p.text) {
		switch p.text[p.pos] {
		case '?': // lazy: the same strings
			p.pos++
		case '*', '+':
			p.fail(p.pos, "nothing to repeat before %c", p.text[p.pos])
		}
	}
	return &Node{Op: OpRepeat, Subs: []*Node{node}, Min: lo, Max: hi}
}

func (p *patternParser) class(start int) []CharRange {
	negated := false
	if strings.HasPrefix(p.text[p.pos:], "^") {
		negated = true
		p.pos++
	}
	var ranges []CharRange
	for {
		if p.pos >= len(p.text) {
			p.fail(start, "a [ without its ]")
		}
		if p.text[p.pos] == ']' {
			p.pos++
			break
		}
		at := p.pos
		set, single := p.classAtom()
		if single && p.pos+1 < len(p.text) && p.text[p.pos] == '-' && p.text[p.pos+1] != ']' {
			back := p.pos
			p.pos++
			if upper, ok := p.classAtom(); !ok {
				p.pos = back // [a-\d]: the hyphen is a character
			} else if upper[0].Lo < set[0].Lo {
				p.fail(at, "a range that is not in order")
			} else {
				set = []CharRange{{set[0].Lo, upper[0].Lo}}
			}
		}
		ranges = append(ranges, set...)
	}
	ranges = NormalRanges(ranges)
	if negated {
		ranges = negate(ranges)
	}
	if len(ranges) == 0 {
		p.fail(start, "a character class that no character is in")
	}
	return ranges
}

// classAtom reads one character or a set such as \d inside a class.
func (p *patternParser) classAtom() ([]CharRange, bool) {
	start := p.pos
	r, n := utf8.DecodeRuneInString(p.text[p.pos:])
	p.pos += n
	if r == '\\' {
		return p.escape(start, true)
	}
	return []CharRange{{r, r}}, true
}

// escape reads the text after a backslash: a set, or a single character.
func (p *patternParser) escape(start int, inClass bool) ([]CharRange, bool) {
	r, n := utf8.DecodeRuneInString(p.text[p.pos:])
	if n == 0 {
		p.fail(start, "a backslash with nothing after it")
	}
	p.pos += n
	single := func(r rune) ([]CharRange, bool) { return []CharRange{{r, r}}, true }
	switch r {
	case 'd':
		return digits, false
	case 'D':
		return negate(digits), false
	case 'w':
		return wordSet, false
	case 'W':
		return negate(wordSet), false
	case 's':
		return spaceSet, false
	case 'S':
		return negate(spaceSet), false
	case 'n':
		return single('\n')
	case 'r':
		return single('\r')
	case 't':
		return single('\t')
	case 'f':
		return single('\f')
	case 'v':
		return single('\v')
	case 'b':
		if inClass {
			return single('\b')
		}
		p.unsupported(start, "a word boundary")
	case 'B':
		p.unsupported(start, "a word boundary")
	case '0':
		return single(0)
	case 'c':
		if p.pos < len(p.text) && (p.text[p.pos]|0x20) >= 'a' && (p.text[p.pos]|0x20) <= 'z' {
			p.pos++
			return single(rune(p.text[p.pos-1] & 0x1f))
		}
		p.fail(start, `\c without a letter`)
	case 'x':
		return single(p.hex(start, 2))
	case 'u':
		if strings.HasPrefix(p.text[p.pos:], "{") {
			end := strings.IndexByte(p.text[p.pos:], '}')
			if end < 0 {
				p.fail(start, `\u{ without }`)
			}
			p.pos++
			c := p.hex(start, end-1)
			p.pos++
			return single(c)
		}
		c := p.hex(start, 4)
		if c >= 0xd800 && c < 0xdc00 && strings.HasPrefix(p.text[p.pos:], `\u`) {
			p.pos += 2
			if low := p.hex(start, 4); low >= 0xdc00 && low < 0xe000 {
				return single((c-0xd800)<<10 + (low - 0xdc00) + 0x10000)
			}
		}
		if c >= 0xd800 && c < 0xe000 {
			p.unsupported(start, "half of a surrogate pair")
		}
		return single(c)
	case 'p', 'P':
		set := p.property(start)
		if r == 'P' {
			set = negate(set)
		}
		return set, false
	}
	switch {
	case r >= '1' && r <= '9', r == 'k':
		p.unsupported(start, "a back reference")
	case r < utf8.RuneSelf && unicode.IsLetter(r):
		p.fail(start, `an unknown escape \%c`, r)
	}
	return single(r)
}

func (p *patternParser) hex(start, n int) rune {
	if n >= 1 && n <= 8 && p.pos+n <= len(p.text) {
		if c, err := strconv.ParseUint(p.text[p.pos:p.pos+n], 16, 32); err == nil &&
			c <= unicode.MaxRune {
			p.pos += n
			return rune(c)
		}
	}
	p.fail(start, "an escape without its hexadecimal digits")
	return 0
}

// property reads {L} or {Script=Greek} after \p.
func (p *patternParser) property(start int) []CharRange {
	end := strings.IndexByte(p.text[p.pos:], '}')
	if end < 0 || p.text[p.pos] != '{' {
		p.fail(start, `\p without {a property}`)
	}
	name := p.text[p.pos+1 : p.pos+end]
	p.pos += end + 1
	if _, value, ok := strings.Cut(name, "="); ok {
		name = value
	}
	table := unicode.Categories[name]
	if table == nil {
		table = unicode.Scripts[name]
	}
	if table == nil {
		table = unicode.Properties[name]
	}
	if table == nil {
		p.unsupported(start, "the character property "+name)
	}
	var ranges []CharRange
	add := func(lo, hi, stride uint32) {
		if stride == 1 {
			ranges = append(ranges, CharRange{rune(lo), rune(hi)})
			return
		}
		for c := lo; c <= hi; c += stride {
			ranges = append(ranges, CharRange{rune(c), rune(c)})
		}
	}
	for _, r := range table.R16 {
		add(uint32(r.Lo), uint32(r.Hi), uint32(r.Stride))
	}
	for _, r := range table.R32 {
		add(r.Lo, r.Hi, r.Stride)
	}
	return NormalRanges(ranges)
}

// Match reports whether the pattern matches a string. It fails where that takes more than
// [MaxSteps] steps.
func (p *Pattern) Match(s string) (bool, error) {
	text := []rune(s)
	m := &patternMatch{text: text}
	from := make([]bool, len(text)+1)
	from[0] = true
	to := m.match(p.Root, from)
	if m.steps > MaxSteps {
		return false, fmt.Errorf("matching the pattern takes more than %d steps", MaxSteps)
	}
	return to[len(text)], nil
}

// patternMatch follows all ways through a pattern at once: a set of positions goes in, a set comes
// out.
type patternMatch struct {
	text  []rune
	steps int
	rules map[ruleAt][]bool
}

// ruleAt is a rule that is tried at a place.
type ruleAt struct {
	rule *Node
	at   int
}

// rule is match for a rule at one place, where it is tried once.
func (m *patternMatch) rule(n *Node, at int) []bool {
	key := ruleAt{n, at}
	to, known := m.rules[key]
	if !known {
		from := make([]bool, len(m.text)+1)
		from[at] = true
		if m.rules == nil {
			m.rules = map[ruleAt][]bool{}
		}
		to = m.match(n.Subs[0], from)
		m.rules[key] = to
	}
	return to
}

func (m *patternMatch) match(n *Node, from []bool) []bool {
	if m.steps += 1 + len(from)/8; m.steps > MaxSteps {
		return make([]bool, len(from))
	}
	switch n.Op {
	case OpClass:
		to := make([]bool, len(from))
		for i, r := range m.text {
			if from[i] && InRanges(n.Ranges, r) {
				to[i+1] = true
			}
		}
		return to
	case OpSeq:
		for _, sub := range n.Subs {
			if from = m.match(sub, from); !slices.Contains(from, true) {
				break
			}
		}
		return from
	case OpAlt:
		to := make([]bool, len(from))
		for _, sub := range n.Subs {
			merge(to, m.match(sub, from))
		}
		return to
	case OpRule:
		to := make([]bool, len(from))
		for i, ok := range from {
			if ok {
				merge(to, m.rule(n, i))
			}
		}
		return to
	}
	to := make([]bool, len(from))
	if n.Min == 0 {
		merge(to, from)
	}
	for i := 1; n.Max < 0 || i <= n.Max; i++ {
		next := m.match(n.Subs[0], from)
		changed := false
		if i >= n.Min {
			changed = merge(to, next)
		}
		// The sets either shrink to nothing or, where the body can be empty, grow to a fixed point.
		// After the minimum only new positions matter.
		if !slices.Contains(next, true) || i >= n.Min && !changed ||
			i < n.Min && slices.Equal(next, from) {
			if i < n.Min {
				merge(to, next)
				if !slices.Contains(next, true) {
					break
				}
				from, i = next, n.Min-1
				continue
			}
			break
		}
		from = next
	}
	return to
}

// merge adds a set to another and reports whether that changed it.
func merge(to, from []bool) bool {
	changed := false
	for i, ok := range from {
		if ok && !to[i] {
			to[i], changed = true, true
		}
	}
	return changed
}

// InRanges reports whether normal ranges hold a character.
func InRanges(ranges []CharRange, r rune) bool {
	_, ok := slices.BinarySearchFunc(ranges, r, func(x CharRange, r rune) int {
		switch {
		case x.Hi < r:
			return -1
		case x.Lo > r:
			return 1
		}
		return 0
	})
	return ok
}
