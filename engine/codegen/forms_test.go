package codegen_test

import (
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/dialect"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
)

// form is a format with little in it but one way to spell calls.
type form struct {
	name string
	f    format.Format
}

func pair(open, close string) format.Pair {
	return format.Pair{Open: format.Mark(open), Close: format.Mark(close)}
}

func slot(kind format.SlotKind) format.Part { return format.Part{Kind: kind} }
func lit(s string) format.Part              { return format.Lit(s) }

var (
	name, id, key, value = slot(format.SlotName), slot(format.SlotID), slot(format.SlotKey),
		slot(format.SlotValue)
	index    = slot(format.SlotIndex)
	jsonBody = format.Body{Kind: format.BodyJSON}
)

func field(slot format.SlotKind, path ...string) format.Field {
	return format.Field{Path: path, Slot: slot}
}

func object(fields ...format.Field) *format.Object { return &format.Object{Fields: fields} }

var plainObject = object(field(format.SlotName, "name"), field(format.SlotArgs, "arguments"))

func calls(c ...format.Calls) format.Format {
	return format.Format{End: []string{"<|end|>\n"}, Calls: c}
}

func thinking(f format.Format) format.Format {
	f.Reasoning = format.Reasoning{Mode: format.ReasoningTagged,
		Pair: pair("<think>\n", "\n</think>\n\n")}
	return f
}

func tagged(open, mid, close, sep string) format.Body {
	return format.Body{Kind: format.BodyTagged,
		Entry: []format.Part{lit(open), key, lit(mid), value, lit(close)}, Sep: format.Mark(sep),
		Codec: format.Codec{Style: format.StyleRaw}}
}

func coded(b format.Body, c format.Codec) format.Body {
	c.Style = b.Codec.Style
	b.Codec = c
	return b
}

// tools are the declared functions: "get" has an argument of every kind.
func tools(definition string) (out []chat.Tool) {
	v, err := ordered.ParseString(definition)
	if err != nil {
		panic(err)
	}
	for _, t := range v.Items() {
		tool, err := chat.ParseTool(t)
		if err != nil {
			panic(err)
		}
		out = append(out, tool)
	}
	return out
}

var (
	small = tools(`[{"type": "function", "function": {"name": "get", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]`)
	large = tools(`[{"type": "function", "function": {"name": "get", "parameters": {"type": "object", "properties": {
		"city": {"type": "string"}, "n": {"type": "integer"}, "opts": {"type": "object", "properties": {"deep": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}, "list": {"type": "array", "items": {"type": "string"}}}},
		"list": {"type": "array", "items": {"type": "integer"}, "minItems": 1}, "any": {}, "maybe": {"type": ["string", "null"]}, "on": {"type": "boolean"},
		"some": {"type": ["array", "object"], "properties": {"a": {"type": "string"}}}, "map": {"type": "object", "additionalProperties": {"type": "integer"}}}}}},
		{"type": "function", "function": {"name": "get_more", "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "n": {"type": "number"}}, "required": ["city"]}}},
		{"type": "function", "function": {"name": "free", "parameters": {"type": "object"}}},
		{"type": "function", "function": {"name": "ping", "parameters": {"type": "object", "properties": {}}}},
		{"type": "function", "function": {"name": "get", "parameters": {}}}]`)
)

// recipients is a format of parts that begin with a line that says to whom they go.
var recipients = format.Format{Routes: []format.Route{
	{Kind: format.RouteContent, Start: format.Mark(">>>"), Head: []format.Part{lit("all\n")}},
	{Kind: format.RouteCall, Start: format.Mark(">>>"), Head: []format.Part{name, lit("\n")}, Body: jsonBody},
}}

