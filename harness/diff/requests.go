package diff

import (
	"slices"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/fact/growth"
	"github.com/goassay/assay/harness/check/view"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/conversation/sent"
	"github.com/goassay/assay/harness/conversation/standard"
)

// talk is a request as clients send it, rendered by both revisions. Nothing is fitted to a
// revision: the changes of an edit that only some forms of messages meet would be fitted away.
type talk struct {
	name          string
	in            chattemplate.Input
	was, is       string
	wasErr, isErr error
}

// own are requests that only the comparison of two revisions sends. A sound has the type of
// OpenAI's clients and another one's member; each argument of the call has one character for which
// a format may quote a text.
var own = [...]struct{ name, body string }{
	{"two pictures", `{"messages": [{"role": "user", "content": [
		{"type": "image"}, {"type": "text", "text": "Who painted this?"}]},
		{"role": "assistant", "content": "That was Monet."},
		{"role": "user", "content": [
			{"type": "image"}, {"type": "text", "text": "And this one?"}]}]}`},
	{"a sound", `{"messages": [{"role": "user", "content": [` + rain + `,
		{"type": "text", "text": "What is falling?"}]}]}`},
	{"a picture and two sounds", `{"messages": [{"role": "user", "content": [
		{"type": "image"}, ` + rain + `, ` + rain + `,
		{"type": "text", "text": "Which of them fits?"}]}]}`},
	{"a tool call with <, &, quotes and line feeds, each alone in an argument",
		`{"messages": [{"role": "user", "content": "Which of them is it?"},
		{"role": "assistant", "content": "", "tool_calls": [{"id": "call00001", "type": "function",
			"function": {"name": "compare", "arguments": {"less": "one < two", "more": "two > one",
				"and": "salt & pepper", "lines": "first\nsecond", "quote": "say \"yes\"",
				"apostrophe": "it's", "slash": "C:\\temp", "brace": "a {b}"}}}]},
		{"role": "tool", "tool_call_id": "call00001", "name": "compare",
			"content": "the first"}]}`},
}

const rain = `{"type": "input_audio", "audio": "rain.wav",
	"input_audio": {"data": "", "format": "wav"}}`

// differs reports whether both revisions render the request, and not alike.
func (t talk) differs() bool { return t.wasErr == nil && t.isErr == nil && t.was != t.is }

// renderTalks renders the requests of the checks with both revisions: those that stand for all
// others, the spellings of clients, the conversations of the grammar, and those that reach the
// other branches of the old revision. The first ones are sent with each switch as well.
func (p *pair) renderTalks() []talk {
	var all []talk
	seen := map[string]bool{}
	add := func(name string, in chattemplate.Input) {
		if key := p.was.ChatTemplate().Vars(in).String(); !seen[key] {
			seen[key] = true
			all = append(all, p.render(name, in))
		}
	}
	var plain []sent.Request
	for _, c := range standard.Battery() {
		plain = append(plain, sent.Request{Name: c.Name, Request: c.JSON()})
	}
	plain = append(plain, sent.Requests()...)
	for _, r := range own {
		plain = append(plain, sent.Request{Name: r.name, Request: ordered.MustParse(r.body)})
	}
	bodies := slices.Clone(plain)
	for _, s := range sent.All() {
		bodies = append(bodies, sent.Request{Name: s.Name, Request: s.Plain},
			sent.Request{Name: s.Name, Request: s.Sent})
	}
	bound := p.was.Caps().Needs.Bound
	neutral := func(request ordered.Value) chattemplate.Input {
		in := view.Neutral(request)
		in.Kwargs = slices.Concat(bound, in.Kwargs)
		return in
	}
	for _, b := range bodies {
		in, _ := (view.View{}).Serve(nil).Input(b.Request) // as it is sent
		in.Kwargs, in.Messages = slices.Concat(bound, in.Kwargs), sent.TextArguments(in.Messages)
		for i, m := range in.Messages {
			if _, ok := m.Get("reasoning_content"); !ok && m.At("role").Text() == "assistant" {
				in.Messages[i] = m.With("reasoning_content", ordered.Value{})
			}
		}
		add(b.Name, in)
		in = neutral(b.Request)
		add(b.Name, in)
		if len(in.Tools) == 0 {
			in.Kwargs = append(slices.Clip(in.Kwargs), ordered.MemberOf("tools", ordered.Value{}))
			add(b.Name+`, with "tools": null`, in)
		}
	}
	settings, roles := p.settings(plain)
	for _, set := range settings {
		for _, b := range plain {
			in := neutral(b.Request)
			in.Kwargs = slices.Concat(in.Kwargs, set.Members())
			add(b.Name+" with "+set.String(), in)
		}
	}
	for _, b := range plain {
		in := neutral(b.Request)
		if in.Messages[len(in.Messages)-1].At("role").Text() != "assistant" {
			in.Messages = append(slices.Clip(in.Messages), chat.MessageOf("assistant",
				ordered.Str("Monday.")))
			add(b.Name+", and an assistant message", in)
		}
	}
	for _, role := range roles {
		in := neutral(plain[0].Request)
		asked := in.Messages
		in.Messages = append(slices.Clip(asked), chat.MessageOf(role, ordered.Str("Monday.")))
		add("a last message of the role "+role, in)
		in.Messages = append([]ordered.Value{chat.MessageOf(role, ordered.Str(""))}, asked...)
		add("an empty first message of the role "+role, in)
	}
	for _, c := range conversation.Usual().Conversations {
		add(c.Name, c.Input(bound))
	}
	if x := p.before.Explored(); x != nil {
		for _, c := range x.Conversations {
			if in := c.Input(bound); permitted(in) {
				add(c.Name, in)
			}
		}
	}
	return all
}

