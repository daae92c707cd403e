package stream_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/peg"
	"github.com/goassay/assay/engine/stream"
	"github.com/goassay/assay/engine/vocab"
)

// added are the added tokens of the tests, by their ids.
var added = []string{"<tool_call>", "</tool_call>", "<think>", "</think>", "<|im_end|>"}

// cut makes tokens of parts: one that begins with @ is an added token, any other one is text.
func cut(parts ...string) (list []stream.Token) {
	for _, part := range parts {
		text, marker := strings.CutPrefix(part, "@")
		id := len(added)
		for i, a := range added {
			if marker && a == text {
				id = i
			}
		}
		list = append(list, stream.Token{ID: id, Text: []byte(text)})
	}
	return list
}

// byTokens returns a parser of a form with the vocabulary of added tokens.
func byTokens(t *testing.T, form, prefill string, more stream.Options) *stream.Parser {
	t.Helper()
	var list []vocab.Token
	for i, text := range added {
		list = append(list, vocab.Token{ID: i, Text: text, Special: true})
	}
	v := vocab.New(list, vocab.Config{})
	o := usual(prefill)
	plain := generate(t, formNamed(t, form), o)
	o.Literal = func(text string) string { return v.Mark(text, codegen.TokenMark) }
	o.Prefill = o.Literal(prefill)
	more.Tokens = &stream.Tokens{Output: generate(t, formNamed(t, form), o), Vocabulary: v}
	return more.NewParser(plain)
}

// TestTokens reads outputs by tokens, one by one and all at once: a marker is that token alone, and
// text that spells it is text. No place counts what the parser puts in.
func TestTokens(t *testing.T) {
	const get = `{"name": "get", "arguments": {"city": "`
	for _, c := range []struct {
		form, prefill string
		parts         []string
		want          chat.Message
		found         string
	}{
		{"json in tag", "", []string{"a <tool_call> ", "@</think>", "b"}, message("a <tool_call> b"),
			"[byte 14: dropped: no part of the message]"},
		{"json in tag", "", []string{"x\xffy", "@<tool_call>", get, "</tool_call>", "@</tool_call>", `z"}}`, "@</tool_call>"},
			message("x\xffy", call("", "get", `{"city": "</tool_call></tool_call>z"}`)), "[]"},
		{"json in tag", "", []string{"@<tool_call>", get, "@<tool_call>", "@</think>", `"}}`, "@</tool_call>", "@<|im_end|>"},
			message("", call("", "get", `{"city": "<tool_call></think>"}`)), "[]"},
		{"json in tag", "", []string{"@<tool_call>", `{"name": "get", "arguments": {'any': 'it\'s', "city": "a`, "@</think>", "b\xffc\"}}", "@</tool_call>"},
			message("", call("", "get", `{"any": "it's", "city": "a</think>b`+"\xffc\"}")), "[]"},
		{"json in tag", "", []string{"So.", "@<|im_end|>", "more\xff\xff"}, message("So.more\xff\xff"),
			"[byte 13: after-end: text follows the end of the turn; it is content]"},
		{"json in tag", "", []string{"So.", "@<|im_end|>", "\xff more"}, message("So.\xff more"),
			"[byte 13: after-end: text follows the end of the turn; it is content]"},
		{"json in tag", "", []string{"So.", "@<|im_end|>", "@<think>", "\xff more"}, message("So."),
			"[byte 13: dropped: no part of the message]"},
		{"json in tag", "", []string{"<|im_end|>", "@<tool_call>", `{"name": "nobody"}`, "@</tool_call>"},
			message(`<|im_end|><tool_call>{"name": "nobody"}</tool_call>`),
			"[byte 38: undeclared-function: text that looks like a tool call names a function that is not declared; it is content]"},
		{"json in tag", "<think>\n", []string{"a </think> b", "@</think>", "\n\nc"}, chat.Message{Reasoning: "a </think> b", Content: "c"}, "[]"},
		{"json in tag", "", []string{"@<tool_call>", `{"name": "ping", "x": ["`, "@</think>", `"], "arguments": {}}`, "@</tool_call>"},
			message("", call("", "ping", "{}")), "[byte 28: dropped: no part of the message]"},
		{"tagged arguments", "", []string{"@<tool_call>", "\n<function=get>\n<parameter=city>\na\xff", "@<think>", "b\n</parameter>\n</function>\n", "@</tool_call>"},
			message("", call("", "get", "{\"city\": \"a\ufffd<think>b\"}")), "[]"},
	} {
		list := cut(c.parts...)
		for how, groups := range map[string][][]stream.Token{"at once": {list}, "one by one": nil} {
			if groups == nil {
				for i := range list {
					groups = append(groups, list[i:i+1])
				}
			}
			p := byTokens(t, c.form, c.prefill, stream.Options{})
			for range 2 { // a parser may be used again
				for _, group := range groups {
					p.WriteTokens(group)
				}
				p.Close(chat.FinishStop)
				if m := p.Message(); !reflect.DeepEqual(m, c.want) ||
					fmt.Sprint(p.Diagnostics()) != c.found {
					t.Errorf("%s: %q\n got %+v %v\nwant %+v %v", how, c.parts, m, p.Diagnostics(),
						c.want, c.found)
				}
				checkCoverage(t, p, c.prefill+
					strings.ReplaceAll(strings.Join(c.parts, ""), "@", ""))
				p.Reset()
			}
		}
	}
}

