package values

import (
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/jinja/edit"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/conversation/standard"
)

// TextEscaped is the rule A029: text in messages, tools or arguments is written with escapes that
// JSON does not need.
var TextEscaped = &probe.Rule{
	Rule: rule.Rule{
		ID: "A029", Name: "text-escaped", Severity: rule.Warning, Harm: rule.Changed,
		Short: "Text is written with escapes that JSON does not need.",
		Damage: "The model reads `\\u003cb\\u003e` for `<b>`, writes the same, and needs more " +
			"tokens for it.",
		Fix: "Use `tojson` as transformers defines it, which escapes neither HTML nor letters " +
			"outside ASCII, and no `escape` beside it.",
	},
	Find: checkEscapes,
}

// escapes are ways to write the characters of awkward that JSON does not need.
var escapes = []struct{ char, text string }{{"ü", `\u00fc`}, {"<", `\u003c`}, {"&", `\u0026`},
	{"'", `\u0027`}, {"<", "&lt;"}, {"&", "&amp;"}, {"'", "&#39;"}, {"'", "&#x27;"}}

// awkward has the characters that the escapes are of.
const awkward = "ü<&'"

// escaped reports an escape that a prompt with awkward text has and one with plain text has not.
func escaped(find probe.Finder, of string, plain, prompt probe.Rendering) bool {
	for _, escape := range escapes {
		if strings.Count(prompt.Text, escape.text) > strings.Count(plain.Text, escape.text) {
			at := strings.LastIndex(prompt.Text, escape.text)
			find(prompt.Filtered(awkward, at, "tojson", "escape", "e", "forceescape", "urlencode"),
				"the character %s in %s is written as %s", escape.char, of, escape.text)
			return true
		}
	}
	return false
}

func checkEscapes(s *probe.Subject, find probe.Finder) {
	for n := range s.Source.Parts().All() {
		if inner := find; n.Is(edit.Filter, "safe") {
			find = func(at probe.Where, format string, args ...any) {
				inner(at.Mended("Mark nothing as `safe`: jinja2 escapes all text that is joined with "+
					"such a value."), format, args...)
			}
			break
		}
	}
	for _, role := range [...]struct {
		of    string
		talk  func(text string) []ordered.Value
		calls bool
	}{
		{"a user message", func(text string) []ordered.Value {
			return sample.Talk(chat.User(text), sample.Answer)
		}, false},
		{"an assistant message", func(text string) []ordered.Value {
			return sample.Talk(sample.User, sample.AnswerOf(text))
		}, false},
		{"a tool message", func(text string) []ordered.Value {
			return sample.Talk(sample.User, sample.CallTurn, sample.WithText(sample.Result, text))
		}, true},
	} {
		ask := func(text string) (probe.Rendering, error) {
			return s.Fitted(role.talk(text), role.calls, false)
		}
		if role.calls && !s.Supports(find, probe.ReplaysCalls) {
			continue
		}
		plain, err1 := ask("plain")
		prompt, err2 := ask(awkward)
		if probe.Judged(find, err1, err2) && escaped(find, role.of, plain, prompt) {
			return
		}
	}
	if s.Supports(find, probe.DescribesTools) && escapedTools(s, find) {
		return
	}
	escapedArguments(s, find)
}

// escapedTools gives a tool a description with awkward text.
func escapedTools(s *probe.Subject, find probe.Finder) bool {
	ask := func(text string) (probe.Rendering, error) {
		tool := standard.ToolRequest().Tools[0]
		f := tool.Value.At("function")
		tool.Value = tool.Value.With("function", f.With("description", ordered.Str(text)))
		return s.Ask(chat.Request{Messages: sample.Talk(sample.User), Tools: []chat.Tool{tool}})
	}
	plain, err1 := ask("plain")
	prompt, err2 := ask(awkward)
	return probe.Judged(find, err1, err2) && escaped(find, "a tool", plain, prompt)
}

func escapedArguments(s *probe.Subject, find probe.Finder) {
	if !s.Supports(find, probe.ReplaysCalls) {
		return
	}
	for _, c := range s.Template.Analysis().Format.Calls {
		if c.Body.Codec.Entity {
			return // the format's own way to write a value
		}
	}
	plain, err1 := writes(s, sample.City(ordered.Str("plain")))
	prompt, err2 := writes(s, sample.City(ordered.Str(awkward)))
	if !probe.Judged(find, err1, err2) {
		return
	}
	escaped(find, "an argument", plain, prompt)
}
