package live

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
	"github.com/goassay/assay/harness/serve/openai"
)

// reading is an answer as a client understands it.
type reading struct {
	wire.Answer
	s        *sheet
	protocol wire.Protocol
	how      string // "in one piece" or "streamed", for people
	raw      string
	hasRaw   bool // the server gave the text that the model wrote
	// spoilt tells that a fault is in the text itself, so that another answer has another text.
	spoilt bool
}

// spoiling are the rules whose breach is in the text of an answer.
var spoiling = []ruleIndex{ruleArguments, ruleCharacters, ruleChoice, ruleCallValid, ruleSchema,
	ruleThinkingOff, ruleStops, ruleCustom, ruleNull, ruleWhole, ruleCut}

// fault adds a fault. The cause is a text that says nothing of this answer, so that all findings of
// one cause are one; the evidence does.
func (r *reading) fault(rule ruleIndex, cause, evidence string, args ...any) {
	r.spoilt = r.spoilt || slices.Contains(spoiling, rule)
	r.s.fault(rule, r.protocol.Name()+": "+cause, r.how+": "+evidence, args...)
}

// cut reports whether the answer was ended by a limit.
func (r *reading) cut() bool { return r.Finish == chat.FinishLength }

// rawPath is the path at which verbose servers keep the text that the model wrote. Streams do not
// have it.
var rawPath = []string{"__verbose", "content"}

// faultRules are the rules that a reader's faults break.
var faultRules = [...]ruleIndex{
	wire.FaultShape: ruleChunkShape, wire.FaultOrder: ruleOrder, wire.FaultNumber: ruleNumbers,
	wire.FaultID: ruleIDs, wire.FaultText: ruleWhole, wire.FaultCharacters: ruleCharacters,
	wire.FaultUsage: ruleUsage, wire.FaultEnd: ruleStreamEnds, wire.FaultRole: ruleRole,
	wire.FaultMixed: ruleExclusive, wire.FaultCall: ruleCallHeader,
	wire.FaultArguments: ruleArguments, wire.FaultName: ruleEvents,
}

// faultRule returns the rule that a fault of a reader breaks. Chunks of chat completions have one
// rule for their members, their order and their numbers, and answers in one piece have one for all
// of their shape.
func (r *reading) faultRule(f wire.Fault) ruleIndex {
	rule := faultRules[f.Kind]
	switch {
	case r.how == whole && (rule == ruleChunkShape || rule == ruleNumbers):
		return ruleAnswerShape
	case r.protocol == wire.ChatCompletions && slices.Contains(
		[]ruleIndex{ruleOrder, ruleNumbers, ruleIDs}, rule):
		if r.how == whole {
			return ruleAnswerShape
		}
		return ruleChunkShape
	}
	return rule
}

// The two ways in which an answer comes.
const (
	whole    = "in one piece"
	streamed = "streamed"
)

// note makes findings of a reader's faults, one for each cause.
func (r *reading) note() {
	if r.protocol == wire.ChatCompletions && len(r.Message.ToolCalls) > 0 {
		r.s.look(ruleCallHeader)
	}
	counts := map[wire.Fault]int{}
	var first []wire.Fault
	for _, f := range r.Faults {
		key := wire.Fault{Kind: f.Kind, Cause: f.Cause}
		if counts[key]++; counts[key] == 1 {
			first = append(first, f)
		}
	}
	for _, f := range first {
		more := ""
		if n := counts[wire.Fault{Kind: f.Kind, Cause: f.Cause}]; n > 1 {
			more = fmt.Sprintf("; so %d times", n)
		}
		r.fault(r.faultRule(f), f.Cause, "%s%s", f.Evidence, more)
	}
	if r.Broken != "" {
		r.fault(ruleStreamEnds, "the answer ends with an error", "%s", openai.Excerpt(r.Broken))
		r.Whole = false
	}
}

