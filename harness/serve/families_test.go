package serve_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/serve"
	"github.com/goassay/assay/harness/serve/live"
	"github.com/goassay/assay/harness/serve/openai"
	"github.com/goassay/assay/harness/testkit/double/servetest"
	"github.com/goassay/assay/harness/testkit/share"
)

// obey returns a model that writes the shortest sentence of a request's grammar, after some text
// where the grammar waits for a trigger, and closes the reasoning that a prompt opens.
func obey(tm *engine.Template) func(request ordered.Value) string {
	f := tm.Analysis().Format.Reasoning
	return func(request ordered.Value) string {
		text := "Grüezi 日本, hello. "
		prompt := strings.TrimSpace(request.At("prompt").Text())
		closed := strings.TrimSpace(f.Close.Text)
		if open := strings.TrimSpace(f.Open.Text); open != "" && strings.HasSuffix(prompt, open) ||
			open == "" && closed != "" && !strings.HasSuffix(prompt, closed) {
			text = "A greeting is due." + f.Close.Before + f.Close.Text + f.Close.After + text
		}
		grammar := request.At("grammar")
		if _, word, ok := strings.Cut(prompt, "Repeat this word: "); ok {
			text += word[:6]
		}
		if grammar.IsNull() {
			return text
		}
		g, err := gbnf.ParseString(grammar.Text())
		if err != nil {
			panic(err)
		}
		sentence, err := gbnf.Minimal(g)
		if err != nil {
			panic(err)
		}
		// a grammar takes ids of any length; a template may take those of its model only
		sentence = strings.ReplaceAll(sentence, "[CALL_ID]a[ARGS]", "[CALL_ID]abcdef123[ARGS]")
		if request.At("grammar_lazy").Bool() {
			return text + sentence
		}
		return sentence
	}
}

// toolFamilies calls test for a share of the families whose own template serves tools.
func toolFamilies(t *testing.T, test func(t *testing.T, src engine.Source, tm *engine.Template)) {
	for src, tm := range servetest.ToolFamilies(t, servetest.AllFamilies) {
		if !share.Has(src.Name, 4) {
			continue
		}
		t.Run(src.Name, func(t *testing.T) {
			t.Parallel()
			test(t, src, tm)
		})
	}
}

// TestFamilies puts the battery of assay probe to the server with the template of every tool
// family, in all protocols: there is no finding.
func TestFamilies(t *testing.T) {
	toolFamilies(t, func(t *testing.T, src engine.Source, tm *engine.Template) {
		up := &servetest.Upstream{Dialect: "llama-server", Obey: obey(tm)}
		sealer, err := wire.NewSealer([]byte(strings.Repeat("k", 32)),
			strings.NewReader(strings.Repeat("nonce", 1<<16)))
		if err != nil {
			t.Fatal(err)
		}
		s, err := serve.New(serve.Options{Names: []string{"m"}, Source: src, Template: tm,
			Backend: backend(t, up), Sealer: sealer, Now: subject.Now})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(s.Handler())
		defer server.Close()
		client, err := openai.New(server.URL, "", openai.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		v := &live.Server{Client: client, Model: "m", Template: tm, Max: 4000, MaxFree: 400}
		results, err := v.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r.Text != "" {
				t.Errorf("%s: %s", r.Name, r.Text)
			}
		}
	})
}
