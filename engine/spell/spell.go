// Package spell writes a message as a format has it, from the [format.Format] alone: the second
// proof of an analysis (E28).
//
// # Model
//
// [Of] returns a [Spelling]: every text that the format allows for the message's turn, from after
// the header on. [Spelling.String] is the first of them, [Spelling.Match] reports whether a turn is
// one of them, and if not, the place where it departs and the text that the format wants there. A
// parser is loose, since models are; a spelling is not. Literals are matched to the byte, so that a
// marker which took in the end of the turn, or lacks a byte that the template writes, spells
// another text than the template does, whatever the parser makes of it.
//
// # Freedom
//
// A format says nothing of some bytes of a turn. These are free, and nothing else is:
//
//   - White space at the edges of markers: any run of it, or none. Templates vary it with the text
//     before it, models vary it at will, and both parser and grammar take any (E19, E21 T1). White
//     space inside a marker is the marker's.
//   - White space between the tokens of JSON and of Python literals, and the escapes of a character
//     in a string: a format keeps values,
//     not how a serializer sets them. The order of keys is not free: it is that of the message, or sorted where the format says so.
//   - Which characters of an escaped text are written as entities, and by which of their names: a
//     template escapes the five of HTML, or those
//     that matter in its place.
//   - CDATA around a raw string, where the format has it: a template writes it only around strings
//     that need it.
//   - Ids that the message does not have, words and numbers that mean nothing to the format: any.
//   - A block without reasoning before an answer that has none, open and close or the close alone,
//     before a call the open alone; content between its markers or no content at all where there is
//     none; the marks around arguments where there are none: there or not. Templates write such
//     empty parts to show the model that it left them out, and the parser reads them as nothing
//     (E21 T3).
//   - The order of reasoning and content, and of content and calls (E21 T2); where content comes
//     first, the separator of calls may stand between: some formats write it before the next part
//     of a message.
//   - The end of the turn, which a template may leave to the next message, and the text after it:
//     neither is the model's text.
//
// # Ends
//
// No marker holds an end text of the format, nor the close of content: the model stops there, or
// has closed its content. Only a marker that begins with one and goes on is right, since a turn may
// have further messages. Calls that begin as content does may close as it does, too.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package spell

import (
	"fmt"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
)

// Spelling is all the texts that a format allows for one message.
type Spelling struct{ root node }

// Of returns the spelling of a message. It fails where the format cannot spell it: it has no place
// for one of its parts, or contradicts itself. Arguments must be JSON objects.
func Of(f format.Format, m chat.Message) (*Spelling, error) {
	s := speller{f: f}
	for _, c := range m.ToolCalls {
		args, err := ordered.ParseString(c.Arguments)
		if err != nil || args.Kind() != ordered.Object {
			return nil, fmt.Errorf("the arguments of %s are no "+
				"JSON object: %s", c.Name, c.Arguments)
		}
		s.calls = append(s.calls, call{c.Name, c.ID, args})
	}
	if err := s.ends(); err != nil {
		return nil, err
	}
	turn := s.turn(m.Reasoning, m.Content)
	if s.err != nil {
		return nil, s.err
	}
	var ends alt
	for _, end := range f.End {
		if text := strings.Trim(end, format.Space); text != "" {
			ends = append(ends, lit(text))
		}
	}
	for _, r := range f.Routes {
		for _, m := range r.Close {
			ends = append(ends, lit(m.Text))
		}
	}
	return &Spelling{seq{turn, space(""), append(ends, finish{})}}, nil
}

// String returns the first text of the spelling, up to and with the end of the turn.
func (s *Spelling) String() string {
	var b strings.Builder
	s.root.print(&b)
	return b.String()
}

// Mismatch is where a turn departs from a spelling.
type Mismatch struct {
	Turn string
	At   int      // byte offset in the turn, from 0
	Want []string // the texts that the format could have there, for people
}

// excerpt bounds how much of a turn an error shows, in bytes.
const excerpt = 60

func (m *Mismatch) Error() string {
	before, rest := source.CutFront(m.Turn[:m.At], excerpt), m.Turn[m.At:]
	if rest == "" {
		return fmt.Sprintf("the template's turn ends after %q, where "+
			"the format has %s", before, strings.Join(m.Want, " or "))
	}
	return fmt.Sprintf("after %q the template writes %q, where "+
		"the format has %s", before, source.Cut(rest, excerpt), strings.Join(m.Want, " or "))
}

