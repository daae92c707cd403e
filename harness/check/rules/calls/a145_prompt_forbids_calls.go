package calls

import (
	"strings"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/report"
)

// PromptForbidsCalls is the rule A145: the generation prompt begins an answer in a way in which no
// call begins, though the request has tools.
var PromptForbidsCalls = &probe.Rule{
	Rule: rule.Rule{
		ID: "A145", Name: "prompt-forbids-calls", Severity: rule.Error, Harm: rule.Misread,
		Short:  "With tools, the generation prompt ends in text that no tool call can follow.",
		Damage: "The model writes text where it would have called a tool.",
		Fix:    "End the generation prompt before text that no message with tool_calls begins with.",
	},
	Find: checkCallsBegin,
}

// checkCallsBegin asks whether calls begin with the generation prompt where answers do. Reasoning
// that the prompt opens or closes need not be in the history.
func checkCallsBegin(s *probe.Subject, find probe.Finder) {
	if !s.Supports(find, probe.ReplaysCalls) || !s.Supports(find, probe.DescribesTools) {
		return
	}
	prompt, err := s.Fitted(sample.Talk(sample.User), true, true)
	if err != nil {
		return // A066 is about it
	}
	begin := func(turns ...ordered.Value) (some probe.Rendering, ok bool) {
		for _, turn := range turns {
			r, err := s.Fitted(sample.Talk(sample.User, turn), true, false)
			if err != nil {
				return r, true // nobody knows
			}
			if strings.HasPrefix(r.Text, prompt.Text) {
				return r, true
			}
			some = r
		}
		return some, false
	}
	if _, ok := begin(sample.Answer, sample.Thinking); !ok {
		return // A019 is about it
	}
	call, ok := begin(sample.CallTurn, sample.FullTurn(sample.Call),
		sample.CallTurn.With("reasoning_content",
			ordered.Str("REASONNEEDLE")), sample.CallTurn.With("content",
			ordered.Str("ANSWERNEEDLE")))
	if ok {
		return
	}
	at := report.Parting(call.Text, prompt.Text)
	rest := prompt.Text[at:]
	r := s.Template.Analysis().Format.Reasoning
	for _, marker := range []string{r.Open.Text, r.Close.Text} {
		if marker = strings.TrimSpace(marker); marker != "" && strings.Contains(rest, marker) {
			return
		}
	}
	if strings.TrimSpace(rest) == "" || at < strings.Index(prompt.Text, "USERNEEDLE") {
		return
	}
	find(prompt.At(at), "the prompt ends with text after which the model cannot call a tool\n"+
		"%s",
		report.Sides("call", call.Text, "prompt", prompt.Text))
}
