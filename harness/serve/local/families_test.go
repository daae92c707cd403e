package local_test

import (
	"cmp"
	"os"
	"strings"
	"testing"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/serve/live"
	"github.com/goassay/assay/harness/serve/openai"
	"github.com/goassay/assay/harness/testkit/double/servetest"
)

// TestFamilies puts the battery of assay probe to the server that runs the tiny model, with the
// template of a tool family, in all protocols: there is no finding. ASSAY_FAMILY names the family,
// or is "all": that takes a minute or more for each.
func TestFamilies(t *testing.T) {
	chosen := cmp.Or(os.Getenv("ASSAY_FAMILY"), "hermes")
	ran := 0
	for src, tm := range servetest.ToolFamilies(t, chosen) {
		t.Run(src.Name, func(t *testing.T) { probed(t, src.Name, tm) })
		ran++
	}
	t.Logf("%d tool families", ran)
}

func probed(t *testing.T, family string, tm *engine.Template) {
	f := tm.Analysis().Format
	// the token with which the model ends a turn: a grammar has it at the end only
	end := subject.EOS
	if len(f.End) > 0 && !callsHave(f, strings.TrimSpace(f.End[0])) {
		end = strings.TrimSpace(f.End[0])
	}
	// The end of reasoning is the only other marker that the model draws as one token. It would
	// strew the others over its nonsense, where they are its own text and look like leaks.
	url := open(t, family, end, cmp.Or(strings.TrimSpace(f.Reasoning.Close.Text), end))
	if url == "" {
		t.Log("built without llama.cpp: make live runs it")
		return
	}
	client, err := openai.New(url, "", openai.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	v := &live.Server{Client: client, Model: "m", Template: tm, Max: 700, MaxFree: 30}
	results, err := v.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Status == rule.Failed {
			t.Errorf("%s: %s", r.Name, r.Text)
		}
	}
}

// callsHave reports whether a marker stands in the spelling of calls, so that a model which may
// call cannot end its turns with it.
func callsHave(f format.Format, marker string) (has bool) {
	format.Format{Calls: f.Calls}.Literals(func(text string) string {
		has = has || strings.Contains(text, marker)
		return text
	})
	return has
}
