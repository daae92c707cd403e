package gbnf

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goassay/assay/engine/schema"
	"github.com/goassay/assay/engine/source"
)

// MaxRules bounds how many rules a [Builder] makes.
const MaxRules = 150_000

// MaxParts bounds how many parts a [Builder] puts together to sequences and choices, those of parts
// that stand in several places counted in each. A request with a thousand tools takes some hundred
// thousand.
const MaxParts = 1_500_000

// splitCount is the largest count that a built repetition has. Engines that expand a repetition
// into copies refuse or crawl on larger ones; nesting keeps the copies few and the language the
// same.
const splitCount = 1000

// Builder composes a grammar. Elements are values and can be used any number of times; the
// composing methods simplify (nested sequences and choices are flattened, neighbouring literals
// joined). Rules with equal content are one rule, and names are made unique by numbers, so that the
// same calls always give the same grammar.
//
// The first error sticks and is returned by [Builder.Grammar].
type Builder struct {
	rules    map[string][]Alternate // by name; nil while only declared
	numbers  map[string]int         // by name: the last number that made it unique
	byText   map[string]string      // printed content -> name
	values   map[valueKey]Element   // schemas that have their elements
	patterns map[patternKey]Element // likewise rules of grammars of texts
	untils   map[string]Element
	shared   map[string]Element // the rules that all values use
	parts    int                // put together so far
	err      error
}

// NewBuilder returns an empty builder.
func NewBuilder() *Builder {
	return &Builder{rules: map[string][]Alternate{}, numbers: map[string]int{},
		byText: map[string]string{}, values: map[valueKey]Element{},
		untils: map[string]Element{}, shared: map[string]Element{},
		patterns: map[patternKey]Element{}}
}

func (b *Builder) fail(err error) Element {
	if b.err == nil {
		b.err = err
	}
	return Element{}
}

// Lit matches a text.
func (b *Builder) Lit(text string) Element {
	if !utf8.ValidString(text) {
		return b.fail(fmt.Errorf("literal %q is not UTF-8; a grammar is over characters", text))
	}
	if text == "" {
		return b.Empty()
	}
	return Element{Kind: Literal, Text: text}
}

// Empty matches the empty text.
func (b *Builder) Empty() Element { return Element{Kind: Group, Alts: []Alternate{{}}} }

// Never matches nothing. A sequence with it matches nothing, a choice drops it.
func (b *Builder) Never() Element { return Element{} }

// Any matches one character.
func (b *Builder) Any() Element { return Element{Kind: Any} }

// Class matches one character in the ranges, or outside them.
func (b *Builder) Class(ranges []Range, negated bool) Element {
	ranges = schema.NormalRanges(ranges)
	switch {
	case len(ranges) == 0 && negated:
		return b.Any()
	case len(ranges) == 0:
		return b.Never()
	case !negated && len(ranges) == 1 && ranges[0].Lo == ranges[0].Hi:
		return b.Lit(string(ranges[0].Lo))
	case ranges[0].Lo > 0 || len(complement(ranges)) > 0:
		return Element{Kind: Class, Ranges: ranges, Negated: negated}
	case negated:
		return b.Never()
	}
	return b.Any()
}

// Seq matches its parts one after the other.
func (b *Builder) Seq(parts ...Element) Element {
	seq := make(Alternate, 0, len(parts))
	for _, e := range parts {
		switch {
		case e.Kind == Never:
			return b.Never()
		case e.Kind == Group && len(e.Alts) == 1:
			for _, inner := range e.Alts[0] {
				seq = appendJoined(seq, inner)
			}
		default:
			seq = appendJoined(seq, e)
		}
	}
	if len(seq) == 1 {
		return seq[0]
	}
	return b.counted(Element{Kind: Group, Alts: []Alternate{seq}}, len(seq))
}

// counted returns an element of so many parts, unless they are too many.
func (b *Builder) counted(e Element, parts int) Element {
	if b.parts += parts; b.parts > MaxParts {
		return b.fail(fmt.Errorf("a grammar of more than %d parts: the schemas say too much "+
			"in too many places", MaxParts))
	}
	return e
}

func appendJoined(seq Alternate, e Element) Alternate {
	if n := len(seq); n > 0 && e.Kind == Literal && seq[n-1].Kind == Literal {
		seq[n-1].Text += e.Text
		return seq
	}
	return append(seq, e)
}

// Alt matches one of its choices; without any it matches nothing.
func (b *Builder) Alt(choices ...Element) Element {
	var alts []Alternate
	for _, e := range choices {
		switch e.Kind {
		case Never:
		case Group:
			alts = append(alts, e.Alts...)
		default:
			alts = append(alts, Alternate{e})
		}
	}
	alts = distinct(alts)
	switch {
	case len(alts) == 0:
		return b.Never()
	case len(alts) == 1 && len(alts[0]) == 1:
		return alts[0][0]
	}
	return b.counted(Element{Kind: Group, Alts: alts}, len(alts))
}

