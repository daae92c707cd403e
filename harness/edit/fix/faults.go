package fix

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
)

// Kind names the fault that a patch mends, in words.
type Kind string

// The kinds.
const (
	NullContent     Kind = "null content"
	BareTools       Kind = "tools without description or parameters"
	Unions          Kind = "unions in types"
	TextArguments   Kind = "arguments as text"
	ObjectArguments Kind = "arguments as an object"
	Refused         Kind = "arguments as text, refused in words"
	PythonValues    Kind = "values in Python's spelling"
	UnknownName     Kind = "an unknown name"
	OpenTurn        Kind = "a turn left open"
	Developer       Kind = "a developer's message"
	NoCalls         Kind = "calls that are null or empty"
	Parts           Kind = "content in parts"
	NullMembers     Kind = "members that are null"
	Pictures        Kind = "pictures under another name"
	ShiftedIndex    Kind = "messages counted in another list"
	PythonArguments Kind = "arguments in Python's spelling"
)

// kindOf is how faults of a kind are found and mended.
type kindOf struct {
	kind   Kind
	rules  []string // whose findings are about it
	keys   []string // the fields of a request that it is about
	faults func(*mender) []fault
	forms  []wrap
	whole  bool // a patch that mends some of the faults is none
	// asked reports that the patches are looked for only where they are asked for: two of five
	// templates have such a fault, and the proof would make each of their checks cost twice as
	// much. A finding of the rules is needed, since prompts alone do not tell what is a fault.
	asked bool
	// silent reports that nothing is said of a fault that stays: the findings may be about another.
	silent bool
	// more returns edits of statements that may mend the faults; nil: there are none.
	more func(*atlas) [][]Edit
}

// kinds are tried in this order: a tool that crashes hides the faults of its types.
var kinds = []kindOf{
	{kind: UnknownName, rules: []string{"A001", "A002", "A066", "A036"}},
	{kind: NullContent, rules: []string{"A012", "A040", "A066"}, keys: []string{"content"},
		faults: nullFaults, forms: []wrap{orEmpty, orText, orNone}},
	{kind: BareTools, rules: []string{"A066", "A010", "A002", "A016"},
		keys:   []string{"description", "parameters", "properties", "function"},
		faults: toolFaults, forms: []wrap{orEmpty, orText, orParameters, orSchema}},
	{kind: Unions, rules: []string{"A066"}, keys: []string{"type"}, faults: unionFaults,
		forms: []wrap{joinTypes, orTypes, orEmpty, notText}},
	{kind: TextArguments, rules: []string{"A036", "A018", "A066", "A076"},
		keys: []string{"arguments"}, faults: textFaults, forms: []wrap{asText, asMembers}},
	{kind: ObjectArguments, rules: []string{"A036", "A068", "A066", "A076"},
		keys: []string{"arguments"}, faults: objectFaults, forms: []wrap{asJSON, toJSON}},
	{kind: PythonValues, rules: []string{"A068"}, faults: pythonFaults,
		forms: []wrap{toJSON, textOrJSON}},
	{kind: NoCalls, rules: []string{"A157", "A158", "A159", "A160"},
		keys: []string{"tool_calls"}, faults: noCallsFaults, forms: []wrap{hasItems, orEmpty}},
	{kind: Developer, rules: []string{"A137"}, keys: []string{"role"}, faults: developerFaults,
		forms: []wrap{alike, asSystem}, whole: true, asked: true},
	{kind: Parts, rules: []string{"A030", "A158", "A075", "A085", "A126"}, keys: []string{"content"},
		faults: partsFaults, forms: []wrap{joinParts, joinOrNone, allParts}, asked: true,
		more: statements},
	{kind: NullMembers, rules: []string{"A157", "A158", "A159", "A160"}, keys: members,
		faults: nullMemberFaults, forms: []wrap{notNone, hasItems, orText}, asked: true,
		silent: true},
	{kind: Pictures, rules: []string{"A157", "A158", "A159", "A160"}, keys: []string{"type"},
		faults: pictureFaults, forms: []wrap{alike}, asked: true, silent: true},
	{kind: ShiftedIndex, rules: []string{"A058", "A059", "A162"}, faults: contextFaults,
		more: ofSlice, asked: true, silent: true},
	{kind: PythonArguments, rules: []string{"A128"}, faults: switchFaults,
		forms: []wrap{textOrJSON, asJSON}, asked: true},
}

