package vector

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/corpus/reduce"
)

func (v *Verifier) parse(ctx context.Context, vec *Vector) error {
	output := vec.Value.At("output").Text()
	read := func(t *template, err error, read reader) error {
		if err != nil {
			return err
		}
		plan, err := t.plan(vec)
		if err != nil {
			return err
		}
		answer, mismatch := read(plan.NewParser(), reason(vec))
		err = expectMessage(vec.Value.At("want"), answer.Message, reason(vec).Cut())
		if err != nil {
			return fmt.Errorf("in one go: %w%s", err, promptNote(vec, plan))
		}
		if mismatch != nil {
			return mismatch
		}
		if vec.Value.At("grammar_accepts").Bool() {
			return expectAccepted(plan, output)
		}
		return nil
	}
	t, err := v.template(ctx, vec)
	if err := read(t, err, inText(output)); err != nil {
		return err
	}
	return v.byTokens(ctx, vec, vec.Value.At("template").Text(), output, read)
}

// reason returns why a vector's output ended: its field "partial" tells that a limit cut it off.
func reason(vec *Vector) chat.FinishReason {
	if vec.Value.At("partial").Bool() {
		return chat.FinishLength
	}
	return chat.FinishStop
}

// plan prepares a vector's request. Tools on a format that is not verified are insisted on: the
// vector decides.
func (t *template) plan(vec *Vector) (*engine.Plan, error) {
	chatTemplate, err := t.chat()
	if err != nil {
		return nil, err
	}
	request, err := chat.ParseRequest(vec.Value.At("request"))
	if err != nil {
		return nil, err
	}
	return chatTemplate.Prepare(request,
		engine.PrepareOptions{Insist: true, Fallbacks: stringsOf(vec.Value.At("fallback"))})
}

// Case returns a vector of the kind parse, or a fixture, as a case to reduce. That of a fixture has
// no expectation.
func (v *Verifier) Case(ctx context.Context, vec *Vector) (reduce.Case, error) {
	if vec.Kind == "fixture" {
		return v.fixtureCase(ctx, vec)
	}
	if vec.Kind != "parse" {
		return reduce.Case{}, fmt.Errorf("%s is a vector of the kind %s; those of the kind "+
			"parse can be shrunk", vec.ID, vec.Kind)
	}
	t, err := v.template(ctx, vec)
	if err != nil {
		return reduce.Case{}, err
	}
	chatTemplate, err := t.chat()
	if err != nil {
		return reduce.Case{}, err
	}
	want := reduce.Want{Accepts: vec.Value.At("grammar_accepts").Bool(),
		Same: func(field, want, got string) bool {
			switch field {
			case "reasoning_content", "content":
				return strings.TrimSpace(want) == strings.TrimSpace(got)
			case "arguments":
				return sameArguments(want, got, reason(vec).Cut())
			}
			return want == got
		}}
	value := vec.Value.At("want")
	want.Message.Content, want.Message.Reasoning = value.At("content").
		Text(), value.At("reasoning_content").Text()
	for _, call := range value.At("tool_calls").Items() {
		want.Message.ToolCalls = append(want.Message.ToolCalls,
			chat.ToolCall{Name: call.At("name").Text(), Arguments: call.At("arguments").Text(),
				ID: call.At("id").Text()})
	}
	return reduce.Case{Template: chatTemplate, Request: vec.Value.At("request"),
		Fallbacks: stringsOf(vec.Value.At("fallback")),
		Output:    vec.Value.At("output").Text(), Reason: reason(vec), Want: &want}, nil
}

// promptNote says so where the prompt does not end with the vector's generation prompt, since that
// primes the parser.
func promptNote(vec *Vector, plan *engine.Plan) string {
	want := vec.Value.At("generation_prompt").Text()
	if strings.HasSuffix(plan.Prompt.Text, want) {
		return ""
	}
	return fmt.Sprintf("\nthe prompt ends with %q, "+
		"the vector has %q", plan.Prompt.Text[max(0, len(plan.Prompt.Text)-len(want)):], want)
}

func expectAccepted(plan *engine.Plan, output string) error {
	grammar, err := plan.Output.Grammar()
	if err != nil {
		return fmt.Errorf("grammar: %w", err)
	} else if grammar == nil {
		return errors.New("the request has no grammar")
	}
	text, ok := plan.Output.Constrained(output)
	if !ok {
		return nil // nothing arms the grammar
	}
	refusal, err := grammar.Refusal(text)
	if err == nil && refusal != "" {
		err = errors.New(refusal)
	}
	return err
}

// expectMessage compares a message with a vector's want.
func expectMessage(want ordered.Value, got chat.Message, partial bool) error {
	if err := expectTexts(want, got); err != nil {
		return err
	}
	calls := want.At("tool_calls").Items()
	if len(calls) != len(got.ToolCalls) {
		return fmt.Errorf("%d tool calls, want %d: %s", len(got.ToolCalls), len(calls), got.Value())
	}
	for i, w := range calls {
		if err := expectCall(w, got.ToolCalls[i], partial && i == len(calls)-1); err != nil {
			return fmt.Errorf("tool_calls[%d].%w", i, err)
		}
	}
	return nil
}

// expectTexts compares the texts of a message, but for the white space around them.
func expectTexts(want ordered.Value, got chat.Message) error {
	for _, field := range [...]struct{ name, text string }{{"reasoning_content", got.Reasoning},
		{"content", got.Content}} {
		if w := want.At(field.name).Text(); strings.TrimSpace(w) != strings.TrimSpace(field.text) {
			return fmt.Errorf("%s\nwant %q\ngot  %q", field.name, w, field.text)
		}
	}
	return nil
}

func expectCall(want ordered.Value, got chat.ToolCall, partial bool) error {
	if name := want.At("name").Text(); name != got.Name {
		return fmt.Errorf("name is %q, want %q", got.Name, name)
	}
	if id := want.At("id").Text(); id != got.ID {
		return fmt.Errorf("id is %q, want %q", got.ID, id)
	}
	if text := want.At("arguments").Text(); !sameArguments(text, got.Arguments, partial) {
		return fmt.Errorf("arguments\nwant %s\ngot  %s", text, got.Arguments)
	}
	return nil
}

func sameArguments(want, got string, partial bool) bool {
	w, errWant := ordered.ParseString(want)
	g, errGot := ordered.ParseString(got)
	if errWant == nil && errGot == nil {
		return ordered.Equal(w, g)
	}
	return (partial || errWant != nil) && WithoutSpace(want) == WithoutSpace(got)
}

// WithoutSpace leaves out the white space of a JSON text that is cut off, as far as it is outside
// strings.
func WithoutSpace(s string) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && quoted && i+1 < len(s):
			b.WriteByte(c)
			i++
			b.WriteByte(s[i])
			continue
		case c == '"':
			quoted = !quoted
		case !quoted && strings.IndexByte(" \t\r\n", c) >= 0:
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
