package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/jinja/syntax"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/verify"
	"github.com/goassay/assay/harness/clients"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/rule"
	"github.com/goassay/assay/harness/standard"
	"github.com/goassay/assay/harness/subject"
)

// Subject is a template while it is checked.
type Subject struct {
	Source   subject.Source
	Template *engine.Template // nil where it does not compile
	Options  Options

	parsed       func() (*syntax.Template, *syntax.Spans)
	followed     func() *follower // of the variables
	talks        func() []*talked
	census       func() *census
	grown        func() *grown // the template on long requests
	explored     func() *conversation.Exploration
	hangings     func() *hangings                // the lines that some prompts have
	gaps         func() []gap                    // of all conversations
	frame        func() (frame, bool)            // of turns, where it can be learnt
	sequence     func() (sequence, bool)         // of turns, where one marker opens all
	forgets      func() (rendering, bool)        // see forgetful
	turnPlan     func() (*codegen.Output, error) // reads the turns of verify
	rules        []lookout
	clients      []clients.Client // whose requests are asked for
	err          error            // why it does not compile
	suppressions []*suppression
}

func newSubject(src subject.Source, o Options) *Subject {
	s := &Subject{Source: src, Options: o, suppressions: suppressionsOf(src.Text, o.Suppressed)}
	if t, err := src.Compile(); err != nil {
		s.err = err
	} else {
		s.Template = t
	}
	s.parsed = sync.OnceValues(func() (*syntax.Template, *syntax.Spans) {
		tree, spans, _ := syntax.ParseSpans(src.Places()) // it compiles
		return tree, spans
	})
	s.followed = sync.OnceValue(s.follow)
	s.talks = sync.OnceValue(s.observeTalks)
	s.census = sync.OnceValue(s.takeCensus)
	s.grown = sync.OnceValue(s.grow)
	s.explored = sync.OnceValue(s.explore)
	s.hangings = sync.OnceValue(s.findHanging)
	s.gaps = sync.OnceValue(s.findGaps)
	s.frame = sync.OnceValues(func() (frame, bool) { return learnFrame(s.gaps()) })
	s.sequence = sync.OnceValues(func() (sequence, bool) {
		return learnSequence(s.talks(), s.gaps())
	})
	s.forgets = sync.OnceValues(s.forgetful)
	s.turnPlan = sync.OnceValues(func() (*codegen.Output, error) {
		return s.plan(codegen.Options{Tools: verify.Tools(), Parallel: true})
	})
	return s
}

// explore returns the part of the template that the conversations of the grammar reach, and those
// that a search makes of them.
func (s *Subject) explore() *conversation.Exploration {
	if s.Options.Grammar == nil {
		return s.Source.Explored()
	}
	return conversation.Explore(s.Template.ChatTemplate(), s.grammar(),
		s.Template.Caps().Needs.Bound, conversation.UsualRenders, s.Source.Unreachable)
}

// quiet reports whether a rule finds nothing; another one need not report the same cause again.
func (s *Subject) quiet(look func(*Subject, finder)) bool {
	found := false
	look(s, func(_ where, format string, args ...any) {
		found = found || !errors.As(fmt.Errorf(format, args...), new(rule.NotJudged))
	})
	return !found
}

// raw renders messages as they are, as a server does that fits nothing, where tools is true with
// the tools that they call; those are fitted, since their gaps do not concern messages.
func (s *Subject) raw(messages []ordered.Value, tools bool) (rendering, error) {
	in := chattemplate.Input{Messages: messages, Kwargs: s.Template.Caps().Needs.Bound}
	if tools {
		in.Tools = s.tools()
	}
	return s.render(in)
}

// fitted renders messages as the engine does, fitted to the template; with tools also where tools
// is true, and with a generation prompt where generate is true.
func (s *Subject) fitted(messages []ordered.Value, tools, generate bool) (rendering, error) {
	r := chat.Request{Messages: messages, NoGeneration: !generate}
	if tools {
		r.Tools = called()
	}
	return s.ask(r)
}

// called are the standard tools that callValue and callValue2 call.
func called() []chat.Tool {
	return slices.DeleteFunc(slices.Clone(standard.ToolRequest().Tools), func(t chat.Tool) bool {
		return t.Name != "get_weather" && t.Name != "list_notes"
	})
}

// tools are the called ones in the form that the template takes.
func (s *Subject) tools() []ordered.Value {
	return s.Template.Caps().Fit(chat.Request{Tools: called()}).Input.Tools
}

