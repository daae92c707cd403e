package content

import (
	"strings"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/report"
)

// TypedContentPrinted is the rule A030: content that comes as a list of parts is printed as a list.
var TypedContentPrinted = &probe.Rule{
	Rule: rule.Rule{
		ID: "A030", Name: "typed-content-printed", Severity: rule.Warning, Harm: rule.Changed,
		Short:  "Content that comes as a list of parts is printed as a list.",
		Damage: "The model reads [{'type': 'text', ...}] instead of the user's text.",
		Fix:    "Loop over the parts if content is not a string.",
	},
	Group: probe.GroupLint,
	Find:  checkTyped,
}

func checkTyped(s *probe.Subject, find probe.Finder) {
	prompt, err := s.Raw(sample.Talk(sample.UserInParts), false)
	if err == nil && prompt.Has("USERNEEDLE") && (prompt.Has("'type'") || prompt.Has(`"type"`)) {
		find(prompt.Of("USERNEEDLE"), "content that comes as a list of parts is printed as a "+
			"list, not as its text\nthe model sees: %s", prompt.Quote("USERNEEDLE"))
	}
	checkPartsPrinted(s, find)
}

// checkPartsPrinted looks for parts of content, images say, that are printed as values.
func checkPartsPrinted(s *probe.Subject, find probe.Finder) {
	if !s.Template.Caps().TypedContent {
		return // a list of parts is printed as a whole
	}
	for _, t := range prompts.All.Of(s) {
		if t.Err != nil {
			continue
		}
		at := 0
		for _, r := range t.Seen.Runs {
			if r.Role == jinja.Structure && prompts.MessageOf(r) >= 0 &&
				strings.Contains(r.Path, ".content[") && !strings.HasSuffix(r.Path, ".text") {
				find(t.At(at), "content that comes as a list of parts is printed as a list, "+
					"not as its text\nthe model sees: %s\nrequest: %s",
					report.Quote(t.Text, at), t.Name)
				return
			}
			at += r.Len
		}
	}
}
