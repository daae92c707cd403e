package ci

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	goBlock     = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")
	outputBlock = regexp.MustCompile("(?ms)^```text\n(.*?)^```$")
)

// goCode returns the two blocks of Go that a page shows, the program and the handler, and what the
// program prints.
func goCode(t *testing.T, page string) (program, handler, output string) {
	t.Helper()
	text := readFile(t, page)
	blocks := goBlock.FindAllStringSubmatch(text, -1)
	outputs := outputBlock.FindAllStringSubmatch(text, -1)
	if len(blocks) != 2 || len(outputs) != 1 {
		t.Fatalf("%s has %d blocks of Go and %d of output, expected two and one", page,
			len(blocks), len(outputs))
	}
	return blocks[0][1], blocks[1][1], outputs[0][1]
}

// scratchModule makes a module that replaces this one by the checkout, with files, and returns a
// function that runs the go command in it without a network.
func scratchModule(t *testing.T, files map[string]string) func(args ...string) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files["go.mod"] = "module example.com/embedding\n\ngo 1.26\n\nreplace github.com/goassay/assay => " + root + "\n"
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return func(args ...string) string {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod",
			"GOPROXY=off", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		if args[0] == "mod" {
			return readFile(t, filepath.Join(dir, "go.mod"))
		}
		return string(out)
	}
}

// TestEmbeddingProgram runs the program of docs/embedding.md as it stands, in a module of its own.
func TestEmbeddingProgram(t *testing.T) {
	t.Parallel()
	program, _, want := goCode(t, "../docs/embedding.md")
	run := scratchModule(t, map[string]string{"main.go": program})
	run("mod", "tidy")
	run("vet", ".")
	if got := run("run", "."); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestEmbeddingC demands that docs/embedding.md shows the program in C and what it prints as they
// are; `make libassay` builds and runs it.
func TestEmbeddingC(t *testing.T) {
	t.Parallel()
	page := readFile(t, "../docs/embedding.md")
	for file, language := range map[string]string{"example.c": "c", "example.txt": "json"} {
		text := readFile(t, "../cmd/libassay/testdata/"+file)
		if !strings.Contains(page, "\n```"+language+"\n"+text+"```\n") {
			t.Errorf("docs/embedding.md does not show %s as it is", file)
		}
	}
}

// TestEmbedding compiles the handler of docs/embedding.md in a module of its own, and puts requests
// to it.
func TestEmbedding(t *testing.T) {
	t.Parallel()
	_, handler, _ := goCode(t, "../docs/embedding.md")
	program := strings.ReplaceAll(embedder, "$TEMPLATE",
		"`"+readFile(t, "../corpus/hermes/template.jinja")+"`")
	run := scratchModule(t,
		map[string]string{"handler.go": handler, "main.go": program})
	run("mod", "tidy")
	run("vet", ".")
	const want = "testdata/embedding.txt"
	got := run("run", ".")
	if *update {
		if err := os.WriteFile(want, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if text := readFile(t, want); got != text {
		t.Errorf("got\n%s\nwant\n%s", got, text)
	}
}

// embedder is a program around the documents' code: a model that always says the same, and the
// requests.
const embedder = `package main

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
)

const text = $TEMPLATE

// parrot writes a call where the request has tools, in pieces of seven bytes.
type parrot struct{}

func (parrot) Generate(_ *http.Request, plan *engine.Plan, grammar string) iter.Seq2[[]byte, chat.FinishReason] {
	if !strings.Contains(plan.Prompt.Text, "get_weather") {
		return say("It rains, I thi", chat.FinishLength)
	}
	if !strings.Contains(grammar, "get_weather") {
		panic("no grammar")
	}
	return say("I look.<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Bern\"}}\n</tool_call><|im_end|>", chat.FinishStop)
}

func say(text string, reason chat.FinishReason) iter.Seq2[[]byte, chat.FinishReason] {
	return func(yield func([]byte, chat.FinishReason) bool) {
		for len(text) > 7 && yield([]byte(text[:7]), "") {
			text = text[7:]
		}
		yield([]byte(text), reason)
	}
}

func main() {
	source := engine.Source{Name: "template.jinja", Text: text, BOS: "<s>", EOS: "<|im_end|>"}
	template, err := engine.Compile(context.Background(), source, engine.Options{})
	if err != nil {
		panic(err)
	}
	server := &Server{Name: "weather-7b", Template: template, Model: parrot{},
		NewID: func() string { return "chatcmpl-1" }, Now: func() time.Time { return time.Unix(1767322800, 0) }}
	const tools = "\"tools\": [{\"type\": \"function\", \"function\": {\"name\": \"get_weather\", \"parameters\": {\"type\": \"object\", \"properties\": {\"city\": {\"type\": \"string\"}}}}}]"
	const user = "\"messages\": [{\"role\": \"user\", \"content\": \"Rain?\"}]"
	for _, body := range []string{
		"{" + user + "}",
		"{" + user + ", " + tools + "}",
		"{" + user + ", " + tools + ", \"stream\": true}",
		"{\"messages\": 1}",
	} {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(body)))
		fmt.Println(w.Code, w.Header().Get("Content-Type"))
		fmt.Println(strings.TrimSpace(strings.ReplaceAll(w.Body.String(), "\n\n", "\n")))
	}
}
`
