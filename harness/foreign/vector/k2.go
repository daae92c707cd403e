package vector

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/spell"
	"github.com/goassay/assay/harness/serve/provider"
	"github.com/goassay/assay/harness/serve/provider/dataset"
)

// isK2 reports whether a line without a kind is one of K2 Vendor Verifier: the body of a chat
// completion, or a result that has one as its request.
func isK2(v ordered.Value) bool {
	_, body := v.Get("messages")
	_, result := v.Get("response")
	return body || result && v.At("request").Kind() == ordered.Object
}

// k2Vector returns such a line as a vector, whose id is its number in the data set.
func k2Vector(v ordered.Value, line int) Vector {
	if _, ok := v.Get("messages"); ok {
		return Vector{ID: fmt.Sprintf("k2/line %d", line), Kind: "k2",
			Value: ordered.Pairs("request", v)}
	}
	id := v.At("data_index").Text()
	if id == "" {
		id = fmt.Sprintf("line %d", line)
	}
	return Vector{ID: "k2/" + id, Kind: "k2", Value: v}
}

// k2 checks a line of K2 Vendor Verifier.
func (v *Verifier) k2(ctx context.Context, vec *Vector) error {
	request, err := dataset.NewReader(strings.NewReader(vec.Value.At("request").String())).Next()
	if err != nil {
		return err
	}
	model := vec.Value.At("request", "model").Text()
	if model == "" {
		return errors.New("the request names no model, so that there is no template for it; " +
			`K2 Vendor Verifier writes it into results, and "model" may be added to samples`)
	}
	name, err := v.Templates.find("", []string{model})
	if err != nil {
		return err
	}
	t, err := v.named(ctx, name)
	if err != nil {
		return err
	}
	chatTemplate, err := t.chat()
	if err != nil {
		return err
	}
	r, err := chat.ParseRequest(request.Body)
	if err != nil {
		return err
	}
	plan, err := chatTemplate.Prepare(r, engine.PrepareOptions{Insist: true})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	choices := vec.Value.At("response", "choices").Items()
	if len(choices) == 0 {
		return nil // a sample, or a request that failed
	}
	message, err := chat.ParseMessage(choices[0].At("message"))
	if err != nil {
		return fmt.Errorf("response: %w", err)
	}
	if err := k2Schemas(vec, request.Body, message); err != nil {
		return err
	}
	if choices[0].At("finish_reason").Text() == string(chat.FinishLength) {
		return nil // it has no whole turn
	}
	if err := readBack(chatTemplate, plan, message); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// k2Schemas compares the verdict of a line on its calls with ours.
func k2Schemas(vec *Vector, body ordered.Value, m chat.Message) error {
	valid, ok := vec.Value.Get("tool_calls_valid")
	if !ok || valid.Kind() != ordered.Bool || len(m.ToolCalls) == 0 {
		return nil
	}
	err := provider.Keeps(body, m)
	switch {
	case valid.Bool() && err != nil:
		return fmt.Errorf("tool_calls_valid is true: %w", err)
	case !valid.Bool() && err == nil:
		return errors.New("tool_calls_valid is false, and every call keeps its function's schema")
	}
	return nil
}

// readBack spells a message as a format has it, and reads it by a plan's parser.
func readBack(t *engine.Template, plan *engine.Plan, want chat.Message) error {
	turn, err := spell.Of(t.Analysis().Format, want)
	if err != nil {
		return err
	}
	prefill, err := plan.Prompt.Prefill()
	if err != nil {
		return err
	}
	output := strings.TrimPrefix(turn.String(), prefill)
	answer, mismatch := inText(output)(plan.NewParser(), chat.FinishStop)
	if mismatch != nil {
		return mismatch
	}
	var calls []ordered.Value
	for _, c := range want.ToolCalls {
		arguments, err := ordered.ParseString(c.Arguments)
		if err != nil {
			return fmt.Errorf("the arguments of %.80q are no JSON: %w", c.Name, err)
		}
		calls = append(calls, ordered.Pairs("name", c.Name, "arguments", arguments))
	}
	err = expectDynamo(ordered.Pairs("reasoning_content", want.Reasoning, "content", want.Content,
		"tool_calls", calls), answer.Message)
	if err != nil {
		return fmt.Errorf("its turn is not read back: %w\n%.300q", err, output)
	}
	return nil
}
