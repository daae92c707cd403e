package capability

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/caps"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/internal/observe"
	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
)

// Of returns the record of a template. It renders some hundred small conversations.
func Of(t *engine.Template) *Record {
	p := newProber(t)
	r := &Record{Version: Version, ToolCapable: t.Caps().ToolCapable() == nil,
		Roles: p.roles(), Content: p.contents(), Documents: p.documents(), Tools: p.tools(),
		Limits:     p.limits(),
		Generation: Generation{Text: p.tail(), Prefills: slices.Clone(t.Analysis().Prefills)},
		Stops:      p.stops()}
	if r.Generation.Prefills == nil {
		r.Generation.Prefills = []string{}
	}
	seen, err := t.ChatTemplate().Observe(chattemplate.Input{
		Messages: []ordered.Value{p.user(0)}, Generate: true, Kwargs: p.bound})
	r.Dates = err == nil && seen.Clock && p.dated(seen.String)
	fields := p.fields()
	conversations := p.conversations(fields, r.Content.Types)
	r.Variables = p.variables(conversations)
	r.Reasoning = p.reasoning(fields, r.Variables, conversations)
	return r
}

// dated reports whether the prompt of a question is another one on another day.
func (p *prober) dated(today string) bool {
	other, err := p.t.ChatTemplate().Edited(p.t.ChatTemplate().Source)
	if err != nil {
		return false
	}
	other.Now = func() time.Time { return p.t.ChatTemplate().Now().AddDate(1, 1, 1) }
	prompt, err := other.Render(chattemplate.Input{Messages: []ordered.Value{p.user(0)},
		Generate: true, Kwargs: p.bound})
	return err == nil && prompt != today
}

// stops returns the texts that end an answer, and those that end a call and no reasoning.
func (p *prober) stops() []string {
	all := []string{}
	ask := chat.Request{Messages: []ordered.Value{p.user(0)}}
	if plan, err := p.t.Prepare(ask, engine.PrepareOptions{Insist: true}); err == nil {
		all = append(all, plan.Stops...)
	}
	closing := map[format.RouteKind][]string{}
	for _, r := range p.form.Routes {
		for _, m := range r.Close {
			closing[r.Kind] = append(closing[r.Kind], m.Text)
		}
	}
	for _, text := range closing[format.RouteCall] {
		if !slices.Contains(all, text) && !slices.Contains(closing[format.RouteReasoning], text) {
			all = append(all, text)
		}
	}
	return all
}

// prober renders conversations of a template.
type prober struct {
	t     *engine.Template
	form  format.Format
	model *flow.Model
	bound []ordered.Member
	words []string // texts that the template does not have itself
	parts bool     // content comes as parts
}

// sentences are texts of messages. A template has none of them, or another one is taken.
var sentences = []string{"The harvest was late.", "Which train leaves first?", "It rains in Oslo.",
	"Nobody had the key.", "A map would help.", "The lake froze again.", "Count the red boats.",
	"Her letter came back.", "Two windows were open.", "The bridge is closed today.",
	"My tea is cold.", "Paint dries slowly."}

func newProber(t *engine.Template) *prober {
	p := &prober{t: t, form: t.Analysis().Format, bound: t.Caps().Needs.Bound,
		parts: !t.Caps().StringContent && t.Caps().TypedContent}
	src := t.ChatTemplate().Source
	for _, s := range sentences {
		if !strings.Contains(src.Text, s) {
			p.words = append(p.words, s)
		}
	}
	p.model, _ = flow.Parse(src) // it compiles, so that it parses
	return p
}

func (p *prober) word(i int) string { return p.words[i%len(p.words)] }

// content returns a text in the form in which the template takes content.
func (p *prober) content(text string) ordered.Value {
	if !p.parts {
		return ordered.Str(text)
	}
	return ordered.ArrayOf(ordered.Pairs("type", "text", "text", text))
}

func (p *prober) message(role, text string, more ...ordered.Member) ordered.Value {
	return chat.MessageOf(role, p.content(text), more...)
}

func (p *prober) user(i int) ordered.Value   { return p.message("user", p.word(i)) }
func (p *prober) answer(i int) ordered.Value { return p.message("assistant", p.word(i)) }

