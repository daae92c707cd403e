package fix

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/jinja/syntax"
	"github.com/goassay/assay/harness/check/repair"
)

// site is an expression of a template that may be wrapped.
type site struct {
	x     syntax.Expr
	text  string // as the author wrote it
	span  syntax.Span
	place place
	use   use
	quote string   // that the author uses
	keyed bool     // it reads a field that the fault is about
	keys  []string // the fields
	at    int      // where the tag begins that it stands in; -1: inside another statement
}

// place is the kind of expressions that may stand where another one does.
type place uint8

const (
	operand place = iota // a primary, or anything in parentheses
	chained              // the same, and a filter needs parentheses, too
	test                 // anything but an inline if
	whole                // anything
)

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

// around puts text before and after an expression.
func (s *site) around(before, after string) []Edit {
	return []Edit{{From: s.span.From, To: s.span.From, Text: before},
		{From: s.span.To, To: s.span.To, Text: after}}
}

// loose reports whether an operator after the expression would bind to its end alone.
func (s *site) loose() bool {
	_, isCond := s.x.(*syntax.Cond)
	return isCond && s.text[0] != '('
}

// or returns the wrap "x or default".
func or(other func(s *site) string) wrap {
	return func(s *site) ([]Edit, bool) {
		switch s.x.(type) {
		case *syntax.Test, *syntax.Unary, *syntax.Compare:
			return nil, false
		}
		before, after := "", " or "+other(s)
		if s.loose() {
			before, after = "(", ")"+after
		}
		if s.place < test {
			before, after = "("+before, after+")"
		}
		return s.around(before, after), true
	}
}

// filtered returns edits that put a filter after an expression.
func (s *site) filtered(filter string) []Edit {
	before, after := "", "|"+filter
	switch s.x.(type) {
	case *syntax.Name, *syntax.Attr, *syntax.Item, *syntax.Call, *syntax.Filter, *syntax.List,
		*syntax.Dict:
	default:
		if s.text[0] != '(' {
			before, after = "(", ")"+after
		}
	}
	if s.place == chained {
		before, after = "("+before, after+")"
	}
	return s.around(before, after)
}

// chosen returns edits that make an expression the last one of an inline if.
func (s *site) chosen(condition string) []Edit {
	before, after := condition+" else ", ""
	if s.place < whole {
		before, after = "("+before, ")"
	}
	return s.around(before, after)
}

func quoted(text string) func(s *site) string {
	return func(s *site) string { return s.quote + text + s.quote }
}

var (
	orText = or(quoted(""))

	// orEmpty gives an empty value of the kind that is used.
	orEmpty = or(func(s *site) string {
		switch s.use {
		case asHolds:
			return "{}"
		case asList:
			return "[]"
		}
		return quoted("")(s)
	})
)

// orParameters gives the schema of a function without parameters.
var orParameters = or((*site).schema)

// orSchema does so where there are none, and keeps a schema that is empty.
func orSchema(s *site) ([]Edit, bool) {
	_, isTest := s.x.(*syntax.Test)
	return s.filtered("default(" + s.schema() + ")"), !isTest
}

// schema is the schema of a function without parameters.
func (s *site) schema() string { return strings.ReplaceAll(noParameters.String(), `"`, s.quote) }

// orNone makes null of a missing value.
func orNone(s *site) ([]Edit, bool) {
	_, isTest := s.x.(*syntax.Test)
	return s.filtered("default(none)"), !isTest
}

// notText makes a test for iterable values fail for text.
func notText(s *site) ([]Edit, bool) {
	t, ok := s.x.(*syntax.Test)
	at := strings.LastIndex(s.text, " is ")
	if !ok || !repair.Simple(t.X) || at < 0 || s.text[0] == '(' {
		return nil, false
	}
	before, after := "", " and "+strings.TrimSpace(s.text[:at])+" is not string"
	if s.place < test {
		before, after = "(", after+")"
	}
	return s.around(before, after), true
}

