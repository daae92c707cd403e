package conversation

import (
	"slices"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/words"
)

// declare chooses the tools of a conversation.
func (d *deriver) declare() {
	switch d.choose("tools", "none", "some", "one", "every type", "bare", "no parameters",
		"no properties", "strict", "many") {
	case "some":
		d.tools = d.someTools(2)
	case "one":
		d.tools = d.someTools(1)
	case "every type":
		d.tools = []ordered.Value{d.everyType(), d.someTools(1)[0]}
	case "bare":
		d.tools = []ordered.Value{d.tool(), d.tool()}
	case "no parameters":
		d.tools = []ordered.Value{d.tool("description", d.Remark())}
	case "no properties":
		d.tools = []ordered.Value{d.tool("description", d.Remark(), "parameters", parameters(nil))}
	case "strict":
		strict := d.someTools(1)[0]
		d.tools = []ordered.Value{strict.With("function", strict.At("function").
			With("strict", ordered.Boolean(true)))}
	case "many":
		d.tools = d.someTools(30)
		d.size += 20
	}
}

// tool declares a function, with more fields as [ordered.Pairs] takes them.
func (d *deriver) tool(more ...any) ordered.Value {
	return ordered.Pairs("type", "function",
		"function", ordered.Pairs(append([]any{"name", d.Function()}, more...)...))
}

// parameters is the schema of a function's parameters, whose names and schemas take turns.
func parameters(required []string, properties ...any) ordered.Value {
	v := ordered.Pairs("type", "object", "properties", ordered.Pairs(properties...))
	if required != nil {
		v = v.With("required", ordered.ListOf(required, text))
	}
	return v
}

// typed is the schema of a parameter.
func (d *deriver) typed(kind string, more ...any) ordered.Value {
	return ordered.Pairs(append([]any{"type", kind, "description", d.Remark()}, more...)...)
}

// choices draws the two values of an enum.
func (d *deriver) choices() ordered.Value { return list(text(d.Word()), text(d.Word())) }

func (d *deriver) someTools(n int) []ordered.Value {
	tools := make([]ordered.Value, n)
	for i := range tools {
		first, second, third := d.Parameter(), d.Parameter(), d.Parameter()
		tools[i] = d.tool("description", d.Remark(), "parameters", parameters([]string{first},
			first, d.typed("string"), second, d.typed("string", "enum", d.choices()),
			third, d.typed("integer")))
	}
	return tools
}

// everyType declares a function whose parameters have every type that clients declare, and every
// keyword that templates heed.
func (d *deriver) everyType() ordered.Value {
	nested := func() ordered.Value {
		a, b := d.Parameter(), d.Parameter()
		return parameters([]string{a}, a, d.typed("string"), b, d.typed("number"))
	}
	described := func(key string, v ordered.Value) ordered.Value {
		return ordered.Pairs(key, v, "description", d.Remark())
	}
	plain := func(kind string) ordered.Value { return ordered.Pairs("type", kind) }
	first := d.Parameter()
	properties := []any{first, d.typed("string")}
	add := func(name string, schema ordered.Value) {
		properties = append(properties, name, schema)
	}
	second := d.Parameter()
	add(second, d.typed("integer", "minimum", 1, "maximum", 9, "default", 3))
	add(d.Parameter(), d.typed("number", "format", "float"))
	add(d.Parameter(), d.typed("boolean", "default", true))
	add(d.Parameter(), d.typed("array", "items", described("type", text("string"))))
	add(d.Parameter(), d.typed("array", "items", nested()))
	add(d.Parameter(), nested().With("description", text(d.Remark())))
	add(d.Parameter(), d.typed("string", "enum", d.choices(), "default", d.Word()))
	add(d.Parameter(), d.typed("string", "nullable", true))
	add(d.Parameter(), described("type", list(text("string"), text("null"))))
	add(d.Parameter(), described("anyOf", list(plain("string"), plain("integer"), plain("null"))))
	add(d.Parameter(), described("oneOf", list(plain("boolean"), nested())))
	add(d.Parameter(), described("allOf", list(plain("string"))))
	add(d.Parameter(), ordered.Pairs("const", d.Word()))
	add(d.Parameter(), ordered.Pairs("$ref", "#/$defs/"+d.Word()))
	add(d.Parameter(), plain("object"))
	add(d.Parameter(), plain("array"))
	add(d.Parameter(), plain("string"))
	add(d.Parameter(), ordered.Pairs("type", "object", "additionalProperties", plain("string")))
	schema := parameters([]string{first, second}, properties...).
		With("additionalProperties", ordered.Boolean(false))
	return d.tool("description", d.Remark(), "parameters", schema, "return", d.typed("string"))
}

// edge is a conversation with forms that the grammar lacks.
type edge struct {
	Conversation
	at string // where they are: a template that does not look there needs none of it
}

