package spell

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goassay/assay/engine/codec"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
)

// node is a set of texts. match calls next with the end of each text of the set that stands at a
// place, until next is content.
type node interface {
	match(m *matcher, at int, next func(at int) bool) bool
	print(b *strings.Builder) // the first text
}

// matcher is a turn, and how far a match came: 0 ≤ far ≤ len(text).
type matcher struct {
	text string
	far  int
	want []string // the wanted texts at far
	// steps counts the ways that were tried: runs of white space that meet can be split in ways
	// that multiply, and a turn that needs more than maxSteps of them does not match.
	steps int
}

const maxSteps = 500_000

// step counts a way that is tried, and reports whether it may be.
func (m *matcher) step() bool {
	m.steps++
	return m.steps <= maxSteps
}

// miss notes that something was wanted at a place and was not there.
func (m *matcher) miss(at int, want string) bool {
	switch {
	case at > m.far || m.want == nil:
		m.far, m.want = at, []string{want}
	case at == m.far && !slices.Contains(m.want, want):
		m.want = append(m.want, want)
	}
	return false
}

// lit is a text as it stands.
type lit string

func (l lit) match(m *matcher, at int, next func(int) bool) bool {
	if !strings.HasPrefix(m.text[at:], string(l)) {
		return m.miss(at+common(m.text[at:], string(l)), quoted(string(l)))
	}
	return next(at + len(l))
}

func (l lit) print(b *strings.Builder) { b.WriteString(string(l)) }

// common returns the length of the longest common prefix of two texts, in bytes of whole
// characters.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return n
}

// space is any run of white space; the text is the format's.
type space string

func (s space) match(m *matcher, at int, next func(int) bool) bool {
	end := at
	for end < len(m.text) && strings.IndexByte(format.Space, m.text[end]) >= 0 {
		end++
	}
	for ; end >= at && m.step(); end-- {
		if next(end) {
			return true
		}
	}
	return false
}

func (s space) print(b *strings.Builder) { b.WriteString(string(s)) }

// marker is a marker with free white space at its edges.
func marker(m format.Marker) node {
	if m.Text == "" {
		return space(m.Before + m.After)
	}
	return seq{space(m.Before), lit(m.Text), space(m.After)}
}

// seq is texts one after the other.
type seq []node

func (s seq) match(m *matcher, at int, next func(int) bool) bool {
	if len(s) == 0 {
		return next(at)
	}
	return s[0].match(m, at, func(at int) bool { return s[1:].match(m, at, next) })
}

func (s seq) print(b *strings.Builder) {
	for _, n := range s {
		n.print(b)
	}
}

// alt is any of several texts, the first one preferred.
type alt []node

func (a alt) match(m *matcher, at int, next func(int) bool) bool {
	for _, n := range a {
		if n.match(m, at, next) {
			return true
		}
	}
	return false
}

func (a alt) print(b *strings.Builder) {
	if len(a) > 0 {
		a[0].print(b)
	}
}

// finish is the end of the turn's text.
type finish struct{}

func (finish) match(m *matcher, at int, next func(int) bool) bool {
	if at < len(m.text) {
		return m.miss(at, "the end of the turn")
	}
	return next(at)
}

func (finish) print(*strings.Builder) {}

// raw is a text of the message; with entity, characters may be written as HTML entities.
type raw struct {
	text   string
	entity bool
}

func (r raw) match(m *matcher, at int, next func(int) bool) bool {
	if !r.entity {
		return lit(r.text).match(m, at, next)
	}
	rest := r.text
	for rest != "" {
		_, size := utf8.DecodeRuneInString(rest)
		n, text := codec.Entity(m.text[at:])
		switch {
		case n > 1 && strings.HasPrefix(rest, text):
			at, rest = at+n, rest[len(text):]
		case strings.HasPrefix(m.text[at:], rest[:size]):
			at, rest = at+size, rest[size:]
		default:
			return m.miss(at, quoted(rest))
		}
	}
	return next(at)
}

func (r raw) print(b *strings.Builder) {
	if r.entity {
		escape.WriteString(b, r.text)
		return
	}
	b.WriteString(r.text)
}

// escape writes the entities of jinja2's escape filter.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")

// word is a run of text that means nothing, a character at least.
type word struct{}

func (word) match(m *matcher, at int, next func(int) bool) bool {
	for end := at + 1; end <= len(m.text) && m.step(); end++ {
		if next(end) {
			return true
		}
	}
	return m.miss(at, "a word")
}

func (word) print(b *strings.Builder) { b.WriteString("word") }

// digits is a number that means nothing.
type digits struct{}