// joinTypes writes alternatives in one word.
func joinTypes(s *site) ([]Edit, bool) {
	if !repair.Simple(s.x) {
		return nil, false
	}
	edits := s.filtered("join(" + s.quote + union + s.quote + ")")
	return merged(s.chosen(s.text+" if "+s.text+" is string"), edits), true
}

// orTypes writes the types of the alternatives where there is no type.
func orTypes(s *site) ([]Edit, bool) {
	_, of, ok := field(s.x)
	if !ok {
		return nil, false
	}
	holder := s.text[:len(s.text)-s.tail(of)]
	return or(func(s *site) string {
		return "(" + holder + ".anyOf or [])|map(attribute=" + s.quote + "type" + s.quote +
			")|join(" +
			s.quote + union + s.quote + ")"
	})(s)
}

// tail is the number of bytes of the text after the expression whose field is read.
func (s *site) tail(of syntax.Expr) int {
	if n, ok := s.x.(*syntax.Attr); ok {
		return len(s.text) - (n.Offset() - s.span.From)
	}
	if n, ok := s.x.(*syntax.Item); ok {
		return len(s.text) - (n.Offset() - s.span.From)
	}
	return 0
}

// asText leaves text as it is where a filter writes JSON.
func asText(s *site) ([]Edit, bool) {
	f, ok := s.x.(*syntax.Filter)
	if !ok || f.X == nil || f.Name != "tojson" {
		return nil, false
	}
	bar := strings.LastIndex(s.text[:f.Offset()-s.span.From], "|")
	if bar < 0 || s.text[0] == '(' && s.text[len(s.text)-1] == ')' {
		return nil, false
	}
	inner := strings.TrimSpace(s.text[:bar])
	return s.chosen(inner + " if " + inner + " is string"), true
}

// asMembers writes a call member by member where a filter writes all of it as JSON, arguments that
// are text as they are.
func asMembers(s *site) ([]Edit, bool) {
	f, ok := s.x.(*syntax.Filter)
	if !ok || f.X == nil || f.Name != "tojson" || !repair.Simple(f.X) {
		return nil, false
	}
	bar := strings.LastIndex(s.text[:f.Offset()-s.span.From], "|")
	if bar < 0 || s.text[0] == '(' {
		return nil, false
	}
	call := strings.TrimSpace(s.text[:bar])
	return s.chosen(`'{"name": ' ~ ` + call + `.name|tojson ~ ', "arguments": ' ~ ` + call +
		`.arguments ~ '}' if ` + call + `.arguments is string`), true
}

// asJSON writes a value that is not text as JSON.
func asJSON(s *site) ([]Edit, bool) {
	if !repair.Simple(s.x) {
		return nil, false
	}
	return merged(s.chosen(s.text+" if "+s.text+" is string"), s.filtered("tojson")), true
}

// textOrJSON writes a value that is no text as JSON where a filter makes text of it.
func textOrJSON(s *site) ([]Edit, bool) {
	f, ok := s.x.(*syntax.Filter)
	if !ok || f.Name != "string" || !repair.Simple(f.X) {
		return nil, false
	}
	value := strings.Trim(s.text[:strings.LastIndexByte(s.text, '|')], "( ")
	edits := s.chosen(value + " if " + value + " is string")
	return []Edit{s.span.Replaced(edits[0].Text + value + "|tojson" + edits[1].Text)}, true
}

// toJSON writes a value as JSON, also where it was made text.
func toJSON(s *site) ([]Edit, bool) {
	if _, isTest := s.x.(*syntax.Test); isTest {
		return nil, false
	}
	if f, ok := s.x.(*syntax.Filter); ok && f.Name == "string" {
		at := f.Offset()
		return []Edit{{From: at, To: at + len(f.Name), Text: "tojson"}}, true
	}
	return s.filtered("tojson"), true
}

// namesakes are words that clients write in the place of another one, by the field.
var namesakes = map[string]map[string][2]string{
	"role": {"system": {"system", "developer"}},
	"type": {"image": {"image", "image_url"}, "image_url": {"image", "image_url"}},
}

