package conversation

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/words"
)

// Grammar holds the conversations that it derived for a seed.
type Grammar struct {
	Seed          uint64
	Conversations []Conversation // the plainest first

	edges []edge
}

// derivations is how many conversations are derived to choose from; more bring no feature that
// these lack.
const derivations = 300

// New derives conversations from the grammar. No word that they draw occurs in a text to avoid.
func New(seed uint64, avoid ...string) *Grammar {
	all := make([]derived, derivations)
	for i := range all {
		all[i] = derive(seed, uint64(i), avoid...)
	}
	slices.SortStableFunc(all, func(a, b derived) int { return cmp.Compare(a.size, b.size) })
	seen := map[string]int{}
	g := &Grammar{Seed: seed}
	for _, d := range all {
		more := false
		for f, need := range d.features {
			more = more || seen[f] < need
			seen[f]++
		}
		if more {
			g.Conversations = append(g.Conversations, d.Conversation)
		}
	}
	g.edges = edges(seed, avoid...)
	return g
}

// UsualBeside returns the usual conversations, with other words where a text, the source of a
// template, may have one of theirs: a rule tells by its words where a message stands in a prompt.
func UsualBeside(text string) *Grammar {
	if words.Named(text) {
		return New(Usual().Seed, text)
	}
	return Usual()
}

// derived is a conversation with the features that it has, and how many conversations should have
// each.
type derived struct {
	Conversation
	features map[string]int
	size     int
}

// deriver makes one derivation. Every choice is a feature, and so is every kind of message before
// another.
type deriver struct {
	*words.Source
	rand     *rand.Rand
	rich     float64 // how likely a choice is another one than the plain one
	features map[string]int
	messages []ordered.Value
	last     string // the last message's name
	tools    []ordered.Value
	switches []ordered.Member
	ids      []string // calls without a result
	calls    []string // the functions that these call
	thinks   string   // the field of reasoning in every answer and call; "none", "mixed"
	size     int
}

func derive(seed, n uint64, avoid ...string) derived {
	r := rand.New(rand.NewPCG(seed, n))
	d := &deriver{Source: words.New(r.Uint64(), avoid...), rand: r, rich: float64(n%8) / 12,
		last: "nothing", features: map[string]int{}}
	d.conversation()
	request := chat.Request{Messages: d.messages,
		NoGeneration: d.pick("asked", "asked", "not asked") != "asked"}
	if k := KindOf(d.messages[len(d.messages)-1]); k == Answer || k == Call {
		request.NoGeneration = true // nobody asks for an answer to one
	}
	d.follows(d.last + " before " +
		map[bool]string{true: "the end", false: "the model"}[request.NoGeneration])
	for _, t := range d.tools {
		request.Tools = append(request.Tools,
			chat.Tool{Name: t.At("function", "name").Text(), Value: t,
				Parameters: t.At("function", "parameters")})
	}
	if len(d.switches) > 0 {
		request.Kwargs = ordered.ObjectOf(d.switches...)
	}
	return derived{Conversation{Name: Told(request), Request: request}, d.features, d.size}
}

// feature notes something that the conversation has.
func (d *deriver) feature(f string) { d.features[f] = 1 }

// follows notes which kind of message stands before which other; the text between the two is
// compared with that elsewhere. Templates cut a system message off and count from there, so both is
// wanted.
func (d *deriver) follows(f string) {
	if role := d.messages[0].At("role").Text(); role != "user" {
		f += ", under instructions"
	}
	d.features[f] = 2
}

// pick picks how the conversation goes on.
func (d *deriver) pick(forms ...string) string { return forms[d.rand.IntN(len(forms))] }

// choose picks one of the forms that something may have. The first is the plain one.
func (d *deriver) choose(what string, forms ...string) string {
	form := forms[0]
	if d.rand.Float64() < d.rich {
		form = forms[d.rand.IntN(len(forms))]
	}
	if form != forms[0] {
		d.size += 2
	}
	d.feature(what + ": " + form)
	return form
}