// members are those of an answer, besides content and calls, that clients send with null.
var members = []string{"thinking", "reasoning_content", "reasoning"}

// form is the form of arguments that the template was written for.
type form uint8

const (
	formNone form = iota // it takes neither
	formObject
	formText
)

// fault is a request and the prompts that its twins have.
type fault struct {
	name  string
	in    chattemplate.Input
	wants []string // any of them
	loose bool     // white space apart
}

// solved reports whether a template writes the request as its twin.
func (f fault) solved(st *state) bool { return f.matches(st.render(f.in)) }

func (f fault) matches(o outcome) bool {
	return o.err == nil && slices.ContainsFunc(f.wants, func(want string) bool {
		return o.text == want || f.loose && squeezed(o.text) == squeezed(want)
	})
}

// squeezed is a text without white space.
func squeezed(s string) string { return strings.Join(strings.Fields(s), "") }

// failure is the error that the request ends in, nil where it ends in a prompt.
func (f fault) failure(st *state) error {
	_, err := st.t.Render(f.in)
	return err
}

// worded reports whether an error is a refusal in the template's own words.
func worded(err error) bool { return jinja.Class(err) == "TemplateError" }

// base is a conversation that a fault can be put into.
type base struct {
	name string
	in   chattemplate.Input
}

// plainBases are the plain conversations that faults are put into, with tools and without. No word
// in them stands in another place.
func plainBases(bound []ordered.Member) []base {
	say := func(text string, calls ...ordered.Value) ordered.Value {
		if len(calls) == 0 {
			return chat.MessageOf("assistant", ordered.Str(text))
		}
		return chat.MessageOf("assistant", ordered.Str(text),
			ordered.MemberOf("tool_calls", ordered.ArrayOf(calls...)))
	}
	one := chat.CallOf("callid001", "find_place", ordered.Pairs("city", "Lumati", "days", 3))
	two := chat.CallOf("callid002", "keep_note", ordered.Pairs("words", "Tarono"))
	system, first, second := chat.System("Velano."), chat.User("Pilova?"), chat.User("Kesami?")
	answer, call := say("Dorune."), say("", one)
	result := chat.Result("callid001", "find_place", "Sorume")
	result2 := chat.Result("callid002", "keep_note", "Gadilo")
	tools := plainTools()
	var all []base
	for _, c := range []struct {
		name     string
		calls    bool
		messages []ordered.Value
	}{
		{"a question", false, []ordered.Value{first}},
		{"an answer", false, []ordered.Value{first, answer, second}},
		{"instructions and an answer", false, []ordered.Value{system, first, answer, second}},
		{"a call", true, []ordered.Value{first, call}},
		{"a call and its result", true, []ordered.Value{first, call, result}},
		{"a question after a call", true, []ordered.Value{first, call, second}},
		{"a call and an answer", true, []ordered.Value{first, call, result, answer, second}},
		{"instructions and two calls", true, []ordered.Value{system, first, say("", one, two),
			result, result2, answer, second, call, result}},
	} {
		in := chattemplate.Input{Messages: c.messages, Tools: tools, Kwargs: bound}
		in.Generate = in.Messages[len(in.Messages)-1].At("role").Text() != "assistant"
		all = append(all, base{c.name, in})
		if !c.calls {
			in.Tools = nil
			all = append(all, base{c.name + ", no tools", in})
		}
	}
	return all
}

// plainTools are the tools of the plain conversations.
func plainTools() []ordered.Value {
	field := func(name, kind, description string) ordered.Member {
		return ordered.MemberOf(name, ordered.Pairs("type", kind, "description", description))
	}
	tool := func(name, description, required string, fields ...ordered.Member) ordered.Value {
		return chat.ToolOf(name, description, ordered.Pairs("type", "object",
			"properties", ordered.ObjectOf(fields...),
			"required", ordered.ArrayOf(ordered.Str(required))))
	}
	return []ordered.Value{
		tool("find_place", "Rivatu.", "city",
			field("city", "string", "Bolani."), field("days", "integer", "Fekuro.")),
		tool("keep_note", "Nasoli.", "words", field("words", "string", "Zumela.")),
	}
}