// alike asks for a word or the one that clients write in its place, where a field is compared.
func alike(s *site) ([]Edit, bool) {
	switch x := s.x.(type) {
	case *syntax.Compare:
		at := strings.LastIndex(s.text, x.Ops[0].Op)
		in := map[string]string{"==": "in", "!=": "not in"}[x.Ops[0].Op]
		return []Edit{{From: s.span.From + at, To: s.span.To,
			Text: in + " " + s.either(x.X, x.Ops[0].X)}}, true
	case *syntax.Filter:
		args := x.Args.Args
		if !selects(x, s.keys) {
			return nil, false
		}
		last := args[2].(*syntax.Const)
		return []Edit{{From: args[1].Offset(), To: last.Offset() + len(last.Text) + len("''"),
			Text: quoted("in")(s) + ", " + s.either(args[0], last)}}, true
	}
	return nil, false
}

// either returns a list of a word and the one that clients write in its place.
func (s *site) either(of, name syntax.Expr) string {
	key, _, ok := field(of)
	if !ok {
		key = word(of)
	}
	names := namesakes[key][word(name)]
	return "[" + quoted(names[0])(s) + ", " + quoted(names[1])(s) + "]"
}

// asSystem writes the role of a developer as that of a system message.
func asSystem(s *site) ([]Edit, bool) {
	key, _, ok := field(s.x)
	if !ok || key != "role" || !repair.Simple(s.x) {
		return nil, false
	}
	return s.chosen(quoted("system")(s) + " if " + s.text + " == " + quoted("developer")(s)), true
}

// hasItems asks for the items of a list in place of whether there is one.
func hasItems(s *site) ([]Edit, bool) {
	value, not, ok := s.member()
	if not {
		value = "not " + value
	}
	if not && s.place < test {
		value = "(" + value + ")"
	}
	return []Edit{s.span.Replaced(value)}, ok
}

// notNone asks whether a member that is there has a value.
func notNone(s *site) ([]Edit, bool) {
	value, not, ok := s.member()
	before, after := "", " and "+value+" is not none"
	if s.place < test {
		before, after = "(", after+")"
	}
	return s.around(before, after), ok && !not
}

// member returns the member that a condition asks for, and whether it asks that there is none;
// false where it asks for nothing of the kind.
func (s *site) member() (value string, not, ok bool) {
	switch x := s.x.(type) {
	case *syntax.Test:
		not = x.Name == "none"
		value, _, ok = strings.Cut(s.text, " is ")
	case *syntax.Unary:
		not = x.X.(*syntax.Test).Name == "defined"
		value, _, ok = strings.Cut(s.text, " is not ")
	case *syntax.Compare:
		not = x.Ops[0].Op == "not in"
		if _, value, ok = strings.Cut(s.text, " in "); ok {
			value = strings.TrimSpace(value) + "." + word(x.X)
		}
	}
	value = strings.TrimSpace(value)
	return value, not, ok && !strings.HasPrefix(value, "not ") && !strings.HasPrefix(value, "(")
}

// asked returns the expression that a condition about a field of one of the keys reads: whether it
// is there, or is a word that has a namesake.
func asked(x syntax.Expr, keys []string) (read syntax.Expr, ok bool) {
	nullable := func(x syntax.Expr) bool {
		k, _, ok := field(x)
		return ok && slices.Contains(keys, k) && (k == "tool_calls" || slices.Contains(members, k))
	}
	switch x := x.(type) {
	case *syntax.Test:
		return x.X, (x.Name == "defined" || x.Name == "none") && nullable(x.X)
	case *syntax.Unary:
		if t, ok := x.X.(*syntax.Test); ok && x.Op == "not" {
			return asked(t, keys)
		}
	case *syntax.Compare:
		if len(x.Ops) != 1 {
			return nil, false
		}
		switch op := x.Ops[0]; op.Op {
		case "==", "!=":
			key, _, _ := field(x.X)
			return x.X, slices.Contains(keys, key) && hasNamesake(key, op.X)
		case "in", "not in":
			key := word(x.X)
			return op.X, (key == "tool_calls" || slices.Contains(members, key)) &&
				slices.Contains(keys, key) && repair.Simple(op.X)
		}
	case *syntax.Filter:
		return x.X, selects(x, keys)
	}
	return nil, false
}

