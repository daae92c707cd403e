package analysis

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/internal/observe"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
)

// awkward holds the characters that codecs escape.
const awkward = "vq<b>&'\"\nvq"

// samples are values of every JSON type (A2). The first is the string that others are compared
// with.
var samples = [...]struct {
	kind  string
	value ordered.Value
}{
	{"string", ordered.Str(observe.ValueNeedle)},
	{"integer", ordered.Num("7341")},
	{"number", ordered.Num("73.41")},
	{"boolean", ordered.Boolean(true)},
	{"null", ordered.Value{}},
	{"object", ordered.Pairs("vqinner", "vqdeep")},
	{"array", ordered.ArrayOf(ordered.Str("vqitema"), ordered.Str("vqitemb"))},
}

// argumentsPass finds how a call's arguments are written; a part of the pass of calls.
type argumentsPass struct{ *callsPass }

// arguments reads how a call's arguments are written: as a whole by a codec, or one by one (T5, T6,
// A1, A2).
func (a *argumentsPass) arguments(c *format.Calls, one spelling) {
	first, last := argsRange(one.core)
	if first < 0 {
		a.found("A1", "no arguments written")
		return
	}
	for _, at := range one.core[first : last+1] {
		if at.Path == "" && (at.Kind == observe.Structure || at.Kind == observe.ArgKey ||
			at.Kind == observe.ArgValue) {
			c.Body.Kind = format.BodyJSON
			if at.Codec == python && !a.called.Probe.Text {
				c.Body.Codec.Style = format.StylePython
			}
			a.gave("A1", "args codec", format.Observed, "arguments are one JSON object")
			return
		}
	}
	a.tagged(c, one)
}

// entry is one argument in a rendering: the literal before it, its atoms, the literal after it.
type entry struct {
	lead  string
	core  []observe.Atom
	trail string
}

// entries cuts the arguments of a call into one entry per key.
func entries(s spelling, keys ...string) ([]entry, bool) {
	var found []entry
	for _, key := range keys {
		first, last := -1, -1
		for i, at := range s.core {
			if at.Path == "."+key || strings.HasPrefix(at.Path, "."+key+".") ||
				strings.HasPrefix(at.Path, "."+key+"[") {
				if first < 0 {
					first = i
				}
				last = i
			}
		}
		if first < 0 {
			return nil, false
		}
		e := entry{core: s.core[first : last+1]}
		if first > 0 && s.core[first-1].Kind == observe.Literal {
			e.lead = s.core[first-1].Text
		} else if first == 0 {
			e.lead = s.lead
		}
		if last+1 < len(s.core) && s.core[last+1].Kind == observe.Literal {
			e.trail = s.core[last+1].Text
		} else if last+1 == len(s.core) {
			e.trail = s.trail
		}
		found = append(found, e)
	}
	return found, true
}

// argued renders the call probe with other arguments.
func (a *callsPass) argued(args ...ordered.Member) (spelling, bool) {
	with := func(p *observe.Probe) { p.Calls = a.observer.CallsWith(1, args...) }
	t := turn{observation: a.observe(a.called.Probe.With(with))}
	if !t.shown(observe.Name) {
		return spelling{}, false
	}
	var ok bool
	if t.body, ok = a.bodyOf(t.tail); !ok {
		return spelling{}, false
	}
	s, ok := a.spellings(t, 1)
	if !ok {
		return spelling{}, false
	}
	return s[0], true
}

// sortedKeys finds out whether keys that are given in another order are written in alphabetical
// order (T5).
func (a *argumentsPass) sortedKeys(c *format.Calls) {
	s, ok := a.argued(ordered.MemberOf(observe.KeyNeedles[1], ordered.Str(observe.ValueNeedle)),
		ordered.MemberOf(observe.KeyNeedles[0], ordered.Str(observe.ValueNeedle)))
	if !ok {
		return
	}
	first := slices.IndexFunc(s.core,
		func(at observe.Atom) bool { return at.Kind == observe.ArgKey })
	c.Body.Sorted = first >= 0 && s.core[first].Path == "."+observe.KeyNeedles[0]
	if c.Body.Sorted {
		a.gave("T5", "keys", format.Observed, "keys are sorted")
	}
}

