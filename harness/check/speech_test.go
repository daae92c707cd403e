package check_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/testkit/share"
)

// ours matches what a finding must not have: a word of a probe, an offset in bytes, the internal
// name of a capability.
var ours = regexp.MustCompile(`NEEDLE|needle\b|\bVq|\bvq_|vqcall|vfy|\bbyte \d|supports_[a-z]+|\bCITY|SECONDCITY|\bRESULT(ONE|TWO|SIX)`)

// TestSpeech checks templates of the corpus and, where ASSAY_VENDOR and ASSAY_HUB name their
// folders, those of vendors and of the Hub: every finding is in the words of a template's author
// and says what to do, and none is an exception alone.
func TestSpeech(t *testing.T) {
	templates := map[string]string{}
	add := func(fsys fs.FS, pattern string) {
		names, err := fs.Glob(fsys, pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("no templates %s: %v", pattern, err)
		}
		for _, name := range names {
			text, err := fs.ReadFile(fsys, name)
			if err != nil {
				t.Fatal(err)
			}
			templates[filepath.ToSlash(name)] = string(text)
		}
	}
	add(corpus.FS, "*/template.jinja")
	for _, variable := range []string{"ASSAY_VENDOR", "ASSAY_HUB"} {
		if dir := os.Getenv(variable); dir != "" {
			add(os.DirFS(dir), "*.jinja")
		}
	}
	for name, text := range templates {
		if !share.Has(name, 8) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := subject.New(name, text)
			refusals := map[string]bool{}
			if tm, err := src.Compile(); err == nil {
				for _, c := range src.Grammar().Conversations {
					if _, err := tm.Render(c.Request); err != nil {
						refusals[message(err)] = true
					}
				}
			}
			for _, res := range check.Template(src, check.Options{}) {
				if res.Status == rule.Passed || res.Status == rule.Unjudged {
					continue
				}
				if found := ours.FindString(res.Text); found != "" {
					t.Errorf("%s has %q: %s", res.Rule, found, res.Text)
				}
				if !strings.Contains(res.Text, "\nhelp: ") {
					t.Errorf("%s does not say what to do: %s", res.Rule, res.Text)
				}
				if headline, _, _ := strings.Cut(res.Text, "\n"); refusals[headline] {
					t.Errorf("%s is an exception alone: %s", res.Rule, headline)
				}
			}
		})
	}
}

// message is the first line of an error, without its place.
func message(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	if at := regexp.MustCompile(`^\S+:\d+:\d+: `).FindString(line); at != "" {
		return line[len(at):]
	}
	return line
}
