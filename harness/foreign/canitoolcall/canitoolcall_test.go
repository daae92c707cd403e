package canitoolcall_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/script"
	"github.com/goassay/assay/harness/foreign/canitoolcall"
	"github.com/goassay/assay/harness/foreign/vector"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

// TestRecords writes the cases of every family as records, and has package vector read each of them
// by the family's template: the two agree on the meaning of a record.
func TestRecords(t *testing.T) {
	loaded, err := families.Load(corpus.FS)
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	templates := fstest.MapFS{}
	written := 0
	for i := range loaded.Families {
		f := &loaded.Families[i]
		if !f.Own || len(f.Cases) == 0 {
			continue
		}
		text, err := loaded.Text(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		tm, err := subject.New(f.Name, text).Compile()
		if err != nil {
			t.Fatal(err)
		}
		templates[f.Name+".jinja"] = &fstest.MapFile{Data: []byte(text)}
		w := canitoolcall.NewWriter(f.Name, tm,
			canitoolcall.Model{Repo: "Owner/" + f.Name, Revision: commit},
			canitoolcall.Source{URL: "https://example.com/corpus", Revision: "1"})
		about, err := w.Family(f.About)
		if err != nil || about.At("slug").Text() != f.Name ||
			len(about.At("reference_models").Items()) != 1 {
			t.Errorf("%s: %v, %s", f.Name, err, about)
		}
		before := written
		for _, file := range f.Cases {
			cases, err := script.Read(loaded.FS, file)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range cases {
				record, err := w.Record(c)
				if err != nil {
					continue
				}
				for _, name := range []string{"source_url", "revision", "license", "attribution",
					"template_sha256"} {
					if record.At("provenance", name).Text() == "" {
						t.Errorf("%s names no %s", record.At("id").Text(), name)
					}
				}
				fmt.Fprintln(&lines, record)
				written++
			}
		}
		if written == before {
			t.Errorf("%s: no case has a record", f.Name)
		}
	}
	v := &vector.Verifier{Templates: vector.NewTemplates(templates)}
	in := vector.NewReader("records.jsonl", strings.NewReader(lines.String()))
	read := 0
	if err := v.Run(t.Context(), in.Next, func(r rule.Result) {
		if read++; r.Status != rule.Passed {
			t.Errorf("%s: %s", r.Name, r.Text)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if read != written || read < 600 {
		t.Errorf("%d records of %d are read", read, written)
	}
}

func TestParseModel(t *testing.T) {
	for _, tt := range []struct{ text, family, wrong string }{
		{"hermes=Owner/Name@" + commit, "hermes", ""},
		{"hermes=Owner/Name", "", `the commit "" is not one of 40 hexadecimal digits`},
		{"hermes=Owner/Name@main", "", `the commit "main"`},
		{"hermes=Name@" + commit, "", "expected FAMILY=OWNER/NAME@COMMIT"},
		{"Owner/Name@" + commit, "", "expected FAMILY=OWNER/NAME@COMMIT"},
	} {
		family, m, err := canitoolcall.ParseModel(tt.text)
		switch {
		case tt.wrong == "" && (err != nil || family != tt.family || m.Repo != "Owner/Name" ||
			m.Revision != commit):
			t.Errorf("%s: %s %+v, %v", tt.text, family, m, err)
		case tt.wrong != "" && (err == nil || !strings.Contains(err.Error(), tt.wrong)):
			t.Errorf("%s: %v, want %q", tt.text, err, tt.wrong)
		}
	}
}