// tagged reads arguments that are written one by one.
func (a *argumentsPass) tagged(c *format.Calls, one spelling) {
	b := &c.Body
	b.Kind = format.BodyTagged
	pair, ok := a.argued(ordered.MemberOf(observe.KeyNeedles[0], ordered.Str(observe.ValueNeedle)),
		ordered.MemberOf(observe.KeyNeedles[1], ordered.Str(observe.ValueNeedle)))
	if !ok {
		a.found("T5", "two arguments are not written")
		return
	}
	es, ok := entries(pair, observe.KeyNeedles[:]...)
	if !ok {
		a.found("T5", "two arguments are not written one after the other")
		return
	}
	if first, last := argsRange(pair.core); countersIn(pair.core[first:last+1]) > 0 {
		a.unread("a number that the template computes is written with every argument")
		return
	}
	lead, between, behind := es[0].lead, es[1].lead, es[1].trail
	tag := closingTag(es[0].core)
	if !strings.HasPrefix(between, tag) || !strings.HasPrefix(behind, tag) {
		tag = ""
	}
	if quote := lastQuote(es[0]); tag == "" && quote != "" && strings.HasPrefix(between, quote) &&
		strings.HasPrefix(behind, quote) {
		tag = quote
	}
	open, sep, close := divide(lead, between[len(tag):], behind[len(tag):], a.open)
	close = tag + close
	core := es[0].core
	q := a.quote(es[0])
	if q != "" {
		close = strings.TrimPrefix(close, q)
		core = withoutQuote(core, q)
		sep = strings.TrimPrefix(sep, q)
	}
	if b.Codec.Quote = q; q == "'" || q == `"` {
		b.Codec.Quote = "" // quotes of a literal, written by hand
	}
	b.Sep = format.Mark(sep)
	b.Entry = a.entryParts(open, core, close)
	a.valueCodec(c, es[0])
	if q != b.Codec.Quote {
		// The quotes are the template's, and no codec: strings are in the same language as the
		// other values.
		if b.Codec.Style = format.StylePython; a.pythonic() < 0 {
			b.Codec.Style = format.StyleJSON
		}
		a.unescaped = true
		a.gave("A2", "codec", format.Observed, "strings stand between %q without escapes", q)
	}
	a.headSuffix(c, strings.TrimSuffix(lead, open), q)
	if b.Codec.Quote != "" && b.Kind != format.BodyDict && b.Codec.Style == format.StyleRaw {
		b.Codec.Style = format.StyleJSON // but for the quotes, values are literals
	} else if b.Codec.Quote != "" && b.Codec.Style == format.StyleStr {
		b.Codec.Style = format.StylePython
	}
	if number, ok := a.sampled(samples[1].value); ok && b.Codec.CDATA &&
		!inCDATA(number.aroundValue()) {
		b.Entry = withoutCDATA(b.Entry)
		a.gave("A2", "arg codec", format.Observed, "strings alone are in CDATA sections")
	}
	a.gave("T5", "arg_separator", format.Observed, "separator %q", sep)
	if b.Kind == format.BodyKwargs && b.Sep.Text == "" {
		// a template that forgets to separate keyword arguments does not mean that the model does
		b.Sep = format.Mark(", ")
		a.gave("T5", "arg_separator", format.Assumed, "separator %q taken for granted "+
			"between keyword arguments", b.Sep.Full())
	}
	if i := attribute(b.Entry, format.SlotKey); i >= 0 {
		if s, ok := a.argued(ordered.MemberOf(escapable, ordered.Str(observe.ValueNeedle))); ok {
			b.Entry[i].Escapes = entities(observe.Text(s.core))
		}
	}
	a.gave("A1", "args arg codec", format.Observed, "argument %v, codec %+v", b.Entry, b.Codec)
}

