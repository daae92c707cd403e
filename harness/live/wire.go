package live

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/openai"
)

// reading is an answer as a client understands it.
type reading struct {
	how     string // "in one piece" or "streamed", for people
	message chat.Message
	finish  chat.FinishReason
	whole   bool // it came to its end
	raw     string
	hasRaw  bool // the server gave the text that the model wrote
	usage   ordered.Value
}

// cut reports whether the answer was ended by a limit.
func (r *reading) cut() bool { return r.finish == chat.FinishLength }

// finishReasons are those of OpenAI's API.
var finishReasons = []chat.FinishReason{chat.FinishStop, chat.FinishToolCalls, chat.FinishLength,
	chat.FinishContentFilter}

// rawPath is the path at which verbose servers keep the text that the model wrote. Streams do not
// have it.
var rawPath = []string{"__verbose", "content"}

// readAnswer reads an answer in one piece.
func readAnswer(s *sheet, v ordered.Value) *reading {
	r := &reading{how: "in one piece", whole: true}
	s.look(ruleAnswerShape)
	fault := func(format string, args ...any) { s.fault(ruleAnswerShape, format, args...) }
	expectText(fault, v, "object", "chat.completion")
	expectKind(fault, v, "id", ordered.String)
	expectKind(fault, v, "created", ordered.Number)
	expectKind(fault, v, "model", ordered.String)
	choices := v.At("choices")
	if len(choices.Items()) != 1 {
		fault("choices: expected an array of one "+
			"choice, found %s", openai.Excerpt(choices.String()))
		return r
	}
	choice := choices.Items()[0]
	if index := choice.At("index"); index.Kind() != ordered.Number || index.Text() != "0" {
		fault("choices[0].index: expected 0, found %s", index)
	}
	r.readFinish(fault, choice.At("finish_reason"), "choices[0].finish_reason")
	if r.finish == "" && choice.At("finish_reason").IsNull() {
		fault("choices[0].finish_reason: expected a reason, found null")
	}
	m := choice.At("message")
	expectText(fault, m, "role", "assistant")
	r.message.Content = readText(fault, m, "content")
	r.message.Reasoning = readReasoning(fault, m)
	for i, call := range m.At("tool_calls").Items() {
		r.message.ToolCalls = append(r.message.ToolCalls, readCall(s, call, i))
	}
	r.readUsage(s, v)
	if raw := v.At(rawPath...); raw.Kind() == ordered.String {
		r.raw, r.hasRaw = raw.Text(), true
	}
	return r
}

type faulter func(format string, args ...any)

func expectText(fault faulter, v ordered.Value, key, want string) {
	if got := v.At(key); got.Kind() != ordered.String || got.Text() != want {
		fault("%s: expected %q, found %s", key, want, openai.Excerpt(got.String()))
	}
}

func expectKind(fault faulter, v ordered.Value, key string, want ordered.Kind) {
	if got := v.At(key); got.Kind() != want {
		fault("%s: expected a %s, found %s", key, want, openai.Excerpt(got.String()))
	}
}

// readText reads a text, which may be null or missing.
func readText(fault faulter, v ordered.Value, key string) string {
	text, ok := v.Get(key)
	if ok && text.Kind() != ordered.String && !text.IsNull() {
		fault("%s: expected a string or null, found %s", key, openai.Excerpt(text.String()))
	}
	return text.Text()
}

// readReasoning reads the reasoning, under the names that servers have for it.
func readReasoning(fault faulter, v ordered.Value) string {
	for _, key := range chat.ReasoningFields {
		if _, ok := v.Get(key); ok {
			return readText(fault, v, key)
		}
	}
	return ""
}

