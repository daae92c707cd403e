package gbnf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/schema"
)

// Style is a notation for values.
type Style uint8

// The styles.
const (
	JSON   Style = iota
	Python       // literals: single or double quotes, True, False and None (JSON's words as well)
)

// Codec describes how a value is written. The zero value is JSON.
type Codec struct {
	Style  Style
	Raw    bool     // a string that is the whole value stands without quotes and escapes
	Stops  []string // the markers that end such a string, which it may not contain
	Entity bool     // such a string is HTML-escaped: &lt; &gt; &amp; &quot; &#39;
	// a token on both sides of a string in place of quotes; nothing inside is escaped
	Quote    string
	BareKeys bool // the keys of objects stand without quotes
}

// valueKey identifies what an element was made for.
type valueKey struct {
	schema *schema.Schema
	codec  string
	bare   bool
}

// JSON matches the JSON texts of a schema's values; name, which may be empty, begins the names of
// its rules. The element begins and ends with the value: white space around it is left to the
// caller.
func (b *Builder) JSON(name string, s *schema.Schema) Element { return b.Value(name, s, Codec{}) }

// Value matches a schema's values as a codec writes them. A schema that no value satisfies matches
// nothing.
//
// Objects have their properties in the declared order, or the required ones first; other properties
// follow, if the schema asks for them. Conditions that the grammar cannot express are left out, so
// that it forbids no valid value: of several patterns all but the first, a length beside a pattern,
// more than 32 counted properties, lengths above a few hundred of bare strings that stop at
// markers.
func (b *Builder) Value(name string, s *schema.Schema, c Codec) Element {
	if s == nil {
		s = schema.Any()
	}
	unstopped := c
	unstopped.Stops = nil
	l := &lowering{b: b, codec: c, key: fmt.Sprintf("%+v", unstopped), ws: b.Space()}
	l.stopped = l.key + fmt.Sprintf("%q", c.Stops)
	if c.Style == Python {
		l.prefix = "py-"
	} else if c.Quote != "" {
		l.prefix = "q-"
	}
	return l.value(s, name, c.Raw)
}

// FromSchema returns the grammar of a schema's JSON texts, with optional white space after the
// value.
func FromSchema(s *schema.Schema) (*Grammar, error) {
	b := NewBuilder()
	return b.Grammar(b.Seq(b.JSON("", s), b.Space()))
}

// lowering turns schemas into elements for one codec.
type lowering struct {
	b       *Builder
	codec   Codec
	key     string // of the codec, except for its stops
	stopped string // of the whole codec
	prefix  string // of the names of the shared rules
	ws      Element
}

// sub joins parts of a name. A long name is shortened to what a rule's name may have.
func sub(parts ...string) string {
	name := strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "-")
	if len(name) > maxName {
		return ruleName(name)
	}
	return name
}

// inlineWeight is the most elements of a value that is written in place rather than as a rule.
const inlineWeight = 4

// inPlace returns an element that may be written in place, or else a rule of it.
func (b *Builder) inPlace(name string, e Element) Element {
	if weight(e) > inlineWeight {
		return b.Rule(name, e)
	}
	return e
}

func (l *lowering) value(s *schema.Schema, name string, bare bool) Element {
	if s.IsNever() {
		return l.b.Never()
	}
	bare = bare && s.Types()&schema.String != 0 // other types are written as inside a value
	key := valueKey{s, l.key, bare}
	if bare && stops(s) {
		key.codec = l.stopped
	}
	if e, ok := l.b.values[key]; ok {
		return e
	}
	if l.b.err != nil {
		return l.b.Never()
	}
	var e Element
	if s.Recursive() {
		e = l.b.Declare(name)
		l.b.values[key] = e
		body := l.body(s, name, bare)
		if body.Kind == Never && l.b.err == nil {
			return l.b.fail(fmt.Errorf("%sno value can satisfy the schema", pathPrefix(s.Path())))
		}
		l.b.Define(e, body)
		return e
	}
	e = l.b.inPlace(name, l.body(s, name, bare))
	l.b.values[key] = e
	return e
}

