package live

import (
	"context"
	"strings"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
)

// mistake is a request that every server must refuse, in the words of each protocol; "" where one
// cannot be made.
type mistake struct{ name, completions, responses, messages string }

// mistakes stand for those of clients that are being written.
var mistakes = [...]mistake{
	{"error-no-json", `{"model": MODEL, "messages": [`, `{"model": MODEL, "input": [`,
		`{"model": MODEL, "max_tokens": 4, "messages": [`},
	{"error-no-messages", `{"model": MODEL, "stream": STREAM}`, "",
		`{"model": MODEL, "max_tokens": 4, "stream": STREAM}`},
	{"error-messages-type", `{"model": MODEL, "stream": STREAM, "messages": "Hello"}`,
		`{"model": MODEL, "stream": STREAM, "input": 3}`,
		`{"model": MODEL, "max_tokens": 4, "stream": STREAM, "messages": "Hello"}`},
	{"error-role-missing", `{"model": MODEL, "stream": STREAM, "messages": [{"content": "Hello"}]}`,
		`{"model": MODEL, "stream": STREAM, "input": [{"content": "Hello"}]}`,
		`{"model": MODEL, "max_tokens": 4, "stream": STREAM, "messages": [{"content": "Hello"}]}`},
	{"error-tool-choice", `{"model": MODEL, "stream": STREAM, "messages": [{"role": "user", "content": "Hello"}], "tools": [{"type": "function",
		"function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}], "tool_choice": "sometimes", "max_tokens": 4}`,
		`{"model": MODEL, "stream": STREAM, "input": "Hello", "tools": [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}],
		"tool_choice": "sometimes", "max_output_tokens": 16}`,
		`{"model": MODEL, "stream": STREAM, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4,
		"tools": [{"name": "f", "input_schema": {"type": "object", "properties": {}}}], "tool_choice": {"type": "sometimes"}}`},
	{"error-tools-type", `{"model": MODEL, "stream": STREAM, "messages": [{"role": "user", "content": "Hello"}], "tools": "f", "max_tokens": 4}`,
		`{"model": MODEL, "stream": STREAM, "input": "Hello", "tools": "f", "max_output_tokens": 16}`,
		`{"model": MODEL, "stream": STREAM, "messages": [{"role": "user", "content": "Hello"}], "tools": "f", "max_tokens": 4}`},
}

// body returns the request in a protocol's words.
func (m *mistake) body(p wire.Protocol) string {
	switch p {
	case wire.ChatCompletions:
		return m.completions
	case wire.Responses:
		return m.responses
	}
	return m.messages
}

// mistakes sends wrong requests, both ways.
func (r *run) mistakes(ctx context.Context) error {
	for i := range mistakes {
		m := &mistakes[i]
		s := &sheet{scenario: m.name}
		s.look(ruleErrorShape)
		for _, p := range r.v.protocols() {
			if m.body(p) == "" {
				continue
			}
			for _, stream := range [...]string{"false", "true"} {
				body := strings.NewReplacer("MODEL", ordered.Str(r.v.Model).String(),
					"STREAM", stream).Replace(m.body(p))
				how := whole
				if stream == "true" {
					how = streamed
				}
				if err := r.mistake(ctx, s, p, how, body); err != nil {
					return err
				}
			}
		}
		r.add(s)
	}
	return nil
}

func (r *run) mistake(ctx context.Context, s *sheet, p wire.Protocol, how, body string) error {
	fault := func(cause, evidence string, args ...any) {
		s.fault(ruleErrorShape, p.Name()+": "+cause, how+": "+evidence, args...)
	}
	st, a, err := r.v.Client.Stream(ctx, p.Path(), []byte(body))
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		fault("a wrong request is not refused", "%v", err)
	case st != nil:
		fault("a wrong request is not refused", "a stream begins, with status 200")
	case a.Status < 400 || a.Status > 499:
		fault("a wrong request is refused with a status that is not from 400 to 499", "%s",
			a.Fault())
	default:
		if _, err := p.ReadRefusal(a.JSON); err != nil {
			fault("an error has not the protocol's shape", "HTTP status %d: %v in the body %s",
				a.Status, err, a.Body[:min(len(a.Body), 300)])
		}
	}
	return nil
}
