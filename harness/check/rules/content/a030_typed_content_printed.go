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
		Short:  "Content that comes as a list of parts is printed as a list.",
		Damage: "The model reads [{'type': 'text', ...}] instead of the user's text.",
		Fix:    "Loop over the parts if content is not a string.",
	},
	Find: checkTyped,
}

// checkTyped tries a message of each role in parts. Where parts of a question are neither printed
// nor known, engines make one text of them.
func checkTyped(s *probe.Subject, find probe.Finder) {
	all := []inParts{{"a question", "USERNEEDLE", sample.Talk(sample.UserInParts)},
		{"a system message", "SYSTEMNEEDLE", sample.Talk(sample.InParts(sample.System), sample.User)},
		{"an answer", "ANSWERNEEDLE", sample.Talk(sample.User, sample.InParts(sample.Answer),
			sample.LaterUser)},
		{"a result", "RESULTNEEDLE", sample.Talk(sample.User, sample.CallTurn,
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
			text = "the model sees: " + prompt.Quote(c.needle)
		default:
			text += "\nthe same: the parts of " + c.of
		}
	}
	if text == "" {
		return false
	}
	find(first.Of(needle), "content that comes as a list of parts is printed as a list, not as its "+
		"text\n%s", text)
	return true
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
				find := find
				if !strings.Contains(t.Text[at:at+r.Len], "image") {
					find = probe.Weigh(find, rule.Note) // models of texts are sent no sounds
				}
				t.Show(s, find, at, "content that comes as a list of parts is printed as a "+
					"list, not as its text")
				return
			}
		}
	}
}
