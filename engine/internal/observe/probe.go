package observe

import (
	"slices"
	"strconv"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
)

// The needles: texts that no template writes by itself, without white space or characters that a
// codec would change. The provenance of a byte says where it came from; needles keep the probes
// apart for people who read the evidence.
const (
	UserNeedle      = "Vqusera1"
	SystemNeedle    = "Vqsystem1"
	ContentNeedle   = "Vqcontent1"
	ResultNeedle    = "Vqresult1"
	ReasoningNeedle = "Vqreason1"
	ValueNeedle     = "vqvalue"
)

// The needles of calls: the names of the functions, the ids, and the names of the arguments.
var (
	NameNeedles = [...]string{"vq_first", "vq_second", "vq_third"}
	// nine letters and digits: some templates demand that
	IDNeedles  = [...]string{"vqcall001", "vqcall002", "vqcall003"}
	KeyNeedles = [...]string{"vqkeya", "vqkeyb"}
)

// Probe is one conversation to render: a user's message, the assistant's and the messages around
// them.
type Probe struct {
	System    string  // the role of a message that precedes the user's; "" for none
	Content   *string // of the assistant's message; nil: null
	Reasoning bool    // under every name that it may have
	Form      Form    // of content and reasoning
	Parts     bool    // all content comes as typed parts, the user's too
	Calls     []Call
	Tools     bool // describe the functions that are called, one at least
	Plain     bool // no assistant message
	Answered  bool // the first call has a result, the last message
	Generate  bool
	Kwargs    []ordered.Member
	Text      bool // arguments as a string of JSON
	Padded    bool // content and reasoning have white space around them
	Past      bool // both speak once more
	Followed  bool // the user speaks once more
}

// Form is how the content and the reasoning of an answer come: in fields of their own, which is the
// zero value, as typed parts of the content, or as blocks of it.
type Form struct {
	Typed  bool
	Blocks Blocks
}

// Call is a call in a probe.
type Call struct {
	Name, ID string
	Args     []ordered.Member
	Flat     bool // its name and arguments stand beside its function, too
}

// Flat returns a call or a tool with the members of its function beside it, as a template reads it
// that knows no "function".
func Flat(v ordered.Value) ordered.Value {
	for _, m := range v.At("function").Members() {
		v = v.With(m.Key, m.Value)
	}
	return v
}

// Texts returns arguments of which those that are no strings are their JSON text, and reports
// whether there are such.
func Texts(args ordered.Value) (texts ordered.Value, changed bool) {
	texts = args
	for _, m := range args.Members() {
		if m.Value.Kind() != ordered.String {
			texts, changed = texts.With(m.Key, ordered.Str(m.Value.String())), true
		}
	}
	return texts, changed
}

// CallsWith returns n calls with the same arguments, three at most, in the form that the template
// can do with.
func (o *Observer) CallsWith(n int, args ...ordered.Member) []Call {
	calls := make([]Call, n)
	if o.texts {
		texts, _ := Texts(ordered.ObjectOf(args...))
		args = texts.Members()
	}
	for i := range calls {
		calls[i] = Call{NameNeedles[i], IDNeedles[i], args, o.flat}
		if o.ids {
			calls[i].ID = chat.NamedID(calls[i].Name, i)
		}
	}
	return calls
}

// With returns the probe with a change.
func (p Probe) With(change func(*Probe)) Probe {
	p.Kwargs = slices.Clone(p.Kwargs)
	change(&p)
	return p
}

// padding is the white space around content in a padded probe.
const padding = " \n "

// path returns the place in the conversation of the nth message from the user's.
func (p Probe) path(n int) string {
	if p.System != "" {
		n++
	}
	return places[n]
}

// places are the places of the first messages in a conversation.
var places = [...]string{"messages[0]", "messages[1]", "messages[2]", "messages[3]"}

// UserPath is the place of the user's message in the conversation, such as messages[0].
func (p Probe) UserPath() string { return p.path(0) }

// AnswerPath is the place of the assistant's message in the conversation.
func (p Probe) AnswerPath() string { return p.path(1) }

