package stream_test

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
)

// formNamed returns the format of a form.
func formNamed(t *testing.T, name string) format.Format {
	for _, f := range forms {
		if f.name == name {
			return f.f
		}
	}
	t.Fatalf("there is no form %q", name)
	return format.Format{}
}

// incomplete makes a call that broke off.
func incomplete(name,
	args string) chat.ToolCall {
	return chat.ToolCall{Name: name, Arguments: args}
}

// odd are outputs that no template writes and models do, with their meaning.
var odd = []struct {
	why, form, output, prefill string
	want                       chat.Message
}{
	{"white space between the markers of a literal (T1)", "key and value tags", "<tool_call>get\n<arg_key>city</arg_key> <arg_value>Rome</arg_value>\n<arg_key>n</arg_key>\n\n<arg_value>3</arg_value></tool_call>", "",
		message("", call("", "get", rome))},
	{"a value without its closer, before a key", "tagged arguments", "<tool_call>\n<function=get>\n<parameter=city>\nRome\n<parameter=n>\n3\n</parameter>\n</function>\n</tool_call>", "",
		message("", call("", "get", rome))},
	{"a value without its closer, before the end of the call", "tagged arguments", "<tool_call>\n<function=get>\n<parameter=n>\n3\n</parameter>\n<parameter=city>\nRome\n</function>\n</tool_call> Done.", "",
		message("Done.", call("", "get", `{"n": 3, "city": "Rome"}`))},
	{"an object without its closer", "tagged arguments", "<function=get>\n<parameter=opts>\n{\"a\": 1}\n</function>", "",
		message("", call("", "get", `{"opts": {"a": 1}}`))},
	{"a value without its closer, before the outermost closer", "key and value tags", "<tool_call>get\n<arg_key>city</arg_key>\n<arg_value>Rome</tool_call>", "",
		message("", call("", "get", `{"city": "Rome"}`))},
	{"an id that is missing with its marker", "bracket tag",
		"[TOOL_CALLS]get[ARGS]" + rome + "[TOOL_CALLS]ping[CALL_ID]2[ARGS]{}", "",
		message("", call("", "get", rome), call("2", "ping", "{}"))},
	{"a marker in a value, not at the beginning of a line", "tagged arguments", "<function=get>\n<parameter=city>\nin </parameter> and <parameter=n> here </function> too\n</parameter>\n</function>", "",
		message("", call("", "get", `{"city": "in </parameter> and <parameter=n> here </function> too"}`))},
	{"a malformed value in an announced call (E30)", "json in tag", "<tool_call>\n{\"name\": \"get\", \"arguments\": {\"city\": :Oslo}}\n</tool_call>\nDone. <tool_call>{\"name\": \"ping\", \"arguments\": {}}</tool_call>", "",
		message("Done.", incomplete("get", `{"city": `), call("", "ping", "{}"))},
	{"arguments that are no object: a number (E14)", "json in tag",
		"<tool_call>\n" + `{"name": "get", "arguments": 5}` + "\n</tool_call>\nDone.", "",
		message("Done.", incomplete("get", ""))},
	{"arguments that are no object: a text", "json in tag",
		`<tool_call>{"name": "get", "arguments": "x"}</tool_call>` +
			`<tool_call>{"name": "ping", "arguments": {}}</tool_call>`, "",
		message("", incomplete("get", ""), call("", "ping", "{}"))},
	{"arguments that are no object: a list", "json array in tag",
		`<TOOLCALL>[{"name": "get", "arguments": [1]}, {"name": "ping", "arguments": {}}]</TOOLCALL>`, "",
		message("", incomplete("get", ""), call("", "ping", "{}"))},
	{"arguments that are no object, in a part", "channels",
		" to=functions.get<|channel|>commentary<|message|>[1]<|call|>", "",
		message("", incomplete("get", ""))},
	{"a bare object with arguments that are no object", "bare json",
		`{"name": "get", "parameters": 5}`, "", message(`{"name": "get", "parameters": 5}`)},
	{"arguments that are an empty text", "json in tag",
		`<tool_call>{"name": "ping", "arguments": ""}</tool_call>`, "", message("", call("", "ping", "{}"))},
	{"an object in a text, and a text in it with escapes of its own", "json in tag",
		`<tool_call>{"name": "get", "arguments": "{\"city\": \"a\\\"b\\\\\", \"list\": [1]}"}</tool_call>`, "",
		message("", call("", "get", `{"city": "a\"b\\", "list": ["1"]}`))},
	{"a second id", "json array with ids",
		`[TOOL_CALLS][{"name": "ping", "arguments": {}, "id": "a", "id": "b"}]`, "",
		message("", call("a", "ping", "{}"))},
	{"arguments twice", "json array with ids",
		`[TOOL_CALLS][{"name": "get", "arguments": {"n": 1}, "arguments": {"n": 2}, "id": "a"}]`, "",
		message("", call("a", "get", `{"n": 1}`))},
	{"children that repeat", "nested tags",
		"~[<invoke name=\"get\">~[<opts>~[<a>x~[</a>~[<a>y~[</a>~[<b>~[<c>1~[</c>~[<c>2~[</c>" +
			"~[</b>~[<b>3~[</b>~[</opts>~[</invoke>", "",
		message("", call("", "get", `{"opts": {"a": ["x", "y"], "b": [{"c": [1, 2]}, 3]}}`))},
	{"children that repeat and break off", "nested tags",
		"~[<invoke name=\"get\">~[<opts>~[<a>x~[</a>~[<a>y~[</a>~[<b>~[<c>1~[</c>~[<c>2", "",
		message("", incomplete("get", `{"opts": {"a": ["x", "y"], "b": {"c": [1, 2`))},
	{"arguments that repeat", "nested tags",
		"~[<invoke name=\"get\">~[<list>a~[</list>~[<list>2~[</list>~[<new>x~[</new>~[<new>y~[</new>" +
			"~[<n>1~[</n>~[</invoke>", "",
		message("", call("", "get", `{"list": ["a", "2"], "new": ["x", "y"], "n": 1}`))},
	{"arguments that repeat and break off", "nested tags",
		"~[<invoke name=\"get\">~[<city>Rome~[</city>~[<list>a~[</list>~[<list>b", "",
		message("", incomplete("get", `{"city": "Rome", "list": ["a", "b"`))},
	{"scalars where the schema has strings (T11)", "json in tag",
		`<tool_call>{"name": "get", "arguments": {"city": 20.5e1, "n": 4, "opts": {"x": 1}, "list": [1, "2", true, null], "maybe": 5, "any": false}}</tool_call>`, "",
		message("", call("", "get", `{"city": "20.5e1", "n": 4, "opts": {"x": 1}, "list": ["1", "2", "true", null], "maybe": 5, "any": false}`))},
	{"a scalar for a string before the name", "json in tag",
		`<tool_call>{"arguments": {"ci\u0074y": true}, "name": "get"}</tool_call>`, "",
		message("", call("", "get", `{"ci\u0074y": "true"}`))},
	{"a scalar for a string, as Python has it", "keyword arguments",
		`<|start|>[get(city=True, list=[1.50]), ping()]<|end|>`, "",
		message("", call("", "get", `{"city": "true", "list": ["1.50"]}`), call("", "ping", "{}"))},
	{"a scalar for a string that breaks off", "json in tag",
		`<tool_call>{"name": "get", "arguments": {"city": 12`, "",
		message("", incomplete("get", `{"city": "12`))},
	{"arguments that do not wait for an id that may never come", "id before the arguments",
		`<call>{"name": "get", "arguments": ` + rome + `, "id": "7"}</call>`, "",
		message("", call("", "get", rome))},
	{"a string and a key without quotes", "json in tag", `<tool_call>{"name": "get", "arguments": {city: Oslo, by the sea, "n": 3}}</tool_call>`, "",
		message("", call("", "get", `{"city": "Oslo, by the sea", "n": 3}`))},
	{"a number without the bracket behind it", "json in tag", "<tool_call>{\"name\": \"get\", \"arguments\": {\"n\": 3\n</tool_call>", "",
		message("", incomplete("get", "{\"n\": 3\n"))},
	{"an opener of calls that is repeated", "json in tag", "Well.\n<tool_call>\n<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call>\n</tool_call>", "",
		message("Well.", call("", "ping", "{}"))},
	{"a malformed item of an array", "json array in tag", `<TOOLCALL>[{"name": "get", "arguments": {"city": :Oslo, "n": 1}}, {"name": "ping", "arguments": {}}]</TOOLCALL> Done.`, "",
		message("Done.", incomplete("get", `{"city": `), call("", "ping", "{}"))},
	{"a malformed keyword argument", "keyword arguments", `<|start|>[get(city=Oslo!, n=3), ping()]<|end|>`, "",
		message("", incomplete("get", `{"city": `), call("", "ping", "{}"))},
	{"text among the arguments", "tagged arguments", "<tool_call>\n<function=get>\nI think it is\n<parameter=n>\n3\n</parameter>\n</function>\n</tool_call>\nDone.", "",
		message("Done.", incomplete("get", `{`))},
	{"a malformed value and nothing that closes it", "bracket tag", `[TOOL_CALLS]get[CALL_ID]1[ARGS]{"city": :Oslo} [TOOL_CALLS]ping[CALL_ID]2[ARGS]{}`, "",
		message("", chat.ToolCall{ID: "1", Name: "get", Arguments: `{"city": `}, call("2", "ping", "{}"))},
	{"a call that closes itself", "invoke with parameters", "<mm:tool_call>\n<invoke name=\"ping\"/>\n<invoke name=\"get\" />\n</mm:tool_call>", "",
		message("", call("", "ping", "{}"), call("", "get", "{}"))},
	{"a string without quotes that nothing ends", "token quotes", "<|tool_call>call:get{city:Bern<tool_call|><|tool_call>call:ping{}<tool_call|>", "",
		message("", incomplete("get", `{"city":"Bern`), call("", "ping", "{}"))},
	{"a key that is not declared in a string", "tagged arguments", "<tool_call>\n<function=get>\n<parameter=city>\na\n<parameter=z>\n1\n</parameter>\n</function>\n</tool_call>", "",
		message("", call("", "get", `{"city": "a\n<parameter=z>\n1"}`))},
	{"a key with which a string begins", "tagged arguments", "<tool_call>\n<function=get>\n<parameter=city>\n<parameter=n>\n1\n</parameter>\n</function>\n</tool_call>", "",
		message("", call("", "get", `{"city": "<parameter=n>\n1"}`))},
	{"the only key in its string", "tagged arguments", "<tool_call>\n<function=get_more>\n<parameter=city>\na\n<parameter=city>\nb\n</parameter>\n</function>\n</tool_call>", "",
		message("", call("", "get_more", `{"city": "a\n<parameter=city>\nb"}`))},
	{"a key of another tool in a string", "tagged arguments", "<tool_call>\n<function=get_more>\n<parameter=city>\na\n<parameter=n>\n1\n</parameter>\n</function>\n</tool_call>", "",
		message("", call("", "get_more", `{"city": "a\n<parameter=n>\n1"}`))},
	{"tags of a key in a string", "key and value tags", "<tool_call>get\n<arg_key>city</arg_key>\n<arg_value><arg_key>z</arg_key>\n<arg_value>1</arg_value>\n</tool_call>", "",
		message("", call("", "get", `{"city": "<arg_key>z</arg_key>\n<arg_value>1"}`))},
	{"an empty call", "json in tag", "Well.\n<tool_call>\n</tool_call>\nNo.", "", message("Well.\nNo.")},
	{"an empty array", "json array in tag", "Well. <TOOLCALL>[]</TOOLCALL>", "", message("Well.")},
	{"an empty array without a closer", "json array with ids", "[TOOL_CALLS] [] So.", "", message("So.")},
	{"an empty section", "prefixed and indexed", "Well.<|calls_begin|><|calls_end|> So.", "", message("Well. So.")},
	{"noise in a section", "prefixed and indexed", "Well. <|calls_begin|> some noise <|call_begin|>functions.ping:0<|arg_begin|>{}<|call_end|> noise<|calls_end|>", "",
		message("Well. noise", call("functions.ping:0", "ping", "{}"))},
	{"an opener with which the output ends", "json in tag", "Let me see.<tool_call>\n", "", message("Let me see.")},
	{"text after the end of the turn", "json in tag", "So.<|im_end|>\nAnd more.", "", message("So.\nAnd more.")},
	{"white space in a compound opener", "keyword arguments",
		"<|start|> [get(city=\"Rome\", n=3)] <|end|>", "", message("", call("", "get", rome))},
	{"a call that breaks off before its arguments", "json in tag",
		`<tool_call>{"name": "get"`, "", message("", incomplete("get", ""))},
	{"a call that breaks off in its first key", "key and value tags",
		"<tool_call>get\n<arg_key>ci", "", message("", incomplete("get", "{"))},
	{"a quoted call and its end", "invoke with parameters",
		"Write `<invoke name=\"x\">` and `</invoke>` around it.", "",
		message("Write `<invoke name=\"x\">` and `</invoke>` around it.")},
	{"a part without a channel", "channels", "<|message|>Hello.<|end|>", "", message("Hello.")},
	{"a marker quoted in reasoning", "channels", "<|channel|>analysis<|message|>No <|call|> or <|channel|>final yet.<|end|><|start|>assistant<|channel|>final<|message|>Yes.", "",
		chat.Message{Reasoning: "No <|call|> or <|channel|>final yet.", Content: "Yes."}},
	{"a part that the next one ends", "channels", "<|channel|>analysis<|message|>Hm. <|channel|>final<|message|>Yes.", "", chat.Message{Reasoning: "Hm.", Content: "Yes."}},
	{"a head that the end cuts off", "channels", "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant to=functions.get<|channel|>commentary <|constrain|>js", "", chat.Message{Reasoning: "Hm."}},
	{"a malformed call of a part", "channels", " to=functions.get<|channel|>commentary<|message|>{\"city\": :Oslo}<|call|><|start|>assistant<|channel|>final<|message|>Yes.", "",
		message("Yes.", incomplete("get", `{"city": `))},
	{"escaped keys in attributes", "invoke with parameters", "<mm:tool_call>\n<invoke name=\"get\">\n<parameter name=\"a &quot;b&quot; &amp; c\">x & y</parameter>\n</invoke>\n</mm:tool_call>", "",
		message("", call("", "get", `{"a \"b\" & c": "x & y"}`))},
	{"closers of a call that is not declared", "tagged arguments", "<tool_call>\n<function=nobody>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call> so", "",
		message("<tool_call>\n<function=nobody>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call> so")},
	{"a bare call at the beginning", "bare json", ` {"name": "ping", "parameters": {}} Done.`, "", message("Done.", call("", "ping", "{}"))},
	{"a bare call at the end", "bare json", `I call {"name": "ping", "parameters": {}} {"name": "get", "parameters": {"n": 1}}<|im_end|>`, "", message("I call", call("", "ping", "{}"), call("", "get", `{"n": 1}`))},
	{"a bare call in a fence", "bare json", "Write\n```json\n{\"name\": \"ping\", \"parameters\": {}}\n```\nto call.", "", message("Write\n```json\n{\"name\": \"ping\", \"parameters\": {}}\n```\nto call.")},
	{"a bare call in a fence that ends the answer", "bare json", "Write\n```json\n{\"name\": \"ping\", \"parameters\": {}}\n```", "", message("Write\n```json\n{\"name\": \"ping\", \"parameters\": {}}\n```")},
}

