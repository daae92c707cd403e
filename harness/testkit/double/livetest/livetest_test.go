package livetest_test

import (
	"testing"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/serve/live"
	"github.com/goassay/assay/harness/serve/openai"
	"github.com/goassay/assay/harness/testkit/double/livetest"
)

// TestEveryFamily puts a right server of each family's template through the battery.
func TestEveryFamily(t *testing.T) {
	all, err := families.Load(corpus.FS)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all.Families {
		f := &all.Families[i]
		if !f.Own {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			text, err := all.Text(f.Name)
			if err != nil {
				t.Fatal(err)
			}
			tm, err := subject.New(f.Name, text).Compile()
			if err != nil {
				t.Fatal(err)
			}
			server := livetest.New(tm, livetest.Options{Source: text, Raw: true})
			defer server.Close()
			client, err := openai.New(server.URL, "", openai.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			s := &live.Server{Client: client, Model: livetest.Model, Template: tm, Raw: true,
				Max: 5000, MaxFree: 500}
			results, err := s.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range results {
				if r.Status != rule.Passed {
					t.Errorf("%s [%s]: %s", r.Name, r.Rule, r.Text)
				}
			}
		})
	}
}
