package advisory_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/harness/hub/advisory"
)

// The programs around the functions of docs/advisories.md: each reads {"index": .., "texts": [..]}
// and writes the ids that the function finds for each text.
const (
	inPython = "\nimport json, sys\nasked = json.load(sys.stdin)\n" +
		"print(json.dumps([known(t, asked['index']) for t in asked['texts']]))\n"
	inJS = "\nimport { readFileSync } from \"node:fs\";\n" +
		"const asked = JSON.parse(readFileSync(0));\n" +
		"console.log(JSON.stringify(asked.texts.map((t) => known(t, asked.index))));\n"
	beforeGo = "package main\n\nimport (\n\"crypto/sha256\"\n\"encoding/json\"\n\"fmt\"\n\"os\"\n" +
		"\"slices\"\n\"strings\"\n)\n\n"
	inGo = "\nfunc main() {\nvar asked struct {\nIndex struct{ SHA256 map[string][]string }\n" +
		"Texts []string\n}\nif err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {\n" +
		"panic(err)\n}\nall := [][]string{}\nfor _, t := range asked.Texts {\n" +
		"all = append(all, append([]string{}, known(t, asked.Index.SHA256)...))\n}\n" +
		"_ = json.NewEncoder(os.Stdout).Encode(all)\n}\n"
)

// TestDocs runs the functions of docs/advisories.md that look a text up: they find what the index
// does, and none has more than twenty lines.
func TestDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/advisories.md")
	if err != nil {
		t.Fatal(err)
	}
	const own = "{{ a }}\n{{ b }}"
	d := advisory.DigestsOf("\n" + own)
	index := &advisory.Index{Version: 1, IDs: map[string][]string{d.Exact: {"x"},
		d.Canonical: {"y", "x"}}}
	texts := []string{own, "\n" + own, "\ufeff" + own + "\r\n", "{{ a }}\r\r{{ b }} \t",
		"{{ a }}\n \t\n{{ b }}\n\n", "{{ a }}{{ b }}", "", "{{ ä }}\u2028"}
	var want [][]string
	for _, text := range texts {
		want = append(want, append([]string{}, index.Lookup(text)...))
	}
	asked, err := json.Marshal(map[string]any{"index": index, "texts": texts})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		fence, file, before, after string
		run                        []string
	}{
		{"python", "known.py", "", inPython, []string{"python3"}},
		{"js", "known.mjs", "", inJS, []string{"node"}},
		{"go", "known.go", beforeGo, inGo, []string{"go", "run"}},
	} {
		t.Run(test.fence, func(t *testing.T) {
			t.Parallel()
			_, code, there := strings.Cut(string(page), "\n```"+test.fence+"\n")
			code, _, _ = strings.Cut(code, "\n```\n")
			if n := strings.Count(code, "\n") + 1; !there || n > 20 {
				t.Fatalf("there is no function of twenty lines, but of %d", n)
			}
			if _, err := exec.LookPath(test.run[0]); err != nil {
				t.Skip(err)
			}
			file := filepath.Join(t.TempDir(), test.file)
			text := test.before + code + test.after
			if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(test.run[0], append(test.run[1:], file)...)
			cmd.Stdin = strings.NewReader(string(asked))
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			var got [][]string
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(got, want, slices.Equal) {
				t.Errorf("it finds %v, want %v", got, want)
			}
		})
	}
}
