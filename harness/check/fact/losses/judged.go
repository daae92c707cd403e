package losses

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/sample"
)

// sentences is how many words of the template's own are a task and no heading.
const sentences = 12

// IsTask reports whether sentences of the template's own follow the last text of a prompt: the
// conversation stands in a task, such as that of a model that judges the answers of another one.
func IsTask(prompt, last string) bool {
	_, end, _ := strings.Cut(prompt, last)
	return len(strings.Fields(end)) >= sentences
}

// Judged tells whether a template gives its model the task to judge what others said, as those of
// guards do: it writes no calls, and either sentences of its own follow the last message; or it
// knows no tools, has such sentences where nobody gave instructions, and what the end of the prompt
// begins an answer with stands before no answer of the history.
var Judged = probe.NewFact(func(s *probe.Subject) bool {
	c := s.Template.Caps()
	asked, err1 := s.Fitted(sample.Talk(sample.User), false, true)
	told, err2 := s.Fitted(sample.Talk(sample.User, sample.Answer), false, true)
	before, after, ok := strings.Cut(asked.Text, "USERNEEDLE")
	_, history, also := strings.Cut(told.Text, "USERNEEDLE")
	gap, end, written := strings.Cut(history, "ANSWERNEEDLE")
	if c.ToolCalls || err1 != nil || err2 != nil {
		return false
	}
	if IsTask(asked.Text, "USERNEEDLE") || IsTask(told.Text, "ANSWERNEEDLE") {
		return true
	}
	if c.Tools || !ok || !also || !written {
		return false
	}
	header := strings.TrimSpace(source.CommonSuffix(after, end))
	parts := append(strings.Split(header, "\n"), header)
	tight := strings.NewReplacer(" ", "", "\n", "").Replace
	for _, m := range markup.In(header) {
		parts = append(parts, header[m.At:m.To])
	}
	return header != "" && len(strings.Fields(before)) >= sentences &&
		!slices.ContainsFunc(parts, func(part string) bool {
			return strings.TrimSpace(part) != "" && strings.Contains(tight(gap), tight(part)) &&
				(part == header || !strings.Contains(before, part))
		})
})