// stops reports whether the markers that end a bare text make a difference for a schema's values.
func stops(s *schema.Schema) bool {
	if len(s.Alts) > 0 {
		return slices.ContainsFunc(s.Alts, stops)
	}
	return s.Enum == nil && s.Types()&schema.String != 0
}

func pathPrefix(path string) string {
	if path == "" {
		return ""
	}
	return path + ": "
}

func (l *lowering) body(s *schema.Schema, name string, bare bool) Element {
	b := l.b
	if len(s.Alts) > 0 {
		if bare && slices.ContainsFunc(s.Alts,
			func(alt *schema.Schema) bool { return alt.IsFree(schema.String) }) {
			return l.bareText(0, Unlimited) // this matches every other value's text as well
		}
		choices := lists.Map(s.Alts, func(alt *schema.Schema) Element {
			return l.value(alt, name, bare)
		})
		return b.Alt(choices...)
	}
	if s.Enum != nil {
		return l.enum(s.Enum, bare)
	}
	if bare && s.IsFree(schema.String) {
		return l.bareText(0, Unlimited)
	}
	if s.IsAny() {
		return l.anyValue()
	}
	types := s.Types()
	var choices []Element
	if types.Has(schema.Object) {
		choices = append(choices, l.part(s, name, bare, l.object))
	}
	if types.Has(schema.Array) {
		choices = append(choices, l.part(s, name, bare, l.array))
	}
	if types.Has(schema.String) {
		choices = append(choices, l.text(s, bare))
	}
	if types.Has(schema.Number) {
		choices = append(choices, l.number(s.Minimum, s.Maximum))
	} else if types.Has(schema.Integer) {
		choices = append(choices, l.integer(s.Minimum, s.Maximum))
	}
	if types.Has(schema.Boolean) {
		choices = append(choices, l.boolean())
	}
	if types.Has(schema.Null) {
		choices = append(choices, l.null())
	}
	return b.Alt(choices...)
}

// part matches the objects or the arrays of a schema that also allows bare texts. Where such texts
// end makes no difference to it, so its rule does not depend on that.
func (l *lowering) part(s *schema.Schema, name string, bare bool,
	make func(*schema.Schema, string) Element) Element {
	e := make(s, name)
	if bare {
		return l.b.inPlace(name, e)
	}
	return e
}

func (l *lowering) rule(name string, e Element) Element { return l.b.Rule(l.prefix+name, e) }

// once makes a rule that all values of the codec share.
func (l *lowering) once(name string, make func() Element) Element {
	return l.b.once(l.prefix+name, make)
}

func (l *lowering) boolean() Element {
	return l.once("boolean", func() Element {
		if l.codec.Style == Python {
			return l.b.Words("True", "False", "true", "false")
		}
		return l.b.Words("true", "false")
	})
}

func (l *lowering) null() Element {
	if l.codec.Style == Python {
		return l.once("null", func() Element { return l.b.Words("None", "null") })
	}
	return l.b.Lit("null")
}

// anyValue matches any value, quoted.
func (l *lowering) anyValue() Element {
	b := l.b
	key := valueKey{nil, l.key, false}
	if e, ok := b.values[key]; ok {
		return e
	}
	e := b.Declare(l.prefix + "value")
	b.values[key] = e
	member := b.Seq(l.anyKey(nil), l.ws, b.Lit(":"), l.ws, e)
	object := l.rule("object", l.enclose("{", member, 0, Unlimited, "}"))
	array := l.rule("array", l.enclose("[", e, 0, Unlimited, "]"))
	b.Define(e, b.Alt(object, array, l.anyString(), l.number(nil, nil), l.boolean(), l.null()))
	return e
}

func (l *lowering) comma() Element { return l.b.Seq(l.ws, l.b.Lit(","), l.ws) }