// readWhole reads an answer in one piece.
func readWhole(s *sheet, p wire.Protocol, a *openai.Answer) *reading {
	r := &reading{Answer: p.Read(a.JSON), s: s, protocol: p, how: whole}
	s.look(ruleAnswerShape, ruleUsage)
	if a.Type != "application/json" {
		r.fault(ruleAnswerShape, "the content type of an answer is not application/json",
			"it is %q", a.Type)
	}
	r.note()
	if raw := a.JSON.At(rawPath...); raw.Kind() == ordered.String {
		r.raw, r.hasRaw = raw.Text(), true
	}
	return r
}

// readStream reads a stream.
func readStream(s *sheet, p wire.Protocol, st *openai.Stream) *reading {
	r := &reading{s: s, protocol: p, how: streamed}
	s.look(ruleEvents, ruleStreamEnds, ruleChunkShape, ruleCharacters, ruleUsage)
	if p == wire.ChatCompletions {
		s.look(ruleRole, ruleExclusive)
	} else {
		s.look(ruleOrder, ruleNumbers, ruleIDs)
	}
	if p == wire.Responses {
		s.look(ruleWhole)
	}
	if st.Type != openai.EventStream {
		r.fault(ruleEvents, "the content type of a stream is not "+openai.EventStream, "it is %q",
			st.Type)
	}
	reader := p.Reader()
	for _, e := range st.Events {
		reader.Event(e.Name, e.Data)
	}
	if st.Done {
		reader.Mark()
	}
	r.Answer = reader.End()
	if st.Err != nil { // the end that is missing is the error's
		r.Faults = slices.DeleteFunc(r.Faults, func(f wire.Fault) bool {
			return f.Kind == wire.FaultEnd
		})
		r.Whole = false
	}
	r.note()
	switch {
	case errors.Is(st.Err, openai.ErrEvent):
		r.fault(ruleEvents, openai.ErrEvent.Error(), "%v", st.Err)
	case errors.Is(st.Err, openai.ErrTooLarge):
		r.fault(ruleEvents, openai.ErrTooLarge.Error(), "%v", st.Err)
	case st.Err != nil:
		r.fault(ruleStreamEnds, "the stream breaks off", "after %d events: %v", len(st.Events),
			st.Err)
	case st.Late > 0:
		r.fault(ruleStreamEnds, "events come after [DONE]", "%d of them", st.Late)
	case r.Whole && !r.Counted:
		r.fault(ruleUsage, "usage does not come", "it was asked for")
	}
	return r
}

// check compares an answer with the request; most is the bound on its tokens.
func (r *reading) check(request *wire.Request, most int) {
	s := r.s
	if r.Counted {
		r.checkUsage(most)
	}
	if r.Lost {
		return
	}
	r.checkFinish(request.Chat)
	for _, stop := range request.Stops {
		s.look(ruleStops)
		if strings.Contains(r.Message.Content, stop) {
			r.fault(ruleStops, "the text of stop is in the content", "%q in %s", stop,
				excerpt(r.Message.Content))
		}
	}
	for i, call := range r.Message.ToolCalls {
		if r.cut() && i == len(r.Message.ToolCalls)-1 {
			break // it may be incomplete
		}
		if r.Custom[i] {
			call.Arguments = ordered.Pairs("input", call.Arguments).String()
		}
		r.checkArguments(i, call)
		r.checkCall(i, call, request)
	}
	r.checkChoice(request.Chat)
	m := &r.Message
	if request.Chat.HasJSONSchema && !r.cut() && len(m.ToolCalls) == 0 {
		s.look(ruleSchema)
		if err := conforms(request.Chat.JSONSchema, m.Content); err != nil {
			r.fault(ruleSchema, "the content does not satisfy the schema", "%s: %v",
				openai.Excerpt(m.Content), err)
		}
	}
	if request.Chat.EnableThinking != nil && !*request.Chat.EnableThinking && !r.cut() {
		s.look(ruleThinkingOff)
		if m.Content == "" && m.Reasoning != "" && len(m.ToolCalls) == 0 {
			r.fault(ruleThinkingOff, "thinking is off, and all of the answer is reasoning", "%s",
				openai.Excerpt(m.Reasoning))
		}
	}
	if text := strings.TrimSpace(m.Content); len(m.ToolCalls) > 0 {
		s.look(ruleNull)
		if text == "null" || text == "None" {
			r.fault(ruleNull, "content that is absent comes as a word", "%q beside a call", text)
		}
	}
}