// escapable is a name or a key with the characters that markup escapes, each between letters.
const escapable = `Vqa&Vqb<Vqc>Vqd"Vqe'Vqf`

// attribute returns the index of the part of a kind that is the value of an attribute, ="..."; -1
// if there is none.
func attribute(parts []format.Part, kind format.SlotKind) int {
	i := slices.IndexFunc(parts, func(p format.Part) bool { return p.Kind == kind })
	if i < 1 || i+1 >= len(parts) || !strings.HasSuffix(parts[i-1].Text.Full(), `="`) ||
		!strings.HasPrefix(parts[i+1].Text.Full(), `"`) {
		return -1
	}
	return i
}

// entities returns the entities that stand for characters of an escapable text, as a list with
// spaces.
func entities(text string) string {
	_, text, _ = strings.Cut(text, "Vqa")
	var found []string
	for _, after := range []string{"Vqb", "Vqc", "Vqd", "Vqe", "Vqf"} {
		written, rest, ok := strings.Cut(text, after)
		if !ok {
			return ""
		}
		if text = rest; len(written) > 1 && len(html.UnescapeString(written)) == 1 {
			found = append(found, written)
		}
	}
	return strings.Join(found, " ")
}

// headSuffix places the text between the name and the first argument, and the text after the last
// one. Where a call without arguments has them as well, or they are no brackets, they belong to the
// call; else they enclose the arguments (T6).
func (a *argumentsPass) headSuffix(c *format.Calls, suffix, quote string) {
	b := &c.Body
	close := c.Call.Close.Full()
	// After the last value stand the entry's close and the tail's or the call's.
	if len(c.Tail) == 0 {
		close = withoutEntryClose(strings.TrimPrefix(close, quote), b)
	} else if c.Tail[0].Kind == format.SlotLit {
		if rest := withoutEntryClose(strings.TrimPrefix(c.Tail[0].Text.Full(), quote),
			b); rest != "" {
			c.Tail[0] = format.Lit(rest)
		} else {
			c.Tail = c.Tail[1:]
		}
	}
	open := strings.TrimRight(suffix, format.Space)
	for _, pair := range [...]string{"{}", "()", "[]"} {
		shut := strings.TrimLeft(close, format.Space)
		if keyed := len(b.Entry) > 0 && b.Entry[0].Kind == format.SlotKey; keyed &&
			marked(b.Entry) && pair != "()" {
			// the head and the tail have the brackets: the entries are no members of an object
			continue
		}
		if strings.HasSuffix(open, pair[:1]) && strings.HasPrefix(shut, pair[1:]) {
			suffix = open[:len(open)-1]
			close = shut[1:]
			b.Pair = format.Pair{Open: format.Marker{Text: pair[:1]},
				Close: format.Marker{Text: pair[1:]}}
			a.gave("T6", "args_start args_end", format.Observed, "arguments between %q and %q",
				pair[:1], pair[1:])
			switch {
			case marked(b.Entry): // brackets around entries that have markers of their own
			case pair == "()":
				b.Kind = format.BodyKwargs
			default:
				b.Kind = format.BodyDict
			}
		}
	}
	bare, ok := a.argued()
	if first, _ := argsRange(bare.core); ok && first < 0 && b.Pair.IsZero() && !onlySpace(suffix) {
		shared := snapEnd(source.CommonPrefix(suffix, bare.trail), suffix, bare.trail)
		if container := suffix[len(shared):]; countMarkers(container) > 0 {
			ps, rest := cutPieces(close, len(pieces(container)))
			suffix, close = shared, rest
			b.Pair = format.Pair{Open: format.Mark(container), Close: format.Mark(ps)}
			a.gave("T6", "args_start args_end", format.Observed, "arguments between %q and %q",
				container, ps)
		}
	}
	c.Call.Close = format.Mark(close)
	// The head ends with the literal before the first argument: put the rest of it there.
	if n := len(c.Head); n > 0 && c.Head[n-1].Kind == format.SlotLit &&
		strings.HasPrefix(c.Head[n-1].Text.Full(), suffix) {
		c.Head = c.Head[:n-1]
	}
	if suffix != "" {
		c.Head = append(c.Head, format.Lit(suffix))
	}
}

