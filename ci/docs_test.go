package ci

import (
	"bytes"
	"errors"
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
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/diff"
	"github.com/goassay/assay/harness/serve/live"
	"github.com/goassay/assay/harness/serve/provider"
	"github.com/goassay/assay/harness/testkit/command"
	"github.com/goassay/assay/harness/testkit/double/fakehub"
	"github.com/goassay/assay/harness/testkit/double/livetest"
)

var update = flag.Bool("update", false, "rewrite generated documents")

// documents are the pages for people.
func documents(t *testing.T) []string {
	t.Helper()
	guides, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../docs/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	return append(append(guides, more...), "../README.md", "../CONTRIBUTING.md",
		"../corpus/README.md")
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
	t.Parallel()
	for name, text := range map[string]string{"../docs/reference/rules.md": check.Book().Manual(),
		"../docs/reference/server-rules.md":   live.Book().Manual(),
		"../docs/reference/change-rules.md":   diff.Book().Manual(),
		"../docs/reference/provider-rules.md": provider.Book().Manual()} {
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

var (
	link    = regexp.MustCompile(`\]\(([^)#:]*)(#[^)]*)?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	unsaid  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors returns the addresses of a page's headings, as GitHub makes them.
func anchors(text string) (all []string) {
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		all = append(all, "#"+strings.ReplaceAll(
			unsaid.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}

// TestLinks follows the links from one page of the repository to another, to the heading where they
// name one.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, page := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(readFile(t, page), -1) {
			target := filepath.Join(filepath.Dir(page), m[1])
			if m[1] == "" {
				target = page
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			} else if m[2] != "" && !slices.Contains(anchors(readFile(t, target)), m[2]) {
				t.Errorf("%s links to %s%s, and there is no such heading", page, m[1], m[2])
			}
		}
	}
}

var (
	block  = regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```$")
	target = regexp.MustCompile(`(?m)^([a-z-]+):`)
)

// TestCommands runs every command that the documents show: those of a page in one scratch folder
// with the corpus, beside a server and a Hub. Nothing is built or installed: of
// `make` the target must exist, of `go install` the command.
func TestCommands(t *testing.T) {
	t.Parallel()
	need(t, "bash")
	assay := command.Path(t)
	server, hub := startServer(t), startHub(t)
	var targets []string
	for _, m := range target.FindAllStringSubmatch(readFile(t, "../Makefile"), -1) {
		targets = append(targets, m[1])
	}
	for _, page := range documents(t) {
		blocks := block.FindAllStringSubmatch(readFile(t, page), -1)
		if len(blocks) == 0 {
			continue
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			scratch := newPageScratch(t, assay, hub)
			for _, m := range blocks {
				for line := range strings.SplitSeq(strings.ReplaceAll(strings.TrimSpace(m[1]),
					"|\n", "| "), "\n") {
					line = strings.TrimSpace(line)
					t.Run(line, func(t *testing.T) {
						scratch.run(t, strings.ReplaceAll(line, "http://127.0.0.1:8080", server),
							targets)
					})
				}
			}
		})
	}
}

// pageScratch is the folder in which the commands of a page run, and their environment.
type pageScratch struct {
	dir string
	env []string
}

func newPageScratch(t *testing.T, assay, hub string) pageScratch {
	t.Helper()
	s := pageScratch{dir: t.TempDir()}
	if err := errors.Join(os.Symlink(assay, filepath.Join(s.dir, "assay")),
		os.CopyFS(filepath.Join(s.dir, "corpus"), os.DirFS("../corpus")),
		// The template of CONTRIBUTING's recipe is path/to/template.jinja.
		os.CopyFS(filepath.Join(s.dir, "path/to"), os.DirFS("../corpus/hermes"))); err != nil {
		t.Fatal(err)
	}
	s.env = os.Environ()
	for _, name := range []string{"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH",
		"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HUB_OFFLINE"} {
		s.env = append(s.env, name+"=") // those of the user who runs the tests
	}
	s.env = append(s.env, "HF_ENDPOINT="+hub, "HF_HOME="+filepath.Join(s.dir, "hf"))
	return s
}

// run runs a command of a page.
func (s pageScratch) run(t *testing.T, line string, targets []string) {
	t.Helper()
	switch words := strings.Fields(line); words[0] {
	case "git", "pip":
		return // `make snapshot` installs the wheel
	case "make":
		if !slices.Contains(targets, words[1]) {
			t.Errorf("the Makefile has no target %s", words[1])
		}
		return
	}
	if path, ok := strings.CutPrefix(line, "go install ./"); ok {
		if _, err := os.Stat("../" + path + "/main.go"); err != nil {
			t.Error(err)
		}
		return
	}
	if strings.HasSuffix(line, "/cmd/assay run") {
		t.Skip("every family: .ci/run begins with it, and the scripts and goldens are tests here")
	}
	cmd := exec.Command("bash", "-c", strings.ReplaceAll(line, "go run ./cmd/assay", "./assay"))
	cmd.Dir, cmd.Env = s.dir, s.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out[max(0, len(out)-2000):])
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

// asGoRun is a function for a shell that runs the command as `go run` does.
const asGoRun = `assay() { "$ASSAY" "$@" || { echo "exit status $?" >&2; return 1; }; }; `

var console = regexp.MustCompile("(?ms)^```console\n\\$ (.*?)\n(.*?)^```$")

// TestShown runs the commands whose output the documents show.
func TestShown(t *testing.T) {
	t.Parallel()
	need(t, "bash")
	env := append(os.Environ(), "ASSAY="+command.Path(t))
	shown := 0
	for _, page := range documents(t) {
		for _, m := range console.FindAllStringSubmatch(readFile(t, page), -1) {
			shown++
			t.Run(filepath.Base(page)+": "+m[1], func(t *testing.T) {
				t.Parallel()
				cmd := exec.Command("bash", "-c",
					asGoRun+strings.ReplaceAll(m[1], "go run ./cmd/assay", "assay"))
				cmd.Dir, cmd.Env = "..", env
				out, err := cmd.Output()
				var exit *exec.ExitError
				if err != nil && !errors.As(err, &exit) {
					t.Fatal(err)
				}
				if string(out) != m[2] {
					t.Errorf("it prints\n%s\nthe document shows\n%s", out, m[2])
				}
			})
		}
	}
	if shown == 0 {
		t.Error("no document shows an output")
	}
}
