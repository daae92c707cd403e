// Package view says what inference engines make of a request before a template sees it.
//
// # Model
//
// A [View] is one engine's request code and renderer, by release: a list of steps, several of which
// engines share. [View.Serve] makes it an engine that serves one template, since engines look at
// the template before they change a request. [Server.Input] makes the input of the template from a
// request as a client sends it, and [Server.Render] renders it as the engine does (E33). A template
// is judged in all [Views]; [Names] puts those that show a fault into words.
//
// # Sources
//
// docs/internals/views.md names the package, the release and the function that each view was read
// from. The programs below ci/engines run the packages' own code, and `make views` compares.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package view

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
)

// View is what an engine makes of a request. The zero value changes nothing, and renders in the
// mutable sandbox.
type View struct {
	Engine   string // "transformers"
	Releases string // "before 5.23"; "" for all of the last twelve months

	// Immutable is the sandbox in which a template must not change its input.
	Immutable bool
	// ParsesArguments says that the template gets the arguments of calls as objects.
	ParsesArguments bool

	steps   []step         // in the engine's order
	dialect *jinja.Dialect // of its renderer; nil: Jinja2
}

// Views returns the views in the order in which findings name them.
func Views() []View { return views }

// Neutral returns the input of a template with what all engines agree on: arguments are objects,
// and reasoning has every name under which a template may read it.
func Neutral(request ordered.Value) chattemplate.Input {
	in, _ := neutral.Serve(nil).Input(request) // its steps look at no template, and refuse nothing
	return in
}

// Taken renders a request as [Neutral] makes it or, where a template fails on that, with the
// arguments of calls as text, which some templates take alone.
func Taken[T any](request ordered.Value, render func(chattemplate.Input) (T, error)) (
	chattemplate.Input, T, error) {
	in := Neutral(request)
	prompt, err := render(in)
	if err == nil {
		return in, prompt, nil
	}
	text := in
	text.Messages = lists.Map(in.Messages, func(m ordered.Value) ordered.Value {
		return chat.WithArguments(m, chat.ArgumentsAsText)
	})
	if prompt, err := render(text); err == nil {
		return text, prompt, nil
	}
	return in, prompt, err
}