func (digits) match(m *matcher, at int, next func(int) bool) bool {
	end := at
	for end < len(m.text) && '0' <= m.text[end] && m.text[end] <= '9' {
		end++
	}
	if end == at {
		return m.miss(at, "a number")
	}
	return next(end)
}

func (digits) print(b *strings.Builder) { b.WriteByte('0') }

// value is a value as JSON or, lenient, as Python writes it.
type value struct {
	v       ordered.Value
	check   func(ordered.Value) bool // instead of comparing with v
	lenient bool
	bare    bool   // keys have no quotes
	token   string // stands for the quotes of strings
	escaped bool   // all of it is escaped as HTML is
}

func (v value) match(m *matcher, at int, next func(int) bool) bool {
	text, ends := m.text[at:], func(n int) int { return n }
	if v.escaped {
		text, ends = unescaped(text)
	}
	json, n, ok := codec.Prefix(text,
		codec.Syntax{Strict: !v.lenient, Bare: v.bare, Token: v.token})
	if !ok && v.v.Kind() == ordered.Number { // a marker may begin as a number goes on
		return lit(v.v.String()).match(m, at, next)
	}
	if !ok {
		return m.miss(at, v.wanted())
	}
	got, err := ordered.ParseString(json)
	same := err == nil && (v.check != nil && v.check(got) || v.check == nil && equal(got, v.v))
	if !same || v.lenient && jsonWords(text[:n], got) {
		return m.miss(at, v.wanted())
	}
	return next(at + ends(n))
}

// wanted describes the format's text for people.
func (v value) wanted() string {
	var b strings.Builder
	v.print(&b)
	return b.String()
}

func (v value) print(b *strings.Builder) {
	text := v.v.String()
	if v.lenient {
		text = python(v.v, v.bare, v.token)
	}
	if v.escaped {
		text = escape.Replace(text)
	}
	b.WriteString(text)
}

// unescaped resolves the entities of a text. The function says where in the text as it was its n-th
// byte ends.
func unescaped(text string) (string, func(n int) int) {
	var b strings.Builder
	ends := []int{0}
	for at := 0; at < len(text); {
		n, s := codec.Entity(text[at:])
		at += n
		b.WriteString(s)
		for range len(s) {
			ends = append(ends, at)
		}
	}
	return b.String(), func(n int) int { return ends[n] }
}

// jsonWords reports whether a value that Python should have written has the words of JSON: it reads
// as JSON, too, and has a boolean or null.
func jsonWords(text string, v ordered.Value) bool {
	_, n, ok := codec.Prefix(text, codec.Syntax{Strict: true})
	return ok && n == len(text) && hasWord(v)
}

func hasWord(v ordered.Value) bool {
	switch v.Kind() {
	case ordered.Null, ordered.Bool:
		return true
	case ordered.Array:
		return slices.ContainsFunc(v.Items(), hasWord)
	case ordered.Object:
		return slices.ContainsFunc(v.Members(),
			func(m ordered.Member) bool { return hasWord(m.Value) })
	}
	return false
}

// python writes a value as Python's repr does.
func python(v ordered.Value, bare bool, token string) string {
	switch v.Kind() {
	case ordered.Null:
		return "None"
	case ordered.Bool:
		if v.Bool() {
			return "True"
		}
		return "False"
	case ordered.String:
		if token != "" {
			return token + v.Text() + token
		}
		return quoted(v.Text())
	case ordered.Array:
		var items []string
		for _, item := range v.Items() {
			items = append(items, python(item, bare, token))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case ordered.Object:
		var members []string
		for _, m := range v.Members() {
			key := m.Key
			if !bare {
				key = quoted(key)
			}
			members = append(members, key+": "+python(m.Value, bare, token))
		}
		return "{" + strings.Join(members, ", ") + "}"
	}
	return v.Text()
}

// quoted is a text in quotes, as JSON has it.
func quoted(s string) string { return ordered.Str(s).String() }

// equal reports whether two values are the same, keys in the same order.
func equal(a, b ordered.Value) bool {
	if a.Kind() != b.Kind() {
		return false
	}
	switch a.Kind() {
	case ordered.Array:
		return slices.EqualFunc(a.Items(), b.Items(), equal)
	case ordered.Object:
		return slices.EqualFunc(a.Members(), b.Members(),
			func(m, n ordered.Member) bool { return m.Key == n.Key && equal(m.Value, n.Value) })
	}
	return ordered.Equal(a, b)
}

// sorted is a value with the keys of all objects in alphabetical order.
func sorted(v ordered.Value) ordered.Value {
	return ordered.Rewrite(v, func(v ordered.Value) ordered.Value {
		slices.SortStableFunc(v.Members(),
			func(a, b ordered.Member) int { return strings.Compare(a.Key, b.Key) })
		return v
	})
}
