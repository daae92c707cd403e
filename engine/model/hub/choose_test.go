package hub_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/goassay/assay/engine/model/hub"
)

func TestChoose(t *testing.T) {
	for name, c := range map[string]struct {
		files, want string // separated by spaces
		chosen      string
		says        string // of the error
	}{
		"the only one":              {"README.md x.gguf", "", "x.gguf", ""},
		"the only one, in capitals": {"X.GGUF", "", "X.GGUF", ""},
		"the convention":            {"m-Q8_0.gguf m-Q4_K_M.gguf m-Q5_K_M.gguf", "", "m-Q4_K_M.gguf", ""},
		"the convention, in small":  {"m.q8_0.gguf m.q4_k_m.gguf", "", "m.q4_k_m.gguf", ""},
		"the first fallback": {"m-Q2_K.gguf m-Q5_K_M.gguf m-Q4_0.gguf", "",
			"m-Q5_K_M.gguf", ""},
		"the last fallback": {"m-Q2_K.gguf m-F16.gguf", "", "m-Q2_K.gguf", ""},
		"repacked is not plain": {"m-Q4_0_4_4.gguf m-Q4_0.gguf m-F16.gguf", "",
			"m-Q4_0.gguf", ""},
		"large is not plain":         {"m-Q6_K_L.gguf m-Q6_K.gguf", "", "m-Q6_K.gguf", ""},
		"at least something like it": {"m-Q6_K_L.gguf m-F16.gguf", "", "m-Q6_K_L.gguf", ""},
		"another kind is none": {"m-IQ4_XS.gguf m-IQ3_M.gguf", "", "",
			"2 model files, and none is Q4_K_M"},
		"projectors aside": {"mmproj-m-Q4_K_M.gguf m-Q4_K_M.gguf", "", "m-Q4_K_M.gguf",
			""},
		"projectors and matrices aside": {"mmproj-F16.gguf imatrix.gguf m-F16.gguf", "", "m-F16.gguf", ""},
		"nothing but a projector":       {"mmproj-F16.gguf", "", "mmproj-F16.gguf", ""},
		"a projector, asked for": {"mmproj-F16.gguf m-F16.gguf", "mmproj-F16.gguf",
			"mmproj-F16.gguf", ""},
		"a word with lora in it": {"explora-F16.gguf", "", "explora-F16.gguf", ""},
		"in two folders":         {"a/m-Q4_K_M.gguf b/m-Q4_K_M.gguf", "", "", "2 files fit"},
		"by folder and name": {"a/m-Q4_K_M.gguf b/m-Q4_K_M.gguf", "b/m-Q4_K_M.gguf",
			"b/m-Q4_K_M.gguf", ""},
		"by quantisation":               {"m-Q8_0.gguf m-Q4_K_M.gguf", "q8_0", "m-Q8_0.gguf", ""},
		"by a quantisation that is not": {"m-Q8_0.gguf m-Q4_K_M.gguf", "Q3_K_S", "", `no file or quantisation "Q3_K_S"`},
		"by a pattern that is none":     {"m-Q8_0.gguf m-Q4_K_M.gguf", ".*", "", `no file or quantisation ".*"`},
		"all parts in order":            {"m-00002-of-00003.gguf m-00001-of-00003.gguf m-00003-of-00003.gguf", "", "m-00001-of-00003.gguf m-00002-of-00003.gguf m-00003-of-00003.gguf", ""},
		"all parts by any":              {"m-00001-of-00002.gguf m-00002-of-00002.gguf x.gguf", "m-00002-of-00002.gguf", "m-00001-of-00002.gguf m-00002-of-00002.gguf", ""},
		"parts of a quantisation":       {"q/m-Q8_0-00001-of-00002.gguf q/m-Q8_0-00002-of-00002.gguf m-Q2_K.gguf", "Q8_0", "q/m-Q8_0-00001-of-00002.gguf q/m-Q8_0-00002-of-00002.gguf", ""},
		"a part is missing":             {"m-00001-of-00003.gguf m-00003-of-00003.gguf", "", "", "part 2 of 3, m-00002-of-00003.gguf, is missing"},
		"a part of none":                {"m-00001-of-00000.gguf", "", "", "part of none"},
		"a part of one":                 {"m-00001-of-00001.gguf", "", "m-00001-of-00001.gguf", ""},
		"a part beyond the end":         {"m-00009-of-00001.gguf", "", "", "missing"},
		"no model": {"README.md config.json", "", "",
			"no .gguf file at this revision"},
		"weights of another kind": {"model.safetensors", "", "",
			"look for a repository with GGUF files"},
		"a split one " +
			"and a whole one": {"m-Q4_K_M.gguf m-Q4_K_M-00001-of-00002.gguf m-Q4_K_M-00002-of-00002.gguf", "", "", "m-Q4_K_M-00001-of-00002.gguf, 2 parts"},
		"many candidates are not all told": {manyFiles(50), "", "", "and 10 more"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &hub.Repo{ID: "o/m"}
			for _, name := range strings.Fields(c.files) {
				r.Files = append(r.Files, hub.File{Name: name, Size: -1})
			}
			files, err := r.Choose(c.want)
			var names []string
			for _, f := range files {
				names = append(names, f.Name)
			}
			if got := strings.Join(names, " "); got != c.chosen {
				t.Errorf("chose %q, want %q", got, c.chosen)
			}
			if c.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantError(t, err, nil, c.says)
			if !errors.Is(err, hub.ErrChoice) && !errors.Is(err, hub.ErrNotFound) {
				t.Errorf("%v is of no kind", err)
			}
		})
	}
}

func manyFiles(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(" m-" + strings.Repeat("i", i+1) + ".gguf")
	}
	return b.String()
}

// TestChooseOfMany chooses of as many files as a listing holds: parts of one model, and models with
// one part each. The work is in proportion, so that neither takes a second.
func TestChooseOfMany(t *testing.T) {
	const n = 60_000
	var parts, models []hub.File
	for i := range n {
		parts = append(parts, hub.File{Name: fmt.Sprintf("m-%05d-of-%05d.gguf", i+1, n)})
		models = append(models, hub.File{Name: fmt.Sprintf("m%d-00001-of-00001.gguf", i)})
	}
	start := time.Now()
	if all, err := (&hub.Repo{ID: "a/b", Files: parts}).Choose(""); err != nil || len(all) != n {
		t.Errorf("%d of %d parts: %v", len(all), n, err)
	}
	if _, err := (&hub.Repo{ID: "a/b", Files: models}).Choose(""); err == nil {
		t.Error("one of many models was chosen")
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}
