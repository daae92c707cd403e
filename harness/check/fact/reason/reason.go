// Package reason asks a template for prompts with thinking switched on and off, and whether they
// leave reasoning open.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package reason

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/caps"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/sample"
)

// ThinkingModes are the settings of thinking that a request can have.
func ThinkingModes() []ThinkingMode {
	yes, no := true, false
	return []ThinkingMode{{"without enable_thinking", nil},
		{"with enable_thinking=true", &yes}, {"with enable_thinking=false", &no}}
}

type ThinkingMode struct {
	Name string
	On   *bool
}

// Lead begins a sentence about a mode, where the template knows the switch: "" where it does not.
func (m ThinkingMode) Lead(s *probe.Subject) string {
	if slices.ContainsFunc(s.Flow().Refs, func(r *flow.Ref) bool {
		return slices.Contains(caps.ThinkingNames, r.Name)
	}) {
		return m.Name + ", "
	}
	return ""
}

// Opened is the close of the reasoning that a prefill leaves open.
func Opened(s *probe.Subject, prefill string) string {
	r := s.Template.Analysis().Format.Reasoning
	if r.Close.Text == "" || !Opens(prefill, r) {
		return ""
	}
	return r.Close.Text
}

// Opens reports whether a prefill leaves reasoning open.
func Opens(prefill string, r format.Reasoning) bool {
	if r.Open.Text == "" {
		return r.Mode == format.ReasoningDelimiter && prefill != "" &&
			!strings.Contains(prefill, r.Close.Text)
	}
	return strings.LastIndex(prefill, r.Open.Text) > strings.LastIndex(prefill, r.Close.Text) ||
		r.Close.Text == "" && strings.Contains(prefill, r.Open.Text)
}

// Without is a text without the markers of reasoning, and without white space.
func Without(r format.Reasoning, text string) string {
	for _, marker := range []string{r.Open.Text, r.Close.Text} {
		if marker = strings.TrimSpace(marker); marker != "" {
			text = strings.ReplaceAll(text, marker, "")
		}
	}
	return strings.Join(strings.Fields(text), "")
}

// PlainQuestion renders a question under the settings.
func PlainQuestion(s *probe.Subject, thinking *bool, asked bool,
	more ...ordered.Member) (probe.Rendering, error) {
	r := chat.Request{Messages: sample.Talk(sample.User), EnableThinking: thinking,
		NoGeneration: !asked}
	if len(more) > 0 {
		r.Kwargs = ordered.ObjectOf(more...)
	}
	return s.Ask(r)
}