// Match returns the length in bytes of the text of the spelling with which a turn begins, the end
// of the turn included; where it begins with none, a [*Mismatch].
func (s *Spelling) Match(turn string) (n int, err error) {
	m := &matcher{text: turn}
	if s.root.match(m, 0, func(at int) bool { n = at; return true }) {
		return n, nil
	}
	return 0, &Mismatch{Turn: turn, At: m.far, Want: m.want}
}

// call is a call to spell.
type call struct {
	name, id string
	args     ordered.Value
}

type speller struct {
	f     format.Format
	calls []call
	err   error
}

func (s *speller) fail(text string, args ...any) node {
	if s.err == nil {
		s.err = fmt.Errorf(text, args...)
	}
	return seq{}
}

// ends checks that no marker holds an end text or the close of content, but at its beginning. In a
// format of routes the end of a part may end the turn as well.
func (s *speller) ends() error {
	if len(s.f.Routes) > 0 {
		return nil
	}
	for _, m := range s.markers() {
		for _, end := range s.f.End {
			if end = strings.Trim(end, format.Space); end != "" && holds(m.Text, end) {
				return fmt.Errorf("the marker %q holds the end of the turn, %q, "+
					"where a model stops", m.Text, end)
			}
		}
	}
	for _, c := range s.f.Calls {
		for _, m := range literals(c) {
			if close := s.f.Content.Close.Text; close != "" && holds(m.Text, close) &&
				!s.closesAlike(c, m) {
				return fmt.Errorf("the marker %q holds the close of content, %q", m.Text, close)
			}
		}
	}
	return nil
}

// closesAlike reports whether a marker is the last one of a call and ends with the close of
// content, where the two begin alike as well: they are parts of a kind.
func (s *speller) closesAlike(c format.Calls, m format.Marker) bool {
	if len(c.Head) == 0 || len(c.Tail) == 0 || !c.Call.IsZero() {
		return false
	}
	first, last := c.Head[0].Text.Text, c.Tail[len(c.Tail)-1].Text
	return first != "" && strings.HasPrefix(s.f.Content.Open.Text, first) && m == last &&
		strings.HasSuffix(last.Text, s.f.Content.Close.Text)
}

// holds reports whether a marker is a text, or has it after its beginning.
func holds(marker, text string) bool {
	return marker == text || strings.LastIndex(marker, text) > 0
}

// markers returns the literals of everything but routes.
func (s *speller) markers() (all []format.Marker) {
	for _, c := range s.f.Calls {
		all = append(all, literals(c)...)
	}
	r, c := s.f.Reasoning, s.f.Content
	return append(all, r.Open, r.Close, c.Open, c.Close)
}

// literals returns those of a spelling of calls.
func literals(c format.Calls) []format.Marker {
	all := []format.Marker{c.Section.Open, c.Section.Close, c.Call.Open, c.Call.Close, c.Sep,
		c.Body.Open, c.Body.Close, c.Body.Sep}
	for _, parts := range [][]format.Part{c.Head, c.Body.Entry, c.Body.Item, c.Tail} {
		for _, p := range parts {
			if p.Kind == format.SlotLit {
				all = append(all, p.Text)
			}
		}
	}
	return all
}

// turn spells all that stands between the header and the end of the turn.
func (s *speller) turn(reasoning, content string) node {
	if len(s.f.Routes) > 0 {
		return s.routes(reasoning, content)
	}
	thought, text := s.reasoning(reasoning), s.content(content, reasoning != "")
	said := alt{seq{thought, space(""), text}}
	switch r := s.f.Reasoning; {
	case reasoning == "" || content == "":
	case r.Close.Text == s.f.Content.Open.Text: // one marker is both
		said = alt{seq{marker(r.Open), raw{text: reasoning}, text}}
	default:
		said = append(said, seq{text, space(""), thought})
	}
	if len(s.calls) == 0 {
		return said
	}
	if len(s.f.Calls) == 0 {
		return s.fail("the format spells no calls")
	}
	var ways alt
	for i := range s.f.Calls {
		ways = append(ways, s.withCalls(&s.f.Calls[i], reasoning, thought, said, text)...)
	}
	return ways
}

