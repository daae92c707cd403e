package script

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/split"
)

// File is a script as text.
type File struct{ Name, Text string }

// Shown lists the parts of an answer that a template shows, with the gate's verdict.
type Shown struct {
	Tools     bool // calls that can be read
	Reasoning bool
	Content   bool // reasoning stands beside content, and not only beside calls
	Gate      bool // the gate lets the template pass
}

// ShownBy returns the parts that a template shows. It decides which kinds of cases a family has.
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

// sketch is a first output of a kind, as the template itself spells it: the whole message, or the
// part up to a text.
type sketch struct {
	kind string
	of   func(Shown) bool // which templates have it; nil: all
	rest string           // completes the arguments that the kind's message has cut off
	upTo string           // the text of the message that the output ends with; "": it is whole
}

func calls(s Shown) bool     { return s.Tools }
func reasoning(s Shown) bool { return s.Reasoning && s.Content }
func both(s Shown) bool      { return s.Reasoning && s.Tools }
func noCalls(s Shown) bool   { return !s.Tools }

// sketched is the setting in which first cases are told.
const sketched = "weather"

// sketches are first cases of every kind that a family must have.
var sketches = []sketch{
	{kind: "content"},
	{kind: "content_foreign_markers"},
	{kind: "content_parts"},
	{kind: "content_with_tools_ignored", of: noCalls},
	{kind: "truncated_answer", upTo: "dew poi"},
	{kind: "schema"},
	{kind: "continue_content"},
	{kind: "reasoning", of: reasoning},
	{kind: "continue_reasoning", of: reasoning},
	{kind: "tools_reasoning_and_call", of: both},
	{kind: "tools_one_call", of: calls},
	{kind: "tools_content_and_call", of: calls},
	{kind: "tools_parallel", of: calls},
	{kind: "tools_no_arguments", of: calls},
	{kind: "tools_typed", of: calls},
	{kind: "tools_awkward_strings", of: calls},
	{kind: "choice_required", of: calls},
	{kind: "result", of: calls},
	{kind: "truncated_in_argument", of: calls, rest: `"}`, upTo: "Reykj"},
	{kind: "malformed_missing_end", of: calls, upTo: "Norway"},
}

// Scaffold writes the outputs of a family from its template's own turns, at least one of every kind
// that the corpus asks of a family. missing lists the kinds that could not be written, with the
// reasons.
func Scaffold(kinds *families.Kinds, family string,
	t *engine.Template) (file File, missing []string) {
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
	gate := "gate"
	if !shown.Gate {
		gate = "! gate"
	}
	first := firstOutputs{kinds: kinds, template: t, asks: map[string][]string{},
		without: map[string][]string{}}
	for _, s := range sketches {
		if s.of != nil && !s.of(shown) {
			continue
		}
		if err := first.add(s); err != nil {
			line, _, _ := strings.Cut(source.Detail(err), "\n")
			missing = append(missing, s.kind+": "+line)
		}
	}
	var head strings.Builder
	fmt.Fprintf(&head, "# %s: first outputs, as the template itself writes "+
		"them.\nsetting %s\n%s\n", family, sketched, gate)
	for _, ask := range slices.Sorted(maps.Keys(first.asks)) {
		fmt.Fprintf(&head, "ask '%s' %s\n", ask, strings.Join(first.asks[ask], " "))
	}
	for _, command := range slices.Sorted(maps.Keys(first.without)) {
		fmt.Fprintf(&head, "without %s %s\n", command, strings.Join(first.without[command], " "))
	}
	archive := txtar.Archive{Comment: []byte(head.String()), Files: first.files}
	return File{families.Outputs, string(txtar.Format(&archive))}, missing
}

// firstOutputs are the outputs of a family while they are made.
type firstOutputs struct {
	kinds    *families.Kinds
	template *engine.Template
	files    []txtar.File
	asks     map[string][]string // JSON -> kinds
	without  map[string][]string // command -> kinds
}

func (o *firstOutputs) add(s sketch) error {
	asked, err := o.kinds.Request(s.kind, sketched)
	if err != nil {
		return err
	}
	want, err := o.wanted(s)
	if err != nil {
		return err
	}
	ask := ordered.ObjectOf()
	if flags := o.template.Caps().Needs.Thinking; want.Reasoning != "" && len(flags) > 0 {
		ask = ask.With("chat_template_kwargs", ordered.ObjectOf(flags...))
		for _, m := range ask.Members() {
			asked = asked.With(m.Key, m.Value)
		}
	}
	request, err := chat.ParseRequest(asked)
	if err != nil {
		return err
	}
	prompt, err := o.template.Render(request)
	if err != nil {
		return err
	}
	output, err := s.output(o.template, request, want)
	if err != nil {
		return err
	}
	plan, err := o.template.Prepare(request, engine.PrepareOptions{Insist: true})
	if err != nil {
		return err
	}
	reason := chat.FinishStop
	if o.kinds.Cut(s.kind) {
		reason = chat.FinishLength
	}
	answer, mismatch := split.Check(plan.NewParser(), output, reason)
	if mismatch != nil {
		return mismatch
	}
	if request.Continue != chat.ContinueNone && !alike(want, answer.Message, "") {
		return fmt.Errorf("%q is read as %s", output, answer.Message.Value())
	}
	if o.kinds.Runs(s.kind, "prompt") {
		o.file(s.kind, "prompt.txt", prompt.Text)
	}
	o.file(s.kind, "output.txt", output)
	if same, err := o.expects(s.kind, answer.Message); err != nil {
		return err
	} else if !same {
		o.file(s.kind, "message.json", FormatMessage(answer.Message))
	}
	if len(ask.Members()) > 0 {
		o.asks[ask.String()] = append(o.asks[ask.String()], s.kind)
	}
	if o.kinds.Runs(s.kind, "accept") && !takes(plan, output) {
		o.without["accept"] = append(o.without["accept"], s.kind)
	}
	if o.kinds.Runs(s.kind, "finish") && !o.kinds.Finishes(s.kind, string(answer.Finish)) {
		o.without["finish"] = append(o.without["finish"], s.kind)
	}
	if o.kinds.Runs(s.kind, "roundtrip") && !comesBack(o.template, plan, request, answer.Message) {
		o.without["roundtrip"] = append(o.without["roundtrip"], s.kind)
	}
	return nil
}

