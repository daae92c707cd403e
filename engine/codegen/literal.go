package codegen

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/peg"
)

// This file decides how one literal is written: which of its characters have others beside them,
// where white space in it is free, and which part of it the end of the output may leave.

// TokenMark stands, in the literals of a program that reads tokens by their ids and in its input,
// before each text that is a token of its own: an added token of the tokeniser. The byte is no part
// of any text, so that text which spells a token does not match its literal.
const TokenMark = "\xff"

// tokenAt returns where the token begins whose text begins at i; i where no token does.
func tokenAt(s string, i int) int { return len(strings.TrimSuffix(s[:i], TokenMark)) }

// variants returns the ways in which a marker is written: as it is, and with plain bars or
// underscores in place of the typographic ones.
func variants(text string) []string {
	out := []string{text}
	for _, r := range [...]*strings.Replacer{plainBars, plainBlanks} {
		for _, v := range out {
			if plain := r.Replace(v); plain != v {
				out = append(out, plain)
			}
		}
	}
	return out
}

var plainBars, plainBlanks = strings.NewReplacer("｜", "|"), strings.NewReplacer("▁", "_")

// segments cuts a literal at its line breaks, white space around them included: there a model's
// white space is free.
func segments(text string) []string {
	var parts []string
	for {
		i := strings.IndexByte(text, '\n')
		if i < 0 {
			return append(parts, text)
		}
		parts = append(parts, strings.TrimRight(text[:i], format.Space))
		text = strings.TrimLeft(text[i:], format.Space)
	}
}

// tokens cuts a literal further, after each marker in it that another one follows: "</key><value>"
// is two of them, and models put white space between them that a template does not (T1).
func tokens(text string) (parts []string) {
	for _, s := range segments(text) {
		from := 0
		for i, r := range s {
			if strings.ContainsRune(format.OpenBrackets, r) && bracketed(s[from:tokenAt(s, i)]) {
				parts = append(parts, s[from:tokenAt(s, i)])
				from = tokenAt(s, i)
			}
		}
		parts = append(parts, s[from:])
	}
	return parts
}

// bracketed reports whether a text is a marker between brackets.
func bracketed(text string) bool {
	text = strings.TrimPrefix(text, TokenMark)
	first, _ := utf8.DecodeRuneInString(text)
	last, _ := utf8.DecodeLastRuneInString(text)
	return strings.ContainsRune(format.OpenBrackets, first) &&
		strings.ContainsRune(format.ShutBrackets, last) && distinctive(text)
}

// heads returns the literals with which the ways of writing a marker begin, as an Until looks for
// them.
func heads(text string) []string {
	return lists.Map(variants(text), func(v string) string { return tokens(v)[0] })
}

// stub matches the beginning of a marker, at least a byte of it, that the end of the input cuts
// off.
func stub(texts ...string) peg.Choice {
	var alts peg.Choice
	for _, text := range texts {
		for _, v := range variants(text) {
			parts := tokens(v)
			var rest peg.Choice // of the parts that follow
			for i, s := range slices.Backward(parts) {
				var here peg.Choice
				if i > 0 {
					here = append(here, peg.End{})
				}
				here = append(here, peg.Stub{Text: s})
				if len(rest) > 0 {
					here = append(here, peg.Seq{peg.Lit{Text: s}, peg.Space{}, rest})
				}
				rest = here
			}
			alts = append(alts, rest...)
		}
	}
	return alts
}

// stops returns the stops for texts; those of ends also end the text where the end of the input
// cuts them off.
func stops(texts, ends []string) []peg.Stop {
	var stops []peg.Stop
	seen := map[string]int{}
	add := func(text string, isEnd bool) {
		for _, first := range heads(text) {
			if first == "" {
				continue
			}
			if i, ok := seen[first]; ok {
				stops[i].Stub = stops[i].Stub || isEnd
				continue
			}
			seen[first] = len(stops)
			stops = append(stops, peg.Stop{Text: first, Stub: isEnd})
		}
	}
	for _, t := range texts {
		add(t, false)
	}
	for _, t := range ends {
		add(t, true)
	}
	return stops
}

