package rounds

import (
	"fmt"
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
	for _, d := range all {
		prompt, err := s.Render(d.Input)
		if err != nil {
			continue // it rendered a moment ago
		}
		same := strings.LastIndexAny(source.CommonPrefix(d.First, d.Second), "\n>") + 1
		at := d.Off + same
		find(prompt.Instead(at, d.First[same:], prompt.At(at)), "before %q the second round %s\n"+
			"rounds of: %s", d.After, unlike(d.Second[same:], d.First[same:], "the first one"), d.In)
	}
}

// unlike tells how a text departs from another one, which has a name, as the end of a sentence.
func unlike(text, other, name string) string {
	const most = 48 // bytes tell the two apart
	end := source.CommonSuffix(text, other)
	end = end[strings.IndexAny(end+"<", "<[\n"):]
	text, other = strings.TrimSuffix(text, end), strings.TrimSuffix(other, end)
	switch {
	case text == "":
		return fmt.Sprintf("lacks %q, which %s has", source.Head(other, most), name)
	case other == "":
		return fmt.Sprintf("has %q more than %s", source.Head(text, most), name)
	}
	return fmt.Sprintf("has %q in place of %q of %s", source.Head(text, most),
		source.Head(other, most), name)
}
