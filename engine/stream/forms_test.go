package stream_test

import (
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/dialect"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
)

// A form is a hand-written format with outputs in it and their meaning.
type form struct {
	name  string
	f     format.Format
	cases []turn
}

type turn struct {
	output  string
	want    chat.Message
	prefill string
}

func pair(open, close string) format.Pair {
	return format.Pair{Open: format.Mark(open), Close: format.Mark(close)}
}

func slot(kind format.SlotKind) format.Part { return format.Part{Kind: kind} }

var (
	name, id, key, value = slot(format.SlotName), slot(format.SlotID), slot(format.SlotKey),
		slot(format.SlotValue)
	jsonBody = format.Body{Kind: format.BodyJSON}
	think    = format.Reasoning{Mode: format.ReasoningTagged,
		Pair: pair("<think>\n", "\n</think>\n\n")}
	end = []string{"<|im_end|>\n"}
)

func lit(s string) format.Part { return format.Lit(s) }

func field(slot format.SlotKind, path ...string) format.Field {
	return format.Field{Path: path, Slot: slot}
}

func object(fields ...format.Field) *format.Object { return &format.Object{Fields: fields} }

var plainObject = object(field(format.SlotName, "name"), field(format.SlotArgs, "arguments"))

func calls(c format.Calls) format.Format {
	return format.Format{End: end, Reasoning: think, Calls: []format.Calls{c}}
}

func tagged(open, mid, close string, sep string) format.Body {
	return format.Body{Kind: format.BodyTagged,
		Entry: []format.Part{lit(open), key, lit(mid), value, lit(close)}, Sep: format.Mark(sep),
		Codec: format.Codec{Style: format.StyleRaw}}
}

// call makes a complete call.
func call(id, name, args string) chat.ToolCall {
	return chat.ToolCall{ID: id, Name: name, Arguments: args, Complete: true}
}

func message(content string, calls ...chat.ToolCall) chat.Message {
	return chat.Message{Content: content, ToolCalls: calls}
}

// tools are the functions of all cases.
var tools = func() (out []chat.Tool) {
	v, err := ordered.ParseString(`[
		{"type": "function", "function": {"name": "get", "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "n": {"type": "integer"}, "opts": {"type": "object"}, "list": {"type": "array", "items": {"type": "string"}}, "any": {}, "maybe": {"type": ["string", "null"]}, "on": {"type": "boolean"}}}}},
		{"type": "function", "function": {"name": "get_more", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}},
		{"type": "function", "function": {"name": "ping", "parameters": {"type": "object", "properties": {}}}}]`)
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
}()

const rome = `{"city": "Rome", "n": 3}`

// recipients is a format of parts that begin with a line that says to whom they go.
func recipients() format.Format {
	start := format.Mark(">>>")
	return format.Format{Routes: []format.Route{
		{Kind: format.RouteContent, Start: start, Head: []format.Part{lit("all\n")}},
		{Kind: format.RouteCall, Start: start, Head: []format.Part{name, lit("\n")}, Body: jsonBody},
	}}
}

