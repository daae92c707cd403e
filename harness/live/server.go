package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/llama"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/openai"
	"github.com/goassay/assay/harness/rule"
	"github.com/goassay/assay/harness/vector"
)

// The paths of a server's API.
const (
	pathChat     = "/v1/chat/completions"
	pathComplete = "/v1/completions"
	pathModels   = "/v1/models"
	// llama.cpp's: the server's parts, the template among them
	pathProperties = "/props"
	pathRender     = "/apply-template" // llama.cpp's: a request's prompt
)

// Server is an OpenAI-compatible server that the battery is put to.
type Server struct {
	Client   *openai.Client
	Model    string           // its name in requests
	Template *engine.Template // that it uses; nil: not known
	Raw      bool             // compare the answers with this project's parser
	Sampling llama.Sampling
	Max      int // tokens of an answer with tools or a schema
	MaxFree  int // tokens of another
	// an object whose members every request for an answer has as well; null: none
	Extra ordered.Value
	// Done is called after every scenario with its findings; nil: not called.
	Done func(scenario string, results []rule.Result)
}

// Properties are a server's statements about itself.
type Properties struct {
	Model    string // the first one that it lists
	Template string // "" where it does not say
	BOS, EOS string
}

// ErrNoServer is returned where nothing answers as a server does.
var ErrNoServer = errors.New("this is no OpenAI-compatible server")

// maxTemplate bounds the template that a server gives, in bytes. The largest in public use have
// some 30 kB.
const maxTemplate = 4 << 20

// AskProperties asks a server for its properties. Only the list of models is a part of OpenAI's
// API; the error of a server that lists none wraps [ErrNoServer], and its other answers are
// returned all the same.
func AskProperties(ctx context.Context, c *openai.Client) (Properties, error) {
	var p Properties
	a, err := c.Get(ctx, pathProperties)
	if err != nil {
		return p, err
	}
	if a.OK() {
		p.Template = a.JSON.At("chat_template").Text()
		if tools := a.JSON.At("chat_template_tool_use").Text(); tools != "" {
			p.Template = tools
		}
		p.BOS, p.EOS = a.JSON.At("bos_token").Text(), a.JSON.At("eos_token").Text()
	}
	if len(p.Template) > maxTemplate {
		return p, fmt.Errorf("%s%s gives a template of %d bytes, "+
			"which is no template", c.Root(), pathProperties, len(p.Template))
	}
	if a, err = c.Get(ctx, pathModels); err != nil {
		return p, err
	}
	if models := a.JSON.At("data").Items(); a.OK() && len(models) > 0 {
		p.Model = models[0].At("id").Text()
	}
	if p.Model == "" {
		return p, fmt.Errorf("%w: %s%s lists no model: %s", ErrNoServer, c.Root(), pathModels,
			a.Fault())
	}
	return p, nil
}

// Run puts the server through the battery. The results have the faults; the error is that of a
// context that ended, or that the server cannot be reached.
func (v *Server) Run(ctx context.Context) ([]rule.Result, error) {
	var results []rule.Result
	add := func(s *sheet) {
		found := s.results(v.Model)
		results = append(results, found...)
		if v.Done != nil {
			v.Done(s.scenario, found)
		}
	}
	tools := v.Template == nil || v.Template.Gate().Pass()
	for i := range battery {
		b := &battery[i]
		if b.tools && !tools || b.result && v.Template != nil && !v.Template.Caps().ToolCalls {
			continue
		}
		request, err := ordered.ParseString(expand.Replace(b.request))
		if err != nil {
			return nil, fmt.Errorf("scenario %s: %w", b.name, err)
		}
		s, answer, err := v.scenario(ctx, b.name, request)
		if err != nil {
			return results, err
		}
		add(s)
		if b.follow && answer != nil && len(answer.message.ToolCalls) > 0 && !answer.cut() {
			s, _, err := v.scenario(ctx, b.name+"-answered", answered(request, answer.message))
			if err != nil {
				return results, err
			}
			add(s)
		}
	}
	for i := range mistakes {
		s, err := v.mistake(ctx, &mistakes[i])
		if err != nil {
			return results, err
		}
		add(s)
	}
	return results, nil
}

