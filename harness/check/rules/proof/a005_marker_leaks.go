package proof

import (
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/stream"
	"github.com/goassay/assay/engine/verify"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/corpus/split"
)

// MarkerLeaks is the rule A005: a marker of the format shows up in the content or the reasoning of
// a message.
var MarkerLeaks = &probe.Rule{
	Rule: rule.Rule{
		ID: "A005", Name: "marker-leaks", Severity: rule.Error, Harm: rule.Misread,
		Short:  "A marker such as `<think>` is left in the content or the reasoning.",
		Damage: "Users read `<think>` or `[TOOL_CALLS]` in what the assistant says.",
		Fix: "`assay analyze` lists the markers. One of them is written in several ways, or only " +
			"sometimes: write it always, and in one way.",
	},
	Group: probe.GroupLeak,
	Find:  checkLeaks,
}

// shortestMarker is the number of bytes from which a marker is distinctive enough for its leak to
// mean something.
const shortestMarker = 4

func checkLeaks(s *probe.Subject, find probe.Finder) {
	markers := distinctive(s.Template.Analysis().Format)
	err := turns(s, func(shape verify.Shape, plan *codegen.Output) {
		message := split.Feed(stream.NewParser(plan), shape.Turn, nil, chat.FinishStop).Message
		for _, marker := range markers {
			if strings.Contains(message.Content, marker) ||
				strings.Contains(message.Reasoning, marker) {
				find(s.Of(marker), "the marker %[2]q is left in the text that users read\nthe "+
					"assistant message has %[1]s, and is read as: %[3]s", shape.Name, marker,
					message.Value())
			}
		}
	})
	if err != nil {
		find(probe.Nowhere, "no parser can be made for assistant messages: %w", err)
	}
}

// distinctive returns the markers of a format that no ordinary text contains.
func distinctive(f format.Format) []string {
	var texts []string
	add := func(markers ...format.Marker) {
		for _, m := range markers {
			if len(m.Text) >= shortestMarker {
				texts = append(texts, m.Text)
			}
		}
	}
	add(f.Reasoning.Open, f.Reasoning.Close, f.Content.Open, f.Content.Close)
	for _, c := range f.Calls {
		if !c.Tentative {
			add(c.Section.Open, c.Section.Close, c.Call.Open, c.Call.Close)
		}
	}
	for _, r := range f.Routes {
		add(r.Start)
		add(r.Close...)
	}
	return texts
}
