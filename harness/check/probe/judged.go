package probe

import (
	"errors"
	"fmt"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/view"
	"github.com/goassay/assay/harness/conversation/sent"
)

// TooCostly is the rule of a template whose renders met their limit: its finding voids those of the
// others.
const TooCostly = "A056"

// Unjudged tells that a rule is not judged, and why.
func Unjudged(find Finder, why error) { find(Nowhere, "%w", rule.NotJudged{Why: why}) }

// NoteIf returns a finder whose findings are notes where nobody is hurt.
func NoteIf(harmless bool, find Finder) Finder {
	if harmless {
		return Weigh(find, rule.Note)
	}
	return find
}

// Weigh returns a finder whose findings have a severity of their own, whatever that of the rule.
func Weigh(find Finder, severity rule.Severity) Finder {
	return func(at Where, format string, args ...any) {
		find(at, "%w", &rule.Weighed{Severity: severity, What: fmt.Errorf(format, args...)})
	}
}

// InParts names the engines that make a fault of a prompt whose content came in parts. It is an
// error where they make parts of all content.
func (r Rendering) InParts(find Finder, fault func(string, error) bool) (Finder, string) {
	served := r.In // as clients send it that do not write parts
	served.Messages = sent.Joined(served.Messages)
	if who := view.Hurt(r.Program, served, fault); who != "" {
		return Weigh(find, rule.Error), who + ", which make parts of all content for this template"
	}
	who := view.Hurt(r.Program, r.In, fault)
	if who != "" {
		who += ", for clients that send parts"
	}
	return find, who
}

// Judged reports whether probes rendered; where one did not, the rule is not judged.
func Judged(find Finder, probes ...error) bool {
	for _, err := range probes {
		if err != nil {
			Unjudged(find, err)
			return false
		}
	}
	return true
}

// Supports reports whether the template has a capability that a rule is about; where that is not
// known, the rule is not judged.
func (s *Subject) Supports(find Finder, capability string) bool {
	c := s.Template.Caps()
	if err := c.WhyUnjudged(capability); err != nil {
		Unjudged(find, err)
		return false
	}
	has, _ := c.Supports(capability)
	return has
}

// IfReplays returns the function of a rule that is judged where the template writes calls.
func IfReplays(check func(*Subject, Finder)) func(*Subject, Finder) {
	return func(s *Subject, find Finder) {
		if s.Supports(find, ReplaysCalls) {
			check(s, find)
		}
	}
}

const (
	DescribesTools = "supports_tools"
	ReplaysCalls   = "supports_tool_calls"
)

// Worded reports whether the template refused in its own words.
func Worded(err error) bool { return jinja.Class(err) == "TemplateError" }

// ErrCut is why nothing is judged of a template whose renders were cut off.
var ErrCut = errors.New("the look at the template was cut off, see " + TooCostly)