// mistakes are requests that every server must refuse.
var mistakes = [...]struct{ name, body string }{
	{"error-no-json", `{"model": MODEL, "messages": [`},
	{"error-no-messages", `{"model": MODEL, "stream": STREAM}`},
	{"error-messages-type", `{"model": MODEL, "stream": STREAM, "messages": "Hello"}`},
	{"error-role-missing", `{"model": MODEL, "stream": STREAM, "messages": [{"content": "Hello"}]}`},
	{"error-tool-choice", `{"model": MODEL, "stream": STREAM, "messages": [{"role": "user", "content": "Hello"}], "tools": [{"type": "function",
		"function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}], "tool_choice": "sometimes", "max_tokens": 4}`},
	{"error-tools-type", `{"model": MODEL, "stream": STREAM, "messages": [{"role": "user", "content": "Hello"}], "tools": "f", "max_tokens": 4}`},
}

// mistake sends a wrong request both ways.
func (v *Server) mistake(ctx context.Context, m *struct{ name, body string }) (*sheet, error) {
	s := &sheet{scenario: m.name}
	s.look(ruleErrorShape)
	for _, stream := range [...]string{"false", "true"} {
		how := "in one piece"
		if stream == "true" {
			how = "streamed"
		}
		body := strings.NewReplacer("MODEL", ordered.Str(v.Model).String(), "STREAM", stream).
			Replace(m.body)
		st, a, err := v.Client.Stream(ctx, pathChat, []byte(body))
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			s.fault(ruleErrorShape, "%s: %v", how, err)
		case st != nil:
			s.fault(ruleErrorShape, "%s: a stream begins, with status 200", how)
		case a.Status < 400 || a.Status > 499:
			s.fault(ruleErrorShape, "%s: %s; expected a status from 400 to 499", how, a.Fault())
		default:
			e := a.JSON.At("error")
			for _, key := range [...]string{"message", "type"} {
				if text := e.At(key); text.Kind() != ordered.String || text.Text() == "" {
					s.fault(ruleErrorShape, "%s: HTTP status %d: error.%s: expected a text, "+
						"found %s in the body %s", how, a.Status, key, text, openai.Excerpt(a.Body))
				}
			}
		}
	}
	return s, nil
}

