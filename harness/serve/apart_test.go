package serve_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/goassay/assay/engine/wire"
	"github.com/goassay/assay/harness/serve/openai"
	"github.com/goassay/assay/harness/testkit/double/servetest"
)

var asker = regexp.MustCompile(`client-[0-9]+-end`)

// TestApart has 32 clients at once, in every protocol, streamed and not. No byte of one is in
// another's answer.
func TestApart(t *testing.T) {
	up := &servetest.Upstream{Dialect: "vllm", Write: func(prompt string) string {
		return strings.Repeat(asker.FindString(prompt)+" ", 50)
	}}
	url := start(t, "qwen3", up, nil, openai.Limits{})
	var wait sync.WaitGroup
	for i := range 32 {
		wait.Go(func() {
			for n, p := range wire.All {
				name := fmt.Sprintf("client-%d-end", 100*i+n)
				stream := i%2 == 0
				status, text := post(t, url+p.Path(), strings.ReplaceAll(fmt.Sprintf(
					requests[p.Path()], fmt.Sprintf(`, "stream": %t`, stream)), "Rain?", name))
				whole := answerText(text, stream)
				if status != 200 || strings.Count(whole, name) != 50 ||
					len(asker.FindAllString(whole, -1)) != 50 {
					t.Errorf("%s, %s: %d %.300s", p.Name(), name, status, whole)
				}
			}
		})
	}
	wait.Wait()
}

// delta has the text of an event that grows one, in each protocol.
var delta = regexp.MustCompile(`"(?:content|delta|text)":"((?:[^"\\]|\\.)*)"`)

// answerText is the text of an answer; of a stream, of its deltas put together.
func answerText(body string, stream bool) string {
	if !stream {
		return body
	}
	var b strings.Builder
	for line := range strings.Lines(body) {
		if !strings.Contains(line, `.done"`) && !strings.Contains(line, `"response":`) {
			for _, m := range delta.FindAllStringSubmatch(line, -1) {
				b.WriteString(m[1])
			}
		}
	}
	return b.String()
}
