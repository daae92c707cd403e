package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/harness/hub/crawl"
	"github.com/goassay/assay/harness/hub/manifest"
	"github.com/goassay/assay/harness/testkit/double/fakehub"
)

// repositories is how many repositories the Hub of TestCrawl has; `make crawl` has 100,000.
var repositories = flag.Int("repositories", 1000, "of the Hub of TestCrawl")

// hubWorld is a Hub of many repositories, and the facts about them.
type hubWorld struct {
	*fakehub.Hub
	t       *testing.T
	program string
	folder  string
	want    map[string]string // a place: the digest of its template
	stolen  atomic.Int64      // tokens that came to a third host
}

// text is the template of a number.
func text(n int) string {
	return fmt.Sprintf("{%% for m in messages %%}<%d>{{ m.content }}{%% endfor %%}", n)
}

// newHubWorld makes repositories of every kind: a configuration, a Jinja file, a model file,
// several of them, nothing, a broken file, a gated one.
func newHubWorld(t *testing.T, n int) *hubWorld {
	dir := t.TempDir()
	w := &hubWorld{Hub: fakehub.New(), t: t, program: linked(t, dir),
		folder: filepath.Join(dir, "hub"), want: map[string]string{}}
	t.Cleanup(w.Close)
	const distinct = 40
	var configs, models [distinct][]byte
	for i := range distinct {
		config, err := json.Marshal(map[string]string{"chat_template": text(i), "bos_token": "<s>"})
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, "m.gguf")
		f, err := os.Create(name)
		if err == nil {
			err = errors.Join(gguf.Create(f, nil, []gguf.Pair{
				{Key: "general.architecture", Value: gguf.Text("llama")},
				{Key: "tokenizer.ggml.model", Value: gguf.Text("gpt2")},
				{Key: "tokenizer.chat_template", Value: gguf.Text(text(i))},
			}, []gguf.Content{{Tensor: gguf.Tensor{Name: "w", Dims: []uint64{4, 2}, Type: gguf.F32},
				Data: strings.NewReader("thirty-two bytes of tensor data!")}}), f.Close())
		}
		if err == nil {
			models[i], err = os.ReadFile(name)
		}
		if err != nil {
			t.Fatal(err)
		}
		configs[i] = config
	}
	for i := range n {
		k := i * 7919 % distinct
		id := fmt.Sprintf("owner-%d/model-%d", i%97, i)
		r, files := w.Repo(id), map[string][]byte{"README.md": []byte("# " + id)}
		tags := []string{"gguf", fmt.Sprintf("base_model:owner-0/model-%d", k)}
		w.want[id] = manifest.Digest(text(k))
		switch i % 10 {
		case 0, 1, 2, 3:
			files["tokenizer_config.json"] = configs[k]
		case 4:
			files["chat_template.jinja"] = []byte(text(k))
			files["additional_chat_templates/tool_use.jinja"] = []byte(text(k + 1))
			w.want[id+"#additional_chat_templates/tool_use.jinja#tool_use"] = manifest.Digest(
				text(k + 1))
		case 5, 6:
			files["m-Q8_0.gguf"] = models[k]
		case 7:
			files["m-Q4_K_M.gguf"], files["m-Q8_0.gguf"] = models[k], models[(k+1)%distinct]
			files["tokenizer_config.json"] = []byte(`{"bos_token": "<s>"}`)
		case 8:
			files["tokenizer_config.json"] = []byte(`{}`)
			delete(w.want, id)
		case 9:
			files["chat_template.jinja"] = []byte(text(k))
			switch i / 10 % 3 {
			case 0:
				r.Restrict("manual", false)
				delete(w.want, id)
			case 1:
				delete(files, "chat_template.jinja")
				files["tokenizer_config.json"] = []byte(`{"chat_template": `)
				delete(w.want, id)
			case 2:
				tags = nil // it is not of the query
				delete(w.want, id)
			}
		}
		r.PutAll(files)
		r.Describe(int64(i*31%1000), tags...)
	}
	w.Repo("gpt2").Describe(1e6, "gguf") // a name of the first years
	w.Token(secret)
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			w.stolen.Add(1)
		}
	}))
	t.Cleanup(thief.Close)
	for _, f := range []fakehub.Fault{
		{Kind: fakehub.Status, At: 503, Every: 211},
		{Kind: fakehub.Status, At: 429, Value: "1", Every: 1499},
		{Kind: fakehub.Truncate, At: 3, Every: 307},
		{Kind: fakehub.Corrupt, On: "/resolve/", At: 1, Every: 401},
		{Kind: fakehub.Redirect, On: "/resolve/", Value: thief.URL + "/x", Every: 503},
		{Kind: fakehub.HTML, On: "/resolve/", Every: 601},
	} {
		w.Fault(f)
	}
	// Windows of a second are announced as such of up to two: the Hub rounds down.
	w.Limit("api", max(20, n/1000), time.Second)
	w.Limit("resolvers", max(400, n/5), time.Second)
	return w
}

