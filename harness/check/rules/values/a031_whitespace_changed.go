package values

import (
	"strings"

	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// WhitespaceChanged is the rule A031: white space at the edges of a message's text is changed.
var WhitespaceChanged = &probe.Rule{
	Rule: rule.Rule{
		ID: "A031", Name: "whitespace-changed", Severity: rule.Note, Harm: rule.Changed,
		Short:  "White space at the edges of content is changed.",
		Damage: "The model's output and its copy in the history differ; the cache is lost.",
		Fix:    "Do not `trim` content.",
	},
	Find: checkSpace,
}

func checkSpace(s *probe.Subject, find probe.Finder) {
	const padded = " \n PADDEDNEEDLE \n "
	for i, role := range []string{"user", "assistant"} {
		turns := sample.Talk(sample.User, sample.Answer, sample.LaterUser)
		turns[i] = sample.WithText(turns[i], padded)
		prompt, err := s.Fitted(turns, false, true)
		// Where a message is written as JSON its line feeds are escapes.
		plain := strings.ReplaceAll(prompt.Text, `\n`, "\n")
		if probe.Judged(find, err) && prompt.Has("PADDEDNEEDLE") &&
			!strings.Contains(plain, padded) {
			find(prompt.Of("PADDEDNEEDLE"), "white space around the text of a message with the "+
				"role %s is cut off", role)
		}
	}
}