// TestOdd reads them whole, cut in two everywhere, and byte by byte.
func TestOdd(t *testing.T) {
	for _, c := range odd {
		t.Run(c.why, func(t *testing.T) {
			out := generate(t, formNamed(t, c.form), usual(c.prefill))
			check := func(pieces ...string) {
				t.Helper()
				if _, m := read(t, out, pieces...); !reflect.DeepEqual(m, c.want) {
					t.Fatalf("%q\n got %+v\nwant %+v", pieces, m, c.want)
				}
			}
			check(c.output)
			for i := 1; i < len(c.output); i++ {
				check(c.output[:i], c.output[i:])
			}
			check(bytesOf(c.output)...)
		})
	}
}

// TestIncomplete reads outputs with incomplete calls under each policy: batch and stream agree.
func TestIncomplete(t *testing.T) {
	const malformed = "Well. <tool_call>\n{\"name\": \"get\", \"arguments\": {\"city\": :Oslo}}\n</tool_call>\nDone. <tool_call>{\"name\": \"ping\", \"arguments\": {}}</tool_call>"
	const cut = "Well. <tool_call>\n{\"name\": \"get\", \"arguments\": {\"city\": \"Os"
	const tag = "<tool_call>\n<function=get>\n<parameter=city>\nOs"
	for _, c := range []struct {
		form, output string
		want         [3]chat.Message
	}{
		{"json in tag", malformed, [...]chat.Message{
			message("Well.\nDone.", incomplete("get", `{"city": `), call("", "ping", "{}")),
			message("Well.\nDone.", call("", "ping", "{}")),
			message("Well. <tool_call>\n{\"name\": \"get\", \"arguments\": {\"city\": :Oslo}}\n</tool_call>\nDone.", call("", "ping", "{}")),
		}},
		{"json in tag", cut, [...]chat.Message{
			message("Well.", incomplete("get", `{"city": "Os`)), message("Well."), message("Well. <tool_call>\n{\"name\": \"get\", \"arguments\": {\"city\": \"Os"),
		}},
		{"tagged arguments", tag, [...]chat.Message{message("", incomplete("get", `{"city": "Os`)), {}, message(tag)}},
		{"json in tag", `<tool_call>{"name": "get", "more": [1], "arguments": {"city": :Oslo`, [...]chat.Message{
			message("", incomplete("get", `{"city": `)), {}, message(`<tool_call>{"name": "get", "more": [1], "arguments": {"city": :Oslo`),
		}},
		{"json in tag", `<tool_call>{"name": "ping", "arguments": {}}</tool_call><tool_call>{"name": "get", "arguments": {"city": "Os`, [...]chat.Message{
			message("", call("", "ping", "{}"), incomplete("get", `{"city": "Os`)), message("", call("", "ping", "{}")),
			message(`<tool_call>{"name": "get", "arguments": {"city": "Os`, call("", "ping", "{}")),
		}},
		{"bracket tag", "[TOOL_CALLS]get[CALL_ID]1[ARGS]{", [...]chat.Message{
			message("", chat.ToolCall{ID: "1", Name: "get", Arguments: "{"}), {},
			message("[TOOL_CALLS]get[CALL_ID]1[ARGS]{"),
		}},
	} {
		for i, want := range c.want {
			policy := codegen.Incomplete(i)
			if again, err := codegen.ParseIncomplete(policy.String()); err != nil ||
				again != policy {
				t.Errorf("%s: %v, %v", policy, again, err)
			}
			o := usual("")
			o.Incomplete = policy
			out := generate(t, formNamed(t, c.form), o)
			for n := range c.output {
				if _, m := read(t, out, c.output[:n], c.output[n:]); !reflect.DeepEqual(m, want) {
					t.Fatalf("%s, cut at %d: %q\n got %+v\nwant %+v", policy, n, c.output, m, want)
				}
			}
			if _, m := read(t, out, bytesOf(c.output)...); !reflect.DeepEqual(m, want) {
				t.Fatalf("%s, byte by byte: %q\n got %+v\nwant %+v", policy, c.output, m, want)
			}
		}
	}
	if _, err := codegen.ParseIncomplete("none"); err == nil {
		t.Error("none is a policy")
	}
}

