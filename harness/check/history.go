package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/rule"
)

// historyRules check that a conversation grows at its end: servers keep the work done for a prompt
// as long as the next one starts with it.
var historyRules = []lookout{
	{Rule: rule.Rule{ID: "A019", Name: "generation-prompt-differs", Severity: rule.Warning,
		Short: "The generation prompt is not how the template begins the same " +
			"turn in the history.",
		Damage: "The prompt of the next turn does not start with this one, so that all of it is " +
			"processed again.",
		Fix: "Write after the header of a turn in the history the text that the " +
			"generation prompt writes."}, Group: groupLint, Find: checkGeneration},
	{Rule: rule.Rule{ID: "A020", Name: "history-rewritten", Severity: rule.Warning,
		Short: "A turn is rendered differently once another one follows it.",
		Damage: "Every turn changes the prompt near its start; caches miss and long " +
			"conversations crawl.",
		Fix: "Render a turn the same wherever it stands; let the client leave reasoning out " +
			"if it is not wanted."}, Group: groupLint, Find: checkRewritten},
	{Rule: rule.Rule{ID: "A021", Name: "empty-reasoning-printed", Severity: rule.Note,
		Short:  "An answer without reasoning gets an empty reasoning block in the history.",
		Damage: "The model sees that it never thinks, and stops thinking.",
		Fix: "Write the block only if " +
			"there is reasoning."}, Group: groupLint, Find: checkEmptyReasoning},
	{Rule: rule.Rule{ID: "A022", Name: "reasoning-preopened", Severity: rule.Note,
		Short: "The generation prompt opens the reasoning block.",
		Damage: "The output has an end marker and no start; servers that look for both lose the " +
			"reasoning or show the marker.",
		Fix: "Nothing, if the server reads the prompt's tail together with the output; see " +
			"the prefill in `assay render --explain`."},
		Group: groupLint, Find: checkPreopened},
	{Rule: rule.Rule{ID: "A136", Name: "reasoning-never-asked", Severity: rule.Note,
		Short: "The generation prompt closes reasoning whatever the request asks for, though the " +
			"template writes the reasoning of earlier turns.",
		Damage: "A client that switches thinking on gets none, and nobody is told.",
		Fix: "Close reasoning only where thinking is switched off, if the model can " +
			"think."}, Group: groupLint, Find: checkAsksForNone},
	{Rule: rule.Rule{ID: "A143", Name: "answer-lost-with-reasoning", Severity: rule.Error,
		Short: "An answer that comes with its reasoning in the content loses its text.",
		Damage: "Clients that keep what a server sent hand the reasoning back so; the model does " +
			"not see what it answered.",
		Fix: "Keep the text after the end of the reasoning: content.split('</think>')[-1]."},
		Group: groupLint, Find: checkInlineReasoning},
	{Rule: rule.Rule{ID: "A148", Name: "reasoning-of-some-turns", Severity: rule.Warning,
		Short: "Among the answers before the last question, some keep their reasoning and others " +
			"of the same form lose it.",
		Damage: "Models are trained to see the reasoning since the last question, or all of it. " +
			"Here old reasoning stays in the prompt without a plan, and takes up room.",
		Fix: "Keep all reasoning, or that after the last question alone. To find this question, " +
			"go through the messages from the end, and stop at the first one of a user."},
		Group: groupLint, Find: checkOlderReasoning},
	{Rule: rule.Rule{ID: "A145", Name: "prompt-forbids-calls", Severity: rule.Error,
		Short: "The generation prompt begins an answer in a way in which no call begins, though " +
			"the request has tools.",
		Damage: "The model writes an answer where it would have called a tool.",
		Fix:    "End the generation prompt before the text that only answers begin with."},
		Group: groupLint, Find: checkCallsBegin},
}

