package audit_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/hub/advisory"
	"github.com/goassay/assay/harness/hub/audit"
)

// faulty prints null content beside a call as None.
const faulty = `{%- for m in messages -%}
<|{{ m.role }}|>{{ m.content }}
{%- for c in m.tool_calls or [] -%}
<call>{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments|tojson }}}</call>
{%- endfor -%}<|end|>
{%- endfor -%}
{%- if tools %}<|tools|>{{ tools|tojson }}<|end|>{% endif -%}
{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}
`

const witness = `{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", ` +
	`"content": null, "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]}]}`

// book has one record, of faulty.
func book(t *testing.T) *audit.Book {
	t.Helper()
	renders, err := advisory.NewRenders(t.Context(), subject.New("faulty", faulty), engine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r := &advisory.Record{ID: "x_ASSAY-2026-9001", Summary: "Null is printed.", Details: "-",
		Affected: []advisory.Affected{{
			Ranges: []advisory.Range{{Repo: "https://huggingface.co/a/b",
				Events: []advisory.Event{{Introduced: "0"}}}}}}}
	r.Template = advisory.Template{Text: advisory.DigestsOf(faulty), Rule: "A012",
		Severity: rule.Error, Fixable: true, Engines: []string{"all"},
		Witnesses: []advisory.Witness{{Variables: []byte(witness),
			Faulty: renders.Outcome([]byte(witness)), Fixed: "-"}}}
	return audit.NewBook([]*advisory.Record{r})
}

// TestMatches edits the text in ways that change no prompt, and in ways that do.
func TestMatches(t *testing.T) {
	t.Parallel()
	b := book(t)
	for _, test := range []struct {
		name, text string
		want       bool
		how        audit.How
	}{
		{"the text", faulty, true, audit.ByText},
		{"other line ends", strings.ReplaceAll(faulty, "\n", "\r\n"), true, audit.ByCanonical},
		{"a comment", "{# ours #}" + faulty, true, audit.ByBehaviour},
		{"another name", strings.NewReplacer("for m ", "for msg ", "m.", "msg.").Replace(faulty),
			true, audit.ByBehaviour},
		{"mended", strings.Replace(faulty, "m.content", "m.content or ''", 1), false, 0},
		{"other markers", strings.ReplaceAll(faulty, "<|end|>", "<|eot|>"), false, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := b.Matches(t.Context(), subject.New("t.jinja", test.text), engine.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if len(got) > 0 != test.want || test.want && got[0].How != test.how {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// write writes a file below a test's folder, and returns its name.
func write(t *testing.T, text string, path ...string) string {
	t.Helper()
	name := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// model is a model file without tensors.
func model(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	if err := gguf.Create(&b, nil, []gguf.Pair{
		{Key: "general.architecture", Value: gguf.Text("llama")},
		{Key: "tokenizer.chat_template", Value: gguf.Text(faulty)},
	}, nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// repaired opens the templates of a name, mends them, and returns what was said.
func repaired(t *testing.T, b *audit.Book, name, overrides string) string {
	t.Helper()
	sources, err := audit.Open(name, nil)
	if err != nil || len(sources) != 1 {
		t.Fatalf("%d templates (%v)", len(sources), err)
	}
	known, err := b.Matches(t.Context(), sources[0], engine.Limits{})
	if err != nil || len(known) != 1 {
		t.Fatalf("%d known faults (%v)", len(known), err)
	}
	said, err := audit.Repair(t.Context(), sources[0], known, engine.Limits{}, overrides)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

// TestRepair mends the files of model folders and of caches as programs make them. What a cache
// names by its digest is never written.
func TestRepair(t *testing.T) {
	t.Parallel()
	b := book(t)
	blob := strings.Repeat("0a", 32)

	t.Run("a model file", func(t *testing.T) {
		t.Parallel()
		name := write(t, model(t), t.TempDir(), "m.gguf")
		said := repaired(t, b, name, t.TempDir())
		out := strings.TrimSuffix(name, ".gguf") + ".mended.gguf"
		if !strings.Contains(said, out) {
			t.Error(said)
		}
		sources, err := audit.Open(out, nil)
		if err != nil {
			t.Fatal(err)
		}
		known, err := b.Matches(t.Context(), sources[0], engine.Limits{})
		if err != nil || known != nil {
			t.Errorf("the copy has %v (%v)", known, err)
		}
		if text, err := os.ReadFile(name); err != nil || string(text) != model(t) {
			t.Errorf("the original changed (%v)", err)
		}
	})
	t.Run("Ollama's cache", func(t *testing.T) {
		t.Parallel()
		dir, overrides := t.TempDir(), t.TempDir()
		name := write(t, model(t), dir, "blobs", "sha256-"+blob)
		found, err := audit.Find(dir)
		if err != nil || len(found) != 1 || found[0] != name {
			t.Fatalf("found %v (%v)", found, err)
		}
		said := repaired(t, b, name, overrides)
		if !strings.Contains(said, "--chat-template-file "+overrides) {
			t.Error(said)
		}
		if text, err := os.ReadFile(name); err != nil || string(text) != model(t) {
			t.Errorf("the cache changed (%v)", err)
		}
		if sources, err := filepath.Glob(overrides + "/*.jinja"); err != nil || len(sources) != 1 {
			t.Errorf("written: %v (%v)", sources, err)
		}
	})
	t.Run("Hugging Face's cache", func(t *testing.T) {
		t.Parallel()
		dir, overrides := t.TempDir(), t.TempDir()
		kept := write(t, faulty, dir, "models--a--b", "blobs", blob)
		snapshot := filepath.Join(dir, "models--a--b", "snapshots", "main")
		if err := os.MkdirAll(snapshot, 0o777); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(snapshot, "chat_template.jinja")
		if err := os.Symlink("../../blobs/"+blob, name); err != nil {
			t.Fatal(err)
		}
		found, err := audit.Find(dir)
		if err != nil || len(found) != 1 || found[0] != snapshot {
			t.Fatalf("found %v (%v)", found, err)
		}
		if said := repaired(t, b, snapshot, overrides); !strings.Contains(said, overrides) {
			t.Error(said)
		}
		if text, err := os.ReadFile(kept); err != nil || string(text) != faulty {
			t.Errorf("the cache changed (%v)", err)
		}
	})
}

// TestServing reads the templates of a server.
func TestServing(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/props":
			_, _ = w.Write([]byte(`{"chat_template": "a", "chat_template_tool_use": "b"}`))
		case "/empty/props":
			_, _ = w.Write([]byte(`{}`))
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	for address, want := range map[string]int{"": 2, "/": 2, "/v1": 2, "/empty": 0, "/other": 0} {
		got, err := audit.Serving(t.Context(), server.Client(), server.URL+address)
		if len(got) != want || (err == nil) != (want > 0) {
			t.Errorf("%s: %v (%v)", address, got, err)
		}
	}
}

func TestCaches(t *testing.T) {
	t.Parallel()
	env := map[string]string{"HF_HOME": "/hf", "OLLAMA_MODELS": "/o"}
	got := audit.Caches(func(key string) string { return env[key] }, "/home/a",
		func(dir string) bool { return dir != "/o" })
	want := "/hf/hub /home/a/.cache/llama.cpp /home/a/.lmstudio/models"
	if strings.Join(got, " ") != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