func (o *firstOutputs) file(kind, name, text string) {
	o.files = append(o.files, txtar.File{Name: kind + "/" + name, Data: []byte(text + "\n")})
}

// expects reports whether a kind expects the message already.
func (o *firstOutputs) expects(kind string, got chat.Message) (bool, error) {
	want, err := o.message(kind)
	return sameMessage(want, got, SameText), err
}

func (o *firstOutputs) message(kind string) (chat.Message, error) {
	text, ok := o.kinds.Message(kind, sketched)
	if !ok {
		return chat.Message{}, fmt.Errorf("the kind %s has no message "+
			"in the setting %s", kind, sketched)
	}
	v, err := ordered.ParseString(text)
	if err != nil {
		return chat.Message{}, err
	}
	return readMessage(v)
}

// wanted is the message that the template is to spell: the kind's, completed, with ids for its
// calls.
func (o *firstOutputs) wanted(s sketch) (chat.Message, error) {
	m, err := o.message(s.kind)
	for i := range m.ToolCalls {
		m.ToolCalls[i].ID = fmt.Sprintf("call%05d", i+1)
		m.ToolCalls[i].Arguments += s.rest
	}
	return m, err
}

// output is a model's output for a message: of a turn that is continued the rest, of one that
// breaks off the beginning.
func (s sketch) output(t *engine.Template, request chat.Request,
	want chat.Message) (string, error) {
	whole, begun := request, ""
	// the whole turn first, of which the output is the rest
	if request.Continue != chat.ContinueNone {
		last := len(request.Messages) - 1
		begun = request.Messages[last].At("content").
			Text() + request.Messages[last].At("reasoning_content").Text()
		whole.Messages, whole.Continue = request.Messages[:last], chat.ContinueNone
	}
	turn, err := spelled(t, whole, want)
	if err != nil {
		return "", err
	}
	before, rest, ok := strings.Cut(turn, begun+s.upTo)
	switch {
	case !ok:
		return "", fmt.Errorf("%q is not spelled as it is: %q", begun+s.upTo, turn)
	case begun != "":
		return rest, nil
	case s.upTo != "":
		return before + s.upTo, nil
	}
	return turn, nil
}

// comesBack reports whether the template shows a message as it is read.
func comesBack(t *engine.Template, plan *engine.Plan, request chat.Request, m chat.Message) bool {
	turn, err := Turn(t, request, m)
	return err == nil && sameMessage(m, plan.Parse(turn, chat.FinishStop).Message, SameValue)
}

// spelled is a turn that is read as a message. A template shows one in the history, where it may
// leave out reasoning, or content beside a call; these parts are put before it then, as the format
// has them.
func spelled(t *engine.Template, request chat.Request, want chat.Message) (string, error) {
	plan, err := t.Prepare(request, engine.PrepareOptions{Insist: true})
	if err != nil {
		return "", err
	}
	r := t.Analysis().Format.Reasoning
	prefill := plan.Prefill
	opened := r.Open.Text == "" && r.Close.Text != "" ||
		r.Open.Text != "" &&
			strings.LastIndex(prefill, r.Open.Text) > strings.LastIndex(prefill, r.Close.Text)
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
	if opened { // the part that the prompt has opened is closed
		ways[0], ways[1] = ways[1], ways[0]
	}
	if request.HasJSONSchema &&
		alike(want, plan.Parse(want.Content, chat.FinishStop).Message, prefill) &&
		takes(plan, want.Content) {
		return want.Content, nil // nothing stands around text that a schema constrains
	}
	var first error
	for _, way := range ways {
		m := want
		way.left(&m)
		turn, err := Turn(t, request, m)
		if err == nil && want.Reasoning == "" && way.before != "" &&
			strings.HasPrefix(way.before, r.Close.Full()) && strings.Contains(turn, r.Close.Text) {
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

// takes reports whether the grammar takes the part of an output that it constrains.
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

// alike compares messages as far as a template writes them: without ids, without white space around
// texts, and without the reasoning that the prompt began.
func alike(want, got chat.Message, prefill string) bool {
	got.Reasoning = strings.TrimPrefix(got.Reasoning, strings.TrimSpace(prefill))
	bare := func(m chat.Message) chat.Message {
		m.Content, m.Reasoning, m.ToolCalls = strings.TrimSpace(m.Content),
			strings.TrimSpace(m.Reasoning), slices.Clone(m.ToolCalls)
		for i := range m.ToolCalls {
			m.ToolCalls[i].ID = ""
		}
		return m
	}
	return sameMessage(bare(want), bare(got), SameValue)
}
