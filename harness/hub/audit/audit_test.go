package audit_test

import (
	"bufio"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check"
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

const (
	plain = `{"messages": [{"role": "user", "content": "Hi"}]}`
	tools = `{"messages": [{"role": "user", "content": "Hi"}], "tools": [{"type": "function", ` +
		`"function": {"name": "f"}}]}`
)

// mended is faulty, as its publisher has mended it.
var mended = strings.Replace(faulty, "m.content", "m.content or ''", 1)

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
		Fixed:     &advisory.Fixed{Digests: advisory.DigestsOf(mended), Where: "a/b"},
		Witnesses: []advisory.Witness{{Variables: []byte(witness), Fixed: "-"}}}
	for _, v := range []string{plain, tools} {
		r.Template.Witnesses = append(r.Template.Witnesses, advisory.Witness{Variables: []byte(v),
			Fixed: renders.Outcome([]byte(v))})
	}
	for i, w := range r.Template.Witnesses {
		r.Template.Witnesses[i].Faulty = renders.Outcome(w.Variables)
	}
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
		{"mended", mended, false, 0},
		{"other tools", strings.Replace(faulty, "|tools|>", "|functions|>", 1), true,
			audit.ByRelation},
		{"other tools, mended", strings.Replace(mended, "|tools|>", "|functions|>", 1), false, 0},
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

