package content

import (
	"github.com/goassay/assay/harness/check/fact/losses"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// HistoryUnwritten is the rule A153: the template knows no tools, and writes only the last messages
// of a conversation.
var HistoryUnwritten = &probe.Rule{
	Rule: rule.Rule{
		ID: "A153", Name: "history-unwritten", Severity: rule.Warning, Harm: rule.Lost,
		Short: "The template takes no tools, and writes only the last messages.",
		Damage: "None with a model that judges or translates one text, as guards do. Any other " +
			"model answers without the messages before.",
		Fix: "Write every message. If the model reads one text only, refuse longer conversations " +
			"with `raise_exception`.",
	},
	Supersedes: []string{"A013", "A014", "A019", "A020", "A064"},
	Find:       checkHistory,
}

func checkHistory(s *probe.Subject, find probe.Finder) {
	if prompt, ok := losses.Forgotten(s); ok {
		find = probe.NoteIf(losses.Judged.Of(s), find)
		find(prompt.Near("USERNEEDLE"), "only the last messages reach the prompt: the first "+
			"user message and its answer are lost\nsent by: every client with "+
			"a conversation (a model that judges one text, as guards do, may mean it so)")
	}
}
