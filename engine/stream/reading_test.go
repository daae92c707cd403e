package stream_test

import (
	"reflect"
	"testing"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/format"
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
func incomplete(name, args string) chat.ToolCall { return chat.ToolCall{Name: name, Arguments: args} }

// odd are outputs that no template writes and models do, and what they mean.
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
	{"an id that is missing with its marker", "bracket tag", "[TOOL_CALLS]get[ARGS]" + rome + "[TOOL_CALLS]ping[CALL_ID]2[ARGS]{}", "",
		message("", call("", "get", rome), call("2", "ping", "{}"))},
	{"a marker in a value, not at the beginning of a line", "tagged arguments", "<function=get>\n<parameter=city>\nin </parameter> and <parameter=n> here </function> too\n</parameter>\n</function>", "",
		message("", call("", "get", `{"city": "in </parameter> and <parameter=n> here </function> too"}`))},
	{"a malformed value in an announced call (E30)", "json in tag", "<tool_call>\n{\"name\": \"get\", \"arguments\": {\"city\": Oslo}}\n</tool_call>\nDone. <tool_call>{\"name\": \"ping\", \"arguments\": {}}</tool_call>", "",
		message("Done.", incomplete("get", `{"city": `), call("", "ping", "{}"))},
	{"a malformed item of an array", "json array in tag", `<TOOLCALL>[{"name": "get", "arguments": {"city": Oslo, "n": 1}}, {"name": "ping", "arguments": {}}]</TOOLCALL> Done.`, "",
		message("Done.", incomplete("get", `{"city": `), call("", "ping", "{}"))},
	{"a malformed keyword argument", "keyword arguments", `<|start|>[get(city=Oslo!, n=3), ping()]<|end|>`, "",
		message("", incomplete("get", `{"city": `), call("", "ping", "{}"))},
	{"text among the arguments", "tagged arguments", "<tool_call>\n<function=get>\nI think it is\n<parameter=n>\n3\n</parameter>\n</function>\n</tool_call>\nDone.", "",
		message("Done.", incomplete("get", `{`))},
	{"a malformed value and nothing that closes it", "bracket tag", `[TOOL_CALLS]get[CALL_ID]1[ARGS]{"city": Oslo} [TOOL_CALLS]ping[CALL_ID]2[ARGS]{}`, "",
		message("", chat.ToolCall{ID: "1", Name: "get", Arguments: `{"city": `}, call("2", "ping", "{}"))},
	{"a call that closes itself", "invoke with parameters", "<mm:tool_call>\n<invoke name=\"ping\"/>\n<invoke name=\"get\" />\n</mm:tool_call>", "",
		message("", call("", "ping", "{}"), call("", "get", "{}"))},
	{"an empty call", "json in tag", "Well.\n<tool_call>\n</tool_call>\nNo.", "", message("Well.\nNo.")},
	{"an empty array", "json array in tag", "Well. <TOOLCALL>[]</TOOLCALL>", "", message("Well.")},
	{"an empty array without a closer", "json array with ids", "[TOOL_CALLS] [] So.", "", message("So.")},
	{"an empty section", "prefixed and indexed", "Well.<|calls_begin|><|calls_end|> So.", "", message("Well. So.")},
	{"noise in a section", "prefixed and indexed", "Well. <|calls_begin|> some noise <|call_begin|>functions.ping:0<|arg_begin|>{}<|call_end|> noise<|calls_end|>", "",
		message("Well. noise", call("functions.ping:0", "ping", "{}"))},
	{"an opener with which the output ends", "json in tag", "Let me see.<tool_call>\n", "", message("Let me see.")},
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
