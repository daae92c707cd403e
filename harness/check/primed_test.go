package check_test

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	request "github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/conversation/standard"
)

// prompting are templates whose generation prompts write more than a header: text, a marker that no
// turn has, an end of the turn before, a block of reasoning that is open or closed, a beginning of
// content.
var prompting = []string{
	`{% for m in messages %}{{ m.role }}: {{ m.content }}
{% endfor %}{% if add_generation_prompt %}Reply:{% endif %}`,
	`{% for m in messages %}{% if m.role == 'assistant' %}{{ m.content }}</s>{% else %}[{{ m.role }}]{{ m.content }}[/{{ m.role }}]{% endif %}{% endfor %}`,
	`{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|user|>Answer shortly.<|end|><|assistant|>{% endif %}`,
	`{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|><plan>{% endif %}`,
	`{% for m in messages %}<|{{ m.role }}|>{% if m.role == 'assistant' %}{{ m.content.split('</think>')[-1] }}{% else %}{{ m.content }}{% endif %}<|end|>{% endfor %}` +
		`{% if add_generation_prompt %}<|assistant|>{% if enable_thinking is false %}<think>Nothing to think about.</think>{% else %}<think>{% endif %}{% endif %}`,
	`{% for m in messages %}<|{{ m.role }}|>{% if m.role == 'assistant' and tools %}<answer>{{ m.content }}</answer>{% else %}{{ m.content }}{% endif %}<|end|>{% endfor %}` +
		`{% if tools %}{{ tools|tojson }}{% endif %}{% if add_generation_prompt %}<|assistant|>{% if tools %}<answer>{% endif %}{% endif %}`,
}

// TestNoPromptInMessages answers with one word, whatever the prompt and however reasoning is
// wanted: the message has that word, as content or as the reasoning that the prompt left open, and
// where reasoning is kept in the content its opener, but nothing else of the prompt (E29).
func TestNoPromptInMessages(t *testing.T) {
	templates := prompting
	files, err := fs.Glob(corpus.FS, "*/template.jinja")
	if err != nil || len(files) == 0 {
		t.Fatal("no templates in the corpus")
	}
	for _, name := range files {
		text, err := fs.ReadFile(corpus.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		templates = append(templates, string(text))
	}
	on, off := true, false
	asked, err := ordered.ParseString(`[{"role": "user", "content": "Hi"}]`)
	if err != nil {
		t.Fatal(err)
	}
	clock := func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
	for _, text := range templates {
		ct, err := engine.Compile(t.Context(), engine.Source{Text: text},
			engine.Options{Now: clock})
		if err != nil {
			t.Fatal(err)
		}
		reasoning := ct.Analysis().Format.Reasoning
		for _, thinking := range []*bool{nil, &on, &off} {
			for _, tools := range [][]request.Tool{nil, standard.ToolRequest().Tools} {
				for _, kept := range []bool{false, true} {
					r := request.Request{Messages: asked.Items(), Tools: tools,
						EnableThinking: thinking}
					if kept {
						r.ReasoningFormat = request.ReasoningKeep
					}
					plan, err := ct.Prepare(r, engine.PrepareOptions{Insist: true})
					if err != nil {
						continue // refused
					}
					const said = "Word."
					m := plan.Parse(said, request.FinishStop).Message
					content, opened := strings.CutPrefix(strings.TrimSpace(m.Content),
						strings.TrimSpace(reasoning.Open.Text))
					ok := m.Content == said && m.Reasoning == "" ||
						m.Reasoning == said && m.Content == ""
					if kept && opened {
						ok = strings.TrimSpace(content) == said && m.Reasoning == ""
					}
					// the prompt's words begin a part that no marker opens
					if reasoning.Mode == format.ReasoningDelimiter {
						ok = m.Reasoning+m.Content == plan.Prefill+said
					}
					if !ok {
						t.Errorf("prefill %q, kept %v: content "+
							"%q, reasoning %q", plan.Prefill, kept, m.Content, m.Reasoning)
					}
				}
			}
		}
	}
}

// TestPrefillsAgree finds where the model's turn begins in two ways: Prepare by the origins of the
// bytes of the one render, as far as they tell, and Render by comparing the prompt with one that
// asks for no answer.
func TestPrefillsAgree(t *testing.T) {
	templates := prompting
	dirs := []fs.FS{corpus.FS}
	patterns := []string{"*/template.jinja"}
	if dir := os.Getenv("ASSAY_VENDOR"); dir != "" {
		dirs, patterns = append(dirs, os.DirFS(dir)), append(patterns, "*.jinja")
	}
	for i, dir := range dirs {
		names, err := fs.Glob(dir, patterns[i])
		if err != nil || len(names) == 0 {
			t.Fatalf("there are no templates %s (%v)", patterns[i], err)
		}
		for _, name := range names {
			text, err := fs.ReadFile(dir, name)
			if err != nil {
				t.Fatal(err)
			}
			templates = append(templates, string(text))
		}
	}
	on, off := true, false
	clock := func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
	for _, text := range templates {
		ct, err := engine.Compile(t.Context(), engine.Source{Text: text, BOS: "<s>", EOS: "</s>"},
			engine.Options{Now: clock})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range standard.Battery() {
			for _, thinking := range []*bool{nil, &on, &off} {
				r := c.Request
				r.EnableThinking = thinking
				plan, err := ct.Prepare(r, engine.PrepareOptions{Insist: true})
				if err != nil {
					continue
				}
				fast, err1 := plan.Prompt.Prefill()
				rendered, err := ct.Render(r)
				if err != nil {
					t.Fatal(err)
				}
				slow, err2 := rendered.Prefill()
				if fast != slow || err1 != nil || err2 != nil {
					t.Errorf("%s: prefill %q by origins, %q by comparison (%v, %v) "+
						"of the prompt %q",
						c.Name, fast, slow, err1, err2,
						rendered.Text[max(0, len(rendered.Text)-120):])
				}
			}
		}
	}
}