// render renders an input with both revisions, in the sandbox that lets no template change its
// input where the old revision works there.
func (p *pair) render(name string, in chattemplate.Input) talk {
	was, is := p.was.ChatTemplate(), p.is.ChatTemplate()
	t := talk{name: name, in: in}
	if t.was, t.wasErr = was.RenderImmutable(in); t.wasErr == nil {
		t.is, t.isErr = is.RenderImmutable(in)
		return t
	}
	t.was, t.wasErr = was.Render(in)
	t.is, t.isErr = is.Render(in)
	return t
}

// settings returns the ways to set the variables that the old revision reads: each to each of its
// values, to null and to what one of the requests has, all to the first ones, and all to the second
// ones; and the roles that it knows.
func (p *pair) settings(plain []sent.Request) (settings []ordered.Value, roles []string) {
	m, err := flow.Parse(p.was.ChatTemplate().Source)
	if err != nil {
		return nil, nil
	}
	var on, off []ordered.Member
	for _, values := range growth.Switches(p.was.ChatTemplate().Names(), m.Compared()) {
		on, off = append(on, values[0]), append(off, values[1])
		values = append(values, ordered.MemberOf(values[0].Key, ordered.Value{}))
		for _, b := range plain {
			if v, ok := b.Request.Get(values[0].Key); ok {
				values = append(values, ordered.MemberOf(values[0].Key, v))
			}
		}
		for _, v := range values {
			settings = append(settings, ordered.ObjectOf(v))
		}
	}
	if messages := m.Shape().Members["messages"]; messages != nil && messages.Find().Items != nil {
		if role := messages.Find().Items.Find().Members["role"]; role != nil {
			roles = role.Find().Texts
		}
	}
	return append(settings, ordered.ObjectOf(on...), ordered.ObjectOf(off...)), roles
}

// permitted reports whether messages and calls have the types that the protocol gives them. What a
// search makes of them beyond that, nobody sends.
func permitted(in chattemplate.Input) bool {
	typed := func(v ordered.Value) bool {
		return v.IsNull() || v.Kind() == ordered.Array && !slices.ContainsFunc(v.Items(),
			func(item ordered.Value) bool { return item.At("type").Text() == "" })
	}
	return !slices.ContainsFunc(in.Messages, func(m ordered.Value) bool {
		content := m.At("content")
		return m.At("role").Text() == "" || content.Kind() != ordered.String && !typed(content) ||
			!typed(m.At("tool_calls"))
	})
}