// readCall reads a whole call.
func readCall(s *sheet, v ordered.Value, i int) chat.ToolCall {
	s.look(ruleCallHeader)
	fault := func(format string, args ...any) {
		s.fault(ruleCallHeader, "in one piece: tool_calls[%d].%s", i, fmt.Sprintf(format, args...))
	}
	expectText(fault, v, "type", "function")
	if id := v.At("id"); id.Kind() != ordered.String || id.Text() == "" {
		fault("id: expected a text that is not empty, found %s", id)
	}
	f := v.At("function")
	if name := f.At("name"); name.Kind() != ordered.String || name.Text() == "" {
		fault("function.name: expected a text that is not empty, found %s", name)
	}
	arguments := f.At("arguments")
	if arguments.Kind() != ordered.String {
		s.fault(ruleArguments, "in one piece: tool_calls[%d].function.arguments: expected a "+
			"string, found %s", i, openai.Excerpt(arguments.String()))
		return chat.ToolCall{ID: v.At("id").Text(), Name: f.At("name").Text(),
			Arguments: arguments.String()}
	}
	return chat.ToolCall{ID: v.At("id").Text(), Name: f.At("name").Text(),
		Arguments: arguments.Text()}
}

func (r *reading) readFinish(fault faulter, v ordered.Value, path string) {
	if v.IsNull() {
		return
	}
	r.finish = chat.FinishReason(v.Text())
	if !slices.Contains(finishReasons, r.finish) {
		fault("%s: expected one of %q, found %s", path, finishReasons, openai.Excerpt(v.String()))
	}
}

// readUsage checks that usage adds up.
func (r *reading) readUsage(s *sheet, v ordered.Value) {
	s.look(ruleUsage)
	usage := v.At("usage")
	r.usage = usage
	var counts [3]int
	for i, key := range [...]string{"prompt_tokens", "completion_tokens", "total_tokens"} {
		n, ok := integer(usage.At(key))
		if !ok || n < 0 {
			s.fault(ruleUsage, "%s: usage.%s: expected a "+
				"count, found %s", r.how, key, openai.Excerpt(usage.At(key).String()))
			return
		}
		counts[i] = n
	}
	if counts[0]+counts[1] != counts[2] {
		s.fault(ruleUsage, "%s: usage does not add up: %s", r.how, usage)
	}
}

// integer returns a number that is an integer.
func integer(v ordered.Value) (int, bool) {
	n, err := strconv.Atoi(v.Text())
	return n, err == nil && v.Kind() == ordered.Number
}

// streamReader puts a stream together and checks each chunk.
type streamReader struct {
	*reading
	s         *sheet
	id, model string
	chunk     int // its number, from 1
	role      bool
	ended     bool // a finish reason came
	usages    int

	content, reasoning strings.Builder
	arguments          []*strings.Builder // of each call
}

// readStream reads a stream.
func readStream(s *sheet, st *openai.Stream) *reading {
	r := &streamReader{reading: &reading{how: "streamed"}, s: s}
	defer r.assemble()
	s.look(ruleEvents, ruleStreamEnds, ruleChunkShape, ruleRole, ruleExclusive, ruleCharacters,
		ruleUsage)
	if st.Type != openai.EventStream {
		s.fault(ruleEvents, "the content type is %q, expected %q", st.Type, openai.EventStream)
	}
	for i, e := range st.Events {
		v := e.Data
		r.chunk = i + 1
		if e, ok := v.Get("error"); ok {
			s.fault(ruleStreamEnds, "chunk %d of %d "+
				"is an error: %s", r.chunk, len(st.Events), openai.Excerpt(e.String()))
			return r.reading
		}
		r.read(v)
	}
	switch {
	case errors.Is(st.Err, openai.ErrEvent), errors.Is(st.Err, openai.ErrTooLarge):
		s.fault(ruleEvents, "%v", st.Err)
		return r.reading
	case st.Err != nil:
		s.fault(ruleStreamEnds, "after %d chunks: %v", len(st.Events), st.Err)
		return r.reading
	}
	if !r.ended {
		s.fault(ruleStreamEnds, "no chunk of %d has a finish reason", len(st.Events))
	}
	if !st.Done {
		s.fault(ruleStreamEnds, "the stream ends without [DONE]")
	}
	if st.Late > 0 {
		s.fault(ruleStreamEnds, "%d events come after [DONE]", st.Late)
	}
	if r.usages == 0 {
		s.fault(ruleUsage, "streamed: usage was asked for, and does not come")
	}
	r.whole = r.ended
	return r.reading
}

