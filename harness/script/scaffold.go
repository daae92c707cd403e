package script

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/split"
)

// File is a script as text.
type File struct{ Name, Text string }

// Shown is what of an answer a template shows, and what the gate says.
type Shown struct {
	Tools     bool // calls that can be read
	Reasoning bool
	Content   bool // reasoning stands beside content, and not only beside calls
	Gate      bool // the gate lets the template pass
}

// ShownBy says what a template shows. It decides which kinds of cases a family has.
func ShownBy(t *engine.Template) Shown {
	a := t.Analysis()
	reasoning := func(r format.Route) bool { return r.Kind == format.RouteReasoning }
	return Shown{
		Tools:     a.HasCalls(),
		Reasoning: !a.Format.Reasoning.IsZero() || slices.ContainsFunc(a.Format.Routes, reasoning),
		Content:   a.Format.Reasoning.Mode != format.ReasoningToolsOnly,
		Gate:      t.Gate().Pass(),
	}
}

// sketch is a first case: what is asked, and the message whose spelling the template shows. The output is that spelling, or a part.
type sketch struct {
	name, about string
	of          func(Shown) bool // which templates have it; nil: all
	history     string           // the messages; "": one question
	ask         string           // further members of the request
	message     string
	begun       string // the part of the message's text that stands already, and is continued: the output is what follows it
	// behind is the text of the message behind which the output ends; "": it is whole. It ends because a limit was reached where
	// limit is set.
	behind string
	limit  bool
}

func calls(s Shown) bool     { return s.Tools }
func reasoning(s Shown) bool { return s.Reasoning && s.Content }

const (
	oneCall = `{"id": "call00001", "name": "tide", "arguments": "{\"port\": \"Brest\"}"}`
	asked   = `{"role": "user", "content": "When does the tide turn?"}`
)

