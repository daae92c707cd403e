package wire

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
)

// fields reads the members of a request that the protocols have in common, and keeps the first
// refusal.
type fields struct {
	v       ordered.Value
	refusal *Refusal
}

// fieldsOf returns a request's fields; those in denials are refused.
func fieldsOf(body ordered.Value, denials []denial) (*fields, error) {
	if body.Kind() != ordered.Object {
		return nil, invalid("", "a request must be an object, found %s", body.Kind())
	}
	f := &fields{v: body}
	f.deny(denials)
	return f, nil
}

// finish reads a request in the words of chat completions into r and returns it, if nothing is
// refused. The level says how much the model is to think.
func (f *fields) finish(r *Request, at paths, request, level ordered.Value) (*Request, error) {
	if f.refusal != nil {
		return nil, f.refusal
	}
	if err := r.read(request, at); err != nil {
		return nil, err
	}
	effort(&r.Chat, level)
	r.Strict = r.Strict || relies(&r.Chat)
	r.Prefix = prefix(&r.Chat)
	return r, nil
}

func (f *fields) refuse(r *Refusal) {
	if f.refusal == nil {
		f.refusal = r
	}
}

// textAt reads a member of a part of the request that must be a text.
func (f *fields) textAt(v ordered.Value, path, key string) string {
	text := v.At(key)
	if text.Kind() != ordered.String {
		f.refuse(expected(path+"."+key, "a text", text))
	}
	return text.Text()
}

// toolsOf returns the declarations of tools.
func (f *fields) toolsOf(body ordered.Value) []ordered.Value {
	v := body.At("tools")
	if v.Kind() != ordered.Array && !v.IsNull() {
		f.refuse(expected("tools", "an array", v))
	}
	return v.Items()
}

// kwargs hands the variables of a template on.
func kwargs(body, request ordered.Value) ordered.Value {
	if v := body.At("chat_template_kwargs"); !v.IsNull() {
		return request.With("chat_template_kwargs", v)
	}
	return request
}

// assistant is a turn of the model, whose content is null where it has calls and no text.
func assistant(reasoning, content string, said bool, calls []ordered.Value) ordered.Value {
	m := chat.MessageOf("assistant", ordered.Str(content))
	if !said && len(calls) > 0 {
		m = chat.MessageOf("assistant", ordered.Value{})
	}
	if reasoning != "" {
		m = m.With("reasoning_content", ordered.Str(reasoning))
	}
	if len(calls) > 0 {
		m = m.With("tool_calls", ordered.ArrayOf(calls...))
	}
	return m
}

// boolean reads true or false; absent is the default.
func (f *fields) boolean(key string, absent bool) bool {
	switch v := f.v.At(key); v.Kind() {
	case ordered.Null:
		return absent
	case ordered.Bool:
		return v.Bool()
	default:
		f.refuse(expected(key, "true or false", v))
		return absent
	}
}

// count reads a whole number of at least 1; 0 where it is absent.
func (f *fields) count(key string) int {
	v := f.v.At(key)
	if v.IsNull() {
		return 0
	}
	n, err := strconv.Atoi(v.Text())
	if v.Kind() != ordered.Number || err != nil || n < 1 {
		f.refuse(expected(key, "a whole number of at least 1", v))
		return 0
	}
	return n
}

// stops reads a text or a list of at most most texts; 0: no bound.
func (f *fields) stops(key string, most int) []string {
	v := f.v.At(key)
	list := v.Items()
	switch v.Kind() {
	case ordered.Null:
		return nil
	case ordered.String:
		list = []ordered.Value{v}
	case ordered.Array:
	default:
		f.refuse(expected(key, "a text or a list of texts", v))
	}
	if most > 0 && len(list) > most {
		f.refuse(invalid(key, "expected at most %d texts, found %d", most, len(list)))
	}
	var stops []string
	for i, s := range list {
		if s.Kind() != ordered.String || s.Text() == "" {
			f.refuse(expected(fmt.Sprintf("%s[%d]", key, i), "a text that is not empty", s))
			return nil
		}
		stops = append(stops, s.Text())
	}
	return stops
}

// bounds of the sampler's settings.
var samplers = []struct {
	name        string
	least, most float64
	whole       bool
}{
	{"temperature", 0, 2, false}, {"top_p", 0, 1, false}, {"top_k", -1, 1 << 31, true},
	{"min_p", 0, 1, false}, {"seed", -1 << 63, 1 << 63, true},
	{"presence_penalty", -2, 2, false}, {"frequency_penalty", -2, 2, false},
}

