package spell_test

import (
	"strings"
	"testing"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/spell"
)

func pair(open, close string) format.Pair {
	return format.Pair{Open: format.Mark(open), Close: format.Mark(close)}
}

func slot(kind format.SlotKind) format.Part { return format.Part{Kind: kind} }

func called(name, args string) chat.Message {
	return chat.Message{ToolCalls: []chat.ToolCall{{Name: name, Arguments: args, ID: "id1"}}}
}

var (
	native = format.Format{
		End: []string{"<end>\n"},
		Reasoning: format.Reasoning{Mode: format.ReasoningTagged,
			Pair: pair("<think>\n", "\n</think>\n\n")},
		Calls: []format.Calls{{Call: pair("\n<call>\n", "\n</call>"),
			Object: &format.Object{Fields: []format.Field{
				{Path: []string{"name"}, Slot: format.SlotName}, {Path: []string{"arguments"}, Slot: format.SlotArgs}}}}},
	}
	tagged = format.Format{
		Calls: []format.Calls{{
			Section: pair("<calls>", "</calls>"),
			Head:    []format.Part{format.Lit("<f="), slot(format.SlotName), format.Lit(">")},
			Body: format.Body{Kind: format.BodyTagged,
				Codec: format.Codec{Style: format.StyleRaw, Entity: true},
				Entry: []format.Part{format.Lit("<p="), slot(format.SlotKey), format.Lit(">"),
					slot(format.SlotValue), format.Lit("</p>")}},
			Tail: []format.Part{format.Lit("</f>")},
		}},
	}
	python = format.Format{
		Calls: []format.Calls{{
			Array: true, Sep: format.Mark(", "), Head: []format.Part{slot(format.SlotName)},
			Body: format.Body{Kind: format.BodyKwargs, Pair: pair("(", ")"), Sep: format.Mark(", "),
				Codec: format.Codec{Style: format.StylePython},
				Entry: []format.Part{slot(format.SlotKey), format.Lit("="),
					slot(format.SlotValue)}},
		}},
	}
	routes = format.Format{
		End: []string{"<return>"},
		Routes: []format.Route{
			{Kind: format.RouteReasoning, Start: format.Mark("<start>"), Head: []format.Part{format.Lit("think:")}, Close: []format.Marker{format.Mark("<stop>")}},
			{Kind: format.RouteContent, Start: format.Mark("<start>"), Head: []format.Part{format.Lit("say:")}, Close: []format.Marker{format.Mark("<stop>")}},
			{Kind: format.RouteCall, Start: format.Mark("<start>"),
				Head:  []format.Part{format.Lit("to "), slot(format.SlotName), format.Lit(":")},
				Body:  format.Body{Kind: format.BodyJSON},
				Close: []format.Marker{format.Mark("<call>")}},
		},
	}
)

func withSection(close, end string) format.Format {
	f := native
	f.End = []string{end}
	f.Calls = []format.Calls{native.Calls[0]}
	f.Calls[0].Call = pair("⁂call⁂", close)
	return f
}

