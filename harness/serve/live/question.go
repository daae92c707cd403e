package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
	"github.com/goassay/assay/harness/corpus/script"
	"github.com/goassay/assay/harness/foreign/vector"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/serve/openai"
)

// question is a request that is being put to a server, in every protocol that has words for it.
type question struct {
	v        *Server
	s        *sheet
	request  *wire.Request // as it is meant
	value    ordered.Value // as the scenario has it
	spelled  ordered.Value // as a request of chat completions
	most     int           // tokens of an answer
	optional bool          // a part of the request is beyond what most servers take
	plan     *engine.Plan  // of the server's own prompt; nil where it is not known
	asked    []*asked
}

// asked is a question in one protocol.
type asked struct {
	q             *question
	protocol      wire.Protocol
	body          ordered.Value // of the request
	piece, stream *reading      // nil: there is no answer
	full          int           // tokens of the answer without a bound; 0: not known
}

// question reads the request of a scenario.
func (v *Server) question(name, text string) (*question, error) {
	value, err := ordered.ParseString(text)
	if err != nil {
		return nil, err
	}
	q := &question{v: v, s: &sheet{scenario: name}, value: value}
	if err := q.read(); err != nil {
		return nil, err
	}
	for _, p := range v.protocols() {
		body, err := v.ask(p, q.spelled)
		if errors.Is(err, wire.ErrNoWords) {
			continue
		} else if err != nil {
			return nil, err
		}
		q.asked = append(q.asked, &asked{q: q, protocol: p, body: body})
	}
	return q, nil
}

// read reads the request as it is meant, and bounds its answer.
func (q *question) read() error {
	q.most = q.v.MaxFree
	q.spell()
	var err error
	if q.request, err = wire.ChatCompletions.Decode(q.spelled, nil); err != nil {
		return err
	}
	if constrains(q.request.Chat) {
		q.most = q.v.Max
		q.spell()
	}
	if tm := q.v.Template; tm != nil && !switches(tm, q.request.Chat) {
		q.request.Chat.EnableThinking = nil // no server can do more than its template
	}
	return nil
}

// switches reports whether a template's prompt depends on the request's switch of thinking.
func switches(tm *engine.Template, r chat.Request) bool {
	if r.EnableThinking == nil {
		return false
	}
	other := r
	flipped := !*r.EnableThinking
	other.EnableThinking = &flipped
	if r.Kwargs.Kind() == ordered.Object {
		other.Kwargs = r.Kwargs.With("enable_thinking", ordered.Boolean(flipped))
	}
	a, err := tm.Render(r)
	if err != nil {
		return true
	}
	b, err := tm.Render(other)
	return err != nil || a.Text != b.Text
}

// spell spells the request as one of chat completions, and parts that those lack as vLLM and others
// do.
func (q *question) spell() {
	o, value := q.v.Sampling, q.value
	number := func(f float32) ordered.Value { return ordered.Num(fmt.Sprint(f)) }
	w := ordered.Pairs("model", q.v.Model, "messages", value.At("messages"))
	if tools := value.At("tools"); !tools.IsNull() {
		one := value.At("parallel_tool_calls")
		w = w.With("tools", tools).With("parallel_tool_calls",
			ordered.Boolean(one.IsNull() || one.Bool()))
	}
	for _, key := range [...]string{"tool_choice", "stop", "reasoning_effort"} {
		if v := value.At(key); !v.IsNull() {
			w = w.With(key, v)
		}
	}
	if schema := value.At("json_schema"); !schema.IsNull() {
		w = w.With("response_format", ordered.Pairs("type", "json_schema",
			"json_schema", ordered.Pairs("name", "answer", "strict", true, "schema", schema)))
	}
	if on := value.At("enable_thinking"); !on.IsNull() {
		w = w.With("chat_template_kwargs", ordered.Pairs("enable_thinking", on))
	}
	if value.At("continue_final_message").Bool() {
		w = w.With("continue_final_message", ordered.Boolean(true)).
			With("add_generation_prompt", ordered.Boolean(false))
	}
	w = w.With("max_tokens", ordered.Int(q.most)).With("temperature", number(o.Temperature)).
		With("seed", ordered.Int(int(o.Seed)))
	for _, f := range [...]struct {
		name string
		set  bool
		v    ordered.Value
	}{{"top_p", o.TopP > 0, number(o.TopP)}, {"top_k", o.TopK > 0, ordered.Int(o.TopK)},
		{"min_p", o.MinP > 0, number(o.MinP)}} {
		if f.set {
			w = w.With(f.name, f.v)
		}
	}
	q.spelled = w
}