// sketches are first cases of every kind that a family must have.
var sketches = []sketch{
	{name: "content_plain", about: "A plain answer.", message: `{"content": "The tide turns at noon."}`},
	{name: "content_lines", about: "An answer of several lines, with marks that mean something elsewhere.",
		message: `{"content": "Low water, \"<b>6:10</b>\":\n\n` + "```" + `json\n{\"height\": 0.8}\n` + "```" + `\nHaute mer à 12 h 25 – 7 m."}`},
	{name: "content_system", about: "A system message before the question.",
		history: `[{"role": "system", "content": "You are a harbour master."}, ` + asked + `]`, message: `{"content": "The tide turns at noon."}`},
	{name: "content_turns", about: "A question after an answer.",
		history: `[{"role": "user", "content": "Is the harbour open?"}, {"role": "assistant", "content": "It is."}, ` + asked + `]`, message: `{"content": "The tide turns at noon."}`},
	{name: "content_cut", about: "The answer was cut off. What came stands in the message.", message: `{"content": "The tide turns at noon."}`,
		behind: "The tide tu", limit: true},
	{name: "content_schema", about: "Structured output: with a schema the content is the JSON itself.",
		ask:     `, "json_schema": {"type": "object", "properties": {"turn": {"type": "string"}, "height": {"type": "number"}}, "required": ["turn", "height"]}`,
		message: `{"content": "{\"turn\": \"noon\", \"height\": 6.5}"}`},
	{name: "continue_content", about: "The model goes on with an answer that has begun.", begun: "The tide turns", message: `{"content": "The tide turns at noon."}`},
	{name: "gate_rejected", about: "The gate does not let the template pass.", of: func(s Shown) bool { return !s.Gate }},
	{name: "reasoning_and_content", about: "Reasoning, then the answer.", of: reasoning,
		message: `{"reasoning_content": "High water was at six.", "content": "The tide turns at noon."}`},
	{name: "continue_reasoning", about: "The prompt ends inside the reasoning. The model finishes it, then answers.", of: reasoning, begun: "High water was",
		message: `{"reasoning_content": "High water was at six.", "content": "The tide turns at noon."}`},
	{name: "reasoning_and_call", about: "Reasoning, then a call.", of: func(s Shown) bool { return s.Reasoning && s.Tools },
		message: `{"reasoning_content": "The table has it.", "content": "", "tool_calls": [` + oneCall + `]}`},
	{name: "tools_one_call", about: "One call.", of: calls, message: `{"content": "", "tool_calls": [` + oneCall + `]}`},
	{name: "tools_content_and_call", about: "Content, then a call.", of: calls, message: `{"content": "Let me look.", "tool_calls": [` + oneCall + `]}`},
	{name: "tools_two_calls", about: "Two calls in one answer.", of: calls,
		message: `{"content": "", "tool_calls": [` + oneCall + `, {"id": "call00002", "name": "tide", "arguments": "{\"port\": \"Lorient\"}"}]}`},
	{name: "tools_typed", about: "Arguments of every type.", of: calls,
		message: `{"content": "", "tool_calls": [{"id": "call00001", "name": "log", "arguments": "{\"note\": \"02134\", \"height\": 6.5, \"days\": 2, \"spring\": true, \"ports\": [\"Brest\", \"Lorient\"], \"place\": {\"lat\": 48.4}}"}]}`},
	{name: "tools_awkward_strings", about: "A string with quotes, brackets and lines.", of: calls,
		message: `{"content": "", "tool_calls": [{"id": "call00001", "name": "log", "arguments": "{\"note\": \"\\\"Low\\\", it's <b>6:10</b>;\\n[1] {x}, 5 < 6 & 7\"}"}]}`},
	{name: "tools_required", about: "A call is demanded, and made.", of: calls, ask: `, "tool_choice": "required"`, message: `{"content": "", "tool_calls": [` + oneCall + `]}`},
	{name: "tools_result", about: "The answer after a result.", of: calls,
		history: `[` + asked + `, {"role": "assistant", "content": "", "tool_calls": [{"id": "call00001", "type": "function", "function": {"name": "tide", "arguments": "{\"port\": \"Brest\"}"}}]},
  {"role": "tool", "tool_call_id": "call00001", "name": "tide", "content": "12:25"}]`, message: `{"content": "The tide turns at noon."}`},
	{name: "truncated_in_argument", about: "The output was cut off inside a string. Nothing is closed or completed.", of: calls,
		message: `{"content": "", "tool_calls": [` + oneCall + `]}`, behind: "Bre", limit: true},
	{name: "malformed_missing_end", about: "What closes the call is missing. The call was announced and stays a call.", of: calls,
		message: `{"content": "", "tool_calls": [` + oneCall + `]}`, behind: "Brest"},
}

const sketchTools = `, "tools": [
  {"type": "function", "function": {"name": "tide", "description": "Tides of a port",
    "parameters": {"type": "object", "properties": {"port": {"type": "string"}, "days": {"type": "integer"}}, "required": ["port"]}}},
  {"type": "function", "function": {"name": "log", "description": "Writes into the log book",
    "parameters": {"type": "object", "properties": {"note": {"type": "string"}, "height": {"type": "number"}, "days": {"type": "integer"},
      "spring": {"type": "boolean"}, "ports": {"type": "array", "items": {"type": "string"}},
      "place": {"type": "object", "properties": {"lat": {"type": "number"}}}}, "required": ["note"]}}}], "parallel_tool_calls": true`

// Scaffold writes first cases for a template from what it writes itself, one at least of every kind that the corpus asks of a family.
// missing says what could not be written, and why.
func Scaffold(family string, t *engine.Template) (files []File, missing []string) {
	shown := ShownBy(t)
	if !shown.Tools {
		why := "the template writes none"
		if unread := t.Analysis().Unread; unread != "" {
			why = unread
		}
		missing = append(missing, "cases with calls: "+why)
	}
	if !shown.Reasoning {
		missing = append(missing, "cases with reasoning: the template writes none")
	}
	for _, s := range sketches {
		if s.of != nil && !s.of(shown) {
			continue
		}
		file, err := s.write(family, t, shown)
		if err != nil {
			line, _, _ := strings.Cut(source.Detail(err), "\n")
			missing = append(missing, s.name+": "+line)
			continue
		}
		files = append(files, file)
	}
	return files, missing
}

