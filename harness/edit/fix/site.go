package fix

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/jinja/edit"
	"github.com/goassay/assay/engine/jinja/flow"
)

// site is an expression of a template that may be wrapped.
type site struct {
	*edit.Node
	use   use
	quote string   // that the author uses
	keyed bool     // it reads a field that the fault is about
	keys  []string // the fields
}

// use is the purpose of a value.
type use uint8

const (
	asAny    use = iota
	asHolds      // something is looked up in it
	asList       // a loop goes through it
	asTested     // a test asks what it is
)

// wrap is a form that an expression may be given: the edits that make it so.
type wrap func(s *site) ([]Edit, bool)

// or returns the wrap "x or default".
func or(other func(s *site) string) wrap {
	return func(s *site) ([]Edit, bool) {
		switch s.Kind {
		case edit.Test, edit.Unary, edit.Compare:
			return nil, false
		}
		return s.Or(other(s)), true
	}
}

// quoted returns a text as the author quotes one.
func (s *site) quoted(text string) string { return s.quote + text + s.quote }

var (
	orText = or(func(s *site) string { return s.quoted("") })

	// orEmpty gives an empty value of the kind that is used.
	orEmpty = or(func(s *site) string {
		switch s.use {
		case asHolds:
			return "{}"
		case asList:
			return "[]"
		}
		return s.quoted("")
	})
)

// orParameters gives the schema of a function without parameters.
var orParameters = or((*site).schema)

// orSchema does so where there are none, and keeps a schema that is empty.
func orSchema(s *site) ([]Edit, bool) { return s.ifMissing(s.schema()) }

// ifMissing gives a value where there is none. The filter "default" would do it, but llama.cpp has
// none for objects.
func (s *site) ifMissing(value string) ([]Edit, bool) {
	return s.Else(value + " if " + s.Source + " is undefined"), s.Simple()
}

// schema is the schema of a function without parameters.
func (s *site) schema() string { return strings.ReplaceAll(noParameters.String(), `"`, s.quote) }

// orNone makes null of a missing value.
func orNone(s *site) ([]Edit, bool) { return s.ifMissing("none") }

// notText makes a test for iterable values fail for text.
func notText(s *site) ([]Edit, bool) {
	at := strings.LastIndex(s.Source, " is ")
	if s.Kind != edit.Test || !s.X.Simple() || at < 0 || s.Source[0] == '(' {
		return nil, false
	}
	return s.And(strings.TrimSpace(s.Source[:at]) + " is not string"), true
}

// unlessText returns the edits that leave a value as it is where it is text, and put it through a
// filter where it is not.
func (s *site) unlessText(filter string) ([]Edit, bool) {
	if !s.Simple() {
		return nil, false
	}
	return edit.Merge(s.Else(s.Source+" if "+s.Source+" is string"), s.Through(filter)), true
}

// joinTypes writes alternatives in one word.
func joinTypes(s *site) ([]Edit, bool) { return s.unlessText("join(" + s.quoted(union) + ")") }

// orTypes writes the types of the alternatives where there is no type.
func orTypes(s *site) ([]Edit, bool) {
	_, of, ok := s.Field()
	if !ok {
		return nil, false
	}
	return s.Or("(" + of.Source + ".anyOf or [])|map(attribute=" + s.quoted("type") + ")|join(" +
		s.quoted(union) + ")"), true
}

// dumped returns the value that a filter writes as JSON; false where the site is no such filter.
func (s *site) dumped() (value string, ok bool) {
	if !s.Is(edit.Filter, "tojson") || s.X == nil {
		return "", false
	}
	bar := strings.LastIndex(s.Source[:s.Off-s.From], "|")
	return strings.TrimSpace(s.Source[:max(bar, 0)]), bar >= 0
}

// asText leaves text as it is where a filter writes JSON.
func asText(s *site) ([]Edit, bool) {
	inner, ok := s.dumped()
	if !ok || s.Source[0] == '(' && s.Source[len(s.Source)-1] == ')' {
		return nil, false
	}
	return s.Else(inner + " if " + inner + " is string"), true
}

// asMembers writes a call member by member where a filter writes all of it as JSON, arguments that
// are text as they are.
func asMembers(s *site) ([]Edit, bool) {
	call, ok := s.dumped()
	if !ok || !s.X.Simple() || s.Source[0] == '(' {
		return nil, false
	}
	return s.Else(`'{"name": ' ~ ` + call + `.name|tojson ~ ', "arguments": ' ~ ` + call +
		`.arguments ~ '}' if ` + call + `.arguments is string`), true
}