// TestCloseNoObject demands that no tolerance makes a complete call of arguments that are no object
// (T9).
func TestCloseNoObject(t *testing.T) {
	o := usual("")
	o.Tolerances |= codegen.CloseArguments
	out := generate(t, formNamed(t, "json in tag"), o)
	all := []string{"5", `"x"`, "[1]", "[", "tru", `"x`, "[{}]", "{}", "{", "null"}
	for _, arguments := range all {
		for _, tail := range []string{"", "}", "}</tool_call>"} {
			p, m := read(t, out, "<tool_call>{\"name\": \"get\", \"arguments\": "+arguments+tail)
			called := len(m.ToolCalls) == 1 && m.ToolCalls[0].Complete
			want := arguments[0] == '{' || arguments == "null" && tail != ""
			if called != want || !want && len(p.Diagnostics()) == 0 {
				t.Errorf("arguments %s%s: %+v, %v", arguments, tail, m, p.Diagnostics())
			}
		}
	}
}

// TestQuotedScalars draws arguments with scalars anywhere and cuts them anywhere: those are strings
// where the schema allows strings alone, and nothing else has changed (T11).
func TestQuotedScalars(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 11))
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	space := func() string { return one("", "", " ", "\n\t") }
	scalar := func() string { return one("0", "-1.50e3", "true", "false", "12345678901234567890") }
	quoted := func(s string) string { return `"` + s + `"` }
	text := func() string { return one(`""`, `"a\\\" , 1}]"`, `"\u005d:2"`, "null") }
	out := generate(t, formNamed(t, "json in tag"), usual(""))
	for range 500 {
		var given, want strings.Builder
		both := func(s string) { given.WriteString(s); want.WriteString(s) }
		text := func() { both(text()) }
		mend := func() { s := scalar(); given.WriteString(s); want.WriteString(quoted(s)) }
		keep := func() { both(scalar()) }
		both("{")
		for i := range r.IntN(6) {
			if i > 0 {
				both(space() + "," + space())
			}
			switch r.IntN(5) {
			case 0:
				both(one(`"city"`, `"cit\u0079"`) + space() + ":" + space())
				either(r, text, mend)
			case 1:
				both(`"list": [` + space())
				either(r, text, mend)
				both(space() + "," + space())
				either(r, text, mend)
				both("]")
			case 2:
				both(one(`"n": `, `"maybe":`, `"any": `, `"new": `))
				either(r, text, keep)
			case 3:
				both(`"opts": {"city": `)
				keep()
				both(`, "l": [`)
				keep()
				both(space() + "]}")
			case 4:
				both(`"any": [{"city": `)
				keep()
				both("}]")
			}
		}
		both("}")
		output := `<tool_call>{"name": "get", "arguments": ` + given.String() + `}</tool_call>`
		for _, cut := range [][]string{{output}, bytesOf(output), pieces(r, output)} {
			_, m := read(t, out, cut...)
			if len(m.ToolCalls) != 1 || m.ToolCalls[0].Arguments != want.String() {
				t.Fatalf("%q\n got %+v\nwant %s", cut, m, want.String())
			}
		}
	}
}