// selects reports whether a filter selects by a field of one of the keys and a word that has a
// namesake.
func selects(x *syntax.Filter, keys []string) bool {
	args := x.Args.Args
	return (x.Name == "selectattr" || x.Name == "rejectattr") && len(args) == 3 &&
		slices.Contains([]string{"equalto", "eq", "=="}, word(args[1])) &&
		slices.Contains(keys, word(args[0])) && hasNamesake(word(args[0]), args[2])
}

func hasNamesake(key string, x syntax.Expr) bool {
	_, ok := namesakes[key][word(x)]
	return ok
}

// word is the text of a constant; "" where an expression is none.
func word(x syntax.Expr) string {
	if c, ok := x.(*syntax.Const); ok && c.Kind == syntax.String {
		return c.Text
	}
	return ""
}

// merged joins the edits around an expression, the first ones outside.
func merged(outer, inner []Edit) []Edit {
	return []Edit{{From: outer[0].From, To: outer[0].To, Text: outer[0].Text + inner[0].Text},
		{From: inner[1].From, To: inner[1].To, Text: inner[1].Text + outer[1].Text}}
}

// field returns the name of the field that an expression reads, and the expression that has it.
func field(x syntax.Expr) (key string, of syntax.Expr, ok bool) {
	switch x := x.(type) {
	case *syntax.Attr:
		return x.Name, x.X, true
	case *syntax.Item:
		if c, isConst := x.Index.(*syntax.Const); isConst && c.Kind == syntax.String {
			return c.Text, x.X, true
		}
	case *syntax.Call: // x.get("field")
		if a, isAttr := x.Func.(*syntax.Attr); isAttr && a.Name == "get" && len(x.Args.Args) > 0 {
			if c, isConst := x.Args.Args[0].(*syntax.Const); isConst && c.Kind == syntax.String {
				return c.Text, a.X, true
			}
		}
	}
	return "", nil, false
}

// root is an expression that stands in a tag for itself, with the sites in it.
type root struct {
	span  syntax.Span
	stmt  syntax.Stmt
	sites []*site
}

// atlas has the roots of a template, and where names get their values from.
type atlas struct {
	st    *state
	spans *syntax.Spans
	keys  []string
	quote string
	model *flow.Model
	roots []*root
	of    map[syntax.Expr]*root // by their expressions
	known map[string][]*root    // see values
}

// survey finds the roots of a template.
func (st *state) survey(keys []string) *atlas {
	tree, spans := st.parsed()
	a := &atlas{st: st, spans: spans, keys: keys, quote: quoteOf(st.text, tree),
		model: flow.New(tree), of: map[syntax.Expr]*root{}, known: map[string][]*root{}}
	a.stmts(tree.Body)
	return a
}

// values returns the roots that a variable, or what a macro writes, gets its value from.
func (a *atlas) values(name string) []*root {
	all, known := a.known[name]
	if known {
		return all
	}
	for r := range a.model.Definitions(name) {
		switch value := r.Value.(type) {
		case *syntax.AssignBlock:
			all = append(all, a.inside(value)...)
		case syntax.Expr:
			switch {
			case r.Kind == flow.Passed:
				all = append(all, a.argument(value, r.At.Stmt))
			case a.of[value] != nil:
				all = append(all, a.of[value])
			}
		}
		if m, ok := r.Node.(*syntax.Macro); ok {
			all = append(all, a.inside(m)...)
		}
	}
	a.known[name] = all
	return all
}