// survey renders all conversations, and keeps the prompts of those that are rendered well.
func (m *mender) survey(t *engine.Template) {
	bound := t.Caps().Needs.Bound
	var all []base
	for _, b := range plainBases(bound) {
		all = append(all, b, base{b.name, formed(b.in, formText)})
	}
	grammar, explored := m.base.Grammar(), m.base.Explored()
	for _, c := range grammar.Conversations {
		all = append(all, base{c.Name, c.Input(bound)})
		fitted := t.Caps().Fit(c.Request).Input
		all = append(all, base{c.Name, fitted})
	}
	for _, c := range explored.Conversations {
		all = append(all, base{c.Name, c.Input(bound)})
	}
	for _, b := range all {
		if !permitted(b.in) {
			continue
		}
		if text, err := m.now.t.Render(b.in); err == nil {
			m.good = append(m.good, kept{in: b.in, text: text})
		}
	}
	m.bases = plainBases(bound)
	for i := range m.bases {
		m.bases[i].in = filled(m.bases[i].in)
	}
	m.form = m.formOf()
	for _, b := range slices.Clone(m.bases) { // some templates write calls beside null alone
		in := spoken(true, nulled)(b.in)
		if m.form == formNone || same(in.Messages, b.in.Messages) {
			continue
		}
		text, err := m.now.t.Render(formed(in, m.form))
		twin, _ := m.now.t.Render(formed(b.in, m.form))
		if err == nil && !printsNull(in, text, twin) {
			m.bases = append(m.bases, base{b.name + ", null content", in})
		}
	}
	m.calls = t.Caps().ToolCalls
	m.sound()
}

// permitted reports whether the protocol permits a request's tools, messages and arguments. The
// search for what reaches branches puts any value in their places, and no prompt of such a request
// is right.
func permitted(in chattemplate.Input) bool {
	for _, tool := range in.Tools {
		if tool.At("function").Kind() != ordered.Object && tool.At("name").IsNull() {
			return false
		}
	}
	for _, message := range in.Messages {
		switch message.At("content").Kind() {
		case ordered.Null, ordered.String, ordered.Array:
		default:
			return false
		}
		switch message.At("tool_calls").Kind() {
		case ordered.Null, ordered.Array:
		default:
			return false
		}
		if message.Kind() != ordered.Object {
			return false
		}
		for _, call := range message.At("tool_calls").Items() {
			arguments, text := call.At("function", "arguments"), ""
			if arguments.Kind() == ordered.String {
				text = arguments.Text()
				arguments, _ = ordered.ParseString(text)
			}
			if arguments.Kind() != ordered.Object && strings.TrimSpace(text) != "" {
				return false
			}
		}
	}
	return true
}

// sound takes those prompts out of the good ones that hold a fault.
func (m *mender) sound() {
	m.good = slices.DeleteFunc(m.good, func(k kept) bool { return m.spoiled(k) })
}

// spoiled reports whether a prompt has text of a kind of fault in it: it may change.
func (m *mender) spoiled(k kept) bool {
	if unheard(k.in, k.text, "") || !m.options.Offered && printsParts(k.in, k.text) {
		return true // whatever its twin would do
	}
	for _, twin := range m.twins(k.in) {
		text, err := m.now.t.Render(twin.in)
		if err == nil && text != k.text && twin.shows(k.in, k.text, text) {
			return true
		}
	}
	return false
}

// formed gives the arguments of every call a form.
func formed(in chattemplate.Input, to form) chattemplate.Input {
	switch to {
	case formObject:
		return eachArguments(in, chat.ArgumentsAsObject)
	case formText:
		return eachArguments(in, chat.ArgumentsAsText)
	}
	return in
}

func eachArguments(in chattemplate.Input, to change) chattemplate.Input {
	return eachMessage(in, func(msg ordered.Value) ordered.Value {
		return chat.WithArguments(msg, to)
	})
}

