package format

// Literals returns the format with change applied to each literal that it writes: markers, headers,
// ends, words. Keys and constants of JSON objects are no literals.
func (f Format) Literals(change func(string) string) Format {
	c := changer(change)
	f.Header = c(f.Header)
	f.End = list(f.End, c)
	f.Reasoning.Pair = c.pair(f.Reasoning.Pair)
	f.Reasoning.Empty = c(f.Reasoning.Empty)
	f.Content.Pair = c.pair(f.Content.Pair)
	f.Calls = list(f.Calls, c.calls)
	f.Routes = list(f.Routes, func(r Route) Route {
		r.Start, r.Head, r.Body, r.Close = c.marker(r.Start), list(r.Head, c.part), c.body(r.Body),
			list(r.Close, c.marker)
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
	s.Head, s.Body, s.Tail = list(s.Head, c.part), c.body(s.Body), list(s.Tail, c.part)
	return s
}

func (c changer) part(p Part) Part {
	p.Text, p.Alts, p.Parts = c.marker(p.Text), list(p.Alts, c), list(p.Parts, c.part)
	p.Types = list(p.Types, func(t TypeName) TypeName { return TypeName{c(t.Word), t.Raw} })
	return p
}

func (c changer) body(b Body) Body {
	b.Pair, b.Entry, b.Sep, b.Item = c.pair(b.Pair), list(b.Entry, c.part), c.marker(b.Sep),
		list(b.Item, c.part)
	b.Codec.Quote = c(b.Codec.Quote)
	return b
}

func list[T any](in []T, change func(T) T) []T {
	if in == nil {
		return nil
	}
	out := make([]T, len(in))
	for i, v := range in {
		out[i] = change(v)
	}
	return out
}
