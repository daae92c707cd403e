package ci

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/corpus/families"
)

// maxDependencies is the number of packages, the standard library's included, that a program links
// for engine.
const maxDependencies = 100

// TestDependencies bounds the library's cost for its importers. Model files, the Hub and its TLS
// are in engine/model, beside it.
func TestDependencies(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("go", "list", "-deps", "./engine")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	deps := strings.Fields(string(out))
	if len(deps) > maxDependencies {
		t.Errorf("engine links %d packages, at most %d "+
			"are allowed:\n%s", len(deps), maxDependencies, out)
	}
	for _, name := range []string{"net", "net/http", "crypto/tls", module + "engine/model"} {
		if slices.Contains(deps, name) {
			t.Errorf("engine links %s", name)
		}
	}
}

// clouds are the modules with which buckets are reached.
var clouds = regexp.MustCompile(`(?m)^(gocloud\.dev|cloud\.google\.com|` +
	`google\.golang\.org/(api|grpc)|github\.com/(aws|googleapis)|go\.opentelemetry\.io)/.*\n`)

// TestClouds demands that the command links none of them unless it is built with the tag cloud.
func TestClouds(t *testing.T) {
	t.Parallel()
	for tags, want := range map[string]bool{"": false, "llama": false, "cloud": true} {
		cmd := exec.Command("go", "list", "-deps", "-tags="+tags, "./cmd/assay")
		cmd.Dir = ".."
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		if found := clouds.FindAllString(string(out), 3); len(found) > 0 != want {
			t.Errorf("with the tags %q the command links %q", tags, found)
		}
	}
}

var required = regexp.MustCompile(`(?m)^(?:require\s|\t)\s*(\S+) v`)

// TestRequirements makes a module that imports the library, and demands that `go mod tidy` gives it
// no requirement but this module, and that it builds. The network is switched off: a module that
// would have to be fetched is one requirement too many.
func TestRequirements(t *testing.T) {
	t.Parallel()
	run := scratchModule(t, map[string]string{"main.go": `package main

import (
	"fmt"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/model"
)

func main() { fmt.Println(engine.Source{}, chat.Request{}, format.Format{}, model.Model{}) }
`})
	text := run("mod", "tidy")
	run("vet", ".")
	for _, m := range required.FindAllStringSubmatch(text, -1) {
		if m[1] != strings.TrimSuffix(module, "/") {
			t.Errorf("a module that imports engine requires %s as well", m[1])
		}
	}
	if !strings.Contains(text, strings.TrimSuffix(module, "/")+" v") {
		t.Errorf("go mod tidy does not require this module:\n%s", text)
	}
}

// TestZeroOptions renders the battery with every template under the zero Options, whose clock is
// the wall clock. Each prompt comes out that does under the tests' clock.
func TestZeroOptions(t *testing.T) {
	t.Parallel()
	templates, err := filepath.Glob("../corpus/*/" + families.OwnTemplate)
	if err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("ASSAY_VENDOR"); dir != "" {
		vendors, err := filepath.Glob(filepath.Join(dir, "*.jinja"))
		if err != nil {
			t.Fatal(err)
		}
		templates = append(templates, vendors...)
	}
	for _, name := range templates {
		s := engine.Source{Name: name, Text: readFile(t, name), BOS: subject.BOS, EOS: subject.EOS}
		zero, err := engine.Compile(t.Context(), s, engine.Options{})
		fixed, errFixed := engine.Compile(t.Context(), s, engine.Options{Now: subject.Now})
		if (err == nil) != (errFixed == nil) {
			t.Errorf("%s: error %v, under the tests' clock %v", name, err, errFixed)
		}
		if err != nil {
			continue
		}
		for _, c := range standard.Battery() {
			_, err := zero.Render(c.Request)
			if _, errFixed := fixed.Render(c.Request); (err == nil) != (errFixed == nil) {
				t.Errorf("%s: %s: error %v, under the tests' clock %v", name, c.Name, err, errFixed)
			}
		}
	}
}