// assemble puts the pieces into the message.
func (r *streamReader) assemble() {
	r.message.Content, r.message.Reasoning = r.content.String(), r.reasoning.String()
	for i, arguments := range r.arguments {
		r.message.ToolCalls[i].Arguments = arguments.String()
	}
}

func (r *streamReader) fault(format string, args ...any) {
	r.s.fault(ruleChunkShape, "chunk %d: %s", r.chunk, fmt.Sprintf(format, args...))
}

func (r *streamReader) read(v ordered.Value) {
	expectText(r.fault, v, "object", "chat.completion.chunk")
	expectKind(r.fault, v, "created", ordered.Number)
	r.same(v, "id", &r.id)
	r.same(v, "model", &r.model)
	usage, hasUsage := v.Get("usage")
	hasUsage = hasUsage && !usage.IsNull()
	choices := v.At("choices")
	switch {
	case choices.Kind() != ordered.Array:
		r.fault("choices: expected an array, found %s", openai.Excerpt(choices.String()))
	case len(choices.Items()) > 1:
		r.fault("choices: expected one choice, found %d", len(choices.Items()))
	case len(choices.Items()) == 1:
		r.choice(choices.Items()[0])
	case !hasUsage:
		r.fault("it has neither choices nor usage")
	}
	if hasUsage && r.ended && len(choices.Items()) == 0 {
		r.usages++
		r.readUsage(r.s, v)
	}
}

// same demands that a member is the same text in every chunk.
func (r *streamReader) same(v ordered.Value, key string, first *string) {
	switch got := v.At(key); {
	case got.Kind() != ordered.String || got.Text() == "":
		r.fault("%s: expected a text, found %s", key, openai.Excerpt(got.String()))
	case *first == "":
		*first = got.Text()
	case *first != got.Text():
		r.fault("%s: it is %q, and %q before", key, got.Text(), *first)
	}
}

func (r *streamReader) choice(v ordered.Value) {
	if index := v.At("index"); index.Kind() != ordered.Number || index.Text() != "0" {
		r.fault("choices[0].index: expected 0, found %s", index)
		return
	}
	delta := v.At("delta")
	if delta.Kind() != ordered.Object {
		r.fault("choices[0].delta: expected an object, found %s", openai.Excerpt(delta.String()))
	}
	r.delta(delta)
	if r.ended && !v.At("finish_reason").IsNull() {
		r.fault("a second finish reason %s, after %q", v.At("finish_reason"), r.finish)
	} else if !v.At("finish_reason").IsNull() {
		r.ended = true
		r.readFinish(r.fault, v.At("finish_reason"), "choices[0].finish_reason")
	}
}

func (r *streamReader) delta(v ordered.Value) {
	switch role, ok := v.Get("role"); {
	case !r.role && (!ok || role.Text() != "assistant"):
		r.s.fault(ruleRole, "chunk %d: the first delta is %s, without "+
			"the role assistant", r.chunk, openai.Excerpt(v.String()))
	case ok && !role.IsNull() && role.Text() != "assistant":
		r.s.fault(ruleRole, "chunk %d: the role is %s", r.chunk, role)
	}
	r.role = true
	content, reasoning := readText(r.fault, v, "content"), readReasoning(r.fault, v)
	calls := v.At("tool_calls")
	if content != "" && reasoning != "" {
		r.s.fault(ruleExclusive, "chunk %d has the reasoning %s "+
			"and the content %s", r.chunk, openai.Excerpt(reasoning), openai.Excerpt(content))
	}
	if r.ended && (content != "" || reasoning != "" || len(calls.Items()) > 0) {
		r.fault("text comes after the finish reason: %s", openai.Excerpt(v.String()))
	}
	r.characters("content", content)
	r.characters("reasoning", reasoning)
	r.content.WriteString(content)
	r.reasoning.WriteString(reasoning)
	if calls.Kind() != ordered.Array && !calls.IsNull() {
		r.fault("choices[0].delta.tool_calls: expected an array, found %s", openai.Excerpt(calls.String()))
	}
	for _, call := range calls.Items() {
		r.call(call)
	}
}

// characters looks for bytes that are no character, halves of surrogate pairs among them.
func (r *streamReader) characters(part, text string) {
	if !utf8.ValidString(text) {
		r.s.fault(ruleCharacters, "chunk %d: the %s "+
			"%s is not UTF-8", r.chunk, part, openai.Excerpt(text))
	}
}

