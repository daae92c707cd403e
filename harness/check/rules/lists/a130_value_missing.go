package lists

import (
	"regexp"
	"slices"
	"strings"

	"github.com/goassay/assay/harness/check/fact/account"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/report"
)

// ValueMissing is the rule A130: the template writes a key of JSON and no value, or the members of
// a tool's description without the commas between them.
var ValueMissing = &probe.Rule{
	Rule: rule.Rule{
		ID: "A130", Name: "value-missing", Severity: rule.Warning, Harm: rule.Lost,
		Short: "The template writes a JSON key without a value, or the members of a tool's " +
			"description without the commas between them.",
		Damage: "The model reads text that no parser takes, and writes the same.",
		Fix: "Write the value with `tojson`, and null or an empty string where there is none; " +
			"write a comma before each member but the first that is there.",
	},
	Requires: []string{"A152"},
	Find:     checkValues,
}

// indented is a text in JSON, from its key on, that several spaces or a line feed of the template's
// own stand before.
var indented = regexp.MustCompile(`"[a-z_]+": "(\n| {2})[ \n]*\x00`)

// noValue are the texts of keys without a value.
var noValue = []string{`": }`, `": ,`, `":}`, `":,`, `": ]`}

func checkValues(s *probe.Subject, find probe.Finder) {
	for _, e := range account.Entries.Of(s) {
		if at, ok := e.Unparted(); ok {
			find(e.At(at), "a comma is missing, or follows an opening bracket, in the description "+
				"of a tool\nwith: %s\nthe model sees: %s", e.Name,
				report.Quote(e.Seen.String, at))
			break
		}
	}
	for t := range prompts.Rendered(s) {
		own := t.Own()
		if at := indented.FindStringIndex(own); at != nil {
			t.Show(s, find, at[1]-2, "a text within JSON begins with white space that the "+
				"template adds")
			return
		}
		for _, text := range noValue {
			if at := strings.Index(own, text); at >= 0 {
				if slices.ContainsFunc(s.Findings("A152"), func(f rule.Fault[probe.Where]) bool {
					return f.At.Off() == t.At(at).Off()
				}) {
					return // a value without quotes, of which nothing is left where it is empty
				}
				t.Show(s, find, at, "a JSON key is written without a value")
				return
			}
		}
	}
}
