// Package caps finds out what a chat template can do, judges it (the gate), and fits requests to it.
//
// # Model
//
// A capability is decided by what a rendering read and wrote: a small conversation is rendered with provenance, and the
// capability is there if the text in question reaches the prompt as itself. The template's source is never searched. This
// follows the probes of llama.cpp's documented capability detection, and goes further where that one only asks what was read.
//
// # Gate
//
// Only a template that describes tools and replays tool calls passes (E26): [Caps.Gate].
//
// # Fit
//
// [Caps.Fit] turns a request into what the template can take, one named function per polyfill (E27), and says which ones it
// needed.
package caps

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
)

// Caps are the capabilities of a template, and the needs that Fit serves.
type Caps struct {
	Tools             bool // describes the tools of a request in the prompt
	ToolCalls         bool // replays the calls of an assistant's message
	SystemRole        bool // writes a system message
	ParallelToolCalls bool // replays all calls of a message
	PreserveReasoning bool // keeps the reasoning of earlier turns
	StringContent     bool // takes content as a string
	TypedContent      bool // takes content as a list of typed parts
	ObjectArguments   bool // takes a call's arguments as an object
	ReasoningEffort   bool // heeds reasoning_effort

	Needs Needs
}

// Needs are what a template demands of its input beyond its capabilities.
type Needs struct {
	// EmptyContent: null content beside calls is refused or printed as text, an empty string is not.
	EmptyContent bool
	// Developer: a developer's message is written as one; else it is given as a system message.
	Developer bool
	// ReasoningField is the field that reasoning is read from; "" if none was seen to be.
	ReasoningField string
	// ReasoningPart: reasoning is read from no field, but from a part of the content whose type is "thinking".
	ReasoningPart bool
	// Bound are variables without which the template fails, with a value that it can use.
	Bound []ordered.Member
}

// field is one capability with its name.
type field struct {
	name string
	get  func(*Caps) *bool
}

// fields lists the capabilities in the order in which they are printed.
var fields = []field{
	{"supports_tools", func(c *Caps) *bool { return &c.Tools }},
	{"supports_tool_calls", func(c *Caps) *bool { return &c.ToolCalls }},
	{"supports_system_role", func(c *Caps) *bool { return &c.SystemRole }},
	{"supports_parallel_tool_calls", func(c *Caps) *bool { return &c.ParallelToolCalls }},
	{"supports_preserve_reasoning", func(c *Caps) *bool { return &c.PreserveReasoning }},
	{"supports_string_content", func(c *Caps) *bool { return &c.StringContent }},
	{"supports_typed_content", func(c *Caps) *bool { return &c.TypedContent }},
	{"supports_object_arguments", func(c *Caps) *bool { return &c.ObjectArguments }},
	{"supports_reasoning_effort", func(c *Caps) *bool { return &c.ReasoningEffort }},
}

// Value returns the capabilities as a JSON object of booleans, in their fixed order.
func (c Caps) Value() ordered.Value {
	members := make([]ordered.Member, len(fields))
	for i, f := range fields {
		members[i] = ordered.Member{Key: f.name, Value: ordered.Boolean(*f.get(&c))}
	}
	return ordered.ObjectOf(members...)
}

// String returns a line per capability, "name: true" or "name: false".
func (c Caps) String() string {
	var b strings.Builder
	for _, f := range fields {
		fmt.Fprintf(&b, "%s: %v\n", f.name, *f.get(&c))
	}
	return b.String()
}

// Supports returns a capability by its name, and whether there is one of that name.
func (c Caps) Supports(name string) (value, known bool) {
	for _, f := range fields {
		if f.name == name {
			return *f.get(&c), true
		}
	}
	return false, false
}

// ErrToolsUnsupported is what every rejection of the gate wraps.
var ErrToolsUnsupported = errors.New("chat template does not support tool calling")

// Gate returns nil if a template with these capabilities may be loaded for tool calling, else an error that says which
// capability is missing (E26).
func (c Caps) Gate() error {
	var missing []string
	if !c.Tools {
		missing = append(missing, "supports_tools=false")
	}
	if !c.ToolCalls {
		missing = append(missing, "supports_tool_calls=false")
	}
	if missing == nil {
		return nil
	}
	return fmt.Errorf("%w (%s)", ErrToolsUnsupported, strings.Join(missing, ", "))
}

