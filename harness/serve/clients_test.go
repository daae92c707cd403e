package serve_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/goassay/assay/harness/serve"
	"github.com/goassay/assay/harness/serve/openai"
	"github.com/goassay/assay/harness/testkit/double/servetest"
)

// TestPython has the official Python clients complete agent loops of ten rounds, by the interpreter
// that ASSAY_PYTHON names: `make serve-clients` makes one that has them.
func TestPython(t *testing.T) {
	python := os.Getenv("ASSAY_PYTHON")
	if python == "" {
		t.Log("ASSAY_PYTHON is not set: the Python clients are left out")
		return
	}
	long := &servetest.Upstream{Dialect: "llama-server", Pause: 2 * time.Millisecond,
		Write: func(string) string { return strings.Repeat("word ", 20000) }}
	up := &servetest.Upstream{Dialect: "llama-server", Write: servetest.Agent(10, t.Errorf)}
	keyed := func(o *serve.Options) { o.Keys = []string{"sk-test"} }
	cmd := exec.Command(python, "../../ci/serve/loops.py",
		start(t, "qwen3", up, keyed, openai.Limits{}),
		start(t, "qwen3", long, keyed, openai.Limits{}))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	for deadline := time.Now().Add(time.Minute); long.Cancelled.Load() < 3; {
		if time.Now().After(deadline) {
			t.Fatalf("%d of 3 streams that were cancelled ended in the upstream",
				long.Cancelled.Load())
		}
		time.Sleep(time.Millisecond)
	}
}