// either does one of two things.
func either(r *rand.Rand, a, b func()) {
	if r.IntN(2) == 0 {
		a()
	} else {
		b()
	}
}

// TestScalarsAsWritten reads without T11: the JSON is the model's.
func TestScalarsAsWritten(t *testing.T) {
	const arguments = `{"city": 3, "list": [true, "x"], "n": 4}`
	o := usual("")
	o.Tolerances &^= codegen.QuotedScalars
	out := generate(t, formNamed(t, "json in tag"), o)
	_, m := read(t, out, `<tool_call>{"name": "get", "arguments": `+arguments+`}</tool_call>`)
	if want := message("", call("", "get", arguments)); !reflect.DeepEqual(m, want) {
		t.Errorf("got %+v\nwant %+v", m, want)
	}
}

// TestForeignTokens has tokens that are no markers of the format beside calls that have none.
func TestForeignTokens(t *testing.T) {
	const object = `{"name": "get", "parameters": {"city": "x"}}`
	get := call("", "get", `{"city": "x"}`)
	for _, tt := range []struct {
		output string
		want   chat.Message
		drops  int
	}{
		{"<|python_tag|>" + object, message("", get), 1},
		{"\n<|python_tag|>\n" + object + "<|eom_id|>", message("", get), 1},
		{object + "<|eom_id|>\n", message("", get), 0},
		{"I look. <|tool|>" + object, message("I look.", get), 1},
		{"<|python_tag|>print(1)", message("<|python_tag|>print(1)"), 0},
		{"The token <|eom_id|> ends it.", message("The token <|eom_id|> ends it."), 0},
		{"Ends with <|eom_id|>", message("Ends with <|eom_id|>"), 0},
		{"a <| b |> c " + object, message("a <| b |> c", get), 0},
	} {
		out := generate(t, formNamed(t, "bare json"), usual(""))
		for _, pieces := range [][]string{{tt.output}, bytesOf(tt.output)} {
			p, m := read(t, out, pieces...)
			if !reflect.DeepEqual(m, tt.want) || len(p.Diagnostics()) != tt.drops {
				t.Errorf("%q: %+v, %v\nwant %+v and %d diagnostics", pieces, m, p.Diagnostics(),
					tt.want, tt.drops)
			}
		}
	}
	o := usual("")
	o.Tolerances &^= codegen.StrayClosers
	output := "<|python_tag|>" + object
	want := message("<|python_tag|>", get)
	out := generate(t, formNamed(t, "bare json"), o)
	if _, m := read(t, out, output); !reflect.DeepEqual(m, want) {
		t.Errorf("without stray-closers: %+v, want %+v", m, want)
	}
}

