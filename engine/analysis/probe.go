package analysis

import (
	"slices"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
)

// The needles: texts that no template writes by itself, without white space or characters that a codec would change. The
// provenance of a byte says where it came from; needles keep the probes apart for people who read the evidence.
const (
	userNeedle      = "Vqusera1"
	systemNeedle    = "Vqsystem1"
	contentNeedle   = "Vqcontent1"
	resultNeedle    = "Vqresult1"
	reasoningNeedle = "Vqreason1"
)

var (
	nameNeedles = [...]string{"vq_first", "vq_second", "vq_third"}
	idNeedles   = [...]string{"vqcall001", "vqcall002", "vqcall003"} // nine letters and digits: some templates demand that
)

func member(key string, v ordered.Value) ordered.Member { return ordered.Member{Key: key, Value: v} }

func object(members ...ordered.Member) ordered.Value { return ordered.ObjectOf(members...) }

// probe is one conversation to render: a user's message, the assistant's and what surrounds them.
type probe struct {
	content   *string // nil: null
	reasoning bool    // under every name that it may have
	typed     bool    // content and reasoning come as typed parts
	parts     bool    // all content comes as typed parts, the user's too
	calls     []call
	tools     bool // describe the functions that are called, one at least
	plain     bool // no assistant message
	answered  bool // the first call has a result, the last message
	generate  bool
	kwargs    []ordered.Member
	text      bool // arguments as a string of JSON
	padded    bool // content and reasoning have white space around them
	past      bool // both speak once more
}

// call is a call in a probe.
type call struct {
	name, id string
	args     []ordered.Member
}

func textOf(s string) *string { return &s }

// calls returns n calls with the same arguments.
func callsWith(n int, args ...ordered.Member) []call {
	calls := make([]call, n)
	for i := range calls {
		calls[i] = call{nameNeedles[i], idNeedles[i], args}
	}
	return calls
}

// user and assistant are the places of the probe's messages in the conversation.
const (
	userPath      = "messages[0]"
	assistantPath = "messages[1]"
)

// padding is the white space around content in a padded probe.
const padding = " \n "

func (p probe) input() chattemplate.Input {
	asked := ordered.Str(userNeedle)
	if p.parts {
		asked = ordered.ArrayOf(textPart(asked))
	}
	in := chattemplate.Input{
		Messages: []ordered.Value{object(member("role", ordered.Str("user")), member("content", asked))},
		Generate: p.generate,
		Kwargs:   p.kwargs,
	}
	if !p.plain {
		in.Messages = append(in.Messages, p.assistant())
	}
	if p.answered {
		in.Messages = append(in.Messages, p.result())
	}
	if p.past {
		in.Messages = append(in.Messages, in.Messages...)
	}
	if p.tools {
		in.Tools = probeTools[:max(1, len(p.calls))] // no more than are called: describing tools is most of the work
	}
	return in
}

func textPart(text ordered.Value) ordered.Value {
	return object(member("type", ordered.Str("text")), member("text", text))
}

// result is the message with the first call's result.
func (p probe) result() ordered.Value {
	text := ordered.Str(resultNeedle)
	if p.parts {
		text = ordered.ArrayOf(textPart(text))
	}
	return object(
		member("role", ordered.Str("tool")),
		member("tool_call_id", ordered.Str(p.calls[0].id)),
		member("name", ordered.Str(p.calls[0].name)),
		member("content", text))
}

