package conditions

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/report"
)

// PromptHangsOnWords is the rule A077: words in a message that is not the model's own change the
// rest of the prompt.
var PromptHangsOnWords = &probe.Rule{
	Rule: rule.Rule{
		ID: "A077", Name: "prompt-hangs-on-words", Severity: rule.Warning, Harm: rule.Changed,
		Short: "A word in a user, system or tool message changes the rest of the prompt.",
		Damage: "Whoever writes the word, or brings it in through a tool, changes the prompt; a " +
			"template can so hide from tests what it does.",
		Fix: "Let a variable such as enable_thinking decide, and not the text of messages.",
	},
	Find: checkWords,
}

// maxWords bounds the words that are tried.
const maxWords = 32

// checkWords renders conversations in which a message has a word that the template compares it
// with, and again with a word that looks like it. The prompts may differ in the word itself only.
func checkWords(s *probe.Subject, find probe.Finder) {
	tried := 0
	for _, role := range []string{"user", "system", "tool"} {
		base := sample.Talk(sample.User)
		switch role {
		case "system":
			base = sample.Talk(sample.System, sample.User)
		case "tool":
			base = sample.Talk(sample.User, sample.CallTurn, sample.Result)
		}
		at := slices.IndexFunc(base,
			func(m ordered.Value) bool { return m.At("role").Text() == role })
		first := probe.Nowhere // of the words for a role, which are one finding
		for _, word := range wordsOf(s, base, at) {
			if tried++; tried > maxWords {
				return
			}
			tryWord(s, find, base, at, word, &first)
		}
	}
}

// wordsOf returns the words that the text of a message is compared with, or searched for.
func wordsOf(s *probe.Subject, messages []ordered.Value, at int) []string {
	in := inputOf(s, messages)
	o, _ := s.Template.ChatTemplate().Observe(in) // the trace is there even where rendering fails
	var found []string
	for _, c := range o.Trace.Comparisons() {
		m := prompts.Spoken.FindStringSubmatch(c.Path)
		if m == nil || m[1] != fmt.Sprint(at) ||
			!strings.ContainsFunc(c.Literal, unicode.IsLetter) ||
			slices.Contains(found, c.Literal) {
			continue
		}
		found = append(found, c.Literal)
	}
	return found
}

func inputOf(s *probe.Subject, messages []ordered.Value) chattemplate.Input {
	return chattemplate.Input{Messages: messages, Tools: s.Tools(), Generate: true,
		Kwargs: s.Template.Caps().Needs.Bound}
}

// tryWord reports a word that changes more of the prompt than itself.
func tryWord(s *probe.Subject, find probe.Finder, messages []ordered.Value, at int, word string,
	first *probe.Where) {
	other := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r < 'z' || r >= 'A' && r < 'Z':
			return r + 1
		case r == 'z' || r == 'Z':
			return r - 25
		}
		return r
	}, word)
	if other == word {
		return
	}
	for _, around := range [][2]string{{"Is it so: ", " or not?"}, {"", ""}, {"", " please"},
		{"please ", ""}} {
		prompt, with := rest(s, messages, at, around, word)
		_, without := rest(s, messages, at, around, other)
		if with == without {
			continue
		}
		role := messages[at].At("role").Text()
		switch {
		case role == "system", // whoever writes the instructions may write what the template offers
			role == "user" && isSwitch(prompt, around, word):
			find = probe.Weigh(find, rule.Note)
		}
		if !first.Known() {
			*first = wordAt(s, messages, at, around[0]+word+around[1], func(prompt string) bool {
				return strings.ReplaceAll(prompt, strings.TrimSpace(word), "") == without
			})
		}
		find(*first, "%q in a %s message changes the rest of the prompt\n%s\n"+
			"harm: whoever writes it, or a page that a tool reads, decides what the model sees",
			word, role, report.Sides("with", with, "without", without))
		return
	}
}

// isSwitch reports whether a word is offered to those who ask: the template takes it out of the
// message, and writes what stands around it.
func isSwitch(prompt string, around [2]string, word string) bool {
	return !strings.Contains(prompt, word) && around[0]+around[1] != "" &&
		strings.Contains(prompt, strings.TrimSpace(around[0])) &&
		strings.Contains(prompt, strings.TrimSpace(around[1]))
}

// rest is the prompt for a message with a word, and the same with the word taken out, or the error
// in the place of the prompt; the white space around the word may be cut off.
func rest(s *probe.Subject, messages []ordered.Value, at int, around [2]string,
	word string) (prompt, rest string) {
	prompt, err := s.Template.ChatTemplate().Render(inputOf(s, changed(messages, at,
		around[0]+word+around[1])))
	word = strings.TrimSpace(word)
	if err != nil {
		return "", "error: " + strings.ReplaceAll(probe.FirstLine(err), word, "")
	}
	return prompt, strings.ReplaceAll(prompt, word, "")
}

// wordAt is where the template decides by the text of a message, else where it looks at it first.
func wordAt(s *probe.Subject, messages []ordered.Value, at int, text string,
	mended func(string) bool) probe.Where {
	in := inputOf(s, changed(messages, at, text))
	first := probe.Nowhere.Shown(in)
	o, _ := s.Template.ChatTemplate().Observe(in)
	if read, ok := o.Trace.Reading(fmt.Sprintf("messages[%d].content", at)); ok {
		first = probe.Offset(read.First).Shown(in)
	}
	return s.Rendered(o.String, in).Cause(first, mended)
}

// changed gives a message another text.
func changed(messages []ordered.Value, at int, text string) []ordered.Value {
	messages = slices.Clone(messages)
	messages[at] = messages[at].With("content", ordered.Str(text))
	return messages
}
