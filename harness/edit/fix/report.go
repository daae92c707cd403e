package fix

import (
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/rule"
)

// Report is the result for a template, for programs.
type Report struct {
	Template string           `json:"template"`
	Patches  []ReportedPatch  `json:"patches"`
	Left     []ReportedReason `json:"left"`               // the faults that are not mended
	Errors   []ReportedError  `json:"errors"`             // the other errors of the check
	Unjudged string           `json:"unjudged,omitempty"` // why not all of it was looked at
}

// ReportedPatch is a patch with its diff.
type ReportedPatch struct {
	Kind     Kind     `json:"kind"`
	Gone     []string `json:"gone"`     // ids of the rules that find less
	Findings []Gone   `json:"findings"` // those that it does away with
	Diff     string   `json:"diff"`     // unified
	Text     string   `json:"text"`     // the template with it and those before it
}

// ReportedError is an error of the check.
type ReportedError struct {
	Rule  string     `json:"rule"`
	Place rule.Place `json:"place"`
	Text  string     `json:"text"` // its first line
}

// ReportedReason is a fault that is not mended, with the reason.
type ReportedReason struct {
	Kind   Kind       `json:"kind"`
	Place  rule.Place `json:"place"`
	Reason string     `json:"reason"`
}

// maxText bounds a text of a report, in bytes: some repeat a stranger's.
const maxText = 4 << 10

// Report returns the result for programs.
func (m *Mended) Report() Report {
	r := Report{Template: m.Source.Name, Patches: []ReportedPatch{}, Left: []ReportedReason{},
		Errors: []ReportedError{}}
	for _, p := range m.Patches {
		r.Patches = append(r.Patches, ReportedPatch{p.Kind, p.Rules(), p.Gone,
			p.Diff(m.Source.Name), p.After})
	}
	for _, l := range m.Left {
		l.Reason = source.Cut(l.Reason, maxText)
		r.Left = append(r.Left, ReportedReason(l))
	}
	for _, res := range m.Rest {
		res.Place.Excerpt = ""
		r.Errors = append(r.Errors, ReportedError{res.Rule, res.Place,
			source.Cut(firstLine(res.Text), maxText)})
	}
	if m.Unjudged != nil {
		r.Unjudged = source.Cut(m.Unjudged.Error(), maxText)
	}
	return r
}
