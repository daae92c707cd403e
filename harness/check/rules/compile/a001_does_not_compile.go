package compile

import (
	"errors"
	"unicode/utf8"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// DoesNotCompile is the rule A001: the template is not valid Jinja.
var DoesNotCompile = &probe.Rule{
	Rule: rule.Rule{
		ID: "A001", Name: "does-not-compile", Severity: rule.Error, Harm: rule.Crashed,
		Short: "The template is not valid Jinja.",
		Damage: "Servers refuse to load the model, or silently use another template and the " +
			"model answers badly.",
		Fix: "The message gives the line and column. If the template renders elsewhere, it may " +
			"use a Jinja extension that transformers does not enable.",
	},
	Group:          probe.GroupCompile,
	Unsuppressible: true,
	Static:         true,
	Find:           checkCompiles,
}

func checkCompiles(s *probe.Subject, find probe.Finder) {
	if at := invalidUTF8(s.Source.Text); at >= 0 {
		find(probe.Nowhere, "%w", source.Errorf(source.New(s.Source.Name, s.Source.Text), at,
			"the template is not valid UTF-8"))
		return
	}
	if s.Err == nil || errors.Is(s.Err, engine.ErrExhausted) {
		return // one that the limits ended shows no fault
	}
	if _, err := program(s); err != nil {
		find(probe.Nowhere, "the template does not compile: %w", err)
	}
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
