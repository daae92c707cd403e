package format

import "github.com/goassay/assay/engine/lists"

// Literals returns the format with change applied to each literal that it writes: markers, headers,
// ends, words. Keys and constants of JSON objects are no literals.
func (f Format) Literals(change func(string) string) Format {
	c := changer(change)
	f.Header = c(f.Header)
	f.End = lists.Map(f.End, c)
	f.Reasoning.Pair = c.pair(f.Reasoning.Pair)
	f.Reasoning.Empty = c(f.Reasoning.Empty)
	f.Content.Pair = c.pair(f.Content.Pair)
	f.Calls = lists.Map(f.Calls, c.calls)
	f.Routes = lists.Map(f.Routes, func(r Route) Route {
		r.Start, r.Head, r.Body, r.Close = c.marker(r.Start), lists.Map(r.Head, c.part),
			c.body(r.Body), lists.Map(r.Close, c.marker)
		return r
	})
	return f
}

// changer is a change of a literal.
type changer func(string) string

func (c changer) marker(m Marker) Marker { return Marker{m.Before, c(m.Text), m.After} }

func (c changer) pair(p Pair) Pair { return Pair{c.marker(p.Open), c.marker(p.Close)} }

func (c changer) calls(s Calls) Calls {
	s.Section, s.Call, s.Sep = c.pair(s.Section), c.pair(s.Call), c.marker(s.Sep)
	s.Head, s.Body, s.Tail = lists.Map(s.Head, c.part), c.body(s.Body), lists.Map(s.Tail, c.part)
	return s
}

func (c changer) part(p Part) Part {
	p.Text, p.Alts, p.Parts = c.marker(p.Text), lists.Map(p.Alts, c), lists.Map(p.Parts, c.part)
	p.Types = lists.Map(p.Types, func(t TypeName) TypeName { return TypeName{c(t.Word), t.Raw} })
	return p
}

func (c changer) body(b Body) Body {
	b.Pair, b.Entry, b.Sep, b.Item = c.pair(b.Pair), lists.Map(b.Entry, c.part), c.marker(b.Sep),
		lists.Map(b.Item, c.part)
	b.Codec.Quote = c(b.Codec.Quote)
	return b
}
