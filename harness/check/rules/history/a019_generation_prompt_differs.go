package history

import (
	"fmt"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/harness/check/fact/boundary"
	"github.com/goassay/assay/harness/check/fact/losses"
	"github.com/goassay/assay/harness/check/fact/reason"
	"github.com/goassay/assay/harness/check/fact/round"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/report"
)

// GenerationPromptDiffers is the rule A019: the generation prompt is not how the template begins
// the same turn in the history.
var GenerationPromptDiffers = &probe.Rule{
	Rule: rule.Rule{
		ID: "A019", Name: "generation-prompt-differs", Severity: rule.Warning, Harm: rule.Misread,
		Short: "The generation prompt is not the text that assistant messages in the history " +
			"begin with.",
		Damage: "The next prompt does not start with this one, so the server cannot reuse it.",
		Fix: "Write what stands before an answer in one way: in the generation prompt as before " +
			"assistant messages in the history.",
	},
	Requires: []string{"A059", "A071", "A173"},
	Find:     checkGeneration,
}

// checkGeneration reports the first prompt that parts from its turn, and the first that ends before
// the text that the template always writes there.
func checkGeneration(s *probe.Subject, find probe.Finder) {
	checkGenerationOfCalls(s, find)
	if m, ok := round.Overprompted(s.Template.ChatTemplate()); ok {
		f, _ := boundary.FrameOf(s)
		prompt, err := s.Render(m.Input)
		before := strings.TrimSuffix(prompt.Text[:min(m.Off, len(prompt.Text))], m.Header)
		if err == nil && !(s.Fires("A059") && // which is about headers that are missing after it
			strings.HasSuffix(strings.TrimSpace(before), f.Closer)) {
			find(prompt.At(m.Off-1), "after a tool message the generation prompt writes %s, and "+
				"no assistant message there has it in the history",
				probe.JSON(m.Header))
		}
	}
	parts, early := false, false
	for _, mode := range reason.ThinkingModes() {
		ask := chat.Request{Messages: sample.Talk(sample.User), EnableThinking: mode.On}
		prompt, err := s.Template.Render(ask)
		if err != nil {
			if mode.On == nil || !probe.Worded(err) { // else the switch is refused
				probe.Unjudged(find, fmt.Errorf("%s: %w", mode.Name, err))
			}
			continue
		}
		asked := ask
		answer := sample.Answer
		if prefill, err := prompt.Prefill(); err == nil && reason.Opened(s, prefill) != "" {
			answer = sample.Thinking
		}
		ask.Messages, ask.NoGeneration = sample.Talk(sample.User, answer), true
		turn, err := s.Template.Render(ask)
		if !probe.Judged(find, err) || !strings.Contains(turn.Text, "ANSWERNEEDLE") {
			continue // a history that has no answers is A014's
		}
		rest, begins := strings.CutPrefix(turn.Text, prompt.Text)
		at := report.Parting(turn.Text, prompt.Text)
		switch {
		case !begins && s.Fires("A173") && strings.HasPrefix(bare(turn.Text), bare(prompt.Text)):
			// the indentation is another rule's
		case !begins && (losses.IsTask(prompt.Text, "USERNEEDLE") ||
			losses.IsTask(turn.Text, "ANSWERNEEDLE")):
			return
		case !begins && !parts && !asksForOther(prompt.Text, turn.Text):
			parts = true
			written, _ := s.Ask(asked)
			find := find
			rest := prompt.Text[opens(s, prompt.Text, at):]
			begun, _, _ := strings.Cut(turn.Text[at:], "ANSWERNEEDLE")
			header := strings.TrimSpace(begun)
			if _, after, ok := strings.Cut(rest, header); ok && header != "" && mode.On != nil {
				rest = after // words before the header tell the model of the switch
			}
			if strings.TrimSpace(rest) != "" && onlyReasoning(s, rest) &&
				!strings.Contains(begun, strings.TrimSpace(
					s.Template.Analysis().Format.Reasoning.Close.Text)) {
				find = probe.Weigh(find, rule.Note) // the history leaves reasoning out
			}
			harm := "the model continues from tokens that no assistant message in the history " +
				"follows"
			if rest = strings.TrimSpace(rest); rest != "" && strings.HasSuffix(
				strings.TrimSpace(turn.Text), rest) {
				harm = "the model writes after the end of a turn; prompts for embedding and " +
					"reward models end so"
			}
			find(written.At(at), "%spast assistant messages do not begin as the "+
				"generation prompt does\n%s\nharm: %s", mode.Lead(s),
				report.Sides("history", turn.Text, "prompt", prompt.Text), harm)
		case begins && !early && endsEarly(s, rest, mode, prompt.Text):
			early = true
			written, _ := s.Ask(asked)
			// the model writes the line feed itself
			find := probe.NoteIf(strings.HasPrefix(rest, "\n") && marked(s, prompt.Text), find)
			find(written.At(len(prompt.Text)-1), "%sthe prompt stops before text that begins "+
				"each assistant message in the history\n%s", mode.Lead(s),
				report.Sides("history", turn.Text, "prompt", prompt.Text))
		}
	}
}