// Detect probes a template. It fails only where the template renders no conversation at all: the error is the one of the plainest.
func Detect(t *chattemplate.Template) (Caps, error) {
	d := detector{template: t}
	if err := d.bind(); err != nil {
		return Caps{}, err
	}
	d.contents()
	d.roles()
	d.tools()
	d.calls()
	d.reasoning()
	return d.caps, nil
}

type detector struct {
	template *chattemplate.Template
	caps     Caps
}

// The needles; see package analysis.
const (
	userText      = "Vquser1"
	systemText    = "Vqsystem1"
	answerText    = "Vqanswer1"
	reasoningText = "Vqreason1"
	argKey        = "vqkeya"
	argValue      = "vqvalue"
)

var callNames = [...]string{"vq_first", "vq_second"}

func member(key string, v ordered.Value) ordered.Member { return ordered.Member{Key: key, Value: v} }

func message(role string, content ordered.Value, more ...ordered.Member) ordered.Value {
	return ordered.ObjectOf(append([]ordered.Member{member("role", ordered.Str(role)), member("content", content)}, more...)...)
}

func text(s string) ordered.Value { return ordered.Str(s) }

// textPart and thinkingPart are parts of typed content.
func textPart(s ordered.Value) ordered.Value {
	return ordered.ObjectOf(member("type", text("text")), member("text", s))
}

func thinkingPart(s ordered.Value) ordered.Value {
	return ordered.ObjectOf(member("type", text("thinking")), member("thinking", s))
}

func user() ordered.Value { return message("user", text(userText)) }

// observe renders a conversation with the bound variables. A template that takes nothing but typed content gets that.
func (d *detector) observe(tools []ordered.Value, messages ...ordered.Value) (chattemplate.Observation, error) {
	if d.caps.typedOnly() {
		for i, m := range messages {
			if content := m.At("content"); content.Kind() == ordered.String {
				messages[i] = m.With("content", ordered.ArrayOf(textPart(content)))
			}
		}
	}
	return d.template.Observe(chattemplate.Input{
		Messages: messages, Tools: tools, Kwargs: d.caps.Needs.Bound,
	})
}

// typedOnly says that content is written where it comes as typed parts, and nowhere else.
func (c *Caps) typedOnly() bool { return c.TypedContent && !c.StringContent }

// writes says that a rendering holds text copied from a path.
func writes(o chattemplate.Observation, path string) bool {
	for _, run := range o.Runs {
		if run.Path == path && run.Role == jinja.FromValue {
			return true
		}
	}
	return false
}

// copies says that a rendering holds the text from a path as it is, and not as a part of a printed list or object.
func copies(o chattemplate.Observation, path string) bool {
	for _, run := range o.Runs {
		if run.Path == path && run.Role == jinja.FromValue && run.Codec == jinja.Plain {
			return true
		}
	}
	return false
}

func (d *detector) contents() {
	if o, err := d.observe(nil, user()); err == nil {
		d.caps.StringContent = copies(o, "messages[0].content")
	}
	if o, err := d.observe(nil, message("user", ordered.ArrayOf(textPart(text(userText))))); err == nil {
		d.caps.TypedContent = copies(o, "messages[0].content[0].text")
	}
}

func (d *detector) roles() {
	for _, role := range []struct {
		name string
		cap  *bool
	}{{"system", &d.caps.SystemRole}, {"developer", &d.caps.Needs.Developer}} {
		if o, err := d.observe(nil, message(role.name, text(systemText)), user()); err == nil {
			*role.cap = writes(o, "messages[0].content") || writes(o, "messages[0].content[0].text")
		}
	}
}

func (d *detector) tools() {
	if o, err := d.observe(probeTools, user()); err == nil {
		d.caps.Tools = writes(o, "tools[0].function.name")
	}
}

// probeTools declares both functions, with every member that a careless template takes for granted.
var probeTools = func() []ordered.Value {
	tools := make([]ordered.Value, len(callNames))
	for i, name := range callNames {
		tools[i] = ordered.ObjectOf(member("type", text("function")), member("function", ordered.ObjectOf(
			member("name", text(name)),
			member("description", text("a function")),
			member("parameters", ordered.ObjectOf(
				member("type", text("object")),
				member("properties", ordered.ObjectOf(member(argKey, ordered.ObjectOf(
					member("type", text("string")), member("description", text("an argument")))))),
				member("required", ordered.ArrayOf(text(argKey))))))))
	}
	return tools
}()

