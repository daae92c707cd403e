package view_test

import (
	"testing"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
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