func (r *reading) checkUsage(most int) {
	if r.Usage.Completion > most {
		r.fault(ruleUsage, "more tokens were written than were allowed", "%d, of at most %d",
			r.Usage.Completion, most)
	}
	if r.Usage.Completion == 0 && r.text() != "" {
		r.fault(ruleUsage, "no token is counted for an answer that has a text", "")
	}
	if r.Usage.Prompt == 0 {
		r.fault(ruleUsage, "no token is counted for the prompt", "")
	}
}

// checkFinish allows two reasons where a named call was demanded, since OpenAI's own server says
// stop there.
func (r *reading) checkFinish(request chat.Request) {
	r.s.look(ruleFinish)
	want := chat.FinishStop
	if len(r.Message.ToolCalls) > 0 {
		want = chat.FinishToolCalls
	}
	named := request.ToolChoice.Mode == chat.ChoiceNamed && r.Finish == chat.FinishStop
	if !r.cut() && !named && r.Finish != want && r.Finish != "" {
		r.fault(ruleFinish, fmt.Sprintf("the answer ended by %q, expected %q", r.Finish, want),
			"the message has %d calls", len(r.Message.ToolCalls))
	}
}

func (r *reading) checkArguments(i int, call chat.ToolCall) {
	r.s.look(ruleArguments)
	v, err := ordered.ParseString(call.Arguments)
	switch {
	case err != nil:
		r.fault(ruleArguments, "the arguments of a call are no JSON", "call %d, %s: %v", i,
			openai.Excerpt(call.Arguments), err)
	case v.Kind() == ordered.String:
		r.fault(ruleArguments, "the arguments of a call are encoded twice", "call %d: %s", i,
			openai.Excerpt(call.Arguments))
	case v.Kind() != ordered.Object:
		r.fault(ruleArguments, "the arguments of a call are no object", "call %d: %s", i,
			openai.Excerpt(call.Arguments))
	}
}

func (r *reading) checkCall(i int, call chat.ToolCall, request *wire.Request) {
	r.s.look(ruleCallValid)
	tools := request.Chat.Tools
	at := slices.IndexFunc(tools, func(t chat.Tool) bool { return t.Name == call.Name })
	if at < 0 {
		r.fault(ruleCallValid, "a call is of a function that is not declared", "call %d, of %q", i,
			call.Name)
		return
	}
	if len(request.Custom) > 0 {
		r.s.look(ruleCustom)
		if r.Custom[i] != request.Custom[call.Name] {
			r.fault(ruleCustom, "a call has not the type of its tool", "call %d, of %q: custom %t",
				i, call.Name, r.Custom[i])
		}
	}
	if v, err := ordered.ParseString(call.Arguments); err != nil || v.Kind() != ordered.Object {
		return // said already
	}
	err := conforms(tools[at].Parameters, call.Arguments)
	switch {
	case err == nil:
	case r.Custom[i]:
		r.fault(ruleCustom, "the input of a custom tool breaks its grammar", "call %d, %s(%s): %v",
			i, call.Name, openai.Excerpt(call.Arguments), err)
	default:
		r.fault(ruleCallValid, "the arguments of a call break their schema", "call %d, %s(%s): %v",
			i, call.Name, openai.Excerpt(call.Arguments), err)
	}
}