// edges returns questions with tools whose parameters have forms that clients seldom declare: each
// type in lists, in objects and in unions, with and without each keyword. Each comes wrapped and
// flat. After them comes a question that has a text before an image. They are for the search alone.
func edges(seed uint64, avoid ...string) []edge {
	d := &deriver{Source: words.New(seed, avoid...), features: map[string]int{}}
	object := func(members ...ordered.Member) ordered.Value { return ordered.ObjectOf(members...) }
	kind := func(kinds ...string) ordered.Member {
		if len(kinds) == 1 {
			return ordered.MemberOf("type", text(kinds[0]))
		}
		return ordered.MemberOf("type", ordered.ListOf(kinds, text))
	}
	described := func() ordered.Member { return ordered.MemberOf("description", text(d.Remark())) }
	nullable := ordered.MemberOf("nullable", ordered.Boolean(true))
	choices := func() ordered.Member { return ordered.MemberOf("enum", d.choices()) }
	properties := func(required bool, all ...ordered.Value) []ordered.Member {
		var named []ordered.Member
		var first []ordered.Value
		for _, p := range all {
			name := d.Parameter()
			if named = append(named, ordered.MemberOf(name, p)); len(first) < 2 {
				first = append(first, text(name))
			}
		}
		members := []ordered.Member{kind("object"),
			ordered.MemberOf("properties", ordered.ObjectOf(named...))}
		if required {
			members = append(members, ordered.MemberOf("required", list(first...)))
		}
		return members
	}
	plain := []ordered.Value{object(kind("string")), object(kind("number")),
		object(kind("integer")), object(kind("boolean")), object(kind("null")),
		object(kind("string"), choices()), object(kind("array")), object(kind("object")), object(),
		object(kind("array"), ordered.MemberOf("items", object(kind("string")))),
		object(properties(true, object(kind("string"), described()), object(kind("integer")))...),
		object(properties(false, object(kind("string")))...),
		object(kind("string", "null")), object(kind("string")).With("format", text("date"))}
	with := func(more ...ordered.Member) []ordered.Value {
		return lists.Map(plain, func(p ordered.Value) ordered.Value {
			return ordered.ObjectOf(slices.Concat(p.Members(), more)...)
		})
	}
	lists := func(more ...ordered.Member) []ordered.Value {
		return lists.Map(plain, func(p ordered.Value) ordered.Value {
			return ordered.ObjectOf(append([]ordered.Member{kind("array"),
				ordered.MemberOf("items", p)}, more...)...)
		})
	}
	var defaults, unions []ordered.Value
	for _, v := range []ordered.Value{text(d.Word()), ordered.Int(3), ordered.Boolean(false), {},
		list(text(d.Word())), ordered.ObjectOf()} {
		defaults = append(defaults, object(kind("string"), ordered.MemberOf("default", v)),
			object(kind("string"), choices(), ordered.MemberOf("default", v)),
			object(kind("integer"), described(), ordered.MemberOf("default", v)))
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		one := ordered.MemberOf(key, list(object(kind("string"), described(),
			ordered.MemberOf("default", text(d.Word()))), object(kind("integer"))))
		unions = append(unions, object(one), object(one, described()),
			object(one, ordered.MemberOf("default", text(d.Word()))),
			object(ordered.MemberOf(key,
				list(object(properties(true, object(kind("string")))...)))),
			object(ordered.MemberOf(key, list(object(properties(true, object(kind("string")))...),
				object(properties(false, object(kind("number")))...)))))
	}
	unions = append(unions, object(kind("string", "integer")), object(kind("string")).
		With("type", list(text("string"))), object(kind("object", "array")))
	nested := plain[10]
	for range 2 {
		nested = object(append(properties(true, nested, object(kind("string"), described())),
			described())...)
	}
	extra := func(v ordered.Value) ordered.Value {
		return object(properties(true, object(kind("string")))...).With("additionalProperties", v)
	}
	nestings := []ordered.Value{nested, extra(ordered.Boolean(true)), extra(ordered.Boolean(false)),
		extra(object(kind("string"))), extra(ordered.ObjectOf())}
	var all []edge
	for _, parameters := range [][]ordered.Value{plain, with(described()), with(nullable),
		lists(), lists(nullable, described()), defaults, unions, nestings} {
		schema := object(properties(true, parameters...)...)
		tool := d.tool("description", d.Remark(), "parameters", schema)
		message := ordered.Pairs("role", "user", "content", d.Question())
		for _, flatten := range []bool{false, true} {
			at, tools := "tools[0].function.parameters", list(tool)
			if flatten {
				at, tools = "tools[0].parameters", flat(tools)
			}
			c, _ := Conversation{Request: chat.Request{Messages: []ordered.Value{message}}}.
				with("tools", value{Value: tools})
			c.Name = "question; tools of every form"
			all = append(all, edge{c, at})
		}
	}
	image := ordered.Pairs("url", "https://example.org/"+d.Word())
	message := ordered.Pairs("role", "user", "content", list(ordered.Pairs("type", "text",
		"text", d.Question()), ordered.Pairs("type", "image_url", "image_url", image)))
	return append(all, edge{Conversation{Name: "question with a text before an image", Beyond: true,
		Request: chat.Request{Messages: []ordered.Value{message}}}, "messages[0].content[0]"})
}
