package view_test

import (
	"strings"
	"testing"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/check/view"
)

func named(t *testing.T, name string) view.View {
	t.Helper()
	for _, v := range view.Views() {
		if v.String() == name {
			return v
		}
	}
	t.Fatalf("there is no view %q", name)
	return view.View{}
}

// template returns one that goes through the content of messages, or does not.
func template(t *testing.T, parts bool) *chattemplate.Template {
	t.Helper()
	text := "{% for m in messages %}{{ m.content }}{% endfor %}"
	if parts {
		text = "{% for m in messages %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endfor %}"
	}
	of, err := subject.New("test", text).Compile()
	if err != nil {
		t.Fatal(err)
	}
	return of.ChatTemplate()
}

// question is the last message of conversations: of others the server may change the role.
var question = ordered.ObjectOf(ordered.MemberOf("role", ordered.Str("user")),
	ordered.MemberOf("content", ordered.Str("And?")))

// TestInput shows what each engine makes of messages; docs/internals/views.md has the sources.
func TestInput(t *testing.T) {
	for _, test := range []struct {
		view, message string
		parts         bool
		want          string
	}{
		{"transformers", `{"role": "assistant", "content": null, "tool_calls": null}`, false,
			`{"role": "assistant"}`},
		{"transformers before 5.23", `{"role": "assistant", "content": null}`, false,
			`{"role": "assistant", "content": null}`},
		{"transformers", `{"role": "assistant", "content": "A", "reasoning": "R"}`, false,
			`{"role": "assistant", "content": "A", "reasoning": "R", "reasoning_content": "R", ` +
				`"thinking": "R"}`},
		{"vLLM", `{"content": "A", "role": "assistant", "tool_calls": [], "refusal": null, ` +
			`"reasoning_content": "R"}`, false, `{"role": "assistant", "content": "A", ` +
			`"reasoning": "R", "reasoning_content": "R"}`},
		{"vLLM", `{"role": "user", "content": [{"type": "text", "text": "a"}, ` +
			`{"type": "text", "text": "b"}]}`, false, `{"role": "user", "content": "a\nb"}`},
		{"vLLM", `{"role": "user", "content": [{"type": "text", "text": "a"}]}`, true,
			`{"role": "user", "content": [{"type": "text", "text": "a"}]}`},
		{"SGLang", `{"role": "user", "content": [{"type": "text", "text": "a"}, ` +
			`{"type": "text", "text": "b"}]}`, false, `{"role": "user", "content": "a b"}`},
		{"SGLang", `{"role": "user", "content": [{"type": "image_url", ` +
			`"image_url": {"url": "data:,"}}]}`, true,
			`{"role": "user", "content": [{"type": "image"}]}`},
		{"mlx-lm", `{"role": "user", "content": [{"type": "text", "text": "a"}, ` +
			`{"type": "text", "text": "b"}]}`, false, `{"role": "user", "content": "ab"}`},
		{"SGLang", `{"role": "assistant", "content": null, "tool_calls": [{"id": "1", ` +
			`"function": {"name": "f", "arguments": "{\"a\": 1}"}}]}`, false,
			`{"role": "assistant", "content": "", "tool_calls": [{"id": "1", "index": null, ` +
				`"type": null, "function": {"name": "f", "arguments": {"a": 1}}}]}`},
		{"llama.cpp", `{"role": "assistant", "content": "A", "tool_calls": null}`, false,
			`{"role": "assistant", "content": "A"}`},
	} {
		message, err := ordered.ParseString(test.message)
		if err != nil {
			t.Fatal(err)
		}
		in, err := named(t, test.view).Serve(template(t, test.parts)).Input(ordered.ObjectOf(
			ordered.MemberOf("messages", ordered.ArrayOf(message, question))))
		if err != nil || in.Messages[0].String() != test.want {
			t.Errorf("%s: %s\n got %s\nwant %s", test.view, test.message, in.Messages[0],
				test.want)
		}
	}
}

