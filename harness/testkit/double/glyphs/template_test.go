package glyphs

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/spell"
	"github.com/goassay/assay/harness/check/subject"
)

// classes are the runes that markers are made of, and the words.
var classes = [][]string{
	runes("!%&*+,-./:;=?@^_~|§¶†‡•…‰※‼⁂⁑⁕⸎⸙‹›«»¡¿"),
	runes("←→↑↓⇒⇔∀∃∈∑√∞≈≠≤≥⊕⊗⊥⌘⌥⎋⏎■□▲△▶◆◇●◎★☆♠♣♥♦♪♯⚑⚙⚡✂✓✗✦➤⟐⧉⨁"),
	runes("🔧🔩🧰📦💭💡💬🔑📎🔚🙂🚀🌍🔥🎯🧠🪄🛑✅❌"),
	runes("абвгджзиклмнопрст"), runes("αβγδεζηθικλμνξο"), runes("ابتثجحخدذرزس"),
	runes("कखगघचछजझटठडढ"), runes("呼叫思考回答参数键值结束"),
	{"call", "done", "think", "tool", "use", "reply", "note", "begin", "end", "step", "item", "stop", "turn", "part", "data"},
	runes("<>[]{}()#$`\\\"'"),
}

func runes(s string) []string { return strings.Split(s, "") }

// places are the markers of a template.
var places = []string{"bot", "other", "eot", "think", "unthink", "say", "unsay", "calls", "uncalls",
	"call", "uncall", "with", "key", "value", "unvalue"}

// Template is a template that was drawn.
type Template struct {
	Seed    uint64
	Text    string
	markers map[string]string
	kind    int // how a call is spelled: an object, name and arguments, keys and values
	think   bool
	wrapped bool // content stands between markers
	section bool // so do all calls
}

// Draw draws a template.
func Draw(seed uint64) *Template {
	r := rand.New(rand.NewPCG(seed, 1))
	t := &Template{Seed: seed, kind: r.IntN(3), think: r.IntN(2) == 0, wrapped: r.IntN(4) == 0,
		section: r.IntN(2) == 0, markers: map[string]string{}}
	for _, place := range places {
		for t.markers[place] == "" {
			if m := marker(r); t.apart(m) {
				t.markers[place] = m
			}
		}
	}
	t.Text = t.source()
	return t
}

// marker draws one.
func marker(r *rand.Rand) string {
	class := classes[r.IntN(len(classes))]
	around := ""
	for range r.IntN(3) {
		around += pick(r, classes[r.IntN(2)])
	}
	text := ""
	for range 2 + r.IntN(4) {
		text += pick(r, class)
	}
	return around + text + around
}

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

// apart reports whether a marker can be told from the others: none is a part of another, and none
// stands where two others meet.
func (t *Template) apart(m string) bool {
	for _, other := range t.markers {
		if strings.Contains(m, other) || strings.Contains(other, m) {
			return false
		}
	}
	return true
}

// written is a marker as an expression of the template.
func (t *Template) written(place string) string {
	return "{{ " + strings.ReplaceAll(ordered.Str(t.markers[place]).String(), "{", `\x7b`) + " }}"
}

func (t *Template) source() string {
	m := t.written
	var call string
	switch t.kind {
	case 0:
		call = m("call") + `{{ '{' }}"name": {{ c.function.name|tojson }}, "arguments": {{ c.function.arguments|tojson }}{{ '}' }}` + m("uncall")
	case 1:
		call = m("call") + `{{ c.function.name }}` + m("with") + `{{ c.function.arguments|tojson }}` + m("uncall")
	default:
		call = m("call") + `{{ c.function.name }}` + m("with") + `{% for k, v in c.function.arguments.items() %}` + m("key") + `{{ k }}` + m("value") +
			`{{ v if v is string else v|tojson }}` + m("unvalue") + `{% endfor %}` + m("uncall")
	}
	calls := `{% for c in x.tool_calls %}` + call + `{% endfor %}`
	if t.section {
		calls = m("calls") + calls + m("uncalls")
	}
	thought := ""
	if t.think {
		thought = `{% if x.reasoning_content %}` + m("think") + `{{ x.reasoning_content }}` + m("unthink") + `{% endif %}`
	}
	content := `{{ x.content or '' }}`
	if t.wrapped {
		content = `{% if x.content %}` + m("say") + `{{ x.content }}` + m("unsay") + `{% endif %}`
	}
	return `{% if tools %}{{ tools|tojson }}` + m("eot") + `{% endif %}{% for x in messages %}{% if x.role == 'assistant' %}` + m("bot") + thought + content +
		`{% if x.tool_calls %}` + calls + `{% endif %}{% else %}` + m("other") + `{{ x.role }} {{ x.content }}{% endif %}` + m("eot") + `{% endfor %}{% if add_generation_prompt %}` + m("bot") + `{% endif %}`
}