func (p probe) assistant() ordered.Value {
	pad := func(s string) ordered.Value {
		if p.padded {
			s = padding + s + padding
		}
		return ordered.Str(s)
	}
	var said ordered.Value // null where there is no content
	switch {
	case p.typed:
		var parts []ordered.Value
		if p.reasoning {
			parts = append(parts, object(member("type", ordered.Str("thinking")), member("thinking", pad(reasoningNeedle))))
		}
		if p.content != nil {
			parts = append(parts, textPart(pad(*p.content)))
		}
		said = ordered.ArrayOf(parts...)
	case p.content != nil && p.parts:
		said = ordered.ArrayOf(textPart(pad(*p.content)))
	case p.content != nil:
		said = pad(*p.content)
	}
	members := []ordered.Member{member("role", ordered.Str("assistant")), member("content", said)}
	if p.reasoning && !p.typed {
		for _, field := range chat.ReasoningFields {
			members = append(members, member(field, pad(reasoningNeedle)))
		}
	}
	if len(p.calls) > 0 {
		calls := make([]ordered.Value, len(p.calls))
		for i, c := range p.calls {
			args := object(c.args...)
			if p.text {
				args = ordered.Str(args.String())
			}
			calls[i] = object(
				member("id", ordered.Str(c.id)),
				member("type", ordered.Str("function")),
				member("function", object(member("name", ordered.Str(c.name)), member("arguments", args))))
		}
		members = append(members, member("tool_calls", ordered.ArrayOf(calls...)))
	}
	return object(members...)
}

// probeTools declares the functions of all name needles. Every member that a careless template takes for granted is
// there, so that a template does not fail for want of a description.
var probeTools = func() []ordered.Value {
	property := func(kind string) ordered.Value {
		return object(member("type", ordered.Str(kind)), member("description", ordered.Str("an argument")))
	}
	tools := make([]ordered.Value, len(nameNeedles))
	for i, name := range nameNeedles {
		tools[i] = object(
			member("type", ordered.Str("function")),
			member("function", object(
				member("name", ordered.Str(name)),
				member("description", ordered.Str("a function")),
				member("parameters", object(
					member("type", ordered.Str("object")),
					member("properties", object(
						member(keyNeedles[0], property("string")),
						member(keyNeedles[1], property("string")),
					)),
					member("required", ordered.ArrayOf(ordered.Str(keyNeedles[0]))),
				)))))
	}
	return tools
}()

// kind says what a stretch of a turn stands for.
type kind uint8

const (
	literal   kind = iota // the template's own text
	content               // the assistant's content
	reasoning             // its reasoning, under whatever name
	name                  // a call's function name
	id                    // a call's id
	counter               // computed by the template
	structure             // what a codec writes around arguments
	argKey                // a key in the arguments
	argValue              // a value in the arguments, or the arguments as text
	foreign               // anything else from the input
)

// atom is a stretch of a turn with one meaning.
type atom struct {
	kind  kind
	text  string
	call  int    // of name, id, structure, argKey, argValue: which call
	path  string // of structure, argKey, argValue: the place below the arguments, such as .city or .list[0]; "" for the whole
	codec jinja.Codec
	exact bool
}

// observation is a rendered probe, cut into atoms.
type observation struct {
	probe probe
	text  string
	atoms []atom // of the whole prompt
	tail  []atom // what follows the last byte of the user's message
	trace *jinja.Trace
	err   error
}

// observe renders a probe once; the same probe again costs nothing.
func (a *analyzer) observe(p probe) *observation {
	p.parts = a.result.Parts
	in := p.input()
	in.Kwargs = append(a.bound[:len(a.bound):len(a.bound)], in.Kwargs...)
	key := string(a.template.Vars(in).Append(nil, ordered.Compact))
	if o, ok := a.seen[key]; ok {
		return o
	}
	got, err := a.template.Observe(in)
	o := &observation{probe: p, text: got.Text.String, trace: got.Trace, err: err}
	if err == nil {
		o.atoms = atomize(got.Text)
		o.tail = a.withoutTools(p, tailAfterUser(o.atoms))
	}
	a.seen[key] = o
	return o
}

// withoutTools takes off an answer's tail what the template writes behind the messages where there are tools: what an answer without tools
// does not end with.
func (a *analyzer) withoutTools(p probe, tail []atom) []atom {
	from := len(tail)
	for i, at := range slices.Backward(tail) {
		if at.kind == foreign && strings.HasPrefix(at.path, "tools") {
			from = i
		} else if at.kind != literal && at.kind != counter && at.kind != foreign {
			break // a tool that is described before the answer's end is a part of the answer
		}
	}
	if p.plain || !p.tools || from < 1 || from == len(tail) || tail[from-1].kind != literal {
		return tail
	}
	with := tail[from-1].text
	without := ""
	if o := a.observe(p.with(func(p *probe) { p.tools = false })); o.err == nil {
		without = lastLiteral(o.tail)
	}
	end := tail[from-1]
	end.text = snapEnd(commonPrefix(with, without), with, without)
	return append(slices.Clone(tail[:from-1]), end)
}