// distinct drops repeated alternatives, which add nothing but work.
func distinct(alts []Alternate) []Alternate {
	const few = 12
	if len(alts) <= few {
		out := alts[:0:0]
		for _, alt := range alts {
			if !slices.ContainsFunc(out,
				func(known Alternate) bool { return slices.EqualFunc(known, alt, equalElements) }) {
				out = append(out, alt)
			}
		}
		return out
	}
	seen := make(map[string]bool, len(alts))
	return slices.DeleteFunc(slices.Clone(alts), func(alt Alternate) bool {
		text := string(appendAlts(nil, []Alternate{alt}))
		known := seen[text]
		seen[text] = true
		return known
	})
}

// Opt matches an element or nothing.
func (b *Builder) Opt(e Element) Element { return b.Repeat(e, 0, 1) }

// Repeat matches an element lo to hi times; hi may be [Unlimited]. The element should not match the
// empty text: engines take a repeated rule or group with an empty alternative for left recursion.
// Where that alternative is in sight it is taken out, and the repetition may then stay away
// instead.
func (b *Builder) Repeat(e Element, lo, hi int) Element {
	if alts, name := b.choices(e); slices.ContainsFunc(alts, isEmptySequence) && hi != 0 {
		rest := b.Alt(Element{Kind: Group,
			Alts: slices.DeleteFunc(slices.Clone(alts), isEmptySequence)})
		if name != "" {
			rest = b.Rule(name, rest)
		}
		return b.Repeat(rest, 0, hi)
	}
	switch {
	case lo < 0 || hi < lo && hi != Unlimited || lo > MaxCount || hi > MaxCount:
		return b.fail(fmt.Errorf("repetition from %d to %d: expected counts "+
			"in order, at most %d", lo, hi, MaxCount))
	case hi == 0:
		return b.Empty()
	case e.Kind == Never && lo == 0:
		return b.Empty()
	case e.Kind == Never:
		return e
	case lo == 1 && hi == 1:
		return e
	case (lo > splitCount || hi > splitCount) && weight(e) > 1:
		return b.Repeat(b.Rule("part", e), lo, hi)
	case lo > splitCount:
		// x{lo,hi} is x{block} times, then the rest.
		block := b.Repeat(e, splitCount, splitCount)
		rest := Unlimited
		if hi != Unlimited {
			rest = hi - lo/splitCount*splitCount
		}
		return b.Seq(b.Repeat(block, lo/splitCount, lo/splitCount),
			b.Repeat(e, lo%splitCount, rest))
	case hi > splitCount && lo > 0:
		return b.Seq(b.Repeat(e, lo, lo), b.Repeat(e, 0, hi-lo))
	case hi > splitCount:
		// x{0,hi} is (x{half}){0,blocks} x{0,tail}, where the tail is at least a half, so that
		// every count is reached.
		const half = splitCount / 2
		blocks := hi/half - 1
		return b.Seq(b.Repeat(b.Repeat(e, half, half), 0, blocks), b.Repeat(e, 0, hi-blocks*half))
	}
	alts := []Alternate{{e}}
	if e.Kind == Group {
		alts = e.Alts
	}
	return Element{Kind: Repeat, Alts: alts, Min: lo, Max: hi}
}

// choices returns the alternatives of a group, or of a rule that is defined and its name.
func (b *Builder) choices(e Element) ([]Alternate, string) {
	switch e.Kind {
	case Group:
		return e.Alts, ""
	case Ref:
		return b.rules[e.Text], e.Text
	}
	return nil, ""
}

func isEmptySequence(alt Alternate) bool { return len(alt) == 0 }

// weight counts the elements in an element, up to where it no longer matters.
func weight(e Element) int {
	const enough = 16
	n := 1
	for _, alt := range e.Alts {
		for _, inner := range alt {
			if n += weight(inner); n >= enough {
				return n
			}
		}
		n++
	}
	return n
}

func isEmpty(e Element) bool { return e.Kind == Group && len(e.Alts) == 1 && len(e.Alts[0]) == 0 }

// Ref refers to a rule by its exact name; it must have been declared or be defined until
// [Builder.Grammar].
func (b *Builder) Ref(name string) Element { return Element{Kind: Ref, Text: name} }

// Rule makes a rule and returns the reference to it. The name is a wish: characters other than
// letters, digits and hyphens become hyphens, a taken name gets a number, and a rule with the same
// content is used again under its name.
func (b *Builder) Rule(name string, e Element) Element {
	switch {
	case e.Kind == Never, e.Kind == Ref, isEmpty(e):
		return e
	}
	alts := altsOf(e)
	text := string(appendAlts(nil, alts))
	if known, ok := b.byText[text]; ok {
		return b.Ref(known)
	}
	ref := b.Declare(name)
	b.rules[ref.Text] = alts
	b.byText[text] = ref.Text
	return ref
}

