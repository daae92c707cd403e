package engines

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/ordered"
)

// Verdict is the outcome of a case in an engine.
type Verdict string

// The verdicts. Policies are differences on which engines disagree by design
// (docs/reference/policies.md); a difference that is not a policy is a fault.
const (
	Equal       Verdict = "equal"       // to the byte
	Spaced      Verdict = "spaced"      // equal, except at the edges of reasoning and content
	Policy      Verdict = "policy"      // Kind names it
	Fault       Verdict = "fault"       // Kind names it
	Unsupported Verdict = "unsupported" // the engine does not do this by design
	NoParser    Verdict = "no parser"   // the engine has none that reads the template's turns
)

// The policies.
const (
	PolicyTruncated = "truncated-call"   // the result of an output that was cut off inside a call
	PolicyTyping    = "untyped-value"    // the type of a value that no schema gives one
	PolicySpace     = "inner-space"      // white space between the parts of an answer
	PolicyName      = "undeclared-name"  // a call of a function that the request does not declare
	PolicyEnd       = "text-after-calls" // text after the last call
	PolicyMalformed = "incomplete-call"  // the result of a call that is malformed after its name
	PolicyCloser    = "lone-closer"      // a closer of calls that nothing opened
)

// Judgement is the verdict on an answer, with the first difference.
type Judgement struct {
	Verdict Verdict `json:"verdict"`
	Kind    string  `json:"kind,omitempty"`
	Text    string  `json:"text,omitempty"`
}

var space = regexp.MustCompile(`\s+`)

func squeezed(s string) string { return space.ReplaceAllString(s, "") }

// Judge compares an engine's answer with the message that a case wants.
func Judge(c *Case, a Answer) Judgement {
	switch {
	case a.Unsupported != "":
		return Judgement{Unsupported, "", a.Unsupported}
	case a.Error != "":
		text := a.Error
		if a.At != "" {
			text += " at " + a.At
		}
		if c.Incomplete && c.Request.Reason != "length" {
			return Judgement{Policy, PolicyMalformed, text}
		}
		return Judgement{Fault, "exception", text}
	case a.Message == nil:
		return Judgement{Fault, "protocol", "the adapter's answer has no message"}
	}
	got := *a.Message
	if kind, text := callsDiffer(c, got.Calls); kind != "" {
		switch {
		case c.Request.Reason == "length" && len(c.Want.Calls) > 0:
			return Judgement{Policy, PolicyTruncated, text}
		case c.Incomplete && (kind == "lost call" || kind == "broken arguments"):
			return Judgement{Policy, PolicyMalformed, text}
		case kind == "undeclared":
			return Judgement{Policy, PolicyName, text}
		case kind == "typing":
			return Judgement{Policy, PolicyTyping, text}
		}
		return Judgement{Fault, kind, text}
	}
	for _, want := range []*Message{&c.Want, c.Full} {
		switch {
		case want == nil:
		case want.Reasoning == got.Reasoning && want.Content == got.Content:
			return Judgement{Verdict: Equal}
		case strings.TrimSpace(want.Reasoning) == strings.TrimSpace(got.Reasoning) &&
			strings.TrimSpace(want.Content) == strings.TrimSpace(got.Content):
			return Judgement{Verdict: Spaced}
		}
	}
	want := c.Want
	name, w, g := "content", want.Content, got.Content
	if strings.TrimSpace(want.Reasoning) != strings.TrimSpace(got.Reasoning) {
		name, w, g = "reasoning_content", want.Reasoning, got.Reasoning
	}
	text := fmt.Sprintf("%s is %q, want %q", name, g, w)
	switch {
	case squeezed(want.Content) == squeezed(got.Content) &&
		squeezed(want.Reasoning) == squeezed(got.Reasoning):
		return Judgement{Policy, PolicySpace, text}
	case c.Request.Reason == "length" &&
		strings.HasPrefix(strings.TrimSpace(g), strings.TrimSpace(w)) && len(c.Want.Calls) == 0 &&
		c.Tools:
		return Judgement{Policy, PolicyTruncated, text}
	case squeezed(want.Reasoning+want.Content) == squeezed(got.Reasoning+got.Content):
		return Judgement{Fault, "misplaced", text}
	case len(want.Calls) > 0 && want.Reasoning == got.Reasoning &&
		strings.HasPrefix(squeezed(want.Content), squeezed(got.Content)) && afterCalls(c):
		return Judgement{Policy, PolicyEnd, text}
	case len(c.LoneClosers) > 0 && squeezed(want.Reasoning) == squeezed(got.Reasoning) &&
		squeezed(want.Content) == squeezed(without(got.Content, c.LoneClosers)):
		return Judgement{Policy, PolicyCloser, text}
	case slices.ContainsFunc(c.Request.SpecialTokens, func(t string) bool {
		return strings.Contains(got.Reasoning+got.Content, t) &&
			!strings.Contains(want.Reasoning+want.Content, t)
	}):
		return Judgement{Fault, "leak", text}
	case len(squeezed(g)) < len(squeezed(w)):
		return Judgement{Fault, "lost text", text}
	}
	return Judgement{Fault, "wrong text", text}
}

