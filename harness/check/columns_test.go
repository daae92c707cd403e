package check_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/rules"
	"github.com/goassay/assay/harness/check/subject"
)

// columns is how wide our own words may be.
const columns = 100

// theirs matches what is not ours in the first line of a finding: what is quoted of a template or
// a prompt, and a path in a request.
var theirs = regexp.MustCompile(`"(?:\\.|[^"\\])*"|` + "`[^`]*`" + `|\w+\[\d+\][\w.\[\]]*`)

// failed matches our own words before the message of an error, which ends the line.
var failed = regexp.MustCompile(`((?:error|refused|rendered|is null|compile)[^:]*: ).*`)

// TestColumns finds no error or warning whose first line has more than a hundred columns of our own
// words, in the examples of the rules and, where ASSAY_HUB names the folder of the Hub's set, in a
// part of that. The lines below it are broken where they are printed.
func TestColumns(t *testing.T) {
	t.Parallel()
	const each = 40 // of the Hub's templates one in so many
	judge := func(name, text string) {
		for _, res := range rule.Join(check.Template(subject.New(name, text), check.Options{})) {
			line, _, _ := strings.Cut(res.Text, "\n")
			if ours := failed.ReplaceAllString(
				theirs.ReplaceAllString(line, `""`), "$1"); res.IsFinding() &&
				res.Level() > rule.Note && source.Cells(ours) > columns {
				t.Errorf("%s: %s: %d columns: %s", name, res.Rule, source.Cells(ours), ours)
			}
		}
	}
	names, err := fs.Glob(rules.Files, "*/testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d examples, %v", len(names), err)
	}
	for _, name := range names {
		text, err := rules.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if e, err := rule.ParseExample(text); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !e.IsModel() {
			judge(name, e.Bad[0].Text)
		}
	}
	hub, _ := filepath.Glob(filepath.Join(os.Getenv("ASSAY_HUB"), "*.jinja"))
	for i := 0; os.Getenv("ASSAY_HUB") != "" && i < len(hub); i += each {
		text, err := os.ReadFile(hub[i])
		if err != nil {
			t.Fatal(err)
		}
		judge(filepath.Base(hub[i]), string(text))
	}
}
