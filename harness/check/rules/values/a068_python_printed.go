package values

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/fact/spelling"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// PythonPrinted is the rule A068: arguments or tools are printed as Python writes values, although
// the calls of the format are JSON.
var PythonPrinted = &probe.Rule{
	Rule: rule.Rule{
		ID: "A068", Name: "python-printed", Severity: rule.Warning, Harm: rule.Changed,
		Short: "Arguments or tools are printed as Python values; the model's calls are JSON.",
		Damage: "The model reads `{'city': None, 'now': True}` and writes the same, which no " +
			"JSON parser takes.",
		Fix: "Print values with `tojson`.",
	},
	Find: checkPython,
}

// doublyQuoted reports whether the template itself writes keys around the arguments of a call as
// JSON does.
func doublyQuoted(s *probe.Subject) bool {
	history, ok := spelling.Spelled(s)
	return ok && slices.ContainsFunc(history.Pieces,
		func(p spelling.Piece) bool { return p.Quote == '"' })
}

// checkSpellings compares the two forms of arguments: what is JSON in one of them, or in the object
// around them, is JSON in the other.
func checkSpellings(s *probe.Subject, find probe.Finder) {
	object, err := s.WithArguments(sample.Arguments)
	const python = `{'city': 'CITYNEEDLE'`
	if err != nil || !object.Has(python) {
		return
	}
	if !pythonic(s) { // every server gives objects
		find = probe.Weigh(find, rule.Error)
	}
	text, err := s.WithArguments(sample.ArgumentsText)
	switch {
	case err == nil && text.Has(`{"city": "CITYNEEDLE"`):
		find(object.Of(python), "arguments that come as an object are printed as Python, those "+
			"that come as a string as JSON")
	case doublyQuoted(s):
		find(object.Of(python), "arguments are printed as Python, in an object that is JSON "+
			"otherwise")
	}
}

// pythonic reports whether calls are as Python writes them, so that tools may be as well.
func pythonic(s *probe.Subject) bool {
	return !doublyQuoted(s) && slices.ContainsFunc(s.Template.Analysis().Format.Calls,
		func(c format.Calls) bool {
			return c.Body.Kind > format.BodyTagged || c.Object != nil && c.Object.Quote == '\''
		})
}

func checkPython(s *probe.Subject, find probe.Finder) {
	if s.Template.Caps().ToolCalls {
		checkSpellings(s, find)
	}
	if pythonic(s) {
		return
	}
	arguments := !slices.ContainsFunc(s.Template.Analysis().Format.Calls,
		func(c format.Calls) bool { // where the format has no code of its own
			return c.Body.Codec != (format.Codec{})
		})
	if !prompts.Heard(s, find) {
		return
	}
	seen := map[int]bool{}
	for t := range prompts.Rendered(s) {
		for at, r := range t.Seen.All() {
			printed := r.Path == "tools" || strings.HasPrefix(r.Path, "tools[") ||
				arguments && strings.Contains(r.Path, ".arguments")
			if printed && r.Codec == jinja.Python && r.Role == jinja.Structure {
				if w, ok := t.Seen.Trace.WriteAt(at); ok && !seen[w.Off] {
					seen[w.Off] = true
					// the name of a type is read either way
					find := probe.NoteIf(strings.HasSuffix(r.Path, ".type"), find)
					t.Show(s, find, at, "a value that is not a string is printed as Python, not "+
						"as JSON: %s", r.Path)
				}
			}
		}
	}
}
