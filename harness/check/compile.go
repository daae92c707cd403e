package check

import (
	"errors"
	"unicode/utf8"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/rule"
	"github.com/goassay/assay/harness/subject"
)

var compileRules = []lookout{
	{Rule: rule.Rule{ID: "A001", Name: "does-not-compile", Severity: rule.Error,
		Short: "The template is not valid Jinja.",
		Damage: "Servers refuse to load the model, or fall back silently to another template and " +
			"produce garbage.",
		Fix: "The message has the place. A template that renders elsewhere may use " +
			"an extension that transformers does not have."},
		Group: groupCompile, Find: checkCompiles},
	{Rule: rule.Rule{ID: "A002", Name: "renders-nothing", Severity: rule.Error,
		Short:  "The template fails on the plainest conversation.",
		Damage: "Every request ends in an error.",
		Fix: "Render one user message and nothing else; give variables that may be " +
			"missing a default."},
		Group: groupCompile, Find: checkRenders},
}

// costRules come last, when everything has been rendered.
var costRules = []lookout{
	{Rule: rule.Rule{ID: TooCostly, Name: "too-costly", Severity: rule.Error,
		Short: "The renders of all checks together take more steps than allowed.",
		Damage: "A request keeps the server busy for long; the findings about the template " +
			"are incomplete, so nothing else is reported of it.",
		Fix: "Look for loops over loops. An honest template takes some ten thousand steps; " +
			"--limit total=N allows more."},
		Group: groupLint, Find: checkCost},
}

// TooCostly is the rule of a template whose renders met their limit: its finding voids those of the
// others.
const TooCostly = "A056"

func checkCost(s *Subject, find finder) {
	if err := s.Template.Exhausted(); err != nil {
		find(nowhere, "%w", err)
	}
}

func checkCompiles(s *Subject, find finder) {
	if at := invalidUTF8(s.Source.Text); at >= 0 {
		find(nowhere, "%w", source.Errorf(source.New(s.Source.Name, s.Source.Text), at,
			"the template is not valid UTF-8"))
		return
	}
	if err := s.syntax(); err != nil {
		find(nowhere, "%w", err)
	}
}

// checkRenders reports the reason why the engine cannot compile a template that is valid Jinja.
func checkRenders(s *Subject, find finder) {
	if s.err != nil && s.syntax() == nil {
		find(nowhere, "%w", s.err)
	}
}

// syntax is the fault of the template as Jinja. One that the limits ended shows none.
func (s *Subject) syntax() error {
	if s.err == nil || errors.Is(s.err, engine.ErrExhausted) {
		return nil
	}
	_, err := chattemplate.Compile(source.New(s.Source.Name, s.Source.Text), s.Source.BOS,
		s.Source.EOS, subject.Now)
	return err
}

// invalidUTF8 is the offset of the first byte that is not UTF-8, -1 where there is none.
func invalidUTF8(text string) int {
	for i, r := range text {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(text[i:]); n == 1 {
				return i
			}
		}
	}
	return -1
}
