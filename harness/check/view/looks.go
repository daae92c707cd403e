package view

import (
	"regexp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/ordered"
)

// looks are what engines see in a template before they change a request for it.
type looks struct {
	loopsContent   bool // a loop goes through the content of a message, as vLLM sees it
	loopsPlainly   bool // the same as SGLang sees it, or there is a word about media
	readsParts     bool // it goes through a content, or reads a part by its number
	knowsDeveloper bool // it has the role developer as a text
	thinks         bool // it has a pair of tags around a thought
	hasChannels    bool // it has gpt-oss' marker of channels
	writesSystem   bool // it writes the content of a system message
	readsArguments bool // it writes what is in the arguments of a call
}

// media matches the words by which SGLang takes a template for one with pictures.
var media = regexp.MustCompile(`image|audio|video|vision`)

// thoughts are the pairs of tags by which mlx-lm takes a tokeniser for that of a reasoning model.
var thoughts = [][2]string{{"<think>", "</think>"}, {"<longcat_think>", "</longcat_think>"},
	{"<|think:start|>", "<|think:end|>"}, {"<|channel>", "<channel|>"}}

// lookAt looks at a template.
func lookAt(t *chattemplate.Template) looks {
	text := t.Source.Text
	l := looks{knowsDeveloper: strings.Contains(text, `"developer"`) ||
		strings.Contains(text, `'developer'`)}
	if m, err := flow.Parse(t.Source); err == nil {
		l.loopsContent, l.loopsPlainly = loopsContent(m), loopsPlainly(m)
		if content := contentOf(m.Shape()); content != nil {
			l.readsParts = content.Items != nil
		}
	}
	l.loopsPlainly = l.loopsPlainly || media.MatchString(text)
	l.hasChannels = strings.Contains(text, "<|channel|>")
	l.writesSystem = writes(t, systemProbe, "quay")
	l.readsArguments = writes(t, argumentsProbe, "quay")
	for _, pair := range thoughts {
		l.thinks = l.thinks || strings.Contains(text, pair[0]) && strings.Contains(text, pair[1])
	}
	return l
}

// The conversations by which llama.cpp finds out what a template does with a request.
var (
	systemProbe = ordered.MustParse(`{"messages": [{"role": "system", "content": "quay"},
		{"role": "user", "content": "a"}]}`)
	argumentsProbe = ordered.MustParse(`{"messages": [{"role": "user", "content": "a"},
		{"role": "assistant", "content": "", "tool_calls": [{"id": "call00001", "type": "function",
		"function": {"name": "f", "arguments": {"arg": "quay"}}}]},
		{"role": "tool", "tool_call_id": "call00001", "name": "f", "content": "b"},
		{"role": "assistant", "content": "c"}, {"role": "user", "content": "d"}]}`)
)

// writes reports whether the prompt of a request has a word of it.
func writes(t *chattemplate.Template, request ordered.Value, word string) bool {
	in := chattemplate.Input{Messages: request.At("messages").Items(), Generate: true}
	text, err := t.Render(in)
	return err == nil && strings.Contains(text, word)
}

// loopsContent reports whether a loop goes through the content of a message, as vLLM looks for one:
// by the names that stand for the list of messages, those of its loops, and the parameters of
// macros.
func loopsContent(m *flow.Model) bool {
	lists, messages := map[string]bool{"messages": true}, map[string]bool{}
	for more := true; more; {
		more = false
		for _, r := range m.Refs {
			switch path := flow.PathOf(r.Value); {
			case !lists[path]:
			case r.Kind == flow.Loop && !messages[r.Name]:
				messages[r.Name], more = true, true
			case (r.Kind == flow.Set || r.Kind == flow.Field) && !lists[r.Name]:
				lists[r.Name], more = true, true
			}
		}
	}
	isContent := func(path string) bool {
		name, ok := strings.CutSuffix(path, ".content")
		return ok && messages[name]
	}
	params := map[string]bool{}
	for _, r := range m.Refs {
		if r.Kind == flow.Passed && isContent(flow.PathOf(r.Value)) {
			params[r.Name] = true
		}
	}
	return slices.ContainsFunc(m.Refs, func(r *flow.Ref) bool {
		path, within := flow.PathOf(r.Value), r.At.Region.Macro
		return r.Kind == flow.Loop &&
			(isContent(path) || path == "content" && !within || params[path] && within)
	})
}

// loopsPlainly reports whether a loop goes through the content of a message, as SGLang looks for
// one: by three names.
func loopsPlainly(m *flow.Model) bool {
	return slices.ContainsFunc(m.Refs, func(r *flow.Ref) bool {
		path := flow.PathOf(r.Value)
		return r.Kind == flow.Loop && (path == "message.content" || path == "msg.content" ||
			path == "m.content")
	})
}

// contentOf is the content of messages as a template reads it; nil: it does not.
func contentOf(request *flow.Shape) *flow.Shape {
	messages := request.Members["messages"]
	if messages == nil || messages.Find().Items == nil {
		return nil
	}
	content := messages.Find().Items.Find().Members["content"]
	if content == nil {
		return nil
	}
	return content.Find()
}
