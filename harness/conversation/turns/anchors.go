package turns

import (
	"strings"
	"unicode"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/engine/verify"
)

// results are results of tools with nothing in common, so that a text with which the prompts after
// all of them end is the template's.
var results = []string{"seen", `{"count": 3}`, "7", `["a", "b"]`, "true"}

// Anchors returns the texts, the format's header apart, after which the model's turn begins. There
// is one where prompts after the result of a tool do not end with the header: the end that these
// prompts share, without the model's own text.
func Anchors(t *engine.Template) []string {
	header := t.Analysis().Format.Header
	shared := ""
	for i, result := range results {
		prompt, ok := afterResult(t, i, result)
		switch {
		case !ok || strings.HasSuffix(prompt, header):
			return nil
		case i == 0:
			shared = prompt
		default:
			shared = source.CommonSuffix(shared, prompt)
		}
	}
	if !strings.ContainsFunc(shared, unicode.IsLetter) {
		return nil // a bracket or white space stands everywhere
	}
	return []string{shared}
}

// afterResult renders the prompt after the result of a tool, without the text that the prompt gives
// the model's turn. ok is false where the template has no such prompt.
func afterResult(t *engine.Template, n int, result string) (text string, ok bool) {
	tool := verify.Tools()[0]
	id := strings.Repeat(string(rune('a'+n)), 9)
	call := chat.CallOf(id, tool.Name, ordered.Str("{}"))
	request := chat.Request{Tools: []chat.Tool{tool}, Messages: []ordered.Value{
		chat.User("Hello."),
		chat.MessageOf("assistant", ordered.Str(""),
			ordered.MemberOf("tool_calls", ordered.ArrayOf(call))),
		chat.Result(id, tool.Name, result).Without("name"),
	}}
	prompt, err := t.Render(request)
	if err != nil {
		return "", false
	}
	prefill, err := prompt.Prefill()
	if err != nil {
		return "", false
	}
	return strings.CutSuffix(prompt.Text, prefill)
}
