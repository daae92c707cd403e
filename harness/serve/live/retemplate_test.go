package live_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/caps"
	"github.com/goassay/assay/engine/llama"
	"github.com/goassay/assay/engine/model"
	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/serve/live"
)

// answers loads a model and returns the prompt's tokens and the model's text after them, greedily
// and by chance.
func answers(t *testing.T, path,
	prompt string) (info llama.ModelInfo, tokens []llama.Token, texts []string) {
	t.Helper()
	m, err := llama.Load(t.Context(), path, llama.ModelOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if tokens, err = m.Tokenize(prompt, true); err != nil {
		t.Fatal(err)
	}
	c, err := m.NewContext(llama.ContextOptions{Size: 4096, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, sampling := range []llama.Sampling{{}, {Temperature: 1, Seed: 5}} {
		var text []byte
		if _, err := c.Generate(t.Context(),
			llama.Request{Prompt: tokens, Sampling: sampling, Max: 100},
			func(_ llama.Token, piece []byte) error {
				text = append(text, piece...)
				return nil
			}); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return m.Info(), tokens, texts
}

// TestRetemplated gives a model another template: loaded raw it is the same model. The gate judges
// it by the new template, and where that is accepted, a chat calls tools by it.
func TestRetemplated(t *testing.T) {
	if !llama.Available() {
		t.Skip("this test binary was built without llama.cpp")
	}
	tm := compile(t, "hermes")
	plan, err := tm.Prepare(standard.ToolRequest(), engine.PrepareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	original, err := live.WriteTinyFile(dir, 1, subject.BOS, subject.EOS, plan.Preserved,
		templateText(t, "hermes"))
	if err != nil {
		t.Fatal(err)
	}
	info, tokens, texts := answers(t, original, plan.Prompt.Text)
	if texts[0] == "" || texts[1] == "" || texts[0] == texts[1] {
		t.Fatalf("the model says nothing that could be compared: %q", texts)
	}
	for _, tt := range []struct {
		family, name string
		rejected     error
	}{
		{family: "qwen3"},
		{family: "plain", rejected: caps.ErrToolsUnsupported},
		{family: "qwen3-coder", name: gguf.ToolUse},
		// which counts, although the default one is accepted
		{family: "plain", name: gguf.ToolUse, rejected: caps.ErrToolsUnsupported},
	} {
		t.Run(tt.family+" "+tt.name, func(t *testing.T) {
			copied := filepath.Join(dir, tt.family+tt.name+".gguf")
			if err := gguf.RetemplateFile(t.Context(), original, copied, templateText(t, tt.family),
				gguf.RetemplateOptions{Name: tt.name}); err != nil {
				t.Fatal(err)
			}
			info2, tokens2, texts2 := answers(t, copied, plan.Prompt.Text)
			if info != info2 {
				t.Errorf("the model is %+v, was %+v", info2, info)
			}
			if !slices.Equal(tokens, tokens2) || !slices.Equal(texts, texts2) {
				t.Errorf("the model answers %q to %d tokens, and "+
					"%q to %d before", texts2, len(tokens2), texts, len(tokens))
			}
			judged, err := model.Inspect(t.Context(), copied, engine.Options{Now: subject.Now})
			if err != nil {
				t.Fatal(err)
			}
			if judged.Judged.Text != templateText(t, tt.family) ||
				!errors.Is(judged.Rejection, tt.rejected) {
				t.Errorf("judged by %s: %v, want %v", judged.Judged.Title(), judged.Rejection,
					tt.rejected)
			}
			if tt.rejected == nil {
				call(t, copied, judged.Judged.Compiled)
			}
		})
	}
}

// call opens a chat and has it answer a request that demands a call.
func call(t *testing.T, path string, tm *engine.Template) {
	t.Helper()
	m, err := llama.Load(t.Context(), path, llama.ModelOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	chat, err := live.Open(filepath.Base(path), tm, m,
		llama.ContextOptions{Size: 8192, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer chat.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	seen := false
	_, err = chat.Run(ctx, live.Options{Sampling: llama.Sampling{Temperature: 1, Seed: 1},
		Max: 1200, MaxFree: 40, Done: func(out *live.Outcome) {
			if out.Scenario == "required" {
				seen = true
				if out.Result.Tokens == 0 {
					t.Errorf("no answer: %s", out.Report().Text)
				}
				stop()
			}
		}})
	if !seen {
		t.Error(err)
	}
}
