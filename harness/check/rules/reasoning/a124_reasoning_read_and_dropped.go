package reasoning

import (
	"regexp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/fact/exploration"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/check/view"
	"github.com/goassay/assay/harness/conversation"
)

// ReasoningReadAndDropped is the rule A124: the template reads the reasoning of an answer, and
// writes it in no conversation.
var ReasoningReadAndDropped = &probe.Rule{
	Rule: rule.Rule{
		ID: "A124", Name: "reasoning-read-and-dropped", Severity: rule.Warning, Harm: rule.Lost,
		Short:  "The template reads the reasoning of assistant messages, and never writes it.",
		Damage: "A client that sends the reasoning back loses it, and nobody is told.",
		Fix: "Print the reasoning in the branch that reads it. Where it is left out on purpose, " +
			"there is nothing to do.",
	},
	Find: prompts.IfHeard(checkReasoningWritten),
}

// index is an index in a path.
var index = regexp.MustCompile(`\[\d+\]`)

// checkReasoningWritten goes through the fields of reasoning that requests have.
func checkReasoningWritten(s *probe.Subject, find probe.Finder) {
	checkReasoningFields(s, find)
	type field struct {
		read, written int
		at            probe.Where
		in            *prompts.Prompt
	}
	fields := map[string]*field{}
	var order []string
	for t := range prompts.Rendered(s) {
		var found map[prompts.Origin]int
		for _, l := range conversation.Leaves(t.In) {
			if l.Part != conversation.Reasoning {
				continue
			}
			r, ok := t.Seen.Trace.Reading(l.Path)
			if !ok || !r.Value && !r.Tested {
				continue
			}
			if found == nil {
				found = t.Origins()
			}
			name := index.ReplaceAllString(l.Path, "")
			f := fields[name]
			if f == nil {
				f = &field{at: probe.Offset(r.First).Shown(t.In), in: t}
				fields[name] = f
				order = append(order, name)
			}
			f.read++
			if prompts.Has(found, prompts.OriginOf(l)) {
				f.written++
			}
		}
	}
	for _, name := range order {
		f := fields[name]
		if f.written == 0 && f.read >= prompts.Enough && !writtenBeyond(s, name) {
			find(f.at, "the template reads %s of an assistant message, and never writes it",
				strings.TrimPrefix(name, "messages."))
		}
	}
}

// writtenBeyond reports whether a request that the search for unreached branches found, such as one
// with a variable that no client sets, has a field of reasoning in its prompt.
func writtenBeyond(s *probe.Subject, name string) bool {
	x := exploration.Reached.Of(s)
	if x == nil {
		return false
	}
	for _, c := range x.Conversations {
		if !c.Beyond {
			continue
		}
		in := c.Input(x.Bound)
		prompt, err := s.Template.ChatTemplate().Render(in)
		if err != nil {
			continue
		}
		for _, l := range conversation.Leaves(in) {
			if l.Part == conversation.Reasoning && index.ReplaceAllString(l.Path, "") == name &&
				l.Text != "" && strings.Contains(prompt, l.Text) {
				return true
			}
		}
	}
	last := sample.Answer.With(strings.TrimPrefix(name, "messages."), ordered.Str("REASONNEEDLE"))
	answered, err := s.Fitted(sample.Talk(sample.User, last), false, false)
	return err == nil && slices.ContainsFunc(s.Template.ChatTemplate().Names(),
		func(name string) bool { // with a variable in the last message alone
			on, _ := s.With(answered, ordered.MemberOf(name, ordered.Boolean(true)))
			off, _ := s.With(answered, ordered.MemberOf(name, ordered.Boolean(false)))
			return on.Has("REASONNEEDLE") || off.Has("REASONNEEDLE")
		})
}

// checkReasoningFields gives reasoning in each field of its own, unfitted. Where one of them is
// written and another one is looked for and dropped, a client that uses that one loses it; so do
// clients of engines that send on reasoning_content alone where only reasoning is read.
func checkReasoningFields(s *probe.Subject, find probe.Finder) {
	written := map[string]bool{}
	first := map[string]probe.Where{} // where a field that is written is read
	var usual []chattemplate.Input    // with reasoning_content
	dropped := map[string]probe.Where{}
	for _, field := range chat.ReasoningFields {
		thought := ordered.Str("REASONNEEDLE")
		for _, messages := range [][]ordered.Value{
			sample.Talk(sample.User, sample.CallTurn.With(field, thought), sample.Result),
			sample.Talk(sample.User, sample.Answer.With(field, thought))} {
			in := chattemplate.Input{Messages: messages, Tools: s.Tools(),
				Kwargs: s.Template.Caps().Needs.Bound}
			o, err := s.Template.ChatTemplate().Observe(in)
			r, read := o.Trace.Reading("messages[1]." + field)
			if field == "reasoning_content" {
				usual = append(usual, in)
			}
			switch {
			case err != nil:
			case strings.Contains(o.String, "REASONNEEDLE"):
				written[field], first[field] = true, probe.Offset(r.First)
			case read && (r.Value || r.Tested):
				dropped[field] = probe.Offset(r.Last)
			}
		}
	}
	for _, field := range chat.ReasoningFields {
		if at, ok := dropped[field]; ok && !written[field] && len(written) > 0 {
			find(at, "reasoning that comes as %s is looked for and dropped", field)
			return
		}
	}
	if !written["reasoning"] || written["reasoning_content"] {
		return
	}
	for _, in := range usual {
		if who := view.Hurt(s.Template.ChatTemplate(), in, func(prompt string, err error) bool {
			return err == nil && !strings.Contains(prompt, "REASONNEEDLE")
		}); who != "" {
			find(first["reasoning"].Shown(in), "reasoning is written where it comes as reasoning, "+
				"and lost where it comes as reasoning_content%s", who)
			return
		}
	}
}