// scenario sends a request in one piece and as a stream, and looks at both answers. The reading is
// that of a whole answer, if any.
func (v *Server) scenario(ctx context.Context, name string,
	request ordered.Value) (*sheet, *reading, error) {
	s := &sheet{scenario: name}
	r, err := chat.ParseRequest(request)
	if err != nil {
		return nil, nil, err
	}
	q := &question{v: v, s: s, request: r, value: request, most: v.MaxFree}
	if constrains(r) {
		q.most = v.Max
	}
	piece, err := q.ask(ctx)
	if err != nil {
		return nil, nil, err
	}
	stream, err := q.stream(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, answer := range [...]*reading{piece, stream} {
		if answer != nil && answer.whole {
			answer.check(s, r, q.most)
		}
	}
	if piece != nil && stream != nil && stream.whole {
		s.look(ruleAgrees)
		if difference(piece, stream) == "" {
			stream.raw, stream.hasRaw = piece.raw, piece.hasRaw
		} else if err := q.compare(ctx, piece, stream); err != nil {
			return nil, nil, err
		}
		if strings.ContainsRune(stream.text(), utf8.RuneError) &&
			!strings.ContainsRune(piece.text(), utf8.RuneError) {
			s.fault(ruleCharacters, "the stream has U+FFFD, which the answer in one "+
				"piece has not: %s", excerpt(stream.text()))
		}
	}
	if err := q.judge(ctx, piece, stream); err != nil {
		return nil, nil, err
	}
	if piece != nil && piece.whole {
		return s, piece, nil
	}
	return s, nil, nil
}

// text is everything that a client shows.
func (r *reading) text() string {
	text := r.message.Reasoning + r.message.Content
	for _, call := range r.message.ToolCalls {
		text += call.Arguments
	}
	return text
}

// question is a request that is being put to a server.
type question struct {
	v       *Server
	s       *sheet
	request chat.Request
	value   ordered.Value
	most    int
}

// wire spells the request in OpenAI's API, and, for parts that the API lacks, as vLLM and others
// do.
func (q *question) wire(stream bool) ordered.Value {
	o := q.v.Sampling
	number := func(f float32) ordered.Value { return ordered.Num(fmt.Sprint(f)) }
	w := ordered.ObjectOf(ordered.MemberOf("model", ordered.Str(q.v.Model)),
		ordered.MemberOf("messages", q.value.At("messages")))
	if tools := q.value.At("tools"); !tools.IsNull() {
		w = w.With("tools", tools).With("parallel_tool_calls", ordered.Boolean(!q.request.OneCall))
		if choice := q.value.At("tool_choice"); !choice.IsNull() {
			w = w.With("tool_choice", choice)
		}
	}
	if q.request.HasJSONSchema {
		w = w.With("response_format",
			ordered.ObjectOf(ordered.MemberOf("type", ordered.Str("json_schema")),
				ordered.MemberOf("json_schema", ordered.ObjectOf(
					ordered.MemberOf("name", ordered.Str("answer")),
					ordered.MemberOf("strict", ordered.Boolean(true)),
					ordered.MemberOf("schema", q.request.JSONSchema)))))
	}
	if q.request.EnableThinking != nil {
		w = w.With("chat_template_kwargs",
			ordered.ObjectOf(ordered.MemberOf("enable_thinking",
				ordered.Boolean(*q.request.EnableThinking))))
	}
	if q.request.Continue != chat.ContinueNone {
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
	for _, m := range q.v.Extra.Members() {
		w = w.With(m.Key, m.Value)
	}
	if stream {
		w = w.With("stream", ordered.Boolean(true)).
			With("stream_options",
				ordered.ObjectOf(ordered.MemberOf("include_usage", ordered.Boolean(true))))
	}
	return w
}

// accepts is the rule that a refusal of the request breaks: some requests have fields that are not
// OpenAI's.
func (q *question) accepts() ruleIndex {
	if q.request.EnableThinking != nil || q.request.Continue != chat.ContinueNone {
		return ruleExtension
	}
	return ruleAccepts
}

// ask asks for an answer in one piece; nil if there is none.
func (q *question) ask(ctx context.Context) (*reading, error) {
	q.s.look(q.accepts())
	a, err := q.v.Client.Post(ctx, pathChat, q.wire(false).Append(nil, ordered.Compact))
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		q.s.fault(q.accepts(), "in one piece: %v", err)
	case !a.OK():
		q.s.fault(q.accepts(), "in one piece: %s", a.Fault())
	case a.Err != nil:
		q.s.fault(ruleAnswerShape, "the body %s is no JSON: %v", openai.Excerpt(a.Body), a.Err)
	default:
		return readAnswer(q.s, a.JSON), nil
	}
	return nil, nil
}

// stream asks for a stream; nil if there is none.
func (q *question) stream(ctx context.Context) (*reading, error) {
	st, a, err := q.v.Client.Stream(ctx, pathChat, q.wire(true).Append(nil, ordered.Compact))
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		q.s.fault(q.accepts(), "streamed: %v", err)
	case a != nil && !a.OK():
		q.s.fault(q.accepts(), "streamed: %s", a.Fault())
	case a != nil:
		q.s.fault(ruleEvents, "a stream was asked for, and the answer is of "+
			"the type %s: %s", a.Type, openai.Excerpt(a.Body))
	default:
		return readStream(q.s, st), nil
	}
	return nil, nil
}

