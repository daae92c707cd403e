package view

import (
	"regexp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja/flow"
)

// looks are what engines see in a template before they change a request for it.
type looks struct {
	loopsContent   bool // a loop goes through the content of a message, as vLLM sees it
	loopsPlainly   bool // the same as SGLang sees it, or there is a word about media
	knowsDeveloper bool // it has the role developer as a text
	thinks         bool // it has a pair of tags around a thought
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
	}
	l.loopsPlainly = l.loopsPlainly || media.MatchString(text)
	for _, pair := range thoughts {
		l.thinks = l.thinks || strings.Contains(text, pair[0]) && strings.Contains(text, pair[1])
	}
	return l
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
