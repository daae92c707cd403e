package relatives

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/families"
)

var update = flag.Bool("update", false, "rewrite the fingerprints of the families")

// TestFingerprints makes those of all families anew, and compares them with the file.
func TestFingerprints(t *testing.T) {
	const file = "../../../corpus/" + File
	made := fingerprints(t)
	if *update {
		if err := os.WriteFile(file, made, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(made, kept) {
		t.Errorf("corpus/%s is not up to date; `make update` rewrites it", File)
	}
}

// fingerprints makes the file: a line for each aspect.
func fingerprints(t *testing.T) []byte {
	aspects := map[string]map[string]string{}
	for _, own := range families.Owned() {
		s := probe.New(subject.New(own.Name, own.Template), probe.Options{}, nil)
		if s.Err != nil {
			t.Fatal(s.Err)
		}
		for aspect, value := range take(s) {
			if aspects[aspect] == nil {
				aspects[aspect] = map[string]string{}
			}
			aspects[aspect][value] += own.Name + " "
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(aspects); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