// enclose matches lo to hi items between brackets.
func (l *lowering) enclose(open string, item Element, lo, hi int, end string) Element {
	b := l.b
	if hi == 0 || item.Kind == Never {
		if lo > 0 {
			return b.Never()
		}
		return b.Seq(b.Lit(open), l.ws, b.Lit(end))
	}
	more := hi
	if hi != Unlimited {
		more--
	}
	items := b.Seq(item, b.Repeat(b.Seq(l.comma(), item), max(lo-1, 0), more), l.ws)
	if lo == 0 {
		items = b.Opt(items)
	}
	return b.Seq(b.Lit(open), l.ws, items, b.Lit(end))
}

func (l *lowering) array(s *schema.Schema, name string) Element {
	b := l.b
	if s.MaxItems >= 0 && s.MaxItems < s.MinItems {
		return b.Never()
	}
	if len(s.Prefix) == 0 {
		item := l.anyValueOf(s.Items, sub(name, "item"))
		if s.IsFree(schema.Array) {
			return l.rule("array", l.enclose("[", item, 0, Unlimited, "]"))
		}
		return l.enclose("[", item, s.MinItems, s.MaxItems, "]")
	}
	// A tuple: all of its items unless minItems describes how many, and further ones where a schema
	// for them is given.
	lo := len(s.Prefix)
	if s.MinItemsGiven {
		lo = s.MinItems
	}
	hi := len(s.Prefix)
	var further Element
	if s.Items != nil {
		further = l.value(s.Items, sub(name, "item"), false)
		hi = Unlimited
	}
	if s.MaxItems >= 0 && (hi == Unlimited || s.MaxItems < hi) {
		hi = s.MaxItems
	}
	if further.Kind == Never && hi > len(s.Prefix) {
		hi = len(s.Prefix)
	}
	if !s.MinItemsGiven && hi != Unlimited {
		lo = min(lo, hi)
	}
	if hi != Unlimited && lo > hi {
		return b.Never()
	}
	rest := b.Empty()
	if n := len(s.Prefix); hi == Unlimited || hi > n {
		more := Unlimited
		if hi != Unlimited {
			more = hi - n
		}
		rest = b.Repeat(b.Seq(l.comma(), further), max(lo-n, 0), more)
	}
	for i := len(s.Prefix) - 1; i >= 0; i-- {
		if hi != Unlimited && i >= hi {
			continue
		}
		item := l.value(s.Prefix[i], sub(name, fmt.Sprint(i)), false)
		if i > 0 {
			item = b.Seq(l.comma(), item)
		} else {
			rest = b.Seq(rest, l.ws)
		}
		rest = b.Seq(item, rest)
		if i >= lo {
			rest = b.Opt(rest)
		}
		if i%16 == 15 {
			rest = b.Rule(sub(name, "rest"), rest) // keeps the nesting of optional items flat
		}
	}
	return b.Seq(b.Lit("["), l.ws, rest, b.Lit("]"))
}

// anyValueOf is value for a schema that may be missing.
func (l *lowering) anyValueOf(s *schema.Schema, name string) Element {
	if s == nil {
		return l.anyValue()
	}
	return l.value(s, name, false)
}

// maxCountedProperties is the highest number up to which the properties of an object are counted.
// maxCountedRules bounds the rules that counting takes.
const (
	maxCountedProperties = 32
	maxCountedRules      = 2048
)