// call adds a delta of a call.
func (r *streamReader) call(v ordered.Value) {
	r.s.look(ruleCallHeader)
	fault := func(format string, args ...any) {
		r.s.fault(ruleCallHeader, "chunk %d: %s: %s", r.chunk, openai.Excerpt(v.String()),
			fmt.Sprintf(format, args...))
	}
	calls := &r.message.ToolCalls
	index, ok := integer(v.At("index"))
	if !ok {
		fault("expected an index, found %s", v.At("index"))
		return
	}
	f := v.At("function")
	id, hasID := v.Get("id")
	name, hasName := f.Get("name")
	arguments := readText(fault, f, "arguments")
	switch last := len(*calls) - 1; {
	case index == last+1:
		if id.Kind() != ordered.String || id.Text() == "" {
			fault("a call begins without its id")
		}
		if name.Kind() != ordered.String || name.Text() == "" {
			fault("a call begins without its name")
		}
		expectText(fault, v, "type", "function")
		*calls = append(*calls, chat.ToolCall{ID: id.Text(), Name: name.Text()})
		r.arguments = append(r.arguments, new(strings.Builder))
	case index < 0 || index > last:
		fault("the index is %d, where %d calls have begun", index, last+1)
		return
	default:
		if index < last {
			fault("call %d goes on, although call %d has begun", index, last)
		}
		if hasName {
			fault("the name comes again, as %s; clients put the two together", name)
		}
		if hasID && id.Text() != "" {
			fault("the id comes again; clients put the two together")
		}
	}
	r.arguments[index].WriteString(arguments)
	r.characters("arguments", arguments)
}

// check compares an answer with the request; most is its max_tokens.
func (r *reading) check(s *sheet, request chat.Request, most int) {
	r.checkFinish(s, request)
	if used, ok := integer(r.usage.At("completion_tokens")); ok && used > most {
		s.fault(ruleUsage, "%s: %d tokens were written, where max_tokens is %d", r.how, used, most)
	}
	for i, call := range r.message.ToolCalls {
		if r.cut() && i == len(r.message.ToolCalls)-1 {
			break // it may be incomplete
		}
		r.checkArguments(s, i, call)
		r.checkCall(s, i, call, request)
	}
	r.checkChoice(s, request)
	m := &r.message
	if request.HasJSONSchema && !r.cut() && len(m.ToolCalls) == 0 {
		s.look(ruleSchema)
		if err := conforms(request.JSONSchema, m.Content); err != nil {
			s.fault(ruleSchema, "%s: the content %s: %v", r.how, openai.Excerpt(m.Content), err)
		}
	}
	if request.EnableThinking != nil && !*request.EnableThinking && !r.cut() {
		s.look(ruleThinkingOff)
		if m.Content == "" && m.Reasoning != "" && len(m.ToolCalls) == 0 {
			s.fault(ruleThinkingOff, "%s: all of it "+
				"is reasoning: %s", r.how, openai.Excerpt(m.Reasoning))
		}
	}
}

// checkFinish allows two reasons where a named call was demanded, since OpenAI's own server says
// stop there.
func (r *reading) checkFinish(s *sheet, request chat.Request) {
	s.look(ruleFinish)
	want := chat.FinishStop
	if len(r.message.ToolCalls) > 0 {
		want = chat.FinishToolCalls
	}
	named := request.ToolChoice.Mode == chat.ChoiceNamed && r.finish == chat.FinishStop
	if !r.cut() && !named && r.finish != want {
		s.fault(ruleFinish, "%s: it is %q, expected %q: the "+
			"message has %d calls", r.how, r.finish, want, len(r.message.ToolCalls))
	}
}