// filled returns an input with the parts that clients may leave out: content of the assistant,
// descriptions and parameters.
func filled(in chattemplate.Input) chattemplate.Input {
	in = eachMessage(in, func(msg ordered.Value) ordered.Value {
		if msg.At("role").Text() == "assistant" && msg.At("content").IsNull() {
			return msg.With("content", ordered.Str(""))
		}
		return msg
	})
	return eachTool(in, func(f ordered.Value) ordered.Value {
		return fillProperties(fill(fill(f, "description", ordered.Str("")), "parameters",
			noParameters))
	})
}

func eachMessage(in chattemplate.Input, to change) chattemplate.Input {
	in.Messages = slices.Clone(in.Messages)
	for i, msg := range in.Messages {
		in.Messages[i] = to(msg)
	}
	return in
}

// eachTool changes the functions that are declared.
func eachTool(in chattemplate.Input, to change) chattemplate.Input {
	in.Tools = slices.Clone(in.Tools)
	for i, t := range in.Tools {
		in.Tools[i] = t.With("function", to(t.At("function")))
	}
	return in
}

var noParameters = ordered.Pairs("type", "object", "properties", ordered.ObjectOf())

// fill sets a member where it is not there.
func fill(v ordered.Value, key string, to ordered.Value) ordered.Value {
	if v.Kind() == ordered.Object && v.At(key).IsNull() {
		return v.With(key, to)
	}
	return v
}

func fillProperties(f ordered.Value) ordered.Value {
	return eachProperty(f, func(p ordered.Value) ordered.Value {
		return fill(p, "description", ordered.Str(""))
	})
}

// eachProperty changes the parameters of a function.
func eachProperty(f ordered.Value, to change) ordered.Value {
	properties := f.At("parameters", "properties")
	if properties.Kind() != ordered.Object {
		return f
	}
	changed := make([]ordered.Member, 0, len(properties.Members()))
	for _, p := range properties.Members() {
		changed = append(changed, ordered.MemberOf(p.Key, to(p.Value)))
	}
	return f.With("parameters", f.At("parameters").With("properties", ordered.ObjectOf(changed...)))
}

// formOf returns the form of arguments that a call is written well in.
func (m *mender) formOf() form {
	for _, f := range []form{formObject, formText} {
		for _, b := range m.bases {
			if len(b.in.Tools) == 0 || !strings.Contains(b.name, "call") {
				continue
			}
			for _, in := range []chattemplate.Input{formed(b.in, f),
				spoken(true, nulled)(formed(b.in, f))} {
				text, err := m.now.t.Render(in)
				written := err == nil && strings.Contains(text, "Lumati")
				if written && !printsObject(in, text, "") {
					return f
				}
			}
		}
	}
	return formNone
}

// arguments are those of the first call of an input.
func arguments(in chattemplate.Input) ordered.Value {
	for _, msg := range in.Messages {
		for _, call := range msg.At("tool_calls").Items() {
			return call.At("function", "arguments")
		}
	}
	return ordered.Value{}
}

// change is a change of a value, and recast one of a request.
type (
	change func(ordered.Value) ordered.Value
	recast func(chattemplate.Input) chattemplate.Input
)

// twin is another form of a request, which is written well, and how a prompt shows that this was
// not.
type twin struct {
	in    chattemplate.Input
	shows symptom
}

// symptom reports whether a request's prompt, beside its twin's, shows a fault.
type symptom func(in chattemplate.Input, text, twin string) bool

// never is the symptom of faults that end in errors.
func never(chattemplate.Input, string, string) bool { return false }

// more reports whether a text has any of the words more often than another.
func more(text, other string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		return strings.Count(text, word) > strings.Count(other, word)
	})
}

// printsNull reports whether null was printed as a word.
func printsNull(_ chattemplate.Input, text, twin string) bool {
	return more(text, twin, "None", "null")
}

// printsText reports whether arguments that came as text were encoded again.
func printsText(in chattemplate.Input, text, twin string) bool {
	found := false
	eachArguments(in, func(v ordered.Value) ordered.Value {
		found = found || v.Kind() == ordered.String && more(text, twin, v.String())
		return v
	})
	return found
}

// printsObject reports whether arguments that came as an object were printed as Python does.
func printsObject(in chattemplate.Input, text, twin string) bool {
	found := false
	eachArguments(in, func(v ordered.Value) ordered.Value {
		found = found || len(spelled(v)) > 0 && more(text, twin, "'", "&#")
		return v
	})
	return found
}

