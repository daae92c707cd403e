package formatjson

import "github.com/goassay/assay/engine/format"

// visitor goes through the members of an object: a writer adds them, a reader sets them. The shape
// of a document is written once, below, for both.
type visitor interface {
	// since reports whether the document may have a member that is new in a version: when it is
	// read, whether it is of that version. A document that is written gets that version where the
	// member is present.
	since(version int, present bool) bool
	// check has the object refused, when it is read, where the members together are wrong.
	check(wrong func() error)
	text(key string, s *string)
	flag(key string, on *bool)
	number(key string, n *int)
	words(key string, n *uint8, words []string)
	texts(key string, s *[]string)
	marker(key string, m *format.Marker)
	markers(key string, m *[]format.Marker)
	quote(key string, q *byte)
	json(key string, text *string)
	// object visits a member that is an object, with each, where one is there: when it is written,
	// present decides, and when it is read, whether the member is.
	object(key string, present bool, each func(visitor)) bool
	// list visits the items of an array. It is given the number of items when it is written and
	// calls grow with it when it is read.
	list(key string, n int, grow func(n int), each func(i int, v visitor))
}

// The words of each kind, in its order.
var (
	reasoningModes = words[format.ReasoningMode](format.ReasoningToolsOnly)
	contentModes   = words[format.ContentMode](format.ContentWrappedWithoutCalls)
	slotKinds      = words[format.SlotKind](format.SlotNumber)
	bodyKinds      = words[format.BodyKind](format.BodyDict)
	valueStyles    = words[format.ValueStyle](format.StyleStr)
	routeKinds     = words[format.RouteKind](format.RouteDropped)
)

func words[T interface {
	~uint8
	String() string
}](last T) []string {
	all := make([]string, last+1)
	for i := range all {
		all[i] = T(i).String()
	}
	return all
}

func document(v visitor, d *Document) {
	v.texts("prefills", &d.Prefills)
	f := &d.Format
	v.text("name", &f.Name)
	v.text("header", &f.Header)
	v.texts("end", &f.End)
	v.object("reasoning", f.Reasoning != format.Reasoning{}, func(v visitor) {
		r := &f.Reasoning
		v.words("mode", (*uint8)(&r.Mode), reasoningModes)
		pair(v, &r.Pair)
		v.flag("trim", &r.Trim)
		v.text("empty", &r.Empty)
	})
	v.object("content", f.Content != format.Content{}, func(v visitor) {
		v.words("mode", (*uint8)(&f.Content.Mode), contentModes)
		pair(v, &f.Content.Pair)
		v.flag("trim", &f.Content.Trim)
	})
	list(v, "calls", &f.Calls, calls)
	list(v, "routes", &f.Routes, route)
	v.flag("undisclosed", &f.Undisclosed)
}

func pair(v visitor, p *format.Pair) {
	v.marker("open", &p.Open)
	v.marker("close", &p.Close)
}

func pairAs(v visitor, key string, p *format.Pair) {
	v.object(key, !p.IsZero(), func(v visitor) { pair(v, p) })
}

func calls(v visitor, c *format.Calls) {
	v.text("name", &c.Name)
	pairAs(v, "section", &c.Section)
	pairAs(v, "call", &c.Call)
	v.marker("separator", &c.Sep)
	v.flag("array", &c.Array)
	o := c.Object
	if o == nil {
		o = new(format.Object)
	}
	if v.object("object", c.Object != nil, func(v visitor) { object(v, o) }) {
		c.Object = o
	}
	list(v, "head", &c.Head, part)
	body(v, "body", &c.Body)
	list(v, "tail", &c.Tail, part)
	v.flag("unclosed", &c.Unclosed)
	v.flag("tentative", &c.Tentative)
}

func object(v visitor, o *format.Object) {
	list(v, "fields", &o.Fields, func(v visitor, f *format.Field) {
		v.texts("path", &f.Path)
		v.words("slot", (*uint8)(&f.Slot), slotKinds)
		v.json("const", &f.Const)
		v.flag("text", &f.Text)
		ids(v, &f.IDs)
	})
	v.flag("name_is_key", &o.NameIsKey)
	v.quote("quote", &o.Quote)
}

func part(v visitor, p *format.Part) {
	v.words("slot", (*uint8)(&p.Kind), slotKinds)
	v.marker("literal", &p.Text)
	v.texts("alternatives", &p.Alts)
	list(v, "parts", &p.Parts, part)
	v.number("base", &p.Base)
	ids(v, &p.IDs)
	list(v, "types", &p.Types, func(v visitor, t *format.TypeName) {
		v.text("word", &t.Word)
		v.flag("raw", &t.Raw)
	})
	v.flag("optional", &p.Opt)
	v.text("escapes", &p.Escapes)
}

func ids(v visitor, s *format.IDs) {
	if !v.since(2, !s.IsZero()) {
		return
	}
	v.object("ids", !s.IsZero(), func(v visitor) {
		v.text("characters", &s.Characters)
		v.number("min", &s.Min)
		v.number("max", &s.Max)
		v.check(s.Check)
	})
}

func body(v visitor, key string, b *format.Body) {
	present := b.Kind != 0 || !b.Pair.IsZero() || b.Entry != nil || !b.Sep.IsZero() ||
		b.Codec != format.Codec{} || b.Sorted || b.Item != nil
	v.object(key, present, func(v visitor) {
		v.words("kind", (*uint8)(&b.Kind), bodyKinds)
		pair(v, &b.Pair)
		list(v, "entry", &b.Entry, part)
		v.marker("separator", &b.Sep)
		v.object("codec", b.Codec != format.Codec{}, func(v visitor) {
			c := &b.Codec
			v.words("style", (*uint8)(&c.Style), valueStyles)
			v.flag("cdata", &c.CDATA)
			v.flag("entities", &c.Entity)
			v.flag("escaped", &c.Escaped)
			v.text("quote", &c.Quote)
			v.flag("nested", &c.Nested)
		})
		v.flag("sorted", &b.Sorted)
		list(v, "item", &b.Item, part)
	})
}

func route(v visitor, r *format.Route) {
	v.words("kind", (*uint8)(&r.Kind), routeKinds)
	v.marker("start", &r.Start)
	list(v, "head", &r.Head, part)
	body(v, "body", &r.Body)
	v.markers("close", &r.Close)
}

func list[T any](v visitor, key string, items *[]T, each func(visitor, *T)) {
	v.list(key, len(*items), func(n int) { *items = make([]T, n) },
		func(i int, v visitor) { each(v, &(*items)[i]) })
}
