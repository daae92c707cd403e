package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"strings"
)

// component is an entry of a CycloneDX list.
type component struct {
	Type     string              `json:"type"`
	Name     string              `json:"name"`
	Version  string              `json:"version"`
	Purl     string              `json:"purl"`
	Licences []map[string]string `json:"licenses,omitempty"`
}

// components writes the list of a binary's components (CycloneDX 1.6), as the linker recorded it.
func (r *release) components(b built) error {
	info, err := buildinfo.ReadFile(b.path)
	if err != nil {
		return err
	}
	notice, err := r.read("NOTICE")
	if err != nil {
		return err
	}
	licences := licencesOf(string(notice))
	list := []component{{Type: "library", Name: "std", Version: info.GoVersion,
		Purl:     "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"),
		Licences: []map[string]string{{"expression": "BSD-3-Clause"}}}}
	for _, m := range info.Deps {
		licence, known := licences[m.Path]
		if !known {
			return fmt.Errorf("%s is linked into the command, and NOTICE has no line for it", m.Path)
		}
		list = append(list, component{"library", m.Path, m.Version,
			"pkg:golang/" + m.Path + "@" + m.Version, []map[string]string{{"expression": licence}}})
	}
	text, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata": map[string]any{"component": component{"application", "assay", r.version,
			"pkg:golang/github.com/goassay/assay@v" + r.version,
			[]map[string]string{{"expression": "Apache-2.0"}}}},
		"components": list,
	}, "", "  ")
	if err != nil {
		return err
	}
	return r.write(fmt.Sprintf("%s_%s_%s_%s.cdx.json", b.name, r.version, b.os, b.arch),
		append(text, '\n'))
}

// licencesOf reads the table of NOTICE: a module and the ids of its licences.
func licencesOf(notice string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(notice) {
		fields := strings.Fields(line)
		if len(fields) < 2 || !strings.HasPrefix(line, "  ") || !strings.Contains(fields[0], ".") {
			continue
		}
		id := fields[1]
		if rest, more := strings.CutSuffix(id, ","); more {
			id = rest + " AND " + fields[2]
		}
		all[fields[0]] = id
	}
	return all
}