// Turn is the template's text for a message after the header, the end of the turn included.
func (t *Template) Turn(m chat.Message) string {
	var b strings.Builder
	w := func(texts ...string) {
		for _, s := range texts {
			b.WriteString(s)
		}
	}
	k := t.markers
	if t.think && m.Reasoning != "" {
		w(k["think"], m.Reasoning, k["unthink"])
	}
	switch {
	case t.wrapped && m.Content != "":
		w(k["say"], m.Content, k["unsay"])
	default:
		w(m.Content)
	}
	if t.section && len(m.ToolCalls) > 0 {
		w(k["calls"])
	}
	for _, c := range m.ToolCalls {
		w(k["call"])
		switch t.kind {
		case 0:
			w(`{"name": `, strconv.Quote(c.Name), `, "arguments": `, c.Arguments, `}`)
		case 1:
			w(c.Name, k["with"], c.Arguments)
		default:
			w(c.Name, k["with"])
			args, _ := ordered.ParseString(c.Arguments)
			for _, a := range args.Members() {
				value := a.Value.Text()
				if a.Value.Kind() != ordered.String {
					value = a.Value.String()
				}
				w(k["key"], a.Key, k["value"], value, k["unvalue"])
			}
		}
		w(k["uncall"])
	}
	if t.section && len(m.ToolCalls) > 0 {
		w(k["uncalls"])
	}
	w(k["eot"])
	return b.String()
}

// Verdict is the outcome for a template.
type Verdict struct {
	Accepted bool
	Reason   string // why it was refused
	Wrong    string // how it is wrong though it was accepted
}

// messages are the ones with which an accepted template is tried. Their texts are no probe's.
func (t *Template) messages() []chat.Message {
	call := func(name, args string) chat.ToolCall {
		return chat.ToolCall{Name: name, Arguments: args, Complete: true}
	}
	all := []chat.Message{
		{Content: "Seven bridges lead there."},
		{ToolCalls: []chat.ToolCall{call("find_route", `{"from": "Aachen", "stops": 4}`)}},
		{Content: "One moment.", ToolCalls: []chat.ToolCall{call("find_route", `{"from": "Ulm"}`), call("look", `{"at": "Ghent", "deep": true}`)}},
	}
	if t.think {
		all = append(all, chat.Message{Reasoning: "Is it far?", Content: "It is not."},
			chat.Message{Reasoning: "I need a map.", ToolCalls: []chat.ToolCall{call("look", `{"at": "Lille"}`)}})
	}
	return all
}

const tools = `[{"type": "function", "function": {"name": "find_route", "description": "Finds a route.", "parameters": {"type": "object", "properties": {"from": {"type": "string"}, "stops": {"type": "integer"}}}}},
	{"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {"at": {"type": "string"}, "deep": {"type": "boolean"}}}}}]`

// Judge has the engine judge the template, and compares the formats that it accepts with the truth.
func (t *Template) Judge() Verdict {
	c, err := subject.New(fmt.Sprintf("seed %d", t.Seed), t.Text).Compile()
	if err != nil {
		return Verdict{Reason: err.Error()}
	}
	if err := c.Gate().Err(); err != nil {
		return Verdict{Reason: err.Error()}
	}
	return Verdict{Accepted: true, Wrong: t.wrong(c)}
}

// wrong describes how a format that was accepted is wrong, "" if it is right.
func (t *Template) wrong(c *engine.Template) string {
	declared, err := ordered.ParseString(tools)
	if err != nil {
		return err.Error()
	}
	ask := chat.User("How do I get there?")
	request, err := chat.ParseRequest(ordered.Pairs("messages", ordered.ArrayOf(ask),
		"tools", declared))
	if err != nil {
		return err.Error()
	}
	plan, err := c.Prepare(request, engine.PrepareOptions{})
	if err != nil {
		return err.Error()
	}
	for _, m := range t.messages() {
		turn := t.Turn(m)
		s, err := spell.Of(c.Analysis().Format, m)
		n := 0
		if err == nil {
			n, err = s.Match(turn)
		}
		if err == nil && n < len(turn) {
			err = fmt.Errorf("the format spells %q, the template writes %q", turn[:n], turn)
		}
		if err != nil {
			return err.Error()
		}
		got := plan.Parse(strings.TrimSuffix(turn, t.markers["eot"]), chat.FinishStop).Message
		if got.Content != m.Content || got.Reasoning != m.Reasoning ||
			len(got.ToolCalls) != len(m.ToolCalls) {
			return fmt.Sprintf("%q is read as %s", turn, got.Value())
		}
		for i, call := range m.ToolCalls {
			x, _ := ordered.ParseString(call.Arguments)
			y, err := ordered.ParseString(got.ToolCalls[i].Arguments)
			if err != nil || got.ToolCalls[i].Name != call.Name || !ordered.Equal(x, y) {
				return fmt.Sprintf("%q is read as %s", turn, got.Value())
			}
		}
	}
	return ""
}
