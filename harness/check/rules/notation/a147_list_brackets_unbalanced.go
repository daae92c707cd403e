package notation

import (
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// ListBracketsUnbalanced is the rule A147: a tool's description or a result opens brackets and does
// not close them, or closes more than it opens.
var ListBracketsUnbalanced = &probe.Rule{
	Rule: rule.Rule{
		ID: "A147", Name: "list-brackets-unbalanced", Severity: rule.Warning, Harm: rule.Glued,
		Short: "A tool's description or result opens brackets and does not close them, or closes " +
			"more than it opens.",
		Damage: "The model reads one tool, or one result, as a part of the one before.",
		Fix:    "Close each bracket; `tojson` on the whole value never forgets one.",
	},
	Supersedes: []string{"A152"},
	Find:       checkListsBalanced,
}

func checkListsBalanced(s *probe.Subject, find probe.Finder) {
	tools := sample.Tools()
	last := len(tools) - 1
	weigh(s, find, weighed{"a tool", chat.Request{Messages: sample.Talk(sample.User), Tools: tools},
		chat.Request{Messages: sample.Talk(sample.User), Tools: tools[:last]}, tools[last].Name})
	weigh(s, find, weighed{"a tool message",
		chat.Request{Messages: sample.Talk(sample.User, sample.CallTurn, sample.Result),
			Tools: tools},
		chat.Request{Messages: sample.Talk(sample.User, sample.CallTurn), Tools: tools},
		"RESULTNEEDLE"})
}
