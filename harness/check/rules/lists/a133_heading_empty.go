package lists

import (
	"regexp"
	"strings"

	"github.com/goassay/assay/harness/check/fact/boundary"
	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/report"
)

// HeadingEmpty is the rule A133: a heading of the template's own has nothing below it.
var HeadingEmpty = &probe.Rule{
	Rule: rule.Rule{
		ID: "A133", Name: "heading-empty", Severity: rule.Warning, Harm: rule.Lost,
		Short:  "A heading that the template writes has nothing below it.",
		Damage: "The model is told about a part that is not there, and makes it up or asks for it.",
		Fix:    "Write the heading only where there is something to write below it.",
	},
	Find: checkHeadings,
}

// headingLine is a heading of Markdown on a line of its own; a sentence is none.
var headingLine = regexp.MustCompile(`(?m)^(#{1,6}) [A-Z][^\n.:;<>\x00]*\n\s*`)

// checkHeadings looks for headings before the first message that the end of a turn follows, or a
// heading of the same rank.
func checkHeadings(s *probe.Subject, find probe.Finder) {
	headers := boundary.Headers(s)
	for _, p := range prompts.Preambles(s) {
		found := headingLine.FindAllStringSubmatchIndex(p.Own, -1)
		for i, h := range found {
			rest := p.Own[h[1]:]
			rank := p.Own[h[2]:h[3]]
			next := i+1 < len(found) && found[i+1][0] == h[1]
			hollow := next && len(p.Own[found[i+1][2]:found[i+1][3]]) <= len(rank)
			if at, to, ok := markup.Next(rest, 0); ok && at == 0 {
				m, ok := markup.At(rest, at, to)
				hollow = hollow || ok && (m.Side == markup.Closing || headers[m.Key])
			}
			if hollow {
				find(p.In.At(h[2]), "nothing stands below the heading %s\nthe model sees: %s",
					probe.JSON(strings.TrimSpace(p.Own[h[0]:h[1]])), report.Quote(p.In.Text, h[1]))
				return
			}
		}
	}
}
