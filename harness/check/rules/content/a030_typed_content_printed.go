package content

import (
	"strings"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// TypedContentPrinted is the rule A030: content that comes as a list of parts is printed as a list.
var TypedContentPrinted = &probe.Rule{
	Rule: rule.Rule{
		ID: "A030", Name: "typed-content-printed", Severity: rule.Warning, Harm: rule.Changed,
		Short:  "Content that is a list of parts is printed as a list.",
		Damage: "The model reads `[{'type': 'text', ...}]` instead of the user's text.",
		Fix: "Where content is not a string, write the text of each part: `{% for part in " +
			"message.content %}{{ part.text }}{% endfor %}`.",
	},
	Find: checkTyped,
}

// checkTyped tries a message of each role in parts. Where parts of a question are neither printed
// nor known, engines make one text of them.
func checkTyped(s *probe.Subject, find probe.Finder) {
	all := []inParts{{"a user message", "USERNEEDLE", sample.Talk(sample.UserInParts)},
		{"a system message", "SYSTEMNEEDLE", sample.Talk(sample.InParts(sample.System), sample.User)},
		{"an assistant message", "ANSWERNEEDLE", sample.Talk(sample.User,
			sample.InParts(sample.Answer), sample.LaterUser)},
		{"a tool message", "RESULTNEEDLE", sample.Talk(sample.User, sample.CallTurn,
			sample.InParts(sample.Result))}}
	if _, printed := listPrinted(s, all[0]); !printed && !s.Template.Caps().TypedContent {
		return
	}
	if !checkListPrinted(s, find, all...) {
		checkPartsPrinted(s, find)
	}
}

// inParts is a conversation with a message in parts.
type inParts struct {
	of       string // what the message is
	needle   string
	messages []ordered.Value
}

// checkListPrinted reports whether a message that comes as a list of parts is printed as a list:
// one finding, with a line for each further message.
func checkListPrinted(s *probe.Subject, find probe.Finder, all ...inParts) bool {
	var first probe.Rendering
	text, needle := "", ""
	for _, c := range all {
		prompt, ok := listPrinted(s, c)
		switch {
		case !ok:
		case text == "":
			first, needle = prompt, c.needle
			text = "\n"
		default:
			text += "the same: the parts of " + c.of + "\n"
		}
	}
	if text == "" {
		return false
	}
	find, who := first.InParts(find, hasPart)
	find(first.Made(strings.Index(first.Text, needle)), "content that comes as a list of parts is "+
		"printed as a list, not as its text%s%s", text, strings.TrimPrefix(who, "\n"))
	return true
}

// hasPart reports whether a part is printed in a prompt as it came, in a list or alone.
func hasPart(prompt string, _ error) bool {
	return strings.Contains(prompt, "{'type': 'text'") || strings.Contains(prompt, `{"type": "text"`)
}

// listPrinted returns the prompt of a conversation, where its list of parts is printed as a list.
func listPrinted(s *probe.Subject, c inParts) (prompt probe.Rendering, ok bool) {
	prompt, err := s.Raw(c.messages, c.needle == "RESULTNEEDLE")
	if err != nil {
		return prompt, false // other rules are about it
	}
	at := strings.Index(prompt.Text, c.needle)
	if at < 0 {
		return prompt, false
	}
	before := prompt.Text[max(0, at-len("[{'type': 'text', 'text': '")):at]
	return prompt, strings.Contains(before, "'type'") || strings.Contains(before, `"type"`)
}

// checkPartsPrinted looks for parts of content, images say, that are printed as values.
func checkPartsPrinted(s *probe.Subject, find probe.Finder) {
	for t := range prompts.Rendered(s) {
		for at, r := range t.Seen.All() {
			if r.Role == jinja.Structure && prompts.MessageOf(r) >= 0 &&
				strings.Contains(r.Path, ".content[") && !strings.HasSuffix(r.Path, ".text") {
				// models of texts are sent no sounds
				find := probe.NoteIf(!strings.Contains(t.Text[at:at+r.Len], "image"), find)
				t.Show(s, find, at, "content that comes as a list of parts is printed as a "+
					"list, not as its text")
				return
			}
		}
	}
}
