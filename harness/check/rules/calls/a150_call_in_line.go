package calls

import (
	"strings"

	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/report"
)

// CallInLine is the rule A150: a call after another one begins a line, and a call after a text does
// not.
var CallInLine = &probe.Rule{
	Rule: rule.Rule{
		ID: "A150", Name: "call-in-line", Severity: rule.Note, Harm: rule.Style,
		Short: "A call after another one begins a line, and a call after a text does not.",
		Damage: "If the model was trained to begin each call on a line of its own, the history " +
			"shows it another form; if the line feed only parts calls, nothing.",
		Fix: "Write the line feed before the first call, too, where the message has a text; " +
			"leave it where the model was trained without it.",
	},
	Group: probe.GroupLint,
	Find:  checkBeside,
}

// checkBeside asks whether a line feed that stands between two calls stands between a text and the
// first one, too.
func checkBeside(s *probe.Subject, find probe.Finder) {
	if c := s.Template.Caps(); !c.ToolCalls || !c.ParallelToolCalls {
		return
	}
	t, err := prompts.Observe(s, sample.Talk(sample.User, sample.WithText(threeCalls,
		"ANSWERNEEDLE")), true, false)
	if err != nil {
		return
	}
	text, first := strings.LastIndex(t.Text, "ANSWERNEEDLE"), strings.Index(t.Text, "CITYONE")
	second := strings.Index(t.Text, "CITYTWO")
	if text < 0 || first < text || second < first {
		return
	}
	text += len("ANSWERNEEDLE")
	opener, between := t.Own()[text:first], t.Own()[first+len("CITYONE"):second]
	if bare := strings.TrimLeft(opener, " \n\x00"); bare != opener || bare == "" {
		return
	}
	if end, ok := strings.CutSuffix(between, opener); ok && strings.HasSuffix(end, "\n") {
		find(t.At(text), "a line break stands between two calls, and none between a text and "+
			"the call after it\nthe model sees: %s", report.Quote(t.Text, text))
	}
}
