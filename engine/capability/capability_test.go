package capability_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/capability"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
)

func compile(t *testing.T, name, text string) *engine.Template {
	t.Helper()
	tmpl, err := engine.Compile(context.Background(), engine.Source{Name: name, Text: text,
		BOS: "<s>", EOS: "</s>"}, engine.Options{Now: func() time.Time {
		return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	}})
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

// files returns the templates of the corpus, and the vendors' and the Hub's where they are there.
func files(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("../../corpus/*/template.jinja")
	if err != nil || len(all) < 50 {
		t.Fatalf("%d templates (%v)", len(all), err)
	}
	for _, name := range []string{"ASSAY_VENDOR", "ASSAY_HUB"} {
		if dir := os.Getenv(name); dir != "" {
			others, err := filepath.Glob(filepath.Join(dir, "*.jinja"))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, others...)
		}
	}
	return all
}

// TestRecords holds the record of each template to the schema, and renders the values of its
// variables: a default changes no prompt, and two values differ.
func TestRecords(t *testing.T) {
	t.Parallel()
	schema, err := jsonschema.NewCompiler().Compile("../../docs/reference/capabilities.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files(t) {
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tmpl, err := engine.Compile(context.Background(), engine.Source{Name: file,
				Text: string(text), BOS: "<s>", EOS: "</s>"}, engine.Options{})
			if err != nil {
				t.Skip(err) // a template that renders no conversation takes nothing
			}
			r := capability.Of(tmpl)
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(r.Value().String())))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(v); err != nil {
				t.Error(err)
			}
			if again := capability.Of(tmpl); again.Value().String() != r.Value().String() {
				t.Error("the same template has two records")
			}
			if r.ToolCapable != tmpl.Gate().ToolCapable() {
				t.Error("the gate says otherwise")
			}
			for _, v := range r.Variables {
				holdVariable(t, tmpl, v)
			}
		})
	}
}

// conversations show what a variable may change. They are written as no probe of the package is:
// one question, instructions beside tools, reasoning in fields and between tags, calls, parts.
const conversations = `[
[{"role": "user", "content": "Is it far?"}],
[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Is it far?"}],
[{"role": "user", "content": "Is it far?"},
 {"role": "assistant", "content": "Two hours.", "REASONING": "By train."},
 {"role": "user", "content": "And back?"},
 {"role": "assistant", "content": "Three.", "REASONING": "By bus."},
 {"role": "user", "content": "Why?"}],
[{"role": "user", "content": "Is it far?"},
 {"role": "assistant", "content": "OPENBy train.CLOSETwo hours."},
 {"role": "user", "content": "And back?"},
 {"role": "assistant", "content": "OPENBy bus.CLOSEThree."},
 {"role": "user", "content": "Why?"}],
[{"role": "user", "content": "Is it far?"},
 {"role": "assistant", "content": "", "REASONING": "Look it up.", "tool_calls": [{"id": "c3ll0aB7d",
  "type": "function", "function": {"name": "route", "arguments": ARGUMENTS}}]},
 {"role": "tool", "tool_call_id": "c3ll0aB7d", "name": "route", "content": "40 km"}],
[{"role": "user", "content": "Is it far?"},
 {"role": "assistant", "content": "", "REASONING": "Look it up.", "tool_calls": [{"id": "c3ll0aB7d",
  "type": "function", "function": {"name": "route", "arguments": ARGUMENTS}}]},
 {"role": "tool", "tool_call_id": "c3ll0aB7d", "name": "route", "content": "40 km"},
 {"role": "assistant", "content": "40 km."}, {"role": "user", "content": "And back?"}],
[{"role": "user", "content": [{"type": "image", "image": "a.png"}, {"type": "text", "text": "What?"}]}],
[{"role": "user", "content": [{"type": "video", "video": "a.mp4"}, {"type": "text", "text": "What?"}]}],
[{"role": "user", "content": [{"type": "audio", "audio": "a.wav"}, {"type": "text", "text": "What?"}]}],
[{"role": "user", "content": [{"type": "text", "text": "What?"}]}]]`

// route is a tool.
const route = `[{"type": "function", "function": {"name": "route", "description": "Measures a way.",
	"parameters": {"type": "object", "properties": {"to": {"type": "string",
	"description": "The place."}}, "required": ["to"]}}}]`

