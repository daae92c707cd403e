// Package turns has the turns that a template itself writes, as outputs of a model: a model that
// was trained on the template writes nothing else. Parsers of others are tried on them.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package turns

import (
	"encoding/json"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/verify"
)

// Turn is the output of one turn, with the prompt before it and the message that it spells.
type Turn struct {
	Name    string // of the shape
	Tools   bool   // the request declares tools
	Request chat.Request
	JSON    json.RawMessage // the request
	// Prompt is the rendered prompt, Prefill the end of it that belongs to the answer.
	Prompt, Prefill string
	Output          string // without the token that ends it
	End             string // that token; "" where the turn has none
	Message         chat.Message

	read func(output string) chat.Message // as an answer to the turn's prompt
	plan *engine.Plan                     // of the request, whose prompt may have more text
}

// Of returns the turns of all shapes of answers that are verified.
func Of(t *engine.Template) ([]Turn, error) {
	tools := lists.Map(verify.Tools(), func(t chat.Tool) ordered.Value { return t.Value })
	f := t.Analysis().Format
	var turns []Turn
	for _, shape := range t.Verify().Shapes {
		if shape.Verdict != verify.Verified || shape.Turn == "" {
			continue
		}
		request := []any{"messages", ordered.ArrayOf(chat.User("Hello."))}
		if shape.Tools {
			request = append(request, "tools", tools)
		}
		value := ordered.Pairs(request...)
		r, err := chat.ParseRequest(value)
		if err != nil {
			return nil, err
		}
		plan, err := t.Prepare(r, engine.PrepareOptions{Insist: true})
		if err != nil {
			return nil, err
		}
		prefill, err := plan.Prompt.Prefill()
		if err != nil {
			return nil, err
		}
		output, prompted := strings.CutPrefix(shape.Turn, prefill)
		turn := Turn{Name: shape.Name, Tools: shape.Tools, Request: r,
			JSON:   json.RawMessage(value.String()),
			Prompt: plan.Prompt.Text, Prefill: prefill, plan: plan}
		turn.Output, turn.End = cutEnd(output, f.End)
		if !prompted && f.Reasoning.Close.Text != "" && LeavesOpen(&f, prefill) {
			// The history drops reasoning, the prompt opens it: a model thinks, closes it, and goes
			// on with the text that the template shows.
			turn.Output = "I see." + f.Reasoning.Close.Full() + turn.Output
			prompted = true
		}
		if !prompted {
			// The prompt holds text that this shape does not have: a server that was asked for it
			// has a prompt that ends with the header.
			turn.Prompt, turn.Prefill = strings.TrimSuffix(turn.Prompt, prefill), ""
			if plan, err = engine.PrepareFormat(f, "", r, engine.PrepareOptions{}); err != nil {
				return nil, err
			}
		}
		turn.read = func(output string) chat.Message {
			return plan.Parse(output, chat.FinishStop).Message
		}
		turn.Message = turn.read(turn.Output)
		turns = append(turns, turn)
	}
	return turns, nil
}

// cutEnd takes the end of a turn off an output: it is a token on which servers stop, and no parser
// sees it.
func cutEnd(output string, ends []string) (text, end string) {
	for _, end := range ends {
		if cut, ok := strings.CutSuffix(output, end); ok && end != "" {
			return cut, end
		}
	}
	return output, ""
}

// LeavesOpen reports whether a prefill leaves reasoning open, by the markers as they are.
func LeavesOpen(f *format.Format, prefill string) bool {
	open, end := f.Reasoning.Open.Text, f.Reasoning.Close.Text
	at := strings.LastIndex(prefill, open)
	return open != "" && at >= 0 && (end == "" || at > strings.LastIndex(prefill, end))
}