// withCalls spells a turn with calls: thought is its reasoning, text its content, said both.
func (s *speller) withCalls(c *format.Calls, reasoning string, thought, said, text node) alt {
	calls, r := s.section(c), s.f.Reasoning
	ways := alt{
		seq{said, space(""), calls},
		seq{said, marker(c.Sep), calls},
		seq{thought, space(""), calls, space(""), text},
	}
	unclosed := seq{marker(r.Open), raw{text: reasoning}}
	// Where the opening of content closes reasoning, a call closes it, too; and a call closes a
	// block that has nothing in it (E16).
	if r.Close.Text != "" && (reasoning == "" || r.Close.Text == s.f.Content.Open.Text) {
		ways = append(ways, seq{unclosed, space(""), calls})
	}
	// the calls stand in the block, and its close is theirs
	if r.Close.Text != "" && r.Close.Text == c.Section.Close.Text {
		ways = append(ways, seq{unclosed, space(""), calls, space(""), text},
			seq{text, space(""), unclosed, space(""), calls})
	}
	return ways
}

func (s *speller) reasoning(text string) node {
	r := s.f.Reasoning
	switch {
	case text != "" && r.Close.Text == "":
		return s.fail("the format spells no reasoning")
	case text != "":
		return seq{marker(r.Open), raw{text: text}, marker(r.Close)}
	case r.Close.Text == "":
		return seq{}
	}
	return alt{seq{}, seq{marker(r.Open), marker(r.Close)}, marker(r.Close)}
}

func (s *speller) content(text string, reasoned bool) node {
	c := s.f.Content
	if !c.Wraps(reasoned, len(s.calls) > 0) {
		if text == "" {
			return space("")
		}
		return seq{space(c.Open.Before), raw{text: text}}
	}
	between := seq{marker(c.Open), raw{text: text}, marker(c.Close)}
	if text == "" {
		return alt{seq{}, between}
	}
	return between
}

// section spells all calls of the turn.
func (s *speller) section(c *format.Calls) node {
	all := seq{marker(c.Section.Open)}
	if c.Array {
		all = append(all, space(""), lit("["), space(""))
	}
	for i, call := range s.calls {
		if i > 0 {
			if c.Array && c.Sep.Text == "" {
				all = append(all, space(""), lit(","), space(" "))
			} else {
				all = append(all, marker(c.Sep))
			}
		}
		all = append(all, marker(c.Call.Open), s.call(c, call, i), marker(c.Call.Close))
	}
	if c.Array {
		all = append(all, space(""), lit("]"))
	}
	if c.Unclosed && len(s.calls) == 1 {
		return append(all, alt{marker(c.Section.Close), seq{}})
	}
	return append(all, marker(c.Section.Close))
}

func (s *speller) call(c *format.Calls, one call, n int) node {
	if c.Object != nil {
		return object(c.Object, c.Body.Sorted, one, n)
	}
	return seq{s.parts(c.Head, one, n), s.body(&c.Body, one.args), s.parts(c.Tail, one, n)}
}

// parts spells the parts before or after the arguments of a call, or the head of a route.
func (s *speller) parts(parts []format.Part, one call, n int) node {
	var all seq
	for _, p := range parts {
		node := s.part(p, one, n)
		if p.Opt {
			node = alt{node, seq{}}
		}
		all = append(all, node)
	}
	return all
}

func (s *speller) part(p format.Part, one call, n int) node {
	switch p.Kind {
	case format.SlotLit:
		return literal(p)
	case format.SlotName:
		return raw{text: p.Escaped(one.name)}
	case format.SlotID:
		if len(p.Parts) == 0 && one.id != "" {
			return raw{text: one.id}
		} else if len(p.Parts) > 0 {
			made := s.parts(p.Parts, one, n)
			if one.id != "" {
				return alt{raw{text: one.id}, made}
			}
			return made
		}
		return word{}
	case format.SlotIndex:
		return lit(fmt.Sprint(p.Base + n))
	case format.SlotNumber:
		return digits{}
	case format.SlotRecipient, format.SlotWord:
		return word{}
	}
	return s.fail("a part of a call is a slot for its %s, which only arguments have", p.Kind)
}

// literal is a literal with the texts that mean the same.
func literal(p format.Part) node {
	ways := alt{marker(p.Text)}
	for _, other := range p.Alts {
		ways = append(ways, marker(format.Mark(other)))
	}
	return ways
}

// body spells the arguments of a call.
func (s *speller) body(b *format.Body, args ordered.Value) node {
	if b.Sorted {
		args = sorted(args)
	}
	var inner node
	switch b.Kind {
	case format.BodyNone:
		return seq{}
	case format.BodyJSON:
		return seq{marker(b.Open), space(""), value{v: args}, space(""), marker(b.Close)}
	case format.BodyDict:
		whole := value{v: args, lenient: true, bare: true, token: b.Codec.Quote}
		if b.Open.Text == "{" { // the braces are the dict's own
			return seq{space(b.Open.Before), whole}
		}
		return seq{marker(b.Open), whole, marker(b.Close)}
	default:
		inner = s.entries(b, args)
	}
	around := seq{marker(b.Open), inner, marker(b.Close)}
	if len(args.Members()) == 0 && b.Kind == format.BodyTagged {
		return alt{around, space("")}
	}
	return around
}

