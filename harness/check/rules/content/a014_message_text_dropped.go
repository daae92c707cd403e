package content

import (
	"slices"
	"strings"

	"github.com/goassay/assay/harness/check/fact/losses"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/conversation"
)

// MessageTextDropped is the rule A014: the text of a message in the history does not reach the
// prompt.
var MessageTextDropped = &probe.Rule{
	Rule: rule.Rule{
		ID: "A014", Name: "message-text-dropped", Severity: rule.Error, Harm: rule.Lost,
		Short:  "The content of a message in the history is left out of the prompt.",
		Damage: "The model answers a conversation that it has not seen whole.",
		Fix:    "Write the content of every message, whatever its role.",
	},
	Find: prompts.IfHeard(checkMessages),
}

// checkMessages looks for the texts of questions and answers. Beside an image a text counts only
// where the template knows parts.
func checkMessages(s *probe.Subject, find probe.Finder) {
	gone := losses.All.Of(s).Of(conversation.Question, conversation.Content)
	if !s.Template.Caps().TypedContent {
		gone = slices.DeleteFunc(gone,
			func(l losses.Lost) bool { return strings.HasSuffix(l.Path, ".text") })
	}
	losses.All.Of(s).FindLost(s, find, gone)
	all := losses.All.Of(s)
	all.FindLost(s, find, all.Of(conversation.Answer, conversation.Content))
}
