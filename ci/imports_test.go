// Package ci checks the properties that no package can check of itself: that imports go one way,
// that the documents are true, that the vendors' lock and the families agree.
package ci

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/goassay/assay/"

// policy lists the packages of this module that each package of the engine may import; engine/ is
// left out of the names. The two halves, templates and output, meet in format, ordered and chat
// only; verify and the façade stand above both.
var policy = map[string][]string{
	"source":  {},
	"lists":   {},
	"ordered": {"source"},
	"chat":    {"lists", "ordered"},
	"format":  {"lists"},
	"vocab":   {"format", "ordered"},

	"internal/bailout": {},
	"internal/slab":    {},
	"words":            {},

	// the left half: templates
	"jinja/syntax":     {"internal/bailout", "source"},
	"jinja/flow":       {"jinja/syntax", "source"},
	"jinja/flow/reach": {"jinja/flow", "jinja/syntax", "source"},
	"jinja/edit":       {"jinja/flow", "jinja/syntax", "source"},
	"jinja": {"internal/bailout", "internal/slab", "jinja/flow", "jinja/syntax", "ordered",
		"source"},
	"chattemplate":     {"jinja", "jinja/flow", "ordered", "source", "words"},
	"internal/observe": {"chattemplate", "chat", "format", "jinja", "ordered"},
	"caps":             {"chat", "chattemplate", "format", "internal/observe", "lists", "ordered"},
	"internal/analysis": {"chat", "chattemplate", "format", "internal/observe", "jinja", "lists",
		"ordered", "source"},

	// the right half: output
	"schema":  {"internal/bailout", "internal/slab", "lists", "ordered", "source"},
	"codec":   {"ordered", "format", "schema", "peg"},
	"peg":     {"internal/bailout", "internal/slab", "source"},
	"peg/vm":  {"peg"},
	"gbnf":    {"lists", "ordered", "schema", "source"},
	"dialect": {"format"},
	"emit": {"codegen", "format", "gbnf", "internal/bailout", "lists", "ordered", "source",
		"vocab"},

	"formatjson": {"format", "ordered"},
	"codegen": {"chat", "codec", "dialect", "format", "gbnf", "lists", "ordered", "peg",
		"schema"},
	"spell": {"chat", "codec", "format", "ordered", "source"},
	"stream": {"chat", "codec", "codegen", "format", "ordered", "peg", "peg/vm", "schema",
		"vocab"},

	// above both
	"verify": {"caps", "chat", "chattemplate", "codegen", "format", "gbnf", "internal/analysis",
		"jinja", "lists", "ordered", "schema", "source", "spell", "stream"},
	"": {"internal/analysis", "caps", "chat", "chattemplate", "codegen", "dialect", "format",
		"jinja", "internal/observe", "ordered", "peg/vm", "source",
		"stream", "verify", "vocab", "words"},

	"capability": {"", "caps", "chat", "chattemplate", "format", "internal/observe", "jinja/flow",
		"lists", "ordered", "source"},

	// the room for servers: the messages between clients and servers
	"wire": {"chat", "ordered", "schema"},

	// the room beside it: model files, the Hub, model folders
	"model":           {"", "model/gguf", "model/hub", "ordered", "source"},
	"model/filelock":  {},
	"model/patience":  {},
	"model/gguf":      {"internal/bailout", "lists", "model/filelock", "ordered", "source"},
	"model/modeldir":  {"lists", "model/gguf", "ordered", "source"},
	"model/tokenizer": {"", "model/gguf", "vocab"},
	"model/hub": {"lists", "model/filelock", "model/gguf", "model/patience", "ordered",
		"source"},
	"llama": {"model/gguf", "ordered"},
}

// allowed lists the packages that the engine may import from outside the standard library.
var allowed = map[string][]string{}

// forbidden are packages that nothing in the engine imports, tests apart, with the reason.
var forbidden = map[string]string{
	"log":             "the engine returns errors and prints nothing",
	"log/slog":        "the engine returns errors and prints nothing",
	"testing":         "the engine is no test",
	module + "corpus": "the engine knows no corpus",
}