// TestTokensAndText checks which of several ways of writing decides how an output is read.
func TestTokensAndText(t *testing.T) {
	call := cut("@<tool_call>", `{"name": "ping"}`, "@</tool_call>")
	spelled := "<tool_call>{\"name\": \"ping\"}</tool_call>"
	ping := chat.ToolCall{Name: "ping", Arguments: "{}", Complete: true}
	for _, c := range []struct {
		why  string
		feed func(p *stream.Parser)
		want chat.Message
	}{
		{"text after tokens has none in it", func(p *stream.Parser) {
			p.WriteTokens(cut("a\xff "))
			p.Write([]byte(spelled + "\xff"))
		}, message("a\xff " + spelled + "\xff")},
		{"ids mean nothing once there was text", func(p *stream.Parser) {
			p.Write([]byte("a "))
			p.WriteTokens(call)
		}, message("a", ping)},
		{"nor by tokens that come alone", func(p *stream.Parser) {
			p.Write([]byte("a "))
			for i := range call {
				p.WriteTokens(call[i : i+1])
			}
		}, message("a", ping)},
		{"nothing comes after the end", func(p *stream.Parser) {
			p.Close(chat.FinishStop)
			p.WriteTokens(call)
		}, message("")},
	} {
		p := byTokens(t, "json in tag", "", stream.Options{})
		c.feed(p)
		p.Close(chat.FinishStop)
		if m := p.Message(); !reflect.DeepEqual(m, c.want) {
			t.Errorf("%s: got %+v, want %+v", c.why, m, c.want)
		}
	}
	p := stream.NewParser(generate(t, formNamed(t, "json in tag"), usual("")))
	p.WriteTokens(cut("a ", "<tool_call>", `{"name": "ping"}`, "</tool_call>"))
	if p.Close(chat.FinishStop); !reflect.DeepEqual(p.Message(), message("a", ping)) {
		t.Errorf("without a vocabulary: %+v", p.Message())
	}
}

// TestTokensHeld checks that what is held counts bytes of the output, and that a prefill with marks
// is the prompt's own.
func TestTokensHeld(t *testing.T) {
	var events int
	p := byTokens(t, "json in tag", "<think>\n",
		stream.Options{Event: func(peg.Event) { events++ }})
	p.WriteTokens(cut("a", "@</think>", "\n\nb "))
	if n, why := p.Held(); n != 1 || !strings.HasPrefix(why, "white space") {
		t.Errorf("%d bytes held, %q; want the space", n, why)
	}
	p.WriteTokens(cut("@<tool_call>"))
	if n, why := p.Held(); n != len(" <tool_call>") {
		t.Errorf("%d bytes held, %q; want the space and the token", n, why)
	}
	if n := p.Prefill(); n != len("<think>\n") {
		t.Errorf("the prefill has %d bytes", n)
	}
	if events == 0 {
		t.Error("no event was seen")
	}
}

