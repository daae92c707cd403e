package inputs

import (
	"slices"
	"strings"

	"github.com/goassay/assay/harness/check/probe"
)

// protocol has the names of the protocol's fields, and of those that servers and templates have in
// common beside it; a name that differs from one of them by a letter is a slip.
var protocol = slices.Concat(probe.Variables, []string{
	"tool_choice",
	"role", "content", "tool_calls", "tool_call_id", "name", "reasoning_content", "reasoning",
	"text", "type", "image_url", "input_audio", "refusal",
	"function", "arguments", "id", "description", "parameters", "properties", "required",
	"enum", "items", "strict", "default", "nullable", "title",
	"additionalProperties", "format", "minimum", "maximum", "anyOf", "oneOf", "allOf", "const",
	"return", "returns", "response", "output", "result",
})

// lastKey is the name that a path ends in, "" where it ends in an index.
func lastKey(path string) string {
	if strings.HasSuffix(path, "]") {
		return ""
	}
	return path[strings.LastIndexByte(path, '.')+1:]
}