// callID is an id that templates with demands on ids take.
const callID = "q7Wx2Lk9a"

// call returns an answer with calls, its content empty.
func (p *prober) call(arguments ordered.Value, names ...string) ordered.Value {
	var calls []ordered.Value
	for i, name := range names {
		call := ordered.Pairs("id", callID[:8]+strconv.Itoa(i), "type", "function",
			"function", ordered.Pairs("name", name, "arguments", arguments))
		if p.t.Caps().Needs.FlatCalls {
			call = observe.Flat(call)
		}
		calls = append(calls, call)
	}
	return p.message("assistant", "", ordered.MemberOf("tool_calls", ordered.ArrayOf(calls...)))
}

func (p *prober) result(i int) ordered.Value {
	return p.message("tool", p.word(i), ordered.MemberOf("tool_call_id",
		ordered.Str(callID[:8]+"0")), ordered.MemberOf("name", ordered.Str("find_boats")))
}

var arguments = ordered.Pairs("harbour", "Bergen")

var tool = ordered.Pairs("type", "function", "function", ordered.Pairs("name", "find_boats",
	"description", "Lists the boats of a harbour.", "parameters", ordered.Pairs("type", "object",
		"properties", ordered.Pairs("harbour", ordered.Pairs("type", "string",
			"description", "Its name.")), "required", []string{"harbour"})))

// input is a conversation with variables beside it.
type input struct {
	messages []ordered.Value
	tools    bool
	open     bool // without a generation prompt
	kwargs   []ordered.Member
}

func (p *prober) render(in input) (string, error) {
	given := chattemplate.Input{Messages: in.messages, Generate: !in.open,
		Kwargs: slices.Concat(p.bound, in.kwargs)}
	if in.tools {
		given.Tools = []ordered.Value{tool}
		if p.t.Caps().Needs.Tool.Flat {
			given.Tools = []ordered.Value{observe.Flat(tool)}
		}
	}
	return p.t.ChatTemplate().Render(given)
}

// of returns what becomes of a text in a conversation.
func (p *prober) of(text string, in input) Outcome {
	prompt, err := p.render(in)
	switch {
	case err != nil:
		return Refused
	case strings.Contains(prompt, text):
		return Written
	}
	return Dropped
}

func talk(messages ...ordered.Value) input { return input{messages: messages} }

func (p *prober) roles() map[string]Outcome {
	all := map[string]Outcome{"user": p.of(p.word(0), talk(p.user(0))),
		"assistant": p.of(p.word(1), talk(p.user(0), p.answer(1), p.user(2))),
		"tool":      p.results()}
	for _, role := range []string{"system", "developer"} {
		all[role] = p.of(p.word(1), talk(p.message(role, p.word(1)), p.user(0)))
	}
	return all
}

// forms are the forms of a call's arguments.
var forms = []struct {
	name  string
	value ordered.Value
}{{"object", arguments}, {"text", ordered.Str(arguments.String())}}

// called returns a conversation with a call, its arguments in a form, and its result: beside tools,
// or without them where the template fails at those.
func (p *prober) called(arguments ordered.Value, more ...ordered.Member) (in input, prompt string,
	err error) {
	call := p.call(arguments, "find_boats")
	for _, m := range more {
		call = call.With(m.Key, m.Value)
	}
	in = talk(p.user(0), call, p.result(1))
	for _, in.tools = range []bool{true, false} {
		if prompt, err = p.render(in); err == nil {
			break
		}
	}
	return in, prompt, err
}

// history returns a conversation with a call in the first form that is taken, and its result.
func (p *prober) history(more ...ordered.Member) (in input) {
	for _, form := range forms {
		var err error
		if in, _, err = p.called(form.value, more...); err == nil {
			break
		}
	}
	return in
}

func (p *prober) results() Outcome { return p.of(p.word(1), p.history()) }

func (p *prober) contents() Content {
	in := p.history()
	c := Content{String: p.t.Caps().StringContent, Parts: p.t.Caps().TypedContent,
		Types: p.placeholders(talk(p.user(0))), ResultTypes: p.placeholders(in)}
	empty, err := p.render(in)
	in.messages = slices.Clone(in.messages)
	in.messages[1] = in.messages[1].With("content", ordered.Value{})
	null, failed := p.render(in)
	switch {
	case err != nil || failed != nil:
		c.Null = Refused
	case inserted(null, empty) == "":
		c.Null = Dropped
	default:
		c.Null = Written
	}
	return c
}