// The parts of the conversations that rules render. Needles are upper-case words that occur nowhere
// else.
var (
	systemTurn   = chat.System("SYSTEMNEEDLE")
	userTurn     = chat.User("USERNEEDLE")
	userTurn2    = chat.User("SECONDNEEDLE")
	userParts    = chat.MessageOf("user", ordered.ArrayOf(chat.TextPart(ordered.Str("USERNEEDLE"))))
	answerTurn   = answering("ANSWERNEEDLE")
	thinkingTurn = answerTurn.With("reasoning_content", ordered.Str("REASONNEEDLE"))
	callTurn     = calling(callValue)
	callValue    = chat.CallOf("callid001", "get_weather", objectArguments)
	callValue2   = chat.CallOf("callid002", "list_notes", ordered.ObjectOf())
	resultTurn   = resulting("callid001", "RESULTNEEDLE")
	result2Turn  = chat.Result("callid002", "list_notes", "RESULT2NEEDLE")
)

// The arguments of callTurn's call, as an object and as OpenAI's API sends them.
var (
	objectArguments = ordered.ObjectOf(ordered.MemberOf("city", ordered.Str("CITYNEEDLE")),
		ordered.MemberOf("days", ordered.Int(3)))
	stringArguments = ordered.Str(objectArguments.String())
)

// answering returns an answer.
func answering(text string) ordered.Value { return chat.MessageOf("assistant", ordered.Str(text)) }

// calling returns a message that calls functions and says nothing.
func calling(calls ...ordered.Value) ordered.Value {
	return chat.MessageOf("assistant", ordered.Str(""),
		ordered.MemberOf("tool_calls", ordered.ArrayOf(calls...)))
}

// fullTurn returns a message with reasoning, content and calls.
func fullTurn(calls ...ordered.Value) ordered.Value {
	return thinkingTurn.With("tool_calls", ordered.ArrayOf(calls...))
}

// callingWith returns callTurn with other arguments.
func callingWith(arguments ordered.Value) ordered.Value {
	return calling(chat.CallOf("callid001", "get_weather", arguments))
}

// callIn returns a call with a city as its one argument.
func callIn(id, name string) ordered.Value {
	return chat.CallOf(id, "get_weather", city(ordered.Str(name)))
}

// city returns arguments with nothing but a city.
func city(name ordered.Value) ordered.Value {
	return ordered.ObjectOf(ordered.MemberOf("city", name))
}

// resulting returns the result of a call of get_weather.
func resulting(id, text string) ordered.Value { return chat.Result(id, "get_weather", text) }

// says returns a message with another text.
func says(message ordered.Value, text string) ordered.Value {
	return message.With("content", ordered.Str(text))
}

// talk returns a conversation.
func talk(turns ...ordered.Value) []ordered.Value { return turns }

// first is the first line of an error.
func first(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// RenderWith renders a request with another renderer, fitted as the engine fits it. The native
// engine renders it first: the other one only ever sees renders that end within the limits.
func RenderWith(renderer chattemplate.Renderer, t *engine.Template,
	r chat.Request) (string, error) {
	in := t.Caps().Fit(r).Input
	if _, err := t.ChatTemplate().Render(in); err != nil {
		return "", err
	}
	program, err := renderer.Compile(t.ChatTemplate().Source)
	if err != nil {
		return "", err
	}
	return program.Render(t.ChatTemplate().Vars(in), subject.Now)
}

// thinkingModes are the settings of thinking that a request can have.
func thinkingModes() []thinkingMode {
	yes, no := true, false
	return []thinkingMode{{"unset", nil}, {"on", &yes}, {"off", &no}}
}

type thinkingMode struct {
	name string
	on   *bool
}

// prepare prepares whatever can be prepared: the rules judge the result.
func (s *Subject) prepare(r chat.Request) (*engine.Plan, error) {
	return s.Template.Prepare(r,
		engine.PrepareOptions{Insist: true, Fallbacks: s.Options.Fallbacks})
}

// turnOf returns the text after the header in a rendering of a user's turn and an answer.
func (s *Subject) turnOf(text string) (string, bool) {
	_, turn, ok := strings.Cut(text, "USERNEEDLE")
	if !ok {
		return "", false
	}
	return s.Template.Analysis().CutTurn(turn)
}

// opened is the close of the reasoning that a prefill leaves open.
func (s *Subject) opened(prefill string) string {
	r := s.Template.Analysis().Format.Reasoning
	if r.Close.Text == "" || !opens(prefill, r) {
		return ""
	}
	return r.Close.Text
}

// opens reports whether a prefill leaves reasoning open.
func opens(prefill string, r format.Reasoning) bool {
	if r.Open.Text == "" {
		return r.Mode == format.ReasoningDelimiter && prefill != "" &&
			!strings.Contains(prefill, r.Close.Text)
	}
	return strings.LastIndex(prefill, r.Open.Text) > strings.LastIndex(prefill, r.Close.Text) ||
		r.Close.Text == "" && strings.Contains(prefill, r.Open.Text)
}

// contentMarkers wraps an answer as the format does where nothing stands beside it.
func (s *Subject) contentMarkers(answer string) string {
	c := s.Template.Analysis().Format.Content
	if !c.Wraps(false, false) {
		return answer
	}
	return c.Open.Full() + answer + c.Close.Full()
}

func jsonString(s string) string { return ordered.Str(s).String() }