func (l *lowering) object(s *schema.Schema, name string) Element {
	b := l.b
	if s.MaxProperties >= 0 && s.MaxProperties < s.MinProperties {
		return b.Never()
	}
	declared := map[string]bool{}
	for _, p := range s.Properties {
		declared[p.Name] = true
	}
	// Properties other than the declared ones: those of patterns and additional ones or, if no
	// keyword says anything about properties, any.
	var extras []Element
	for i, p := range s.PatternProperties {
		key := l.quoted(func(c coder) Element { return l.pattern(p.Pattern.Root, c) })
		extras = append(extras,
			l.member(key, l.value(p.Schema, sub(name, fmt.Sprintf("pattern-%d", i+1)), false)))
	}
	additional := s.Additional
	if additional == nil && len(s.Properties) == 0 && len(s.PatternProperties) == 0 {
		additional = schema.Any()
	}
	if additional != nil && !additional.IsNever() {
		names := lists.Map(s.Properties, func(p schema.Property) string { return p.Name })
		value := l.anyValue()
		if !additional.IsAny() {
			value = l.value(additional, sub(name, "other"), false)
		}
		extras = append(extras, l.member(l.anyKey(names), value))
	}
	extra := b.Alt(extras...)
	if len(s.Properties) == 0 {
		extra = b.inPlace(sub(name, "kv"), extra)
		return l.enclose("{", extra, s.MinProperties, s.MaxProperties, "}")
	}
	if extra.Kind != Never {
		extra = b.Rule(sub(name, "other-kv"), extra)
	}

	m := members{l: l, name: name, extra: extra, least: s.MinProperties, most: s.MaxProperties}
	required := 0
	for _, p := range s.Properties {
		value := l.value(p.Schema, sub(name, p.Name), false)
		if value.Kind == Never {
			if p.Required {
				return b.Never()
			}
			continue
		}
		if p.Required {
			required++
		}
		m.all = append(m.all, member{p.Name, l.member(l.name(p.Name), value), p.Required})
	}
	if m.least <= required {
		m.least = 0
	}
	if m.most >= len(m.all) && extra.Kind == Never {
		m.most = -1
	}
	top := max(m.least, m.most, 1)
	if top > maxCountedProperties || top*len(m.all) > maxCountedRules {
		m.least, m.most, top = min(m.least, 1), -1, 1
	}
	m.top = top
	// Models write properties as declared; engines that force the required ones first have taught
	// some the other order.
	orders := []Element{m.build()}
	first := slices.Clone(m.all)
	slices.SortStableFunc(first, func(x, y member) int {
		switch {
		case x.required && !y.required:
			return -1
		case !x.required && y.required:
			return 1
		}
		return 0
	})
	for i := range first {
		if first[i].required != m.all[i].required {
			m.all = first
			orders = append(orders, m.build())
			break
		}
	}
	return b.Seq(b.Lit("{"), l.ws, b.Alt(orders...), b.Lit("}"))
}

func (l *lowering) member(key, value Element) Element {
	return l.b.Seq(key, l.ws, l.b.Lit(":"), l.ws, value)
}

// name matches a key.
func (l *lowering) name(key string) Element {
	if l.codec.BareKeys {
		return l.b.Lit(key)
	}
	return l.constant(ordered.Str(key))
}

type member struct {
	name     string
	kv       Element
	required bool
}

// members builds the inside of an object: members in order, optional ones left out, commas between
// them. at(i, c) matches the rest after c of the first i members; c counts up to top.
type members struct {
	l           *lowering
	name        string
	all         []member
	extra       Element // a member beyond the declared ones; Never where there are none
	least, most int     // how many members; most is -1 without a bound
	top         int
	memo        map[[2]int]Element
	optional    int // the first optional member; the rest after it is used more than once
}

func (m *members) build() Element {
	b := m.l.b
	m.memo = map[[2]int]Element{}
	m.optional = slices.IndexFunc(m.all, func(x member) bool { return !x.required })
	if m.optional < 0 {
		m.optional = len(m.all)
	} else {
		for i := range m.all {
			if weight(m.all[i].kv) > inlineWeight {
				m.all[i].kv = b.Rule(sub(m.name, m.all[i].name, "kv"), m.all[i].kv)
			}
		}
	}
	// From the end, so that long lists do not recurse.
	for i := len(m.all); i >= m.optional; i-- {
		for c := min(i, m.top); c >= min(m.optional, m.top); c-- {
			m.memo[[2]int{i, c}] = m.at(i, c)
		}
	}
	// The members before the first optional one are all there, so they make one sequence.
	if m.most >= 0 && m.optional > m.most {
		return b.Never()
	}
	parts := make([]Element, 0, m.optional+1)
	for i := range m.optional {
		parts = append(parts, m.part(i, i))
	}
	return b.Seq(append(parts, m.memo[[2]int{m.optional, min(m.optional, m.top)}])...)
}

