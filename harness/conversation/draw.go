package conversation

import (
	"math/rand/v2"
	"slices"

	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/ordered"
)

// drawer draws values that have a shape.
type drawer struct{ rand *rand.Rand }

const (
	deepest = 6 // how deep the values go that are drawn
	usual   = 3 // how many items a list has at most that nobody measures
)

// chance reports true in so many of a hundred cases.
func (d drawer) chance(percent int) bool { return d.rand.IntN(100) < percent }

func pick[T any](d drawer, of []T) T { return of[d.rand.IntN(len(of))] }

// value draws a value for a shape.
func (d drawer) value(s *flow.Shape, depth int) ordered.Value {
	s = s.Find()
	if d.chance(6) {
		return pick(d, odd)
	}
	var forms []func() ordered.Value
	add := func(weight int, f func() ordered.Value) {
		for range weight {
			forms = append(forms, f)
		}
	}
	if n := len(s.Texts); n > 0 {
		add(3, func() ordered.Value { return text(pick(d, s.Texts)) })
	}
	if len(s.Inside) > 0 {
		add(2, func() ordered.Value { return text(d.around(s, "")) })
	}
	if len(s.Numbers) > 0 {
		add(2, func() ordered.Value { return ordered.Int(pick(d, s.Numbers)) })
	}
	if s.Kinds&flow.Text != 0 {
		add(2, func() ordered.Value { return word })
	}
	if s.Kinds&flow.Number != 0 {
		add(1, func() ordered.Value { return ordered.Int(7 * d.rand.IntN(2)) })
	}
	if s.Kinds&flow.Bools != 0 {
		add(1, func() ordered.Value { return ordered.Boolean(d.chance(50)) })
	}
	if s.Kinds&flow.Null != 0 {
		add(1, func() ordered.Value { return ordered.Value{} })
	}
	if depth < deepest {
		if len(s.Names) > 0 {
			add(4, func() ordered.Value { return d.object(s, depth) })
		}
		if s.Values != nil || s.Kinds&flow.Members != 0 {
			add(2, func() ordered.Value { return d.keyed(s, depth) })
		}
		weight := 3
		if s.Items != nil && len(s.Items.Find().Names) > 0 {
			weight = 6 // parts, calls
		}
		if s.Items != nil || s.Kinds&flow.Items != 0 {
			add(weight, func() ordered.Value { return d.list(s, depth) })
		}
	}
	if len(forms) == 0 || d.chance(15) {
		return pick(d, []ordered.Value{word, ordered.Boolean(true), word, ordered.Boolean(false)})
	}
	return pick(d, forms)()
}

// odd are values that no template expects.
var odd = []ordered.Value{{}, text(""), ordered.Boolean(true), ordered.Boolean(false), word,
	ordered.Int(0), ordered.Int(7), list(), ordered.ObjectOf(), list(word)}

// around draws a text that has literals in it that are looked for, before, in and after others.
func (d drawer) around(s *flow.Shape, now string) string {
	all := slices.Concat(s.Inside, s.Texts)
	if now == "" || d.chance(30) {
		now = word.Text()
	}
	if len(all) == 0 {
		return now
	}
	if len(s.Begins) > 0 && len(s.Ends) > 0 && d.chance(20) {
		return pick(d, s.Begins) + now + pick(d, s.Ends)
	}
	switch d.rand.IntN(7) {
	case 5:
		return pick(d, all) + now + pick(d, all)
	case 0:
		return now + pick(d, all)
	case 1:
		return pick(d, all) + now
	case 2:
		return now + pick(d, all) + now
	case 3:
		return pick(d, all) + now + pick(d, all) + now
	case 4:
		return pick(d, all)
	}
	out := "" // all of them, in the order in which the template looks for them
	for _, literal := range all {
		out += literal + now
	}
	return out
}

