package content

import (
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
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
	if checkListPrinted(s, find, sample.Talk(sample.UserInParts), "USERNEEDLE") ||
		!s.Template.Caps().TypedContent {
		return // engines make one text of the parts
	}
	if !checkRoles(s, find) {
		checkPartsPrinted(s, find)
	}
}

// checkRoles reports whether the parts of another role's content are printed.
func checkRoles(s *probe.Subject, find probe.Finder) bool {
	inParts := func(m ordered.Value) ordered.Value {
		return m.With("content", ordered.ArrayOf(chat.TextPart(m.At("content"))))
	}
	told := checkListPrinted(s, find, sample.Talk(inParts(sample.System), sample.User),
		"SYSTEMNEEDLE")
	answered := checkListPrinted(s, find, sample.Talk(sample.User, inParts(sample.Answer),
		sample.LaterUser), "ANSWERNEEDLE")
	returned := checkListPrinted(s, find, sample.Talk(sample.User, sample.CallTurn,
		inParts(sample.Result)), "RESULTNEEDLE")
	return told || answered || returned
}

// checkListPrinted reports whether a message that comes as a list of parts is printed as a list.
func checkListPrinted(s *probe.Subject, find probe.Finder, messages []ordered.Value,
	needle string) bool {
	result := needle == "RESULTNEEDLE"
	prompt, err := s.Raw(messages, result)
	if err != nil {
		return false // other rules are about it
	}
	at := strings.Index(prompt.Text, needle)
	if at < 0 {
		return false
	}
	before := prompt.Text[max(0, at-len("[{'type': 'text', 'text': '")):at]
	if !strings.Contains(before, "'type'") && (result || !strings.Contains(before, `"type"`)) {
		return false // a result that is no text may be written as JSON
	}
	find(prompt.Of(needle), "content that comes as a list of parts is printed as a list, not as its "+
		"text\nthe model sees: %s", prompt.Quote(needle))
	return true
}

// checkPartsPrinted looks for parts of content, images say, that are printed as values.
func checkPartsPrinted(s *probe.Subject, find probe.Finder) {
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
