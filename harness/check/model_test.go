package check_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
)

// The templates of the models below: one that supports tools, the same except for its spelling of
// roles, and one that does not support them.
const other, plain = "{{- '#' }}" + chat, "{% for m in messages %}{{ m.content }}{% endfor %}"

func config(value string) string {
	return `{"bos_token": "<s>", "eos_token": "</s>", "chat_template": ` + value + `}`
}

func quoted(s string) string { return ordered.Str(s).String() }

// modelFile makes a model file; pairs are keys and texts.
func modelFile(eos string, pairs ...string) string {
	list := []gguf.Pair{{Key: "tokenizer.ggml.model", Value: gguf.Text("gpt2")},
		{Key: "tokenizer.ggml.tokens", Value: gguf.Texts("<s>", eos)},
		{Key: "tokenizer.ggml.bos_token_id", Value: gguf.Of(uint32(0))}, {Key: "tokenizer.ggml.eos_token_id", Value: gguf.Of(uint32(1))}}
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, gguf.Pair{Key: pairs[i], Value: gguf.Text(pairs[i+1])})
	}
	var b bytes.Buffer
	if err := gguf.Create(&b, nil, list, nil); err != nil {
		panic(err)
	}
	return b.String()
}

// named is a configuration with two templates.
func named(a, b string) string {
	return config(`[{"name": "default", "template": ` + quoted(a) + `}, {"name": "tool_use", "template": ` + quoted(b) + `}]`)
}

const key, variant, jinja, cfg = "tokenizer.chat_template", "tokenizer.chat_template.tool_use",
	modeldir.JinjaFile, modeldir.TokenizerConfig

// models are folders that break rules.
var models = []struct {
	name   string
	files  []string
	breaks string // rule ids, each once
	text   string // the text of one of the findings
}{
	{"one template", []string{jinja, chat, cfg, config("null")}, "A054", "llama.cpp (after conversion)"},
	{"the same everywhere", []string{jinja, chat, cfg, config(quoted(chat)), "m.gguf", modelFile("</s>", key, chat)}, "", ""},
	{"a difference that nobody can observe", []string{jinja, chat, cfg, config(quoted(chat + "{# a comment #}"))}, "", ""},
	{"the configuration is older", []string{jinja, chat, cfg, config(quoted(other))}, "A050",
		"for all requests transformers takes chat_template.jinja, and llama.cpp (after " +
			"conversion) tokenizer_config.json#chat_template: D"},
	{"the model file is older",
		[]string{cfg, config(quoted(chat)), "m.gguf", modelFile("</s>", key, other)}, "A050",
		"for all requests transformers takes tokenizer_config.json#chat_template, and llama.cpp " +
			"(m.gguf) m.gguf#default: D"},
	{"a processor's own", []string{cfg, config(quoted(chat)), modeldir.ProcessorTemplate, `{"chat_template": ` + quoted(other) + `}`}, "A050",
		"for requests without tools transformers takes tokenizer_config.json#chat_template, and " +
			"transformers processor, vLLM chat_template.json#chat_template: D"},
	{"tools in the variant", []string{cfg, named(plain, chat)}, "", ""},
	{"tools in a model file's variant",
		[]string{"m.gguf", modelFile("</s>", key, plain, variant, chat)}, "A050 A051",
		"transformers (m.gguf) takes m.gguf#default, and m.gguf#tool_use is the one " +
			"that supports tools"},
	{"a file hides the variant", []string{jinja, plain, cfg, named(plain, chat)}, "A050 A051",
		"transformers takes chat_template.jinja, and tokenizer_config.json#tool_use is the one " +
			"that supports tools (files with templates go before"},
	{"a directory hides the default",
		[]string{cfg, config(quoted(chat)), modeldir.AdditionalDir + "/rag.jinja", other}, "A054",
		`transformers finds no chat template: none is named "default", only "rag": requests are refused`},
	{"no template for plain requests", []string{cfg, config(`[{"name": "tool_use", "template": ` + quoted(chat) + `}]`)}, "A054",
		`transformers finds no chat template for requests without tools: none is named "default", only "tool_use": requests are refused`},
	{"nothing", []string{"README.md", "x"}, "A053", "neither chat_template.jinja, tokenizer_config.json nor a GGUF has one"},
	{"a model file without", []string{"m.gguf", modelFile("</s>")}, "A053", ""},
	{"a model file without beside one with",
		[]string{jinja, chat, cfg, config(quoted(chat)), "m.gguf", modelFile("</s>")}, "A054",
		"llama.cpp (m.gguf) finds no chat template: there is none: a built-in template without tools is used, which is " +
			"not the model's"},
	{"a broken file", []string{jinja, chat, cfg, "{"}, "A052", "expected a string as key in a JSON object"},
	{"files that exclude each other", []string{jinja, chat, cfg, config(quoted(chat)), modeldir.ProcessorTemplate, `{"chat_template": ` + quoted(chat) + `}`,
		modeldir.AdditionalDir + "/tool_use.jinja", chat}, "A052", "chat_template.json and additional_chat_templates exclude each other"},
	{"another end of text",
		[]string{cfg, config(quoted(chat)), "m.gguf", modelFile("<|im_end|>", key, chat)}, "A055",
		`EOS is "</s>" in tokenizer_config.json and "<|im_end|>" in m.gguf`},
}

