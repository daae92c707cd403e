package conversation

import "github.com/goassay/assay/engine/ordered"

// declare chooses the tools of a conversation.
func (d *deriver) declare() {
	switch d.choose("tools", "none", "some", "one", "every type", "bare", "no parameters", "no properties", "strict", "many") {
	case "some":
		d.tools = d.someTools(2)
	case "one":
		d.tools = d.someTools(1)
	case "every type":
		d.tools = []ordered.Value{d.everyType(), d.someTools(1)[0]}
	case "bare":
		d.tools = []ordered.Value{d.tool(), d.tool()}
	case "no parameters":
		d.tools = []ordered.Value{d.tool(member("description", text(d.Remark())))}
	case "no properties":
		d.tools = []ordered.Value{d.tool(member("description", text(d.Remark())), member("parameters", object(member("type", text("object")), member("properties", object()))))}
	case "strict":
		strict := d.someTools(1)[0]
		d.tools = []ordered.Value{strict.With("function", strict.At("function").With("strict", ordered.Boolean(true)))}
	case "many":
		d.tools = d.someTools(30)
		d.size += 20
	}
}

// tool declares a function.
func (d *deriver) tool(more ...ordered.Member) ordered.Value {
	return object(member("type", text("function")), member("function", object(append([]ordered.Member{member("name", text(d.Function()))}, more...)...)))
}

// parameters is the schema of a function's parameters.
func parameters(required []string, properties ...ordered.Member) ordered.Value {
	members := []ordered.Member{member("type", text("object")), member("properties", object(properties...))}
	if required != nil {
		names := make([]ordered.Value, len(required))
		for i, name := range required {
			names[i] = text(name)
		}
		members = append(members, member("required", list(names...)))
	}
	return object(members...)
}

// typed is the schema of a parameter.
func (d *deriver) typed(kind string, more ...ordered.Member) ordered.Value {
	return object(append([]ordered.Member{member("type", text(kind)), member("description", text(d.Remark()))}, more...)...)
}

func (d *deriver) someTools(n int) []ordered.Value {
	tools := make([]ordered.Value, n)
	for i := range tools {
		first, second, third := d.Parameter(), d.Parameter(), d.Parameter()
		tools[i] = d.tool(member("description", text(d.Remark())), member("parameters", parameters([]string{first},
			member(first, d.typed("string")),
			member(second, d.typed("string", member("enum", list(text(d.Word()), text(d.Word()))))),
			member(third, d.typed("integer")))))
	}
	return tools
}

// everyType declares a function whose parameters have every type that clients declare, and every keyword that templates heed.
func (d *deriver) everyType() ordered.Value {
	choices := func() ordered.Value { return list(text(d.Word()), text(d.Word())) }
	nested := func() ordered.Value {
		a, b := d.Parameter(), d.Parameter()
		return parameters([]string{a}, member(a, d.typed("string")), member(b, d.typed("number")))
	}
	of := func(key string, options ...ordered.Value) ordered.Value {
		return object(member(key, list(options...)), member("description", text(d.Remark())))
	}
	plain := func(kind string) ordered.Value { return object(member("type", text(kind))) }
	name := d.Parameter()
	properties := []ordered.Member{
		member(name, d.typed("string")),
		member(d.Parameter(), d.typed("integer", member("minimum", ordered.Int(1)), member("maximum", ordered.Int(9)), member("default", ordered.Int(3)))),
		member(d.Parameter(), d.typed("number", member("format", text("float")))),
		member(d.Parameter(), d.typed("boolean", member("default", ordered.Boolean(true)))),
		member(d.Parameter(), d.typed("array", member("items", object(member("type", text("string")), member("description", text(d.Remark())))))),
		member(d.Parameter(), d.typed("array", member("items", nested()))),
		member(d.Parameter(), object(append(nested().Members(), member("description", text(d.Remark())))...)),
		member(d.Parameter(), d.typed("string", member("enum", choices()), member("default", text(d.Word())))),
		member(d.Parameter(), d.typed("string", member("nullable", ordered.Boolean(true)))),
		member(d.Parameter(), object(member("type", list(text("string"), text("null"))), member("description", text(d.Remark())))),
		member(d.Parameter(), of("anyOf", plain("string"), plain("integer"), plain("null"))),
		member(d.Parameter(), of("oneOf", plain("boolean"), nested())),
		member(d.Parameter(), of("allOf", plain("string"))),
		member(d.Parameter(), object(member("const", text(d.Word())))),
		member(d.Parameter(), object(member("$ref", text("#/$defs/"+d.Word())))),
		member(d.Parameter(), plain("object")),
		member(d.Parameter(), plain("array")),
		member(d.Parameter(), plain("string")),
		member(d.Parameter(), object(member("type", text("object")), member("additionalProperties", plain("string")))),
	}
	schema := parameters([]string{name, properties[1].Key}, properties...).With("additionalProperties", ordered.Boolean(false))
	return d.tool(member("description", text(d.Remark())), member("parameters", schema),
		member("return", d.typed("string")))
}