// forms are the forms of docs/internals/engine-rules.md: those that a template can show, and those
// that it cannot.
var forms = []form{
	{"json in tag", calls(format.Calls{Call: pair("<tool_call>\n", "\n</tool_call>"),
		Object: plainObject}), []turn{
		{output: "<tool_call>\n{\"name\": \"get\", \"arguments\": " + rome + "}\n</tool_call><|im_end|>", want: message("", call("", "get", rome))},
		{output: "Hi there.\n<tool_call>{\"name\":\"ping\",\"arguments\":{}}</tool_call>\n<tool_call>\n{\"arguments\": {\"city\": \"a\\\"}b\"}, \"name\": \"get_more\"}\n</tool_call>\nBye.",
			want: message("Hi there.\nBye.", call("", "ping", "{}"), call("", "get_more", `{"city": "a\"}b"}`))},
		{output: "<think>\nlet me\nsee\n</think>\n\nAnswer <b>bold</b>", want: chat.Message{Reasoning: "let me\nsee", Content: "Answer <b>bold</b>"}},
		{output: "see\n</think>\n\nAnswer", prefill: "<think>\n", want: chat.Message{Reasoning: "see", Content: "Answer"}},
		{output: "<tool_call>{\"name\": \"ping\"}</tool_call>", prefill: "<think>\n", want: message("", call("", "ping", "{}"))},
		{output: "<tool_call>\n{\"name\": \"unknown\", \"arguments\": {}}\n</tool_call>", want: message("<tool_call>\n{\"name\": \"unknown\", \"arguments\": {}}\n</tool_call>")},
		{output: "<tool_call>\n{'name': 'get', 'arguments': {'city': 'it\\'s', 'opts': {'a': None, 'b': [True, (1, 2,)]}}}\n</tool_call>", want: message("", call("", "get", `{"city": "it's", "opts": {"a": null, "b": [true, [1, 2]]}}`))},
		{output: "<tool_call>\n{\"name\": \"get\", \"arguments\": \"{\\\"city\\\": \\\"Rome\\\"}\"}\n</tool_call>", want: message("", call("", "get", `{"city": "Rome"}`))},
		{output: "stray</tool_call> closer", want: message("stray</tool_call> closer")},
		{output: "</tool_call>stray closer</tool_call>", want: message("stray closer")},
		{output: "a <tool_call", want: message("a <tool_call")},
		{output: "cut <|im_e", want: message("cut")},
		{output: "<think>\nplan <tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call>", want: chat.Message{Reasoning: "plan", ToolCalls: []chat.ToolCall{call("", "ping", "{}")}}},
		{output: "<think>\nplan <tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call> or not\n</think>\n\nno", want: chat.Message{Reasoning: "plan <tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call> or not", Content: "no"}},
	}},
	{"bare json", calls(format.Calls{Object: object(field(format.SlotName, "name"),
		field(format.SlotArgs, "parameters")), Tentative: true}), []turn{
		{output: `{"name": "get", "parameters": ` + rome + `}`, want: message("", call("", "get", rome))},
		{output: `{"name": "nobody"} and {"a": 1} {`, want: message(`{"name": "nobody"} and {"a": 1} {`)},
		{output: `{"name": "get", "parameters": {"city": `, want: message(`{"name": "get", "parameters": {"city": `)},
	}},
	{"json array in tag", calls(format.Calls{Section: pair("<TOOLCALL>", "</TOOLCALL>"),
		Array: true, Sep: format.Mark(", "), Object: plainObject}), []turn{
		{output: `<TOOLCALL>[{"name": "get", "arguments": ` + rome + `}, {"name": "ping", "arguments": {}}]</TOOLCALL>`, want: message("", call("", "get", rome), call("", "ping", "{}"))},
		{output: `<TOOLCALL>[{"name": "ping", "arguments": {}}]`, want: message("", call("", "ping", "{}"))},
	}},
	{"json array with ids",
		calls(format.Calls{Section: pair("[TOOL_CALLS]", ""), Array: true, Sep: format.Mark(", "),
			Object: object(field(format.SlotName, "name"), field(format.SlotArgs, "arguments"),
				field(format.SlotID, "id"))}), []turn{
			{output: `[TOOL_CALLS][{"name": "get", "arguments": ` + rome + `, "id": "123456789"}]`, want: message("", call("123456789", "get", rome))},
			{output: `[TOOL_CALLS] [{"id": "a", "name": "ping", "extra": [1, {"x": null}]}]`, want: message("", call("a", "ping", "{}"))},
			{output: `[TOOL_CALLS][{"name": "ping", "arguments": {}, "id": "a\"b\\c\u00e9\/"}]`, want: message("", call(`a"b\cé/`, "ping", "{}"))},
			{output: `[TOOL_CALLS][{'name': 'ping', 'arguments': {}, 'id': 'it\'s'}]`, want: message("", call("it's", "ping", "{}"))},
			{output: `[TOOL_CALLS][{"name": "ping", "arguments": {}, "id": "half \ud800"}]`, want: message("", call("half \uFFFD", "ping", "{}"))},
		}},
	{"renamed fields, generated id",
		calls(format.Calls{Section: pair("<|START_ACTION|>", "<|END_ACTION|>"), Array: true,
			Sep: format.Mark(",\n"),
			Object: object(format.Field{Path: []string{"tool_call_id"}, Slot: format.SlotIndex,
				Text: true}, field(format.SlotName, "tool_name"),
				field(format.SlotArgs, "parameters"))}), []turn{
			{output: "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"get\", \"parameters\": " + rome + "},\n    {\"tool_call_id\": \"1\", \"tool_name\": \"ping\", \"parameters\": {}}\n]<|END_ACTION|>",
				want: message("", call("0", "get", rome), call("1", "ping", "{}"))},
			{output: `<|START_ACTION|>[{"tool_call_id": 7, "tool_name": "ping"}]<|END_ACTION|>`, want: message("", call("7", "ping", "{}"))},
		}},
	{"array in a fence", calls(format.Calls{Section: pair("Action:\n```json\n", "\n```"),
		Array: true, Object: object(field(format.SlotName, "tool_name"),
			field(format.SlotArgs, "parameters"))}), []turn{
		{output: "Action:\n```json\n[{\"tool_name\": \"get\", \"parameters\": " + rome + "}]\n```", want: message("", call("", "get", rome))},
		{output: "Action: none\n```json\n[1]\n```", want: message("Action: none\n```json\n[1]\n```")},
	}},
	{"name as key", calls(format.Calls{Section: pair("<|tools_prefix|>", "<|tools_suffix|>"),
		Array: true, Sep: format.Mark(", "), Object: &format.Object{NameIsKey: true}}), []turn{
		{output: `<|tools_prefix|>[{"get": ` + rome + `}, {"ping": {}}]<|tools_suffix|>`, want: message("", call("", "get", rome), call("", "ping", "{}"))},
	}},
	{"nested function object", calls(format.Calls{Call: pair("<tool_call>", "</tool_call>"),
		Object: object(format.Field{Path: []string{"type"}, Const: `"function"`}, field(format.SlotName, "function", "name"), field(format.SlotArgs, "function", "arguments"), field(format.SlotID, "id"))}), []turn{
		{output: `<tool_call>{"type": "function", "function": {"name": "get", "arguments": ` + rome + `}, "id": "x1"}</tool_call>`, want: message("", call("x1", "get", rome))},
		{output: `<tool_call>{"id": "x2", "function": {"arguments": {"city": "a"}, "name": "get_more"}, "type": "function"}</tool_call>`, want: message("", call("x2", "get_more", `{"city": "a"}`))},
	}},
	{"name in a tag", calls(format.Calls{Head: []format.Part{lit("<function="), name, lit(">")},
		Body: jsonBody, Tail: []format.Part{lit("</function>")}}), []turn{
		{output: "<function=get>" + rome + "</function><function=ping>{}</function>", want: message("", call("", "get", rome), call("", "ping", "{}"))},
		{output: "<function=get_more>{\"city\": \"x\"}", want: message("", call("", "get_more", `{"city": "x"}`))},
		{output: "<function=nobody>{}</function>", want: message("<function=nobody>{}</function>")},
	}},
	{"bracket tag", calls(format.Calls{Call: pair("[TOOL_CALLS]", ""),
		Head: []format.Part{name, lit("[CALL_ID]"), id, lit("[ARGS]")}, Body: jsonBody}), []turn{
		{output: "[TOOL_CALLS]get[CALL_ID]000000001[ARGS]" + rome + "[TOOL_CALLS]ping[CALL_ID]2[ARGS]{}", want: message("", call("000000001", "get", rome), call("2", "ping", "{}"))},
	}},
	{"id before the name", calls(format.Calls{Head: []format.Part{lit("[CALL_ID]"), id,
		lit("[FUNC]"), name}, Body: jsonBody}), []turn{
		{output: "[CALL_ID]ab-1[FUNC]get" + rome, want: message("", call("ab-1", "get", rome))},
	}},
	{"id after the arguments",
		calls(format.Calls{Head: []format.Part{lit("[FUNC]"), name}, Body: jsonBody,
			Tail: []format.Part{lit("[CALL_ID]"), id, lit("[END]")}}), []turn{
			{output: "[FUNC]get" + rome + "[CALL_ID]ab-1[END]", want: message("", call("ab-1", "get", rome))},
		}},
	{"prefixed and indexed", calls(format.Calls{Section: pair("<|calls_begin|>", "<|calls_end|>"),
		Call: pair("<|call_begin|>", "<|call_end|>"),
		Head: []format.Part{{Kind: format.SlotID,
			Parts: []format.Part{lit("functions."), name, lit(":"), slot(format.SlotIndex)}},
			lit("<|arg_begin|>")}, Body: jsonBody}), []turn{
		{output: "<|calls_begin|><|call_begin|>functions.get:0<|arg_begin|>" + rome + "<|call_end|><|call_begin|>functions.ping:1<|arg_begin|>{}<|call_end|><|calls_end|>",
			want: message("", call("functions.get:0", "get", rome),
				call("functions.ping:1", "ping", "{}"))},
		{output: "Go <|call_begin|>functions.get_more:0<|arg_begin|>{\"city\": \"x\"}", want: message("Go", call("functions.get_more:0", "get_more", `{"city": "x"}`))},
		{output: "<|calls_begin|><|call_begin|>get:0<|arg_begin|>{}<|call_end|><|call_begin|>ping<|arg_begin|>{}<|call_end|><|calls_end|>",
			want: message("", call("get:0", "get", "{}"), call("ping", "ping", "{}"))},
	}},
	{"code fence in a call", calls(format.Calls{Section: pair("<｜tool▁calls▁begin｜>",
		"<｜tool▁calls▁end｜>"), Call: pair("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"),
		Head: []format.Part{lit("function<｜tool▁sep｜>"), name, lit("\n```json\n")}, Body: jsonBody,
		Tail: []format.Part{lit("\n```")}}), []turn{
		{output: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get\n```json\n" + rome + "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>", want: message("", call("", "get", rome))},
		{output: "<|tool_calls_begin|><|tool_call_begin|>function<|tool_sep|>get\n```json\n" + rome + "\n```<|tool_call_end|><|tool_calls_end|>", want: message("", call("", "get", rome))},
	}},
	{"tagged arguments", calls(format.Calls{Call: pair("<tool_call>\n", "\n</tool_call>"),
		Head: []format.Part{lit("<function="), name, lit(">\n")},
		Body: tagged("<parameter=", ">\n", "\n</parameter>", "\n"),
		Tail: []format.Part{lit("\n</function>")}}), []turn{
		{output: "<tool_call>\n<function=get>\n<parameter=city>\n  Rome\n\n</parameter>\n<parameter=n>\n3\n</parameter>\n</function>\n</tool_call>", want: message("", call("", "get", `{"city": "  Rome\n", "n": 3}`))},
		{output: "Let me.\n<function=get>\n<parameter=n>3</parameter><parameter=city>a</parameter> b</parameter></function>\n</tool_call>", want: message("Let me.", call("", "get", `{"n": 3, "city": "a</parameter> b"}`))},
		{output: "<tool_call>\n<function=ping>\n</function>\n</tool_call>", want: message("", call("", "ping", "{}"))},
		{output: "<tool_call>\n<function=get>\n<parameter=maybe>\nnull\n</parameter>\n<parameter=any>\n[1, \"x\"]\n</parameter>\n<parameter=else>\n\"q\"\n</parameter>\n<parameter=opts>\n{\"a\": {}}\n</parameter>\n<parameter=on>\nTrue\n</parameter>\n</function>\n</tool_call>",
			want: message("", call("", "get", `{"maybe": null, "any": [1, "x"], "else": "\"q\"", "opts": {"a": {}}, "on": true}`))},
		{output: "<tool_call>\n<function=get>\n<parameter=n>\nmany\n</parameter>\n</function>\n</tool_call>", want: message("", call("", "get", `{"n": "many"}`))},
	}},
	{"invoke with parameters", calls(format.Calls{Section: pair("<mm:tool_call>\n", "\n</mm:tool_call>"), Head: []format.Part{lit(`<invoke name="`), name, lit("\">\n")},
		Body: tagged(`<parameter name="`, `">`, "</parameter>", "\n"), Tail: []format.Part{lit("\n</invoke>\n")}}), []turn{
		{output: "<mm:tool_call>\n<invoke name=\"get\">\n<parameter name=\"city\">Rome & \"co\"</parameter>\n<parameter name=\"n\">3</parameter>\n</invoke>\n<invoke name=\"ping\">\n</invoke>\n</mm:tool_call>",
			want: message("", call("", "get", `{"city": "Rome & \"co\"", "n": 3}`), call("", "ping", "{}"))},
	}},
	{"type attributes", calls(format.Calls{Section: pair("<｜DSML｜calls>\n", "\n</｜DSML｜calls>"), Head: []format.Part{lit(`<｜DSML｜invoke name="`), name, lit("\">\n")},
		Body: format.Body{Kind: format.BodyTagged, Sep: format.Mark("\n"), Codec: format.Codec{Style: format.StyleRaw}, Entry: []format.Part{lit(`<｜DSML｜parameter name="`), key, lit(`" string="`),
			{Kind: format.SlotType, Types: []format.TypeName{{Word: "true", Raw: true}, {Word: "false"}}}, lit(`">`), value, lit("</｜DSML｜parameter>")}},
		Tail: []format.Part{lit("\n</｜DSML｜invoke>\n")}}), []turn{
		{output: "<｜DSML｜calls>\n<｜DSML｜invoke name=\"get\">\n<｜DSML｜parameter name=\"city\" string=\"true\">Rome</｜DSML｜parameter>\n<｜DSML｜parameter name=\"any\" string=\"true\">5</｜DSML｜parameter>\n<｜DSML｜parameter name=\"list\" string=\"false\">[\"a\"]</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜calls>",
			want: message("", call("", "get", `{"city": "Rome", "any": "5", "list": ["a"]}`))},
		{output: "<｜DSML｜calls>\n<｜DSML｜invoke name=\"get\">\n<｜DSML｜parameter name=\"n\">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜calls>", want: message("", call("", "get", `{"n": 3}`))},
	}},
	{"key and value tags", calls(format.Calls{Call: pair("<tool_call>", "\n</tool_call>"),
		Head: []format.Part{name, lit("\n")},
		Body: format.Body{Kind: format.BodyTagged, Sep: format.Mark("\n"),
			Entry: []format.Part{lit("<arg_key>"), key, lit("</arg_key>\n<arg_value>"), value,
				lit("</arg_value>")}, Codec: format.Codec{Style: format.StyleRaw}}}), []turn{
		{output: "<tool_call>get_more<arg_key>city</arg_key><arg_value>x</arg_value></tool_call>", want: message("", call("", "get_more", `{"city": "x"}`))},
		{output: "<tool_call>get\n<arg_key>city</arg_key>\n<arg_value>Rome, \"</arg_value>\" and <tool_call></arg_value>\n<arg_key>n</arg_key>\n<arg_value>3</arg_value>\n</tool_call>", want: message("", call("", "get", `{"city": "Rome, \"</arg_value>\" and <tool_call>", "n": 3}`))},
		{output: "<tool_call>ping\n</tool_call>", want: message("", call("", "ping", "{}"))},
	}},
	{"nested tags", calls(format.Calls{Section: pair("~[<calls>\n", "\n~[</calls>"), Head: []format.Part{lit(`~[<invoke name="`), name, lit(`">`)}, Tail: []format.Part{lit("~[</invoke>\n")},
		Body: format.Body{Kind: format.BodyTagged,
			Codec: format.Codec{Style: format.StyleRaw, Nested: true},
			Entry: []format.Part{lit("~[<"), key, lit(">"), value, lit("~[</"), key, lit(">")},
			Item:  []format.Part{lit("~[<item>"), value, lit("~[</item>")}}}), []turn{
		{output: "~[<calls>\n~[<invoke name=\"get\">~[<city>Rome~[</city>~[<opts>~[<a>1~[</a>~[<b>~[<item>x~[</item>~[<item>~[<c>true~[</c>~[</item>~[</b>~[</opts>~[<list>~[<item>1~[</item>~[</list>~[</invoke>\n~[</calls>",
			want: message("", call("", "get", `{"city": "Rome", "opts": {"a": 1, "b": ["x", {"c": true}]}, "list": ["1"]}`))},
		{output: "~[<calls>\n~[<invoke name=\"get\">~[<any>~[</any>~[<opts>~[</opts>~[<new>v~[</new>~[</invoke>\n~[<invoke name=\"ping\">~[</invoke>\n~[</calls>", want: message("", call("", "get", `{"any": "", "opts": {}, "new": "v"}`), call("", "ping", "{}"))},
	}},
	{"id before the arguments", calls(format.Calls{Call: pair("<call>", "</call>"),
		Object: object(field(format.SlotID, "id"), field(format.SlotName, "name"),
			field(format.SlotArgs, "arguments"))}), []turn{
		{output: `<call>{"id": "7", "name": "get", "arguments": ` + rome + `}</call>`,
			want: message("", call("7", "get", rome))},
		{output: `<call>{"name": "get", "id": "7", "arguments": ` + rome + `}</call>`,
			want: message("", call("7", "get", rome))},
	}},
	{"CDATA", calls(format.Calls{Head: []format.Part{lit(`<function name="`), name, lit(`">`)}, Tail: []format.Part{lit("</function>")},
		Body: func() format.Body {
			b := tagged(`<param name="`, `">`, "</param>", "")
			b.Codec.CDATA = true
			return b
		}()}), []turn{
		{output: "<function name=\"get\"><param name=\"city\"><![CDATA[<a> </param></function> ]]></param><param name=\"n\">3</param></function>", want: message("", call("", "get", `{"city": "<a> </param></function> ", "n": 3}`))},
		{output: "<function name=\"get_more\"><param name=\"city\">plain</param></function>", want: message("", call("", "get_more", `{"city": "plain"}`))},
	}},
	{"entities", calls(format.Calls{Head: []format.Part{lit(`<f n="`), name, lit(`">`)}, Tail: []format.Part{lit("</f>")}, Body: func() format.Body {
		b := tagged(`<p n="`, `">`, "</p>", "")
		b.Codec.Entity = true
		return b
	}()}), []turn{
		{output: `<f n="get_more"><p n="city">a &lt;b&gt; &amp;amp; &#39;&quot;</p></f>`, want: message("", call("", "get_more", `{"city": "a <b> &amp; '\""}`))},
		{output: `<f n="get_more"><p n="city">a &lt;b&gt; &amp;amp; &#39;&quot; &copy=1 &</p></f>`, want: message("", call("", "get_more", `{"city": "a <b> &amp; '\" &copy=1 &"}`))},
	}},
	{"CDATA and entities", calls(format.Calls{Head: []format.Part{lit(`<f n="`), name, lit(`">`)}, Tail: []format.Part{lit("</f>")}, Body: func() format.Body {
		b := tagged(`<p n="`, `">`, "</p>", "")
		b.Codec.CDATA, b.Codec.Entity = true, true
		return b
	}()}), []turn{
		{output: `<f n="get_more"><p n="city"><![CDATA[b &lt; c]]></p></f>`, want: message("", call("", "get_more", `{"city": "b &lt; c"}`))},
		{output: `<f n="get_more"><p n="city">b &lt; c</p></f>`, want: message("", call("", "get_more", `{"city": "b < c"}`))},
	}},
	{"wide gaps", calls(format.Calls{Head: []format.Part{lit("<f="), name, lit(">")},
		Body: tagged("<p=", ">\n\t", "\n\t</p>", ""), Tail: []format.Part{lit("</f>")}}), []turn{
		{output: "<f=get_more><p=city>\n\tRome\n\t</p></f>", want: message("", call("", "get_more", `{"city": "Rome"}`))},
		{output: "<f=get_more><p=city>\nRome\n</p></f>", want: message("", call("", "get_more", `{"city": "Rome\n"}`))},
		{output: "<f=get_more><p=city> </p></f>", want: message("", call("", "get_more", `{"city": " "}`))},
	}},
	{"message header", format.Format{End: []string{"<|message_sep|>\n\n"},
		Calls: []format.Calls{{Section: pair("<|message_sep|>\n\nfunction call<|role_sep|>\n", ""), Object: plainObject}}}, []turn{
		{output: "Hello<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"get\", \"arguments\": " + rome + "}", want: message("Hello", call("", "get", rome))},
		{output: "Hello<|message_sep|>\n\n", want: message("Hello")},
	}},
	{"typed elements", calls(format.Calls{Call: pair("", "<|close|>call<|sep|>"), Head: []format.Part{lit(`<|open|>call tool="`), name, lit(`" index="`), {Kind: format.SlotIndex, Base: 1}, lit(`"<|sep|>`)},
		Body: format.Body{Kind: format.BodyTagged, Codec: format.Codec{Style: format.StyleRaw}, Entry: []format.Part{lit(`<|open|>argument key="`), key, lit(`" type="`),
			{Kind: format.SlotType, Types: []format.TypeName{{Word: "string", Raw: true}, {Word: "number"}, {Word: "object"}}}, lit(`"<|sep|>`), value, lit("<|close|>argument<|sep|>")}}}), []turn{
		{output: `<|open|>call tool="get" index="1"<|sep|><|open|>argument key="n" type="number"<|sep|>3<|close|>argument<|sep|><|open|>argument key="city" type="string"<|sep|>Rome<|close|>argument<|sep|><|close|>call<|sep|>`,
			want: message("", call("", "get", `{"n": 3, "city": "Rome"}`))},
	}},
	{"name alone as the tag", calls(format.Calls{Section: pair("<tools>", "</tools>"),
		Head: []format.Part{lit("<"), name, lit(">")}, Body: jsonBody,
		Tail: []format.Part{lit("</"), name, lit(">")}}), []turn{
		{output: "<tools><get>" + rome + "</get><ping>{}</ping></tools>", want: message("", call("", "get", rome), call("", "ping", "{}"))},
	}},
	{"name and arguments in elements",
		calls(format.Calls{Call: pair("<call>\n", "\n</call>"),
			Head: []format.Part{lit("<tool_name>"), name, lit("</tool_name>\n<arguments>")},
			Body: jsonBody, Tail: []format.Part{lit("</arguments>")}}), []turn{
			{output: "<call>\n<tool_name>get</tool_name>\n<arguments>" + rome + "</arguments>\n</call>", want: message("", call("", "get", rome))},
		}},
	{"single quotes", calls(format.Calls{Call: pair("<tool_call>", "</tool_call>"),
		Object: &format.Object{Quote: '\'', Fields: plainObject.Fields}}), []turn{
		{output: `<tool_call>{'name': 'get', 'arguments': {'city': 'Rome', 'n': 3}}</tool_call>`, want: message("", call("", "get", rome))},
	}},
	{"token quotes", calls(format.Calls{Call: pair("<|tool_call>", "<tool_call|>"), Head: []format.Part{lit("call:"), name}, Body: format.Body{Kind: format.BodyDict, Pair: pair("{", "}"), Codec: format.Codec{Quote: `<|"|>`}}}), []turn{
		{output: `<|tool_call>call:get{city:<|"|>say "hi" {}<|"|>,n:3,opts:{a:[<|"|>x<|"|>,null],b:{}}}<tool_call|>`, want: message("", call("", "get", `{"city":"say \"hi\" {}","n":3,"opts":{"a":["x",null],"b":{}}}`))},
		{output: `<|tool_call>call:get{city:St. Gallen, CH,n:5,list:[a b, c]}<tool_call|>`, want: message("", call("", "get", `{"city":"St. Gallen, CH","n":5,"list":["a b", "c"]}`))},
		{output: `<|tool_call>call:get{city:2024-01-05}<tool_call|><|tool_call>call:get{city:true}<tool_call|>`, want: message("", call("", "get", `{"city":"2024-01-05"}`), call("", "get", `{"city":"true"}`))},
	}},
	{"keyword arguments", calls(format.Calls{Section: pair("<|start|>", "<|end|>"), Array: true,
		Sep: format.Mark(", "), Head: []format.Part{name},
		Body: format.Body{Kind: format.BodyKwargs, Pair: pair("(", ")"), Sep: format.Mark(", "),
			Entry: []format.Part{key, lit("="), value},
			Codec: format.Codec{Style: format.StylePython}}}), []turn{
		{output: `<|start|>[get(city="it's", n=3, on=True, opts={'a': None}), ping()]<|end|>`, want: message("", call("", "get", `{"city": "it's", "n": 3, "on": true, "opts": {"a": null}}`), call("", "ping", "{}"))},
		{output: `<|start|>[get(city="Rome", n=[3,],), ping(), ]<|end|>`, want: message("", call("", "get", `{"city": "Rome", "n": [3]}`), call("", "ping", "{}"))},
		{output: `see [get](url) and [ping]`, want: message(`see [get](url) and [ping]`)},
	}},
	{"wrapped content", format.Format{End: []string{"<|eot|>"},
		Reasoning: format.Reasoning{Pair: pair("<|T|>", "<|/T|>")},
		Content:   format.Content{Mode: format.ContentWrapped, Pair: pair("<|R|>", "<|/R|>")},
		Calls: []format.Calls{{Section: pair("<|A|>", "<|/A|>"), Array: true,
			Object: plainObject}}}, []turn{
		{output: "<|T|>why<|/T|><|R|>because<|/R|><|eot|>", want: chat.Message{Reasoning: "why", Content: "because"}},
		{output: "<|T|>why<|/T|><|A|>[{\"name\": \"ping\", \"arguments\": {}}]<|/A|>", want: chat.Message{Reasoning: "why", ToolCalls: []chat.ToolCall{call("", "ping", "{}")}}},
	}},
	{"words", format.Format{End: end,
		Reasoning: format.Reasoning{Mode: format.ReasoningTagged,
			Pair: pair("Thought: ", "\nAnswer: ")},
		Content: format.Content{Mode: format.ContentWrapped, Pair: pair("Answer: ", "")},
		Calls: []format.Calls{{Head: []format.Part{lit("Action: "), name, lit("\nInput: ")},
			Body: jsonBody}}}, []turn{
		{output: "Thought: Which?\nAnswer: This one.<|im_end|>", want: chat.Message{Reasoning: "Which?", Content: "This one."}},
		{output: "Answer: The Answer: is no Thought: of mine.\nThought: so", want: message("The Answer: is no Thought: of mine.\nThought: so")},
		{output: "Thought: I\nAction: get\nInput: " + rome, want: chat.Message{Reasoning: "I", ToolCalls: []chat.ToolCall{call("", "get", rome)}}},
		{output: "Answer: no Action: here, Answer: <b>\nAction: ping\nInput: {}", want: message("no Action: here, Answer: <b>", call("", "ping", "{}"))},
		{output: "\n\nAnswer: Action: nothing, Answer: x", want: message("Action: nothing, Answer: x")},
	}},
	{"delimiter", format.Format{End: []string{"<|end|>"},
		Reasoning: format.Reasoning{Mode: format.ReasoningDelimiter, Pair: pair("", "\n[FINAL]\n")},
		Calls: []format.Calls{{Section: pair("<calls>", "</calls>"), Array: true,
			Object: plainObject}}}, []turn{
		{output: "I think.\n[FINAL]\nSo.<|end|>", want: chat.Message{Reasoning: "I think.", Content: "So."}},
		{output: "Just so.", want: message("Just so.")},
		{output: "think\n[FINAL]\nSo.", prefill: "Steps:\n", want: chat.Message{Reasoning: "Steps:\nthink", Content: "So."}},
	}},
	{"channels", dialect.Formats()[0], []turn{
		{output: "<|channel|>analysis<|message|>Hmm.<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>Done", want: chat.Message{Reasoning: "Hmm.", Content: "Done"}},
		{output: " to=functions.get<|channel|>commentary <|constrain|>json<|message|>" + rome + "<|call|>", want: message("", call("", "get", rome))},
		{output: "<|channel|>commentary<|message|>First.<|end|><|start|>assistant<|channel|>commentary to=functions.ping<|message|>{}", want: message("First.", call("", "ping", "{}"))},
		{output: "<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>commentary to=python <|constrain|>code<|message|>print(1)", want: chat.Message{Reasoning: "x"}},
		{output: "no head at all", want: message("no head at all")},
	}},
	{"recipients", recipients(), []turn{
		{output: "all\nHello\nyou>>>get\n" + rome + ">>>ping\n{}", want: message("Hello\nyou", call("", "get", rome), call("", "ping", "{}"))},
		{output: "get\n" + rome, want: message("", call("", "get", rome))},
		{output: "all\na >>>> b", want: message("a >>>> b")},
	}},
}
