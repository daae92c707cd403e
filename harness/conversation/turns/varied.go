package turns

import (
	"reflect"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
)

// Texts are texts of answers, and strings among arguments.
type Texts struct{ Contents, Values []string }

// Usual are texts such as people write and the turns of a template have not: fences, brackets,
// quotes, blanks, what looks like a call.
var Usual = Texts{
	Contents: []string{
		"Run this:\n\n```go\nfunc main() {}\n```\n\nThat is all.",
		"```\nplain\n```", "Take [1, 2], {\"a\": [3]} or f(x) [see below].",
		"[first] Open the door.", "- one\n\n    indented  twice\n\ttab\n- two",
		"He said \"no\", 'yes' & <b>bold</b>, 1 < 2 > 0.", "{\"answer\": 42}",
		"The tag </p> ends it | so does \\end{x}.",
	},
	Values: []string{"  two  blanks ", "[x] {y} `z`", "a: b, c=d; e"},
}

// stop ends an output where a server does: before the first text that ends a turn.
func (turn *Turn) stop(ends []string) {
	for _, end := range ends {
		if i := strings.Index(turn.Output, strings.TrimSpace(end)); i >= 0 &&
			strings.TrimSpace(end) != "" {
			turn.Output, turn.End = turn.Output[:i], end
			turn.Message = turn.read(turn.Output)
		}
	}
}

// Varied returns the turns of a template (Of), and those with other texts in their places, as far
// as the format reads them as they are meant. Answers without markers are among them.
func Varied(t *engine.Template, texts Texts) ([]Turn, error) {
	all, err := Of(t)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].stop(t.Analysis().Format.End)
	}
	for _, turn := range all[:len(all):len(all)] {
		add := func(output string, want chat.Message) {
			if reflect.DeepEqual(turn.read(output), want) {
				varied := turn
				varied.Output, varied.Message = output, want
				all = append(all, varied)
			}
		}
		if text := turn.Message.Content; strings.Count(turn.Output, text) == 1 && text != "" {
			for _, content := range texts.Contents {
				want := turn.Message
				want.Content = content
				add(strings.Replace(turn.Output, text, content, 1), want)
				if len(want.ToolCalls) > 0 || want.Reasoning != "" {
					continue
				}
				add(content, want)
				asked := turn
				asked.Prompt, asked.Output, asked.Message = turn.plan.Prompt.Text, content, want
				if asked.Prompt != turn.Prompt && reflect.DeepEqual(
					turn.plan.Parse(content, chat.FinishStop).Message, want) {
					all = append(all, asked)
				}
			}
		}
		for i, call := range turn.Message.ToolCalls {
			arguments, err := ordered.ParseString(call.Arguments)
			if err != nil {
				continue
			}
			for _, m := range arguments.Members() {
				text := m.Value.Text()
				if m.Value.Kind() != ordered.String || text == "" ||
					strings.Count(turn.Output, text) != 1 ||
					strings.Count(call.Arguments, text) != 1 {
					continue
				}
				for _, value := range texts.Values {
					want := turn.Message
					want.ToolCalls = append([]chat.ToolCall(nil), want.ToolCalls...)
					want.ToolCalls[i].Arguments = strings.Replace(call.Arguments, text, value, 1)
					add(strings.Replace(turn.Output, text, value, 1), want)
				}
			}
		}
	}
	return all, nil
}