// sampling reads the settings of the sampler.
func (f *fields) sampling() ordered.Value {
	var set []ordered.Member
	for _, s := range samplers {
		v := f.v.At(s.name)
		if v.IsNull() {
			continue
		}
		n, err := strconv.ParseFloat(v.Text(), 64)
		if v.Kind() != ordered.Number || err != nil || n < s.least || n > s.most ||
			s.whole && n != float64(int64(n)) {
			f.refuse(expected(s.name, fmt.Sprintf("a number from %g to %g", s.least, s.most), v))
		}
		set = append(set, ordered.MemberOf(s.name, v))
	}
	if v := f.v.At("logit_bias"); v.Kind() == ordered.Object && len(v.Members()) > 0 {
		set = append(set, ordered.MemberOf("logit_bias", v))
	}
	if set == nil {
		return ordered.Value{}
	}
	return ordered.ObjectOf(set...)
}

// A denial is a field that is refused unless it has one of the values that mean nothing.
type denial struct {
	key   string
	means []string // as JSON; null and absence always mean nothing
	why   string
}

// deny refuses the fields that a stateless server of texts does not serve.
func (f *fields) deny(list []denial) {
	for _, d := range list {
		v := f.v.At(d.key)
		if !v.IsNull() && !slices.Contains(d.means, string(v.Append(nil, ordered.Compact))) {
			f.refuse(unsupported(d.key, d.why))
		}
	}
}

// The reasons for which all protocols refuse.
const (
	stateless = "this server keeps nothing between requests; send the conversation"
	textOnly  = "this server reads and writes text"
	oneAnswer = "a request has one answer"
	noLogs    = "the probabilities of tokens"
	noTools   = "a tool that runs on the server; this server has none"
)

// textParts reads content that is a text or a list of parts with text, and returns it: a string as
// it is, parts in the shape of chat completions. The kinds are the types that parts with text have.
func (f *fields) textParts(v ordered.Value, path string, kinds ...string) ordered.Value {
	switch v.Kind() {
	case ordered.String, ordered.Null:
		return v
	case ordered.Array:
	default:
		f.refuse(expected(path, "a text or a list of parts", v))
		return v
	}
	parts := make([]ordered.Value, len(v.Items()))
	for i, part := range v.Items() {
		at := fmt.Sprintf("%s[%d]", path, i)
		kind := part.At("type")
		switch {
		case part.Kind() != ordered.Object || kind.Kind() != ordered.String:
			f.refuse(expected(at, "a part with a type", part))
		case !slices.Contains(kinds, kind.Text()):
			f.refuse(unsupported(at+".type",
				fmt.Sprintf("a part of the type %q; %s", kind.Text(), textOnly)))
		}
		t := part.At(cmp.Or(textKey[kind.Text()], "text"))
		if t.Kind() != ordered.String {
			f.refuse(expected(at, "a text", part))
		}
		parts[i] = chat.TextPart(t)
	}
	if len(parts) == 1 {
		return parts[0].At("text")
	}
	return ordered.ArrayOf(parts...)
}

// textKey has the keys of parts whose text is not under "text".
var textKey = map[string]string{"refusal": "refusal"}

// effort sets how much a model is to think, in the words of the protocols. The template's variable
// enable_thinking means thinking of any template, as it does where clients have no other word.
func effort(r *chat.Request, v ordered.Value) {
	if on := r.Kwargs.At("enable_thinking"); r.EnableThinking == nil && on.Kind() == ordered.Bool {
		thinks := on.Bool()
		r.EnableThinking = &thinks
	}
	if v.Text() == "" {
		return
	}
	on := v.Text() != "none"
	if on {
		r.Kwargs = r.Kwargs.With("reasoning_effort", v)
	}
	if r.EnableThinking == nil {
		r.EnableThinking = &on
	}
}

// flat returns the text of content that textParts has read.
func flat(v ordered.Value) string {
	if v.Kind() != ordered.Array {
		return v.Text()
	}
	text := ""
	for _, part := range v.Items() {
		text += part.At("text").Text()
	}
	return text
}

// prefix returns the message that a request goes on with.
func prefix(r *chat.Request) chat.Message {
	if r.Continue == chat.ContinueNone {
		return chat.Message{}
	}
	m, _ := chat.ParseMessage(r.Messages[len(r.Messages)-1])
	m.ToolCalls = nil
	return m
}

// relies reports whether a request relies on a constraint by fields of chat.Request.
func relies(r *chat.Request) bool {
	return r.HasJSONSchema ||
		r.ToolChoice.Mode == chat.ChoiceRequired || r.ToolChoice.Mode == chat.ChoiceNamed ||
		r.OneCall && len(r.Tools) > 0 && r.ToolChoice.Mode != chat.ChoiceNone
}
