package main

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// manifest is a package.json.
type manifest struct {
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Description  string            `json:"description"`
	License      string            `json:"license"`
	Repository   string            `json:"repository"`
	Type         string            `json:"type,omitempty"`
	Exports      map[string]export `json:"exports,omitempty"`
	OS           []string          `json:"os,omitempty"`
	CPU          []string          `json:"cpu,omitempty"`
	Bin          map[string]string `json:"bin,omitempty"`
	Dependencies map[string]string `json:"optionalDependencies,omitempty"`
	Engines      map[string]string `json:"engines,omitempty"`
}

// export is a module of a package, with its types.
type export struct {
	Types   string `json:"types"`
	Default string `json:"default"`
}

func (r *release) manifest(name, about string) manifest {
	return manifest{Name: name, Version: r.version, Description: about, License: "Apache-2.0",
		Repository: "github:goassay/assay"}
}

// npmBinary writes the npm package of a platform. npm installs it only where os and cpu fit.
func (r *release) npmBinary(b built) error {
	system, cpu, _ := strings.Cut(b.npm, "-")
	m := r.manifest("assay-chat-"+b.npm, "The binary of assay-chat for "+b.npm)
	m.OS, m.CPU = []string{system}, []string{cpu}
	return r.npm(m, file{b.binary(), b.text, 0o755})
}

// npmLauncher writes the npm package that people name: it depends on those of all platforms, of
// which npm installs one.
func (r *release) npmLauncher() error {
	m := r.manifest("assay-chat", "Tests what a chat template really does")
	m.Bin = map[string]string{"assay": "assay.js", "assay-chat": "assay.js"}
	m.Engines = map[string]string{"node": ">=18"}
	m.Dependencies = map[string]string{}
	for _, p := range platforms {
		m.Dependencies["assay-chat-"+p.npm] = r.version
	}
	files, err := r.files("ci/package/npm", 0o755, "assay.js", "README.md")
	if err != nil {
		return err
	}
	return r.npm(m, files...)
}

// npmModule writes the npm package of the engine in WebAssembly, for browsers and servers.
func (r *release) npmModule() error {
	m := r.manifest("assay-chat-wasm", "Prompts, grammars and streaming parsers by a chat template")
	m.Type, m.Engines = "module", map[string]string{"node": ">=18"}
	m.Exports = map[string]export{".": {"./index.d.ts", "./index.js"}}
	files, err := r.files("ci/package/npm/module", 0o644, "index.js", "index.d.ts", "README.md")
	engine, engineErr := r.webAssembly("./cmd/module")
	if err := errors.Join(err, engineErr); err != nil {
		return err
	}
	return r.npm(m, append(files, engine...)...)
}

func (r *release) npm(m manifest, files ...file) error {
	about, err := json.MarshalIndent(m, "", "  ")
	licences, licencesErr := r.files("", 0o644, "LICENSE", "NOTICE")
	if err := errors.Join(err, licencesErr); err != nil {
		return err
	}
	all := slices.Concat([]file{{"package.json", append(about, '\n'), 0o644}}, files, licences)
	return r.writeTar(m.Name+"-"+m.Version+".tgz", under("package", all))
}
