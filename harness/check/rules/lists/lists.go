package lists

import (
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/sample"
)

// alike are three tools that differ in nothing but their names.
func alike() []chat.Tool {
	var all []chat.Tool
	for _, name := range []string{"find_boat", "take_note", "read_mail"} {
		v, err := ordered.ParseString(`{"type": "function", "function": {"name": "` + name +
			`", "description": "Does it", "parameters": {"type": "object", "properties": ` +
			`{"place": {"type": "string", "description": "A place"}}, "required": ["place"]}}}`)
		if err != nil {
			panic(err)
		}
		all = append(all, chat.Tool{Name: name, Value: v,
			Parameters: v.At("function", "parameters")})
	}
	return all
}

// list is a prompt with the three tools, and where each of them stands.
type list struct {
	*prompts.Prompt
	tools [3]prompts.Span
}

// listed renders the three tools and returns each list of them that the prompt has.
func listed(s *probe.Subject) []list {
	in := s.Template.Caps().Fit(chat.Request{Messages: sample.Talk(sample.User),
		Tools: alike()}).Input
	t := &prompts.Prompt{}
	var err error
	if t.Seen, err = s.Template.ChatTemplate().Observe(in); err != nil {
		return nil
	}
	t.Rendering = s.Rendered(t.Seen.String, in)
	type stretch struct {
		tool byte
		prompts.Span
	}
	var stretches []stretch
	for from, r := range t.Seen.All() {
		at := from + r.Len
		path, ok := strings.CutPrefix(r.Path, "tools[")
		if !ok || r.Role == jinja.Literal {
			continue
		}
		if n := len(stretches); n > 0 && stretches[n-1].tool == path[0] {
			stretches[n-1].To = at
		} else {
			stretches = append(stretches, stretch{path[0], prompts.Span{From: from, To: at}})
		}
	}
	var lists []list
	for i := 0; i+2 < len(stretches); i++ {
		one := stretches[i : i+3]
		if one[0].tool == '0' && one[1].tool == '1' && one[2].tool == '2' {
			lists = append(lists, list{t, [3]prompts.Span{one[0].Span, one[1].Span, one[2].Span}})
		}
	}
	return lists
}