// key returns a text that is another one for every probe, for every set of bound variables and for
// every form of tools. The next key is written over it.
func (o *Observer) key(p Probe) []byte {
	key := o.keys[:0]
	for _, on := range []bool{p.Reasoning, p.Form.Typed, p.Parts, p.Tools, p.Plain, p.Answered,
		p.Generate, p.Text, p.Padded, p.Past, p.Followed, p.Content != nil, o.flatTools} {
		if on {
			key = append(key, '1')
		} else {
			key = append(key, '0')
		}
	}
	text := func(s string) {
		key = append(append(strconv.AppendInt(key, int64(len(s)), 10), ':'), s...)
	}
	members := func(of []ordered.Member) {
		key = ordered.ObjectOf(of...).Append(key, ordered.Compact)
	}
	text(p.System)
	b := p.Form.Blocks
	for _, s := range []string{b.List, b.Kind, b.Thought.Kind, b.Thought.Text, b.Said.Kind,
		b.Said.Text} {
		text(s)
	}
	if p.Content != nil {
		text(*p.Content)
	}
	for _, c := range p.Calls {
		key = strconv.AppendBool(key, c.Flat)
		text(c.Name)
		text(c.ID)
		members(c.Args)
	}
	members(p.Kwargs)
	members(o.Facts.Needs.Bound)
	o.keys = key
	return key
}

func (p Probe) input() chattemplate.Input {
	user := chat.MessageOf("user", p.say(UserNeedle))
	in := chattemplate.Input{Generate: p.Generate, Kwargs: p.Kwargs}
	if p.System != "" {
		in.Messages = append(in.Messages, chat.MessageOf(p.System, p.say(SystemNeedle)))
	}
	in.Messages = append(in.Messages, user)
	if !p.Plain {
		in.Messages = append(in.Messages, p.answer())
	}
	if p.Answered {
		in.Messages = append(in.Messages,
			chat.ResultOf(p.Calls[0].ID, p.Calls[0].Name, p.say(ResultNeedle)))
	}
	if p.Past {
		in.Messages = append(in.Messages, in.Messages...)
	}
	if p.Followed {
		in.Messages = append(in.Messages, user)
	}
	if p.Tools {
		// no more than are called: describing tools is most of the work
		in.Tools = probeTools[:max(1, len(p.Calls))]
	}
	return in
}

// say returns a text as content.
func (p Probe) say(text string) ordered.Value {
	if p.Parts {
		return ordered.ArrayOf(chat.TextPart(ordered.Str(text)))
	}
	return ordered.Str(text)
}

// answer builds the assistant's message.
func (p Probe) answer() ordered.Value {
	pad := func(s string) string {
		if p.Padded {
			s = padding + s + padding
		}
		return s
	}
	var said ordered.Value // null where there is no content
	switch {
	case !p.Form.Blocks.IsZero():
		content := ""
		if p.Content != nil {
			content = pad(*p.Content)
		}
		said = p.Form.Blocks.Content(pad(ReasoningNeedle), content)
	case p.Form.Typed:
		var parts []ordered.Value
		if p.Reasoning {
			parts = append(parts, chat.ThinkingPart(ordered.Str(pad(ReasoningNeedle))))
		}
		if p.Content != nil {
			parts = append(parts, chat.TextPart(ordered.Str(pad(*p.Content))))
		}
		said = ordered.ArrayOf(parts...)
	case p.Content != nil:
		said = p.say(pad(*p.Content))
	}
	var more []ordered.Member
	if p.Reasoning && p.Form == (Form{}) {
		for _, field := range chat.ReasoningFields {
			more = append(more, ordered.MemberOf(field, ordered.Str(pad(ReasoningNeedle))))
		}
	}
	if len(p.Calls) > 0 {
		calls := make([]ordered.Value, len(p.Calls))
		for i, c := range p.Calls {
			args := ordered.ObjectOf(c.Args...)
			if p.Text {
				args = ordered.Str(args.String())
			}
			calls[i] = chat.CallOf(c.ID, c.Name, args)
			if c.Flat {
				calls[i] = Flat(calls[i])
			}
		}
		more = append(more, ordered.MemberOf("tool_calls", ordered.ArrayOf(calls...)))
	}
	return chat.MessageOf("assistant", said, more...)
}

// probeTools declares the functions of all name needles. Every member that a careless template
// takes for granted is there, so that a template does not fail for want of a description.
var probeTools = func() []ordered.Value {
	argument := ordered.Pairs("type", "string", "description", "an argument")
	parameters := ordered.Pairs("type", "object",
		"properties", ordered.Pairs(KeyNeedles[0], argument, KeyNeedles[1], argument),
		"required", []string{KeyNeedles[0]})
	tools := make([]ordered.Value, len(NameNeedles))
	for i, name := range NameNeedles {
		tools[i] = chat.ToolOf(name, "a function", parameters)
	}
	return tools
}()
