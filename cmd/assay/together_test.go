package main

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/harness/testkit/double/fakehub"
	"github.com/goassay/assay/harness/testkit/double/providertest"
)

// TestKilledTogether runs pull, hub fetch, survey and provider at once, on one cache, and kills all
// of them again and again, at random. Then two of each that may run twice go on to the end, and
// what they leave is what undisturbed runs leave.
func TestKilledTogether(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the test kills by a signal")
	}
	const requests = 300
	w := newHubWorld(t, 60)
	dir := filepath.Dir(w.folder)
	var model bytes.Buffer
	template, err := os.ReadFile("../../corpus/hermes/template.jinja")
	if err == nil {
		err = gguf.Create(&model, nil, []gguf.Pair{{Key: "tokenizer.chat_template",
			Value: gguf.Text(string(template))}}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	model.Write(bytes.Repeat([]byte("tensor"), 1<<19))
	w.Repo("o/m").Put("m.gguf", model.Bytes())
	w.Fault(fakehub.Fault{Kind: fakehub.Drip, At: 4 << 10, On: "storage"})
	w.again("hub", "list", "--out", w.folder, "--tag", "gguf")
	fake := providertest.New(providertest.Options{Seed: 1, Delay: time.Millisecond})
	server := httptest.NewServer(fake)
	defer server.Close()
	set, log := madeDataset(t, dir, requests), filepath.Join(dir, "log.jsonl")
	if status, out := w.run("manifest", "--store", filepath.Join(dir, "store"),
		"../../corpus"); status != exitOK {
		t.Fatal(out)
	}
	survey := []string{"survey", filepath.Join(dir, "store", "manifest.jsonl"), "--out"}
	all := [][]string{
		{"pull", "o/m"},
		{"hub", "fetch", "--jobs", "4", filepath.Join(w.folder, "repositories.jsonl")},
		append(survey, filepath.Join(dir, "results")),
		{"provider", server.URL, "--dataset", set, "--log", log, "--concurrency", "4"},
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for most := 100 * time.Millisecond; most < 2*time.Second; most *= 2 {
		var group sync.WaitGroup
		for _, args := range all {
			ctx, cancel := context.WithTimeout(t.Context(),
				most/2+time.Duration(rng.Int64N(int64(most))))
			defer cancel()
			cmd := exec.CommandContext(ctx, w.program, args...)
			cmd.Env = w.command().Env
			group.Go(func() { _ = cmd.Run() }) // which kills it
		}
		group.Wait()
	}
	var group sync.WaitGroup
	for _, args := range append(all, all[0], all[0]) {
		group.Go(func() { w.again(args...) })
	}
	group.Wait()
	w.check("")
	pulled, err := filepath.Glob(filepath.Join(w.folder, "models--o--m/snapshots/*/m.gguf"))
	if err != nil || len(pulled) != 1 {
		t.Fatalf("pull left %q, %v", pulled, err)
	}
	if got, err := os.ReadFile(pulled[0]); err != nil || !bytes.Equal(got, model.Bytes()) {
		t.Errorf("pull left %d bytes of %d, %v", len(got), model.Len(), err)
	}
	w.again(append(survey, filepath.Join(dir, "undisturbed"))...)
	if a, b := surveyed(t, dir, "results"), surveyed(t, dir, "undisturbed"); a != b || a == "" {
		t.Errorf("the survey that was killed has %d bytes, an undisturbed one %d", len(a), len(b))
	}
	if table := readLog(t, log); table.Missing() != 0 || table.InFlight != 0 {
		t.Errorf("%d answers are missing, %d are under way", table.Missing(), table.InFlight)
	}
	tokenStayed(t, dir, w.Requests())
}

// surveyed reads the results of a survey in a folder.
func surveyed(t *testing.T, dir, name string) (all string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, name, "*.jsonl"))
	for _, file := range files {
		text, failed := os.ReadFile(file)
		all, err = all+string(text), errors.Join(err, failed)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}