func (s sketch) write(family string, t *engine.Template, shown Shown) (File, error) {
	requestText, err := s.requestText(t, shown)
	if err != nil {
		return File{}, err
	}
	head := "# " + s.about + "\ntemplate " + family + "\nrequest request.json\n"
	if s.message == "" {
		archive := txtar.Archive{Comment: []byte(head + "! gate\n"), Files: []txtar.File{{Name: "request.json", Data: []byte(requestText + "\n")}}}
		return File{s.name + ".txtar", string(txtar.Format(&archive))}, nil
	}
	request, err := readRequest(requestText)
	if err != nil {
		return File{}, err
	}
	prompt, err := t.Render(request)
	if err != nil {
		return File{}, err
	}
	output, want, err := s.output(t, request)
	if err != nil {
		return File{}, err
	}
	plan, err := t.Prepare(request, engine.PrepareOptions{Insist: true})
	if err != nil {
		return File{}, err
	}
	reason := chat.FinishStop
	if s.limit {
		reason = chat.FinishLength
	}
	answer, mismatch := split.Check(plan.NewParser(), output, reason)
	if mismatch != nil {
		return File{}, mismatch
	}
	if s.begun != "" && !alike(want, answer.Message, "") {
		return File{}, fmt.Errorf("%q is read as %s", output, answer.Message.Value())
	}
	cut, end := "", ""
	if s.limit {
		cut, end = "-cut ", "finish length\n"
	}
	head += "prompt prompt.golden\nparse " + cut + "output.txt message.json\nstream " + cut + "output.txt message.json\n" + end
	if s.behind == "" && (len(want.ToolCalls) > 0 || request.HasJSONSchema) {
		head += "accept output.txt\n"
	}
	archive := txtar.Archive{Comment: []byte(head), Files: []txtar.File{
		{Name: "request.json", Data: []byte(requestText + "\n")},
		{Name: "prompt.golden", Data: []byte(prompt.Text + "\n")},
		{Name: "output.txt", Data: []byte(output + "\n")},
		{Name: "message.json", Data: []byte(FormatMessage(answer.Message) + "\n")},
	}}
	return File{s.name + ".txtar", string(txtar.Format(&archive))}, nil
}

// requestText is the request in JSON: with tools where the message has calls, and with the flags under which the template writes
// reasoning where it has some.
func (s sketch) requestText(t *engine.Template, shown Shown) (string, error) {
	want, err := s.wanted()
	if err != nil {
		return "", err
	}
	messages := s.history
	if messages == "" {
		messages = "[" + asked + "]"
	}
	if s.begun != "" {
		last, on := ordered.ObjectOf(ordered.Member{Key: "role", Value: ordered.Str("assistant")}), "content"
		if want.Reasoning != "" {
			last, on = last.With("content", ordered.Str("")), "reasoning_content"
		}
		last = last.With(on, ordered.Str(s.begun))
		messages = strings.TrimSuffix(messages, "]") + ", " + last.String() + "]"
		s.ask += `, "continue_final_message": ` + ordered.Str(on).String()
	}
	text := `{"messages": ` + messages + s.ask
	if len(want.ToolCalls) > 0 || strings.Contains(s.history, "tool_calls") {
		text += sketchTools
	}
	if flags := t.Caps().Needs.Thinking; want.Reasoning != "" && len(flags) > 0 {
		text += `, "chat_template_kwargs": ` + ordered.ObjectOf(flags...).String()
	}
	return text + "}", nil
}

func (s sketch) wanted() (chat.Message, error) {
	if s.message == "" {
		return chat.Message{}, nil
	}
	v, err := ordered.ParseString(s.message)
	if err != nil {
		return chat.Message{}, err
	}
	return readMessage(v)
}