// twins are the forms of a request whose prompts show whether its own is at fault.
func (m *mender) twins(in chattemplate.Input) []twin {
	var all []twin
	other := in
	if full := filled(in); !same(full.Messages, in.Messages) {
		other.Messages = full.Messages
		all = append(all, twin{other, printsNull})
	}
	if called := withoutCalls(in); !same(called.Messages, in.Messages) {
		all = append(all, twin{called, differs})
	}
	if written := formed(in, m.form); !same(written.Messages, in.Messages) {
		shows := symptom(printsText)
		if m.form == formText {
			shows = printsObject
		}
		all = append(all, twin{written, shows})
	}
	if m.options.Offered { // no patch changes the others
		return all
	}
	if whole := inOne(in); !same(whole.Messages, in.Messages) {
		all = append(all, twin{whole, unsaid})
	}
	if plain := spelt(in); !same(plain.Messages, in.Messages) {
		all = append(all, twin{plain, printsSwitch})
	}
	return all
}

// role returns a change of the role of messages.
func role(from, to string) recast {
	return func(in chattemplate.Input) chattemplate.Input {
		return eachMessage(in, func(msg ordered.Value) ordered.Value {
			if msg.At("role").Text() == from {
				return msg.With("role", ordered.Str(to))
			}
			return msg
		})
	}
}

// unheard reports whether a text of a developer's message is not in a prompt.
func unheard(in chattemplate.Input, text, _ string) bool {
	return slices.ContainsFunc(in.Messages, func(msg ordered.Value) bool {
		return msg.At("role").Text() == "developer" && slices.ContainsFunc(words(msg),
			func(w string) bool { return !strings.Contains(text, w) })
	})
}

// noCalls returns a change of the calls of answers that make none.
func noCalls(calls ordered.Value) recast {
	return spoken(false, func(msg ordered.Value) ordered.Value {
		return msg.With("tool_calls", calls)
	})
}

// withoutCalls leaves the calls out where there are none.
var withoutCalls = spoken(false, func(msg ordered.Value) ordered.Value {
	return msg.Without("tool_calls")
})

// differs reports whether a prompt is another one than its twin.
func differs(_ chattemplate.Input, text, twin string) bool { return text != twin }

// unrefused takes the faults out that the template refuses in its own words.
func unrefused(m *mender, faults []fault) []fault {
	return slices.DeleteFunc(faults, func(f fault) bool { return worded(f.failure(m.now)) })
}

func developerFaults(m *mender) []fault {
	faults := m.put(role("system", "developer"), unheard, itself)
	for _, late := range []bool{false, true} {
		faults = append(faults, m.put(added("developer", late), unheard, added("system", late))...)
	}
	return unrefused(m, faults)
}

// added returns a change that puts further instructions behind those that a request begins with, or
// late, behind its first answer.
func added(role string, late bool) recast {
	after := "system"
	if late {
		after = "assistant"
	}
	return func(in chattemplate.Input) chattemplate.Input {
		i := slices.IndexFunc(in.Messages, func(msg ordered.Value) bool {
			return msg.At("role").Text() == after && len(msg.At("tool_calls").Items()) == 0
		})
		if i >= 0 {
			in.Messages = slices.Insert(slices.Clone(in.Messages), i+1,
				chat.MessageOf(role, ordered.Str("Norume.")))
		}
		return in
	}
}

func noCallsFaults(m *mender) []fault {
	return append(m.put(noCalls(ordered.ArrayOf()), differs, itself),
		m.put(noCalls(ordered.Value{}), differs, itself)...)
}

// nullMemberFaults are answers and calls with members that are null.
func nullMemberFaults(m *mender) []fault {
	var faults []fault
	for _, key := range members {
		for _, calls := range []bool{false, true} {
			faults = append(faults, m.put(spoken(calls, func(msg ordered.Value) ordered.Value {
				return msg.With(key, ordered.Value{})
			}), differs, itself)...)
		}
	}
	return faults
}

