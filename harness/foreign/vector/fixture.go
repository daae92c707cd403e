package vector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/corpus/reduce"
)

// isFixture reports whether a line without a kind is a record of CanIToolCall's fixture
// specification.
func isFixture(v ordered.Value) bool {
	_, ok := v.Get("raw_output")
	return ok
}

// fixture checks one fixture: its output is read as its expected message, in one go and in every
// split.
func (v *Verifier) fixture(ctx context.Context, vec *Vector) error {
	if version := vec.Value.At("spec_version").Text(); !strings.HasPrefix(version, "0.") {
		return fmt.Errorf("the record has the version %q of the fixture "+
			"specification; 0.1 is known", version)
	}
	name, err := v.Templates.find(vec.Value.At("provenance", "template_sha256").Text(),
		stringsOf(vec.Value.At("models")))
	if err != nil {
		return err
	}
	read := func(t *template, err error, read reader) error {
		if err != nil {
			return err
		}
		plan, _, err := t.answered(vec)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		answer, mismatch := read(plan.NewParser(), ended(vec))
		if mismatch != nil {
			return fmt.Errorf("%s: %w", name, mismatch)
		}
		if err := expectFixture(vec, answer.Message); err != nil {
			return fmt.Errorf("%s: %w%s", name, err, promptNote(vec, plan))
		}
		return nil
	}
	t, err := v.named(ctx, name)
	if err := read(t, err, inText(vec.Value.At("raw_output").Text())); err != nil {
		return err
	}
	return v.byTokens(ctx, vec, name, vec.Value.At("raw_output").Text(), read)
}

// ended returns why a fixture's output ended: its tags tell that a limit cut it off.
func ended(vec *Vector) chat.FinishReason {
	if slices.Contains(stringsOf(vec.Value.At("tags")), "truncated") {
		return chat.FinishLength
	}
	return chat.FinishStop
}

// tagged are the tags with which a fixture names a spelling that its template does not show, and
// the fallback spellings that read it.
var tagged = map[string][]string{
	"x-llama-pythonic":    {"python-start", "pythonic"},
	"x-python-tag-prefix": {"python-start", "python-tag"},
}

// spelledIn returns the fallback spellings of a fixture.
func spelledIn(vec *Vector) (names []string) {
	for _, tag := range stringsOf(vec.Value.At("tags")) {
		for _, name := range tagged[tag] {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// fixtureCase returns a fixture as a case.
func (v *Verifier) fixtureCase(ctx context.Context, vec *Vector) (c reduce.Case, err error) {
	name, err := v.Templates.find(vec.Value.At("provenance", "template_sha256").Text(),
		stringsOf(vec.Value.At("models")))
	if err != nil {
		return c, err
	}
	t, err := v.named(ctx, name)
	if err != nil {
		return c, err
	}
	c = reduce.Case{Fallbacks: spelledIn(vec), Output: vec.Value.At("raw_output").Text(),
		Reason: ended(vec)}
	if _, c.Request, err = t.answered(vec); err == nil {
		c.Template, err = t.chat()
	}
	return c, err
}

// answered prepares the request that a fixture's output answers, and returns it as well.
func (t *template) answered(vec *Vector) (first *engine.Plan, asked ordered.Value, err error) {
	return t.thinking(vec, func(_ *engine.Template, plan *engine.Plan) (bool, error) {
		return strings.HasSuffix(plan.Prompt.Text, vec.Value.At("generation_prompt").Text()), nil
	}, vec.Value.At("thinking"), ordered.Value{}, ordered.Boolean(true), ordered.Boolean(false))
}

// thinking prepares the request of a fixture in the first of the modes of thinking whose prompt
// fits, else in the first one.
func (t *template) thinking(vec *Vector, fits func(*engine.Template, *engine.Plan) (bool, error),
	modes ...ordered.Value) (first *engine.Plan, asked ordered.Value, err error) {
	chatTemplate, err := t.chat()
	if err != nil {
		return nil, asked, err
	}
	o := engine.PrepareOptions{Insist: true, Fallbacks: spelledIn(vec)}
	for i, mode := range modes {
		value := fixtureRequest(vec, mode)
		request, err := chat.ParseRequest(value)
		if err != nil {
			return nil, asked, err
		}
		plan, err := chatTemplate.Prepare(request, o)
		if err == nil {
			if ok, err := fits(chatTemplate, plan); ok || err != nil {
				return plan, value, err
			}
		} else if i == 0 {
			return nil, asked, err
		}
		if i == 0 {
			first, asked = plan, value
		}
	}
	return first, asked, nil
}

// fixtureRequest is a request for a fixture's output, in a mode of thinking: true, false, or null
// for the template's own.
func fixtureRequest(vec *Vector, thinking ordered.Value) ordered.Value {
	ask := chat.User("Please help me.")
	return ordered.Pairs("messages", ordered.ArrayOf(ask), "tools", vec.Value.At("tools"),
		"enable_thinking", thinking)
}

// expectFixture compares a message with a fixture's expectation.
func expectFixture(vec *Vector, got chat.Message) error {
	calls := slices.DeleteFunc(slices.Clone(got.ToolCalls),
		func(c chat.ToolCall) bool { return !c.Complete })
	want, ok := vec.Value.Get("expected")
	if !ok {
		return expectNoCall(vec, got, calls)
	}
	if err := expectTexts(want, got); err != nil {
		return err
	}
	return expectCalls(want.At("tool_calls").Items(), calls, got)
}

// expectCalls compares the complete calls of a message with those that are wanted, by their names
// and the values of their arguments.
func expectCalls(wants []ordered.Value, calls []chat.ToolCall, got chat.Message) error {
	if len(wants) != len(calls) {
		return fmt.Errorf("%d complete tool "+
			"calls, want %d: %s", len(calls), len(wants), got.Value())
	}
	for i, w := range wants {
		arguments := w.At("arguments")
		given, err := ordered.ParseString(calls[i].Arguments)
		switch {
		case w.At("name").Text() != calls[i].Name:
			return fmt.Errorf("tool_calls[%d].name is %q, want %q", i, calls[i].Name, w.At("name").
				Text())
		case err != nil || !ordered.Equal(given, arguments):
			return fmt.Errorf("tool_calls[%d].arguments\nwant %s\ngot  %s", i, arguments, calls[i].Arguments)
		}
	}
	return nil
}

// expectNoCall checks the message of an output that a fixture says is broken. No complete call may
// come of it; where the text must be passed on, too, it is the content.
func expectNoCall(vec *Vector, got chat.Message, calls []chat.ToolCall) error {
	why := vec.Value.At("expected_error", "reason").Text()
	if len(calls) > 0 {
		return fmt.Errorf("%d complete tool calls, "+
			"want none (%s): %s", len(calls), why, got.Value())
	}
	accept := stringsOf(vec.Value.At("expected_error", "accept"))
	passed := strings.TrimSpace(got.Content) == strings.TrimSpace(vec.Value.At("raw_output").Text())
	if slices.Contains(accept, "no_tool_calls") ||
		slices.Contains(accept, "content_passthrough") && passed {
		return nil
	}
	return errors.New("the text of a broken call is not passed on as content (" + why + ")")
}