// inserted returns what a text has where another one has something else, or nothing.
func inserted(with, without string) string {
	begin := len(source.CommonPrefix(with, without))
	return with[begin : len(with)-len(source.CommonSuffix(with[begin:], without[begin:]))]
}

// Media are the types of parts of content that are no text, each with its sort, which is the type
// under which engines hand it on to a template, and with a part as JSON.
var Media = []struct{ Type, Sort, part string }{
	{"image", "image", `{"type": "image", "image": "boat.png"}`},
	{"image_url", "image",
		`{"type": "image_url", "image_url": {"url": "https://example.org/boat.png"}}`},
	{"input_image", "image",
		`{"type": "input_image", "image_url": "https://example.org/boat.png"}`},
	{"audio", "audio", `{"type": "audio", "audio": "boat.wav"}`},
	{"input_audio", "audio",
		`{"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}`},
	{"audio_url", "audio",
		`{"type": "audio_url", "audio_url": {"url": "https://example.org/boat.wav"}}`},
	{"video", "video", `{"type": "video", "video": "boat.mp4"}`},
	{"video_url", "video",
		`{"type": "video_url", "video_url": {"url": "https://example.org/boat.mp4"}}`},
	{"file", "file", `{"type": "file", "file": {"file_id": "boat.pdf"}}`},
}

// SortOf returns the sort of a type of parts; "" of text, and of a type that nobody knows.
func SortOf(kind string) string {
	for _, m := range Media {
		if m.Type == kind {
			return m.Sort
		}
	}
	return ""
}

// placeholders returns what the prompt has for a part in the last message of a conversation, by the
// type of the part: of those for which it has anything but the part itself, printed.
func (p *prober) placeholders(in input) map[string]string {
	all := map[string]string{}
	without, err := p.render(p.showing(in))
	if err != nil || strings.Contains(without, "'type'") {
		return all
	}
	for _, m := range Media {
		with, err := p.render(p.showing(in, m.part))
		if err == nil && with != without && !strings.Contains(with, "boat.") &&
			!strings.Contains(with, "UklGRg") {
			all[m.Type] = inserted(with, without)
		}
	}
	return all
}

// showing returns a conversation whose last message has its content in parts: those of the
// arguments, which are JSON, and a text.
func (p *prober) showing(in input, parts ...string) input {
	all := lists.Map(parts, ordered.MustParse)
	all = append(all, chat.TextPart(ordered.Str(p.word(0))))
	last := len(in.messages) - 1
	in.messages = slices.Clone(in.messages)
	in.messages[last] = in.messages[last].With("content", ordered.ArrayOf(all...))
	return in
}

// documents gives a document with the fields that retrieval has.
func (p *prober) documents() Documents {
	d := Documents{Outcome: Dropped, Fields: []string{}}
	fields := []string{"content", "contents", "doc_id", "snippet", "text", "title", "url"}
	document := ordered.ObjectOf()
	for i, field := range fields {
		document = document.With(field, ordered.Str(p.word(i+1)))
	}
	in := talk(p.user(0))
	in.kwargs = []ordered.Member{ordered.MemberOf("documents", ordered.ArrayOf(document))}
	prompt, err := p.render(in)
	if err != nil {
		d.Outcome = Refused
		return d
	}
	for i, field := range fields {
		if strings.Contains(prompt, p.word(i+1)) {
			d.Outcome, d.Fields = Written, append(d.Fields, field)
		}
	}
	return d
}