func (r *reading) checkChoice(request chat.Request) {
	if len(request.Tools) == 0 {
		return
	}
	r.s.look(ruleChoice)
	calls := r.Message.ToolCalls
	switch mode := request.ToolChoice.Mode; {
	case (mode == chat.ChoiceRequired || mode == chat.ChoiceNamed) && len(calls) == 0 && !r.cut():
		r.fault(ruleChoice, "a call was required, and there is none", "%s", r.structure())
	case mode == chat.ChoiceNone && len(calls) > 0:
		r.fault(ruleChoice, "no call was allowed, and there is one", "%s", r.structure())
	case request.OneCall && len(calls) > 1:
		r.fault(ruleChoice, "several calls, where parallel calls are not allowed", "%s",
			r.structure())
	case mode == chat.ChoiceNamed && len(calls) > 0 && calls[0].Name != request.ToolChoice.Name:
		r.fault(ruleChoice, "a call of another function than was demanded", "of %q, not of %q",
			calls[0].Name, request.ToolChoice.Name)
	}
}

// explained reports whether a finding explains that two answers differ: text was lost in one, or a
// fault is in the text of one.
func (r *reading) explained(other *reading) bool {
	return r.Lost || other.Lost || r.spoilt != other.spoilt
}

// calls reports whether the answer has calls that can be answered.
func (r *reading) calls() bool {
	return r.Whole && !r.Lost && !r.spoilt && !r.cut() && len(r.Message.ToolCalls) > 0 &&
		!slices.ContainsFunc(r.Faults, func(f wire.Fault) bool {
			return f.Kind == wire.FaultID || f.Kind == wire.FaultCall || f.Kind == wire.FaultShape
		})
}

// text is everything that a client shows.
func (r *reading) text() string {
	text := r.Message.Reasoning + r.Message.Content
	for _, call := range r.Message.ToolCalls {
		text += call.Arguments
	}
	return text
}

// difference names the part in which two messages differ, and shows it; "" if they are equal. Ids
// are the server's to choose. Arguments that are JSON are compared as such, with the order of their
// keys and the text of their numbers.
func difference(a, b *reading) (part, shown string) {
	say := func(part string, x, y any) (string, string) {
		label := func(r *reading) string {
			if a.protocol != b.protocol {
				return r.protocol.Name()
			}
			return r.how
		}
		return part, fmt.Sprintf("%s: %v\n  %s: %v", label(a), x, label(b), y)
	}
	switch {
	case a.Message.Reasoning != b.Message.Reasoning:
		return say("the reasoning", excerpt(a.Message.Reasoning), excerpt(b.Message.Reasoning))
	case a.Message.Content != b.Message.Content:
		return say("the content", excerpt(a.Message.Content), excerpt(b.Message.Content))
	case len(a.Message.ToolCalls) != len(b.Message.ToolCalls):
		return say("the number of calls", len(a.Message.ToolCalls), len(b.Message.ToolCalls))
	}
	for i, x := range a.Message.ToolCalls {
		y := b.Message.ToolCalls[i]
		if x.Name != y.Name || compact(x.Arguments) != compact(y.Arguments) {
			return say("a call", x.Name+" "+excerpt(x.Arguments), y.Name+" "+excerpt(y.Arguments))
		}
	}
	if a.Finish != b.Finish && a.Finish != "" && b.Finish != "" {
		return say("the finish reason", a.Finish, b.Finish)
	}
	return "", ""
}

// same reports whether two messages are equal.
func same(a, b *reading) bool {
	part, _ := difference(a, b)
	return part == ""
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
	calls := "no calls"
	for i, call := range r.Message.ToolCalls {
		if i == 0 {
			calls = "calls of"
		}
		calls += " " + call.Name
	}
	return fmt.Sprintf("reasoning %t, content %t, %s, finish reason %s", r.Message.Reasoning != "",
		r.Message.Content != "", calls, r.Finish)
}

// replaced reports whether a text has a replacement character.
func replaced(text string) bool { return strings.ContainsRune(text, utf8.RuneError) }
