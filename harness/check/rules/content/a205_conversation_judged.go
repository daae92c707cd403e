package content

import (
	"github.com/goassay/assay/harness/check/fact/losses"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// ConversationJudged is the rule A205: the conversation stands in a task of the template's own, as
// that of a guard does; it is not judged as one that the model takes part in.
var ConversationJudged = &probe.Rule{
	Rule: rule.Rule{
		ID: "A205", Name: "conversation-judged", Severity: rule.Note, Harm: rule.Style,
		Short: "The messages are quoted in a task of the template's own; it is not judged as a " +
			"chat.",
		Damage: "None with a model that judges, classifies or translates what others said. A " +
			"model for chat takes its own messages for somebody else's.",
		Fix: "For chat, begin each assistant message of the history with the generation prompt, " +
			"and write no text of the template's own after the last message.",
	},
	Supersedes: []string{"A019", "A020", "A033", "A038", "A043", "A137", "A161"},
	Find: func(s *probe.Subject, find probe.Finder) {
		if losses.Judged.Of(s) {
			find(probe.Nowhere, "the messages are quoted inside a task that the template writes: "+
				"no template for chat")
		}
	},
}