// command is the program with the Hub's environment.
func (w *hubWorld) command(args ...string) *exec.Cmd {
	cmd := exec.Command(w.program, args...)
	cmd.Env = append(os.Environ(), "HF_ENDPOINT="+w.URL(), "HF_HOME="+filepath.Dir(w.folder),
		"HF_TOKEN="+secret)
	return cmd
}

// run runs a command to its end and returns its status and all that it printed.
func (w *hubWorld) run(args ...string) (int, string) {
	w.t.Helper()
	cmd := w.command(args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// kill kills a command, as kill -9 does, once a file has so many lines or a folder so many files.
func (w *hubWorld) kill(name string, least int, args ...string) {
	w.t.Helper()
	cmd := w.command(args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for n := 0; n < least; {
		select {
		case err := <-ended:
			w.t.Fatalf("it ended before it was killed: %v\n%s", err, out.String())
		case <-time.After(time.Millisecond):
		}
		if files, err := os.ReadDir(name); err == nil {
			n = len(files)
		} else if text, err := os.ReadFile(name); err == nil {
			n = bytes.Count(text, []byte("\n"))
		}
	}
	cmd.Process.Kill()
	<-ended
}

// journal returns the repositories in the journal's whole lines.
func (w *hubWorld) journal() map[string]bool {
	read, err := os.ReadFile(filepath.Join(w.folder, "fetched.jsonl"))
	if err != nil {
		w.t.Fatal(err)
	}
	done := map[string]bool{}
	for line := range bytes.Lines(read) {
		var one struct{ Where string }
		if line[len(line)-1] == '\n' && json.Unmarshal(line, &one) == nil {
			done[one.Where] = true
		}
	}
	return done
}

// asked returns the repositories whose files were asked for since the last time, and the number of
// requests that were refused. It demands that no token went anywhere but to the Hub.
func (w *hubWorld) asked() (map[string]bool, int) {
	asked, refused := map[string]bool{}, 0
	for _, r := range w.Requests() {
		if r.Host != "hub" && r.Authorization != "" {
			w.t.Errorf("the token was sent away: %s", r)
		}
		if id, _, found := strings.Cut(strings.TrimPrefix(r.Path, "/"), "/resolve/"); found {
			asked[id] = true
		}
		if r.Status == http.StatusTooManyRequests {
			refused++
		}
	}
	return asked, refused
}

// entries reads a manifest.
func (w *hubWorld) entries(name, what string) []manifest.Entry {
	w.t.Helper()
	f, err := os.Open(filepath.Join(w.folder, name))
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	var all []manifest.Entry
	if _, _, err := manifest.Read(f, what, func(e manifest.Entry) error {
		all = append(all, e)
		return nil
	}); err != nil {
		w.t.Fatal(err)
	}
	return all
}

// again runs a command until it no longer ends with the status for that, a few times at most.
func (w *hubWorld) again(args ...string) string {
	w.t.Helper()
	for range 5 {
		status, out := w.run(args...)
		if status == exitOK {
			return out
		}
		if status != exitRetry {
			w.t.Fatalf("%v: status %d\n%s", args, status, out)
		}
	}
	w.t.Fatalf("%v: it does not come to an end", args)
	return ""
}

// TestCrawl lists a Hub with every fault and fetches its templates, within the rate that it allows,
// while both commands are killed again and again: nothing is lost, nothing that was read is read
// again, and the token goes to the Hub alone.
func TestCrawl(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals there")
	}
	w := newHubWorld(t, *repositories)
	list := []string{"hub", "list", "--out", w.folder, "--tag", "gguf"}
	names := filepath.Join(w.folder, crawl.Repositories)
	fetch := []string{"hub", "fetch", "--jobs", "4", names}

	pages := filepath.Join(w.folder, "listing")
	w.kill(pages, 3, list...) // the lock, the round and the first page
	out := w.again(list...)
	listed := w.entries(crawl.Repositories, manifest.Repository)
	outside := 0
	for i := range *repositories {
		if i%10 == 9 && i/10%3 == 2 {
			outside++
		}
	}
	if len(listed) != *repositories-outside {
		t.Fatalf("%d repositories are listed, expected %d\n%s", len(listed),
			*repositories-outside, out)
	}
	_, refused := w.asked()

	for _, part := range []int{5, 3} {
		w.kill(filepath.Join(w.folder, "fetched.jsonl"), len(listed)/part, fetch...)
		done := w.journal()
		asked, no := w.asked()
		refused += no
		inFlight := 0
		for id := range asked {
			if !done[id] {
				inFlight++
			}
		}
		// Those that failed by a fault were to be asked again.
		if most := 4 + len(asked)/50; inFlight > most {
			t.Errorf("%d of %d repositories were in flight when it was killed", inFlight,
				len(asked))
		}
		status, out := w.run(append(fetch[:2:2], "--budget", "50", "--jobs", "4", names)...)
		if status != exitRetry || !strings.Contains(out, "50 requests were sent") {
			t.Fatalf("with a budget: status %d\n%s", status, out)
		}
		again, no := w.asked()
		refused += no
		for id := range again {
			if done[id] {
				t.Errorf("%s was read, and is read again", id)
			}
		}
	}
	done := w.journal()
	out = w.again(fetch...)
	asked, no := w.asked()
	refused += no
	for id := range asked {
		if done[id] {
			t.Errorf("%s was read, and is read again", id)
		}
	}
	// Each process learns the rates by its first answers.
	if most := 6*4 + *repositories/300; refused > most {
		t.Errorf("%d requests were refused, expected at most %d", refused, most)
	}
	w.check(out)
	if w.stolen.Load() > 0 {
		t.Errorf("%d requests with the token came to a third host", w.stolen.Load())
	}

	// The next day: two commits, of which one changes a template.
	w.Heal()
	w.Repo("owner-0/model-0").Put("README.md", []byte("# New"))
	w.Repo("owner-1/model-1").Put("tokenizer_config.json", []byte(`{"chat_template": "`+
		text(1000)+`"}`))
	w.want["owner-1/model-1"] = manifest.Digest(text(1000))
	w.again(list...)
	w.asked()
	out = w.again(fetch...)
	if !strings.Contains(out, "2 read now") {
		t.Errorf("after two commits\n%s", out)
	}
	if asked, _ := w.asked(); len(asked) != 2 {
		t.Errorf("after two commits these were asked for: %v", asked)
	}
	w.check(out)
	w.again(list...)
	if out := w.again(list...); !strings.Contains(out, "of them unchanged") ||
		strings.Contains(out, " 0 of them unchanged") {
		t.Errorf("a list that has not changed\n%s", out)
	}
	tokenStayed(t, filepath.Dir(w.folder), w.Requests())
}

// check compares the manifest of templates with the Hub.
func (w *hubWorld) check(out string) {
	w.t.Helper()
	found := map[string]string{}
	for _, e := range w.entries(crawl.Manifest, manifest.Template) {
		found[e.Where] = e.Digest
		if !strings.Contains(e.Where, "#") && e.Base == "" {
			w.t.Errorf("%s has no base", e.Where)
		}
		if _, err := os.Stat(e.Path(w.folder)); err != nil {
			w.t.Error(err)
		}
	}
	for where, digest := range w.want {
		if found[where] != digest {
			w.t.Errorf("%s has the template %.16q, expected %.16q", where, found[where], digest)
		}
	}
	if len(found) != len(w.want) {
		w.t.Errorf("%d places, expected %d\n%s", len(found), len(w.want), out)
	}
}