func (r *reading) checkArguments(s *sheet, i int, call chat.ToolCall) {
	s.look(ruleArguments)
	v, err := ordered.ParseString(call.Arguments)
	switch {
	case err != nil:
		s.fault(ruleArguments, "%s: the arguments of call %d, %s, "+
			"are no JSON: %v", r.how, i, openai.Excerpt(call.Arguments), err)
	case v.Kind() == ordered.String:
		s.fault(ruleArguments, "%s: the arguments of call %d are "+
			"encoded twice: %s", r.how, i, openai.Excerpt(call.Arguments))
	case v.Kind() != ordered.Object:
		s.fault(ruleArguments, "%s: the arguments of call %d, "+
			"%s, are no object", r.how, i, openai.Excerpt(call.Arguments))
	}
}

func (r *reading) checkCall(s *sheet, i int, call chat.ToolCall, request chat.Request) {
	s.look(ruleCallValid)
	at := slices.IndexFunc(request.Tools, func(t chat.Tool) bool { return t.Name == call.Name })
	if at < 0 {
		s.fault(ruleCallValid, "%s: call %d is of %q, which is not declared", r.how, i, call.Name)
		return
	}
	if v, err := ordered.ParseString(call.Arguments); err != nil || v.Kind() != ordered.Object {
		return // said already
	}
	if err := conforms(request.Tools[at].Parameters, call.Arguments); err != nil {
		s.fault(ruleCallValid, "%s: call %d, %s(%s): %v", r.how, i, call.Name,
			openai.Excerpt(call.Arguments), err)
	}
}

func (r *reading) checkChoice(s *sheet, request chat.Request) {
	if len(request.Tools) == 0 {
		return
	}
	s.look(ruleChoice)
	fault := func(format string, args ...any) {
		s.fault(ruleChoice, "%s: %s", r.how, fmt.Sprintf(format, args...))
	}
	calls := r.message.ToolCalls
	switch mode := request.ToolChoice.Mode; {
	case (mode == chat.ChoiceRequired || mode == chat.ChoiceNamed) && len(calls) == 0 && !r.cut():
		fault("a call was required, and there is none")
	case mode == chat.ChoiceNone && len(calls) > 0:
		fault("no call was allowed, and there are %d", len(calls))
	case request.OneCall && len(calls) > 1:
		fault("%d calls, where parallel calls are not allowed", len(calls))
	case mode == chat.ChoiceNamed && len(calls) > 0 && calls[0].Name != request.ToolChoice.Name:
		fault("a call of %q, where %q was demanded", calls[0].Name, request.ToolChoice.Name)
	}
}

// difference names the part in which two messages differ; "" if they are equal. Ids are the
// server's to choose. Arguments that are JSON are compared as such, with the order of their keys
// and the text of their numbers.
func difference(a, b *reading) string {
	say := func(part string, x, y any) string {
		return fmt.Sprintf("%s differs:\n  %s: %v\n  %s: %v", part, a.how, x, b.how, y)
	}
	switch {
	case a.message.Reasoning != b.message.Reasoning:
		return say("the reasoning", excerpt(a.message.Reasoning), excerpt(b.message.Reasoning))
	case a.message.Content != b.message.Content:
		return say("the content", excerpt(a.message.Content), excerpt(b.message.Content))
	case len(a.message.ToolCalls) != len(b.message.ToolCalls):
		return say("the number of calls", len(a.message.ToolCalls), len(b.message.ToolCalls))
	}
	for i, x := range a.message.ToolCalls {
		y := b.message.ToolCalls[i]
		if x.Name != y.Name || compact(x.Arguments) != compact(y.Arguments) {
			return say(fmt.Sprintf("call %d", i), x.Name+" "+excerpt(x.Arguments),
				y.Name+" "+excerpt(y.Arguments))
		}
	}
	if a.finish != b.finish {
		return say("the finish reason", a.finish, b.finish)
	}
	return ""
}

func compact(text string) string {
	v, err := ordered.ParseString(text)
	if err != nil {
		return text
	}
	return string(v.Append(nil, ordered.Compact))
}

// structure holds the parts that answers to one request share where a server does not repeat
// itself.
func (r *reading) structure() string {
	var b strings.Builder
	fmt.Fprintf(&b, "reasoning %t, content %t, calls of", r.message.Reasoning != "",
		r.message.Content != "")
	for _, call := range r.message.ToolCalls {
		fmt.Fprintf(&b, " %s", call.Name)
	}
	fmt.Fprintf(&b, ", finish reason %s", r.finish)
	return b.String()
}