func (p *prober) tools() Tools {
	c := p.t.Caps()
	all := Tools{Described: c.Tools, Calls: c.ToolCalls, Parallel: c.ParallelToolCalls,
		Arguments: []string{}, Results: p.results(),
		IDs: IDs{Characters: c.IDs.Taken.Characters, Min: c.IDs.Taken.Min, Max: c.IDs.Taken.Max}}
	_, asObject, err := p.called(forms[0].value)
	if err == nil && strings.Contains(asObject, "Bergen") &&
		!strings.Contains(asObject, "{'harbour': 'Bergen'}") { // as Python prints it
		all.Arguments = append(all.Arguments, "object")
	}
	_, asText, err := p.called(forms[1].value)
	if err == nil && strings.Contains(asText, "Bergen") && (asText == asObject ||
		strings.Contains(asText, arguments.String())) {
		all.Arguments = append(all.Arguments, "text")
	}
	for _, role := range []string{"system", "developer"} {
		all.InMessages = p.of("Lists the boats of a harbour.", talk(p.user(0), p.answer(1),
			p.message(role, "", ordered.MemberOf("tools", ordered.ArrayOf(tool))), p.user(2)))
		if all.InMessages == Written {
			break
		}
	}
	prompt, err := p.render(p.history())
	all.IDs.Written = err == nil && strings.Contains(prompt, callID[:8])
	return all
}

func (p *prober) limits() Limits {
	system := func(i int) ordered.Value { return p.message("system", p.word(i)) }
	l := Limits{
		SystemFirst: p.of(p.word(2), talk(p.user(0), p.answer(1), system(2), p.user(3))),
		TwoSystem:   p.of(p.word(1), talk(system(0), system(1), p.user(2))),
		SameRole:    p.of(p.word(1), talk(p.user(0), p.user(1))),
		AnswerFirst: p.of(p.word(0), talk(p.answer(0), p.user(1))),
		EmptyTools:  "as none",
	}
	in := talk(p.user(0))
	in.kwargs = []ordered.Member{ordered.MemberOf("tools", ordered.Value{})}
	without, _ := p.render(in)
	in.kwargs = []ordered.Member{ordered.MemberOf("tools", ordered.ArrayOf())}
	switch with, err := p.render(in); {
	case err != nil:
		l.EmptyTools = string(Refused)
	case with != without:
		l.EmptyTools = "changes the prompt"
	}
	return l
}

// tail returns what add_generation_prompt adds.
func (p *prober) tail(kwargs ...ordered.Member) string {
	in := talk(p.user(0))
	in.kwargs = kwargs
	with, err := p.render(in)
	in.open = true
	without, failed := p.render(in)
	if err != nil || failed != nil {
		return ""
	}
	return with[len(source.CommonPrefix(with, without)):]
}

// given are the variables that are the conversation itself, or a token of the model.
var given = []string{"messages", "tools", "add_generation_prompt", "bos_token", "eos_token",
	"pad_token", "unk_token", "continue_final_message"}

// reasoned returns an answer with reasoning, in a field or, where none is read, between the markers
// in its content.
func (p *prober) reasoned(fields []string, i int) ordered.Value {
	r := p.form.Reasoning
	if len(fields) == 0 && r.Close.Text != "" {
		return p.message("assistant", r.Open.Text+p.word(4)+r.Close.Text+p.word(i))
	}
	return p.message("assistant", p.word(i), ordered.MemberOf(fieldOf(fields),
		ordered.Str(p.word(4))))
}

// fieldOf returns the field in which reasoning is given.
func fieldOf(fields []string) string { return append(fields, "reasoning_content")[0] }

// conversations are those whose prompts tell what a variable does, by name. Types are the types of
// parts that are shown.
func (p *prober) conversations(fields []string, types map[string]string) map[string]input {
	tools := talk(p.message("system", p.word(1)), p.user(0))
	tools.tools = true
	history := p.history(ordered.MemberOf(fieldOf(fields), ordered.Str(p.word(4))))
	history.messages = slices.Concat([]ordered.Value{p.user(2), p.reasoned(fields, 3)},
		history.messages)
	all := map[string]input{"plain": talk(p.user(0)), "tools": tools, "history": history,
		"calls": p.earlier(fieldOf(fields)), "reasoning": talk(p.user(0), p.reasoned(fields, 1),
			p.user(2), p.reasoned(fields, 3), p.user(0))}
	var shown []string
	for _, m := range Media {
		if _, ok := types[m.Type]; ok {
			shown = append(shown, m.part)
		}
	}
	if shown != nil {
		all["parts"] = p.showing(talk(p.user(0)), shown...)
	}
	return all
}

