package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine/llama"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/serve/live"
)

// TestLiveWithoutLlama describes how to get a binary that can do it.
func TestLiveWithoutLlama(t *testing.T) {
	if llama.Available() {
		t.Skip("llama.cpp is in this binary")
	}
	if _, errs, status := assay("", "live", "--tiny", "--family", "qwen3"); status != exitUsage ||
		!strings.Contains(errs, "make llama") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// tinyModel writes the tiny model with a template, that of a family or none.
func tinyModel(t *testing.T, family string) string {
	t.Helper()
	template := ""
	if family != "" {
		text, err := corpus.FS.ReadFile(family + "/" + families.OwnTemplate)
		if err != nil {
			t.Fatal(err)
		}
		template = string(text)
	}
	path, err := live.WriteTinyFile(t.TempDir(), 1, subject.BOS, subject.EOS,
		[]string{"<tool_call>", "</tool_call>", "<|im_start|>", "<|im_end|>"}, template)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestLiveErrors makes runs that cannot run: exit status 1 means that a model is rejected, 2 that
// something cannot be used, and older recordings stay.
func TestLiveErrors(t *testing.T) {
	model := tinyModel(t, "hermes")
	whole, err := os.ReadFile(model)
	if err != nil {
		t.Fatal(err)
	}
	broken := func(name string, data []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	garbled := append([]byte(nil), whole...)
	copy(garbled[24:], strings.Repeat("\xff", 64))
	for _, test := range []struct {
		name   string
		needs  bool // the library
		status int
		want   string
		args   []string
	}{
		{"no template", false, exitFailed, "no chat template", []string{tinyModel(t, "")}},
		{"a template without tools", false, exitFailed, "rejected: chat template does not support tool calling (supports_tools=false", []string{tinyModel(t, "plain")}},
		{"another template without tools", false, exitFailed, "does not support tool calling",
			[]string{"--template", filepath.FromSlash("../../corpus/plain/template.jinja"), model}},
		{"no such file", false, exitUsage, "none.gguf", []string{"none.gguf"}},
		{"no model", false, exitUsage, "GGUF", []string{broken("text.gguf", []byte("hello"))}},
		{"cut header", false, exitUsage, "cut.gguf", []string{broken("cut.gguf", whole[:5000])}},
		{"garbled header", false, exitUsage, "garbled.gguf", []string{broken("garbled.gguf",
			garbled)}},
		{"cut tensors", true, exitUsage, "tensors.gguf", []string{broken("tensors.gguf",
			whole[:len(whole)-1000])}},
		{"context too small", true, exitUsage, "the context is too small: the prompt has",
			[]string{"--context", "64", model}},
		{"context too large", true, exitUsage, "the context cannot be made", []string{"--context",
			"2147483647", model}},
	} {
		if test.needs && !llama.Available() {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			old := filepath.Join(dir, "hermes", "live_required.txtar")
			if err := os.MkdirAll(filepath.Dir(old), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(old, []byte("old"), 0o666); err != nil {
				t.Fatal(err)
			}
			_, errs, status := assay("",
				append([]string{"live", "--record", dir, "--date", "2026-01-02"}, test.args...)...)
			if status != test.status || !strings.Contains(errs, test.want) {
				t.Errorf("status %d, want %d with %q: %s", status, test.status, test.want, errs)
			}
			if files := read(t, dir); files["hermes/live_required.txtar"] != "old" {
				t.Error("older recordings are overwritten")
			}
		})
	}
}

// read returns the cases below a directory.
func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(dir + "/*/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.ToSlash(name)] = string(data)
	}
	return files
}

// TestLiveKilled kills a process that records, at one case after the other: the cases that are
// there are whole, and recording where they are is refused.
func TestLiveKilled(t *testing.T) {
	if !llama.Available() {
		t.Skip("this test binary was built without llama.cpp")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := filepath.Join(t.TempDir(), "assay") // the name by which TestMain knows the command
	if err := os.Symlink(self, command); err != nil {
		t.Fatal(err)
	}
	record := func(dir string) *exec.Cmd {
		return exec.Command(command, "live", "--tiny", "--family", "hermes", "--max", "300",
			"--record", dir, "--date", "2026-01-02")
	}
	all := t.TempDir()
	if out, err := record(all).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := read(t, all)
	if len(want) < 4 {
		t.Fatalf("%d cases were recorded", len(want))
	}
	for n := range 3 {
		dir := t.TempDir()
		cmd := record(dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
	wait:
		for {
			select {
			case err := <-ended:
				t.Fatalf("recording ended before it was killed: %v", err)
			case <-time.After(time.Millisecond):
				if entries, _ := os.ReadDir(filepath.Join(dir, "hermes")); len(entries) > n {
					break wait
				}
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-ended
		got := read(t, dir)
		for name, text := range got {
			if text != want[name] {
				t.Errorf("%s: %q, want %q", name, text, want[name])
			}
		}
		if len(got) == 0 {
			continue
		}
		if out, err := record(dir).CombinedOutput(); err == nil ||
			!strings.Contains(string(out), "is not overwritten") {
			t.Errorf("recording where there are cases: %v\n%s", err, out)
		}
		if now := read(t, dir); !maps.Equal(now, got) {
			t.Errorf("recording again changed older recordings")
		}
	}
}

// TestLiveFleet runs the models of a manifest in two shards: one that runs, one that the gate
// rejects, one that cannot be loaded and one that is gone. Each is a result, and the merged ones
// are those of one process.
func TestLiveFleet(t *testing.T) {
	if !llama.Available() {
		t.Skip("this test binary was built without llama.cpp")
	}
	dir := t.TempDir()
	put := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	good, err := os.ReadFile(tinyModel(t, "hermes"))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := os.ReadFile(tinyModel(t, "plain"))
	if err != nil {
		t.Fatal(err)
	}
	put("good.gguf", good)
	put("copy.gguf", good)
	put("plain.gguf", plain)
	put("cut.gguf", good[:len(good)-1000])
	put("gone.gguf", append(good, 0))
	out, errs, status := assay("", "manifest", "--models", dir)
	if status != exitOK {
		t.Fatalf("status %d\n%s", status, errs)
	}
	put("models.jsonl", []byte(out))
	if err := os.Remove(filepath.Join(dir, "gone.gguf")); err != nil {
		t.Fatal(err)
	}
	live := func(to string, args ...string) {
		t.Helper()
		args = append([]string{"live", "--manifest", filepath.Join(dir, "models.jsonl"), "--max",
			"100", "--max-free", "8", "--context", "4096", "--out", filepath.Join(dir, to)},
			args...)
		if _, errs, status := assay("", args...); status != exitRetry && status != exitFailed &&
			status != exitOK {
			t.Fatalf("%v: status %d\n%s", args, status, errs)
		}
	}
	cases := filepath.Join(dir, "cases")
	live("whole", "--record", cases, "--date", "2026-01-02")
	live("parts", "--shard", "1/2")
	live("parts", "--shard", "2/2")
	merged := func(from string) string {
		t.Helper()
		file := filepath.Join(dir, from+".jsonl")
		out, errs, status := assay("", "report", "--merge", filepath.Join(dir, from), "--out", file)
		if status != exitRetry {
			t.Fatalf("status %d\n%s", status, errs)
		}
		for _, want := range []string{"4 models: 1 ran, 1 rejected, 1 failed, 1 unread",
			"does not support tool calling"} {
			if !strings.Contains(out, want) {
				t.Errorf("the table has not %q\n%s", want, out)
			}
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	whole := merged("whole")
	if parts := merged("parts"); parts != whole {
		t.Errorf("in shards\n%s\nin one process\n%s", parts, whole)
	}
	for _, want := range []string{`"device":"`, `"llama_cpp":"`, `"seed":1`, `"outcome":"failed"`,
		`"name":"`} {
		if !strings.Contains(whole, want) {
			t.Errorf("the results have not %s\n%s", want, whole)
		}
	}
	if recorded, err := filepath.Glob(filepath.Join(cases, "*", "*", "live_*.txtar")); err != nil ||
		len(recorded) < 4 {
		t.Errorf("recorded: %v, %v", recorded, err)
	}
}
