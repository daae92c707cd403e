package script_test

import (
	"os"
	"testing"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/formatjson"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/schema"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/script"
)

// TestFormatAsJSON reads every case with a parser made of the format alone, written as JSON and
// read back: the messages are those of the template's parser, and the document keeps its schema.
func TestFormatAsJSON(t *testing.T) {
	text, err := ordered.ParseString(formatjson.Schema)
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	corpus, err := families.Load(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	suite := script.Suite{Corpus: corpus}
	if vendor := os.Getenv("ASSAY_VENDOR"); vendor != "" {
		suite.Vendor = os.DirFS(vendor)
	}
	for _, v := range suite.Variants() {
		src, err := suite.Source(t.Context(), v)
		if err != nil {
			t.Fatal(err)
		}
		template, err := src.Compile()
		if err != nil {
			t.Fatal(err)
		}
		a := template.Analysis()
		written := formatjson.Write(formatjson.Document{Format: a.Format, Prefills: a.Prefills})
		if err := s.Validate(written); err != nil {
			t.Errorf("%s: the document breaks its schema: %v\n%s", v.Name, err, written)
		}
		again, err := ordered.ParseString(written.String())
		if err != nil {
			t.Fatal(err)
		}
		document, err := formatjson.Read(again)
		if err != nil {
			t.Fatalf("%s: %v\n%s", v.Name, err, written)
		}
		if got, want := document.Format.String(), a.Format.String(); got != want {
			t.Errorf("%s: the format is read as\n%s\nexpected\n%s", v.Name, got, want)
		}
		for _, file := range v.Family.Cases {
			cases, err := script.Read(corpus.FS, file)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range cases {
				if c.Parsed && c.Template == "" {
					sameAnswer(t, v.Name+" "+c.Name, template, document, c)
				}
			}
		}
	}
}

// sameAnswer compares how a template's parser and one made of the document read the output of a
// case.
func sameAnswer(t *testing.T, name string, template *engine.Template, d formatjson.Document,
	c families.Case) {
	t.Helper()
	r, err := chat.ParseRequest(c.Request)
	if err != nil {
		t.Fatal(err)
	}
	o := engine.PrepareOptions{Insist: true, Fallbacks: c.Fallbacks}
	plan, err := template.Prepare(r, o)
	if err != nil {
		return // a request that the template refuses needs no parser
	}
	prefill, err := plan.Prompt.Prefill()
	if err != nil {
		t.Fatal(err)
	}
	other, err := engine.PrepareFormat(d.Format, prefill, r, o)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	reason := c.Reason
	if reason == "" {
		reason = chat.FinishStop
	}
	want, got := plan.Parse(c.Output, reason), other.Parse(c.Output, reason)
	if want.Message.Value().String() != got.Message.Value().String() || want.Finish != got.Finish {
		t.Errorf("%s: the document's parser reads %s, the template's %s", name, got.Message.Value(),
			want.Message.Value())
	}
}
