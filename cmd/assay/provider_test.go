package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/harness/serve/provider"
	"github.com/goassay/assay/harness/serve/provider/dataset"
	"github.com/goassay/assay/harness/testkit/double/providertest"
)

var askedRequests = flag.Int("requests", 2000, "how many requests TestProviderKilled asks")

// madeDataset writes a data set and returns its name.
func madeDataset(t *testing.T, dir string, n int) string {
	t.Helper()
	name := filepath.Join(dir, "requests.jsonl")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g, err := dataset.NewGenerator(corpus.FS, 1)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for range n {
		w.Write(append(g.Next().Line(), '\n'))
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return name
}

// readLog reads a log, and demands that each answer is in it at most once.
func readLog(t *testing.T, name string) *provider.Table {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	seen := map[string]bool{}
	for lines.Scan() {
		var e provider.Entry
		if !bytes.HasPrefix(lines.Bytes(), []byte(`{"what":"answer"`)) ||
			json.Unmarshal(lines.Bytes(), &e) != nil { // the last line may not be whole
			continue
		}
		at := fmt.Sprint(e.N, e.Repeat, e.Stream)
		if seen[at] {
			t.Fatalf("the answer %s is in the log twice", at)
		}
		seen[at] = true
	}
	if _, err := f.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	table, err := provider.ReadTable(f)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// resident returns the most memory that a running process had in use, in bytes; 0 where the system
// does not tell. (That of a process that ended has the memory of the one that started it in it.)
func resident(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, text, _ = bytes.Cut(text, []byte("\nVmHWM:"))
	kib, _, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	n, err := strconv.ParseInt(kib, 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

// TestProviderKilled kills a run ten times, at random, and demands that the last one ends with
// each request once in the result, that no more than those that were under way are sent again, and
// that memory does not grow with the requests.
func TestProviderKilled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the test kills by a signal")
	}
	const concurrency, kills = 16, 10
	n := *askedRequests
	dir := t.TempDir()
	program := linked(t, dir)
	set, log := madeDataset(t, dir, n), filepath.Join(dir, "log.jsonl")
	fake := providertest.New(providertest.Options{Seed: 1, Schema: 0.01, Busy: 0.001,
		Delay: time.Millisecond})
	server := httptest.NewServer(fake)
	defer server.Close()
	args := []string{"provider", server.URL, "--dataset", set, "--log", log, "--concurrency",
		fmt.Sprint(concurrency)}
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	var at []int
	for range kills {
		at = append(at, 1+rng.IntN(n*9/10))
	}
	slices.Sort(at)
	again, most := 0, int64(0)
	run := func() (*exec.Cmd, *bytes.Buffer) {
		cmd, out := exec.Command(program, args...), new(bytes.Buffer)
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, out
	}
	note := func(cmd *exec.Cmd) { most = max(most, resident(cmd.Process.Pid)) }
	for _, requests := range at {
		cmd, out := run()
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for fake.Requests.Load() < int64(requests) {
			select {
			case err := <-ended:
				t.Fatalf("it ended before it was killed: %v\n%s", err, out)
			case <-time.After(time.Millisecond):
			}
		}
		note(cmd)
		cmd.Process.Kill()
		<-ended
		if _, err := os.Stat(log); err != nil {
			continue // it was killed before it began
		}
		table := readLog(t, log)
		if table.InFlight > concurrency {
			t.Errorf("killed at %d requests: %d were under way, expected %d at most", requests,
				table.InFlight, concurrency)
		}
		again += table.InFlight
	}
	cmd, out := run()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var err error
	for running := true; running; {
		select {
		case err = <-ended:
			running = false
		case <-time.After(5 * time.Millisecond):
			note(cmd)
		}
	}
	table := readLog(t, log)
	t.Logf("%d requests, killed at %v: %d sent again, %d came; at most %d at once; at most %d MiB",
		n, at, table.Again, fake.Requests.Load(), fake.AtOnce.Load(), most>>20)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if table.Missing() != 0 || table.InFlight != 0 || table.Again > again {
		t.Errorf("%d answers are missing, %d are under way, %d were sent again of %d that were",
			table.Missing(), table.InFlight, table.Again, again)
	}
	for i := range table.Outcomes {
		if table.Outcomes[i].State != provider.Answered {
			t.Fatalf("the outcome of request %d is %+v", i, table.Outcomes[i])
		}
	}
	// those that came are the tries of the log, less the requests that were killed before they
	// came, and more where one had been tried again before its run was killed
	if came := fake.Requests.Load(); came > table.Spent.Requests+int64(4*table.Again) ||
		came < table.Spent.Requests-int64(table.Again) {
		t.Errorf("%d requests came, and the log has %d tries", came, table.Spent.Requests)
	}
	if most>>20 > 192 {
		t.Errorf("it took %d MiB, expected at most 192", most>>20)
	}
	if !strings.Contains(out.String(), fmt.Sprintf("%d answers, 0 without one, 0 not asked", n)) {
		t.Errorf("%s", out)
	}
}

// TestProviderPage compares the output that docs/providers.md shows with that of such a run.
func TestProviderPage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	set := madeDataset(t, dir, 1000)
	ask := func(o providertest.Options, log string, more ...string) (string, int) {
		server := httptest.NewServer(providertest.New(o))
		defer server.Close()
		out, errs, status := assay("", append([]string{"provider", server.URL, "--dataset", set,
			"--log", filepath.Join(dir, log), "--concurrency", "1"}, more...)...)
		if errs != "" {
			t.Error(errs)
		}
		return strings.ReplaceAll(out, server.URL, "https://provider.example"), status
	}
	if out, status := ask(providertest.Options{Seed: 1, Schema: 0.01, Silent: 0.02}, "ref.jsonl",
		"--repeats", "2"); status != exitOK {
		t.Fatalf("status %d\n%s", status, out)
	}
	out, status := ask(providertest.Options{Seed: 2, Schema: 0.01, Silent: 0.02, Cut: 0.04},
		"own.jsonl", "--reference", filepath.Join(dir, "ref.jsonl"))
	if status != exitFailed {
		t.Errorf("status %d\n%s", status, out)
	}
	name := filepath.Join(dir, "report.json")
	server := httptest.NewServer(providertest.New(providertest.Options{}))
	defer server.Close()
	json, errs, status := assay("", "provider", server.URL, "--dataset", set, "--log",
		filepath.Join(dir, "budget.jsonl"), "--budget-requests", "40", "--reference",
		filepath.Join(dir, "ref.jsonl"), "--format", "json")
	if status != exitRetry || !strings.Contains(errs, "the budget is spent: 40 of 40 requests") {
		t.Errorf("with a budget: status %d\n%s", status, errs)
	}
	if err := os.WriteFile(name, []byte(json), 0o666); err != nil {
		t.Fatal(err)
	}
	if read, errs, status := assay("", "report", name); status != exitOK || errs != "" ||
		!strings.Contains(read, "40 answers, 0 without one, 960 not asked") {
		t.Errorf("assay report: status %d\n%s%s", status, read, errs)
	}
	page, err := os.ReadFile("../../docs/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(page), "```text\n")
	shown, _, _ = strings.Cut(shown, "```")
	for part := range strings.SplitSeq(shown, "...\n") {
		if !strings.Contains(out, part) || len(part) < 40 {
			t.Errorf("docs/providers.md shows\n%s\nwhich is no part of\n%s", part, out)
		}
	}
}