func altsOf(e Element) []Alternate {
	if e.Kind == Group {
		return e.Alts
	}
	return []Alternate{{e}}
}

// Declare reserves a name, made unique as by [Builder.Rule], for a rule that is defined later: for
// recursion.
func (b *Builder) Declare(name string) Element {
	if len(b.rules) >= MaxRules {
		return b.fail(fmt.Errorf("more than %d rules", MaxRules))
	}
	name = ruleName(name)
	unique := name
	// all up to the last number are taken, so a thousand names alike cost no million looks
	for i := max(2, b.numbers[name]+1); ; i++ {
		if _, taken := b.rules[unique]; !taken && unique != Root {
			break
		}
		unique = name + "-" + strconv.Itoa(i)
		b.numbers[name] = i
	}
	b.rules[unique] = nil
	return b.Ref(unique)
}

// Define gives a declared rule its content.
func (b *Builder) Define(ref, e Element) {
	alts, declared := b.rules[ref.Text]
	switch {
	case b.err != nil:
	case ref.Kind != Ref || !declared || alts != nil:
		b.fail(fmt.Errorf("rule %s is not a declared rule without content", ref))
	case e.Kind == Never:
		b.fail(fmt.Errorf("rule %s can match nothing", ref.Text))
	default:
		b.rules[ref.Text] = altsOf(e)
	}
}

// maxName bounds the length of a rule's name, in bytes, before its number.
const maxName = 60

func ruleName(name string) string {
	name = strings.Trim(strings.Map(func(r rune) rune {
		if isWord(r) {
			return r
		}
		return '-'
	}, name), "-")
	for strings.Contains(name, "--") {
		name = strings.ReplaceAll(name, "--", "-")
	}
	if len(name) > maxName {
		name = strings.TrimRight(name[:maxName], "-")
	}
	if name == "" {
		return "document"
	}
	return name
}

// Words matches one of many texts. Long lists share their beginnings, so that a matcher does not
// follow every word.
func (b *Builder) Words(words ...string) Element {
	words = slices.Clone(words)
	if len(words) <= 2*wordsFrom {
		return b.words(words, 0, maxShared)
	}
	slices.Sort(words)
	return b.words(slices.Compact(words), 0, 0)
}

const (
	wordsFrom = 16 // fewer words than this are written out
	maxShared = 32 // levels of shared beginnings
)

// words matches the words without their first skip bytes. The words of a list that shares
// beginnings are sorted.
func (b *Builder) words(words []string, skip, depth int) Element {
	var choices []Element
	for len(words) > 0 {
		word := words[0][skip:]
		run := 1
		if depth < maxShared && len(words) >= wordsFrom && word != "" {
			_, size := utf8.DecodeRuneInString(word)
			for run < len(words) && strings.HasPrefix(words[run][skip:], word[:size]) {
				run++
			}
		}
		if run == 1 {
			choices = append(choices, b.Lit(word))
		} else {
			shared := source.CommonPrefix(word, words[run-1][skip:])
			choices = append(choices,
				b.Seq(b.Lit(shared), b.words(words[:run], skip+len(shared), depth+1)))
		}
		words = words[run:]
	}
	return b.Alt(choices...)
}

// Space matches the white space that models write between JSON tokens: nothing, one blank, or one
// line break with up to 40 blanks or tabs of indentation.
func (b *Builder) Space() Element {
	return b.once("ws", func() Element {
		return b.Alt(b.Empty(), b.Lit(" "),
			b.Seq(b.Lit("\n"), b.Repeat(b.Class(runes(" \t"), false), 0, 40)))
	})
}

// once makes a shared rule when it is first asked for.
func (b *Builder) once(name string, make func() Element) Element {
	e, ok := b.shared[name]
	if !ok {
		e = b.Rule(name, make())
		b.shared[name] = e
	}
	return e
}

// Grammar returns the grammar of a text that matches root, with the rules that it needs in the
// order of their first use.
func (b *Builder) Grammar(root Element) (*Grammar, error) {
	if b.err != nil {
		return nil, b.err
	}
	if root.Kind == Never {
		return nil, errors.New("grammar: no text can match")
	}
	g := &Grammar{Rules: []Rule{{Root, altsOf(root)}}}
	seen := map[string]bool{}
	for i := 0; i < len(g.Rules); i++ {
		var walk func(alts []Alternate)
		walk = func(alts []Alternate) {
			for _, alt := range alts {
				for _, e := range alt {
					if alts, ok := b.rules[e.Text]; e.Kind == Ref && !seen[e.Text] && ok &&
						alts != nil {
						seen[e.Text] = true
						g.Rules = append(g.Rules, Rule{e.Text, alts})
					}
					walk(e.Alts)
				}
			}
		}
		walk(g.Rules[i].Alts)
	}
	if err := g.Validate(); err != nil {
		return nil, err
	}
	return g, nil
}
