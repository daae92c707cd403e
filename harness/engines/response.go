package engines

import (
	"cmp"
	"slices"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/responsetemplate"
)

// ReadResponse parses the output of a request with a response_template.
func ReadResponse(t *responsetemplate.Template, r Request) (Message, error) {
	request, err := ordered.Parse(r.Request)
	if err != nil {
		return Message{}, err
	}
	tools := request.At("tools")
	if request.At("tool_choice").Text() == "none" {
		tools = ordered.Value{}
	}
	v, err := t.Parse(r.Output, r.Prompt, tools)
	if err != nil {
		return Message{}, err
	}
	m := Message{Content: v.At("content").Text(), Calls: []Call{}}
	m.Reasoning = cmp.Or(v.At("reasoning_content").Text(), v.At("thinking").Text(),
		v.At("reasoning").Text())
	for _, call := range v.At("tool_calls").Items() {
		f := call.At("function")
		if f.IsNull() {
			f = call
		}
		arguments := f.At("arguments")
		text := arguments.Text()
		if arguments.Kind() != ordered.String {
			text = arguments.String()
		}
		m.Calls = append(m.Calls, Call{call.At("id").Text(), f.At("name").Text(), text})
	}
	return m, nil
}

// Equal reports whether two messages say the same; arguments are compared as JSON.
func (m Message) Equal(o Message) bool {
	return m.Reasoning == o.Reasoning && m.Content == o.Content &&
		slices.EqualFunc(m.Calls, o.Calls, func(a, b Call) bool {
			if a.ID != b.ID || a.Name != b.Name {
				return false
			}
			x, err := ordered.ParseString(a.Arguments)
			y, err2 := ordered.ParseString(b.Arguments)
			if err != nil || err2 != nil {
				return a.Arguments == b.Arguments
			}
			return ordered.Equal(x, y)
		})
}
