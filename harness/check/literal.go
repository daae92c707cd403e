package check

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/rule"
)

// literalRules come from the literals with which a template compares the texts of others.
var literalRules = []lookout{
	{Rule: rule.Rule{ID: "A077", Name: "prompt-hangs-on-words", Severity: rule.Warning,
		Short: "Words in a message that is not the model's own change the rest of the prompt.",
		Damage: "Whoever writes such a word, or brings it in by a tool's result, changes the " +
			"prompt; a template can show those who test it another face.",
		Fix: "Let a variable decide, such as enable_thinking, and leave the texts of " +
			"messages alone."}, Group: groupLint, Find: checkWords},
}

// maxWords bounds the words that are tried.
const maxWords = 32

// spoken is the path of the text of a message.
var spoken = regexp.MustCompile(`^messages\[(\d+)\]\.content(\[\d+\]\.text)?$`)

// checkWords renders conversations in which a message has a word that the template compares it
// with, and again with a word that looks like it. The prompts may differ in the word itself only.
func checkWords(s *Subject, find finder) {
	tried := 0
	for _, role := range []string{"user", "system", "tool"} {
		base := talk(userTurn)
		switch role {
		case "system":
			base = talk(systemTurn, userTurn)
		case "tool":
			base = talk(userTurn, callTurn, resultTurn)
		}
		at := slices.IndexFunc(base,
			func(m ordered.Value) bool { return m.At("role").Text() == role })
		for _, word := range s.wordsOf(base, at) {
			if tried++; tried > maxWords {
				return
			}
			s.tryWord(find, base, at, word)
		}
	}
}

// wordsOf returns the words that the text of a message is compared with, or searched for.
func (s *Subject) wordsOf(messages []ordered.Value, at int) []string {
	in := s.probe(messages)
	o, _ := s.Template.ChatTemplate().Observe(in) // the trace is there even where rendering fails
	var found []string
	for _, c := range o.Trace.Comparisons() {
		m := spoken.FindStringSubmatch(c.Path)
		if m == nil || m[1] != fmt.Sprint(at) ||
			!strings.ContainsFunc(c.Literal, unicode.IsLetter) ||
			slices.Contains(found, c.Literal) {
			continue
		}
		found = append(found, c.Literal)
	}
	return found
}

func (s *Subject) probe(messages []ordered.Value) chattemplate.Input {
	return chattemplate.Input{Messages: messages, Tools: s.tools(), Generate: true,
		Kwargs: s.Template.Caps().Needs.Bound}
}

// tryWord reports a word that changes more of the prompt than itself.
func (s *Subject) tryWord(find finder, messages []ordered.Value, at int, word string) {
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
		with, ok := s.rest(messages, at, around[0]+word+around[1], word)
		without, both := s.rest(messages, at, around[0]+other+around[1], other)
		if !ok || !both || with == without {
			continue
		}
		role := messages[at].At("role").Text()
		find(s.wordAt(messages, at), "the word %q in a message of the role %s changes the rest "+
			"of the prompt:\n%s", word, role, report.Sides("with", with, "without", without))
		return
	}
}

// rest is the prompt for a message with a text, the word in it taken out.
func (s *Subject) rest(messages []ordered.Value, at int, text, word string) (string, bool) {
	changed := slices.Clone(messages)
	changed[at] = changed[at].With("content", ordered.Str(text))
	out, err := s.Template.ChatTemplate().Render(s.probe(changed))
	if err != nil {
		return "error: " + strings.ReplaceAll(first(err), word, ""), true
	}
	return strings.ReplaceAll(out, word, ""), true
}

// wordAt is where the template looks at the text of a message first.
func (s *Subject) wordAt(messages []ordered.Value, at int) where {
	o, _ := s.Template.ChatTemplate().Observe(s.probe(messages))
	if read, ok := o.Trace.Reading(fmt.Sprintf("messages[%d].content", at)); ok {
		return where(read.First)
	}
	return nowhere
}
