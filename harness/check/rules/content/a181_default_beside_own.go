package content

import (
	"strings"
	"unicode"

	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/report"
)

// DefaultBesideOwn is the rule A181: instructions of the template's own follow those of the client,
// and are missing where the client sends none.
var DefaultBesideOwn = &probe.Rule{
	Rule: rule.Rule{
		ID: "A181", Name: "default-beside-own", Severity: rule.Warning, Harm: rule.Misread,
		Short: "The template's default instructions follow those of the client, and are missing " +
			"where the client sends none.",
		Damage: "The model is told twice who it is, and the later text wins; a request without a " +
			"system message lacks the default that was meant for it.",
		Fix: "Turn the condition around, or write the default in the `else` branch of the one " +
			"that writes the client's.",
	},
	Find: findDefaultBesideOwn,
}

// The most words that headers have before a question, and the fewest of a sentence beside them.
const maxHeader, minSentence = 2, 5

// findDefaultBesideOwn compares what the template writes before a question with and without
// instructions.
func findDefaultBesideOwn(s *probe.Subject, find probe.Finder) {
	with, err1 := prompts.Observe(s, sample.Talk(s.SystemTurn(), sample.User), false, true)
	without, err2 := prompts.Observe(s, sample.Talk(sample.User), false, true)
	if err1 != nil || err2 != nil {
		return // other rules are about it
	}
	told, asked := strings.Index(with.Text, "SYSTEMNEEDLE"), strings.Index(with.Text, "USERNEEDLE")
	alone := strings.Index(without.Text, "USERNEEDLE")
	if told < 0 || asked < told || alone < 0 || wordsIn(without.Own()[:alone]) > maxHeader ||
		wordsIn(with.Own()[told:asked]) < minSentence {
		return
	}
	between := with.Own()[told:asked]
	at := told + strings.IndexFunc(between, unicode.IsLetter)
	for m := range markup.Each(between) { // the header of the template's own message
		if wordsIn(between[m.To:]) >= minSentence {
			at = told + m.To
		}
	}
	line, _, _ := strings.Cut(strings.TrimSpace(with.Own()[at:asked]), "\n")
	if strings.Contains(without.Own(), line) {
		return // every message has it
	}
	find(with.At(at), "the template's own system text follows the client's, and a "+
		"request without a system message has none\nwithout: %s", report.Quote(without.Text, alone))
}

// wordsIn is how many words a text has beside its markers.
func wordsIn(own string) int {
	var b strings.Builder
	from := 0
	for m := range markup.Each(own) {
		b.WriteString(own[from:m.At] + " ")
		from = m.To
	}
	b.WriteString(own[from:])
	return len(strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) }))
}
