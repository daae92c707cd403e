package script_test

import (
	"flag"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/script"
)

var (
	update  = flag.Bool("update", false, "rewrite the scripts' expectations")
	onError = flag.Bool("continue", false, "go on after a command that failed")
)

const dir = "../../../corpus"

// TestCorpus runs the corpus, a subtest for each template and script: -run
// TestCorpus/hermes/tools_one_call. -testwork keeps the scripts' folders and says where; it is
// testscript's own, since -work is the go command's.
func TestCorpus(t *testing.T) {
	corpus, err := families.Load(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	suite := script.Suite{Corpus: corpus, Dir: dir, Update: *update, Continue: *onError}
	if vendor := os.Getenv("ASSAY_VENDOR"); vendor != "" {
		suite.Vendor = os.DirFS(vendor)
	}
	for _, v := range suite.Variants() {
		t.Run(v.Name, func(t *testing.T) {
			src, err := suite.Source(t.Context(), v)
			if err != nil {
				t.Fatal(err)
			}
			must, known := suite.Known(v)
			if len(must.Family.Cases) > 0 {
				p, err := suite.Params(t.Context(), must, src, t.TempDir())
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
	results, err := suite.Results(t.Context(), known, src, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, res := range results {
		if res.Status != rule.Failed {
			t.Errorf("%s passes, but known.txt lists it as a failure; remove "+
				"it from the list", res.Name)
		}
	}
}

// FuzzRead reads any script: a script that is read has its files, and none of them is outside its
// folder.
func FuzzRead(f *testing.F) {
	f.Add("# a case\ntemplate a\nrequest r\nparse o m\n-- r --\n{}\n-- o --\nx\n-- m --\n{\"content\": \"x\"}\n")
	f.Add("template a\nexec sh\n-- ../x --\n")
	f.Add("[vendor] ! parse -cut o m\n\x00\n-- o --\n-- o --\n")
	f.Fuzz(func(t *testing.T, text string) {
		cases, err := script.Read(fstest.MapFS{"f/c.txtar": &fstest.MapFile{Data: []byte(text)}},
			"f/c.txtar")
		if err != nil {
			return
		}
		for _, c := range cases {
			if c.Name != "c" || !strings.Contains(text, c.Output) {
				t.Errorf("%q: %+v", text, c)
			}
		}
	})
}