// marked reports whether an entry begins or ends with a literal, or has a marker between key and
// value, so that it is more than a key and a value.
func marked(entry []format.Part) bool {
	n := len(entry)
	return n > 0 && (entry[0].Kind == format.SlotLit || entry[n-1].Kind == format.SlotLit ||
		slices.ContainsFunc(entry,
			func(p format.Part) bool {
				return p.Kind == format.SlotLit && countMarkers(p.Text.Full()) > 0
			}))
}

// closingTag returns how the tag ends that an entry ends with, where its key is written twice: as
// the one that it begins with, which is the literal after the first key.
func closingTag(core []observe.Atom) string {
	first := slices.IndexFunc(core, func(at observe.Atom) bool { return at.Kind == observe.ArgKey })
	if first < 0 || first == len(core)-1 || core[len(core)-1].Kind != observe.ArgKey {
		return ""
	}
	head, _ := cutPieces(observe.After(core, first), 1)
	return head
}

// lastQuote returns the quote directly before an entry's value, which the one after the value
// closes.
func lastQuote(e entry) string {
	lead, _ := e.aroundValue()
	if strings.HasSuffix(lead, `"`) || strings.HasSuffix(lead, "'") {
		return lead[len(lead)-1:]
	}
	return ""
}

// withoutEntryClose takes an entry's close off the start of a call's close.
func withoutEntryClose(close string, b *format.Body) string {
	if n := len(b.Entry); n > 0 && b.Entry[n-1].Kind == format.SlotLit {
		if rest, ok := strings.CutPrefix(close, b.Entry[n-1].Text.Full()); ok {
			return rest
		}
		if rest, ok := strings.CutPrefix(close,
			strings.TrimRight(b.Entry[n-1].Text.Full(), format.Space)); ok {
			return rest
		}
	}
	return close
}

// entryParts turns an entry into parts: literals, keys, one value.
func (a *argumentsPass) entryParts(open string, core []observe.Atom, close string) []format.Part {
	var parts []format.Part
	lit := func(text string) {
		if text == "" {
			return
		}
		if n := len(parts); n > 0 && parts[n-1].Kind == format.SlotLit {
			parts[n-1] = format.Lit(parts[n-1].Text.Full() + text)
			return
		}
		parts = append(parts, format.Lit(text))
	}
	lit(open)
	for _, at := range core {
		switch at.Kind {
		case observe.ArgKey:
			parts = append(parts, format.Part{Kind: format.SlotKey})
		case observe.ArgValue, observe.Structure:
			if n := len(parts); n == 0 || parts[n-1].Kind != format.SlotValue {
				parts = append(parts, format.Part{Kind: format.SlotValue})
			}
		case observe.Literal:
			lit(at.Text)
		default:
			a.unread(fmt.Sprintf("%q of the conversation stands among "+
				"an argument's markers", at.Text))
		}
	}
	lit(close)
	return parts
}

// sampled renders one argument of a value and returns its entry.
func (a *callsPass) sampled(v ordered.Value) (entry, bool) {
	s, ok := a.argued(ordered.MemberOf(observe.KeyNeedles[0], v))
	if !ok {
		return entry{}, false
	}
	es, ok := entries(s, observe.KeyNeedles[0])
	if !ok {
		return entry{}, false
	}
	return es[0], true
}

