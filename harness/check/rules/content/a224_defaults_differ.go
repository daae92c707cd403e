package content

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/report"
)

// DefaultsDiffer is the rule A224: the text that the template writes in place of a missing system
// message gives the model one identity with tools and another one without.
var DefaultsDiffer = &probe.Rule{
	Rule: rule.Rule{
		ID: "A224", Name: "defaults-differ", Severity: rule.Warning, Harm: rule.Misread,
		Short: "The default instructions give the model one name with tools and another one " +
			"without.",
		Damage: "The model is told to be another model as soon as a request has tools.",
		Fix:    "Set the default once, before the branches, and write it in both.",
	},
	Find: checkDefaults,
}

// ofTools matches a default that is about tools, and so is meant for them.
var ofTools = regexp.MustCompile(`(?i)\b(?:tools?|functions?)\b`)

// within matches a word, and takes it where it does not begin a sentence.
var within = regexp.MustCompile(`(?:^|[.!?:\n])\PL*\pL+|(\pL+)`)

// names reports whether a text has a name that another one has not: a word with a capital letter
// that does not begin a sentence.
func names(text, other string) bool {
	words := strings.FieldsFunc(other, func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.ContainsFunc(within.FindAllStringSubmatch(text, -1), func(m []string) bool {
		return len(m[1]) > 1 && unicode.IsUpper([]rune(m[1])[0]) && !slices.Contains(words, m[1])
	})
}

// checkDefaults takes the default for what stands where the client's instructions stand otherwise.
func checkDefaults(s *probe.Subject, find probe.Finder) {
	var defaults [2]string
	var shown probe.Rendering
	for i, tools := range []bool{false, true} {
		told, err1 := s.Fitted(sample.Talk(s.SystemTurn(), sample.User), tools, true)
		alone, err2 := s.Fitted(sample.Talk(sample.User), tools, true)
		before, after, ok := strings.Cut(told.Text, "SYSTEMNEEDLE")
		same, end := len(source.CommonPrefix(before, alone.Text)),
			len(source.CommonSuffix(after, alone.Text))
		if err1 != nil || err2 != nil || !ok || same < len(before) || end < len(after) ||
			same+end >= len(alone.Text) {
			return
		}
		defaults[i], shown = alone.Text[same:len(alone.Text)-end], alone
	}
	if names(defaults[0], defaults[1]) && names(defaults[1], defaults[0]) &&
		!ofTools.MatchString(defaults[1]) {
		find(shown.Of(defaults[1]), "without a system message the model is given another name with "+
			"tools than without\nwithout tools: %s\nwith tools: %s",
			report.Quote(defaults[0], 0), report.Quote(defaults[1], 0))
	}
}