// pictureFaults are questions beside a picture, which has two names.
func pictureFaults(m *mender) []fault {
	beside := func(picture ordered.Value) recast {
		return said("user", func(text string) ordered.Value {
			return ordered.ArrayOf(picture, chat.TextPart(ordered.Str(text)))
		})
	}
	kind := func(name string) ordered.Member { return ordered.MemberOf("type", ordered.Str(name)) }
	short := beside(ordered.ObjectOf(kind("image")))
	long := beside(ordered.ObjectOf(kind("image_url"), ordered.MemberOf("image_url", ordered.Pairs(
		"url", "data:image/png;base64,aGk="))))
	alone := inParts("user")
	taken := func(f fault) bool { // the template writes the picture under one of the names
		plain, err := m.now.t.Render(alone(inOne(f.in)))
		return err == nil && !slices.Contains(f.wants, plain) &&
			!unsaid(short(inOne(f.in)), f.wants[0], plain) &&
			!unsaid(long(inOne(f.in)), f.wants[0], plain)
	}
	return slices.DeleteFunc(append(m.put(long, differs, short), m.put(short, differs, long)...),
		func(f fault) bool { return !taken(f) })
}

// spelt returns an input whose arguments have text in the place of true, false and null.
func spelt(in chattemplate.Input) chattemplate.Input {
	return eachArguments(in, func(v ordered.Value) ordered.Value {
		for _, member := range v.Members() {
			switch member.Value.Kind() {
			case ordered.Bool, ordered.Null:
				v = v.With(member.Key, ordered.Str(member.Value.String()))
			}
		}
		return v
	})
}

// printsSwitch reports whether true, false or null was printed as Python does.
func printsSwitch(_ chattemplate.Input, text, twin string) bool {
	return more(text, twin, "True", "False", "None")
}

// switchFaults are calls with an argument that is true, which text writes as JSON does.
func switchFaults(m *mender) []fault {
	with := func(value ordered.Value) recast {
		return func(in chattemplate.Input) chattemplate.Input {
			return eachArguments(in, func(v ordered.Value) ordered.Value {
				if v.Kind() != ordered.Object {
					return v
				}
				return v.With("open", value)
			})
		}
	}
	return m.put(with(ordered.Boolean(true)), printsSwitch, with(ordered.Str("true")))
}

func same(a, b []ordered.Value) bool {
	return slices.EqualFunc(a, b, func(x, y ordered.Value) bool { return x.String() == y.String() })
}

// put makes faults of the plain conversations: of each that a recast changes, where its twin is
// written well and it is not.
func (m *mender) put(to recast, shows symptom, twins ...recast) []fault {
	var faults []fault
	for _, b := range m.bases {
		in := formed(b.in, m.form)
		changed := to(in)
		if same(changed.Messages, in.Messages) && same(changed.Tools, in.Tools) {
			continue
		}
		f := fault{name: b.name, in: changed}
		for _, of := range twins {
			other := of(in)
			if text, err := m.now.t.Render(other); err == nil {
				f.wants = append(f.wants, text)
				if dumped := redumped(text, other.Tools, changed.Tools); dumped != text {
					f.wants = append(f.wants, dumped)
				}
			}
		}
		if len(f.wants) == 0 {
			continue
		}
		text, err := m.now.t.Render(changed)
		if err != nil || !f.matches(outcome{text: text}) && shows(changed, text, f.wants[0]) {
			faults = append(faults, f)
		}
	}
	return faults
}

// redumped returns a prompt of some tools with others in the places where it has them as JSON.
func redumped(text string, was, is []ordered.Value) string {
	for i, t := range was {
		for _, keys := range [][]string{{}, {"function"}, {"function", "parameters"}} {
			text = strings.ReplaceAll(text, t.At(keys...).String(), is[i].At(keys...).String())
		}
	}
	return text
}

func itself(in chattemplate.Input) chattemplate.Input { return in }

// spoken changes the content of the assistant's messages that are calls, or of those that are not.
func spoken(calls bool, to change) recast {
	return func(in chattemplate.Input) chattemplate.Input {
		return eachMessage(in, func(msg ordered.Value) ordered.Value {
			isCall := len(msg.At("tool_calls").Items()) > 0
			if msg.At("role").Text() != "assistant" || isCall != calls {
				return msg
			}
			return to(msg)
		})
	}
}