// checkGeneration reports the first prompt that parts from its turn, and the first that ends before
// the text that the template always writes there.
func checkGeneration(s *Subject, find finder) {
	if _, ok := s.forgets(); ok {
		return // A153 is about it
	}
	s.checkGenerationOfCalls(find)
	parts, early := false, false
	for _, mode := range thinkingModes() {
		ask := chat.Request{Messages: talk(userTurn), EnableThinking: mode.on}
		prompt, err := s.Template.Render(ask)
		if err != nil {
			if mode.on == nil || !worded(err) { // else the switch is refused
				unjudged(find, fmt.Errorf("thinking %s: %w", mode.name, err))
			}
			continue
		}
		asked := ask
		answer := answerTurn
		if prefill, err := prompt.Prefill(); err == nil && s.opened(prefill) != "" {
			answer = thinkingTurn
		}
		ask.Messages, ask.NoGeneration = talk(userTurn, answer), true
		turn, err := s.Template.Render(ask)
		if !judged(find, err) {
			continue
		}
		rest, begins := strings.CutPrefix(turn.Text, prompt.Text)
		at := report.Parting(turn.Text, prompt.Text)
		switch {
		case !begins && !parts && !asksForOther(prompt.Text, turn.Text):
			parts = true
			written, _ := s.ask(asked)
			find(written.at(at), "thinking %s: prompt and "+
				"turn part at byte %d\n%s", mode.name, at,
				report.Sides("turn", turn.Text, "prompt", prompt.Text))
		case begins && !early && s.endsEarly(rest, mode, prompt.Text):
			early = true
			written, _ := s.ask(asked)
			find(written.at(len(prompt.Text)-1), "thinking %s: the generation prompt ends "+
				"before text that the template writes in the history\n%s", mode.name,
				report.Sides("turn", turn.Text, "prompt", prompt.Text))
		}
	}
}

// checkGenerationOfCalls asks the same of calls, for white space.
func (s *Subject) checkGenerationOfCalls(find finder) {
	if c := s.Template.Caps(); !c.ToolCalls || !c.Tools || !s.quiet(checkAsked) {
		return
	}
	prompt, err1 := s.fitted(talk(userTurn), true, true)
	call, err2 := s.fitted(talk(userTurn, callTurn), true, false)
	answer, err3 := s.fitted(talk(userTurn, answerTurn), true, false)
	bare := strings.TrimRight(prompt.text, " \n")
	if err1 == nil && err2 == nil && err3 == nil && strings.HasPrefix(answer.text, prompt.text) &&
		strings.HasPrefix(call.text, bare) && !strings.HasPrefix(call.text, prompt.text) {
		find(prompt.at(len(prompt.text)-1), "the generation prompt ends in white space with which "+
			"a call without text does not begin\n%s", report.Sides("call", call.text, "prompt",
			prompt.text))
	}
}

// asksForOther reports whether a prompt ends as the history does after an answer: it asks for
// something else than an answer, such as speech, which no history has.
func asksForOther(prompt, turn string) bool {
	_, asked, _ := strings.Cut(prompt, "USERNEEDLE")
	_, after, answered := strings.Cut(turn, "ANSWERNEEDLE")
	return answered && strings.TrimSpace(asked) != "" && strings.HasPrefix(after, asked)
}

// endsEarly reports whether the history goes on with white space where a generation prompt ends
// with a marker of reasoning, or closes reasoning where thinking is off and the prompt does not.
func (s *Subject) endsEarly(rest string, mode thinkingMode, prompt string) bool {
	r := s.Template.Analysis().Format.Reasoning
	for _, marker := range []string{r.Open.Text, r.Close.Text} {
		if marker = strings.TrimSpace(marker); marker != "" && strings.HasSuffix(prompt, marker) {
			return strings.HasPrefix(rest, "\n")
		}
	}
	if mode.on == nil || *mode.on || r.Close.Text == "" ||
		!strings.HasPrefix(strings.TrimSpace(rest), strings.TrimSpace(r.Close.Text)) {
		return false
	}
	yes := true
	on, err := s.plainQuestion(&yes, true)
	return err == nil && on.text != prompt
}

