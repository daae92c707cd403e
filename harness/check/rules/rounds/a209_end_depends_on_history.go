package rounds

import (
	"strings"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/fact/round"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// EndDependsOnHistory is the rule A209: what stands around the last messages of a conversation
// depends on those before them.
var EndDependsOnHistory = &probe.Rule{
	Rule: rule.Rule{
		ID: "A209", Name: "end-depends-on-history", Severity: rule.Warning, Harm: rule.Misread,
		Short: "The last messages of a conversation are framed differently, depending on what was " +
			"said long before.",
		Damage: "A flag that a tool message set is still set turns later: a message lacks its " +
			"header or its end, or the prompt asks for no answer.",
		Fix: "Set the flag back in every branch that ends what it stands for, or look at the " +
			"message before.",
	},
	Find: findEndDependsOnHistory,
}

func findEndDependsOnHistory(s *probe.Subject, find probe.Finder) {
	for _, f := range round.Framings(s.Template.ChatTemplate()) {
		prompt, err := s.Render(f.Input)
		if err != nil {
			continue // it rendered a moment ago
		}
		same := strings.LastIndexAny(source.CommonPrefix(f.First, f.Second), "\n>") + 1
		at := f.Off + same
		find(prompt.Instead(at, f.First[same:], prompt.At(min(at, len(prompt.Text)-1))),
			"after %s the prompt %s\n"+
				"between: %[1]s and %[3]s\nother request: %[4]s\n"+
				"harm: the model sees one kind of message in two forms",
			f.Before, unlike(f.Second[same:], f.First[same:], "another one that ends in the same "+
				"kinds of messages"), f.In, s.Told(f.Like))
	}
}
