//go:build js && wasm

package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/foreign/vector"
)

// These run in WebAssembly, by node (ci/pages/site.sh): the engine has to work there as it does
// elsewhere.

// TestVectors passes the vectors of ASSAY_VECTORS with the templates of ASSAY_VENDOR.
func TestVectors(t *testing.T) {
	name, templates := os.Getenv("ASSAY_VECTORS"), os.Getenv("ASSAY_VENDOR")
	if name == "" || templates == "" {
		t.Skip("ASSAY_VECTORS and ASSAY_VENDOR name the inputs")
	}
	in, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	passed := 0
	v := &vector.Verifier{Templates: vector.NewTemplates(os.DirFS(templates))}
	err = v.Run(context.Background(), vector.NewReader(name, in).Next, func(res rule.Result) {
		if res.Status == rule.Passed {
			passed++
		} else {
			t.Errorf("%s: %s", res.Name, res.Text)
		}
	})
	if err != nil || passed == 0 {
		t.Fatalf("%d passed: %v", passed, err)
	}
	t.Logf("%d vectors pass", passed)
}

// TestStream reads 8,192 tokens of four bytes, one a call, in less than 20 ms: the best of some
// rounds, since others use the machine, too.
func TestStream(t *testing.T) {
	tm, err := subject.New("hermes", hermes).Compile()
	if err != nil {
		t.Fatal(err)
	}
	plan, err := tm.Prepare(standard.ToolRequest(), engine.PrepareOptions{Insist: true})
	if err != nil {
		t.Fatal(err)
	}
	token, parser := []byte("word"), plan.NewParser()
	var rounds []time.Duration
	for range 20 {
		parser.Reset()
		begun := time.Now()
		for range 8192 {
			parser.Write(token)
		}
		parser.Close(chat.FinishStop)
		rounds = append(rounds, time.Since(begun))
	}
	best := slices.Min(rounds)
	t.Logf("8,192 tokens in %s", best)
	if best > 20*time.Millisecond {
		t.Errorf("8,192 tokens take %s", best)
	}
	if !strings.HasPrefix(parser.Message().Content, "wordword") {
		t.Error("they are not read")
	}
}

// hermes is a template with calls between markers.
const hermes = `{{ tools|tojson if tools }}{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content or '' }}{% for c in m.tool_calls or [] %}<tool_call>{{ c.function|tojson }}</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`