func checkRewritten(s *Subject, find finder) {
	if _, ok := s.forgets(); ok {
		return // A153 is about it
	}
	for _, c := range [...]struct {
		name   string
		answer ordered.Value
	}{{"an answer", answerTurn}, {"an answer with reasoning", thinkingTurn}} {
		last, err1 := s.fitted(talk(userTurn, c.answer), false, false)
		then, err2 := s.fitted(talk(userTurn, c.answer, userTurn2), false, true)
		if !judged(find, err1, err2) || strings.HasPrefix(then.text, last.text) {
			continue
		}
		at := report.Parting(last.text, then.text)
		if at >= strings.LastIndex(last.text, "ANSWERNEEDLE")+len("ANSWERNEEDLE") {
			continue // only the end of the turn changes
		}
		find(last.at(at), "%s changes at byte %d once a "+
			"question follows\n%s", c.name, at, report.Sides("last", last.text, "then", then.text))
		return
	}
}

func checkEmptyReasoning(s *Subject, find finder) {
	r := s.Template.Analysis().Format.Reasoning
	if r.Open.Text == "" || r.Close.Text == "" {
		return
	}
	prompt, err := s.fitted(talk(userTurn, answerTurn, userTurn2), false, false)
	_, history, _ := strings.Cut(prompt.text, "USERNEEDLE")
	for rest := history; judged(find, err); {
		_, after, ok := strings.Cut(rest, r.Open.Text)
		if !ok {
			return
		}
		if strings.HasPrefix(strings.TrimSpace(after), r.Close.Text) {
			open := len(prompt.text) - len(after) - len(r.Open.Text)
			find(prompt.at(open), "an answer without reasoning is written with "+
				"an empty block: %s", report.Quote(prompt.text, open))
			if s.Template.Caps().Needs.ReasoningField == "" {
				find(prompt.at(open), "nothing ever fills the block: the template reads no reasoning: "+
					"%s", report.Quote(prompt.text, open))
			}
			return
		}
		rest = after
	}
}

// checkAsksForNone asks under which settings of thinking the generation prompt closes reasoning.
func checkAsksForNone(s *Subject, find finder) {
	r := s.Template.Analysis().Format.Reasoning
	open, end := strings.TrimSpace(r.Open.Text), strings.TrimSpace(r.Close.Text)
	if open == "" || end == "" {
		return
	}
	var closed rendering
	for _, mode := range thinkingModes() {
		asked, err := s.plainQuestion(mode.on, true)
		if err != nil {
			return // A066 and A069 are about it
		}
		_, tail, _ := strings.Cut(asked.text, "USERNEEDLE")
		at := strings.LastIndex(tail, open)
		if at < 0 || strings.TrimSpace(tail[at+len(open):]) != end {
			return
		}
		closed = asked
	}
	for _, history := range [...]struct {
		messages []ordered.Value
		tools    bool
	}{{talk(userTurn, thinkingTurn), false},
		{talk(userTurn, fullTurn(callValue), resultTurn), true}} {
		if written, err := s.fitted(history.messages, history.tools, false); err == nil &&
			written.has("REASONNEEDLE") {
			find(closed.at(len(closed.text)-1), "the prompt ends with closed reasoning, thinking "+
				"on, off and unset: %s", report.Quote(closed.text, len(closed.text)))
			return
		}
	}
}

func checkPreopened(s *Subject, find finder) {
	ask := chat.Request{Messages: talk(userTurn)}
	prompt, err := s.Template.Render(ask)
	if !judged(find, err) {
		return
	}
	if prefill, err := prompt.Prefill(); judged(find, err) &&
		opens(prefill, s.Template.Analysis().Format.Reasoning) {
		written, _ := s.ask(ask)
		find(written.at(len(prompt.Text)-len(prefill)), "the prefill is %q", prefill)
	}
}

// checkInlineReasoning hands an answer back as a server without a parser sent it.
func checkInlineReasoning(s *Subject, find finder) {
	r := s.Template.Analysis().Format.Reasoning
	if strings.TrimSpace(r.Open.Text) == "" || strings.TrimSpace(r.Close.Text) == "" {
		return
	}
	inline := answering(r.Open.Text + "REASONNEEDLE" + r.Close.Text + "ANSWERNEEDLE")
	for _, after := range [][]ordered.Value{{userTurn2}, {}} {
		plain, err := s.raw(talk(append([]ordered.Value{userTurn, answerTurn}, after...)...), false)
		if err != nil || !plain.has("ANSWERNEEDLE") {
			continue // A014 is about it
		}
		both, err := s.raw(talk(append([]ordered.Value{userTurn, inline}, after...)...), false)
		if err == nil && !both.has("ANSWERNEEDLE") {
			find(both.of("USERNEEDLE"), "the content %s loses its answer: %s",
				jsonString(inline.At("content").Text()), both.quote("USERNEEDLE"))
			return
		}
	}
}