// atomize turns runs of origin into atoms; neighbours of one meaning become one.
func atomize(text jinja.Text) []atom {
	atoms := make([]atom, 0, len(text.Runs))
	pos := 0
	for _, run := range text.Runs {
		at := classify(run)
		at.text = text.String[pos : pos+run.Len]
		pos += run.Len
		if at.text == "" {
			continue
		}
		if n := len(atoms); n > 0 && atoms[n-1].kind == at.kind && atoms[n-1].call == at.call && atoms[n-1].path == at.path && atoms[n-1].codec == at.codec {
			atoms[n-1].text += at.text
			atoms[n-1].exact = atoms[n-1].exact && at.exact
			continue
		}
		atoms = append(atoms, at)
	}
	return atoms
}

func classify(run jinja.Run) atom {
	if run.Role == jinja.Literal {
		return atom{kind: literal, exact: true}
	}
	if run.Path == "bos_token" || run.Path == "eos_token" {
		return atom{kind: literal, exact: true} // the template's own text, kept beside it
	}
	path, ours := strings.CutPrefix(run.Path, assistantPath+".")
	if !ours {
		if run.Role == jinja.Computed && run.Path == "" {
			return atom{kind: counter}
		}
		return atom{kind: foreign, path: run.Path, exact: run.Exact}
	}
	at := atom{codec: run.Codec, exact: run.Exact}
	switch {
	case path == "role":
		return atom{kind: literal, exact: true} // a template that writes the role's name means a literal
	case isTyped(path, "text") && run.Codec != plain || isTyped(path, "thinking") && run.Codec != plain:
		at.kind = foreign // the list of parts printed as a whole
	case path == "content" || isTyped(path, "text"):
		at.kind = content
	case slices.Contains(chat.ReasoningFields[:], path) || isTyped(path, "thinking"):
		at.kind = reasoning
	case strings.HasPrefix(path, "tool_calls"):
		return classifyCall(at, strings.TrimPrefix(path, "tool_calls"), run.Role)
	default:
		at.kind = foreign
	}
	if run.Role != jinja.FromValue {
		at.kind = foreign
	}
	return at
}

// isTyped says that a path below the message is the text of a typed part of the content.
func isTyped(path, field string) bool {
	rest, ok := strings.CutPrefix(path, "content[")
	if !ok {
		return false
	}
	_, rest, ok = strings.Cut(rest, "]")
	return ok && rest == "."+field
}

// classifyCall reads the path of a part of a call, which starts behind "tool_calls". What a codec writes around or above the
// arguments (the keys "name" and "arguments", say) belongs to the format, not to the call: literal text.
func classifyCall(at atom, path string, role jinja.Role) atom {
	index, path, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
	if !ok {
		return atom{kind: literal, exact: true}
	}
	at.call, _ = strconv.Atoi(index)
	switch {
	case path == ".function.name" && role == jinja.FromValue:
		at.kind = name
	case path == ".id" && role == jinja.FromValue:
		at.kind = id
	case strings.HasPrefix(path, ".function.arguments"):
		rest := strings.TrimPrefix(path, ".function.arguments")
		switch {
		case role == jinja.Structure:
			at.kind = structure
		case role == jinja.FromKey && rest != "":
			at.kind = argKey
		case role == jinja.FromKey:
			return atom{kind: literal, exact: true}
		default:
			at.kind = argValue
		}
		at.path = rest
	default:
		return atom{kind: literal, exact: true}
	}
	return at
}

// tailAfterUser returns the atoms behind the last byte of the user's message.
func tailAfterUser(atoms []atom) []atom {
	for i := len(atoms) - 1; i >= 0; i-- {
		if atoms[i].kind == foreign && strings.HasPrefix(atoms[i].path, userPath+".content") {
			return atoms[i+1:]
		}
	}
	return nil
}

func textOfAtoms(atoms []atom) string {
	var b strings.Builder
	for _, at := range atoms {
		b.WriteString(at.text)
	}
	return b.String()
}
