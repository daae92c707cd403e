package script_test

import (
	"flag"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/script"
	"github.com/goassay/assay/harness/subject"
)

var (
	update  = flag.Bool("update", false, "rewrite what the scripts expect")
	onError = flag.Bool("continue", false, "go on after a command that failed")
)

const dir = "../../corpus"

// TestCorpus runs the corpus, a subtest for each template and script: -run TestCorpus/hermes/tools_one_call. -testwork keeps
// the scripts' folders and says where; it is testscript's own, since -work is the go command's.
func TestCorpus(t *testing.T) {
	corpus, err := subject.Load(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	suite := script.Suite{Corpus: corpus, Dir: dir, Update: *update, Continue: *onError, Model: os.Getenv("ASSAY_MODEL")}
	if vendor := os.Getenv("ASSAY_VENDOR"); vendor != "" {
		suite.Vendor = os.DirFS(vendor)
	}
	for _, v := range suite.Variants() {
		t.Run(v.Name, func(t *testing.T) {
			src, err := suite.Source(v)
			if err != nil {
				t.Fatal(err)
			}
			must, known := suite.Known(v)
			if len(must.Family.Cases) > 0 {
				p, err := suite.Params(must, src)
				if err != nil {
					t.Fatal(err)
				}
				testscript.Run(t, p)
			}
			mustFail(t, &suite, known, src)
		})
	}
}

// mustFail demands that cases which known.txt lists fail.
func mustFail(t *testing.T, suite *script.Suite, known script.Variant, src subject.Source) {
	if len(known.Family.Cases) == 0 {
		return
	}
	results, err := suite.Results(known, src, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, res := range results {
		if res.Status != report.Failed {
			t.Errorf("%s passes, but known.txt lists it as a failure; remove it from the list", res.Name)
		}
	}
}
