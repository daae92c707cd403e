package live_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/families"
	"github.com/goassay/assay/harness/live"
	"github.com/goassay/assay/harness/openai"
	"github.com/goassay/assay/harness/outline"
	"github.com/goassay/assay/harness/rule"
	"github.com/goassay/assay/harness/standard"
	"github.com/goassay/assay/harness/subject"
)

// serverVariable names the llama-server to test; `make live-server` sets it.
const serverVariable = "ASSAY_LLAMA_SERVER"

// knownFaults are those of llama-server 0.5.0: under each reason "family scenario/rule", and the
// protocol where it is not chat completions, a star for any family or scenario.
const knownFaults = "../../ci/known/llama-server.txt"

// TestLlamaServer puts llama-server with the tiny model through the battery, for every family with
// tools. Its findings are listed with reasons; any other is new.
func TestLlamaServer(t *testing.T) {
	program := os.Getenv(serverVariable)
	if program == "" {
		t.Skipf("%s names no llama-server; `make live-server` builds "+
			"it and runs this", serverVariable)
	}
	text, err := os.ReadFile(knownFaults)
	if err != nil {
		t.Fatal(err)
	}
	reasons, err := outline.Reasons(source.New(knownFaults, string(text)))
	if err != nil {
		t.Fatal(err)
	}
	known := &knownList{reasons: reasons, used: map[string]bool{}}
	all, err := families.Load(corpus.FS)
	if err != nil {
		t.Fatal(err)
	}
	only := os.Getenv("ASSAY_FAMILY")
	for i := range all.Families {
		f := &all.Families[i]
		if !f.Own || only != "" && f.Name != only {
			continue
		}
		tm := compile(t, f.Name)
		if !tm.Gate().Pass() {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			for _, r := range runLlamaServer(t, program, f.Name, tm) {
				if r.Status == rule.Failed && !known.has(f.Name, r.Name, r.Text) {
					t.Errorf("%s [%s]: %s", r.Name, r.Rule, r.Text)
				}
			}
		})
	}
	if only == "" && !t.Failed() {
		for line, reason := range reasons {
			if !known.used[line] {
				t.Errorf("%s: %q (%s) was not seen; remove it", knownFaults, line, reason)
			}
		}
	}
}

// knownList is a list of faults that must be seen.
type knownList struct {
	reasons map[string]string
	used    map[string]bool
}

// has looks for a finding in the list. A line without a protocol is one of chat completions; a
// comparison of protocols is one of "agree".
func (k *knownList) has(family, name, text string) bool {
	found := false
	scenario, rule, _ := strings.Cut(name, "/")
	protocol, _, _ := strings.Cut(text, ": ")
	switch {
	case strings.Contains(protocol, " and "):
		protocol = " agree"
	case protocol == "responses" || protocol == "messages":
		protocol = " " + protocol
	default:
		protocol = ""
	}
	for _, f := range []string{family, "*"} {
		for _, s := range []string{scenario, "*"} {
			line := f + " " + s + "/" + rule + protocol
			if _, ok := k.reasons[line]; ok {
				k.used[line], found = true, true
			}
		}
	}
	return found
}

// runLlamaServer starts a server with the tiny model of a family's template, and puts it through
// the battery. The bias keeps the model from strewing markers over its nonsense, and makes it call.
func runLlamaServer(t *testing.T, program, family string, tm *engine.Template) []rule.Result {
	t.Helper()
	plan, err := tm.Prepare(standard.ToolRequest(), engine.PrepareOptions{Insist: true})
	if err != nil {
		t.Fatal(err)
	}
	model, err := live.WriteTinyFile(t.TempDir(), 1, subject.BOS, subject.EOS, plan.Preserved,
		templateText(t, family))
	if err != nil {
		t.Fatal(err)
	}
	client := startLlamaServer(t, program, model)
	opener := ""
	if calls := tm.Analysis().Format.Calls; len(calls) > 0 {
		opener = cmp.Or(calls[0].Section.Open.Text, calls[0].Call.Open.Text)
	}
	var bias []ordered.Value
	for _, text := range append([]string{"\n"}, plan.Preserved...) {
		by := ordered.Int(-20)
		if text == "\n" || strings.HasPrefix(opener, text) {
			by = ordered.Int(3)
		}
		body := ordered.ObjectOf(ordered.Member{Key: "content", Value: ordered.Str(text)},
			ordered.Member{Key: "parse_special", Value: ordered.Boolean(true)})
		a, err := client.Post(t.Context(), "/tokenize", body.Append(nil, ordered.Compact))
		if err != nil {
			t.Fatal(err)
		}
		if tokens := a.JSON.At("tokens").Items(); len(tokens) == 1 {
			bias = append(bias, ordered.ArrayOf(tokens[0], by))
		}
	}
	p, err := live.AskProperties(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	if p.Template == "" {
		t.Error("/props has no template")
	}
	s := &live.Server{Client: client, Model: p.Model, Template: tm, Raw: true, Max: 200,
		MaxFree: 30, Extra: ordered.ObjectOf(
			ordered.Member{Key: "logit_bias", Value: ordered.ArrayOf(bias...)},
			ordered.Member{Key: "cache_prompt", Value: ordered.Boolean(false)})}
	s.Sampling.Temperature, s.Sampling.Seed = 1, 1
	results, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// startLlamaServer starts a server on loopback, and waits until it is ready.
func startLlamaServer(t *testing.T, program, model string) *openai.Client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	var log bytes.Buffer
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "-m", model, "--host", "127.0.0.1", "--port",
		fmt.Sprint(port),
		"-t", "1", "-np", "1", "-c", "8192", "--no-ui", "--no-warmup", "--verbose")
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.Env = append(os.Environ(), "LLAMA_CACHE="+filepath.Dir(model))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	client, err := openai.New(fmt.Sprintf("http://127.0.0.1:%d", port), "", openai.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		if a, err := client.Get(t.Context(), "/health"); err == nil && a.OK() {
			return client
		}
		select {
		case <-ended:
			t.Fatalf("llama-server ended:\n%s", log.Bytes()[max(0, log.Len()-2000):])
		case <-t.Context().Done():
			t.Fatal(context.Cause(t.Context()))
		case <-time.After(50 * time.Millisecond):
		}
	}
}