// many picks a number from 1 on, smaller ones more often.
func (d *deriver) many(what string, most int) int {
	n := 1
	for n < most && d.rand.Float64() < d.rich/2 {
		n++
	}
	d.feature(what + ": " + string(rune('0'+n)))
	return n
}

func text(s string) ordered.Value { return ordered.Str(s) }

func list(items ...ordered.Value) ordered.Value { return ordered.ArrayOf(items...) }

// conversation is the start symbol.
//
//	conversation = [instructions] { exchange [instructions] } last
//	exchange     = question { question } reply
//	reply        = answer | loop (answer | ε)
//	loop         = { calls results }
//	last         = question { question } [ calls [ results ] | loop answer | answer ]
func (d *deriver) conversation() {
	d.declare()
	d.thinks = d.choose("reasoning", "none", "reasoning_content", "reasoning", "mixed")
	switch d.choose("thinking", "unset", "on", "off") {
	case "on":
		d.switches = append(d.switches, ordered.MemberOf("enable_thinking", ordered.Boolean(true)),
			ordered.MemberOf("thinking", ordered.Boolean(true)))
	case "off":
		d.switches = append(d.switches, ordered.MemberOf("enable_thinking", ordered.Boolean(false)),
			ordered.MemberOf("thinking", ordered.Boolean(false)))
	}
	if effort := d.choose("effort", "unset", "low", "medium", "high", "none"); effort != "unset" {
		d.switches = append(d.switches, ordered.MemberOf("reasoning_effort", text(effort)))
	}
	d.instructions("first")
	for range d.rand.IntN(3) {
		d.questions()
		d.reply()
		if d.choose("middle", "none", "none", "instructions") != "none" {
			d.instructions("middle")
		}
	}
	d.questions()
	switch d.pick("question", "question", "question", "answer", "call", "result", "reply") {
	case "answer":
		d.answer()
	case "call":
		d.call()
	case "result":
		d.call()
		d.results()
	case "reply":
		d.reply()
	}
}

// say appends a message.
func (d *deriver) say(name, role string, members ...ordered.Member) {
	d.size += 5
	d.messages = append(d.messages,
		ordered.ObjectOf(append([]ordered.Member{ordered.MemberOf("role", text(role))},
			members...)...))
	d.follows(name + " after " + d.last)
	d.last = name
}

func (d *deriver) instructions(where string) {
	who := "system"
	if where == "first" {
		if who = d.pick("none", "none", "system", "system", "developer", "both"); who == "none" {
			return
		}
	} else {
		who = d.choose("instructions in the middle", "system", "developer")
	}
	if who == "both" {
		d.say("system", "system", d.content("system", "text", "parts", "awkward")...)
		who = "developer"
	}
	d.say(who, who, d.content(who, "text", "parts", "awkward")...)
}

func (d *deriver) questions() {
	for range d.many("questions in a row", 2) {
		d.say("question", "user",
			d.content("question", "text", "awkward", "parts", "two parts", "image", "images",
				"audio", "video", "empty")...)
	}
}

