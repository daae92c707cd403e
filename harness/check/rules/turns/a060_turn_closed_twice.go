package turns

import (
	"strings"

	"github.com/goassay/assay/harness/check/fact/boundary"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/conversation"
)

// TurnClosedTwice is the rule A060: two markers that end a turn stand right after each other.
var TurnClosedTwice = &probe.Rule{
	Rule: rule.Rule{
		ID: "A060", Name: "turn-closed-twice", Severity: rule.Error, Harm: rule.Doubled,
		Short:  "Two markers that end a turn follow each other.",
		Damage: "The model sees the end of a turn where none was open, and learns to write it.",
		Fix:    "Write the end of a turn in one place.",
	},
	Find: checkClosedOnce,
}

func checkClosedOnce(s *probe.Subject, find probe.Finder) {
	gaps := boundary.Gaps.Of(s)
	f, ok := boundary.FrameOf(s)
	if !prompts.Heard(s, find) || !ok {
		return
	}
	var twice boundary.Faults
	for _, g := range gaps {
		_, rest, _ := strings.Cut(g.Text, f.Closer)
		if strings.HasPrefix(strings.TrimSpace(rest), f.Closer) {
			twice.Add(g)
		}
	}
	for _, kind := range twice.Kinds {
		g := twice.Gaps[kind][0]
		_, at := g.Of(f.Closer)
		name := probe.Article(kind.String())
		if kind == conversation.None {
			name = "a message that the template adds itself"
		}
		g.In.Show(s, find, at, "%s is closed twice where %s follows",
			name, boundary.Followers(twice.Gaps[kind]))
	}
}