// output is what a model would have put out, and the message that it means.
func (s sketch) output(t *engine.Template, request chat.Request) (string, chat.Message, error) {
	want, err := s.wanted()
	if err != nil {
		return "", want, err
	}
	whole := request
	if s.begun != "" { // the whole turn first, of which the output is the rest
		whole.Messages, whole.Continue = request.Messages[:len(request.Messages)-1], chat.ContinueNone
	}
	turn, err := spelled(t, whole, want)
	if err != nil {
		return "", want, err
	}
	before, rest, ok := strings.Cut(turn, s.begun+s.behind)
	switch {
	case !ok:
		return "", want, fmt.Errorf("%q is not spelled as it is: %q", s.begun+s.behind, turn)
	case s.begun != "":
		return rest, want, nil
	case s.behind != "":
		return before + s.behind, want, nil
	}
	return turn, want, nil
}

// spelled is a turn that is read as a message. A template shows one in the history, where it may leave out reasoning, or content
// beside a call; these parts are put before it then, as the format has them.
func spelled(t *engine.Template, request chat.Request, want chat.Message) (string, error) {
	plan, err := t.Prepare(request, engine.PrepareOptions{Insist: true})
	if err != nil {
		return "", err
	}
	r := t.Analysis().Format.Reasoning
	prefill := plan.Prefill
	opened := r.Open.Text == "" && r.Close.Text != "" || r.Open.Text != "" && strings.LastIndex(prefill, r.Open.Text) > strings.LastIndex(prefill, r.Close.Text)
	thought := r.Open.Full() + want.Reasoning + r.Close.Full()
	if opened {
		thought = want.Reasoning + r.Close.Full()
	}
	ways := []struct {
		before string
		left   func(*chat.Message)
	}{
		{"", func(*chat.Message) {}},
		{thought, func(m *chat.Message) { m.Reasoning = "" }},
		{want.Content, func(m *chat.Message) { m.Content = "" }},
		{thought + want.Content, func(m *chat.Message) { m.Reasoning, m.Content = "", "" }},
	}
	if opened { // what the prompt has opened is closed
		ways[0], ways[1] = ways[1], ways[0]
	}
	if request.HasJSONSchema && alike(want, plan.Parse(want.Content, chat.FinishStop).Message, prefill) && takes(plan, want.Content) {
		return want.Content, nil // nothing stands around what a schema constrains
	}
	var first error
	for _, way := range ways {
		m := want
		way.left(&m)
		turn, err := Turn(t, request, m)
		if err == nil && want.Reasoning == "" && way.before != "" && strings.HasPrefix(way.before, r.Close.Full()) && strings.Contains(turn, r.Close.Text) {
			continue // the template closes it as well
		}
		if err == nil {
			turn = way.before + turn
			got := plan.Parse(turn, chat.FinishStop).Message
			if alike(want, got, prefill) {
				return turn, nil
			}
			err = fmt.Errorf("the spelling %q is read as %s", turn, got.Value())
		}
		if first == nil {
			first = err
		}
	}
	return "", first
}

// takes says that the grammar takes what it constrains of an output.
func takes(plan *engine.Plan, output string) bool {
	grammar, err := plan.Output.Grammar()
	if err != nil || grammar == nil {
		return false
	}
	constrained, ok := plan.Output.Constrained(output)
	if !ok {
		return false
	}
	refusal, err := grammar.Refusal(constrained)
	return err == nil && refusal == ""
}

func readRequest(text string) (chat.Request, error) {
	v, err := ordered.ParseString(text)
	if err != nil {
		return chat.Request{}, err
	}
	return chat.ParseRequest(v)
}

// alike compares messages as far as a template writes them: without ids, without white space around texts, and without the reasoning
// that the prompt began.
func alike(want, got chat.Message, prefill string) bool {
	got.Reasoning = strings.TrimPrefix(got.Reasoning, strings.TrimSpace(prefill))
	bare := func(m chat.Message) chat.Message {
		m.Content, m.Reasoning, m.ToolCalls = strings.TrimSpace(m.Content), strings.TrimSpace(m.Reasoning), slices.Clone(m.ToolCalls)
		for i := range m.ToolCalls {
			m.ToolCalls[i].ID = ""
		}
		return m
	}
	return sameMessage(bare(want), bare(got), SameValue)
}
