package local_test

import (
	"cmp"
	"errors"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/llama"
	"github.com/goassay/assay/engine/wire"
	"github.com/goassay/assay/harness/families"
	"github.com/goassay/assay/harness/live"
	"github.com/goassay/assay/harness/openai"
	"github.com/goassay/assay/harness/serve"
	"github.com/goassay/assay/harness/serve/local"
	"github.com/goassay/assay/harness/standard"
	"github.com/goassay/assay/harness/subject"
)

// TestFamilies puts the battery of assay probe to the server that runs the tiny model, with the
// template of a tool family, in all protocols: there is no finding. ASSAY_FAMILY names the family,
// or is "all": that takes a minute or more for each.
func TestFamilies(t *testing.T) {
	chosen := cmp.Or(os.Getenv("ASSAY_FAMILY"), "hermes")
	all, err := families.Load(corpus.FS)
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for i := range all.Families {
		f := &all.Families[i]
		if !f.Own || chosen != "all" && chosen != f.Name {
			continue
		}
		text, err := all.Text(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		src := engine.Source{Name: f.Name, Text: text, BOS: subject.BOS, EOS: subject.EOS}
		tm, err := engine.Compile(src, engine.Options{Now: subject.Now})
		if err != nil || tm.Gate().Err() != nil {
			continue
		}
		t.Run(f.Name, func(t *testing.T) { probed(t, src, tm) })
		ran++
	}
	t.Logf("%d tool families", ran)
}

func probed(t *testing.T, src engine.Source, tm *engine.Template) {
	plan, err := tm.Prepare(standard.ToolRequest(), engine.PrepareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	path, err := live.WriteTinyFile(t.TempDir(), 1, src.BOS, src.EOS, plan.Preserved, src.Text)
	if err != nil {
		t.Fatal(err)
	}
	b, err := local.Open(t.Context(), path, local.Options{
		Context: llama.ContextOptions{Size: 8192, Threads: 1}, Contexts: 2,
		Seed: func() uint32 { return 1 }})
	if errors.Is(err, llama.ErrNotBuilt) {
		t.Log("built without llama.cpp: make live runs it")
		return
	} else if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	sealer, err := wire.NewSealer([]byte(strings.Repeat("k", 32)),
		strings.NewReader(strings.Repeat("nonce", 1<<16)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(serve.Options{Names: []string{"m"}, Source: src, Template: tm, Backend: b,
		Info: b.Info(), Sealer: sealer, Now: subject.Now})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	client, err := openai.New(server.URL, "", openai.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	v := &live.Server{Client: client, Model: "m", Template: tm, Max: 4000, MaxFree: 60}
	results, err := v.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Text != "" {
			t.Errorf("%s: %s", r.Name, r.Text)
		}
	}
}