// object draws an object with the members that the template asks for.
func (d drawer) object(s *flow.Shape, depth int) ordered.Value {
	var members []ordered.Member
	likely := pick(d, []int{30, 60, 90})
	for _, name := range s.Names {
		if d.chance(likely) || s.Members[name].Find().Kinds&flow.Text != 0 && d.chance(90) {
			members = append(members, ordered.MemberOf(name, d.value(s.Members[name], depth+1)))
		}
	}
	return ordered.ObjectOf(members...)
}

// keyed draws an object with keys that the template does not name.
func (d drawer) keyed(s *flow.Shape, depth int) ordered.Value {
	var members []ordered.Member
	for _, key := range []string{"bogarel", "nitasov"}[:d.rand.IntN(3)] {
		v := word
		if s.Values != nil {
			v = d.value(s.Values, depth+1)
		}
		members = append(members, ordered.MemberOf(key, v))
	}
	return ordered.ObjectOf(members...)
}

func (d drawer) list(s *flow.Shape, depth int) ordered.Value {
	n := d.rand.IntN(usual + 1)
	if len(s.Lengths) > 0 && d.chance(50) {
		n = min(pick(d, s.Lengths), 8)
	}
	items := make([]ordered.Value, n)
	for i := range items {
		if items[i] = word; s.Items != nil {
			items[i] = d.value(s.Items, depth+1)
		}
	}
	return list(items...)
}

// changed draws another value for a shape in place of one: so many of a hundred of its parts
// differ.
func (d drawer) changed(v ordered.Value, s *flow.Shape, percent, depth int) ordered.Value {
	s = s.Find()
	if depth > 1 && d.chance(percent/2) {
		return d.value(s, depth)
	}
	switch v.Kind() {
	case ordered.String:
		if d.chance(percent) && len(s.Inside)+len(s.Texts) > 0 {
			return text(d.around(s, v.Text()))
		}
	case ordered.Object:
		members := make([]ordered.Member, 0, len(v.Members())+1)
		for _, m := range v.Members() {
			in := s.Values
			if named := s.Members[m.Key]; named != nil {
				in = named
			}
			if in != nil {
				m.Value = d.changed(m.Value, in, percent, depth+1)
			}
			if in == nil || !d.chance(percent/4) {
				members = append(members, m)
			}
		}
		for _, name := range s.Names {
			there := slices.ContainsFunc(members,
				func(m ordered.Member) bool { return m.Key == name })
			if !there && d.chance(percent) {
				members = append(members, ordered.MemberOf(name, d.value(s.Members[name], depth+1)))
			}
		}
		v = ordered.ObjectOf(members...)
	case ordered.Array:
		if s.Items == nil {
			return v
		}
		items := slices.Clone(v.Items())
		only := -1 // one of them, or all
		if len(items) > 1 && d.chance(40) {
			only = d.rand.IntN(len(items))
		}
		for i, item := range items {
			if only < 0 || i == only {
				items[i] = d.changed(item, s.Items, percent, depth+1)
			}
		}
		if depth > 1 && len(items) > 1 && d.chance(percent) {
			items = items[:1]
		}
		if depth > 1 && len(items) > 0 && d.chance(percent) {
			items = append(items, d.changed(pick(d, items), s.Items, percent, depth+1))
		}
		if depth > 1 && len(s.Lengths) > 0 && d.chance(percent) {
			n := pick(d, s.Lengths)
			for len(items) < n && len(items) > 0 {
				items = append(items, pick(d, items))
			}
			items = items[:min(n, len(items))]
		}
		if depth > 1 && d.chance(percent) {
			slices.Reverse(items)
		}
		return list(items...)
	}
	return v
}

// shapeAt returns the shape at a path; nil: the template does not ask for it.
func shapeAt(s *flow.Shape, path string) *flow.Shape {
	s = s.Find()
	for _, step := range split(path) {
		var next *flow.Shape
		if _, ok := index(step); ok {
			next = s.Items
		} else if next = s.Members[step]; next == nil {
			next = s.Values
		}
		if next == nil {
			return nil
		}
		s = next.Find()
	}
	return s
}