func nulled(msg ordered.Value) ordered.Value  { return msg.With("content", ordered.Value{}) }
func omitted(msg ordered.Value) ordered.Value { return msg.Without("content") }
func emptied(msg ordered.Value) ordered.Value { return msg.With("content", ordered.Str("")) }

// nullFaults are calls with null content and without any, where the template writes calls, and
// answers whose null is printed: that an answer which says nothing is refused may be meant.
func nullFaults(m *mender) []fault {
	var faults []fault
	if m.calls {
		faults = m.put(spoken(true, nulled), printsNull, itself)
		faults = append(faults,
			m.put(spoken(true, omitted), printsNull, spoken(true, nulled), itself)...)
	}
	answers := m.put(spoken(false, nulled), printsNull, spoken(false, emptied))
	return append(faults,
		slices.DeleteFunc(answers, func(f fault) bool { return f.failure(m.now) != nil })...)
}

// dropping leaves a member of every function out, and the twin has it empty.
func (m *mender) dropping(keys []string, fills ...change) []fault {
	with := func(fills ...change) recast {
		return func(in chattemplate.Input) chattemplate.Input {
			return eachTool(in, func(f ordered.Value) ordered.Value {
				for _, key := range keys {
					f = f.Without(key)
				}
				for _, fill := range fills {
					f = fill(f)
				}
				return f
			})
		}
	}
	twins := []recast{with(fills...)}
	for _, fill := range fills { // one alone may be enough
		twins = append(twins, with(fill))
	}
	return m.put(with(), never, twins...)
}

func toolFaults(m *mender) []fault {
	description := func(f ordered.Value) ordered.Value {
		return fill(f, "description", ordered.Str(""))
	}
	parameters := func(f ordered.Value) ordered.Value { return fill(f, "parameters", noParameters) }
	faults := m.dropping([]string{"description"}, description)
	faults = append(faults, m.dropping([]string{"parameters"}, parameters)...)
	faults = append(
		faults, m.dropping([]string{"description", "parameters"}, description, parameters)...)
	return append(faults, m.put(
		eachParameter(func(p ordered.Value) ordered.Value { return p.Without("description") }),
		never, eachParameter(func(p ordered.Value) ordered.Value {
			return p.With("description", ordered.Str(""))
		}))...)
}

// eachParameter returns a change of the parameters of all tools.
func eachParameter(to change) recast {
	return func(in chattemplate.Input) chattemplate.Input {
		return eachTool(in, func(f ordered.Value) ordered.Value { return eachProperty(f, to) })
	}
}

// union is how types that are alternatives are written in a word.
const union = " | "

// typed returns a change of the parameters of tools: their type, and the alternatives that anyOf
// has; null leaves the type out.
func typed(t ordered.Value, anyOf ...ordered.Value) recast {
	return eachParameter(func(p ordered.Value) ordered.Value {
		if len(anyOf) > 0 {
			p = p.With("anyOf", ordered.ArrayOf(anyOf...))
		}
		if t.IsNull() {
			return p.Without("type")
		}
		return p.With("type", t)
	})
}

func unionFaults(m *mender) []fault {
	text, null := ordered.Str("string"), ordered.Str("null")
	only := func(t ordered.Value) ordered.Value {
		return ordered.Pairs("type", t)
	}
	both := ordered.Str("string" + union + "null")
	joined := typed(both)
	// A template that spells each type of a list spells a value that is no type, too.
	untyped := typed(ordered.ArrayOf(text, ordered.Value{}))
	faults := m.put(typed(ordered.ArrayOf(text, null)), never, joined, typed(text), untyped)
	return append(faults, m.put(typed(ordered.Value{}, only(text), only(null)), never,
		typed(both, only(text), only(null)), joined,
		typed(ordered.Str(""), only(text), only(null)), typed(ordered.Str("")))...)
}

func textFaults(m *mender) []fault {
	if m.form != formObject || !m.calls {
		return nil
	}
	faults := m.put(func(in chattemplate.Input) chattemplate.Input { return formed(in, formText) },
		printsText, itself)
	for i := range faults {
		faults[i].loose = true
	}
	return faults
}

func objectFaults(m *mender) []fault {
	if m.form != formText || !m.calls {
		return nil
	}
	return m.put(func(in chattemplate.Input) chattemplate.Input { return formed(in, formObject) },
		printsObject, itself)
}
