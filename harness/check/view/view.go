// Package view says what inference engines make of a request before a template sees it.
//
// # Model
//
// A [View] is one engine's request code and renderer, by release: data, composed of steps that
// several engines share. [View.Input] makes the input of a template from a request as a client
// sends it, and [View.Render] renders it as the engine does (E33). A template is judged in all
// [Views]; [Names] puts those that show a fault into words.
//
// # Sources
//
// docs/internals/views.md names the package, the release and the function that each view was read
// from. The programs below ci/engines run the packages' own code, and a test compares.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package view

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
)

// View is what an engine makes of a request. The zero value changes nothing, and renders in the
// mutable sandbox.
type View struct {
	Engine   string // "transformers"
	Releases string // "before 5.23"; "" for all of the last twelve months

	// Immutable is the sandbox in which a template must not change its input.
	Immutable bool
	// Refuses are members that the engine itself refuses where they are null, "tools" where it is
	// empty: the template never sees such a request.
	Refuses []string
	// Keeps are the members of a message that reach the template, in their order; nil: all, in the
	// client's order.
	Keeps []string
	// Reasoning are the names under which the reasoning of a message reaches the template; nil: as
	// the client sent it.
	Reasoning []string
	// DropNull leaves members of a message out that are null, and NoCalls a list of calls that is
	// null or empty.
	DropNull, NoCalls bool
	// ParseArguments makes the arguments of calls objects where they come as text.
	ParseArguments bool
	// EmptyContent makes "" of content that is null or absent.
	EmptyContent bool
	// Joins makes a string of content in text parts where the template takes no parts; Separator
	// stands between them.
	Joins     bool
	Separator string
	// Pictures makes {"type": "image"} of a part of the type image_url. NoPictures refuses a
	// request with a picture, as a text model does.
	Pictures, NoPictures bool
	// NullTools gives the template tools and documents as null where the request has none.
	NullTools bool
	// EmptyTools lets an empty list of tools reach the template.
	EmptyTools bool
}

// Views returns the views in the order in which findings name them.
func Views() []View { return views }

var views = []View{
	{Engine: "transformers", Immutable: true, DropNull: true, Pictures: true,
		Reasoning: []string{"reasoning_content", "thinking"}, NullTools: true, EmptyTools: true},
	{Engine: "transformers", Releases: "before 5.23", Immutable: true, NullTools: true,
		EmptyTools: true},
	{Engine: "vLLM", Immutable: true, Refuses: []string{"name", "tools"},
		Keeps: []string{"role", "content", "tool_calls", "reasoning", "reasoning_content",
			"tool_call_id", "name"},
		Reasoning: []string{"reasoning", "reasoning_content"}, DropNull: true, NoCalls: true,
		ParseArguments: true, EmptyContent: true, Joins: true, Separator: "\n", Pictures: true,
		NullTools: true},
	{Engine: "SGLang", Immutable: true,
		Keeps: []string{"role", "content", "tool_call_id", "name", "reasoning_content",
			"tool_calls"},
		DropNull: true, ParseArguments: true, EmptyContent: true, Joins: true, Separator: " ",
		Pictures: true, NullTools: true},
	{Engine: "mlx-lm", Immutable: true, DropNull: true,
		Reasoning: []string{"reasoning_content", "thinking"}, ParseArguments: true,
		EmptyContent: true, Joins: true, NoPictures: true, NullTools: true},
	{Engine: "llama.cpp", Refuses: []string{"name", "reasoning_content"},
		Keeps: []string{"role", "content", "reasoning_content", "name", "tool_call_id",
			"tool_calls"},
		DropNull: true, NoCalls: true, ParseArguments: true, EmptyContent: true, Joins: true,
		Separator: "\n", NoPictures: true},
}

// String returns the engine with its releases.
func (v View) String() string {
	if v.Releases == "" {
		return v.Engine
	}
	return v.Engine + " " + v.Releases
}

// name is that of a view on a command line: "vllm", "transformers-before-5.23".
func (v View) name() string {
	return strings.ToLower(strings.ReplaceAll(v.String(), " ", "-"))
}

// Sent names the view of no engine: the template gets the request as it was sent.
const Sent = "sent"

// Options are the names that [Named] knows.
func Options() []string {
	names := []string{Sent}
	for _, v := range views {
		names = append(names, v.name())
	}
	return names
}

// Named returns the view with one of the names of [Options].
func Named(name string) (View, bool) {
	i := slices.IndexFunc(views, func(v View) bool { return v.name() == name })
	if i < 0 {
		return View{}, name == Sent
	}
	return views[i], true
}

// Variables returns what a server reads of a request of chat completions for the template: its
// messages, tools and documents, whether an answer is asked for, and the members of
// chat_template_kwargs.
func Variables(request ordered.Value) ordered.Value {
	var all []ordered.Member
	for _, m := range request.Members() {
		switch m.Key {
		case "messages", "tools", "documents", "add_generation_prompt":
			all = append(all, m)
		case "chat_template_kwargs":
			all = append(all, m.Value.Members()...)
		}
	}
	return ordered.ObjectOf(all...)
}

// Names lists views, such as "transformers before 5.23 and llama.cpp"; "every engine" where they
// are all there are. An engine all of whose releases are named is named once.
func Names(of []View) string {
	if len(of) == len(views) {
		return "every engine"
	}
	var names []string
	for _, v := range of {
		newest := slices.ContainsFunc(of, func(o View) bool {
			return o.Engine == v.Engine && o.Releases == ""
		})
		if v.Releases == "" || !newest {
			names = append(names, v.String())
		}
	}
	if n := len(names) - 1; n > 0 {
		return strings.Join(names[:n], ", ") + " and " + names[n]
	}
	return strings.Join(names, "")
}

