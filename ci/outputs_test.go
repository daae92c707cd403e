package ci

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/harness/testkit/command"
)

// outputs are the commands whose JSON programs read, by the names of the files of outputs that have
// its shape. Their arguments stand in a folder with the files of outputFiles.
var outputs = map[string][]string{
	"analyze":           {"analyze", "--json", "good.jinja"},
	"audit":             {"audit", "--format", "json", "."},
	"caps":              {"caps", "--json", "good.jinja"},
	"check":             {"check", "--format", "json", "--request", "bad.jinja"},
	"check-sarif":       {"check", "--format", "sarif", "--notes", "bad.jinja"},
	"coverage":          {"coverage", "--json", "good.jinja"},
	"diff":              {"diff", "--format", "json", "good.jinja", "bad.jinja"},
	"emit-capabilities": {"emit", "capabilities", "good.jinja"},
	"emit-format":       {"emit", "format", "good.jinja"},
	"inspect":           {"inspect", "--json", "good.jinja"},
	"parse":             {"parse", "--json", "--output", "answer.txt", "good.jinja"},
	"pipe":              {"pipe"},
	"render":            {"render", "--json", "good.jinja"},
	"render-spans":      {"render", "--spans", "good.jinja"},
	"verify":            {"verify", "--format", "json", "vectors.jsonl"},
}

const outputsFolder = "outputs"

// TestOutputs compares the shape of every output that programs read with the one that was accepted.
// A member that goes, or is of another kind, breaks programs: docs/changes.md has to say so, in a
// line with the name of the shape's file.
func TestOutputs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := map[string]string{
		"answer.txt": "<think>\nIt rains.\n</think>\n\nYes.<tool_call>\n{\"name\": \"get_weather\", " +
			"\"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>",
		"bad.jinja":     "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}",
		"good.jinja":    readFile(t, "../corpus/hermes/template.jinja"),
		"vectors.jsonl": `{"kind": "jinja", "id": "one", "template": "{{ 1 }}", "vars": {}, "want": "1"}` + "\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	changes := readFile(t, "../docs/changes.md")
	program := command.Path(t)
	for name, args := range outputs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(program, args...)
			cmd.Dir, cmd.Stdin = dir, strings.NewReader(`{"op": "describe", "id": 1}`+"\n")
			var errs bytes.Buffer
			cmd.Stderr = &errs
			out, err := cmd.Output()
			if len(out) == 0 {
				t.Fatalf("assay %s: %v\n%s", strings.Join(args, " "), err, errs.String())
			}
			shapes := map[string]bool{}
			for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
				var v any
				if err := d.Decode(&v); err != nil {
					t.Fatalf("%v in\n%s", err, out)
				}
				shape("", v, shapes)
			}
			accept(t, name, shapes, changes)
		})
	}
}

// accept compares the shape of an output with its file, or adds to that where the test updates.
func accept(t *testing.T, name string, shapes map[string]bool, changes string) {
	file := filepath.Join(outputsFolder, name+".txt")
	before, err := os.ReadFile(file)
	if err != nil && !*update {
		t.Fatalf("%v; `make update` writes it", err)
	}
	var lost []string
	known := map[string]bool{}
	for line := range strings.Lines(string(before)) {
		line = strings.TrimSpace(line)
		known[line] = true
		if !shapes[line] {
			lost = append(lost, line)
		}
	}
	if said := strings.Contains(changes, "`"+outputsFolder+"/"+name+".txt`"); len(lost) > 0 && !said {
		t.Errorf("the output of assay %s has no longer\n  %s\nThis breaks programs that read it: "+
			"say so in docs/changes.md in a line with `%s/%s.txt`, and run make update",
			strings.Join(outputs[name], " "), strings.Join(lost, "\n  "), outputsFolder, name)
		return
	}
	var lines []string
	for line := range shapes {
		lines = append(lines, line)
		if !known[line] && !*update {
			t.Errorf("the output of assay %s has a new member, %s; `make update` accepts it",
				strings.Join(outputs[name], " "), line)
		}
	}
	if *update {
		slices.Sort(lines)
		text := strings.Join(lines, "\n") + "\n"
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// shape adds the paths of a value with their kinds: "results[].place.line number".
func shape(path string, v any, into map[string]bool) {
	kind := "null"
	switch v := v.(type) {
	case map[string]any:
		kind = "object"
		for key, member := range v {
			if key == "request" { // a client's, which may be anything
				continue
			}
			shape(strings.TrimPrefix(path+"."+key, "."), member, into)
		}
	case []any:
		kind = "array"
		for _, item := range v {
			shape(path+"[]", item, into)
		}
	case string:
		kind = "string"
	case float64:
		kind = "number"
	case bool:
		kind = "boolean"
	}
	into[strings.TrimSpace(fmt.Sprintf("%s %s", path, kind))] = true
}
