package main

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/harness/hub/manifest"
)

// TestEveryCommandHeeds interrupts every command while it renders for hours, waits on standard
// input, on a server or on an adapter: each ends soon, in order, with the status of an interrupt. A
// command that is not listed is a failure.
func TestEveryCommandHeeds(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals there")
	}
	dir := t.TempDir()
	program := linked(t, dir)
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777),
			os.WriteFile(name, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	const endless = "{% for m in messages %}{{ m.content }}{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}{% endfor %}{% endfor %}{% endfor %}"
	slow, other := write("slow.jinja", endless), write("other.jinja", endless+".")
	read, err := os.ReadFile("../../corpus/hermes/template.jinja")
	if err != nil {
		t.Fatal(err)
	}
	good := write("good.jinja", string(read))
	write("corpus/f/template.jinja", endless)
	write("corpus/f/case.txtar", "template f\ncaps tools\n")
	corpus := filepath.Join(dir, "corpus")
	vectors := write("v.jsonl", `{"kind": "jinja", "id": "a", "template": "`+endless+
		`", "vars": {"messages": [{"content": "a"}]}, "want": ""}`+"\n")
	model := filepath.Join(dir, "model.gguf")
	f, err := os.Create(model)
	if err == nil {
		tensor := gguf.Content{Tensor: gguf.Tensor{Name: "w", Dims: []uint64{4, 2}, Type: gguf.F32},
			Data: strings.NewReader("thirty-two bytes of tensor data!")}
		err = errors.Join(gguf.Create(f, nil, []gguf.Pair{
			{Key: "general.architecture", Value: gguf.Text("llama")},
			{Key: "tokenizer.chat_template", Value: gguf.Text(endless)},
		}, []gguf.Content{tensor}), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts connections
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	page, copied := filepath.Join(dir, "check.html"), filepath.Join(dir, "new.gguf")
	var lines strings.Builder
	if err := manifest.Write(&lines, []manifest.Entry{{What: manifest.Template, Where: "a/b",
		Digest: manifest.Digest(endless), File: filepath.Base(slow)}}); err != nil {
		t.Fatal(err)
	}
	list := write("manifest.jsonl", lines.String())
	lines.Reset()
	if err := manifest.Write(&lines, []manifest.Entry{{What: manifest.Repository, Where: "a/b",
		Revision: strings.Repeat("0", 40), Files: []string{"chat_template.jinja"}}}); err != nil {
		t.Fatal(err)
	}
	repositories := write("fetch/repositories.jsonl", lines.String())
	asked := write("asked.jsonl", `{"messages": [{"role": "user", "content": "a"}]}`+"\n")
	unbound := []string{"--limit", "steps=2147483647", "--limit", "total=0"}
	bound := func(args ...string) []string { return append(args, unbound...) }
	runs := map[string][][]string{
		"check": {bound("check", slow), bound("check", "-"), bound("check", "--manifest", list),
			bound("check", "--html", page, slow)},
		"fix":       {bound("fix", slow), bound("fix", "-")},
		"audit":     {bound("audit", slow), bound("audit", "-")},
		"coverage":  {bound("coverage", slow)},
		"diff":      {bound("diff", slow, other)},
		"templates": {bound("templates", model), {"templates", "hf:a/b"}},
		"render":    {bound("render", slow)},
		"caps":      {bound("caps", slow)},
		"analyze":   {bound("analyze", slow), bound("analyze", "--verify", slow)},
		"program":   {bound("program", slow)},
		"grammar":   {bound("grammar", slow)},
		"parse": {bound("parse", slow), {"parse", good},
			{"parse", "--format", "-", "--output", slow},
		},
		"page":       {{"page", "--no-browser"}},
		"inspect":    {bound("inspect", model), {"inspect", "hf:a/b"}},
		"pull":       {{"pull", "hf:a/b"}},
		"retemplate": {bound("retemplate", "--template", slow, "-o", copied, model)},
		"emit":       {bound("emit", "format", slow)},
		"train":      {bound("train", slow)},
		"live":       {{"live", "--tiny", "--template", "-"}},
		"probe":      {{"probe", "http://" + silent.Addr().String()}},
		"provider": {{"provider", "http://" + silent.Addr().String(), "--dataset", asked, "--log",
			filepath.Join(dir, "log.jsonl"), "--model", "m"}},
		"dataset":        {{"dataset", "--requests", "100000000"}},
		"pipe":           {{"pipe"}},
		"lsp":            {{"lsp"}},
		"run":            {bound("run", corpus)},
		"new":            {bound("new", "--corpus", filepath.Join(dir, "fresh"), slow)},
		"export cases":   {bound("export", "cases", corpus)},
		"export prompts": {bound("export", "prompts", corpus)},
		"verify":         {bound("verify", vectors), {"verify", "-"}},
		"engines run":    {{"engines", "run", "sleep 1000"}},
		"engines pick":   {{"engines", "pick", "--adapter", "sleep 1000", good}},
		"engines judge": {{"engines", "judge", "--run", "hermes", "--turns", "1", "sleep 1000"},
			{"engines", "judge", "--turns", "100000000", "sleep 1000"}},
		"serve": {{"serve", "--upstream", "http://" + silent.Addr().String(), "--template", good,
			"--listen", "127.0.0.1:0"}},
		"report":          {{"report", "-"}}, // of a template it has the default limits
		"manifest":        {{"manifest", "-"}},
		"hub list":        {{"hub", "list", "--out", filepath.Join(dir, "list")}},
		"hub fetch":       {{"hub", "fetch", repositories}},
		"survey":          {bound("survey", list)},
		"engines faults":  nil, // these read a file of ours or nothing, and end at once
		"explain":         nil,
		"help":            nil,
		"version":         nil,
		"completion bash": nil,
		"completion":      nil,
		"man":             nil,
	}
	var walk func(parent *cobra.Command)
	walk = func(parent *cobra.Command) {
		for _, cmd := range parent.Commands() {
			name := strings.TrimPrefix(cmd.CommandPath(), "assay ")
			if _, listed := runs[name]; !listed && !cmd.Hidden && !cmd.HasSubCommands() {
				t.Errorf("assay %s is not listed", name)
			}
			walk(cmd)
		}
	}
	walk(new(call).tree())
	for _, all := range runs {
		for _, args := range all {
			t.Run(strings.ReplaceAll(strings.Join(args, " "), dir, ""), func(t *testing.T) {
				t.Parallel()
				interrupt(t, program, dir, "http://"+silent.Addr().String(), args)
			})
		}
	}
}

// interrupt runs a command and interrupts it once it has begun.
func interrupt(t *testing.T, program, home, hub string, args []string) {
	for wait := 500 * time.Millisecond; ; wait *= 2 { // until it had begun when the signal came
		cmd := exec.Command(program, args...)
		cmd.Env = append(os.Environ(), "HF_ENDPOINT="+hub, "HF_HOME="+home)
		stdin, err := cmd.StdinPipe() // on which nothing comes
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(wait)
		signalled := time.Now()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			cmd.Wait()
			t.Fatalf("it ended before the signal: %v\n%s", cmd.ProcessState, out.String())
		}
		cmd.Wait()
		stdin.Close()
		took, status := time.Since(signalled), cmd.ProcessState.ExitCode()
		if status < 0 && wait < time.Minute {
			continue
		}
		if status != exitInterrupted || !strings.Contains(out.String(), "interrupted") {
			t.Errorf("status %d after %v\n%s", status, took, out.String())
		}
		if strings.Contains(out.String(), "cut off") {
			t.Errorf("it does not heed the interrupt for %v", took)
		}
		return
	}
}