// Served reports whether a server is among views; the others are those of a library.
func Served(of []View) bool {
	return slices.ContainsFunc(of, func(v View) bool { return v.Engine != "transformers" })
}

// Input returns the input that the engine gives to a template for a request: an object with
// messages, tools and further variables, as clients of chat completions send it. Parts reports
// whether the template takes content in parts. The answer is asked for where the last message is
// not the model's own. It is false where the engine refuses the request.
func (v View) Input(request ordered.Value, parts bool) (in chattemplate.Input, ok bool) {
	for _, m := range request.At("messages").Items() {
		for _, member := range m.Members() {
			if member.Value.IsNull() && slices.Contains(v.Refuses, member.Key) {
				return in, false
			}
		}
		if v.NoPictures && slices.ContainsFunc(m.At("content").Items(), isPicture) {
			return in, false
		}
		in.Messages = append(in.Messages, v.message(m, parts))
	}
	if n := len(in.Messages); n > 0 {
		in.Generate = in.Messages[n-1].At("role").Text() != "assistant"
	}
	for _, m := range request.Members() {
		switch {
		case m.Key == "messages":
		case m.Key == "tools" && len(m.Value.Items()) > 0:
			in.Tools = m.Value.Items()
		case m.Key == "tools" && m.Value.Kind() == ordered.Array && !v.EmptyTools:
			if slices.Contains(v.Refuses, "tools") {
				return in, false
			}
		case (m.Key == "tools" || m.Key == "documents") && m.Value.IsNull():
		default:
			in.Kwargs = append(in.Kwargs, m)
		}
	}
	if v.NullTools {
		for _, name := range []string{"tools", "documents"} {
			if len(request.At(name).Items()) == 0 && !slices.ContainsFunc(in.Kwargs,
				func(m ordered.Member) bool { return m.Key == name }) {
				in.Kwargs = append(in.Kwargs, ordered.MemberOf(name, ordered.Value{}))
			}
		}
	}
	return in, true
}

// message returns a message as the engine gives it to the template.
func (v View) message(m ordered.Value, parts bool) ordered.Value {
	if v.EmptyContent && m.At("content").IsNull() {
		m = m.With("content", ordered.Str(""))
	}
	if v.Joins && !parts {
		if text, ok := joined(m.At("content"), v.Separator); ok {
			m = m.With("content", text)
		}
	}
	if v.Pictures && slices.ContainsFunc(m.At("content").Items(), isPicture) {
		parts := slices.Clone(m.At("content").Items())
		for i, part := range parts {
			if isPicture(part) {
				parts[i] = ordered.ObjectOf(ordered.MemberOf("type", ordered.Str("image")))
			}
		}
		m = m.With("content", ordered.ArrayOf(parts...))
	}
	calls := m.At("tool_calls")
	if v.NoCalls && len(calls.Items()) == 0 {
		m = m.Without("tool_calls")
	} else if v.ParseArguments && len(calls.Items()) > 0 {
		m = m.With("tool_calls", parsed(calls))
	}
	if v.DropNull {
		for _, member := range m.Members() {
			if member.Value.IsNull() {
				m = m.Without(member.Key)
			}
		}
	}
	if v.Reasoning != nil {
		m = aliased(m, v.Reasoning)
	}
	return kept(m, v.Keeps)
}

// isPicture reports whether a part of content is a picture.
func isPicture(part ordered.Value) bool {
	kind := part.At("type").Text()
	return kind == "image" || kind == "image_url"
}

// kept returns a message with the members that are kept, in their order.
func kept(m ordered.Value, keeps []string) ordered.Value {
	if keeps == nil {
		return m
	}
	var members []ordered.Member
	for _, key := range keeps {
		if value, ok := m.Get(key); ok {
			members = append(members, ordered.MemberOf(key, value))
		}
	}
	return ordered.ObjectOf(members...)
}

// joined returns the text of content in text parts; false where it is something else.
func joined(content ordered.Value, separator string) (ordered.Value, bool) {
	if content.Kind() != ordered.Array {
		return ordered.Value{}, false
	}
	var texts []string
	for _, part := range content.Items() {
		if part.At("type").Text() != "text" {
			return ordered.Value{}, false
		}
		texts = append(texts, part.At("text").Text())
	}
	return ordered.Str(strings.Join(texts, separator)), true
}

// parsed returns calls whose arguments are objects where they are the text of one.
func parsed(calls ordered.Value) ordered.Value {
	var all []ordered.Value
	for _, c := range calls.Items() {
		f := c.At("function")
		if text := f.At("arguments"); text.Kind() == ordered.String {
			if object, err := ordered.ParseString(text.Text()); err == nil {
				c = c.With("function", f.With("arguments", object))
			}
		}
		all = append(all, c)
	}
	return ordered.ArrayOf(all...)
}

// aliased returns a message whose reasoning has all of some names.
func aliased(m ordered.Value, names []string) ordered.Value {
	for _, name := range []string{"reasoning_content", "thinking", "reasoning"} {
		text, ok := m.Get(name)
		if !ok || text.IsNull() {
			continue
		}
		for _, alias := range names {
			if _, has := m.Get(alias); !has {
				m = m.With(alias, text)
			}
		}
		break
	}
	return m
}

// Render renders an input as the engine does.
func (v View) Render(t *chattemplate.Template, in chattemplate.Input) (string, error) {
	if v.Immutable {
		return t.RenderImmutable(in)
	}
	return t.Render(in)
}
