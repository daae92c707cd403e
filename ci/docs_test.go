package ci

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/fakehub"
	"github.com/goassay/assay/harness/live"
	"github.com/goassay/assay/harness/live/livetest"
	"github.com/goassay/assay/harness/provider"
	"github.com/goassay/assay/harness/revision"
	"github.com/goassay/assay/harness/subject"
)

var update = flag.Bool("update", false, "rewrite generated documents")

// documents are the pages for people.
func documents(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	return append(pages, "../README.md", "../CONTRIBUTING.md")
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRulesPage compares the pages of the rules with the code.
func TestRulesPage(t *testing.T) {
	for name, text := range map[string]string{"../docs/rules.md": check.Book().Manual(),
		"../docs/server-rules.md":   live.Book().Manual(),
		"../docs/change-rules.md":   revision.Book().Manual(),
		"../docs/provider-rules.md": provider.Book().Manual()} {
		if *update {
			if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if readFile(t, name) != text {
			t.Errorf("%s differs from the code; run `make update`", name)
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

// TestLinks follows the links from one page of the repository to another.
func TestLinks(t *testing.T) {
	for _, page := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(readFile(t, page), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			}
		}
	}
}

var (
	block  = regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```$")
	target = regexp.MustCompile(`(?m)^([a-z-]+):`)
)

// TestCommands runs every command that the documents show, in a scratch folder with the corpus,
// beside a server and a Hub. Of `make` and `git` only the words are checked: the targets must
// exist.
func TestCommands(t *testing.T) {
	scratch := t.TempDir()
	assay := filepath.Join(scratch, "assay")
	build := exec.Command("go", "build", "-o", assay, "./cmd/assay")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.CopyFS(filepath.Join(scratch, "corpus"), os.DirFS("../corpus")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(scratch, "path/to"),
		os.DirFS("../corpus/hermes")); err != nil {
		t.Fatal(err) // the template of CONTRIBUTING's recipe is path/to/template.jinja
	}
	server := startServer(t)
	for _, name := range []string{"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH",
		"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HUB_OFFLINE"} {
		t.Setenv(name, "") // those of the user who runs the tests
	}
	t.Setenv("HF_ENDPOINT", startHub(t))
	t.Setenv("HF_HOME", filepath.Join(scratch, "hf"))
	var targets []string
	for _, m := range target.FindAllStringSubmatch(readFile(t, "../Makefile"), -1) {
		targets = append(targets, m[1])
	}
	for _, page := range documents(t) {
		for _, m := range block.FindAllStringSubmatch(readFile(t, page), -1) {
			for command := range strings.SplitSeq(strings.ReplaceAll(strings.TrimSpace(m[1]), "|\n",
				"| "), "\n") {
				command = strings.TrimSpace(command)
				t.Run(filepath.Base(page)+": "+command, func(t *testing.T) {
					runDocumented(t, scratch,
						strings.ReplaceAll(command, "http://127.0.0.1:8080", server), targets)
				})
			}
		}
	}
}

// startServer starts a server that the documents' commands can talk to, and returns its address.
func startServer(t *testing.T) string {
	t.Helper()
	tm, err := subject.New("qwen3", readFile(t, "../corpus/qwen3/template.jinja")).Compile()
	if err != nil {
		t.Fatal(err)
	}
	server := livetest.New(tm, livetest.Options{Raw: true})
	t.Cleanup(server.Close)
	return server.URL
}

// startHub starts a Hub with the repository of the documents, and returns its address.
func startHub(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	err := gguf.Create(&b, nil,
		[]gguf.Pair{{Key: "tokenizer.chat_template",
			Value: gguf.Text(readFile(t, "../corpus/hermes/template.jinja"))}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := fakehub.New()
	t.Cleanup(h.Close)
	for _, name := range []string{"weather-Q4_K_M.gguf", "weather-Q8_0.gguf"} {
		h.Repo("example/weather-GGUF").Put(name, b.Bytes())
	}
	h.Repo("example/weather-GGUF").Describe(1000, "gguf")
	return h.URL()
}

var console = regexp.MustCompile("(?ms)^```console\n\\$ (.*?)\n(.*?)^```$")

// TestShown runs the commands whose output the documents show.
func TestShown(t *testing.T) {
	var shown [][]string
	for _, page := range documents(t) {
		shown = append(shown, console.FindAllStringSubmatch(readFile(t, page), -1)...)
	}
	if len(shown) == 0 {
		t.Error("no document shows an output")
	}
	for _, m := range shown {
		cmd := exec.Command("bash", "-c", m[1])
		cmd.Dir = ".."
		out, err := cmd.Output()
		if _, ran := err.(*exec.ExitError); err != nil && !ran {
			t.Fatal(err)
		}
		if string(out) != m[2] {
			t.Errorf("%s prints\n%s\nthe document shows\n%s", m[1], out, m[2])
		}
	}
}

func runDocumented(t *testing.T, dir, command string, targets []string) {
	if words := strings.Fields(command); words[0] == "git" {
		return
	} else if words[0] == "make" {
		if !slices.Contains(targets, words[1]) {
			t.Errorf("the Makefile has no target %s", words[1])
		}
		return
	}
	if strings.HasSuffix(command, "/cmd/assay run") && os.Getenv("ASSAY_VENDOR") == "" {
		t.Skip("every family: make test runs it, and here the scripts and goldens " +
			"are tests already")
	}
	cmd := exec.Command("bash", "-c", strings.ReplaceAll(command, "go run ./cmd/assay", "./assay"))
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out[max(0, len(out)-2000):])
	}
}
