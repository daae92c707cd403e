package check

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/rule"
)

// switchRules demand that the switches of a request work.
var switchRules = []lookout{
	{Rule: rule.Rule{ID: "A069", Name: "thinking-inverted", Severity: rule.Error,
		Short: "With thinking off the prompt opens reasoning, and with thinking on it does not.",
		Damage: "A client that switches thinking off pays for it, and one that switches it " +
			"on does not get it.",
		Fix: "Exchange the branches."}, Group: groupLint, Find: checkInverted},
	{Rule: rule.Rule{ID: "A070", Name: "switch-ignored", Severity: rule.Warning,
		Short:  "The template asks for the switch of thinking, and no prompt depends on its value.",
		Damage: "A client switches thinking off and nothing happens.",
		Fix: "Use the value, or do not " +
			"read the variable."}, Group: groupLint, Find: checkIgnored},
	{Rule: rule.Rule{ID: "A071", Name: "generation-prompt-ignored", Severity: rule.Warning,
		Short: "The model's header ends the prompt whether a generation prompt is asked for or " +
			"not, or never does.",
		Damage: "Where none was asked for, training texts end in an empty answer; where one was, " +
			"the model goes on with the user's turn.",
		Fix: "Write the model's header at the end only {% if add_generation_prompt %}."}, Group: groupLint, Find: checkAsked},
}

// plainQuestion renders a question under the settings.
func (s *Subject) plainQuestion(thinking *bool, asked bool,
	more ...ordered.Member) (rendering, error) {
	r := chat.Request{Messages: talk(userTurn), EnableThinking: thinking,
		NoGeneration: !asked}
	if len(more) > 0 {
		r.Kwargs = ordered.ObjectOf(more...)
	}
	return s.ask(r)
}

// checkInverted asks which setting of thinking leaves reasoning open at the end of the prompt.
func checkInverted(s *Subject, find finder) {
	r := s.Template.Analysis().Format.Reasoning
	if r.Open.Text == "" || r.Close.Text == "" {
		return
	}
	yes, no := true, false
	on, err1 := s.plainQuestion(&yes, true)
	off, err2 := s.plainQuestion(&no, true)
	for _, err := range []error{err1, err2} {
		if err != nil && !worded(err) { // else the switch is refused, which inverts nothing
			unjudged(find, err)
		}
	}
	if err1 != nil || err2 != nil || on.text == off.text {
		return
	}
	opened := func(p rendering) bool {
		return strings.LastIndex(p.text, r.Open.Text) > strings.LastIndex(p.text, r.Close.Text)
	}
	closed := func(p rendering) bool {
		return strings.LastIndex(p.text, r.Close.Text) > strings.LastIndex(p.text, "USERNEEDLE")
	}
	if opened(off) && !opened(on) || closed(on) && !closed(off) {
		at := report.Parting(on.text, off.text)
		find(on.at(at), "thinking is switched the wrong "+
			"way\non:  %s\noff: %s", report.Quote(on.text, at), report.Quote(off.text, at))
	}
}

// Unset compares the prompt of a question without a switch of thinking with those with one: "as
// on", "as off" or "neither as on nor as off"; "" where the switch changes nothing, or one of its
// values is refused.
func Unset(t *engine.Template) string {
	var texts [3]string
	yes, no := true, false
	for i, thinking := range []*bool{&yes, &no, nil} {
		text, err := t.ChatTemplate().Render(t.Caps().Fit(chat.Request{
			Messages: talk(userTurn), EnableThinking: thinking}).Input)
		if err != nil {
			return ""
		}
		texts[i] = text
	}
	switch on, off, unset := texts[0], texts[1], texts[2]; {
	case on == off:
		return ""
	case unset == on:
		return "as on"
	case unset == off:
		return "as off"
	}
	return "neither as on nor as off"
}

// checkIgnored renders all conversations that have the switch with the other value.
func checkIgnored(s *Subject, find finder) {
	read := map[string]where{}
	for _, t := range s.talks() {
		for _, name := range []string{"enable_thinking", "thinking"} {
			if r, ok := t.o.Trace.Reading(name); ok && t.err == nil && t.in.Generate {
				read[name] = where(r.First)
				for _, m := range t.in.Kwargs {
					if m.Key != name || m.Value.Kind() != ordered.Bool {
						continue
					}
					other := t.in
					other.Kwargs = append([]ordered.Member{}, t.in.Kwargs...)
					for i := range other.Kwargs {
						if other.Kwargs[i].Key == name {
							other.Kwargs[i].Value = ordered.Boolean(!m.Value.Bool())
						}
					}
					if again, err := s.render(other); err != nil || again.text != t.text {
						return
					}
				}
			}
		}
	}
	for _, name := range []string{"enable_thinking", "thinking"} {
		if at, ok := read[name]; ok {
			find(at, "%s is read, and on and off give the same prompt in every conversation", name)
		}
	}
}

