package probe

import (
	"slices"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation"
)

// Options control how a template is checked. The zero value is usable.
type Options struct {
	Renderer   chattemplate.Renderer // the second renderer to compare with; nil: none
	Suppressed map[string]string     // rule ids with reasons, beside those in the template
	// the rules that comments in the template may suppress; nil: any
	Accepted  *[]string
	Fallbacks []string // names of fallback spellings that whatever parses allows
	Only      []string // ids of the rules to run; nil: all
	Requests  bool     // findings keep the requests that show them
	// Known are the results without edits that ask what a value is, such as text or missing, and
	// put another in its place: rules that compare sizes ([rule.Check].Sized) keep theirs, since
	// such edits tell no requests apart that differ in these alone. nil: nothing is known
	Known []rule.Result
	// the conversations on which the template is tried; nil: those of the usual seed
	Grammar *conversation.Grammar
	// Differ names in a word how two templates differ, and in which part; "" where nobody can
	// observe a difference. [Model] needs it.
	Differ func(was, is subject.Source) (class, evidence string)
	// Evidence tells, on a line that begins with a line feed, what other templates do with what an
	// input loses, as [Where.Losing] has it; "" where nothing is known. nil: nobody asks.
	Evidence func(s *Subject, in chattemplate.Input, lost string) string
}

// Runs reports whether a rule is to be run.
func (o Options) Runs(id string) bool { return o.Only == nil || slices.Contains(o.Only, id) }