// content returns a message's content in one of the forms that are named.
func (d *deriver) content(of string, forms ...string) []ordered.Member {
	part := func(kind, key string, v ordered.Value) ordered.Value {
		return ordered.Pairs("type", kind, key, v)
	}
	say := d.Remark
	switch of {
	case "question":
		say = d.Question
	case "system", "developer":
		say = d.Rule
	}
	says := func() ordered.Value { return part("text", "text", text(say())) }
	url := func() ordered.Value {
		return ordered.Pairs("url", "https://example.org/"+d.Word())
	}
	var v ordered.Value
	switch form := d.choose(of+"'s content", forms...); form {
	case "absent":
		return nil
	case "null":
	case "empty":
		v = text("")
	case "text":
		v = text(say())
	case "awkward":
		v = text(d.awkward())
	case "JSON":
		v = text(ordered.Pairs(d.Word(), d.Word()).String())
	case "failed":
		v = text("Error: " + d.Remark())
	case "parts":
		v = list(says())
	case "two parts":
		v = list(says(), says())
	case "image":
		v = list(part("image_url", "image_url", url()), says())
	case "images":
		v = list(says(), ordered.Pairs("type", "image"), ordered.Pairs("type", "image"), says())
	case "audio":
		v = list(ordered.Pairs("type", "audio"),
			part("input_audio", "input_audio", ordered.Pairs("data", d.ID(),
				"format", "wav")), says())
	case "video":
		v = list(ordered.Pairs("type", "video"), part("video_url", "video_url", url()), says())
	default:
		panic("conversation: no form " + form)
	}
	return []ordered.Member{ordered.MemberOf("content", v)}
}

func (d *deriver) reasoning(of string) []ordered.Member {
	form := d.thinks
	if form == "mixed" {
		form = d.choose(of+"'s reasoning", "none", "reasoning_content", "reasoning", "both",
			"empty")
	}
	d.feature(of + "'s reasoning: " + form)
	switch form {
	case "none":
		return nil
	case "both":
		v := text(d.Thought())
		return []ordered.Member{ordered.MemberOf("reasoning_content", v),
			ordered.MemberOf("reasoning", v)}
	case "empty":
		return []ordered.Member{ordered.MemberOf("reasoning_content", text(""))}
	default:
		return []ordered.Member{ordered.MemberOf(form, text(d.Thought()))}
	}
}

func (d *deriver) answer() {
	thought := d.reasoning("answer")
	forms := []string{"text", "awkward", "parts", "empty", "null"}
	if thought == nil {
		forms = forms[:3]
	}
	name := "answer"
	if thought != nil {
		name = "answer with reasoning"
	}
	d.say(name, "assistant", append(d.content("answer", forms...), thought...)...)
}

// reply answers, by calls or at once.
func (d *deriver) reply() {
	if d.pick("answer", "loop") == "answer" {
		d.answer()
		return
	}
	for range d.many("steps", 5) {
		d.call()
		d.results()
	}
	if d.pick("answer", "answer", "question") == "answer" {
		d.answer()
	}
}

func (d *deriver) call() {
	if len(d.tools) == 0 {
		d.tools = d.someTools(2)
	}
	var members []ordered.Member
	form := d.choose("call's content", "null", "absent", "empty", "text", "awkward")
	members = append(members,
		map[bool][]ordered.Member{true: nil, false: d.contentAs(form)}[form == "absent"]...)
	members = append(members, d.reasoning("call")...)
	n := d.many("calls", 3)
	ids := d.choose("ids", "nine", "long", "absent")
	calls := make([]ordered.Value, n)
	arguments := d.choose("arguments", "object", "text", "empty object", "empty text")
	d.ids, d.calls = nil, nil
	for i := range calls {
		f := d.tools[d.rand.IntN(len(d.tools))].At("function")
		name := f.At("name")
		call := ordered.Pairs("type", "function", "function", ordered.Pairs("name", name,
			"arguments", d.arguments(f, arguments)))
		id := ""
		switch ids {
		case "nine":
			id = d.ID()
		case "long":
			id = "call_" + d.ID() + d.ID()
		}
		if id != "" {
			call = ordered.ObjectOf(append([]ordered.Member{ordered.MemberOf("id", text(id))},
				call.Members()...)...)
		}
		d.ids, d.calls = append(d.ids, id), append(d.calls, name.Text())
		calls[i] = call
	}
	name := "call"
	if n > 1 {
		name = "calls"
	}
	if form == "text" || form == "awkward" {
		name = "content and " + name
	}
	d.say(name, "assistant", append(members, ordered.MemberOf("tool_calls", list(calls...)))...)
}

