package content

import (
	"strings"

	"github.com/goassay/assay/harness/check/fact/losses"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/conversation"
)

// TextDoubled is the rule A063: the text of a message, or a tool, is in the prompt twice.
var TextDoubled = &probe.Rule{
	Rule: rule.Rule{
		ID: "A063", Name: "text-doubled", Severity: rule.Warning, Harm: rule.Doubled,
		Short:  "The content of a message, or a tool, is in the prompt twice.",
		Damage: "The model reads it twice, and long contexts fill up twice as fast.",
		Fix:    "Write each message and each tool in one place.",
	},
	Find: prompts.IfHeard(checkDoubled),
}

// checkDoubled counts the texts of messages, and the descriptions of tools.
func checkDoubled(s *probe.Subject, find probe.Finder) {
	for t := range prompts.Rendered(s) {
		for _, l := range t.Leaves() {
			if from, to, ok := named(t, l); ok && strings.Count(t.Text[from:to], l.Text) > 1 {
				at := from + strings.LastIndex(t.Text[from:to], l.Text)
				t.Show(s, find, at, "the id of a tool message is written twice")
				return
			}
			// the whole tool
			described := l.Part == conversation.Description &&
				strings.Contains(l.Path, ".properties")
			if l.Part != conversation.Content && !described || strings.Count(t.Text, l.Text) < 2 {
				continue
			}
			twice := func(p *prompts.Prompt) bool { return strings.Count(p.Text, l.Text) > 1 }
			what := losses.SubjectOf(losses.Lost{Leaf: l, In: t}, func(l conversation.Leaf) bool {
				return strings.Count(t.Text, l.Text) > 1
			})
			t = t.Smallest(s, twice)
			at := strings.LastIndex(t.Text, l.Text)
			// once in prose and once as JSON, say
			find = probe.NoteIf(len(t.Codecs(l.Path)) > 1, find)
			once := func(p string) bool { return strings.Count(p, l.Text) == 1 }
			find(t.Cause(t.At(at), once).Needing(), "%s is written %d times in the prompt", what,
				strings.Count(t.Text, l.Text))
			return
		}
	}
}

// named returns where in the prompt the result is whose id a leaf is.
func named(t *prompts.Prompt, l conversation.Leaf) (from, to int, ok bool) {
	if l.Part != conversation.CallID || l.Message < 0 ||
		t.Kinds[l.Message] != conversation.Result || l.Text == "" {
		return 0, 0, false
	}
	span := t.Spans[l.Message]
	return span.From, span.To, span.To > 0
}