// RequestOf returns the request with the messages and tools of an input.
func RequestOf(in chattemplate.Input) ordered.Value {
	request := ordered.Pairs("messages", in.Messages)
	if len(in.Tools) > 0 {
		request = request.With("tools", ordered.ArrayOf(in.Tools...))
	}
	return request
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

// IsServer reports whether the engine gets requests from clients; the others are libraries, whose
// callers make the input themselves.
func (v View) IsServer() bool { return v.Engine != "transformers" }

// HasOwnJinja reports whether the engine renders templates by a Jinja that is not Python's.
func (v View) HasOwnJinja() bool { return v.dialect != nil }

// Served reports whether a server is among views.
func Served(of []View) bool { return slices.ContainsFunc(of, View.IsServer) }

// Server is an engine that serves a template.
type Server struct {
	View
	t     *chattemplate.Template
	look  func() looks       // at the template, once
	llama func() *llamaLooks // the same
}

// Serve returns the engine as it serves a template.
func (v View) Serve(t *chattemplate.Template) *Server {
	return v.serve(t, sync.OnceValue(func() looks { return lookAt(t) }))
}

func (v View) serve(t *chattemplate.Template, look func() looks) *Server {
	if v.dialect != nil {
		own := *t
		own.Dialect = v.dialect
		t = &own
	}
	s := &Server{View: v, t: t, look: look}
	s.llama = sync.OnceValue(func() *llamaLooks { return lookAsLlama(*s) })
	return s
}

// Serve returns all engines as they serve a template, at which they look once together.
func Serve(t *chattemplate.Template) []*Server {
	all := []*Server{views[0].Serve(t)}
	for _, v := range views[1:] {
		all = append(all, v.serve(t, all[0].look))
	}
	return all
}

// Hurt is a line that names the engines which make a fault of an input: of the prompt, or the error
// in which it ends; "" where none does.
func Hurt(t *chattemplate.Template, in chattemplate.Input,
	fault func(prompt string, err error) bool) string {
	var hurt []View
	for _, s := range Serve(t) {
		_, prompt, err := s.Prompt(RequestOf(in))
		if refused := (*Refusal)(nil); !errors.As(err, &refused) && fault(prompt, err) {
			hurt = append(hurt, s.View)
		}
	}
	if hurt == nil {
		return ""
	}
	who := Names(hurt)
	if strings.Contains(who, "before") {
		who += "; later ones leave out what is null"
	}
	return "\nwho: " + who
}

// ByArguments returns the views that give a template the arguments of calls as an object, and those
// that give it them as they come, as text.
func ByArguments() (parsed, text []View) {
	for _, v := range views {
		if v.ParsesArguments {
			parsed = append(parsed, v)
		} else {
			text = append(text, v)
		}
	}
	return parsed, text
}

// Refusal is the error of a request that the engine refuses before the template sees it.
type Refusal struct{ Engine, Why string }

func (r *Refusal) Error() string {
	return r.Engine + " refuses the request before the template sees it: " + r.Why
}

func refuse(format string, args ...any) error { return &Refusal{Why: fmt.Sprintf(format, args...)} }

// Input returns the input that the engine gives to the template for a request, the body of a
// request of chat completions. Where the body does not say whether an answer is asked for, it is
// where the last message is not the model's own. An error is a [Refusal].
func (s *Server) Input(request ordered.Value) (chattemplate.Input, error) {
	d, err := s.draft(request)
	return d.input, err
}

// Prompt returns the prompt that the engine makes of a request, with the input of the template. It
// is what this renders, and the text of a last answer where the engine continues it.
func (s *Server) Prompt(request ordered.Value) (chattemplate.Input, string, error) {
	d, err := s.draft(request)
	if err != nil {
		return d.input, "", err
	}
	text, err := s.Render(d.input)
	if err == nil {
		text, err = s.finish(d, text)
	}
	return d.input, text, err
}

// RenderNamed renders what the engine with one of the names of [Options] makes of a request.
func RenderNamed(name string, t *chattemplate.Template, request ordered.Value) (chattemplate.Input,
	string, error) {
	v, ok := Named(name)
	if !ok {
		return chattemplate.Input{}, "", fmt.Errorf("there is no engine %q; there are %s", name,
			strings.Join(Options(), ", "))
	}
	return v.Serve(t).Prompt(request)
}

// draft takes a request through the steps.
func (s *Server) draft(request ordered.Value) (*draft, error) {
	d := &draft{Server: s, body: request, messages: slices.Clone(request.At("messages").Items())}
	for _, m := range request.Members() {
		switch m.Key {
		case "messages":
		case "tools", "documents", "add_generation_prompt":
			d.set(m.Key, m.Value)
		case "chat_template_kwargs":
			for _, of := range m.Value.Members() {
				d.set(of.Key, of.Value)
			}
		}
	}
	for _, step := range s.steps {
		if err := step(d); err != nil {
			if refusal := (*Refusal)(nil); errors.As(err, &refusal) {
				refusal.Engine = s.String()
			}
			return d, err
		}
	}
	tools := d.get("tools").Items()
	if len(tools) > 0 {
		d.unset("tools")
	}
	d.input = chattemplate.Input{Messages: d.messages, Tools: tools, Kwargs: d.variables}
	if n := len(d.messages); n > 0 {
		d.input.Generate = d.messages[n-1].At("role").Text() != "assistant" && d.continued == nil
	}
	return d, nil
}

// rawBlock is a statement that the engines' own Jinja does not have.
var rawBlock = regexp.MustCompile(`\{%[-+]?\s*raw\b`)

// Render renders an input as the engine does.
func (s *Server) Render(in chattemplate.Input) (string, error) {
	if s.Immutable {
		return s.t.RenderImmutable(in)
	}
	if at := rawBlock.FindStringIndex(s.t.Source.Text); at != nil && s.dialect != nil {
		return "", source.Errorf(s.t.Source, at[0], "the engine's Jinja has no raw")
	}
	return s.t.Render(in)
}
