package content

import (
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/report"
)

// OrderChanged is the rule A064: messages do not stand in the prompt in the order in which they
// were said.
var OrderChanged = &probe.Rule{
	Rule: rule.Rule{
		ID: "A064", Name: "order-changed", Severity: rule.Error, Harm: rule.Misread,
		Short: "Messages are not in the prompt in the order of the request.",
		Damage: "The model reads its own message before the user message that it answers, or " +
			"content after the tool message that followed it.",
		Fix: "Loop over the messages once, in order, and write each whole before the next.",
	},
	Supersedes: []string{"A087", "A163"},
	Find:       prompts.IfHeard(checkOrderOfMessages),
}

// checkOrderOfMessages compares where the texts of messages begin. Instructions may stand anywhere,
// and a result with its call.
func checkOrderOfMessages(s *probe.Subject, find probe.Finder) {
	for t := range prompts.Rendered(s) {
		last, before, found := -1, conversation.Leaf{Message: -1}, t.Origins()
		for _, l := range t.Leaves() {
			if l.Message < 0 || l.Part != conversation.Content && l.Part != conversation.Argument {
				continue
			}
			if k := t.Kinds[l.Message]; k == conversation.System || k == conversation.Developer {
				continue
			}
			at, there := found[prompts.OriginOf(l)]
			if !there || l.Message == before.Message {
				continue
			}
			if at < last && !(t.Kinds[l.Message] == conversation.Result &&
				t.Kinds[before.Message] == conversation.Result) {
				late := probe.Nowhere // the statement around the macros prints what was kept
				if w, ok := t.Seen.Trace.PrintAt(last); ok {
					late = probe.Offset(w.Off).Shown(t.In)
				}
				find(late.Beside("printed first", t.At(at)), "the %s of message %d, %s, is "+
					"written after the %s of message %d\nthe model sees: %s", before.Part,
					before.Message+1, probe.Article(t.Kinds[before.Message].String()), l.Part,
					l.Message+1, report.Quote(t.Text, last))
				return
			}
			last, before = at, l
		}
	}
}