// model is a model file with a tensor of some bytes, and further pairs.
func model(t *testing.T, bytes int, pairs ...gguf.Pair) string {
	t.Helper()
	var b strings.Builder
	if err := gguf.Create(&b, nil, append(pairs,
		gguf.Pair{Key: "general.architecture", Value: gguf.Text("llama")},
		gguf.Pair{Key: "tokenizer.chat_template", Value: gguf.Text(faulty)},
	), []gguf.Content{{Tensor: gguf.Tensor{Name: "w", Dims: []uint64{uint64(bytes) / 4},
		Type: gguf.F32}, Data: strings.NewReader(strings.Repeat("w", bytes))}}); err != nil {
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

// A place is where a program keeps a template.
type place struct {
	name string
	make func(t *testing.T, dir string) (kept string) // and returns the file that has it
	// mended is the pattern of the file with the mended template, below the folder or, where it is
	// an override, elsewhere.
	mended   string
	override bool
}

const blob = "0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"

// snapshot makes a model of the Hub's cache: a link to a file that is named by its digest.
func snapshot(name, text string) func(*testing.T, string) string {
	return func(t *testing.T, dir string) string {
		t.Helper()
		kept := write(t, text, dir, "models--a--b", "blobs", blob)
		write(t, "4f1c", dir, "models--a--b", "refs", "main")
		at := filepath.Join(dir, "models--a--b", "snapshots", "4f1c")
		if err := os.MkdirAll(at, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("../../blobs/"+blob, filepath.Join(at, name)); err != nil {
			t.Fatal(err)
		}
		return kept
	}
}

// places are the files and the caches, as programs make them.
func places(t *testing.T) []place {
	t.Helper()
	file := func(text string, path ...string) func(*testing.T, string) string {
		return func(t *testing.T, dir string) string {
			return write(t, text, append([]string{dir}, path...)...)
		}
	}
	config := ordered.ObjectOf(ordered.MemberOf("model_max_length", ordered.MustParse("1e30")),
		ordered.MemberOf("chat_template", ordered.Str(faulty)), ordered.MemberOf("eos_token",
			ordered.Str("<|end|>"))).String()
	weights := model(t, 4096)
	ollama := func(t *testing.T, dir string) string {
		write(t, `{"schemaVersion": 2, "layers": [{"mediaType": "application/vnd.ollama.image.model",`+
			`"digest": "sha256:`+blob+`"}]}`, dir, "manifests", "registry.ollama.ai", "library", "a",
			"latest")
		return write(t, weights, dir, "blobs", "sha256-"+blob)
	}
	split := func(t *testing.T, dir string) string {
		for i := range uint16(2) {
			write(t, model(t, 4096, gguf.Pair{Key: "split.no", Value: gguf.Of(i)},
				gguf.Pair{Key: "split.count", Value: gguf.Of(uint16(2))},
				gguf.Pair{Key: "split.tensors.count", Value: gguf.Of(int32(2))}),
				dir, fmt.Sprintf("m-%05d-of-00002.gguf", i+1))
		}
		return filepath.Join(dir, "m-00001-of-00002.gguf")
	}
	return []place{
		{"a template", file(faulty, "chat_template.jinja"), "chat_template.jinja", false},
		{"tokenizer_config.json", file(config, "tokenizer_config.json"), "tokenizer_config.json",
			false},
		{"a model file", file(weights, "m.gguf"), "m.mended.gguf", false},
		{"a model in two files", split, "m.mended-00001-of-00002.gguf", false},
		{"Hugging Face's cache, a template", snapshot("chat_template.jinja", faulty), "*.jinja", true},
		{"Hugging Face's cache, vLLM's too", snapshot("tokenizer_config.json", config), "*.jinja",
			true},
		{"Hugging Face's cache, a model file", snapshot("m.gguf", weights), "*.jinja", true},
		{"llama.cpp's cache", file(weights, "a_b_m-Q4_0.gguf"), "a_b_m-Q4_0.mended.gguf", false},
		{"Ollama's cache", ollama, "*.jinja", true},
		{"LM Studio's cache", file(weights, "a", "b", "m-Q4_0.gguf"), "a/b/m-Q4_0.mended.gguf", false},
	}
}

// TestRepair mends files and caches: what is written has the finding no longer, what was there is
// there to the byte, and what a cache names by its digest is never written.
func TestRepair(t *testing.T) {
	t.Parallel()
	b := book(t)
	for _, p := range places(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			dir, overrides := t.TempDir(), t.TempDir()
			kept := p.make(t, dir)
			was := read(t, kept)
			found, err := audit.Find(dir)
			if err != nil || len(found) != 1 {
				t.Fatalf("found %v (%v)", found, err)
			}
			said := repaired(t, b, found[0], overrides)
			mended := p.in(t, dir, overrides)
			if p.override && !strings.Contains(said, "--chat-template-file "+mended) {
				t.Error(said)
			}
			if mended == kept {
				kept += audit.Saved
			}
			if read(t, kept) != was {
				t.Errorf("%s is not as it was", kept)
			}
			sources, err := audit.Open(mended, nil)
			if err != nil || len(sources) != 1 {
				t.Fatalf("%s: %v", mended, err)
			}
			if known, err := b.Matches(t.Context(), sources[0], engine.Limits{}); err != nil ||
				known != nil {
				t.Errorf("%s has %v (%v)", mended, known, err)
			}
			for _, r := range check.Template(sources[0].Limited(t.Context(), engine.Limits{}),
				check.Options{Only: []string{"A012"}}) {
				if r.Status != rule.Passed {
					t.Errorf("%s has the finding: %s", mended, r.Text)
				}
			}
		})
	}
}

// in returns the name of the file with the mended template.
func (p place) in(t *testing.T, dir, overrides string) string {
	t.Helper()
	if p.override {
		dir = overrides
	}
	names, err := filepath.Glob(filepath.Join(dir, p.mended))
	if err != nil || len(names) != 1 {
		t.Fatalf("written: %v (%v)", names, err)
	}
	return names[0]
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestKilledChild is the process that [TestKilled] kills: it mends the file that it is given, again
// and again.
func TestKilledChild(t *testing.T) {
	name := os.Getenv("ASSAY_MENDS")
	if name == "" {
		t.Skip("TestKilled runs it")
	}
	b, was := book(t), read(t, name)
	os.Stdout.WriteString("ready\n")
	for {
		repaired(t, b, name, filepath.Dir(name))
		if next := strings.TrimSuffix(name, ".gguf") + ".mended.gguf"; next != name {
			os.Remove(next)
		}
		if read(t, name) != was { // back, as a user goes back
			if err := os.Rename(name+audit.Saved, name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestKilled kills a process that mends a file, at any moment: each file with a name that somebody
// knows is whole, as it was or as it is mended, and the text that was there is still there.
func TestKilled(t *testing.T) {
	t.Parallel()
	for _, p := range places(t)[:3] {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			name := p.make(t, dir)
			if strings.HasSuffix(name, ".gguf") {
				write(t, model(t, 8<<20), name)
			}
			was := read(t, name)
			repaired(t, book(t), name, dir)
			mended := read(t, p.in(t, dir, ""))
			for i := range *kills {
				entries, err := filepath.Glob(filepath.Join(dir, "*"))
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range entries {
					os.Remove(e)
				}
				write(t, was, name)
				killed(t, name, time.Duration(i)*300*time.Microsecond)
				here := map[string]string{name: was, name + audit.Saved: was}
				if at := filepath.Join(dir, p.mended); at != name {
					here[at] = mended
				}
				saved := false
				for at, want := range here {
					text, err := os.ReadFile(at)
					whole := string(text) == want || at == name && string(text) == mended
					if err == nil && !whole {
						t.Errorf("%s is %d bytes of something else", at, len(text))
					}
					saved = saved || string(text) == was
				}
				if !saved {
					t.Error("what was there is gone")
				}
			}
		})
	}
}

var kills = flag.Int("kills", 2, "how often TestKilled kills for each file")

// killed runs [TestKilledChild] on a file, and kills it some time after it has begun to write.
func killed(t *testing.T, name string, after time.Duration) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestKilledChild$")
	child.Env = append(os.Environ(), "ASSAY_MENDS="+name)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Errorf("the child says %q (%v)", line, err)
	}
	for {
		if there, err := os.ReadDir(filepath.Dir(name)); err != nil || len(there) > 1 {
			break
		}
	}
	time.Sleep(after)
	_ = child.Process.Kill()
	_ = child.Wait() // it was killed
}

// TestServing reads the templates of a server.
func TestServing(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/props":
			_, _ = w.Write([]byte(`{"chat_template": "a", "chat_template_tool_use": "b"}`))
		case "/empty/props", "/router/props":
			if r.URL.Query().Get("model") == "a/b" && r.URL.Query().Get("autoload") == "false" {
				_, _ = w.Write([]byte(`{"chat_template": "a"}`))
				return
			}
			_, _ = w.Write([]byte(`{}`))
		case "/router/v1/models", "/closed/v1/models":
			_, _ = w.Write([]byte(`{"data": [{"id": "a/b"}, {"id": "not-loaded"}]}`))
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	for address, want := range map[string]int{"": 2, "/": 2, "/v1": 2, "/empty": 0, "/other": 0,
		"/router": 1, "/closed": 0} {
		got, err := audit.Serving(t.Context(), server.Client(), server.URL+address)
		if len(got) != want || (err == nil) != (want > 0) {
			t.Errorf("%s: %v (%v)", address, got, err)
		}
		if address == "/closed" && !strings.Contains(err.Error(), "files, of a/b, of not-loaded") {
			t.Errorf("%s: the models are not named: %v", address, err)
		}
	}
}

func TestCaches(t *testing.T) {
	t.Parallel()
	env := map[string]string{"HF_HOME": "/hf", "OLLAMA_MODELS": "/o", "XDG_CACHE_HOME": "/x"}
	got := audit.Caches(func(key string) string { return env[key] }, "/home/a",
		func(dir string) bool { return dir != "/o" && !strings.Contains(dir, "Library") })
	want := "/hf/hub /x/llama.cpp /usr/share/ollama/.ollama/models /home/a/.lmstudio/models " +
		"/home/a/.cache/lm-studio/models"
	if strings.Join(got, " ") != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
