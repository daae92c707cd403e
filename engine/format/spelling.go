package format

import "github.com/goassay/assay/engine/lists"

// Spelling returns the part of a format that describes how reasoning, content and calls are
// spelled. It is the format without
//
//   - Header and End, which frame a turn of the chat and do not depend on its contents;
//   - the empty block of reasoning, which any model may write or leave out;
//   - the basis of markers, which is the evidence for them;
//   - the white space at the edges of markers, which a model changes freely and a parser drops
//     beside a marker (E19, E21 T1),
//     and markers and literals of nothing but white space, which are no markers then.
//
// White space inside a marker stays: a model that has learnt "</arg_key>\n<arg_value>" writes the
// line feed. Two templates whose formats have the same spelling share their cases, whatever chat
// they are framed in.
func (f Format) Spelling() Format {
	f.Header, f.End = "", nil
	f.Reasoning.Pair, f.Reasoning.Empty = f.Reasoning.Pair.bare(), ""
	f.Content.Pair = f.Content.Pair.bare()
	f.Calls = lists.Map(f.Calls, Calls.spelling)
	f.Routes = lists.Map(f.Routes, Route.spelling)
	return f
}

func (c Calls) spelling() Calls {
	c.Section, c.Call, c.Sep = c.Section.bare(), c.Call.bare(), c.Sep.bare()
	c.Head, c.Tail = bareParts(c.Head), bareParts(c.Tail)
	c.Body = c.Body.spelling()
	return c
}

func (r Route) spelling() Route {
	r.Start = r.Start.bare()
	r.Head = bareParts(r.Head)
	r.Body = r.Body.spelling()
	r.Close = lists.Map(r.Close, Marker.bare)
	return r
}

func (b Body) spelling() Body {
	b.Pair, b.Sep = b.Pair.bare(), b.Sep.bare()
	b.Entry, b.Item = bareParts(b.Entry), bareParts(b.Item)
	return b
}

// bare returns the marker without the white space at its edges.
func (m Marker) bare() Marker { return Marker{Text: m.Text} }

func (p Pair) bare() Pair { return Pair{p.Open.bare(), p.Close.bare()} }

func bareParts(parts []Part) []Part {
	var out []Part
	for _, p := range parts {
		if p.Text = p.Text.bare(); p.Kind != SlotLit || p.Text.Text != "" {
			out = append(out, p)
		}
	}
	return out
}
