package history

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/fact/boundary"
	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/fact/reason"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/report"
)

// GenerationPromptIgnored is the rule A071: the model's header ends the prompt whether a generation
// prompt is asked for or not, or never does.
var GenerationPromptIgnored = &probe.Rule{
	Rule: rule.Rule{
		ID: "A071", Name: "generation-prompt-ignored", Severity: rule.Warning, Harm: rule.Misread,
		Short: "The prompt ends in the assistant's header whether add_generation_prompt is set " +
			"or not, or never does.",
		Damage: "Where the header always stands, training texts end in an empty assistant " +
			"message; where it never does, the model continues the user message.",
		Fix: "Write the assistant's header at the end only `{% if add_generation_prompt %}`.",
	},
	Requires: []string{"A173"},
	Find:     checkAsked,
}

// checkAsked compares the end of a prompt after a question with the text between the question and
// the next message, under each setting of thinking. Where the model's turn has no header there is
// nothing to ask for.
func checkAsked(s *probe.Subject, find probe.Finder) {
	answer, turn := answerHeaders(s)
	header := answer
	if shared := strings.TrimSpace(turn); shared != "" && strings.HasPrefix(answer, shared) {
		header = shared // by the rest the model chooses between an answer and a call
	}
	checkReasoningAsked(s, find)
	for _, mode := range reason.ThinkingModes() {
		asked, err1 := reason.PlainQuestion(s, mode.On, true)
		not, err2 := reason.PlainQuestion(s, mode.On, false)
		for _, err := range []error{err1, err2} {
			if err != nil && (mode.On == nil || !probe.Worded(err)) { // else the switch is refused
				probe.Unjudged(find, fmt.Errorf("%s: %w", mode.Name, err))
			}
		}
		if err1 != nil || err2 != nil || !asked.Has("USERNEEDLE") {
			continue
		}
		_, end, _ := strings.Cut(not.Text, "USERNEEDLE")
		_, tail, _ := strings.Cut(asked.Text, "USERNEEDLE")
		rest, opens := strings.CutPrefix(header, strings.TrimSpace(end))
		others := slices.ContainsFunc(boundary.Gaps.Of(s),
			func(g boundary.Gap) bool { // something else may follow
				between := strings.TrimSpace(g.Text)
				return g.Before == conversation.Question && g.After == conversation.Question &&
					between != "" && !strings.HasPrefix(between, strings.TrimSpace(end))
			})
		shared := !slices.ContainsFunc(boundary.Gaps.Of(s),
			func(g boundary.Gap) bool { // it is nobody's header
				return (g.Before == conversation.Question || g.Before == conversation.Answer) &&
					g.After == conversation.Question && !strings.Contains(g.Text, rest)
			})
		more, longer := strings.CutPrefix(not.Text, asked.Text)
		more = strings.TrimSpace(more)
		open, follows := strings.CutPrefix(turn, tail)
		open = strings.TrimSpace(open)
		inverted := longer && more != "" && (strings.Contains(turn, more) || follows &&
			strings.ContainsFunc(open, unicode.IsLetter) && strings.HasPrefix(more, open))
		lacks := strings.TrimSpace(tail) != "" && strings.HasPrefix(turn, tail+"\n") &&
			(strings.TrimSpace(tail) == strings.TrimSpace(turn) || reason.Opened(s, tail) == "")
		switch {
		case inverted:
			find(not.At(len(not.Text)-1), "%s is written without add_generation_prompt, and "+
				"not with it", probe.JSON(more))
		case asked.Text == not.Text && opens && rest != "" && !shared && !opensEmpty(s, rest):
			find(asked.At(len(asked.Text)-1), "with add_generation_prompt, the prompt does not "+
				"end with the assistant's header\nit should end with: %s", probe.JSON(rest))
		case asked.Text == not.Text && opens && others:
			find(not.At(len(not.Text)-1), "the prompt ends with the assistant's header even "+
				"without add_generation_prompt\nwho: those who train on the text, or let the model "+
				"go on with its last message")
		case asked.Text != not.Text && opens && rest == "" && others &&
			strings.HasPrefix(end, strings.TrimSpace(tail)):
			find(not.At(len(not.Text)-1), "add_generation_prompt works the wrong way: the "+
				"assistant's header is there without it")
		case lacks || turn != "" && tail == turn+"\n" && begins(s, turn):
			// the model writes the line feed itself
			find := probe.NoteIf(lacks && endsMarked(tail), find)
			differs := "ends with a line break that the history lacks"
			if lacks {
				differs = "lacks the line break that the history has"
			}
			at, history := headerOf(s, asked.At(len(asked.Text)-1))
			find(at, "the prompt %s after the assistant's header\nthe prompt ends: %s\n"+
				"the history has: %s", differs, report.Quote(asked.Text, len(asked.Text)), history)
		default:
			continue
		}
		return
	}
}