// prompts returns what a template makes of all conversations, without tools and beside them,
// without documents and with them.
func prompts(t *testing.T, tmpl *engine.Template, kwargs ...ordered.Member) (all []string) {
	t.Helper()
	reasoning := tmpl.Analysis().Format.Reasoning
	quoted := func(text string) string { return strings.Trim(ordered.Str(text).String(), `"`) }
	for _, field := range []string{"reasoning_content", "reasoning", "thinking"} {
		for _, arguments := range []string{`{"to": "Bergen"}`, `"{\"to\": \"Bergen\"}"`} {
			talks, err := ordered.ParseString(strings.NewReplacer("REASONING", field, "ARGUMENTS",
				arguments, "OPEN", quoted(reasoning.Open.Text), "CLOSE",
				quoted(reasoning.Close.Text)).Replace(conversations))
			if err != nil {
				t.Fatal(err)
			}
			for _, talk := range talks.Items() {
				for _, more := range []string{"{}", `{"tools": ` + route + `}`,
					`{"documents": [{"title": "A", "text": "B", "doc_id": 1}]}`} {
					in := chattemplate.Input{Messages: talk.Items(), Generate: true,
						Kwargs: append(ordered.MustParse(more).Members(), kwargs...)}
					in.Kwargs = append(in.Kwargs, tmpl.Caps().Needs.Bound...)
					text, err := tmpl.ChatTemplate().Render(in)
					if err != nil {
						text = "refused"
					}
					all = append(all, text)
				}
			}
		}
	}
	return all
}

// holdVariable renders the conversations under each value of a variable.
func holdVariable(t *testing.T, tmpl *engine.Template, v capability.Variable) {
	t.Helper()
	if v.Kind == "unknown" || slices.ContainsFunc(tmpl.Caps().Needs.Bound,
		func(m ordered.Member) bool { return m.Key == v.Name }) {
		return
	}
	unset := prompts(t, tmpl)
	seen := map[string]bool{}
	for _, value := range v.Values {
		got := prompts(t, tmpl, ordered.MemberOf(v.Name, value))
		if same := slices.Equal(got, unset); same != ordered.Equal(value, v.Default) &&
			!seen[strings.Join(got, "\x00")] {
			t.Errorf("%s=%s: as without it is %v, and the default is %s", v.Name, value, same,
				v.Default)
		}
		seen[strings.Join(got, "\x00")] = true
	}
	if len(v.Values) > 1 && len(seen) < 2 {
		t.Errorf("%s: no two of its values %v differ", v.Name, v.Values)
	}
	if v.Kind == "text" && !v.Default.IsNull() &&
		!slices.Equal(prompts(t, tmpl, ordered.MemberOf(v.Name, v.Default)), unset) {
		t.Errorf("%s=%s is not the default", v.Name, v.Default)
	}
}

const plain = `{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}` +
	`{% if add_generation_prompt %}<|assistant|>{% endif %}`