// checkCallsBegin asks whether calls begin with the generation prompt where answers do. Reasoning
// that the prompt opens or closes need not be in the history.
func checkCallsBegin(s *Subject, find finder) {
	if !s.supports(find, replaysCalls) || !s.supports(find, describesTools) {
		return
	}
	prompt, err := s.fitted(talk(userTurn), true, true)
	if err != nil {
		return // A066 is about it
	}
	begin := func(turns ...ordered.Value) (some rendering, ok bool) {
		for _, turn := range turns {
			r, err := s.fitted(talk(userTurn, turn), true, false)
			if err != nil {
				return r, true // nobody knows
			}
			if strings.HasPrefix(r.text, prompt.text) {
				return r, true
			}
			some = r
		}
		return some, false
	}
	if _, ok := begin(answerTurn, thinkingTurn); !ok {
		return // A019 is about it
	}
	call, ok := begin(callTurn, fullTurn(callValue), callTurn.With("reasoning_content",
		ordered.Str("REASONNEEDLE")), callTurn.With("content", ordered.Str("ANSWERNEEDLE")))
	if ok {
		return
	}
	at := report.Parting(call.text, prompt.text)
	rest := prompt.text[at:]
	r := s.Template.Analysis().Format.Reasoning
	for _, marker := range []string{r.Open.Text, r.Close.Text} {
		if marker = strings.TrimSpace(marker); marker != "" && strings.Contains(rest, marker) {
			return
		}
	}
	if strings.TrimSpace(rest) == "" || at < strings.Index(prompt.text, "USERNEEDLE") {
		return
	}
	find(prompt.at(at), "the generation prompt ends in text with which no call begins\n%s",
		report.Sides("call", call.text, "prompt", prompt.text))
}

// checkOlderReasoning puts the model's messages before and between questions. The template keeps
// the reasoning of all that stand before the last question, or of none of them.
func checkOlderReasoning(s *Subject, find finder) {
	if s.Template.Caps().Needs.ReasoningField == "" || !s.quiet(checkLoopReasoning) {
		return
	}
	thoughts := [...]string{"THOUGHTONE", "THOUGHTTWO", "THOUGHTSIX"}
	answer := func(i int) []ordered.Value {
		return talk(answerTurn.With("reasoning_content", ordered.Str(thoughts[i])))
	}
	call := func(i int) []ordered.Value {
		return talk(callTurn.With("reasoning_content", ordered.Str(thoughts[i])), resultTurn,
			answerTurn)
	}
	for _, turn := range [...]func(i int) []ordered.Value{answer, call} {
		if len(turn(0)) > 1 && !s.Template.Caps().ToolCalls {
			return
		}
		for _, begin := range [][]ordered.Value{{}, {userTurn}} {
			for _, mode := range thinkingModes()[:2] {
				if s.keepsSome(find, slices.Concat(begin, turn(0), talk(userTurn), turn(1),
					talk(userTurn), turn(2), talk(userTurn2)), thoughts[:], mode) {
					return
				}
			}
		}
	}
}

// keepsSome reports whether a prompt has some of the thoughts and not all.
func (s *Subject) keepsSome(find finder, messages []ordered.Value, thoughts []string,
	mode thinkingMode) bool {
	p, err := s.ask(chat.Request{Messages: messages, Tools: called(), EnableThinking: mode.on})
	if err != nil {
		return false
	}
	gone := p.lacks(thoughts...)
	if len(gone) == 0 || len(gone) == len(thoughts) ||
		slices.Equal(gone, thoughts[:len(thoughts)-1]) { // the model's last message keeps it
		return false
	}
	kept := slices.DeleteFunc(slices.Clone(thoughts), func(thought string) bool {
		return slices.Contains(gone, thought)
	})
	find(p.of(kept[0]), "of three turns before the last question %d lost the reasoning, and this "+
		"one did not: %s", len(gone), p.quote(kept[0]))
	return true
}