// TestTrims has templates that trim what they write.
func TestTrims(t *testing.T) {
	f := formNamed(t, "json in tag")
	f.Content.Trim, f.Reasoning.Trim = true, true
	const ping = "<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call>"
	for _, c := range []struct {
		output string
		want   chat.Message
	}{
		{"\n  a b  \n", message("a b")},
		{"\n a " + ping + " \tb ", message("a \tb", call("", "ping", "{}"))},
		{"<think>\n \ta\n </think>\n\n\n b", chat.Message{Reasoning: "a", Content: "b"}},
		{"<think>\n\n\na", chat.Message{Reasoning: "a"}},
	} {
		for _, set := range []codegen.Tolerances{codegen.Usual,
			codegen.Usual &^ codegen.FreeSpace} {
			o := usual("")
			o.Tolerances = set
			for _, pieces := range [][]string{{c.output}, bytesOf(c.output)} {
				if _, m := read(t, generate(t, f, o), pieces...); !reflect.DeepEqual(m, c.want) {
					t.Errorf("%q: got %+v, want %+v", pieces, m, c.want)
				}
			}
		}
	}
}

// TestRepeatedTexts repeats an argument that may be a text or an array, where entries nest in tags.
func TestRepeatedTexts(t *testing.T) {
	o := usual("")
	o.Tools = []chat.Tool{{Name: "f", Parameters: schemaValue(t,
		`{"type": "object", "properties": {"l": {"type": ["string", "array"]}}}`)}}
	out := generate(t, formNamed(t, "nested tags"), o)
	for _, c := range []struct {
		entries string
		want    chat.ToolCall
	}{
		{"~[<l>a~[</l>~[<l>2~[</l>~[</invoke>", call("", "f", `{"l": ["a", "2"]}`)},
		{"~[<l>a~[</l>~[</invoke>", call("", "f", `{"l": "a"}`)},
		{"~[<l>a~[</l>~[<l>b", incomplete("f", `{"l": ["a", "b`)},
	} {
		for _, pieces := range [][]string{{"~[<invoke name=\"f\">" + c.entries},
			bytesOf("~[<invoke name=\"f\">" + c.entries)} {
			if _, m := read(t, out, pieces...); !reflect.DeepEqual(m, message("", c.want)) {
				t.Errorf("%q: got %+v, want %+v", c.entries, m, c.want)
			}
		}
	}
}

// TestFreeArguments has a tool that takes one text, which a model writes without its object.
func TestFreeArguments(t *testing.T) {
	o := usual("")
	o.Tools = []chat.Tool{{Name: "f", Parameters: schemaValue(t, `{"type": "object",
		"properties": {"input": {"type": "string"}}, "required": ["input"]}`)}}
	for form, around := range map[string][2]string{
		"channels":      {"<|channel|>commentary to=functions.f<|message|>", "<|call|>"},
		"name in a tag": {"<function=f>", "</function>"},
	} {
		out := generate(t, formNamed(t, form), o)
		for _, c := range []struct {
			arguments string
			want      chat.ToolCall
		}{
			{"1 + \"2\"\n", call("", "f", `{"input": "1 + \"2\"\n"}`)},
			{`{"input": "x"}`, call("", "f", `{"input": "x"}`)},
			{`"{\"input\": \"x\"}"`, call("", "f", `{"input": "x"}`)},
		} {
			text := around[0] + c.arguments + around[1]
			for _, pieces := range [][]string{{text}, bytesOf(text)} {
				if _, m := read(t, out, pieces...); !reflect.DeepEqual(m, message("", c.want)) {
					t.Errorf("%s: %q: got %+v, want %+v", form, c.arguments, m, c.want)
				}
			}
		}
		// an output that is cut off has no end of its text
		if _, m := read(t, out, around[0]+"1 + 2"); m.ToolCalls[0].Complete {
			t.Errorf("%s: the call is complete without its end: %+v", form, m)
		}
	}
}

// TestDroppedTogether checks that a text that is dropped has one diagnostic in any pieces, even
// where it is shorter than the output has it.
func TestDroppedTogether(t *testing.T) {
	sameBytes(t, generate(t, formNamed(t, "json in tag"), usual("")),
		`<tool_call>{"name": "get", "arguments": {"n": 1}, "arguments": "{\"n\": 2}"}</tool_call>`)
}