// TestRefused has requests that an engine refuses before the template sees them.
func TestRefused(t *testing.T) {
	for name, request := range map[string]string{
		"llama.cpp": `{"messages": [{"role": "user", "content": "a", "name": null}]}`,
		"vLLM":      `{"messages": [{"role": "user", "content": "a"}], "tools": []}`,
	} {
		v, err := ordered.ParseString(request)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := named(t, name).Serve(template(t, false)).Input(v); err == nil {
			t.Errorf("%s takes %s", name, request)
		}
		if _, err := named(t, "transformers").Serve(template(t, false)).Input(v); err != nil {
			t.Errorf("transformers refuses %s", request)
		}
	}
}

// TestLlamaPrompts has what llama.cpp 0.5.0 makes of requests, as its own code gave it.
func TestLlamaPrompts(t *testing.T) {
	const ask = "{% if add_generation_prompt %}|a|{% endif %}"
	const hi = `{"role": "user", "content": "hi"}`
	for _, test := range []struct{ template, messages, want, fails string }{
		{"{% for m in messages %}{{ m.x.y }}{{ m.x + m.content }}{% endfor %}", hi, "hi", ""},
		{"{{ messages[0].x in ['a'] }}", hi, "", "'x'"},
		{"{{ messages[0].content.rfind('h') }}", hi, "", "rfind"},
		{"{{ x | tojson }}", hi, "", "no filter 'tojson'"},
		{"{{ dict(a=1) | tojson }}", hi, "", "dict"},
		{"{% raw %}{{ a }}{% endraw %}", hi, "", "no raw"},
		{"{% macro f(a, b) %}{{ a }}{% endmacro %}{{ f(1) }}", hi, "", "'b' of 'f'"},
		{"{% macro f(a, b=1, c=2) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ f(0, c=3) }}", hi, "02", ""},
		{"{% for i in [1, 2] %}{{ v }}{% set v = i %}{% endfor %}", hi, "1", ""},
		{"{% for i in [1, 2] %}a{% if i == 1 %}b{% continue %}{% endif %}{% endfor %}", hi, "aa", ""},
		{"{{ [1, {'a': 2}, 'b'] }}{{ none }}{{ '' ~ [1] }}", hi, "1b[1]", ""},
		{"{{ '%s' | format(1) }}{{ '<' | safe ~ '>' }}", hi, "%s<>", ""},
		{"{% for c in messages[0].content %}{{ c.text }}{% endfor %}", hi, "hi", ""},
		{"{{ messages[0].content }}", `{"role": "user", "content": [{"type": "text", "text": "a"}, ` +
			`{"type": "text", "text": "b"}]}`, "a\nb", ""},
		{"{{ messages[0].content }}" + ask, hi + `, {"role": "assistant", "content": "A"}`,
			"hi|a|A", ""},
		{"{{ messages[0].content }}{% if add_generation_prompt %}<a>{% else %}</s>{% endif %}",
			hi + `, {"role": "assistant", "content": "A"}`, "hi</s>a>A", ""},
		{"{% for m in messages %}{% if m.reasoning_content %}<think>{{ m.reasoning_content }}" +
			"</think>{% endif %}{{ m.content }}{% endfor %}" + ask,
			hi + `, {"role": "assistant", "content": "A"}`, "hi|a|<think></think>A", ""},
		{"{{ enable_thinking }}", hi, "False", ""},
		{"{{ messages[0].content }}{% if not enable_thinking %}<think></think>{% endif %}", hi,
			"hi", ""},
	} {
		of, err := chattemplate.Compile(t.Context(), source.New("test", test.template), "<s>",
			"</s>", subject.Now)
		if err != nil {
			t.Fatal(err)
		}
		request := ordered.MustParse(`{"messages": [` + test.messages +
			`], "add_generation_prompt": true}`)
		_, got, err := view.RenderNamed("llama.cpp", of, request)
		if (err != nil) != (test.fails != "") ||
			err != nil && !strings.Contains(err.Error(), test.fails) || got != test.want {
			t.Errorf("%s: got %q, %v; want %q, %s", test.template, got, err, test.want, test.fails)
		}
	}
}

// TestNames lists engines for people.
func TestNames(t *testing.T) {
	all := view.Views()
	for want, of := range map[string][]view.View{
		"every engine":                        all,
		"transformers":                        all[:2],
		"transformers before 5.23":            all[1:2],
		"transformers before 5.23 and SGLang": {all[1], all[3]},
		"vLLM, SGLang and mlx-lm":             all[2:5],
	} {
		if got := view.Names(of); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