// compare compares the two answers. Where they differ it asks for each once more: of a server that
// does not repeat itself it compares the structure only.
func (q *question) compare(ctx context.Context, piece, stream *reading) error {
	text := difference(piece, stream)
	// whose other faults are those of the first time
	again := &question{v: q.v, s: new(sheet), request: q.request, value: q.value, most: q.most}
	piece2, err := again.ask(ctx)
	if err != nil {
		return err
	}
	stream2, err := again.stream(ctx)
	if err != nil {
		return err
	}
	if piece2 == nil || stream2 == nil || !stream2.whole {
		q.s.fault(ruleRepeats, "the request was answered, and was not when it "+
			"was repeated: %s", again.s)
		return nil
	}
	if difference(piece, piece2) == "" && difference(stream, stream2) == "" {
		q.s.fault(ruleAgrees, "%s", text)
		return nil
	}
	q.s.fault(ruleRepeats, "the same request has another answer the second time; only the "+
		"structure of the answers is compared")
	for _, a := range [...]*reading{piece, piece2} {
		for _, b := range [...]*reading{stream, stream2} {
			if a.structure() == b.structure() {
				return nil
			}
		}
	}
	q.s.fault(ruleAgrees, "no answer in one piece has the structure of a stream:\n  in one "+
		"piece  %s\n  streamed      %s", piece.structure(), stream.structure())
	return nil
}

// judge compares the answers with the template: with its markers, and, given the text that the
// model wrote, with this project's parser.
func (q *question) judge(ctx context.Context, piece, stream *reading) error {
	if q.v.Template == nil {
		return nil
	}
	plan, err := q.v.Template.Prepare(q.request, engine.PrepareOptions{Insist: true})
	if err != nil {
		q.s.fault(ruleNoRaw, "the answer was not parsed: %v", err)
		return nil
	}
	if q.v.Raw {
		if plan, err = q.prompt(ctx, plan); err != nil {
			return err
		}
		if plan == nil {
			q.s.fault(ruleNoRaw, "the server's prompt is another one, so that its answer goes "+
				"on from elsewhere")
			return nil
		}
		if err := q.raw(ctx, plan, piece, stream); err != nil {
			return err
		}
	}
	known := piece != nil && piece.hasRaw
	for _, r := range [...]*reading{piece, stream} {
		// a stream that differs from the answer whose text is known
		if r == nil || known && !r.hasRaw {
			continue
		}
		own := &reading{how: "here", finish: r.finish}
		if r.hasRaw {
			own.message = plan.Parse(r.raw, ending(r.cut())).Message
		}
		if !q.request.HasJSONSchema { // strings in JSON may have any text
			q.leaks(r, own, plan.Preserved)
		}
		if r.hasRaw && r.whole {
			q.agrees(r, own)
		}
	}
	return nil
}

// leaks looks for markers in the text that clients show. Those that this project's parser leaves
// there as well are text of the model's.
func (q *question) leaks(r, own *reading, markers []string) {
	q.s.look(ruleLeak)
	for _, marker := range markers {
		if !tag.MatchString(marker) {
			continue
		}
		for _, part := range [...]struct{ name, text, ours string }{
			{"reasoning", r.message.Reasoning, own.message.Reasoning}, {"content", r.message.Content, own.message.Content},
		} {
			if strings.Contains(part.text, marker) && !strings.Contains(part.ours, marker) {
				q.s.fault(ruleLeak, "%s: the marker %q "+
					"is in the %s %s", r.how, marker, part.name, excerpt(part.text))
			}
		}
	}
}