// inAttribute returns the ways in which a text is written as the value of an attribute, other than
// as it is: with all that HTML escapes, its quotes by number or by name, or with no more than XML
// demands there.
func inAttribute(text string) (ways []string) {
	if !strings.ContainsAny(text, `&"'<>`) {
		return nil
	}
	for _, r := range [...]*strings.Replacer{byNumber, byName, asDemanded, asXML} {
		if way := r.Replace(text); way != text && !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
	}
	return ways
}

var (
	byNumber = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;",
		"'", "&#39;")
	byName = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;",
		"'", "&apos;")
	asDemanded = strings.NewReplacer("&", "&amp;", `"`, "&quot;")
	asXML      = strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;")
)

const brackets = format.OpenBrackets + format.ShutBrackets

// distinctive reports whether a literal looks like a tag or a token, which does not occur by
// chance.
func distinctive(text string) bool {
	return strings.Contains(text, TokenMark) ||
		len(text) >= 4 && strings.ContainsAny(text, brackets+"|｜") &&
			strings.Trim(text, brackets+"(){}|/`\"' ") != ""
}

// worded reports whether a marker that opens content or reasoning is made of words, such as
// "Answer:". Any text may hold that, so that it opens something only where text begins. A grammar
// keeps them out of text elsewhere.
func worded(m format.Marker) bool {
	letters := peg.Range('a', 'z').Or(peg.Range('A', 'Z'))
	return m.Text != "" && letters.Has(m.Text[0]) && !distinctive(m.Text)
}

// nameBytes are the bytes that names are made of when nothing else tells where one ends.
var nameBytes = peg.Range('a', 'z').Or(peg.Range('A', 'Z')).Or(peg.Range('0', '9')).
	Or(peg.Bytes("_-.")).Or(peg.Range(0x80, 0xfe)) // not that of [TokenMark]

// wordBytes are the bytes of the words that qualify a name, of which there are at most
// maxQualifiers, each of at most maxQualifier bytes.
var wordBytes = nameBytes.Not().Or(peg.Bytes(".")).Not()

const maxQualifiers, maxQualifier = 4, 64

var digits = peg.Range('0', '9')

// number matches the digits of a number that the format writes.
var number = peg.Rep{P: peg.Set{Set: digits}, Min: 1, Max: 20}

// wordBefore matches a run of bytes that ends before any of the literals, or at the end of the
// line: a name or an id that is not known beforehand. Without literals it is a run of name bytes. A
// literal may be empty, being white space and nothing else.
func wordBefore(follow []string) peg.Pattern {
	set := nameBytes
	if len(follow) > 0 {
		not := peg.Bytes("\n")
		for _, t := range follow {
			for _, v := range variants(t) {
				if v != "" {
					not.Add(v[0])
				}
			}
		}
		set = not.Not()
	}
	return word(set)
}

// idOf matches an id of a set that is made of some bytes: of ASCII alone where the set has lengths,
// which count characters.
func idOf(ids format.IDs, plain peg.ByteSet) peg.Pattern {
	var set peg.ByteSet
	for b := range 256 {
		if c := byte(b); plain.Has(c) && ids.HasByte(c) && (ids.IsZero() || c <= '~') {
			set.Add(c)
		}
	}
	most := MaxName
	if ids.Max > 0 {
		most = min(ids.Max, MaxName)
	}
	return peg.Rep{P: peg.Set{Set: set}, Min: min(max(ids.Min, 1), most), Max: most}
}

func word(set peg.ByteSet) peg.Pattern {
	return peg.Rep{P: peg.Set{Set: set}, Min: 1, Max: MaxName}
}

// openFence matches the beginning of a Markdown fence around JSON.
var openFence = peg.Seq{peg.Lit{Text: fenceMark}, peg.Opt{P: peg.Lit{Text: "json"}}}

const fenceMark = "```"

// The markers of literal text in a value (XML 1.0, 2.7).
const openCDATA, shutCDATA = "<![CDATA[", "]]>"