// asJSON writes a value that is not text as JSON.
func asJSON(s *site) ([]Edit, bool) { return s.unlessText("tojson") }

// textOrJSON writes a value that is no text as JSON where a filter makes text of it.
func textOrJSON(s *site) ([]Edit, bool) {
	if !s.Is(edit.Filter, "string") || !s.X.Simple() {
		return nil, false
	}
	value := strings.Trim(s.Source[:strings.LastIndexByte(s.Source, '|')], "( ")
	edits := s.Else(value + " if " + value + " is string")
	return []Edit{s.Replaced(edits[0].Text + value + "|tojson" + edits[1].Text)}, true
}

// toJSON writes a value as JSON, also where it was made text.
func toJSON(s *site) ([]Edit, bool) {
	if s.Is(edit.Filter, "string") {
		return []Edit{{From: s.Off, To: s.Off + len(s.Word), Text: "tojson"}}, true
	}
	return s.Through("tojson"), s.Kind != edit.Test
}

// namesakes are words that clients write in the place of another one, by the field.
var namesakes = map[string]map[string][2]string{
	"role": {"system": {"system", "developer"}},
	"type": {"image": {"image", "image_url"}, "image_url": {"image", "image_url"}},
}

// alike asks for a word or the one that clients write in its place, where a field is compared.
func alike(s *site) ([]Edit, bool) {
	if s.Is(edit.Compare) {
		at := strings.LastIndex(s.Source, s.Word)
		in := map[string]string{"==": "in", "!=": "not in"}[s.Word]
		key, _, _ := s.X.Field()
		return []Edit{{From: s.From + at, To: s.To, Text: in + " " + s.either(key, s.Y)}}, true
	}
	if !selects(s.Node, s.keys) {
		return nil, false
	}
	last := s.Args[2]
	return []Edit{{From: s.Args[1].Off, To: last.Off + len(last.Word) + len("''"),
		Text: s.quoted("in") + ", " + s.either(s.Args[0].Content(), last)}}, true
}

// either returns a list of a word of a field and the one that clients write in its place.
func (s *site) either(key string, name *edit.Node) string {
	names := namesakes[key][name.Content()]
	return "[" + s.quoted(names[0]) + ", " + s.quoted(names[1]) + "]"
}

// asSystem writes the role of a developer as that of a system message.
func asSystem(s *site) ([]Edit, bool) {
	key, _, ok := s.Field()
	if !ok || key != "role" || !s.Simple() {
		return nil, false
	}
	return s.Else(s.quoted("system") + " if " + s.Source + " == " + s.quoted("developer")), true
}

// hasItems asks for the items of a list in place of whether there is one.
func hasItems(s *site) ([]Edit, bool) {
	value, not, ok := s.member()
	if not {
		value = "not " + value
	}
	if not && s.Slot() < edit.Tested {
		value = "(" + value + ")"
	}
	return []Edit{s.Replaced(value)}, ok
}

// notNone asks whether a member that is there has a value.
func notNone(s *site) ([]Edit, bool) {
	value, not, ok := s.member()
	return s.And(value + " is not none"), ok && !not
}

// member returns the member that a condition asks for, and whether it asks that there is none;
// false where it asks for nothing of the kind.
func (s *site) member() (value string, not, ok bool) {
	switch s.Kind {
	case edit.Test:
		not = s.Word == "none"
		value, _, ok = strings.Cut(s.Source, " is ")
	case edit.Unary:
		not = s.X.Word == "defined"
		value, _, ok = strings.Cut(s.Source, " is not ")
	case edit.Compare:
		not = s.Word == "not in"
		if _, value, ok = strings.Cut(s.Source, " in "); ok {
			value = strings.TrimSpace(value) + "." + s.X.Content()
		}
	}
	value = strings.TrimSpace(value)
	return value, not, ok && !strings.HasPrefix(value, "not ") && !strings.HasPrefix(value, "(")
}