// spelledOut are members of chat completions that other protocols spell in words of their own.
var spelledOut = []string{"messages", "tools", "tool_choice", "parallel_tool_calls",
	"response_format", "max_tokens", "max_completion_tokens", "stop", "reasoning_effort",
	"continue_final_message"}

// ask spells a request in a protocol's words, with the members that every request has as well.
func (v *Server) ask(p wire.Protocol, spelled ordered.Value) (ordered.Value, error) {
	body, err := p.Ask(v.with(spelled))
	if err != nil || p == wire.ChatCompletions {
		return body, err
	}
	for _, m := range v.Extra.Members() {
		if !slices.Contains(spelledOut, m.Key) {
			body = body.With(m.Key, m.Value)
		}
	}
	return body, nil
}

// with adds the members that every request has as well.
func (v *Server) with(body ordered.Value) ordered.Value {
	for _, m := range v.Extra.Members() {
		body = body.With(m.Key, m.Value)
	}
	return body
}

// asStream returns a request as one for a stream.
func asStream(p wire.Protocol, body ordered.Value) ordered.Value {
	body = body.With("stream", ordered.Boolean(true))
	if p == wire.ChatCompletions {
		body = body.With("stream_options", ordered.Pairs("include_usage", true))
	}
	return body
}

// put sends the request in one piece and as a stream in every protocol, and looks at the answers.
func (q *question) put(ctx context.Context) error {
	var first *asked
	for _, a := range q.asked {
		if err := a.put(ctx); err != nil {
			return err
		}
		if a.piece == nil || !a.piece.Whole {
			continue
		}
		if first == nil {
			first = a
		} else if !first.piece.explained(a.piece) {
			err := q.protocolsAgree(ctx, first, a)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// put sends the request of one protocol both ways.
func (a *asked) put(ctx context.Context) error {
	var err error
	if a.piece, err = a.ask(ctx, a.q.s); err != nil {
		return err
	}
	if a.stream, err = a.askStream(ctx, a.q.s); err != nil {
		return err
	}
	return a.compare(ctx)
}

// compare holds both answers to the request and to each other.
func (a *asked) compare(ctx context.Context) error {
	s := a.q.s
	for _, r := range [...]*reading{a.piece, a.stream} {
		if r == nil || !r.Whole {
			continue
		}
		r.check(a.q.request, a.q.most)
		if a.full <= a.q.most {
			continue
		}
		if s.look(ruleCut); !r.cut() && r.Finish != "" {
			r.fault(ruleCut, "an answer that was cut off does not tell it", "it ends by %q after "+
				"%d tokens, and has %d without a bound", r.Finish, r.Usage.Completion, a.full)
		}
	}
	if piece, stream := a.piece, a.stream; piece != nil && stream != nil && stream.Whole {
		if replaced(stream.text()) && !replaced(piece.text()) {
			stream.fault(ruleCharacters, "the stream has U+FFFD, which the answer in one "+
				"piece has not", "%s", excerpt(stream.text()))
		}
		switch {
		case same(piece, stream):
			s.look(ruleAgrees)
			stream.raw, stream.hasRaw = piece.raw, piece.hasRaw
		case piece.explained(stream): // by a finding
		default:
			s.look(ruleAgrees)
			if err := a.twice(ctx); err != nil {
				return err
			}
		}
		if x, y := piece.Usage.Prompt, stream.Usage.Prompt; piece.Counted && stream.Counted &&
			x != y {
			stream.fault(ruleUsage, "the same prompt is counted differently", "%d tokens, and "+
				"%d in one piece", y, x)
		}
	}
	return a.judge(ctx)
}

// accepts is the rule that a refusal of the request breaks: some requests have fields that are no
// part of the protocol, or that few servers take.
func (q *question) accepts() ruleIndex {
	if q.optional || !q.value.At("enable_thinking").IsNull() ||
		q.request.Chat.Continue != chat.ContinueNone {
		return ruleExtension
	}
	return ruleAccepts
}

// refused notes that a request is not answered.
func (a *asked) refused(s *sheet, how string, evidence string) {
	s.fault(a.q.accepts(), a.protocol.Name()+": the request is not answered", "%s: %s", how,
		evidence)
}

// ask asks for an answer in one piece; nil if there is none.
func (a *asked) ask(ctx context.Context, s *sheet) (*reading, error) {
	s.look(a.q.accepts())
	answer, err := a.q.v.Client.Post(ctx, a.protocol.Path(), a.body.Append(nil, ordered.Compact))
	a.q.v.late.note(err)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		a.refused(s, whole, err.Error())
	case !answer.OK():
		a.refused(s, whole, answer.Fault())
	case answer.Err != nil:
		s.fault(ruleAnswerShape, a.protocol.Name()+": the body of an answer is no JSON", "%s: %v",
			openai.Excerpt(answer.Body), answer.Err)
	default:
		return readWhole(s, a.protocol, answer), nil
	}
	return nil, nil
}

// askStream asks for a stream; nil if there is none.
func (a *asked) askStream(ctx context.Context, s *sheet) (*reading, error) {
	st, answer, err := a.q.v.Client.Stream(ctx, a.protocol.Path(),
		asStream(a.protocol, a.body).Append(nil, ordered.Compact))
	ended := err
	if st != nil {
		ended = cmp.Or(ended, st.Err)
	}
	a.q.v.late.note(ended)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		a.refused(s, streamed, err.Error())
	case answer != nil && !answer.OK():
		a.refused(s, streamed, answer.Fault())
	case answer != nil:
		s.fault(ruleEvents, a.protocol.Name()+": a stream was asked for, and does not come",
			"the answer is of the type %s: %s", answer.Type, openai.Excerpt(answer.Body))
	default:
		return readStream(s, a.protocol, st), nil
	}
	return nil, nil
}

// again asks once more, for an answer whose other faults are those of the first time.
func (a *asked) again(ctx context.Context) (piece, stream *reading, s *sheet, err error) {
	s = new(sheet)
	if piece, err = a.ask(ctx, s); err != nil {
		return nil, nil, nil, err
	}
	stream, err = a.askStream(ctx, s)
	return piece, stream, s, err
}

// twice compares two answers that differ. It asks for each once more: of a server that does not
// repeat itself it compares the structure only.
func (a *asked) twice(ctx context.Context) error {
	piece2, stream2, s, err := a.again(ctx)
	if err != nil {
		return err
	}
	if piece2 == nil || stream2 == nil || !stream2.Whole {
		a.piece.fault(ruleRepeats, "the request was answered, and was not when it was repeated",
			"%s", s)
		return nil
	}
	if same(a.piece, piece2) && same(a.stream, stream2) {
		part, shown := difference(a.piece, a.stream)
		a.q.s.fault(ruleAgrees, a.protocol.Name()+": "+part+" differs", "%s", shown)
		return nil
	}
	a.unsteady()
	for _, x := range [...]*reading{a.piece, piece2} {
		for _, y := range [...]*reading{a.stream, stream2} {
			if x.structure() == y.structure() {
				return nil
			}
		}
	}
	a.q.s.fault(ruleAgrees, a.protocol.Name()+": no answer in one piece has the structure of a "+
		"stream", "in one piece: %s\n  streamed: %s", a.piece.structure(), a.stream.structure())
	return nil
}

func (a *asked) unsteady() {
	a.piece.fault(ruleRepeats, "the same request has another answer the second time; only the "+
		"structure of the answers is compared", "")
}

// protocolsAgree compares the answers of two protocols.
func (q *question) protocolsAgree(ctx context.Context, first, other *asked) error {
	q.s.look(ruleProtocols)
	a, b := *first.piece, *other.piece
	if q.request.Chat.Continue != chat.ContinueNone { // answers are whole, or the text that is new
		begun := q.request.Prefix.Content
		a.Message.Content = strings.TrimPrefix(a.Message.Content, begun)
		b.Message.Content = strings.TrimPrefix(b.Message.Content, begun)
	}
	if q.request.Chat.ToolChoice.Mode == chat.ChoiceNamed && a.Finish == chat.FinishStop {
		a.Finish = b.Finish // OpenAI's own server says stop there
	}
	part, shown := difference(&a, &b)
	if part == "" {
		return nil
	}
	for _, r := range [...]*asked{first, other} {
		piece2, err := r.ask(ctx, new(sheet))
		if err != nil {
			return err
		}
		if piece2 == nil || !same(r.piece, piece2) {
			r.unsteady()
			return nil
		}
	}
	q.s.fault(ruleProtocols, fmt.Sprintf("%s and %s: %s differs", first.protocol.Name(),
		other.protocol.Name(), part), "%s", shown)
	return nil
}

// followed is the question with the results of its answer's calls; nil where there are none.
func (q *question) followed() *question {
	next := &question{v: q.v, s: &sheet{scenario: q.s.scenario + "-answered"}, most: q.most}
	for _, a := range q.asked {
		if a.piece == nil || !a.piece.calls() {
			continue
		}
		if next.asked == nil {
			next.value = answered(q.value, &a.piece.Answer)
			if next.read() != nil {
				return nil // the answer's faults are said
			}
		}
		body := a.protocol.Follow(a.body, &a.piece.Answer, results(&a.piece.Answer, false)).
			Without("tool_choice")
		next.asked = append(next.asked, &asked{q: next, protocol: a.protocol, body: body})
	}
	if next.asked == nil {
		return nil
	}
	return next
}

// results are those of an answer's calls.
func results(a *wire.Answer, failed bool) []wire.Result {
	list := make([]wire.Result, len(a.Message.ToolCalls))
	for i, c := range a.Message.ToolCalls {
		list[i] = wire.Result{ID: c.ID, Name: c.Name, Text: `{"ok": true}`, Custom: a.Custom[i]}
		if failed {
			list[i].Text, list[i].Error = "no such place", true
		}
	}
	return list
}

// judge compares the answers with the template: with its markers, and, given the text that the
// model wrote, with this project's parser. Without a template it looks for the markers of all
// formats.
func (a *asked) judge(ctx context.Context) error {
	v, s := a.q.v, a.q.s
	if v.Template == nil {
		for _, r := range [...]*reading{a.piece, a.stream} {
			if r != nil && !a.q.request.Chat.HasJSONSchema {
				r.leaks(new(reading), nil, everyMarker())
			}
		}
		return nil
	}
	plan, err := v.Template.Prepare(a.q.request.Chat, engine.PrepareOptions{Insist: true})
	if err != nil {
		s.fault(ruleNoRaw, "the answer was not parsed", "%v", err)
		return nil
	}
	if v.Raw && a.protocol == wire.ChatCompletions {
		if plan, err = a.prompt(ctx, plan); err != nil {
			return err
		}
		if plan == nil {
			s.fault(ruleNoRaw, "the server's prompt is another one, so that its answer goes on "+
				"from elsewhere", "")
			return nil
		}
		if err := a.raw(ctx, plan); err != nil {
			return err
		}
		a.q.plan = plan
	}
	if a.protocol != wire.ChatCompletions {
		plan = cmp.Or(a.q.plan, plan)
	}
	known := a.piece != nil && a.piece.hasRaw
	for _, r := range [...]*reading{a.piece, a.stream} {
		// a stream that differs from the answer whose text is known
		if r == nil || known && !r.hasRaw {
			continue
		}
		own := &reading{s: s, protocol: a.protocol, how: "here"}
		own.Finish = r.Finish
		if r.hasRaw {
			own.Message = plan.Parse(r.raw, ending(r.cut())).Message
		}
		if !a.q.request.Chat.HasJSONSchema { // strings in JSON may have any text
			r.leaks(own, plan, plan.Preserved)
		}
		// a text of stop ends the answer and not the model's text
		// prompts are known of chat completions only
		if r.hasRaw && r.Whole && len(a.q.request.Stops) == 0 &&
			(a.q.plan != nil || a.protocol == wire.ChatCompletions) {
			a.q.agrees(r, own)
		}
	}
	return nil
}

// everyMarker returns the markers of all formats of the corpus, for servers whose template is not
// known.
var everyMarker = sync.OnceValue(func() []string { return script.Markers(corpus.FS) })

// leaks looks for markers in the text that clients show. Those that this project's parser leaves
// there as well are text of the model's. The plan is nil where it is not known.
func (r *reading) leaks(own *reading, plan *engine.Plan, markers []string) {
	r.s.look(ruleLeak)
	for _, marker := range markers {
		if !tag.MatchString(marker) {
			continue
		}
		for _, part := range [...]struct{ name, text, ours string }{
			{"reasoning", r.Message.Reasoning, own.Message.Reasoning},
			{"content", r.Message.Content, own.Message.Content},
		} {
			text := part.text
			if i := strings.LastIndex(text, marker); i >= 0 && r.cut() && plan != nil &&
				onlyBegins(plan, text[i:], marker) {
				text = text[:i]
			}
			if strings.Contains(text, marker) && !strings.Contains(part.ours, marker) {
				r.fault(ruleLeak, fmt.Sprintf("the marker %q is in the %s", marker, part.name),
					"%s", excerpt(part.text))
			}
		}
	}
}

// onlyBegins reports whether this project's parser, too, leaves a marker in the text where an
// answer was cut off after it: a call is one only once its function is known.
func onlyBegins(plan *engine.Plan, text, marker string) bool {
	m := plan.Parse(text, chat.FinishLength).Message
	return strings.Contains(m.Content, marker) || strings.Contains(m.Reasoning, marker)
}

// agrees compares an answer with this project's reading of the same text.
func (q *question) agrees(r, own *reading) {
	q.s.look(ruleRaw)
	theirs, ours := *r, *own
	// servers answer with the whole message, or with their additions to it
	if q.request.Chat.Continue != chat.ContinueNone {
		begun := q.request.Prefix
		for _, part := range [...]struct {
			theirs string
			ours   *string
			begun  string
		}{{theirs.Message.Content, &ours.Message.Content, begun.Content},
			{theirs.Message.Reasoning, &ours.Message.Reasoning, begun.Reasoning}} {
			if !strings.HasPrefix(part.theirs, part.begun) {
				*part.ours = strings.TrimPrefix(*part.ours, part.begun)
			}
		}
	}
	theirs.Message.ToolCalls = slices.Clone(theirs.Message.ToolCalls)
	for i, custom := range theirs.Custom {
		if c := &theirs.Message.ToolCalls[i]; custom {
			c.Arguments = ordered.Pairs("input", c.Arguments).String()
		}
	}
	trimEdges(&ours.Message)
	trimEdges(&theirs.Message)
	if r.cut() {
		meet(&theirs.Message, &ours.Message)
	}
	if part, shown := difference(&theirs, &ours); part != "" {
		r.fault(ruleRaw, part+" is read otherwise", "%s\n  the model wrote %s", shown,
			excerpt(r.raw))
	}
}

// meet cuts the last parts of two messages of one output that was cut off: the one holds back a
// text that may become a marker and the other sends it, and a call that has begun may be shown or
// not.
func meet(a, b *chat.Message) {
	n := min(len(a.ToolCalls), len(b.ToolCalls))
	if max(len(a.ToolCalls), len(b.ToolCalls)) > n+1 {
		return
	}
	a.ToolCalls, b.ToolCalls = slices.Clone(a.ToolCalls[:n]), slices.Clone(b.ToolCalls[:n])
	if n > 0 {
		x, y := &a.ToolCalls[n-1].Arguments, &b.ToolCalls[n-1].Arguments
		*x, *y = vector.WithoutSpace(*x), vector.WithoutSpace(*y)
		shorten(x, y)
	}
	shorten(&a.Content, &b.Content)
	shorten(&a.Reasoning, &b.Reasoning)
}

// shorten makes two texts of which one begins the other equal, where not all of it is missing.
func shorten(a, b *string) {
	n := min(len(*a), len(*b))
	if (*a)[:n] == (*b)[:n] && n > 0 {
		*a, *b = (*a)[:n], (*b)[:n]
	}
}

func trimEdges(m *chat.Message) {
	m.Reasoning, m.Content = strings.TrimSpace(m.Reasoning), strings.TrimSpace(m.Content)
}

// prompt compares the prompts, where the server shows its own. Servers differ in the default of
// enable_thinking; the plan that is returned is that of the server's prompt, nil where there is
// none.
func (a *asked) prompt(ctx context.Context, plan *engine.Plan) (*engine.Plan, error) {
	q := a.q
	answer, err := q.v.Client.Post(ctx, pathRender, a.body.Append(nil, ordered.Compact))
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		q.s.fault(rulePrompt, "the prompt is not rendered", "%v", err)
		return nil, nil
	}
	if !answer.OK() || answer.JSON.At("prompt").Kind() != ordered.String {
		return plan, nil // no part of OpenAI's API
	}
	q.s.look(rulePrompt)
	theirs, ours := answer.JSON.At("prompt").Text(), plan.Prompt.Text
	if theirs == ours {
		return plan, nil
	}
	for _, thinking := range [...]bool{true, false} {
		if q.request.Chat.EnableThinking != nil {
			break
		}
		r := q.request.Chat
		r.EnableThinking = &thinking
		if other, err := q.v.Template.Prepare(r, engine.PrepareOptions{Insist: true}); err == nil &&
			other.Prompt.Text == theirs {
			return other, nil
		}
	}
	at := report.Parting(theirs, ours)
	from := max(0, at-40)
	for from > 0 && !utf8.RuneStart(ours[from]) {
		from--
	}
	q.s.fault(rulePrompt, "the prompt is another one", "from byte %d on:\n  server  %s\n  "+
		"here    %s", at, openai.Excerpt(theirs[from:]),
		openai.Excerpt(ours[from:]))
	return nil, nil
}

