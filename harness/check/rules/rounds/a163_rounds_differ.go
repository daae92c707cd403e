package rounds

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/fact/round"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// RoundsDiffer is the rule A163: the second round of a conversation, or the second item of a list,
// is written otherwise than the first, though both have the same form.
var RoundsDiffer = &probe.Rule{
	Rule: rule.Rule{
		ID: "A163", Name: "rounds-differ", Severity: rule.Warning, Harm: rule.Changed,
		Short: "The second round of a conversation, or the second item of a list, is written " +
			"differently from the first.",
		Damage: "A flag of the first round is never set back: from the second on tool calls lack " +
			"their opening marker, or user messages their header.",
		Fix: "Set the state back where a round ends, or decide by the messages next to it.",
	},
	Supersedes: []string{"A209"}, // a flag that is not set back shows in both
	Find:       checkRoundsDiffer,
}

func checkRoundsDiffer(s *probe.Subject, find probe.Finder) {
	var all []round.Difference
	for _, d := range round.Find(s.Template.ChatTemplate()) {
		if !slices.ContainsFunc(all, func(o round.Difference) bool {
			return o.First == d.First && o.Second == d.Second
		}) {
			all = append(all, d)
		}
	}
	const most = 48 // bytes tell the two apart
	for _, d := range all {
		prompt, err := s.Render(d.Input)
		if err != nil {
			continue // it rendered a moment ago
		}
		same := strings.LastIndexAny(source.CommonPrefix(d.First, d.Second), "\n>") + 1
		at := d.Off + same
		find(prompt.Instead(at, d.First[same:], prompt.At(at)), "before %[2]q the second round "+
			"writes %[1]q, where the first one writes %[3]q\nrounds of: %[4]s",
			source.Head(d.Second[same:], most), d.After, source.Head(d.First[same:], most), d.In)
	}
}
