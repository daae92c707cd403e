package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
	"github.com/goassay/assay/harness/foreign/responsetemplate"
	"github.com/goassay/assay/harness/hub/manifest"
)

// wireRequests grow along the dimensions of a request, by the name of the protocol.
var wireRequests = map[string][]generator{
	wire.ChatCompletions.Name(): {
		{"messages", list(`{"model": "m", "messages": [`, `{"role": "user", "content": "a%d"}`, `]}`)},
		{"parts", list(`{"model": "m", "messages": [{"role": "user", "content": [`,
			`{"type": "text", "text": "a%d"}`, `]}]}`)},
		{"tools", list(`{"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": [`,
			`{"type": "function", "function": {"name": "f%d", "parameters": {"type": "object"}}}`, `]}`)},
		{"members", list(`{"model": "m", "messages": [{"role": "user", "content": "x"}], "metadata": {`,
			`"k%d": "%d"`, `}}`)},
	},
	wire.Responses.Name(): {
		{"items", list(`{"model": "m", "input": [`, `{"role": "user", "content": "a%d"}`, `]}`)},
		{"parts", list(`{"model": "m", "input": [{"role": "user", "content": [`,
			`{"type": "input_text", "text": "a%d"}`, `]}]}`)},
		{"calls", list(`{"model": "m", "input": [{"role": "user", "content": "x"}, `,
			`{"type": "function_call", "call_id": "c%d", "name": "f", "arguments": "{}"}, `+
				`{"type": "function_call_output", "call_id": "c%d", "output": "x"}`, `]}`)},
		{"tools", list(`{"model": "m", "input": "x", "tools": [`,
			`{"type": "function", "name": "f%d", "parameters": {"type": "object"}}`, `]}`)},
	},
	wire.Messages.Name(): {
		{"messages", list(`{"model": "m", "max_tokens": 1, "messages": [`,
			`{"role": "user", "content": "a%d"}, {"role": "assistant", "content": "b%d"}`,
			`, {"role": "user", "content": "x"}]}`)},
		{"parts", list(`{"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": [`,
			`{"type": "text", "text": "a%d"}`, `]}]}`)},
		{"tools", list(`{"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}], `+
			`"tools": [`, `{"name": "f%d", "input_schema": {"type": "object"}}`, `]}`)},
	},
}

// wireAnswers grow along the dimensions of a server's answer, in any protocol.
var wireAnswers = []generator{
	{"calls", list(`{"choices": [{"index": 0, "message": {"role": "assistant", "tool_calls": [`,
		`{"id": "i%d", "type": "function", "function": {"name": "f%d", "arguments": "{}"}}`,
		`]}, "finish_reason": "tool_calls"}]}`)},
	{"choices", list(`{"choices": [`, `{"index": %d, "message": {"content": "a%d"}}`, `]}`)},
	{"items", list(`{"output": [`, `{"type": "message", "content": [{"type": "output_text", `+
		`"text": "a%d"}]}`, `]}`)},
	{"items of no kind", list(`{"output": [`, `{"type": "t%d"}`, `], "content": [{"type": "t"}]}`)},
	{"blocks", list(`{"role": "assistant", "content": [`, `{"type": "text", "text": "a%d"}`, `]}`)},
	{"blocks of no kind", list(`{"role": "assistant", "content": [`, `{"type": "t%d"}`, `]}`)},
	{"members", list(`{`, `"k%d": %d`, `}`)},
}

// manifests grow along the dimensions of a list of templates.
var manifests = []generator{
	{"entries", times(`{"what": "template", "where": "a/b%d", "digest": "` + manifest.Digest("x") +
		`", "file": "f%d"}` + "\n")},
	{"files", list(`{"what": "repository", "where": "a/b", "revision": "r", "files": [`, `"f%d"`,
		"]}\n")},
	{"one name", func(n int) string {
		return `{"what": "template", "where": "` + strings.Repeat("x", n) + `"}` + "\n"
	}},
}

// responseTemplates grow along the dimensions of a response_template.
var responseTemplates = []generator{
	{"fields", list(`{"version": 1, "start_anchor": "A", "fields": {`,
		`"f%d": {"open": "<x%d>", "close": "</x%d>"}`, `}}`)},
	{"patterns", list(`{"version": 1, "start_anchor": "A", "fields": {`,
		`"f%d": {"open_pattern": "<x%d>", "close": "</x>"}`, `}}`)},
	{"one pattern", between(`{"version": 1, "start_anchor": "A", "fields": {"f": {"open_pattern": "`, "(?:a)", `"}}}`)},
	{"defaults", list(`{"version": 1, "start_anchor": "A", "fields": {}, "defaults": {`, `"k%d": %d`,
		`}}`)},
}

// wireDoors are the readers of the three protocols, of manifests and of response templates.
func wireDoors() (all []door) {
	for _, p := range wire.All {
		request := ofJSON(func(_ string, v ordered.Value) error {
			random := bytes.NewReader(make([]byte, 1<<10))
			sealer, err := wire.NewSealer(make([]byte, 32), random)
			if err == nil {
				_, err = p.Decode(v, sealer)
			}
			return limited(err)
		})
		answer := ofJSON(func(_ string, v ordered.Value) error {
			p.Read(v)
			return nil
		})
		all = append(all, door{"request of " + p.Name(), false, wireRequests[p.Name()], request},
			door{"answer of " + p.Name(), false, wireAnswers, answer})
	}
	return append(all,
		door{"manifest", false, manifests, func(text string) error {
			_, _, err := manifest.Read(strings.NewReader(text), manifest.Template,
				func(manifest.Entry) error { return nil })
			return limited(err)
		}},
		door{"response template", false, responseTemplates,
			ofJSON(func(_ string, v ordered.Value) error {
				read, err := responsetemplate.Read(v)
				if err == nil {
					_, err = read.Parse(strings.Repeat("<x1>a</x1>", 10), "A", ordered.Value{})
				}
				return limited(err)
			})})
}

// limited takes a refusal for a limit.
func limited(err error) error {
	if err != nil && !errors.Is(err, errLimit) {
		return fmt.Errorf("%w: %w", errLimit, err)
	}
	return err
}
