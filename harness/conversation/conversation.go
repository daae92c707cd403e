package conversation

import (
	"strconv"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
)

// Conversation is a request and how it came about.
type Conversation struct {
	Name    string       // in words: "system, user, assistant with one call, tool"
	Request chat.Request // its switches are in Kwargs
	Beyond  bool         // found by the search: the protocol need not permit it
}

// Input returns the request as a server gives it to the template that fits nothing, with the
// variables without which the template fails.
func (c Conversation) Input(bound []ordered.Member) chattemplate.Input {
	in := chattemplate.Input{Messages: c.Request.Messages, Generate: !c.Request.NoGeneration}
	for _, t := range c.Request.Tools {
		in.Tools = append(in.Tools, t.Wire())
	}
	in.Kwargs = append(in.Kwargs, bound...)
	in.Kwargs = append(in.Kwargs, c.Request.Kwargs.Members()...)
	return in
}

// Kind is a kind of message, as far as a prompt should depend on it.
type Kind uint8

// The kinds. None stands before the first message.
const (
	None Kind = iota
	System
	Developer
	Question
	Answer
	Call // an assistant's message with calls
	Result
	Other // a role that the protocol does not have
)

var kindNames = [...]string{"nothing", "system message", "developer message", "user message",
	"assistant message", "message with tool_calls", "tool message", "message of another role"}

func (k Kind) String() string { return kindNames[k] }

// KindOf returns the kind of a message.
func KindOf(message ordered.Value) Kind {
	switch message.At("role").Text() {
	case "system":
		return System
	case "developer":
		return Developer
	case "user":
		return Question
	case "tool":
		return Result
	case "assistant":
		if len(message.At("tool_calls").Items()) > 0 {
			return Call
		}
		return Answer
	}
	return Other
}

// Part is the part of a message or tool that a leaf is.
type Part uint8

// The parts.
const (
	Content     Part = iota // a message's text, or one of its parts
	Reasoning               // an assistant's reasoning
	CallName                // the name of a called function
	CallID                  // of a call, or of the call that a result is for
	Key                     // of an argument
	Argument                // a string in the arguments
	ResultName              // the name of the function that a result is of
	ToolName                // of a declared function
	Description             // of a function or a parameter
	Parameter               // the name of a parameter
	Choice                  // a string of an enumeration
	Required                // the name of a parameter in a list of required ones
)

var partNames = [...]string{"content", "reasoning", "name of a tool call",
	"id of a tool call",
	"argument's name", "argument", "name of a tool message",
	"tool's name", "description", "parameter", "enum value", "required parameter"}

func (p Part) String() string { return partNames[p] }

// Leaf is a string that a client would expect in the prompt.
type Leaf struct {
	Path    string // as traces and origins write it: messages[1].tool_calls[0].function.name
	Text    string
	Part    Part
	Message int // which message it is in; -1: a tool's
	Tool    int // which tool it is in; -1: a message's
	Index   int // which call of the message, else 0
	// it is in arguments that come as text, where it may be written with JSON's escapes
	Coded bool
}

// Leaves returns the leaves of an input in its order: the tools, then the messages.
func Leaves(in chattemplate.Input) []Leaf {
	w := walker{make([]Leaf, 0, leavesEach*(len(in.Tools)+len(in.Messages)))}
	for i, t := range in.Tools {
		w.tool(i, t)
	}
	for i, m := range in.Messages {
		w.message(i, m)
	}
	return w.leaves
}

type walker struct{ leaves []Leaf }

// leavesEach is about how many leaves a tool or a message has.
const leavesEach = 6

func (w *walker) add(l Leaf) {
	if strings.TrimSpace(l.Text) != "" {
		w.leaves = append(w.leaves, l)
	}
}

func (w *walker) tool(i int, t ordered.Value) {
	leaf := Leaf{Message: -1, Tool: i, Path: "tools[" + strconv.Itoa(i) + "].function"}
	f := t.At("function")
	if f.Kind() != ordered.Object {
		leaf.Path, f = "tools["+strconv.Itoa(i)+"]", t
	}
	named := leaf
	named.Path, named.Text, named.Part = leaf.Path+".name", f.At("name").Text(), ToolName
	w.add(named)
	w.described(leaf, f)
	leaf.Path += ".parameters"
	w.schema(leaf, f.At("parameters"))
}

