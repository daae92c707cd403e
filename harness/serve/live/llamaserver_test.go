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
	"github.com/goassay/assay/engine/model/tokenizer"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/outline"
	"github.com/goassay/assay/harness/serve/live"
	"github.com/goassay/assay/harness/serve/openai"
)

// serverVariable names the llama-server to test; `make live-server` sets it.
const serverVariable = "ASSAY_LLAMA_SERVER"

// knownFaults are those of llama-server 0.5.0: under each reason "family scenario/rule" and how the
// finding begins, a star for any family or scenario, and perhaps a part of it after " ... ".
const knownFaults = "../../../ci/known/llama-server.txt"

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
	known, err := readKnown(source.New(knownFaults, string(text)))
	if err != nil {
		t.Fatal(err)
	}
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
		for _, f := range known {
			if !f.seen {
				t.Errorf("%s:%d: %q was not seen; remove it", knownFaults, f.line, f.text)
			}
		}
	}
}

// knownFault is a line of the list: a family and a scenario, either of them "*" for any, a rule,
// how the text of the finding begins, with its protocol, and a part of the text after " ... ".
type knownFault struct {
	family, scenario, rule, begins, part string

	text string
	line int // 1-based
	seen bool
}

// knownList is a list of faults that must be seen.
type knownList []*knownFault

func readKnown(src *source.Source) (knownList, error) {
	groups, err := outline.Parse(src)
	var known knownList
	for _, g := range groups {
		for _, item := range g.Items {
			f := &knownFault{text: item.Text, line: item.Line}
			family, rest, _ := strings.Cut(item.Text, " ")
			name, begins, _ := strings.Cut(rest, " ")
			scenario, rule, ok := strings.Cut(name, "/")
			f.family, f.scenario, f.rule = family, scenario, rule
			if f.begins, f.part, _ = strings.Cut(begins, " ... "); !ok || f.begins == "" {
				return nil, fmt.Errorf("%s:%d: expected FAMILY SCENARIO/RULE and how the finding "+
					"begins, found %q", src.Name, item.Line, item.Text)
			}
			known = append(known, f)
		}
	}
	return known, err
}

// has looks for a finding in the list, and marks every line that knows it.
func (k knownList) has(family, name, text string) bool {
	found := false
	scenario, rule, _ := strings.Cut(name, "/")
	for _, f := range k {
		if (f.family == "*" || f.family == family) &&
			(f.scenario == "*" || f.scenario == scenario) && f.rule == rule &&
			strings.HasPrefix(text, f.begins) && strings.Contains(text, f.part) {
			f.seen, found = true, true
		}
	}
	return found
}

// runLlamaServer starts a server with the tiny model of a family's template, and puts it through
// the battery. The bias keeps the model from strewing markers over its nonsense, and makes it call.
// It is the server's own setting, as the seed is: Messages have no word for either.
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
	opener := ""
	if calls := tm.Analysis().Format.Calls; len(calls) > 0 {
		opener = cmp.Or(calls[0].Section.Open.Text, calls[0].Call.Open.Text)
	}
	texts, err := tokenizer.Texts(model)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]int{}
	for id := 0; ; id++ {
		text, ok := texts.Bytes(id)
		if !ok {
			break
		}
		ids[string(text)] = id
	}
	var settings []string
	for _, text := range append([]string{"\n"}, plan.Preserved...) {
		by := -20
		if text == "\n" || strings.HasPrefix(opener, text) {
			by = 3
		}
		if id, ok := ids[text]; ok {
			settings = append(settings, "--logit-bias", fmt.Sprintf("%d%+d", id, by))
		}
	}
	client := startLlamaServer(t, program, model, settings)
	p, err := live.AskProperties(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	if p.Template == "" {
		t.Error("/props has no template")
	}
	s := &live.Server{Client: client, Model: p.Model, Template: tm, Raw: true, Max: 200,
		MaxFree: 30}
	s.Sampling.Temperature, s.Sampling.Seed = 1, 1
	results, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// startLlamaServer starts a server on loopback, and waits until it is ready.
func startLlamaServer(t *testing.T, program, model string, settings []string) *openai.Client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	var log bytes.Buffer
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, append(settings, "-m", model, "--host", "127.0.0.1",
		"--port", fmt.Sprint(port), "--seed", "1", "--no-cache-prompt",
		"-t", "1", "-np", "1", "-c", "8192", "--no-ui", "--no-warmup", "--verbose")...)
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