// entries spells the members of an object, one after the other.
func (s *speller) entries(b *format.Body, args ordered.Value) node {
	var all seq
	for i, m := range args.Members() {
		if i > 0 {
			all = append(all, marker(b.Sep))
		}
		for _, p := range b.Entry {
			all = append(all, s.entryPart(b, p, m))
		}
	}
	return all
}

func (s *speller) entryPart(b *format.Body, p format.Part, m ordered.Member) node {
	var n node
	switch p.Kind {
	case format.SlotLit:
		n = literal(p)
	case format.SlotKey:
		n = raw{text: p.Escaped(m.Key)}
	case format.SlotType:
		var words alt
		for _, t := range p.Types {
			if t.Raw == (m.Value.Kind() == ordered.String) {
				words = append(words, lit(t.Word))
			}
		}
		if words == nil {
			return s.fail("the format has no word for the type of %s", m.Value.Kind())
		}
		n = words
	case format.SlotValue:
		n = s.value(b, m.Value)
	case format.SlotWord:
		n = word{}
	case format.SlotNumber:
		n = digits{}
	default:
		return s.fail("an argument has a slot for the call's %s", p.Kind)
	}
	if p.Opt {
		return alt{n, seq{}}
	}
	return n
}

// value spells the value of an argument.
func (s *speller) value(b *format.Body, v ordered.Value) node {
	c := b.Codec
	switch {
	case c.Nested && v.Kind() == ordered.Object:
		return s.entries(b, v)
	case c.Nested && v.Kind() == ordered.Array:
		var all seq
		for _, item := range v.Items() {
			for _, p := range b.Item {
				all = append(all, s.entryPart(b, p, ordered.Member{Value: item}))
			}
		}
		return all
	case v.Kind() == ordered.String && (c.Style == format.StyleRaw || c.Style == format.StyleStr):
		text := raw{text: v.Text(), entity: c.Entity}
		if c.CDATA {
			return alt{text, seq{lit("<![CDATA["), raw{text: v.Text()}, lit("]]>")}}
		}
		return text
	}
	return value{v: v, lenient: c.Style == format.StylePython || c.Style == format.StyleStr ||
		b.Kind == format.BodyDict,
		token: c.Quote, escaped: c.Escaped}
}

// routes spells the parts of a turn in a format that addresses each of them.
func (s *speller) routes(reasoning, content string) node {
	type part struct {
		kind format.RouteKind
		body func(*format.Route) node
		one  call
	}
	text := func(s string) func(*format.Route) node {
		return func(*format.Route) node { return raw{text: s} }
	}
	var thought, said, called []part
	if reasoning != "" {
		thought = []part{{kind: format.RouteReasoning, body: text(reasoning)}}
	}
	if content != "" {
		said = []part{{kind: format.RouteContent, body: text(content)}}
	}
	for _, c := range s.calls {
		called = append(called,
			part{format.RouteCall, func(r *format.Route) node { return s.body(&r.Body, c.args) },
				c})
	}
	one := func(parts []part) node {
		var all seq
		for i, p := range parts {
			var ways alt
			for k := range s.f.Routes {
				r := &s.f.Routes[k]
				if r.Kind != p.kind {
					continue
				}
				way := seq{s.parts(r.Head, p.one, i), p.body(r)}
				if i > 0 {
					way = append(seq{marker(r.Start)}, way...)
				}
				if i < len(parts)-1 && len(r.Close) > 0 {
					var closes alt
					for _, m := range r.Close {
						closes = append(closes, marker(m))
					}
					way = append(way, append(closes, seq{})) // a further start ends the part, too
				}
				ways = append(ways, way)
			}
			if ways == nil {
				return s.fail("the format has no route for a part of the message")
			}
			all = append(all, ways)
		}
		return all
	}
	ways := alt{one(append(append(thought[:len(thought):len(thought)], said...), called...))}
	if len(said) > 0 && len(called) > 0 {
		ways = append(ways, one(append(append(thought[:len(thought):len(thought)], called...),
			said...)))
	}
	return ways
}
