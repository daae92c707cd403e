package live_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/llama"
	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/serve/live"
)

func TestTinyModel(t *testing.T) {
	markers := []string{"<tool_call>", "<｜end▁of▁thinking｜>"}
	var first, second bytes.Buffer
	for _, b := range []*bytes.Buffer{&first, &second} {
		if err := live.WriteTiny(b, 3, "<s>", "</s>", markers, "{{ messages }}"); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("one seed gives two models")
	}
	f, err := gguf.Open(bytes.NewReader(first.Bytes()), int64(first.Len()))
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Info()
	if err != nil {
		t.Fatal(err)
	}
	if info.Architecture != "llama" || info.EOS.Text != "</s>" || info.Parameters < 100_000 ||
		info.Parameters > 500_000 {
		t.Errorf("%+v", info)
	}
	if text, _ := info.Template(""); text.Text != "{{ messages }}" {
		t.Errorf("the template is %q", text.Text)
	}
}

// templateText is a family's own template.
func templateText(t *testing.T, family string) string {
	t.Helper()
	text, err := corpus.FS.ReadFile(family + "/" + families.OwnTemplate)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// compile compiles a family's own template.
func compile(t *testing.T, family string) *engine.Template {
	t.Helper()
	tm, err := subject.New(family, templateText(t, family)).Compile()
	if err != nil {
		t.Fatal(err)
	}
	return tm
}

// TestBattery runs the scenarios of one family on the tiny model and records them.
func TestBattery(t *testing.T) {
	if !llama.Available() {
		t.Skip("this test binary was built without llama.cpp")
	}
	tm := compile(t, "hermes")
	plan, err := tm.Prepare(standard.ToolRequest(), engine.PrepareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	path, err := live.WriteTinyFile(t.TempDir(), 1, subject.BOS, subject.EOS, plan.Preserved, "")
	if err != nil {
		t.Fatal(err)
	}
	m, err := llama.Load(t.Context(), path, llama.ModelOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	chat, err := live.Open("tiny", tm, m, llama.ContextOptions{Size: 8192, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer chat.Close()
	chat.Name, chat.Tiny = "hermes", true
	outcomes, err := chat.Run(t.Context(),
		live.Options{Sampling: llama.Sampling{Temperature: 1, Seed: 1}, Max: 1200, MaxFree: 40})
	if err != nil {
		t.Fatal(err)
	}
	dir, recorded := t.TempDir(), 0
	for _, out := range outcomes {
		if out.Scenario == "required" && (len(out.Faults) > 0 || len(out.Message.ToolCalls) != 1) {
			t.Errorf("%s: %s", out.Scenario, out.Report().Text)
		}
		ok, err := out.Record(dir, live.Provenance{Model: "tiny", Date: "2026-01-02"})
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			continue
		}
		recorded++
		if _, err := out.Record(dir, live.Provenance{}); !errors.Is(err, live.ErrRecorded) {
			t.Errorf("recorded twice: %v", err)
		}
	}
	files, err := filepath.Glob(dir + "/hermes/*")
	if err != nil || len(files) != recorded || recorded == 0 {
		t.Fatalf("%d files of %d recordings, %v", len(files), recorded, err)
	}
	text, err := os.ReadFile(dir + "/hermes/live_required.txtar")
	if err != nil || !strings.Contains(string(text), "\ntemplate hermes\nrequest request.json\nparse output.txt message.json\n") {
		t.Errorf("%v\n%s", err, text)
	}
}
