package history

import (
	"strings"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/report"
)

// HistoryRewritten is the rule A020: a turn is rendered differently once another one follows it.
var HistoryRewritten = &probe.Rule{
	Rule: rule.Rule{
		ID: "A020", Name: "history-rewritten", Severity: rule.Warning, Harm: rule.Changed,
		Short: "A message is written differently once another one follows it.",
		Damage: "Every turn changes the prompt near its start; caches miss and long conversations " +
			"crawl.",
		Fix: "Render a turn the same wherever it stands; let the client leave reasoning out if " +
			"it is not wanted.",
	},
	Group: probe.GroupLint,
	Find:  checkRewritten,
}

func checkRewritten(s *probe.Subject, find probe.Finder) {
	for _, c := range [...]struct {
		name   string
		answer ordered.Value
	}{{"an answer", sample.Answer}, {"an answer with reasoning", sample.Thinking}} {
		last, err1 := s.Fitted(sample.Talk(sample.User, c.answer), false, false)
		then, err2 := s.Fitted(sample.Talk(sample.User, c.answer, sample.LaterUser), false, true)
		if !probe.Judged(find, err1, err2) || strings.HasPrefix(then.Text, last.Text) {
			continue
		}
		at := report.Parting(last.Text, then.Text)
		if at >= strings.LastIndex(last.Text, "ANSWERNEEDLE")+len("ANSWERNEEDLE") {
			continue // only the end of the turn changes
		}
		find(last.At(at), "%s is rewritten once a question follows: engines must read it "+
			"anew\n%s", c.name, report.Sides("last", last.Text, "then", then.Text))
		return
	}
}