type listed struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
	CgoFiles     []string
}

// list returns the packages of the module as the go command sees them, with the files of every
// build tag.
func list(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list",
		"-json=ImportPath,Imports,TestImports,XTestImports,CgoFiles", "-tags=llama,cloud,libassay",
		"./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestImports(t *testing.T) {
	t.Parallel()
	for _, p := range list(t) {
		name, inEngine := strings.CutPrefix(p.ImportPath+"/", module+"engine/")
		name = strings.TrimSuffix(name, "/")
		for _, path := range p.Imports {
			if own, ok := strings.CutPrefix(path, module); ok &&
				p.ImportPath != strings.TrimSuffix(module, "/") {
				checkOwn(t, name, inEngine, p.ImportPath, own)
			}
			if inEngine && name != "llama" {
				checkForeign(t, p.ImportPath, path)
			}
		}
		if len(p.CgoFiles) > 0 && name != "llama" && p.ImportPath != module+"cmd/libassay" {
			t.Errorf(`%s imports "C"; only engine/llama and cmd/libassay do, so that everything `+
				"else builds without a C compiler", p.ImportPath)
		}
	}
}

// checkOwn checks an import within the module.
func checkOwn(t *testing.T, name string, inEngine bool, importer, imported string) {
	t.Helper()
	target, intoEngine := strings.CutPrefix(imported+"/", "engine/")
	target = strings.TrimSuffix(target, "/")
	switch {
	case !inEngine:
		if strings.HasPrefix(importer, module+"harness/") && strings.HasPrefix(imported, "cmd/") {
			t.Errorf("%s imports %s; the harness does not know "+
				"the command line", importer, imported)
		}
	case !intoEngine:
		t.Errorf("%s imports %s; the engine knows nothing above it", importer, imported)
	default:
		may, known := policy[name]
		if !known {
			t.Errorf("%s is not in the policy of ci/imports_test.go; say "+
				"its allowed imports", importer)
		} else if !slices.Contains(may, target) {
			t.Errorf("%s imports engine/%s; ci/imports_test.go allows %q", importer, target, may)
		}
	}
}

// checkForeign checks an import of the engine from outside the module.
func checkForeign(t *testing.T, importer, imported string) {
	t.Helper()
	if reason, ok := forbidden[imported]; ok {
		t.Errorf("%s imports %s; %s", importer, imported, reason)
	}
	if first, _, _ := strings.Cut(imported, "/"); strings.Contains(first, ".") &&
		!strings.HasPrefix(imported, module) &&
		!slices.Contains(allowed[importer], imported) {
		t.Errorf("%s imports %s; the engine needs nothing but the "+
			"standard library", importer, imported)
	}
}

// treeReaders are the packages that read the trees of templates, and so the only ones with a switch
// over the forms of the syntax: the interpreter, the model of a template with its proofs, and the
// parts and edits of one. All others ask those. The list only gets shorter.
var treeReaders = []string{"engine/jinja", "engine/jinja/edit", "engine/jinja/flow",
	"engine/jinja/flow/reach"}

// TestTreeReaders finds the packages, and their tests, that import the syntax of templates: all of
// treeReaders, and no other one.
func TestTreeReaders(t *testing.T) {
	const syntax = module + "engine/jinja/syntax"
	var readers []string
	for _, p := range list(t) {
		imports := slices.Concat(p.Imports, p.TestImports, p.XTestImports)
		if p.ImportPath != syntax && slices.Contains(imports, syntax) {
			readers = append(readers, strings.TrimPrefix(p.ImportPath, module))
		}
	}
	if slices.Sort(readers); !slices.Equal(readers, treeReaders) {
		t.Errorf("%q import engine/jinja/syntax, want %q; ask engine/jinja/flow what a template "+
			"means, and engine/jinja/edit where its parts stand", readers, treeReaders)
	}
}