// contentAs returns content in a form that has been chosen.
func (d *deriver) contentAs(form string) []ordered.Member {
	switch form {
	case "null":
		return []ordered.Member{ordered.MemberOf("content", ordered.Value{})}
	case "empty":
		return []ordered.Member{ordered.MemberOf("content", text(""))}
	case "text":
		return []ordered.Member{ordered.MemberOf("content", text(d.Remark()))}
	}
	return []ordered.Member{ordered.MemberOf("content", text(d.awkward()))}
}

// arguments returns arguments for a function: for each parameter that it declares a value of its
// type, or some of its own.
func (d *deriver) arguments(f ordered.Value, form string) ordered.Value {
	var members []ordered.Member
	for _, p := range f.At("parameters", "properties").Members() {
		members = append(members, ordered.MemberOf(p.Key, d.value(p.Value)))
	}
	if len(members) == 0 {
		members = []ordered.Member{ordered.MemberOf(d.Word(), text(d.Word())),
			ordered.MemberOf(d.Word(), text(d.Word()))}
	}
	v := ordered.ObjectOf(members...)
	switch form {
	case "text":
		return text(v.String())
	case "empty object":
		return ordered.ObjectOf()
	case "empty text":
		return text("{}")
	}
	return v
}

// value returns a value that a schema allows.
func (d *deriver) value(schema ordered.Value) ordered.Value {
	if choices := schema.At("enum").Items(); len(choices) > 0 {
		return choices[d.rand.IntN(len(choices))]
	}
	kind := schema.At("type")
	for _, key := range []string{"anyOf", "oneOf"} {
		if options := schema.At(key).Items(); len(options) > 0 {
			return d.value(options[d.rand.IntN(len(options))])
		}
	}
	name := kind.Text()
	if options := kind.Items(); len(options) > 0 {
		name = options[d.rand.IntN(len(options))].Text()
	}
	d.feature("argument: " + name)
	switch name {
	case "integer":
		return ordered.Int(10000 + d.rand.IntN(90000))
	case "number":
		return ordered.Num("3." + string(rune('1'+d.rand.IntN(9))) + "5")
	case "boolean":
		return ordered.Boolean(d.rand.IntN(2) == 0)
	case "null":
		return ordered.Value{}
	case "array":
		return list(d.value(schema.At("items")), d.value(schema.At("items")))
	case "object":
		var members []ordered.Member
		for _, p := range schema.At("properties").Members() {
			members = append(members, ordered.MemberOf(p.Key, d.value(p.Value)))
		}
		return ordered.ObjectOf(members...)
	}
	if d.choose("text argument", "plain", "awkward") == "awkward" {
		return text(d.awkward())
	}
	return text(d.Word() + " " + d.Word())
}

// results answers all calls of the last message.
func (d *deriver) results() {
	order := make([]int, len(d.ids))
	for i := range order {
		order[i] = i
	}
	if len(order) > 1 && d.choose("order of results", "as called", "other") == "other" {
		slices.Reverse(order)
	}
	named := d.choose("result's name", "absent", "given") == "given"
	for _, i := range order {
		var members []ordered.Member
		if d.ids[i] != "" && d.choose("result's id", "given", "absent") == "given" {
			members = append(members, ordered.MemberOf("tool_call_id", text(d.ids[i])))
		}
		if named {
			members = append(members, ordered.MemberOf("name", text(d.calls[i])))
		}
		d.say("result", "tool",
			append(members, d.content("result", "text", "JSON", "failed", "awkward", "parts",
				"empty")...)...)
	}
}

// awkward draws text with everything in it that careless code changes: quotes, markup, other
// scripts, blank lines and indentation inside.
func (d *deriver) awkward() string {
	return d.Word() + " <b>\"" + d.Word() + "\"</b> & it's ü日本\n\n    " + d.Word() + `  C:\` + d.Word() + " {x}"
}