var forms = []form{
	{"object-in-tag", thinking(calls(format.Calls{Call: pair("<call>\n", "\n</call>"), Object: plainObject}))},
	{"object-bare", calls(format.Calls{Object: plainObject, Tentative: true})},
	{"object-in-section", calls(format.Calls{Section: pair("<calls>", "</calls>"), Call: pair("<call>", "</call>"), Object: object(field(format.SlotID, "id"), field(format.SlotName, "name"), field(format.SlotArgs, "arguments"))})},
	{"object-array", calls(format.Calls{Section: pair("[CALLS]", ""), Array: true,
		Sep: format.Mark(", "), Object: object(field(format.SlotName, "name"),
			field(format.SlotArgs, "arguments"),
			format.Field{Path: []string{"id"}, Slot: format.SlotID,
				IDs: format.IDs{Min: 9, Max: 9}})})},
	{"object-numbered", calls(format.Calls{Section: pair("<|calls|>", "<|/calls|>"), Array: true,
		Object: object(format.Field{Path: []string{"n"}, Slot: format.SlotIndex},
			format.Field{Path: []string{"i"}, Slot: format.SlotIndex, Text: true},
			format.Field{Path: []string{"length"}, Slot: format.SlotNumber},
			format.Field{Path: []string{"size"}, Slot: format.SlotNumber, Text: true},
			field(format.SlotName, "name"), field(format.SlotArgs, "arguments"))})},
	{"object-nested", calls(format.Calls{Call: pair("<call>", "</call>"), Object: object(format.Field{Path: []string{"type"}, Const: `"function"`}, field(format.SlotName, "function", "name"), format.Field{Path: []string{"function", "arguments"}, Slot: format.SlotArgs, Text: true}, field(format.SlotID, "meta", "id"))})},
	{"object-arguments-first", calls(format.Calls{Call: pair("<call>", "</call>"), Object: object(field(format.SlotArgs, "arguments"), field(format.SlotName, "name"))})},
	{"object-name-as-key", calls(format.Calls{Array: true, Sep: format.Mark(", "), Object: &format.Object{NameIsKey: true}})},
	{"object-single-quotes", calls(format.Calls{Call: pair("<call>", "</call>"), Object: &format.Object{Quote: '\'', Fields: plainObject.Fields}})},
	{"head-json", thinking(calls(format.Calls{Head: []format.Part{lit("<function="), name, lit(">")}, Body: jsonBody, Tail: []format.Part{lit("</function>")}}))},
	{"head-id-between", calls(format.Calls{Call: pair("[CALL]", ""), Head: []format.Part{name, lit("[ID]"), id, lit("[ARGS]")}, Body: jsonBody})},
	{"head-id-before", calls(format.Calls{Head: []format.Part{lit("[ID]"),
		{Kind: format.SlotID, IDs: format.IDs{Characters: "-0-9a-z", Max: 40}}, lit("[FUNC]"), name},
		Body: jsonBody})},
	{"tail-id", calls(format.Calls{Head: []format.Part{lit("[FUNC]"), name}, Body: jsonBody, Tail: []format.Part{lit("[CALL_ID]"), id, lit("[END]")}})},
	{"id-of-parts", thinking(calls(format.Calls{Section: pair("<|calls|>", "<|/calls|>"),
		Call: pair("<|call|>", "<|/call|>"),
		Head: []format.Part{{Kind: format.SlotID,
			Parts: []format.Part{lit("functions."), name, lit(":"), index}}, lit("<|args|>")},
		Body: jsonBody}))},
	{"name-twice", calls(format.Calls{Section: pair("<tools>", "</tools>"), Head: []format.Part{lit("<"), name, lit(">")}, Body: jsonBody, Tail: []format.Part{lit("</"), name, lit(">")}})},
	{"fence", thinking(calls(format.Calls{Section: pair("<｜calls▁begin｜>", "<｜calls▁end｜>"), Head: []format.Part{lit("function<｜sep｜>"), name, lit("\n```json\n")}, Body: jsonBody, Tail: []format.Part{lit("\n```")}}))},
	{"tagged", thinking(calls(format.Calls{Call: pair("<call>\n", "\n</call>"),
		Head: []format.Part{lit("<function="), name, lit(">\n")},
		Body: tagged("<parameter=", ">\n", "\n</parameter>", "\n"),
		Tail: []format.Part{lit("\n</function>")}}))},
	{"tagged-key-and-value", calls(format.Calls{Call: pair("<call>", "\n</call>"), Head: []format.Part{name, lit("\n")}, Body: tagged("<key>", "</key>\n<value>", "</value>", "\n")})},
	{"tagged-typed", calls(format.Calls{Section: pair("<calls>\n", "\n</calls>"), Head: []format.Part{lit(`<invoke name="`), name, lit(`" n="`), index, lit("\">\n")}, Tail: []format.Part{lit("\n</invoke>\n")},
		Body: format.Body{Kind: format.BodyTagged, Codec: format.Codec{Style: format.StyleRaw}, Entry: []format.Part{lit(`<parameter name="`), key, lit(`" string="`),
			{Kind: format.SlotType, Types: []format.TypeName{{Word: "true", Raw: true}, {Word: "false"}}}, lit(`">`), value, lit("</parameter>")}}})},
	{"tagged-cdata", calls(format.Calls{Head: []format.Part{lit(`<f n="`), name, lit(`">`)}, Tail: []format.Part{lit("</f>")}, Body: coded(tagged(`<p n="`, `">`, "</p>", ""), format.Codec{CDATA: true})})},
	{"tagged-entities", calls(format.Calls{Head: []format.Part{lit(`<f n="`), name, lit(`">`)}, Tail: []format.Part{lit("</f>")}, Body: coded(tagged(`<p n="`, `">`, "</p>", ""), format.Codec{Entity: true, Escaped: true})})},
	{"tagged-nested", calls(format.Calls{Section: pair("~[<calls>\n", "\n~[</calls>"), Head: []format.Part{lit(`~[<invoke name="`), name, lit(`">`)}, Tail: []format.Part{lit("~[</invoke>\n")},
		Body: format.Body{Kind: format.BodyTagged,
			Codec: format.Codec{Style: format.StyleRaw, Nested: true},
			Entry: []format.Part{lit("~[<"), key, lit(">"), value, lit("~[</"), key, lit(">")},
			Item:  []format.Part{lit("~[<item>"), value, lit("~[</item>")}}})},
	{"lines", calls(format.Calls{Head: []format.Part{lit("Action: "), name}, Body: format.Body{Kind: format.BodyTagged, Codec: format.Codec{Style: format.StyleRaw}, Sep: format.Mark("\n"), Entry: []format.Part{key, lit(": "), value}}})},
	{"keywords", thinking(calls(format.Calls{Section: pair("<|start|>", "<|stop|>"), Array: true,
		Sep: format.Mark(", "), Head: []format.Part{name},
		Body: format.Body{Kind: format.BodyKwargs, Pair: pair("(", ")"), Sep: format.Mark(", "),
			Entry: []format.Part{key, lit("="), value},
			Codec: format.Codec{Style: format.StylePython}}}))},
	{"keywords-raw", calls(format.Calls{Section: pair("<calls>", "</calls>"),
		Head: []format.Part{lit("call "), name},
		Body: format.Body{Kind: format.BodyKwargs, Pair: pair("(", ")"), Sep: format.Mark(", "), Entry: []format.Part{key, lit(`="`), value, lit(`"`)}, Codec: format.Codec{Style: format.StyleRaw}}})},
	{"dict", calls(format.Calls{Call: pair("<|call>", "<call|>"), Head: []format.Part{lit("call:"), name}, Body: format.Body{Kind: format.BodyDict, Pair: pair("{", "}"), Codec: format.Codec{Quote: `<|"|>`}}})},
	{"dict-with-entries", calls(format.Calls{Call: pair("<|call>", "<call|>"), Head: []format.Part{lit("call:"), name}, Body: format.Body{Kind: format.BodyDict, Pair: pair("{", "}"), Sorted: true, Sep: format.Mark(","), Entry: []format.Part{key, lit(":"), value}, Codec: format.Codec{Quote: `<|"|>`}}})},
	{"content-wrapped", format.Format{End: []string{"<|eot|>"},
		Reasoning: format.Reasoning{Pair: pair("<|T|>", "<|/T|>")},
		Content:   format.Content{Mode: format.ContentWrapped, Pair: pair("<|R|>", "<|/R|>")},
		Calls: []format.Calls{{Section: pair("<|A|>", "<|/A|>"), Array: true,
			Object: plainObject}}}},
	{"content-addressed", format.Format{End: []string{"<|eot|>"},
		Content: format.Content{Mode: format.ContentWrapped, Pair: pair("<|to|>all<|says|>", "")},
		Calls: []format.Calls{{Head: []format.Part{lit("<|to|>"), name, lit("<|says|>")},
			Body: jsonBody}}}},
	{"words", format.Format{End: []string{"<|end|>"},
		Reasoning: format.Reasoning{Mode: format.ReasoningTagged,
			Pair: pair("Thought: ", "\nAnswer: ")},
		Content: format.Content{Mode: format.ContentWrapped, Pair: pair("Answer: ", "")},
		Calls: []format.Calls{{Head: []format.Part{lit("Action: "), name, lit("\nInput: ")},
			Body: jsonBody}}}},
	{"delimiter", format.Format{End: []string{"<|end|>"}, Reasoning: format.Reasoning{Mode: format.ReasoningDelimiter, Pair: pair("", "\n[FINAL]\n")}, Calls: []format.Calls{{Section: pair("<calls>", "</calls>"), Array: true, Object: plainObject}}}},
	{"undisclosed", format.Format{Undisclosed: true, End: []string{"<|end|>"}}},
	{"channels", dialect.Formats()[0]},
	{"recipients", recipients},
}