// calling builds an assistant's message with n calls.
func calling(n int, content, args ordered.Value) ordered.Value {
	calls := make([]ordered.Value, n)
	for i := range calls {
		calls[i] = ordered.ObjectOf(member("id", text(fmt.Sprintf("vqcall00%d", i+1))), member("type", text("function")),
			member("function", ordered.ObjectOf(member("name", text(callNames[i])), member("arguments", args))))
	}
	return message("assistant", content, member("tool_calls", ordered.ArrayOf(calls...)))
}

// calls probes the replay of calls: with arguments as an object and as text, content null and empty.
func (d *detector) calls() {
	args := ordered.ObjectOf(member(argKey, text(argValue)))
	asText := text(args.String())
	best := args
	var object, copied bool
	empties := []ordered.Value{{}, text("")} // a probe is not repeated with the second where the first has decided
	needsEmpty := map[ordered.Kind]bool{}    // by the kind of arguments: a call without content fails, or writes it
	for _, a := range []ordered.Value{args, asText} {
		for n, content := range empties {
			o, err := d.observe(probeTools, user(), calling(1, content, a))
			if n == 0 {
				needsEmpty[a.Kind()] = err != nil || writes(o, "messages[1].content")
			}
			if err != nil || !writes(o, "messages[1].tool_calls[0].function.name") {
				continue
			}
			d.caps.ToolCalls = true
			decided := false
			if a.Kind() == ordered.Object {
				decided = !printed(o)
				object = object || decided
			} else {
				decided = copies(o, "messages[1].tool_calls[0].function.arguments")
				copied = copied || decided
				if !object {
					best = asText
				}
			}
			if decided {
				break
			}
		}
	}
	d.caps.ObjectArguments = object || d.caps.ToolCalls && !copied
	if !d.caps.ToolCalls {
		d.caps.ObjectArguments = false
		return
	}
	d.caps.Needs.EmptyContent = needsEmpty[best.Kind()]
	for _, content := range empties {
		o, err := d.observe(probeTools, user(), calling(2, content, best))
		if err == nil && writes(o, "messages[1].tool_calls[0].function.name") && writes(o, "messages[1].tool_calls[1].function.name") {
			d.caps.ParallelToolCalls = true
			break
		}
	}
}

// printed says that the arguments object as a whole was printed as a Python value.
func printed(o chattemplate.Observation) bool {
	for _, run := range o.Runs {
		if run.Path == "messages[1].tool_calls[0].function.arguments" && run.Role == jinja.Structure && run.Codec == jinja.Python {
			return true
		}
	}
	return false
}

func (d *detector) reasoning() {
	thought := message("assistant", text(answerText))
	for _, f := range chat.ReasoningFields {
		thought = thought.With(f, text(reasoningText))
	}
	for _, last := range [][]ordered.Value{{user(), thought}, {user(), thought, user()}} {
		o, err := d.observe(nil, last...)
		for _, f := range chat.ReasoningFields {
			if err == nil && writes(o, "messages[1]."+f) {
				d.caps.Needs.ReasoningField = f
				d.caps.PreserveReasoning = d.caps.PreserveReasoning || len(last) == 3
			}
		}
	}
	if d.caps.Needs.ReasoningField == "" && d.caps.ToolCalls {
		acting := calling(1, text(""), ordered.ObjectOf(member(argKey, text(argValue))))
		for _, f := range chat.ReasoningFields {
			acting = acting.With(f, text(reasoningText))
		}
		if o, err := d.observe(probeTools, user(), acting); err == nil {
			for _, f := range chat.ReasoningFields {
				if writes(o, "messages[1]."+f) {
					d.caps.Needs.ReasoningField = f
				}
			}
		}
	}
	if d.caps.Needs.ReasoningField == "" {
		o, err := d.observe(nil, user(), message("assistant", ordered.ArrayOf(thinkingPart(text(reasoningText)), textPart(text(answerText)))))
		d.caps.Needs.ReasoningPart = err == nil && copies(o, "messages[1].content[0].thinking") && copies(o, "messages[1].content[1].text")
	}
	d.caps.ReasoningEffort = d.heeds("reasoning_effort", text("low"), text("high"))
}

// heeds says that a variable's values make different prompts.
func (d *detector) heeds(name string, values ...ordered.Value) bool {
	var first string
	for i, v := range values {
		got, err := d.template.Render(chattemplate.Input{
			Messages: []ordered.Value{user()}, Generate: true, Kwargs: append(d.caps.Needs.Bound[:len(d.caps.Needs.Bound):len(d.caps.Needs.Bound)], member(name, v)),
		})
		if err != nil {
			return false
		}
		if i > 0 && got != first {
			return true
		}
		first = got
	}
	return false
}