// checkAsked compares the end of a prompt after a question with the text between the question and
// the next message, under each setting of thinking. Where the model's turn has no header there is
// nothing to ask for.
func checkAsked(s *Subject, find finder) {
	answer, turn := s.answerHeaders()
	s.checkReasoningAsked(find)
	for _, mode := range thinkingModes() {
		asked, err1 := s.plainQuestion(mode.on, true)
		not, err2 := s.plainQuestion(mode.on, false)
		for _, err := range []error{err1, err2} {
			if err != nil && (mode.on == nil || !worded(err)) { // else the switch is refused
				unjudged(find, fmt.Errorf("thinking %s: %w", mode.name, err))
			}
		}
		if err1 != nil || err2 != nil || !asked.has("USERNEEDLE") {
			continue
		}
		_, end, _ := strings.Cut(not.text, "USERNEEDLE")
		_, tail, _ := strings.Cut(asked.text, "USERNEEDLE")
		rest, opens := strings.CutPrefix(answer, strings.TrimSpace(end))
		others := slices.ContainsFunc(s.gaps(), func(g gap) bool { // something else may follow
			between := strings.TrimSpace(g.text)
			return g.before == conversation.Question && g.after == conversation.Question &&
				between != "" &&
				!strings.HasPrefix(between, strings.TrimSpace(end))
		})
		shared := !slices.ContainsFunc(s.gaps(), func(g gap) bool { // it is nobody's header
			return (g.before == conversation.Question || g.before == conversation.Answer) &&
				g.after == conversation.Question && !strings.Contains(g.text, rest)
		})
		more, longer := strings.CutPrefix(not.text, asked.text)
		more = strings.TrimSpace(more)
		header, follows := strings.CutPrefix(turn, tail)
		header = strings.TrimSpace(header)
		inverted := longer && more != "" && (strings.Contains(turn, more) || follows &&
			strings.ContainsFunc(header, unicode.IsLetter) && strings.HasPrefix(more, header))
		switch {
		case inverted:
			find(not.at(len(not.text)-1), "the prompt goes on with %s where no generation prompt "+
				"was asked for, and not where one was: %s", jsonString(more),
				report.Quote(not.text, len(asked.text)))
		case asked.text == not.text && opens && rest != "" && !shared:
			find(asked.at(len(asked.text)-1), "the model's header is missing though a "+
				"generation prompt was asked for: %s\nin the "+
				"history it is %s", report.Quote(asked.text, len(asked.text)), jsonString(rest))
		case asked.text == not.text && opens && others:
			find(asked.at(len(asked.text)-1), "the model's header is there though no "+
				"generation prompt was asked for: %s", report.Quote(not.text, len(not.text)))
		case asked.text != not.text && opens && rest == "" && others &&
			strings.HasPrefix(end, strings.TrimSpace(tail)):
			find(not.at(len(not.text)-1), "the model's header is there where no "+
				"generation prompt was asked for, and missing "+
				"where one was: %s", report.Quote(not.text, len(not.text)))
		case strings.TrimSpace(tail) != "" && strings.HasPrefix(turn, tail+"\n") &&
			(strings.TrimSpace(tail) == strings.TrimSpace(turn) || s.opened(tail) == ""):
			find(asked.at(len(asked.text)-1), "the generation prompt ends before the line feed "+
				"that follows the model's header "+
				"in the history: %s", report.Quote(asked.text, len(asked.text)))
		case turn != "" && tail == turn+"\n" && s.begins(turn):
			find(asked.at(len(asked.text)-1), "the generation prompt ends with a line feed that "+
				"does not follow the model's header "+
				"in the history: %s", report.Quote(asked.text, len(asked.text)))
		default:
			continue
		}
		return
	}
}

// checkReasoningAsked compares the marker with which a generation prompt closes reasoning with the
// same one in the history: does it follow its opener there, and does white space follow it?
func (s *Subject) checkReasoningAsked(find finder) {
	r := s.Template.Analysis().Format.Reasoning
	open, end := strings.TrimSpace(r.Open.Text), strings.TrimSpace(r.Close.Text)
	if open == "" || end == "" {
		return
	}
	alone, space, n := false, "", 0
	for _, t := range s.talks() {
		if t.err != nil || len(t.spans) == 0 {
			continue
		}
		own, tail := t.own(), t.tail()
		for at := t.spans[0].to; at < tail; {
			i := strings.Index(own[at:tail], end)
			if i < 0 {
				break
			}
			before := own[at : at+i]
			alone = alone || !strings.Contains(before, open)
			at += i + len(end)
			rest := own[at:tail]
			white := rest[:len(rest)-len(strings.TrimLeft(rest, " \n"))]
			if n++; n == 1 {
				space = white
			}
			space = source.CommonPrefix(space, white)
		}
	}
	for _, mode := range thinkingModes() {
		asked, err := s.plainQuestion(mode.on, true)
		if err != nil || n < enough {
			continue
		}
		_, tail, _ := strings.Cut(asked.text, "USERNEEDLE")
		before, after, closed := strings.Cut(tail, end)
		switch {
		case !closed:
		case !alone && !strings.Contains(before, open):
			find(asked.at(len(asked.text)-1), "the generation prompt closes reasoning that nothing "+
				"opens, as no turn of the history does: %s",
				report.Quote(asked.text, len(asked.text)-len(after)))
			return
		case after == "" && space != "":
			find(asked.at(len(asked.text)-1), "the generation prompt ends right after %s; in the "+
				"history %s follows it: %s", jsonString(end), jsonString(space),
				report.Quote(asked.text, len(asked.text)))
			return
		}
	}
}

