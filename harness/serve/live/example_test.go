package live_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/serve/live"
)

// TestExample chats with the tiny model by the program that ASSAY_EXAMPLE names, that of
// examples/llama.cpp. Its grammar makes calls of random weights: some questions demand one.
func TestExample(t *testing.T) {
	program := os.Getenv("ASSAY_EXAMPLE")
	if program == "" {
		t.Skip("ASSAY_EXAMPLE names the program; `make live` sets it")
	}
	called := regexp.MustCompile(`(?m)^-> (\S+) (\{[^}]*\}): 12 degrees and rain$`)
	for _, family := range []string{"hermes", "qwen3", "mistral-nemo"} {
		plan, err := compile(t, family).Prepare(standard.ToolRequest(), engine.PrepareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		path, err := live.WriteTinyFile(t.TempDir(), 1, subject.BOS, subject.EOS, plan.Preserved,
			templateText(t, family))
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, path, "1")
		cmd.Stdin = strings.NewReader("!Is it raining in Bern?\nAnd in Oslo?\n!And now?\n")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", family, err, out)
		}
		calls := called.FindAllSubmatch(out, -1)
		if len(calls) < 2 {
			t.Errorf("%s: two questions demand a call:\n%s", family, out)
		}
		for _, call := range calls {
			var arguments struct{ City string }
			err := json.Unmarshal(call[2], &arguments)
			if err != nil || string(call[1]) != "weather" ||
				!slices.Contains([]string{"Bern", "Oslo"}, arguments.City) {
				t.Errorf("%s: %s: %v", family, call[0], err)
			}
		}
	}
}