func TestFields(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text string
		want       map[string]string // by path
	}{
		{"plain", plain, map[string]string{"tool_capable": "false", "roles.system": `"written"`,
			"roles.tool": `"written"`, "content.string": "true", "content.part_types": "{}",
			"tools.described": "false", "reasoning.mode": `"none"`, "variables": "[]",
			"generation_prompt.text": `"<|assistant|>"`, "stops": `["<|end|>","</s>"]`,
			"limits.second_system": `"written"`, "dates": "false",
			"limits.empty_tool_list": `"as none"`}},
		{"refuses", `{% if messages[0].role != 'user' %}{{ raise_exception('no') }}{% endif %}` +
			strings.Replace(plain, "<|{{", "{% if m.role in ['system', 'developer'] %}"+
				"{{ raise_exception('no') }}{% endif %}<|{{", 1),
			map[string]string{"roles.system": `"refused"`, "roles.developer": `"refused"`,
				"limits.answer_first": `"refused"`, "limits.system_later": `"refused"`}},
		{"dates", "{{ strftime_now('%d %b') }}" + plain, map[string]string{"dates": "true"}},
		{"empty tools", "{% if tools is defined and tools is not none %}<|tools|>{% endif %}" + plain,
			map[string]string{"limits.empty_tool_list": `"changes the prompt"`}},
		{"variables", "{% set tone = tone|default('calm') %}<|{{ tone }}|>" +
			"{% if mode == 'fast' %}<|fast|>{% elif mode == 'slow' %}<|slow|>{% endif %}" +
			"{% if brief %}<|brief|>{% endif %}{% for d in pages or [] %}<|{{ d }}|>{% endfor %}" +
			plain, map[string]string{"variables": `[` +
			`{"name":"brief","kind":"boolean","values":[true,false],"default":false,` +
			`"changes":["calls","history","plain","reasoning","tools"]},` +
			`{"name":"mode","kind":"choice","values":["fast","slow"],"default":null,` +
			`"changes":["calls","history","plain","reasoning","tools"]},` +
			`{"name":"pages","kind":"list","default":null,"changes":["calls","history","plain","reasoning","tools"]},` +
			`{"name":"tone","kind":"text","default":"calm","changes":["calls","history","plain","reasoning","tools"]}]`}},
		{"a switch for earlier calls", "{% set last = namespace(i=0) %}{% for m in messages %}" +
			"{% if m.role == 'user' %}{% set last.i = loop.index0 %}{% endif %}{% endfor %}" +
			strings.Replace(plain, "{{ m.content }}", "{% if m.tool_calls and (keep_all or "+
				"loop.index0 > last.i) %}<r>{{ m.reasoning_content }}</r>{% endif %}{{ m.content }}"+
				"{% for c in m.tool_calls or [] %}<c>{{ c.function|tojson }}</c>{% endfor %}", 1),
			map[string]string{"reasoning.keep": `{"variable":"keep_all","values":[true,false],` +
				`"default":false}`}},
		{"an unused date", "{% set day = strftime_now('%d %b') %}" + plain,
			map[string]string{"dates": "false"}},
		{"beside a list", "{% for d in pages or [] %}<|{{ d.text }}|>{% if cited %}<|cite|>" +
			"{% endif %}{% endfor %}" + plain, map[string]string{"variables": `[` +
			`{"name":"cited","kind":"boolean","values":[true,false],"default":false,` +
			`"changes":["calls","history","plain","reasoning","tools"]},` +
			`{"name":"pages","kind":"list","default":null,` +
			`"changes":["calls","history","plain","reasoning","tools"]}]`}},
		{"text is printed as it comes", strings.Replace(plain, "{{ m.content }}", "{{ m.content }}"+
			"{% for c in m.tool_calls or [] %}<c>{{ c.function.arguments }}</c>{% endfor %}", 1),
			map[string]string{"tools.arguments": `["text"]`}},
		{"skips null", strings.Replace(plain, "for m in messages", "for m in messages if "+
			"m.content is not none", 1), map[string]string{"content.null": `"dropped"`}},
		{"none and an empty list", "{% if tools is not none %}<|tools|>{% endif %}" + plain,
			map[string]string{"limits.empty_tool_list": `"changes the prompt"`}},
		{"pictures are counted", strings.Replace(plain, "{{ m.content }}", "{% if m.content is "+
			"string %}{{ m.content }}{% else %}{% for p in m.content %}{% if p.type == 'image' %}"+
			"{% if counted %}1: {% endif %}<img>{% else %}{{ p.text }}{% endif %}{% endfor %}"+
			"{% endif %}", 1), map[string]string{"variables": `[{"name":"counted",` +
			`"kind":"boolean","values":[true,false],"default":false,"changes":["parts"]}]`}},
		{"images", strings.Replace(plain, "{{ m.content }}", "{% if m.content is string %}"+
			"{{ m.content }}{% else %}{% for p in m.content %}{% if p.type == 'image' %}<img>"+
			"{% else %}{{ p.text }}{% endif %}{% endfor %}{% endif %}", 1),
			map[string]string{"content.parts": "true", "content.part_types": `{"image":"<img>"}`,
				"content.result_part_types": `{"image":"<img>"}`}},
		{"documents", "{% for d in documents or [] %}<|doc|>{{ d.title }}\n{{ d.text }}{% endfor %}" +
			plain, map[string]string{"tools.in_messages": `"dropped"`,
			"documents": `{"outcome":"written","fields":["text","title"]}`}},
		{"tools in messages", "{% for m in messages %}{{ m.tools | tojson if m.tools }}{% endfor %}" +
			plain, map[string]string{"tools.in_messages": `"written"`,
			"documents": `{"outcome":"dropped","fields":[]}`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			v := capability.Of(compile(t, test.name, test.text)).Value()
			for path, want := range test.want {
				got := v.At(strings.Split(path, ".")...)
				if text := string(got.Append(nil, ordered.Compact)); text != want {
					t.Errorf("%s is %s, want %s", path, text, want)
				}
			}
		})
	}
}

// TestQwen reads a template with a switch, calls and reasoning, and writes it as others do.
func TestQwen(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../corpus/qwen3/template.jinja")
	if err != nil {
		t.Fatal(err)
	}
	r := capability.Of(compile(t, "qwen3", string(text)))
	for path, want := range map[string]string{"tool_capable": "true", "tools.parallel": "true",
		"reasoning.switch.variable": `"enable_thinking"`, "reasoning.switch.default": "true",
		"reasoning.fields": `["reasoning_content"]`, "reasoning.earlier_turns": `"dropped"`,
		"reasoning.within_calls": `"written"`, "content.null": `"dropped"`,
		"stops": `["<|im_end|>","</s>"]`} {
		got := r.Value().At(strings.Split(path, ".")...)
		if text := string(got.Append(nil, ordered.Compact)); text != want {
			t.Errorf("%s is %s, want %s", path, text, want)
		}
	}
	for name, want := range map[string]string{
		"ollama": `{"capabilities":["completion","tools","thinking"],"thinking":` +
			`{"values":[true,false],"default":true}}`,
		"models.dev": `{"attachment":false,"reasoning":true,"tool_call":true,"modalities":` +
			`{"input":["text"],"output":["text"]}}`,
	} {
		i := slices.IndexFunc(capability.Conventions, func(c capability.Convention) bool {
			return c.Name == name
		})
		got := string(capability.Conventions[i].Of(r).Append(nil, ordered.Compact))
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