func (w *walker) described(leaf Leaf, v ordered.Value) {
	leaf.Path, leaf.Text, leaf.Part = leaf.Path+".description", v.At("description").
		Text(), Description
	w.add(leaf)
}

// schema walks the part of a schema that a model has to know: names, descriptions, choices,
// required lists.
func (w *walker) schema(leaf Leaf, s ordered.Value) {
	for _, p := range s.At("properties").Members() {
		inner := leaf
		inner.Path = join(leaf.Path+".properties", p.Key)
		named := inner
		named.Text, named.Part = p.Key, Parameter
		w.add(named)
		w.described(inner, p.Value)
		w.schema(inner, p.Value)
	}
	for i, c := range s.At("enum").Items() {
		choice := leaf
		choice.Path, choice.Text, choice.Part = leaf.Path+".enum["+strconv.Itoa(i)+"]", c.Text(),
			Choice
		w.add(choice)
	}
	for i, r := range s.At("required").Items() {
		required := leaf
		required.Path, required.Text, required.Part = leaf.Path+".required["+strconv.Itoa(i)+"]",
			r.Text(), Required
		w.add(required)
	}
	if items, ok := s.Get("items"); ok {
		inner := leaf
		inner.Path += ".items"
		w.schema(inner, items)
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		for i, option := range s.At(key).Items() {
			inner := leaf
			inner.Path += "." + key + "[" + strconv.Itoa(i) + "]"
			w.described(inner, option)
			w.schema(inner, option)
		}
	}
}

func (w *walker) message(i int, m ordered.Value) {
	base := Leaf{Message: i, Tool: -1, Path: "messages[" + strconv.Itoa(i) + "]"}
	leaf := func(path, text string, part Part) {
		l := base
		l.Path, l.Text, l.Part = base.Path+path, text, part
		w.add(l)
	}
	for _, field := range chat.ReasoningFields {
		leaf("."+field, m.At(field).Text(), Reasoning)
	}
	switch content := m.At("content"); content.Kind() {
	case ordered.String:
		leaf(".content", content.Text(), Content)
	case ordered.Array:
		for j, part := range content.Items() {
			at := ".content[" + strconv.Itoa(j) + "]"
			leaf(at+".text", part.At("text").Text(), Content)
			leaf(at+".thinking", part.At("thinking").Text(), Reasoning)
		}
	}
	for j, call := range m.At("tool_calls").Items() {
		base.Index = j
		at := ".tool_calls[" + strconv.Itoa(j) + "]"
		f := call.At("function")
		leaf(at+".id", call.At("id").Text(), CallID)
		leaf(at+".function.name", f.At("name").Text(), CallName)
		arguments := f.At("arguments")
		if base.Path, base.Coded = base.Path+at+
			".function.arguments", arguments.Kind() == ordered.String; base.Coded {
			arguments, _ = ordered.ParseString(arguments.Text())
		}
		w.value(base, arguments)
		base.Path, base.Coded = "messages["+strconv.Itoa(i)+"]", false
	}
	base.Index = 0
	leaf(".tool_call_id", m.At("tool_call_id").Text(), CallID)
	if KindOf(m) == Result {
		leaf(".name", m.At("name").Text(), ResultName)
	}
}

// value walks the arguments of a call. In text all of it has one path, that of the text.
func (w *walker) value(leaf Leaf, v ordered.Value) {
	down := func(path string) Leaf {
		l := leaf
		if !leaf.Coded {
			l.Path = path
		}
		return l
	}
	if v.Kind() == ordered.String {
		leaf.Text, leaf.Part = v.Text(), Argument
		w.add(leaf)
	}
	for _, m := range v.Members() {
		inner := down(join(leaf.Path, m.Key))
		key := inner
		key.Text, key.Part = m.Key, Key
		w.add(key)
		w.value(inner, m.Value)
	}
	for i, item := range v.Items() {
		w.value(down(leaf.Path+"["+strconv.Itoa(i)+"]"), item)
	}
}

// join appends a key to a path as traces do.
func join(path, key string) string {
	for i, r := range key {
		if !(r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' ||
			i > 0 && '0' <= r && r <= '9') {
			return path + "[" + strconv.Quote(key) + "]"
		}
	}
	if key == "" {
		return path + `[""]`
	}
	return path + "." + key
}