// answerHeaders returns the text that stands between a question and an answer in all of the
// history, without white space around it; and the text between a question and any text of the
// model.
func (s *Subject) answerHeaders() (answer, turn string) {
	first := true
	for _, g := range s.gaps() {
		between, _, _ := strings.Cut(g.text, hole)
		if g.before != conversation.Question ||
			g.after != conversation.Answer && g.after != conversation.Call ||
			strings.TrimSpace(between) == "" {
			continue
		}
		if turn = source.CommonPrefix(turn, between); first {
			turn, first = between, false
		}
		if g.after == conversation.Answer && answer == "" {
			answer = strings.TrimSpace(between)
		} else if g.after == conversation.Answer {
			answer = source.CommonPrefix(answer, strings.TrimSpace(between))
		}
	}
	return answer, turn
}

// begins reports whether some text of the model follows a question and a header at once.
func (s *Subject) begins(header string) bool {
	return slices.ContainsFunc(s.gaps(), func(g gap) bool {
		return g.before == conversation.Question && g.text == header
	})
}

// loopRules look at the several steps of a model.
var loopRules = []lookout{
	{Rule: rule.Rule{ID: "A072", Name: "reasoning-lost-in-loop", Severity: rule.Warning,
		Short: "While calls go on, the reasoning of an earlier step is dropped and that of a " +
			"later one kept.",
		Damage: "The model forgets its plan between two calls, and each step changes the " +
			"prompt before it.",
		Fix: "Keep the reasoning of all steps since the last " +
			"question, or of none."}, Group: groupLint, Find: checkLoopReasoning},
	{Rule: rule.Rule{ID: "A073", Name: "calls-closed-differently", Severity: rule.Error,
		Short: "A message with one call ends otherwise than a message with several.",
		Damage: "The section of calls is left open where there is only one, and the model never " +
			"learns to close it.",
		Fix: "Close the section after the loop " +
			"over the calls."}, Group: groupLint, Find: checkCallsClosed},
}

func checkLoopReasoning(s *Subject, find finder) {
	for _, t := range s.talks() {
		if t.err != nil {
			continue
		}
		var gone *conversation.Leaf
		found := t.origins()
		leaves := t.leaves()
		for i, l := range leaves {
			switch {
			case l.Message < 0:
			case t.kinds[l.Message] == conversation.Question:
				gone = nil
			case l.Part == conversation.Reasoning && t.kinds[l.Message] == conversation.Call &&
				s.reads(l.Path):
				if _, ok := found[originOf(l)]; !ok {
					gone = &leaves[i]
				} else if gone != nil {
					find(t.near(gone.Text), "the reasoning of message %d is dropped, that of "+
						"message %d is kept\nconversation: %s", gone.Message+1, l.Message+1, t.Name)
					return
				}
			}
		}
	}
}

// reads reports whether a path ends in the field that the template reads reasoning from.
func (s *Subject) reads(path string) bool {
	field := s.Template.Caps().Needs.ReasoningField
	return field != "" && strings.HasSuffix(path, "."+field)
}

func checkCallsClosed(s *Subject, find finder) {
	if !s.Template.Caps().ParallelToolCalls {
		return
	}
	ends := map[bool]string{} // by whether there is one call
	some := map[bool]gap{}
	for _, g := range s.gaps() {
		if g.before != conversation.Call || g.after != conversation.None || g.asked ||
			strings.Contains(g.text, hole) {
			continue
		}
		calls := g.in.in.Messages[len(g.in.in.Messages)-1].At("tool_calls").Items()
		last := calls[len(calls)-1].At("function", "arguments")
		if len(last.Members()) == 0 && len(last.Text()) <= len("{}") {
			continue // without arguments a call may end earlier
		}
		one := len(calls) == 1
		if _, ok := some[one]; ok {
			ends[one] = source.CommonSuffix(ends[one], g.text)
			continue
		}
		ends[one], some[one] = g.text, g
	}
	one, several := strings.TrimSpace(ends[true]), strings.TrimSpace(ends[false])
	if len(some) < 2 || strings.HasSuffix(one, several) || strings.HasSuffix(several, one) {
		return
	}
	g := some[false]
	find(g.in.at(len(g.in.text)-1), "one call ends with %s, several end with "+
		"%s\nconversations: %s; %s", jsonString(one), jsonString(several), some[true].in.Name,
		g.in.Name)
}