// bare is a text without its white space.
func bare(text string) string { return strings.Join(strings.Fields(text), "") }

// opens is where the marker begins that opens reasoning at an offset of a prompt; the offset where
// there is none. The marker of an answer may begin as that of reasoning does.
func opens(s *probe.Subject, prompt string, off int) int {
	marker := strings.TrimSpace(s.Template.Analysis().Format.Reasoning.Open.Text)
	at := strings.LastIndex(prompt[:min(len(prompt), off+len(marker))], marker)
	if marker != "" && at >= 0 && at < off && off < at+len(marker) {
		return at
	}
	return off
}

// checkGenerationOfCalls asks the same of calls, for white space.
func checkGenerationOfCalls(s *probe.Subject, find probe.Finder) {
	if c := s.Template.Caps(); !c.ToolCalls || !c.Tools || s.Fires("A071") {
		return
	}
	prompt, err1 := s.Fitted(sample.Talk(sample.User), true, true)
	call, err2 := s.Fitted(sample.Talk(sample.User, sample.CallTurn), true, false)
	answer, err3 := s.Fitted(sample.Talk(sample.User, sample.Answer), true, false)
	trimmed := strings.TrimRight(prompt.Text, " \n")
	if err1 == nil && err2 == nil && err3 == nil && strings.HasPrefix(answer.Text, prompt.Text) &&
		strings.HasPrefix(call.Text, trimmed) && !strings.HasPrefix(call.Text, prompt.Text) {
		find(prompt.At(len(prompt.Text)-1), "the prompt ends in white space that tool calls in "+
			"the history do not begin with\n%s", report.Sides("history", call.Text, "prompt",
			prompt.Text))
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
func endsEarly(s *probe.Subject, rest string, mode reason.ThinkingMode, prompt string) bool {
	if marked(s, prompt) {
		return strings.HasPrefix(rest, "\n")
	}
	r := s.Template.Analysis().Format.Reasoning
	if mode.On == nil || *mode.On || r.Close.Text == "" ||
		!strings.HasPrefix(strings.TrimSpace(rest), strings.TrimSpace(r.Close.Text)) {
		return false
	}
	yes := true
	on, err := reason.PlainQuestion(s, &yes, true)
	return err == nil && on.Text != prompt
}

// marked reports whether a prompt ends with a marker of reasoning.
func marked(s *probe.Subject, prompt string) bool {
	r := s.Template.Analysis().Format.Reasoning
	for _, marker := range []string{r.Open.Text, r.Close.Text} {
		if marker = strings.TrimSpace(marker); marker != "" && strings.HasSuffix(prompt, marker) {
			return true
		}
	}
	return false
}
