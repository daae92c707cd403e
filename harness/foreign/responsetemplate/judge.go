package responsetemplate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/emit"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/conversation/turns"
)

// Verdict is how an object reads the turns that a template writes.
type Verdict struct {
	Turns, Read int
	// Differences describes each turn that is misread, with its output.
	Differences []string
}

// Judge parses the turns that the template writes with an object, and compares the results with the
// turns' messages.
func Judge(read *Template, t *engine.Template) (Verdict, error) {
	all, err := turns.Of(t)
	if err != nil {
		return Verdict{}, err
	}
	return JudgeTurns(read, all)
}

// Prove is [Judge] on those turns and on others with the texts in their places ([turns.Varied]),
// and without the markers that models leave out. Turns with null arguments are left out where
// arguments are not JSON: transformers reads null as text, or not at all.
func Prove(read *Template, t *engine.Template, texts turns.Texts) (Verdict, error) {
	all, err := turns.Varied(t, texts)
	if err != nil {
		return Verdict{}, err
	}
	for _, calls := range t.Analysis().Format.Calls {
		if calls.Body.Kind == format.BodyTagged || calls.Body.Kind == format.BodyDict {
			all = slices.DeleteFunc(all, hasNull)
		}
	}
	return JudgeTurns(read, all)
}

// Emit writes the object for a template, and proves it. The error is an [emit.Inexpressible] where
// the object's language cannot express a part of the format, or where the object would misread a
// turn.
func Emit(t *engine.Template) (ordered.Value, error) {
	object, err := emit.ResponseTemplate(t.Analysis().Format, turns.Anchors(t)...)
	if err != nil {
		return object, err
	}
	read, err := Read(object)
	if err != nil {
		return object, err
	}
	proof, err := Prove(read, t, turns.Usual)
	if err == nil && len(proof.Differences) > 0 {
		err = &emit.Inexpressible{Target: "response_template", Part: "turns",
			Reason: fmt.Sprintf("the object would read %d of %d as they are meant; %s", proof.Read,
				proof.Turns, proof.Differences[0])}
	}
	return object, err
}

// hasNull reports whether an argument of a turn is null.
func hasNull(t turns.Turn) bool {
	return slices.ContainsFunc(t.Message.ToolCalls, func(c chat.ToolCall) bool {
		arguments, err := ordered.ParseString(c.Arguments)
		return err == nil && slices.ContainsFunc(arguments.Members(),
			func(m ordered.Member) bool { return m.Value.IsNull() })
	})
}

// JudgeTurns parses turns with an object, and compares the results with their messages.
func JudgeTurns(read *Template, all []turns.Turn) (Verdict, error) {
	v := Verdict{Turns: len(all)}
	until := time.Now().Add(endurance)
	for _, turn := range all {
		request, err := ordered.Parse(turn.JSON)
		if err != nil {
			return v, err
		}
		got, err := read.parse(turn.Output, turn.Prompt, request.At("tools"), until)
		text := ""
		if err != nil {
			text = "it fails: " + err.Error()
		} else {
			text = differs(got, turn.Message)
		}
		if text == "" {
			v.Read++
			continue
		}
		v.Differences = append(v.Differences,
			fmt.Sprintf("%s: %s\nthe output is %q", turn.Name, text, turn.Output))
	}
	return v, nil
}

// differs describes the first difference between the result of an object and a message; "" where
// there is none. White space at the edges of texts does not count, and neither do ids.
func differs(got ordered.Value, want chat.Message) string {
	reasoning := cmp.Or(got.At("reasoning_content").Text(), got.At("reasoning").Text(),
		got.At("thinking").Text())
	if strings.TrimSpace(reasoning) != strings.TrimSpace(want.Reasoning) {
		return fmt.Sprintf("reasoning is %q, expected %q", reasoning, want.Reasoning)
	}
	if content := got.At("content").Text(); strings.TrimSpace(content) !=
		strings.TrimSpace(want.Content) {
		return fmt.Sprintf("content is %q, expected %q", content, want.Content)
	}
	calls := got.At("tool_calls").Items()
	if len(calls) != len(want.ToolCalls) {
		return fmt.Sprintf("it finds %d calls, expected %d", len(calls), len(want.ToolCalls))
	}
	for i, call := range calls {
		f := call.At("function")
		if f.IsNull() {
			f = call
		}
		if name := f.At("name").Text(); name != want.ToolCalls[i].Name {
			return fmt.Sprintf("call %d is of %q, expected %q", i+1, name, want.ToolCalls[i].Name)
		}
		arguments := f.At("arguments")
		if arguments.Kind() == ordered.String {
			if parsed, err := ordered.ParseString(arguments.Text()); err == nil {
				arguments = parsed
			}
		}
		expected, err := ordered.ParseString(want.ToolCalls[i].Arguments)
		if err != nil || !ordered.Equal(arguments, expected) {
			return fmt.Sprintf("the arguments of call %d are %s, expected %s", i+1, arguments,
				want.ToolCalls[i].Arguments)
		}
	}
	return ""
}