// earlier returns a conversation with reasoning beside a call before the last question.
func (p *prober) earlier(field string) input {
	in := p.history(ordered.MemberOf(field, ordered.Str(p.word(4))))
	in.messages = append(in.messages, p.answer(3), p.user(2))
	return in
}

// mostValues bounds the values of a variable that are tried.
const mostValues = 16

// variables returns what each variable does in some conversations. One that changes none is looked
// at again beside all lists, such as documents.
func (p *prober) variables(conversations map[string]input) []Variable {
	all := []Variable{}
	var lists []ordered.Member
	for _, name := range p.t.ChatTemplate().Names() {
		if _, isFunction := flow.Functions[name]; !isFunction && !slices.Contains(given, name) {
			all = append(all, p.variable(name, conversations, nil))
			if v := all[len(all)-1]; v.Kind == "list" {
				lists = append(lists, ordered.MemberOf(name, ordered.ArrayOf(ordered.Pairs(
					"text", p.word(6)))))
			}
		}
	}
	for i, v := range all {
		if len(v.Changes) == 0 && lists != nil {
			all[i] = p.variable(v.Name, conversations, lists)
		}
	}
	return slices.DeleteFunc(all, func(v Variable) bool { // the template's own, set in some branch
		return len(v.Changes) == 0 && p.model.Assigns(v.Name)
	})
}

// variable returns what a variable does in some conversations, beside others.
func (p *prober) variable(name string, conversations map[string]input,
	others []ordered.Member) Variable {
	prompts := func(kwargs ...ordered.Member) map[string]string {
		got := map[string]string{}
		for name, in := range conversations {
			in.kwargs = append(kwargs, others...)
			if text, err := p.render(in); err == nil {
				got[name] = text
			}
		}
		return got
	}
	unset := prompts()
	v := Variable{Name: name, Kind: "unknown", Changes: []string{}}
	values := []ordered.Value{ordered.Boolean(true), ordered.Boolean(false)}
	for _, l := range p.model.Compared()[name] {
		if !l.IsNum && len(values) < mostValues {
			values = append(values, ordered.Str(l.Text))
		}
	}
	said := p.word(5)
	values = append(values, ordered.Str(said), ordered.ArrayOf(ordered.Str(said)))
	var seen []map[string]string
	for _, value := range values {
		got := prompts(ordered.MemberOf(name, value))
		if len(got) < len(unset) { // a value of a kind that it cannot do with
			continue
		}
		for c := range unset {
			if got[c] != unset[c] && !slices.Contains(v.Changes, c) {
				v.Changes = append(v.Changes, c)
			}
		}
		free := strings.Contains(value.String(), said)
		again := slices.ContainsFunc(seen,
			func(was map[string]string) bool { return maps.Equal(was, got) })
		switch {
		case value.Kind() == ordered.Array && (writes(got, `"`+said+`"`) || // as JSON
			v.Kind == "unknown" && !again && !maps.Equal(got, unset)):
			v.Kind = "list" // which does more than any other value
		case value.Kind() == ordered.String && free && writes(got, said):
			v.Kind = "text"
		}
		if free || again {
			continue
		}
		if maps.Equal(got, unset) && v.Default.IsNull() {
			v.Default = value
		}
		seen, v.Values = append(seen, got), append(v.Values, value)
	}
	slices.Sort(v.Changes)
	switch {
	case v.Kind == "text":
		v.Values, v.Default = nil, p.ownText(name, func(m ordered.Member) bool {
			return maps.Equal(prompts(m), unset)
		})
	case len(v.Changes) == 0 || v.Kind == "list":
		v.Values, v.Default = nil, ordered.Value{}
	case slices.ContainsFunc(v.Values, func(v ordered.Value) bool {
		return v.Kind() == ordered.String
	}):
		v.Kind = "choice"
		v.Values = slices.DeleteFunc(v.Values, func(v ordered.Value) bool {
			return v.Kind() == ordered.Bool
		})
		if v.Default.Kind() == ordered.Bool { // as good as leaving it out
			v.Default = ordered.Value{}
		}
	case len(v.Values) > 1:
		v.Kind = "boolean"
	}
	return v
}

// mostTexts bounds the texts of a template that are tried as a variable's default, and their length
// in bytes.
const mostTexts, longestText = 200, 400

