package values

import (
	"strings"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// ValuesAsPython is the rule A128: arguments between tags that are no text are written as Python
// does.
var ValuesAsPython = &probe.Rule{
	Rule: rule.Rule{
		ID: "A128", Name: "values-as-python", Severity: rule.Warning, Harm: rule.Changed,
		Short:  "Arguments between tags that are not strings are written as Python values.",
		Damage: "The model writes True, None and single quotes where a parser expects JSON.",
		Fix:    "Write everything but strings with `tojson`, if the model was trained so.",
	},
	Find: checkTaggedPython,
}

// checkTaggedPython writes values of several types between the tags of arguments.
func checkTaggedPython(s *probe.Subject, find probe.Finder) {
	calls := s.Template.Analysis().Format.Calls
	if len(calls) == 0 {
		return
	}
	body := calls[0].Body
	if body.Kind != format.BodyTagged && (body.Kind != format.BodyDict || body.Codec.Quote == "") {
		return // JSON; or Python, whose quotes are its own
	}
	plain, err := s.WithArguments(sample.Arguments)
	if !probe.Judged(find, err) {
		return
	}
	before, _, _ := strings.Cut(plain.Text, "CITYNEEDLE")
	if strings.HasSuffix(strings.TrimRight(before, `'"`), "=") {
		return // an argument of a call that is written as in Python
	}
	for _, form := range [...]struct {
		value   ordered.Value
		printed string
	}{{sample.City(ordered.Str("CITYNEEDLE")), `{'city': 'CITYNEEDLE'}`}, {ordered.Boolean(true),
		"True"},
		{ordered.Value{}, "None"}} {
		if form.value.IsNull() && body.Kind == format.BodyDict {
			return // None is all that the formats with quotes of their own have for it
		}
		odd, err := s.WithArguments(sample.Arguments.With("days", form.value))
		if err == nil && strings.Count(odd.Text, form.printed) >
			strings.Count(plain.Text, form.printed) {
			find(odd.Made(strings.Index(odd.Text, form.printed)), "in a tool call's arguments, the "+
				"value %s is written as %s, as Python does\nsent by: every client that sends such a call "+
				"back", form.value, form.printed)
			if form.value.Kind() != ordered.Object { // the others are of one sort
				return
			}
		}
	}
}