// agrees compares an answer with this project's reading of the same text.
func (q *question) agrees(r, own *reading) {
	q.s.look(ruleRaw)
	theirs, ours := *r, *own
	// servers answer with the whole message, or with their additions to it
	if q.request.Continue != chat.ContinueNone {
		begun := q.request.Messages[len(q.request.Messages)-1].At("content").Text()
		if !strings.HasPrefix(theirs.message.Content, begun) {
			ours.message.Content = strings.TrimPrefix(ours.message.Content, begun)
		}
	}
	trimEdges(&ours.message)
	trimEdges(&theirs.message)
	if r.cut() {
		meet(&theirs.message, &ours.message)
	}
	if text := difference(&theirs, &ours); text != "" {
		q.s.fault(ruleRaw, "%s\nthe model wrote %s", text, excerpt(r.raw))
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
func (q *question) prompt(ctx context.Context, plan *engine.Plan) (*engine.Plan, error) {
	a, err := q.v.Client.Post(ctx, pathRender, q.wire(false).Append(nil, ordered.Compact))
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		q.s.fault(rulePrompt, "%v", err)
		return nil, nil
	}
	if !a.OK() || a.JSON.At("prompt").Kind() != ordered.String {
		return plan, nil // no part of OpenAI's API
	}
	q.s.look(rulePrompt)
	theirs, ours := a.JSON.At("prompt").Text(), plan.Prompt.Text
	if theirs == ours {
		return plan, nil
	}
	for _, thinking := range [...]bool{true, false} {
		if q.request.EnableThinking != nil {
			break
		}
		r := q.request
		r.EnableThinking = &thinking
		if other, err := q.v.Template.Prepare(r, engine.PrepareOptions{Insist: true}); err == nil &&
			other.Prompt.Text == theirs {
			return other, nil
		}
	}
	at := 0
	for at < min(len(theirs), len(ours)) && theirs[at] == ours[at] {
		at++
	}
	from := max(0, at-40)
	for from > 0 && !utf8.RuneStart(ours[from]) {
		from--
	}
	q.s.fault(rulePrompt, "from byte %d "+
		"on:\n  server  %s\n  here    %s", at, openai.Excerpt(theirs[from:]),
		openai.Excerpt(ours[from:]))
	return nil, nil
}

// raw gets the text that the model wrote where the answers do not have it: by completing the
// prompt, which gives the same text where nothing constrains the answer and the server repeats
// itself.
func (q *question) raw(ctx context.Context, plan *engine.Plan, answers ...*reading) error {
	q.s.look(ruleNoRaw)
	var wanting []*reading
	for _, r := range answers {
		if r != nil && r.hasRaw {
			return nil
		}
		if r != nil && r.whole {
			wanting = append(wanting, r)
		}
	}
	if len(wanting) == 0 {
		return nil
	}
	if constrains(q.request) {
		q.s.fault(ruleNoRaw, "the answer does not have it, and is constrained, so that "+
			"completing the prompt would give another one")
		return nil
	}
	var texts [2]string
	for i := range texts {
		a, err := q.v.Client.Post(ctx, pathComplete, q.completion(plan).
			Append(nil, ordered.Compact))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			q.s.fault(ruleNoRaw, "completing the prompt: %v", err)
			return nil
		}
		choices := a.JSON.At("choices").Items()
		if !a.OK() || len(choices) == 0 || choices[0].At("text").Kind() != ordered.String {
			q.s.fault(ruleNoRaw, "completing the prompt: %s", a.Fault())
			return nil
		}
		texts[i] = choices[0].At("text").Text()
		for _, key := range [...]string{"prompt_tokens", "completion_tokens"} {
			if ours, theirs := a.JSON.At("usage",
				key), wanting[0].usage.At(key); !ordered.Equal(ours, theirs) {
				q.s.fault(ruleNoRaw, "completing the prompt took %s %s, the answer %s: it "+
					"is another text", ours, key, theirs)
				return nil
			}
		}
	}
	if texts[0] != texts[1] {
		q.s.fault(ruleNoRaw, "completing the prompt twice gives two texts")
		return nil
	}
	for _, r := range wanting {
		r.raw, r.hasRaw = texts[0], true
	}
	return nil
}

// completion asks for the prompt's completion, special tokens included, which vLLM and SGLang leave
// out unless they are asked.
func (q *question) completion(plan *engine.Plan) ordered.Value {
	w := q.wire(false)
	c := ordered.ObjectOf(ordered.MemberOf("prompt", ordered.Str(plan.Prompt.Text)))
	for _, key := range [...]string{"model", "max_tokens", "temperature", "seed", "top_p", "top_k",
		"min_p"} {
		if value, ok := w.Get(key); ok {
			c = c.With(key, value)
		}
	}
	for _, m := range q.v.Extra.Members() {
		c = c.With(m.Key, m.Value)
	}
	return c.With("skip_special_tokens", ordered.Boolean(false)).
		With("add_special_tokens", ordered.Boolean(false))
}
