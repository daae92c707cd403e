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

// files returns the templates of the corpus, and the vendors' where they were fetched.
func files(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("../../corpus/*/template.jinja")
	if err != nil || len(all) < 50 {
		t.Fatalf("%d templates (%v)", len(all), err)
	}
	if dir := os.Getenv("ASSAY_VENDOR"); dir != "" {
		vendors, err := filepath.Glob(filepath.Join(dir, "*.jinja"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, vendors...)
	}
	return all
}

// TestRecords holds the record of each template to the schema, and renders its switches: a default
// changes no prompt, and two values differ.
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
			for _, s := range []*capability.Switch{r.Reasoning.Switch, r.Reasoning.Keep} {
				if s != nil {
					holdSwitch(t, tmpl, s)
				}
			}
		})
	}
}

// holdSwitch renders a conversation with reasoning in it under each value.
func holdSwitch(t *testing.T, tmpl *engine.Template, s *capability.Switch) {
	t.Helper()
	messages, err := ordered.ParseString(`[{"role": "user", "content": "Is it far?"},
		{"role": "assistant", "content": "Two hours.", "reasoning_content": "By train.",
		"reasoning": "By train.", "thinking": "By train."},
		{"role": "user", "content": "And back?"}]`)
	if err != nil {
		t.Fatal(err)
	}
	prompt := func(kwargs ...ordered.Member) string {
		text, err := tmpl.ChatTemplate().Render(chattemplate.Input{Messages: messages.Items(),
			Generate: true, Kwargs: kwargs})
		if err != nil {
			return err.Error()
		}
		return text
	}
	var prompts []string
	for _, v := range s.Values {
		text := prompt(ordered.MemberOf(s.Variable, v))
		if ordered.Equal(v, s.Default) != (text == prompt()) && !slices.Contains(prompts, text) {
			t.Errorf("%s=%s: the default is %s", s.Variable, v, s.Default)
		}
		prompts = append(prompts, text)
	}
	slices.Sort(prompts)
	if len(slices.Compact(prompts)) < 2 {
		t.Errorf("%s: no two of its values %v differ", s.Variable, s.Values)
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
			`"changes":["history","plain","reasoning","tools"]},` +
			`{"name":"mode","kind":"choice","values":["fast","slow"],"default":null,` +
			`"changes":["history","plain","reasoning","tools"]},` +
			`{"name":"pages","kind":"list","default":null,"changes":["history","plain","reasoning","tools"]},` +
			`{"name":"tone","kind":"text","default":"calm","changes":["history","plain","reasoning","tools"]}]`}},
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
