package content

import (
	"strings"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/harness/check/fact/losses"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/conversation"
)

// TextChanged is the rule A067: a text reaches the prompt with something changed inside it.
var TextChanged = &probe.Rule{
	Rule: rule.Rule{
		ID: "A067", Name: "text-changed", Severity: rule.Warning, Harm: rule.Changed,
		Short: "Text of a request is changed on its way into the prompt.",
		Damage: "Code loses its indentation or blank lines, a path its backslashes; the model " +
			"quotes text that nobody wrote.",
		Fix: "Write text as it comes; trim its edges at most.",
	},
	Find: prompts.IfHeard(checkChanged),
}

// checkChanged compares a text with its form in the prompt: as it is, as JSON writes it, or in
// escapes, which are A029's.
func checkChanged(s *probe.Subject, find probe.Finder) {
	seen := map[losses.Sort]bool{}
	for t := range prompts.Rendered(s) {
		var found map[prompts.Origin]int
		for _, l := range t.Leaves() {
			if l.Part != conversation.Content && l.Part != conversation.Argument &&
				l.Part != conversation.Description && l.Part != conversation.Reasoning || l.Coded ||
				t.Shows(l.Text) {
				continue
			}
			if found == nil {
				found = t.Origins()
			}
			at, there := found[prompts.OriginOf(l)]
			of := losses.Sort{Kind: losses.Lost{Leaf: l, In: t}.Kind(), Part: l.Part}
			codecs := t.Codecs(l.Path)
			delete(codecs, jinja.Plain) // others have escapes of their own
			if !there || seen[of] || len(codecs) > 0 || separates(t, l) {
				continue
			}
			seen[of] = true
			find(t.At(at), "%s is changed\nsent: %s\nthe model sees: %s",
				losses.SubjectOf(losses.Lost{Leaf: l, In: t}, nil), probe.JSON(l.Text),
				probe.JSON(t.Seen.From(l.Path)))
		}
	}
}

// separates reports whether all that a leaf lacks is the blank lines that part messages: no text
// may have them.
func separates(t *prompts.Prompt, l conversation.Leaf) bool {
	if l.Message < 0 || t.Spans[l.Message].To == 0 {
		return false
	}
	from := 0
	if l.Message > 0 {
		from = t.Spans[l.Message-1].To
	}
	own := t.Text[from:t.Spans[l.Message].From]
	feeds := own[:len(own)-len(strings.TrimLeft(own, "\n"))]
	return len(feeds) > 1 && t.Shows(strings.ReplaceAll(l.Text, feeds, feeds[:1]))
}