// opensEmpty reports whether the header of an empty last answer ends the prompt: so a template asks
// for an answer that knows no generation prompt.
func opensEmpty(s *probe.Subject, header string) bool {
	prompt, err := s.Fitted(sample.Talk(sample.User, sample.AnswerOf("")), false, false)
	return err == nil && strings.HasSuffix(strings.TrimSpace(prompt.Text), header)
}

// endsMarked reports whether a header ends with a marker: the text behind it is cut into tokens
// alike, whoever writes it.
func endsMarked(header string) bool {
	all := markup.In(header)
	return len(all) > 0 && all[len(all)-1].To == len(header)
}

// headerOf is the place of a generation prompt with that of the same header in the history beside
// it, and the history there.
func headerOf(s *probe.Subject, asked probe.Where) (probe.Where, string) {
	for _, g := range boundary.Gaps.Of(s) {
		if g.Before == conversation.Question && g.After == conversation.Answer && g.To > g.At {
			return asked.Beside("the history's header is written", g.In.At(g.To-1)),
				report.Quote(g.In.Text, g.To)
		}
	}
	return asked, "nothing of the kind"
}

// checkReasoningAsked compares the marker with which a generation prompt closes reasoning with the
// same one in the history: does it follow its opener there, and does white space follow it?
func checkReasoningAsked(s *probe.Subject, find probe.Finder) {
	r := s.Template.Analysis().Format.Reasoning
	open, end := strings.TrimSpace(r.Open.Text), strings.TrimSpace(r.Close.Text)
	if open == "" || end == "" {
		return
	}
	alone, space, n := false, "", 0
	for t := range prompts.Rendered(s) {
		if len(t.Spans) == 0 {
			continue
		}
		own, tail := t.Own(), t.Tail()
		for at := t.Spans[0].To; at < tail; {
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
	for _, mode := range reason.ThinkingModes() {
		asked, err := reason.PlainQuestion(s, mode.On, true)
		if err != nil || n < prompts.Enough {
			continue
		}
		_, tail, _ := strings.Cut(asked.Text, "USERNEEDLE")
		before, after, closed := strings.Cut(tail, end)
		switch {
		case !closed:
		case !alone && !strings.Contains(before, open):
			find(asked.At(len(asked.Text)-1), "the prompt ends by closing reasoning that nothing "+
				"opens, unlike assistant messages in the history")
			return
		case after == "" && space != "" && !s.Fires("A173"):
			find(asked.At(len(asked.Text)-1), "the prompt ends right after %s, which %s follows "+
				"in the history", probe.JSON(end), probe.JSON(space))
			return
		}
	}
}

// answerHeaders returns the text that stands between a question and an answer in all of the
// history, without white space around it; and the text between a question and any text of the
// model.
func answerHeaders(s *probe.Subject) (answer, turn string) {
	first := true
	for _, g := range boundary.Gaps.Of(s) {
		between, _, _ := strings.Cut(g.Text, boundary.Hole)
		if g.Before != conversation.Question ||
			g.After != conversation.Answer && g.After != conversation.Call ||
			strings.TrimSpace(between) == "" {
			continue
		}
		if turn = source.CommonPrefix(turn, between); first {
			turn, first = between, false
		}
		if g.After == conversation.Answer && answer == "" {
			answer = strings.TrimSpace(between)
		} else if g.After == conversation.Answer {
			answer = source.CommonPrefix(answer, strings.TrimSpace(between))
		}
	}
	return answer, turn
}

// begins reports whether some text of the model follows a question and a header at once.
func begins(s *probe.Subject, header string) bool {
	return slices.ContainsFunc(boundary.Gaps.Of(s), func(g boundary.Gap) bool {
		return g.Before == conversation.Question && g.Text == header
	})
}
