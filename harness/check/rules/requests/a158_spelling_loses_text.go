package requests

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/fact/variant"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/view"
	"github.com/goassay/assay/harness/conversation/sent"
)

// SpellingLosesText is the rule A158: in one spelling of a request that clients send a text of it
// is lost or doubled, though in a plainer one that says the same it is there once.
var SpellingLosesText = &probe.Rule{
	Rule: rule.Rule{
		ID: "A158", Name: "spelling-loses-text", Severity: rule.Error, Harm: rule.Lost,
		Short: "Text is lost or doubled in one form of a request, though not in a plainer one " +
			"with the same meaning.",
		Damage: "A message that comes back with `\"tool_calls\": []` vanishes from the history: " +
			"the model does not know what it said.",
		Fix: "Decide by the value of a member, not by its presence.",
	},
	Find: checkSpellingLosesText,
}

func checkSpellingLosesText(s *probe.Subject, find probe.Finder) {
	for _, c := range causes(s, func(f variant.Fault) bool {
		return (f.Kind == variant.Lost || f.Kind == variant.Doubled) && !late(f) &&
			f.In.Relation != sent.Inline && !asWithTools(s, f)
	}) {
		f := c.faults[0]
		happens := "is lost"
		switch {
		case f.Kind == variant.Doubled && strings.Contains(f.Want, f.Text):
			happens = "is written twice"
		case f.Kind == variant.Doubled:
			happens = "is written as it came"
		}
		at := c.at
		if slices.ContainsFunc(f.In.Sent.At("messages").Items(), func(m ordered.Value) bool {
			return m.At("content").Kind() == ordered.Array
		}) {
			at = at.Mended("Write the text of every content part, as that of a string.")
		}
		find(at, "for %s, the text %q %s\n%swho: %s\n%s", f.In.Name, f.Text, happens,
			excerpts(f), view.Names(f.Views), c.others())
	}
}

// asWithTools reports whether a list of no tools does to a text what tools do: so the empty
// list is not the cause.
func asWithTools(s *probe.Subject, f variant.Fault) bool {
	if sent := f.In.Sent.At("tools"); sent.Kind() != ordered.Array || len(sent.Items()) > 0 {
		return false
	}
	in := f.Input
	in.Kwargs = slices.DeleteFunc(slices.Clone(in.Kwargs),
		func(m ordered.Member) bool { return m.Key == "tools" })
	in.Tools = s.Tools()
	r, err := s.Render(in)
	return err == nil && strings.Count(r.Text, f.Text) == strings.Count(f.Got, f.Text)
}