// TestFurtherEnds has ends of a turn after its end: they are no fault.
func TestFurtherEnds(t *testing.T) {
	for output, drops := range map[string]int{
		"Hi.<|im_end|><|im_end|>": 0, "Hi.<|im_end|>\n<|endoftext|>\n": 0,
		"Hi.<|im_end|>": 0, "Hi.<|im_end|>\n<|im_start|>user\nAnd?": 1,
	} {
		out := generate(t, formNamed(t, "json in tag"), usual(""))
		for _, pieces := range [][]string{{output}, bytesOf(output)} {
			p, m := read(t, out, pieces...)
			if m.Content != "Hi." || len(p.Diagnostics()) != drops {
				t.Errorf("%q: %+v, %v", pieces, m, p.Diagnostics())
			}
		}
	}
}

// TestForeignEnd has a turn with a call that ends with a token of no format.
func TestForeignEnd(t *testing.T) {
	out := generate(t, formNamed(t, "json in tag"), usual(""))
	call := "<tool_call>\n" + `{"name": "get", "arguments": {}}` + "\n</tool_call>"
	for output, content := range map[string]string{
		call + "<|eom_id|>": "", call + "\n<|endoftext|>\n": "", call + " Done.<|call|>": "Done.",
		call + "Is <|eom_id|> right?": "Is <|eom_id|> right?",
	} {
		for _, pieces := range [][]string{{output}, bytesOf(output)} {
			p, m := read(t, out, pieces...)
			if m.Content != content || len(m.ToolCalls) != 1 || len(p.Diagnostics()) > 0 {
				t.Errorf("%q: %+v, %v", pieces, m, p.Diagnostics())
			}
		}
	}
}