func TestMatch(t *testing.T) {
	one := called("f", `{"a": "x", "n": 1.5}`)
	for _, c := range []struct {
		name  string
		f     format.Format
		m     chat.Message
		turn  string
		wrong string // a part of the error; "": no error
	}{
		{"content", native, chat.Message{Content: "Hi"}, "Hi<end>\n", ""},
		{"an empty block before it", native, chat.Message{Content: "Hi"}, "<think>\n\n</think>\n\nHi<end>\n", ""},
		{"the end left out, and a further turn", native, chat.Message{Content: "Hi"}, "Hi<end>\n<user>", ""},
		{"text of another", native, chat.Message{Content: "Hi"}, "Ho<end>\n", `after "H" the template writes "o<end>`},
		{"reasoning", native, chat.Message{Reasoning: "Hm", Content: "Hi"}, "<think>Hm\n</think>\nHi<end>", ""},
		{"content before reasoning", native, chat.Message{Reasoning: "Hm", Content: "Hi"}, "Hi<think>Hm\n</think><end>", ""},
		{"no reasoning in the format", tagged, chat.Message{Reasoning: "Hm"}, "Hm", "the format spells no reasoning"},
		{"a call, the white space another", native, one, "<call>{\"name\":\"f\", \"arguments\":\n{\"a\": \"\\u0078\", \"n\": 1.5}}\n</call><end>", ""},
		{"keys in another order", native, one, `<call>{"name": "f", "arguments": {"n": 1.5, "a": "x"}}</call><end>`, "the format has"},
		{"a field more", native, one, `<call>{"name": "f", "id": 1, "arguments": {"a": "x", "n": 1.5}}</call><end>`, "the format has"},
		{"text after the call", native, one, `<call>{"name": "f", "arguments": {"a": "x", "n": 1.5}}</call>ok<end>`, `the template writes "ok<end>"`},
		{"the end in a closing marker", withSection("⁂fincall⁂⁂eot⁂", "⁂eot⁂"), one, `⁂call⁂{"name": "f", "arguments": {"a": "x", "n": 1.5}}⁂fincall⁂⁂eot⁂`, `holds the end of the turn`},
		{"and where it is not", withSection("⁂fincall⁂", "⁂eot⁂"), one, `⁂call⁂{"name": "f", "arguments": {"a": "x", "n": 1.5}}⁂fincall⁂⁂eot⁂`, ""},
		{"raw values, entities by any name", tagged, called("f", `{"a": "\"<b>' & c", "n": [1, 2]}`), "<calls><f=f><p=a>&quot;&lt;b>&#39; &amp; c</p><p=n>[1,2]</p></f></calls>", ""},
		{"another value", tagged, called("f", `{"a": "b"}`), "<calls><f=f><p=a>c</p></f></calls>", `the template writes "c</p>`},
		{"no arguments", tagged, called("f", `{}`), "<calls><f=f></f></calls>", ""},
		{"Python", python, called("f", `{"a": "it's", "b": true, "c": null}`), `[f(a="it's", b=True, c=None)]`, ""},
		{"JSON's words in Python", python, called("f", `{"b": true}`), `[f(b=true)]`, "the format has True"},
		{"a separator missing", python, called("f", `{"a": 1, "b": 2}`), `[f(a=1b=2)]`, `the format has ","`},
		{"parts with heads of their own", routes,
			chat.Message{Reasoning: "Hm", Content: "Hi", ToolCalls: one.ToolCalls},
			`think:Hm<stop><start>say:Hi<stop><start>to f:{"a": "x", "n": 1.5}<call>`, ""},
		{"another head", routes, chat.Message{Content: "Hi"}, "tell:Hi<return>", `the format has "say:"`},
		{"arguments that are none", native, called("f", "[]"), "", "are no JSON object"},
	} {
		s, err := spell.Of(c.f, c.m)
		if err == nil {
			_, err = s.Match(c.turn)
		}
		switch {
		case c.wrong == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%s: got %v, want %q", c.name, err, c.wrong)
		}
	}
}

// TestString spells messages, and every spelling matches itself.
func TestString(t *testing.T) {
	m := called("f", `{"a": "it's <b>", "yes": true}`)
	m.Reasoning, m.Content = "Hm", "Hi"
	for _, c := range []struct {
		name string
		f    format.Format
		want string
	}{
		{"native", native, "<think>\nHm\n</think>\n\nHi\n<call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"it's <b>\", \"yes\": true}}\n</call><end>"},
		{"tagged", tagged, "Hi<calls><f=f><p=a>it&#39;s &lt;b&gt;</p><p=yes>true</p></f></calls>"},
		{"python", python, `Hi[f(a="it's <b>", yes=True)]`},
		{"routes", routes, `think:Hm<stop><start>say:Hi<stop><start>to f:{"a": "it's <b>", "yes": true}<return>`},
	} {
		m := m
		if c.f.Reasoning.Close.Text == "" && c.f.Routes == nil {
			m.Reasoning = ""
		}
		s, err := spell.Of(c.f, m)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := s.String(); got != c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", c.name, got, c.want)
		} else if n, err := s.Match(got); err != nil || n != len(got) {
			t.Errorf("%s does not match itself: %v", c.name, err)
		}
	}
}
