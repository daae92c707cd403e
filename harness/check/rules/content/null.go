package content

import (
	"strings"

	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/view"
	"github.com/goassay/assay/harness/report"
)

// findNull finds a null that is printed: a word that is not there where the content is an empty
// string.
func findNull(s *probe.Subject, find probe.Finder, what string, prompt, empty probe.Rendering) {
	for _, word := range []string{"None", "null"} {
		if strings.Count(prompt.Text, word) > strings.Count(empty.Text, word) {
			at := report.Parting(prompt.Text, empty.Text)
			find(prompt.Made(at), "%s is printed as the word %s%s", what, word,
				view.Hurt(prompt.Program, prompt.In,
					func(text string, _ error) bool {
						return strings.Count(text, word) > strings.Count(empty.Text, word)
					}))
			return
		}
	}
}
