package audit

import (
	"encoding/json"
	"io"

	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/hub/advisory"
)

// Report gathers what is known of several templates.
type Report struct {
	Results []rule.Result
	book    *Book
	sources []scanned
}

// scanned is a template in the list that osv-scanner's readers take.
type scanned struct {
	Source struct {
		Path string `json:"path"`
		Type string `json:"type"`
	} `json:"source"`
	Records []*advisory.Record `json:"vulnerabilities"`
}

// NewReport returns an empty report.
func NewReport(b *Book) *Report { return &Report{book: b} }

// Rules declares the records.
func (r *Report) Rules() []rule.Rule { return r.book.Rules() }

// Add adds the known faults of a template; none is a result that passed.
func (r *Report) Add(src subject.Source, known []Match) {
	one := scanned{Records: []*advisory.Record{}}
	one.Source.Path, one.Source.Type = src.Name, "chat-template"
	for _, m := range known {
		r.Results = append(r.Results, m.Result(src))
		one.Records = append(one.Records, m.Record)
	}
	if known == nil {
		r.Results = append(r.Results, rule.Result{Suite: src.Name, Group: "known",
			Name: "known-faults", Severity: rule.Error})
	}
	r.sources = append(r.sources, one)
}

// OSV writes the records found in each template, in the form of osv-scanner's results.
func (r *Report) OSV(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(map[string]any{"results": r.sources})
}