// ownText returns the text of the template that a variable has where the request does not set it;
// null: none of them.
func (p *prober) ownText(name string, is func(ordered.Member) bool) ordered.Value {
	tried := map[string]bool{}
	for text := range p.model.Strings() {
		if len(tried) == mostTexts {
			break
		}
		if !text.Quoted || tried[text.Text] || text.Text == "" || len(text.Text) > longestText {
			continue
		}
		tried[text.Text] = true
		if v := ordered.Str(text.Text); is(ordered.MemberOf(name, v)) {
			return v
		}
	}
	return ordered.Value{}
}

// writes reports whether one of the prompts has a text.
func writes(prompts map[string]string, text string) bool {
	for _, prompt := range prompts {
		if strings.Contains(prompt, text) {
			return true
		}
	}
	return false
}

// fields returns the fields of a message from which reasoning is read.
func (p *prober) fields() []string {
	all := []string{}
	for _, field := range []string{"reasoning_content", "reasoning", "thinking"} {
		said := ordered.MemberOf(field, ordered.Str(p.word(4)))
		last := talk(p.user(0), p.message("assistant", p.word(1), said))
		last.open, last.kwargs = true, p.t.Caps().Needs.Thinking
		before := talk(p.user(0), p.message("assistant", p.word(1), said), p.user(2))
		if slices.ContainsFunc([]input{p.history(said), before, last}, func(in input) bool {
			return p.of(p.word(4), in) == Written
		}) {
			all = append(all, field)
		}
	}
	return all
}

// reasoning returns what becomes of reasoning, and which of the variables are about it; the
// conversations are those that told what the variables do.
func (p *prober) reasoning(fields []string, variables []Variable,
	conversations map[string]input) Reasoning {
	f, field := p.form.Reasoning, fieldOf(fields)
	r := Reasoning{Mode: f.Mode.String(), Open: strings.TrimSpace(f.Open.Text),
		Close: strings.TrimSpace(f.Close.Text), Fields: fields}
	if slices.ContainsFunc(p.form.Routes, func(r format.Route) bool {
		return r.Kind == format.RouteReasoning
	}) {
		r.Mode = "routed"
	}
	said := ordered.MemberOf(field, ordered.Str(p.word(4)))
	r.Earlier = p.of(p.word(4), talk(p.user(0), p.message("assistant", p.word(1), said), p.user(2)))
	r.Within = p.of(p.word(4), p.history(said))
	kept := func(kwargs ...ordered.Member) (n int) {
		for _, name := range []string{"reasoning", "calls"} {
			in := conversations[name]
			in.kwargs = kwargs
			prompt, _ := p.render(in)
			n += strings.Count(prompt, p.word(4))
		}
		return n
	}
	unset := kept()
	for _, v := range variables {
		s := &Switch{v.Name, append([]ordered.Value{}, v.Values...), v.Default}
		switch {
		case v.Name == "reasoning_effort" && len(v.Changes) > 0: // the protocol's own name
			r.Effort = s
		case v.Kind != "boolean" && v.Kind != "choice":
		case r.Switch == nil && (p.switches(v) || slices.Contains(caps.ThinkingNames, v.Name) &&
			slices.Contains(v.Changes, "plain")):
			r.Switch = s
		case r.Keep == nil && slices.ContainsFunc(v.Values, func(value ordered.Value) bool {
			return kept(ordered.MemberOf(v.Name, value)) > unset
		}):
			r.Keep = s
		}
	}
	return r
}

// switches reports whether the values of a variable differ in the reasoning of the answer that
// their prompts ask for: in the markers of reasoning that these have.
func (p *prober) switches(v Variable) bool {
	markers := []string{strings.TrimSpace(p.form.Reasoning.Open.Text),
		strings.TrimSpace(p.form.Reasoning.Close.Text)}
	count := func(value ordered.Value) (n [2]int) {
		in := talk(p.user(0))
		in.kwargs = []ordered.Member{ordered.MemberOf(v.Name, value)}
		prompt, _ := p.render(in)
		for i, m := range markers {
			if m != "" {
				n[i] = strings.Count(prompt, m)
			}
		}
		return n
	}
	for _, value := range v.Values {
		if count(value) != count(v.Values[0]) {
			return true
		}
	}
	return false
}
