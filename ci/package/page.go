package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/report"
)

// page writes the page that runs in a browser: its static files, the engine in WebAssembly and the
// templates to choose from.
func (r *release) page() error {
	files, err := r.pageFiles()
	if err != nil {
		return err
	}
	folder := "assay_" + r.version + "_page"
	return r.writeTar(folder+".tar.gz", under(folder, files))
}

func (r *release) pageFiles() ([]file, error) {
	files, err := filesOf(report.Web(), 0o644, "*.js", "*.jinja")
	files = append(files, file{"index.html", []byte(report.Index()), 0o644})
	engine, engineErr := r.webAssembly("./cmd/page")
	listed, listErr := json.Marshal(families.Owned())
	if err := errors.Join(err, engineErr, listErr); err != nil {
		return nil, err
	}
	if listed, err = gzipped(listed); err != nil {
		return nil, err
	}
	return append(append(files, engine...), file{"families.json.gz", listed, 0o644}), nil
}

// webAssembly compiles a command to WebAssembly, and returns it with Go's part in JavaScript.
func (r *release) webAssembly(command string) ([]file, error) {
	engine := filepath.Join(r.work, "assay.wasm")
	// What reads a template, learns a format and checks runs too seldom to gain by inlining, and
	// the page is loaded over the network.
	small := "GOFLAGS="
	for _, seldom := range []string{"harness", "engine/capability", "engine/caps", "engine/chat",
		"engine/chattemplate", "engine/codegen", "engine/emit", "engine/formatjson", "engine/gbnf",
		"engine/internal/analysis", "engine/internal/observe", "engine/jinja/edit",
		"engine/jinja/flow", "engine/jinja/syntax", "engine/schema", "engine/source",
		"engine/verify", "engine/wire"} {
		small += "-gcflags=" + ownPath + "/" + seldom + "/...=-l "
	}
	if err := r.compile(engine, command, "main.version", "GOOS=js", "GOARCH=wasm",
		strings.TrimSpace(small)); err != nil {
		return nil, err
	}
	packed, err := os.ReadFile(engine)
	if err == nil {
		packed, err = gzipped(packed)
	}
	if err != nil {
		return nil, err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	glue, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm",
		"wasm_exec.js"))
	if err != nil {
		return nil, err
	}
	return []file{{"assay.wasm.gz", packed, 0o644}, {"wasm_exec.js", glue, 0o644}}, nil
}

// unpackPage writes the page into a folder, to be served as it is.
func (r *release) unpackPage() error {
	files, err := r.pageFiles()
	for _, f := range files {
		err = errors.Join(err, r.write(f.name, f.text))
	}
	return err
}
