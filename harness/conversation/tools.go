package conversation

import "github.com/goassay/assay/engine/ordered"

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
		d.tools = []ordered.Value{d.tool(ordered.MemberOf("description", text(d.Remark())))}
	case "no properties":
		d.tools = []ordered.Value{d.tool(ordered.MemberOf("description", text(d.Remark())),
			ordered.MemberOf("parameters",
				ordered.ObjectOf(ordered.MemberOf("type", text("object")),
					ordered.MemberOf("properties", ordered.ObjectOf()))))}
	case "strict":
		strict := d.someTools(1)[0]
		d.tools = []ordered.Value{strict.With("function", strict.At("function").
			With("strict", ordered.Boolean(true)))}
	case "many":
		d.tools = d.someTools(30)
		d.size += 20
	}
}

// tool declares a function.
func (d *deriver) tool(more ...ordered.Member) ordered.Value {
	return ordered.ObjectOf(ordered.MemberOf("type", text("function")),
		ordered.MemberOf("function",
			ordered.ObjectOf(append([]ordered.Member{ordered.MemberOf("name", text(d.Function()))},
				more...)...)))
}

// parameters is the schema of a function's parameters.
func parameters(required []string, properties ...ordered.Member) ordered.Value {
	members := []ordered.Member{ordered.MemberOf("type", text("object")),
		ordered.MemberOf("properties", ordered.ObjectOf(properties...))}
	if required != nil {
		names := make([]ordered.Value, len(required))
		for i, name := range required {
			names[i] = text(name)
		}
		members = append(members, ordered.MemberOf("required", list(names...)))
	}
	return ordered.ObjectOf(members...)
}

// typed is the schema of a parameter.
func (d *deriver) typed(kind string, more ...ordered.Member) ordered.Value {
	return ordered.ObjectOf(append([]ordered.Member{ordered.MemberOf("type", text(kind)),
		ordered.MemberOf("description", text(d.Remark()))}, more...)...)
}

func (d *deriver) someTools(n int) []ordered.Value {
	tools := make([]ordered.Value, n)
	for i := range tools {
		first, second, third := d.Parameter(), d.Parameter(), d.Parameter()
		tools[i] = d.tool(ordered.MemberOf("description", text(d.Remark())),
			ordered.MemberOf("parameters", parameters([]string{first},
				ordered.MemberOf(first, d.typed("string")),
				ordered.MemberOf(second,
					d.typed("string", ordered.MemberOf("enum",
						list(text(d.Word()), text(d.Word()))))),
				ordered.MemberOf(third, d.typed("integer")))))
	}
	return tools
}

// everyType declares a function whose parameters have every type that clients declare, and every
// keyword that templates heed.
func (d *deriver) everyType() ordered.Value {
	choices := func() ordered.Value { return list(text(d.Word()), text(d.Word())) }
	nested := func() ordered.Value {
		a, b := d.Parameter(), d.Parameter()
		return parameters([]string{a}, ordered.MemberOf(a, d.typed("string")),
			ordered.MemberOf(b, d.typed("number")))
	}
	of := func(key string, options ...ordered.Value) ordered.Value {
		return ordered.ObjectOf(ordered.MemberOf(key, list(options...)),
			ordered.MemberOf("description", text(d.Remark())))
	}
	plain := func(kind string) ordered.Value {
		return ordered.ObjectOf(ordered.MemberOf("type",
			text(kind)))
	}
	name := d.Parameter()
	properties := []ordered.Member{
		ordered.MemberOf(name, d.typed("string")),
		ordered.MemberOf(d.Parameter(),
			d.typed("integer", ordered.MemberOf("minimum", ordered.Int(1)),
				ordered.MemberOf("maximum", ordered.Int(9)),
				ordered.MemberOf("default", ordered.Int(3)))),
		ordered.MemberOf(d.Parameter(),
			d.typed("number", ordered.MemberOf("format", text("float")))),
		ordered.MemberOf(d.Parameter(),
			d.typed("boolean", ordered.MemberOf("default", ordered.Boolean(true)))),
		ordered.MemberOf(d.Parameter(),
			d.typed("array", ordered.MemberOf("items",
				ordered.ObjectOf(ordered.MemberOf("type", text("string")),
					ordered.MemberOf("description", text(d.Remark())))))),
		ordered.MemberOf(d.Parameter(), d.typed("array", ordered.MemberOf("items", nested()))),
		ordered.MemberOf(d.Parameter(),
			ordered.ObjectOf(append(nested().Members(),
				ordered.MemberOf("description", text(d.Remark())))...)),
		ordered.MemberOf(d.Parameter(),
			d.typed("string", ordered.MemberOf("enum", choices()),
				ordered.MemberOf("default", text(d.Word())))),
		ordered.MemberOf(d.Parameter(),
			d.typed("string", ordered.MemberOf("nullable", ordered.Boolean(true)))),
		ordered.MemberOf(d.Parameter(),
			ordered.ObjectOf(ordered.MemberOf("type", list(text("string"), text("null"))),
				ordered.MemberOf("description", text(d.Remark())))),
		ordered.MemberOf(d.Parameter(),
			of("anyOf", plain("string"), plain("integer"), plain("null"))),
		ordered.MemberOf(d.Parameter(), of("oneOf", plain("boolean"), nested())),
		ordered.MemberOf(d.Parameter(), of("allOf", plain("string"))),
		ordered.MemberOf(d.Parameter(),
			ordered.ObjectOf(ordered.MemberOf("const", text(d.Word())))),
		ordered.MemberOf(d.Parameter(),
			ordered.ObjectOf(ordered.MemberOf("$ref", text("#/$defs/"+d.Word())))),
		ordered.MemberOf(d.Parameter(), plain("object")),
		ordered.MemberOf(d.Parameter(), plain("array")),
		ordered.MemberOf(d.Parameter(), plain("string")),
		ordered.MemberOf(d.Parameter(),
			ordered.ObjectOf(ordered.MemberOf("type", text("object")),
				ordered.MemberOf("additionalProperties", plain("string")))),
	}
	schema := parameters([]string{name, properties[1].Key}, properties...).
		With("additionalProperties", ordered.Boolean(false))
	return d.tool(ordered.MemberOf("description", text(d.Remark())),
		ordered.MemberOf("parameters", schema),
		ordered.MemberOf("return", d.typed("string")))
}