// beforeValue returns the literal before an entry's value and the one after it, inside the entry.
func (e entry) aroundValue() (lead, trail string) {
	first, last := -1, -1
	for i, at := range e.core {
		if at.Kind == observe.ArgValue || at.Kind == observe.Structure {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return "", ""
	}
	if first > 0 {
		lead = e.core[first-1].Text
	}
	trail = e.trail
	if last+1 < len(e.core) {
		trail = e.core[last+1].Text
	}
	return lead, trail
}

// quote compares a string with a number (A2): a token that stands on both sides of the string alone
// is its quote.
func (a *argumentsPass) quote(text entry) string {
	number, ok := a.sampled(samples[1].value)
	if !ok {
		return ""
	}
	lead, trail := text.aroundValue()
	bare, _ := number.aroundValue()
	q, ok := strings.CutPrefix(lead, bare)
	if !ok || q == "" || !strings.HasPrefix(trail, q) {
		return ""
	}
	return q
}

// withoutQuote returns an entry's atoms without the quotes around its value.
func withoutQuote(core []observe.Atom, q string) []observe.Atom {
	core = slices.Clone(core)
	for i := range core {
		if core[i].Kind == observe.Literal {
			core[i].Text = strings.TrimSuffix(strings.TrimPrefix(core[i].Text, q), q)
		}
	}
	return core
}

// valueCodec finds how values are written and escaped (A2).
func (a *argumentsPass) valueCodec(c *format.Calls, text entry) {
	codec := &c.Body.Codec
	style := func(e entry) (jinja.Codec, bool) {
		for _, at := range e.core {
			if at.Kind == observe.Structure || at.Kind == observe.ArgValue {
				if at.Kind == observe.Structure || at.Codec != plain {
					return at.Codec, true
				}
			}
		}
		return plain, false
	}
	codec.Style = format.StyleRaw
	switch written, _ := style(text); written {
	case jinja.JSON:
		codec.Style = format.StyleJSON
	case python:
		if slices.ContainsFunc(text.core,
			func(at observe.Atom) bool { return at.Kind == observe.Structure }) {
			codec.Style = format.StylePython
		}
	case jinja.HTML:
		codec.Entity = true
	}
	if a.pythonic() > 0 {
		switch codec.Style {
		case format.StyleRaw:
			codec.Style = format.StyleStr
		case format.StyleJSON: // of strings alone, and JSON's strings are Python's
			codec.Style = format.StylePython
		}
	}
	if e, ok := a.sampled(ordered.Str(awkward)); ok {
		lead, trail := e.aroundValue()
		codec.CDATA = inCDATA(lead, trail)
		written := observe.Text(e.core)
		if n := len(c.Body.Entry); strings.Contains(written, awkward) &&
			(lastQuote(e) != "" || n > 0 && c.Body.Entry[n-1].Kind == format.SlotValue) {
			a.unescaped = true
		}
		codec.Entity = codec.Entity ||
			strings.Contains(written, "&lt;") && !strings.Contains(written, "<b>")
	}
	if e, ok := a.sampled(samples[5].value); ok && codec.Entity {
		codec.Escaped = strings.Contains(observe.Text(e.core), "&#34;")
	}
	a.types(c)
	a.nested(c)
}

// pythonic returns how many of a boolean, null and a list are written as Python writes them, less
// those that are written as JSON: one alone decides nothing, since templates care for single
// values.
func (a *argumentsPass) pythonic() int {
	votes := 0
	for _, v := range []struct {
		sample       int
		python, json string
	}{{3, "True", "true"}, {4, "None", "null"}, {6, "'vqitema'", `"vqitema"`}} {
		if e, ok := a.sampled(samples[v.sample].value); ok {
			// a word that stands for a boolean is the template's own
			written := observe.Text(e.core) + e.trail
			votes += boolInt(strings.Contains(written,
				v.python)) - boolInt(strings.Contains(written, v.json))
		}
	}
	return votes
}

// The markers of literal text in a value (XML 1.0, 2.7).
const openCDATA, shutCDATA = "<![CDATA[", "]]>"

// inCDATA reports whether the literals around a value make it a CDATA section.
func inCDATA(lead, trail string) bool {
	return strings.HasSuffix(lead, openCDATA) && strings.HasPrefix(trail, shutCDATA)
}

// withoutCDATA returns an entry without the section around its value, which the codec says.
func withoutCDATA(entry []format.Part) []format.Part {
	var out []format.Part
	for _, p := range entry {
		if p.Kind == format.SlotLit {
			text := strings.TrimPrefix(strings.TrimSuffix(p.Text.Full(), openCDATA), shutCDATA)
			if text == "" {
				continue
			}
			p = format.Lit(text)
		}
		out = append(out, p)
	}
	return out
}

// types compares the literal before values of different types: a word that goes with the type is a
// slot (A2).
func (a *argumentsPass) types(c *format.Calls) {
	var leads []string
	var kinds []string
	for _, s := range samples {
		e, ok := a.sampled(s.value)
		if !ok {
			continue
		}
		lead, _ := e.aroundValue()
		if s.kind == "string" {
			lead = strings.TrimSuffix(lead, c.Body.Codec.Quote)
		}
		leads, kinds = append(leads, lead), append(kinds, s.kind)
	}
	if len(leads) < 2 || !slices.ContainsFunc(leads, func(l string) bool { return l != leads[0] }) {
		return
	}
	head := snapEnd(source.CommonPrefix(leads...), leads...)
	rests := lists.Map(leads, func(l string) string { return l[len(head):] })
	foot := snapStart(source.CommonSuffix(rests...), rests...)
	slot := format.Part{Kind: format.SlotType}
	for i, r := range rests {
		word := strings.TrimSuffix(r, foot)
		if word == "" || countMarkers(word) > 0 || strings.ContainsAny(word, format.Space) {
			return // the literals differ by more than a word: nesting, not a type
		}
		name := format.TypeName{Word: word, Raw: kinds[i] == "string"}
		if !slices.Contains(slot.Types, name) {
			slot.Types = append(slot.Types, name)
		}
	}
	for i, p := range c.Body.Entry {
		if p.Kind == format.SlotLit && p.Text.Full() == leads[0] {
			c.Body.Entry = slices.Replace(c.Body.Entry, i, i+1, format.Lit(head), slot,
				format.Lit(foot))
			a.gave("A2", "arg", format.Observed, "types %v", slot)
			return
		}
	}
}

// nested finds out whether objects and arrays are spelled as entries and items (A2): then literals
// of the template stand between the parts of such a value, and no codec wrote it.
func (a *argumentsPass) nested(c *format.Calls) {
	e, ok := a.sampled(samples[5].value)
	if !ok || !slices.ContainsFunc(e.core,
		func(at observe.Atom) bool {
			return at.Kind == observe.ArgKey && at.Path != "."+observe.KeyNeedles[0]
		}) {
		return
	}
	if slices.ContainsFunc(e.core,
		func(at observe.Atom) bool { return at.Kind == observe.Structure }) {
		return
	}
	c.Body.Codec.Nested = c.Body.Kind == format.BodyTagged && c.Body.Codec.Quote == ""
	if !c.Body.Codec.Nested {
		return
	}
	array, ok := a.sampled(samples[6].value)
	if !ok {
		return
	}
	var at []int
	for i, x := range array.core {
		if x.Kind == observe.ArgValue {
			at = append(at, i)
		}
	}
	if len(at) != 2 || at[0] == 0 {
		return
	}
	lead, between := array.core[at[0]-1].Text, observe.After(array.core, at[0])
	behind := observe.After(array.core, at[1])
	open, _, close := divide(lead, between, behind, a.open)
	c.Body.Item = []format.Part{format.Lit(open), {Kind: format.SlotValue}, format.Lit(close)}
	a.gave("A2", "item codec", format.Observed, "values nest; items between %q and %q", open, close)
}