// without removes all occurrences of parts from a text.
func without(text string, parts []string) string {
	for _, part := range parts {
		text = strings.ReplaceAll(text, part, "")
	}
	return text
}

// afterCalls reports whether the output of a case ends with text that is content.
func afterCalls(c *Case) bool {
	words := strings.Fields(c.Want.Content)
	if len(words) == 0 {
		return false
	}
	rest := c.Request.Output
	for _, token := range c.Request.SpecialTokens {
		rest = strings.TrimSuffix(strings.TrimSpace(rest), token)
	}
	return strings.HasSuffix(strings.TrimSpace(rest), words[len(words)-1])
}

// callsDiffer returns the kind of the first difference between calls, and the difference; "" where
// there is none. Ids count only where the output has them: otherwise engines make them up.
func callsDiffer(c *Case, got []Call) (kind, text string) {
	for i := range max(len(c.Want.Calls), len(got)) {
		switch {
		case i >= len(got):
			return "lost call", fmt.Sprintf("call %d of %s is missing", i+1, c.Want.Calls[i].Name)
		case i >= len(c.Want.Calls):
			if !strings.Contains(string(c.Request.Request), fmt.Sprintf("%q", got[i].Name)) {
				return "undeclared", fmt.Sprintf("call %d is of %q, which "+
					"is not declared", i+1, got[i].Name)
			}
			return "invented call", fmt.Sprintf("call %d is "+
				"too many: %s %s", i+1, got[i].Name, got[i].Arguments)
		}
		w, g := c.Want.Calls[i], got[i]
		switch {
		case w.Name != g.Name:
			return "wrong name", fmt.Sprintf("call %d has the "+
				"name %q, want %q", i+1, g.Name, w.Name)
		case w.ID != "" && g.ID != w.ID && g.ID != "" && strings.Contains(c.Request.Output, g.ID):
			return "wrong id", fmt.Sprintf("call %d has the id %q, want %q", i+1, g.ID, w.ID)
		}
		want, err := ordered.ParseString(w.Arguments)
		have, errGot := ordered.ParseString(g.Arguments)
		text := fmt.Sprintf("call %d has the arguments %s, want %s", i+1, g.Arguments, w.Arguments)
		switch {
		case w.Arguments == g.Arguments:
		case err == nil && errGot != nil:
			return "broken arguments", text
		case err != nil:
			return "wrong arguments", text
		case ordered.Equal(want, have):
		case sameButTypes(want, have):
			return typing(c, w.Name), text
		default:
			return "wrong arguments", text
		}
	}
	return "", ""
}

// sameButTypes reports whether two values differ in the types of scalars only, such as 3 and "3".
func sameButTypes(a, b ordered.Value) bool {
	switch {
	case a.Kind() == ordered.Object && b.Kind() == ordered.Object:
		if len(a.Members()) != len(b.Members()) {
			return false
		}
		for _, m := range a.Members() {
			other, ok := b.Get(m.Key)
			if !ok || !sameButTypes(m.Value, other) {
				return false
			}
		}
		return true
	case a.Kind() == ordered.Array && b.Kind() == ordered.Array:
		return slices.EqualFunc(a.Items(), b.Items(), sameButTypes)
	}
	return ordered.Equal(a, b) || scalarText(a) == scalarText(b)
}

func scalarText(v ordered.Value) string {
	if v.Kind() == ordered.String {
		return v.Text()
	}
	return v.String()
}

// typing returns the kind of a difference in types: a policy where the function's schema leaves
// types open.
func typing(c *Case, function string) string {
	request, err := ordered.ParseString(string(c.Request.Request))
	if err != nil {
		return "wrong arguments"
	}
	for _, tool := range request.At("tools").Items() {
		if tool.At("function").At("name").Text() != function {
			continue
		}
		properties := tool.At("function").At("parameters").At("properties")
		for _, p := range properties.Members() {
			if p.Value.At("type").Kind() != ordered.String {
				return "typing"
			}
		}
		if len(properties.Members()) > 0 {
			return "wrong type"
		}
	}
	return "typing"
}

// Breach names the first breach of the protocol of deltas: a name that comes twice or late, an
// index that jumps, an empty delta. It is empty where there is none.
func Breach(deltas []Delta) string {
	calls := 0
	for i, d := range deltas {
		at := func(text string) string {
			return fmt.Sprintf("delta %d of %d %s", i+1, len(deltas), text)
		}
		if d.Reasoning == "" && d.Content == "" && len(d.Calls) == 0 {
			return at("is empty")
		}
		for _, part := range d.Calls {
			last := calls - 1
			switch {
			case part.Index == calls && part.Function.Name == "":
				return at("starts a call without its name")
			case part.Index == calls:
				calls++
			case part.Index < 0 || part.Index > last:
				return at(fmt.Sprintf("has the index %d, "+
					"expected %d or %d", part.Index, max(last, 0), calls))
			case part.Index < last:
				return at(fmt.Sprintf("goes back to call %d after call %d", part.Index+1, calls))
			case part.Function.Name != "":
				return at("repeats a call's name")
			}
		}
	}
	return ""
}