// asked returns the expression that a condition about a field of one of the keys reads: whether it
// is there, or is a word that has a namesake.
func asked(x *edit.Node, keys []string) (read *edit.Node, ok bool) {
	nullable := func(key string) bool {
		return slices.Contains(keys, key) && (key == "tool_calls" || slices.Contains(members, key))
	}
	switch {
	case x.Is(edit.Test, "defined", "none"):
		key, _, _ := x.X.Field()
		return x.X, nullable(key)
	case x.Is(edit.Unary, "not") && x.X.Is(edit.Test):
		return asked(x.X, keys)
	case x.Is(edit.Compare, "==", "!=") && len(x.Parts) == 2:
		key, _, _ := x.X.Field()
		return x.X, slices.Contains(keys, key) && hasNamesake(key, x.Y)
	case x.Is(edit.Compare, "in", "not in") && len(x.Parts) == 2:
		return x.Y, nullable(x.X.Content()) && x.Y.Simple()
	}
	return x.X, selects(x, keys)
}

// selects reports whether a filter selects by a field of one of the keys and a word that has a
// namesake.
func selects(x *edit.Node, keys []string) bool {
	return x.Is(edit.Filter, "selectattr", "rejectattr") && len(x.Args) == 3 &&
		x.Args[1].Is(edit.Text, "equalto", "eq", "==") &&
		slices.Contains(keys, x.Args[0].Content()) && hasNamesake(x.Args[0].Content(), x.Args[2])
}

func hasNamesake(key string, x *edit.Node) bool {
	_, ok := namesakes[key][x.Content()]
	return ok
}

// root is an expression that stands in a tag for itself, with the sites in it.
type root struct {
	edit.Span
	*edit.Node
	sites []*site
}

// atlas has the roots of a template, and where names get their values from.
type atlas struct {
	*edit.Template
	keys  []string
	quote string
	roots []*root
	of    map[*edit.Node]*root // by their expressions
	known map[string][]*root   // see values
}

// survey finds the roots of a template.
func (st *state) survey(keys []string) *atlas {
	a := &atlas{Template: st.parsed(), keys: keys, of: map[*edit.Node]*root{},
		known: map[string][]*root{}}
	a.quote = quoteOf(a.Template)
	for n := range a.All() {
		if n.IsExpr() && !n.Up.IsExpr() && a.evaluated(n) {
			a.roots = append(a.roots, a.root(n))
		}
	}
	return a
}

// evaluated reports whether an expression that stands for itself has a value that may be wrapped.
func (a *atlas) evaluated(n *edit.Node) bool {
	switch up := n.Up; up.Kind {
	case edit.Output:
		return true
	case edit.If, edit.For, edit.Set:
		return n == up.X || n == up.Test
	case edit.With:
		return slices.Contains(up.Args, n)
	case edit.Macro, edit.Capture:
		return false
	}
	return n.Is(edit.Call)
}

// values returns the roots that a variable, or what a macro writes, gets its value from.
func (a *atlas) values(name string) []*root {
	all, known := a.known[name]
	if known {
		return all
	}
	for r := range a.Flow().Definitions(name) {
		value := a.Of(r.Value)
		switch {
		case value.Is(edit.Capture):
			all = append(all, a.inside(value)...)
		case value.IsExpr() && r.Kind == flow.Passed:
			if a.of[value] == nil {
				a.root(value)
			}
			all = append(all, a.of[value])
		case a.of[value] != nil:
			all = append(all, a.of[value])
		}
		if m := a.Of(r.Node); m.Is(edit.Macro) {
			all = append(all, a.inside(m)...)
		}
	}
	a.known[name] = all
	return all
}

// inside returns the roots in a statement.
func (a *atlas) inside(s *edit.Node) []*root {
	return slices.DeleteFunc(slices.Clone(a.roots), func(r *root) bool {
		return r.Span.From < s.From || r.Span.To > s.To || r.Up == s
	})
}

// quoteOf returns the quote that a template's strings have more often.
func quoteOf(t *edit.Template) string {
	double := 0
	for n := range t.All() {
		if n.Is(edit.Text) {
			if t.Text[n.Off] == '"' {
				double++
			} else {
				double--
			}
		}
	}
	if double > 0 {
		return `"`
	}
	return "'"
}

// root notes an expression with the sites in it.
func (a *atlas) root(n *edit.Node) *root {
	r := &root{Span: n.Span, Node: n}
	if n.Print.To > n.To {
		r.Span = n.Print
	}
	u := asAny
	if n.Up.Is(edit.For) && n == n.Up.X {
		u = asList
	}
	a.sites(r, n, u)
	a.of[n] = r
	return r
}