// TestRepeatedOpener has reasoning opened by the prompt and by the model, with T10, as it is usual,
// and without it.
func TestRepeatedOpener(t *testing.T) {
	const output = "<think>\nWhy.\n</think>\n\nSo."
	for tolerances, want := range map[codegen.Tolerances]string{codegen.Usual: "Why.",
		codegen.Usual &^ codegen.RepeatedOpener: "<think>\nWhy."} {
		o := usual("<think>\n")
		o.Tolerances = tolerances
		out := generate(t, formNamed(t, "json in tag"), o)
		for _, pieces := range [][]string{{output}, bytesOf(output)} {
			if _, m := read(t, out, pieces...); m.Reasoning != want || m.Content != "So." {
				t.Errorf("%q: %+v, want reasoning %q", pieces, m, want)
			}
		}
	}
}

// TestEscapedNames reads names of functions and keys in attributes, as they are and in each way in
// which templates escape them, and tells names apart that look escaped.
func TestEscapedNames(t *testing.T) {
	const key = `x & "y" <z>`
	var list []chat.Tool
	for _, name := range []string{`a&b "c"`, `a<b>'s`, `a&amp;b`, `a&b`} {
		list = append(list, chat.Tool{Name: name, Parameters: schemaValue(t,
			`{"type": "object", "properties": {"x & \"y\" <z>": {"type": "string"}, "n": {"type": "integer"}}}`)})
	}
	o := usual("")
	o.Tools = list
	forms := map[string]format.Format{"parameters": formNamed(t, "invoke with parameters"),
		"types": calls(format.Calls{Section: pair("<|open|>tools<|sep|>", "<|close|>tools<|sep|>"),
			Head: []format.Part{lit(`<|open|>call tool="`), name, lit(`"<|sep|>`)},
			Body: tagged(`<|open|>argument key="`, `"<|sep|>`, "<|close|>argument<|sep|>", ""),
			Tail: []format.Part{lit("<|close|>call<|sep|>")}})}
	spelled := map[string]func(name, key string) string{
		"parameters": func(name, key string) string {
			return "<mm:tool_call>\n<invoke name=\"" + name + "\">\n<parameter name=\"" + key +
				"\">v & &amp;</parameter>\n</invoke>\n</mm:tool_call>"
		},
		"types": func(name, key string) string {
			return `<|open|>tools<|sep|><|open|>call tool="` + name + `"<|sep|><|open|>argument key="` +
				key + `"<|sep|>v & &amp;<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>`
		},
	}
	for form, f := range forms {
		out := generate(t, f, o)
		for _, way := range []struct{ written, name, key string }{
			{`a&b "c"`, `a&b "c"`, key},
			{"a&amp;b &quot;c&quot;", `a&b "c"`, "x &amp; &quot;y&quot; <z>"},
			{"a&amp;b &#34;c&#34;", `a&b "c"`, "x &amp; &#34;y&#34; &lt;z&gt;"},
			{"a&amp;b &quot;c&quot;", `a&b "c"`, "x &amp; &quot;y&quot; &lt;z&gt;"},
			{"a&lt;b&gt;&apos;s", `a<b>'s`, "x &amp; &quot;y&quot; &lt;z>"},
			{"a&lt;b>'s", `a<b>'s`, key},
			{"a&amp;b", "a&amp;b", key}, // as it is declared
			{"a&b", "a&b", key},
			{"a&amp;amp;b", "a&amp;b", key},
		} {
			text := spelled[form](way.written, way.key)
			want := message("", call("", way.name, `{"x & \"y\" <z>": "v & &amp;"}`))
			for _, pieces := range [][]string{{text}, bytesOf(text)} {
				if _, m := read(t, out, pieces...); !reflect.DeepEqual(m, want) {
					t.Errorf("%s: %q\ngot  %+v\nwant %+v", form, text, m, want)
				}
			}
		}
	}
}

// TestArgumentsAreJSON demands that a call whose arguments are no JSON is not complete, and has a
// diagnostic (E37): a value may nest as deep as JSON, and stands in an object.
func TestArgumentsAreJSON(t *testing.T) {
	out := generate(t, formNamed(t, "tagged arguments"), usual(""))
	for depth, want := range map[int]bool{ordered.MaxDepth - 1: true, ordered.MaxDepth: false} {
		value := strings.Repeat("[", depth) + "1" + strings.Repeat("]", depth)
		p, m := read(t, out, "<tool_call>\n<function=get>\n<parameter=list>\n", value,
			"\n</parameter>\n</function>\n</tool_call>")
		if len(m.ToolCalls) != 1 || m.ToolCalls[0].Complete != want ||
			len(p.Diagnostics()) == 0 != want {
			t.Errorf("%d levels: complete %t, %v", depth, !want, p.Diagnostics())
		}
	}
}