// part matches member i after c others.
func (m *members) part(i, c int) Element {
	if c == 0 {
		return m.all[i].kv
	}
	return m.l.b.Seq(m.l.comma(), m.all[i].kv)
}

func (m *members) at(i, c int) Element {
	b := m.l.b
	if i == len(m.all) {
		return m.end(c)
	}
	part := m.part(i, c)
	next := m.memo[[2]int{i + 1, min(c+1, m.top)}]
	full := m.most >= 0 && c >= m.most
	var e Element
	switch {
	case m.all[i].required && full:
		return b.Never()
	case m.all[i].required:
		e = b.Seq(part, next)
	case full:
		e = m.memo[[2]int{i + 1, c}]
	case c == m.top:
		e = b.Seq(b.Opt(part), next)
	default:
		e = b.Alt(b.Seq(part, next), m.memo[[2]int{i + 1, c}])
	}
	if i > m.optional && weight(e) > inlineWeight {
		e = b.Rule(sub(m.name, "rest"), e)
	}
	return e
}

// end matches the text after the declared members.
func (m *members) end(c int) Element {
	b := m.l.b
	least := max(m.least-c, 0)
	most := Unlimited
	if m.most >= 0 {
		most = m.most - c
	}
	if m.extra.Kind == Never || most == 0 {
		switch {
		case least > 0:
			return b.Never()
		case c > 0:
			return m.l.ws
		}
		return b.Empty()
	}
	more := b.Seq(m.l.comma(), m.extra)
	if c > 0 {
		return b.Seq(b.Repeat(more, least, most), m.l.ws)
	}
	if most != Unlimited {
		most--
	}
	e := b.Seq(m.extra, b.Repeat(more, max(least-1, 0), most), m.l.ws)
	if least == 0 {
		e = b.Opt(e)
	}
	return e
}

// enum matches one of the values.
func (l *lowering) enum(values []ordered.Value, bare bool) Element {
	b := l.b
	var words []string
	var others []Element
	for _, v := range values {
		switch {
		case v.Kind() == ordered.String && bare:
			words = append(words, l.bareWord(v.Text()))
		case v.Kind() == ordered.String && l.codec.Quote == "":
			words = append(words, l.spellings(v.Text())...)
		case v.Kind() == ordered.Number:
			words = append(words, v.Text())
		default:
			others = append(others, l.constant(v))
		}
	}
	return b.Alt(append([]Element{b.Words(words...)}, others...)...)
}

// constant matches one value, with the usual white space inside.
func (l *lowering) constant(v ordered.Value) Element {
	b := l.b
	switch v.Kind() {
	case ordered.Null:
		return l.null()
	case ordered.Bool:
		word := fmt.Sprint(v.Bool())
		if l.codec.Style == Python {
			return b.Words(strings.ToUpper(word[:1])+word[1:], word)
		}
		return b.Lit(word)
	case ordered.Number:
		return b.Lit(v.Text())
	case ordered.String:
		if l.codec.Quote != "" {
			return b.Lit(l.codec.Quote + validText(v.Text()) + l.codec.Quote)
		}
		return b.Words(l.spellings(v.Text())...)
	}
	open, end := "[", "]"
	var parts []Element
	for i, item := range v.Items() {
		if i > 0 {
			parts = append(parts, l.comma())
		}
		parts = append(parts, l.constant(item))
	}
	if v.Kind() == ordered.Object {
		open, end = "{", "}"
		for i, m := range v.Members() {
			if i > 0 {
				parts = append(parts, l.comma())
			}
			parts = append(parts, l.member(l.name(m.Key), l.constant(m.Value)))
		}
	}
	if len(parts) > 0 {
		parts = append(parts, l.ws)
	}
	return b.Seq(b.Lit(open), l.ws, b.Seq(parts...), b.Lit(end))
}