// sites adds an expression and those in it.
func (a *atlas) sites(r *root, x *edit.Node, u use) {
	known := x.To > x.From
	add := func(keyed bool) {
		r.sites = append(r.sites, &site{x, u, a.quote, keyed, a.keys})
	}
	if of, ok := asked(x, a.keys); ok && known {
		if add(true); !x.Is(edit.Compare) {
			a.sites(r, of, asAny)
		}
		return
	}
	switch {
	case !known, x.IsLiteral():
	case x.Is(edit.Test): // one that text passes, too
		if x.Word == "iterable" {
			add(a.keyedRead(x.X))
		}
	case x.Is(edit.Compare), x.Is(edit.Unary), x.Is(edit.Cut), x.Is(edit.Tuple):
	default:
		add(a.keyedRead(x))
	}
	below, first := x.Parts, asAny
	switch x.Kind {
	case edit.Member, edit.Item:
		below, first = []*edit.Node{x.X}, asHolds
	case edit.Call:
		below = slices.Concat(x.Args, x.Keywords)
		if x.X.IsAttribute() {
			below = slices.Insert(below, 0, x.X.X)
		}
	case edit.Filter:
		if x.Word == "items" || x.Word == "dictsort" {
			first = asHolds
		}
	case edit.Test:
		first = asTested
	case edit.Dict:
		below = nil
		for i := 1; i < len(x.Parts); i += 2 {
			below = append(below, x.Parts[i])
		}
	}
	for _, y := range below {
		if u = asAny; y == x.X {
			u = first
		}
		a.sites(r, y, u)
	}
}

// keyedRead reports whether an expression reads one of the keys, or a member of an item of it.
func (a *atlas) keyedRead(x *edit.Node) bool {
	key, of, ok := x.Field()
	if ok && of.Is(edit.Item) && of.Y.IsLiteral() {
		return a.keyedRead(of.X)
	}
	return ok && slices.Contains(a.keys, key)
}

// at returns the roots at a place of the text: those that have it, or of the statement that has it.
func (a *atlas) at(off int) []*root {
	var all []*root
	var near *root
	for _, r := range a.roots {
		if r.Span.From <= off && off < r.Span.To {
			all = append(all, r)
		}
		if r.Up.Off <= off && off < r.Span.To && (near == nil || r.Up.Off > near.Up.Off) {
			near = r
		}
	}
	if all == nil && near != nil {
		all = []*root{near}
	}
	return all
}

// near returns the sites that may have caused the failure at a place, the likeliest first: those
// around it, then those that the names in them get their values from.
func (a *atlas) near(off int) []*site {
	var all []*site
	seen := map[*edit.Node]bool{}
	visited := map[*root]bool{}
	level := a.at(off)
	for depth := 0; depth < 3 && len(level) > 0; depth++ {
		var next []*root
		for _, r := range level {
			if visited[r] {
				continue
			}
			visited[r] = true
			sites := slices.Clone(r.sites)
			if depth == 0 {
				slices.SortStableFunc(sites,
					func(a, b *site) int { return cmp.Compare(a.distance(off), b.distance(off)) })
			}
			for _, s := range sites {
				if !seen[s.Node] {
					seen[s.Node] = true
					all = append(all, s)
				}
			}
			for _, s := range r.sites {
				switch {
				case s.Is(edit.Name):
					next = append(next, a.values(s.Word)...)
				case s.Is(edit.Call) && s.X.Is(edit.Name):
					next = append(next, a.values(s.X.Word)...)
				case s.Is(edit.Member) && s.X.Is(edit.Name):
					next = append(next, a.values(s.X.Word+"."+s.Word)...)
				}
			}
		}
		level = next
	}
	return all
}

// distance is how far a place is from an expression; of those that have it, the smaller ones are
// nearer.
func (s *site) distance(off int) int {
	switch {
	case off < s.From:
		return s.From - off
	case off > s.To:
		return off - s.To
	}
	return (s.To - s.From) / 8
}

// keyed returns the sites that read a field that the fault is about.
func (a *atlas) keyed() []*site {
	var all []*site
	for _, r := range a.roots {
		for _, s := range r.sites {
			if s.keyed {
				all = append(all, s)
			}
		}
	}
	return all
}