// inside returns the roots in a statement.
func (a *atlas) inside(s syntax.Stmt) []*root {
	span := a.spans.Stmt(s)
	return slices.DeleteFunc(slices.Clone(a.roots), func(r *root) bool {
		return r.span.From < span.From || r.span.To > span.To || r.stmt == s
	})
}

// argument returns an argument of a call as a root of its own.
func (a *atlas) argument(x syntax.Expr, s syntax.Stmt) *root {
	if a.of[x] == nil {
		one := &root{span: a.spans.Expr(x), stmt: s}
		a.sites(one, x, whole)
		for _, s := range one.sites {
			s.at = -1
		}
		a.of[x] = one
	}
	return a.of[x]
}

// quoteOf returns the quote that a template's strings have more often.
func quoteOf(text string, tree *syntax.Template) string {
	double := 0
	for n := range tree.All() {
		if c, ok := n.(*syntax.Const); ok && c.Kind == syntax.String {
			if text[c.Offset()] == '"' {
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

func (a *atlas) stmts(body []syntax.Stmt) {
	for _, s := range body {
		a.stmt(s)
	}
}

func (a *atlas) stmt(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.Output:
		for _, p := range s.Parts {
			a.root(s, p, whole)
		}
		return
	case *syntax.If:
		a.root(s, s.Test, test)
		a.stmts(s.Body)
		for _, e := range s.Elif {
			a.stmt(e)
		}
		a.stmts(s.Else)
		return
	case *syntax.For:
		r := a.root(s, s.Iter, test)
		for _, one := range r.sites {
			if one.x == s.Iter {
				one.use = asList
			}
		}
		if s.Test != nil {
			a.root(s, s.Test, test)
		}
		a.stmts(s.Body)
		a.stmts(s.Else)
		return
	case *syntax.Assign:
		a.root(s, s.Value, whole)
		return
	case *syntax.AssignBlock:
		a.stmts(s.Body)
		return
	case *syntax.Macro:
		a.stmts(s.Body)
		return
	case *syntax.With:
		for _, v := range s.Values {
			a.root(s, v, whole)
		}
		a.stmts(s.Body)
		return
	}
	for _, c := range syntax.Children(s) {
		switch c := c.(type) {
		case syntax.Stmt:
			a.stmt(c)
		case syntax.Expr:
			if _, isCall := c.(*syntax.Call); isCall {
				a.root(s, c, operand)
			}
		}
	}
}

func (a *atlas) root(s syntax.Stmt, x syntax.Expr, p place) *root {
	r := &root{span: a.spans.Expr(x), stmt: s}
	if tag := a.spans.Print(x); tag.To > r.span.To {
		r.span = tag
	}
	a.sites(r, x, p)
	a.roots = append(a.roots, r)
	a.of[x] = r
	at := -1
	switch tags := a.spans.Tags(s); {
	case a.spans.Print(x).From < r.span.From || a.st.text[r.span.From] == '{':
		at = a.spans.Print(x).From
	case len(tags) > 0:
		at = tags[0].From
	}
	for _, one := range r.sites {
		one.at = at
	}
	return r
}

// sites adds an expression and those in it.
func (a *atlas) sites(r *root, x syntax.Expr, p place) {
	span := a.spans.Expr(x)
	add := span.To > span.From
	read := x
	if of, ok := asked(x, a.keys); ok && add {
		r.sites = append(r.sites, &site{x: x, text: a.st.text[span.From:span.To], span: span,
			place: p, quote: a.quote, keyed: true, keys: a.keys})
		if _, isCompare := x.(*syntax.Compare); !isCompare {
			a.sites(r, of, operand)
		}
		return
	}
	switch x := x.(type) {
	case *syntax.Test: // one that text passes, too
		add, read = add && x.Name == "iterable", x.X
	case *syntax.Const, *syntax.Compare, *syntax.Unary, *syntax.Slice, *syntax.Tuple:
		add = false
	}
	if add {
		r.sites = append(r.sites,
			&site{x: x, text: a.st.text[span.From:span.To], span: span, place: p,
				quote: a.quote, keyed: a.keyedRead(read), keys: a.keys})
	}
	below := func(y syntax.Expr, p place, u ...use) {
		if y == nil {
			return
		}
		n := len(r.sites)
		a.sites(r, y, p)
		if len(u) > 0 && len(r.sites) > n && r.sites[n].x == y {
			r.sites[n].use = u[0]
		}
	}
	args := func(of *syntax.Args) {
		for _, y := range of.Args {
			below(y, whole)
		}
		for _, k := range of.Keywords {
			below(k.Value, whole)
		}
	}
	switch x := x.(type) {
	case *syntax.Attr:
		below(x.X, chained, asHolds)
	case *syntax.Item:
		below(x.X, chained, asHolds)
	case *syntax.Call:
		if f, ok := x.Func.(*syntax.Attr); ok {
			below(f.X, chained)
		}
		args(&x.Args)
	case *syntax.Filter:
		if x.Name == "items" || x.Name == "dictsort" {
			below(x.X, operand, asHolds)
		} else {
			below(x.X, operand)
		}
		args(&x.Args)
	case *syntax.Test:
		below(x.X, operand, asTested)
		args(&x.Args)
	case *syntax.List:
		for _, y := range x.Items {
			below(y, whole)
		}
	case *syntax.Dict:
		for _, pair := range x.Items {
			below(pair.Value, whole)
		}
	case *syntax.Tuple:
		for _, y := range x.Items {
			below(y, whole)
		}
	default:
		for _, c := range syntax.Children(x) {
			if y, ok := c.(syntax.Expr); ok {
				below(y, operand)
			}
		}
	}
}

// keyedRead reports whether an expression reads one of the keys, or a member of an item of it.
func (a *atlas) keyedRead(x syntax.Expr) bool {
	key, of, ok := field(x)
	if item, isItem := of.(*syntax.Item); ok && isItem {
		if c, isConst := item.Index.(*syntax.Const); isConst && c.Kind != syntax.String {
			return a.keyedRead(item.X)
		}
	}
	return ok && slices.Contains(a.keys, key)
}

// at returns the roots at a place of the text: those that have it, or of the statement that has it.
func (a *atlas) at(off int) []*root {
	var all []*root
	for _, r := range a.roots {
		if r.span.From <= off && off < r.span.To {
			all = append(all, r)
		}
	}
	if all == nil {
		for _, r := range a.roots {
			if r.stmt.Offset() <= off && off < r.span.To {
				all = append(all, r)
			}
		}
		slices.SortStableFunc(
			all,
			func(a, b *root) int { return cmp.Compare(b.stmt.Offset(), a.stmt.Offset()) },
		)
		all = all[:min(len(all), 1)]
	}
	return all
}

// near returns the sites that may have caused the failure at a place, the likeliest first: those
// around it, then those that the names in them get their values from.
func (a *atlas) near(off int) []*site {
	var all []*site
	seen := map[syntax.Expr]bool{}
	add := func(sites []*site) {
		for _, s := range sites {
			if !seen[s.x] {
				seen[s.x] = true
				all = append(all, s)
			}
		}
	}
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
				slices.SortStableFunc(
					sites,
					func(a, b *site) int { return cmp.Compare(a.distance(off), b.distance(off)) },
				)
			}
			add(sites)
			for _, s := range r.sites {
				switch x := s.x.(type) {
				case *syntax.Name:
					next = append(next, a.values(x.Name)...)
				case *syntax.Call:
					if of, ok := x.Func.(*syntax.Name); ok {
						next = append(next, a.values(of.Name)...)
					}
				case *syntax.Attr:
					if of, ok := x.X.(*syntax.Name); ok {
						next = append(next, a.values(of.Name+"."+x.Name)...)
					}
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
	case off < s.span.From:
		return s.span.From - off
	case off > s.span.To:
		return off - s.span.To
	}
	return (s.span.To - s.span.From) / 8
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