// raw gets the text that the model wrote where the answers do not have it: by completing the
// prompt, which gives the same text where nothing constrains the answer and the server repeats
// itself.
func (a *asked) raw(ctx context.Context, plan *engine.Plan) error {
	q := a.q
	q.s.look(ruleNoRaw)
	var wanting []*reading
	for _, r := range [...]*reading{a.piece, a.stream} {
		if r != nil && r.hasRaw {
			return nil
		}
		if r != nil && r.Whole {
			wanting = append(wanting, r)
		}
	}
	if len(wanting) == 0 {
		return nil
	}
	if constrains(q.request.Chat) {
		q.s.fault(ruleNoRaw, "the answer does not have it, and is constrained, so that "+
			"completing the prompt would give another one", "")
		return nil
	}
	var texts [2]string
	for i := range texts {
		answer, err := q.v.Client.Post(ctx, pathComplete, a.completion(plan).
			Append(nil, ordered.Compact))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			q.s.fault(ruleNoRaw, "the prompt is not completed", "%v", err)
			return nil
		}
		choices := answer.JSON.At("choices").Items()
		if !answer.OK() || len(choices) == 0 || choices[0].At("text").Kind() != ordered.String {
			q.s.fault(ruleNoRaw, "the prompt is not completed", "%s", answer.Fault())
			return nil
		}
		texts[i] = choices[0].At("text").Text()
		usage, own := answer.JSON.At("usage"), wanting[0].Usage
		if got := (chat.Usage{Prompt: count(usage, "prompt_tokens"),
			Completion: count(usage, "completion_tokens")}); got != own {
			q.s.fault(ruleNoRaw, "completing the prompt took other tokens than the answer: it is "+
				"another text", "%+v, and %+v", got, own)
			return nil
		}
	}
	if texts[0] != texts[1] {
		q.s.fault(ruleNoRaw, "completing the prompt twice gives two texts", "")
		return nil
	}
	for _, r := range wanting {
		r.raw, r.hasRaw = texts[0], true
	}
	return nil
}

// completion asks for the prompt's completion, special tokens included, which vLLM and SGLang leave
// out unless they are asked.
func (a *asked) completion(plan *engine.Plan) ordered.Value {
	w := a.body
	c := ordered.Pairs("prompt", plan.Prompt.Text)
	for _, key := range [...]string{"model", "max_tokens", "temperature", "seed", "top_p", "top_k",
		"min_p"} {
		if value, ok := w.Get(key); ok {
			c = c.With(key, value)
		}
	}
	return a.q.v.with(c).With("skip_special_tokens", ordered.Boolean(false)).
		With("add_special_tokens", ordered.Boolean(false))
}

// count reads a count of usage.
func count(usage ordered.Value, key string) int {
	n, err := strconv.Atoi(usage.At(key).Text())
	if err != nil {
		return 0
	}
	return n
}