func TestModelRules(t *testing.T) {
	for _, c := range models {
		fsys := fstest.MapFS{}
		for i := 0; i < len(c.files); i += 2 {
			fsys[c.files[i]] = &fstest.MapFile{Data: []byte(c.files[i+1])}
		}
		folder, err := modeldir.Read(fsys, modeldir.Options{})
		if err != nil {
			t.Fatal(err)
		}
		m := subject.NewModel("dir", "dir", folder)
		var ids, texts []string
		for _, res := range check.ModelOnly(m, check.Options{Differ: differ}) {
			if res.Status == rule.Passed {
				continue
			}
			if texts = append(texts, res.Text); len(ids) == 0 || ids[len(ids)-1] != res.Rule {
				ids = append(ids, res.Rule)
			}
		}
		if got := strings.Join(ids, " "); got != c.breaks ||
			!strings.Contains(strings.Join(texts, "\n"), c.text) {
			t.Errorf("%s: breaks %q, want %q\n%s\nwant %s", c.name, got, c.breaks,
				strings.Join(texts, "\n"), c.text)
		}
	}
}

// differ calls every difference between the templates' renderings of one message "D".
func differ(was, is subject.Source) (class, evidence string) {
	render := func(s subject.Source) string {
		compiled, err := s.Compile()
		if err != nil {
			return err.Error()
		}
		p, err := compiled.Render(standard.ToolRequest())
		if err != nil {
			return err.Error()
		}
		return p.Text
	}
	if render(was) == render(is) {
		return "", ""
	}
	return "D", ""
}

// TestModelTemplates: the templates of a model are checked besides, equal ones once.
func TestModelTemplates(t *testing.T) {
	fsys := fstest.MapFS{modeldir.JinjaFile: {Data: []byte(plain)}, modeldir.TokenizerConfig: {Data: []byte(`{"chat_template": [
		{"name": "default", "template": ` + quoted(plain) + `}, {"name": "tool_use", "template": ` + quoted(chat) + `}]}`)}}
	folder, err := modeldir.Read(fsys, modeldir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	suites := map[string]bool{}
	for _, res := range check.Model(subject.NewModel("dir", "dir", folder),
		check.Options{Differ: differ}) {
		suites[res.Suite] = true
	}
	if len(suites) != 3 || !suites["dir"] || !suites["dir/chat_template.jinja"] ||
		!suites["dir/tokenizer_config.json#tool_use"] {
		t.Errorf("checked %v", suites)
	}
}
