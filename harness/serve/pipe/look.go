package pipe

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/spell"
	"github.com/goassay/assay/harness/check/view"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/conversation/standard"
)

func text(s string) ordered.Value { return ordered.Str(s) }

// Named is a request with a name.
type Named struct {
	Name    string        `json:"name"`
	Request ordered.Value `json:"request"`
}

// conversationsOf returns the standard battery, and the conversations that reach something of the
// template which those before do not.
func conversationsOf(t *engine.Template) []Named {
	var all []Named
	for _, c := range standard.Battery() {
		all = append(all, Named{c.Name, c.JSON()})
	}
	x := conversation.Explore(t.ChatTemplate(), conversation.Usual(), t.Caps().Needs.Bound,
		conversation.UsualRenders, nil)
	for _, c := range x.Conversations {
		all = append(all, Named{c.Name, c.Request.Value()})
	}
	return all
}

// asked reads the conversation of a request; without one it is the battery's that has tools.
func (r *request) asked() (chat.Request, error) {
	if r.Request == nil {
		return standard.ToolRequest(), nil
	}
	asked, err := chat.ParseRequest(*r.Request)
	if err != nil {
		return asked, failed("request", err)
	}
	return asked, nil
}

// Prompt is the answer of render. Offsets are bytes of the prompt.
type Prompt struct {
	Prompt  string   `json:"prompt"`
	Prefill *string  `json:"prefill"` // nil where it cannot be told
	Fitted  []string `json:"fitted"`
	Spans   []Origin `json:"spans"` // in order and without gaps
}

// Origin says where a part of a prompt comes from.
type Origin struct {
	Start int `json:"start"`
	End   int `json:"end"`
	// Who is "template", "generation" for the generation prompt, a message's role, "tools", or
	// "variable" for everything else.
	Who  string `json:"who"`
	Path string `json:"path,omitempty"` // of the request, such as messages[1].content
}

func (s *Service) render(r *request) (any, error) {
	t, err := s.template(r)
	if err != nil {
		return nil, err
	}
	if r.As != "" {
		return r.renderAs(t)
	}
	asked, err := r.asked()
	if err != nil {
		return nil, err
	}
	p, err := t.Render(asked)
	if err != nil {
		return nil, refused(err)
	}
	answer := Prompt{Prompt: p.Text, Fitted: p.Fits,
		Spans: originsOf(t, t.Caps().Fit(asked).Input, p.Text)}
	if answer.Fitted == nil {
		answer.Fitted = []string{}
	}
	if prefill, err := p.Prefill(); err == nil {
		answer.Prefill = &prefill
	}
	return answer, nil
}

// renderAs renders what an engine makes of the request, which [view.Options] name.
func (r *request) renderAs(t *engine.Template) (any, error) {
	if r.Request == nil {
		return nil, wrong(`"as" goes with a request`)
	}
	in, prompt, err := view.RenderNamed(r.As, t.ChatTemplate(), *r.Request)
	if err != nil {
		return nil, failed("render", err)
	}
	return Prompt{Prompt: prompt, Fitted: []string{}, Spans: originsOf(t, in, prompt)}, nil
}

// refused is the failure of a render, or of a plan.
func refused(err error) error {
	if errors.Is(err, engine.ErrUnverified) {
		return failed("unverified", err)
	}
	return failed("render", err)
}

// originsOf says of every byte of a prompt where it came from. A continued message is spelled by
// the engine, not by the template: there is nothing to say of such a prompt but that it is one.
func originsOf(t *engine.Template, in chattemplate.Input, prompt string) []Origin {
	o, err := t.ChatTemplate().Observe(in)
	if err != nil || o.String != prompt {
		return []Origin{{End: len(prompt), Who: "template"}}
	}
	begin := len(prompt) // of the generation prompt
	if in.Generate {
		without := in
		without.Generate = false
		if text, err := t.ChatTemplate().Render(without); err == nil &&
			strings.HasPrefix(prompt, text) {
			begin = len(text)
		}
	}
	all := []Origin{}
	add := func(one Origin) {
		if n := len(all); n > 0 && all[n-1].Who == one.Who && all[n-1].Path == one.Path {
			all[n-1].End = one.End
		} else if one.End > one.Start {
			all = append(all, one)
		}
	}
	for at, run := range o.All() {
		end := at + run.Len
		who, path := whose(in, run.Origin.Path)
		if who == "template" && at < begin && end > begin {
			add(Origin{at, begin, who, path})
			at = begin
		}
		if who == "template" && at >= begin {
			who = "generation"
		}
		add(Origin{at, end, who, path})
	}
	return all
}

// whose says whose text a path of the request is.
func whose(in chattemplate.Input, path string) (who, shown string) {
	switch {
	case path == "":
		return "template", ""
	case strings.HasPrefix(path, "tools"):
		return "tools", path
	case !strings.HasPrefix(path, "messages["):
		return "variable", path
	}
	number, _, _ := strings.Cut(path[len("messages["):], "]")
	i, err := strconv.Atoi(number)
	if err != nil || i >= len(in.Messages) {
		return "variable", path
	}
	return in.Messages[i].At("role").Text(), path
}

// Analyzed is the answer of analyze.
type Analyzed struct {
	Caps     ordered.Value `json:"caps"`
	Format   string        `json:"format"`
	Evidence []string      `json:"evidence"`
	Sample   string        `json:"sample"` // an answer as the format spells it, with as many parts as it has
	Diagram  Node          `json:"diagram"`
}

func (s *Service) analyze(r *request) (any, error) {
	t, err := s.template(r)
	if err != nil {
		return nil, err
	}
	a := t.Analysis()
	answer := Analyzed{Caps: t.Caps().Value(), Format: a.Format.String(), Evidence: []string{},
		Diagram: Diagram(a.Format), Sample: sample(a.Format)}
	for _, e := range a.Evidence {
		answer.Evidence = append(answer.Evidence, e.String())
	}
	return answer, nil
}

// Proven is the answer of verify.
type Proven struct {
	Gate     string `json:"gate"` // the gate's verdict in words
	Verified bool   `json:"verified"`
	Why      string `json:"why,omitempty"` // the part that is not verified
}

func (s *Service) verify(r *request) (any, error) {
	t, err := s.template(r)
	if err != nil {
		return nil, err
	}
	answer := Proven{Gate: t.Gate().String(), Verified: t.Verify().OK()}
	if err := t.Exhausted(); err != nil {
		return nil, failed("limit", err)
	}
	if !answer.Verified {
		answer.Why = t.Verify().String()
	}
	return answer, nil
}

// sample spells an answer to the standard request: with reasoning, content and two calls, or as
// many of them as the format has.
func sample(f format.Format) string {
	calls := []chat.ToolCall{
		{ID: "call00001", Name: "get_weather", Arguments: `{"city": "Zürich", "days": 3}`, Complete: true},
		{ID: "call00002", Name: "list_notes", Arguments: `{}`, Complete: true},
	}
	const thought, said = "Zürich first, then the notes.", "I look."
	for _, m := range []chat.Message{
		{Reasoning: thought, Content: said, ToolCalls: calls},
		{Reasoning: thought, ToolCalls: calls}, {Content: said, ToolCalls: calls},
		{ToolCalls: calls}, {ToolCalls: calls[:1]}, {Reasoning: thought, Content: said},
	} {
		if s, err := spell.Of(f, m); err == nil {
			return s.String()
		}
	}
	return said
}

// reading returns how answers to a request are to be read.
func (r *request) reading() (engine.PrepareOptions, error) {
	tolerances := codegen.Usual
	for _, name := range slices.Sorted(maps.Keys(r.Tolerances)) {
		one, err := codegen.ParseTolerance(name)
		if err != nil {
			return engine.PrepareOptions{}, wrong("%v", err)
		}
		if tolerances &^= one; r.Tolerances[name] {
			tolerances |= one
		}
	}
	o := engine.PrepareOptions{Insist: r.Insist, Fallbacks: r.Fallbacks, Tolerances: &tolerances,
		Prefill: r.Prefill}
	if r.Incomplete != "" {
		var err error
		if o.Incomplete, err = codegen.ParseIncomplete(r.Incomplete); err != nil {
			return o, wrong("%v", err)
		}
	}
	return o, nil
}

// plan prepares the conversation of a request.
func (s *Service) plan(r *request) (*engine.Plan, error) {
	t, err := s.template(r)
	if err != nil {
		return nil, err
	}
	asked, err := r.asked()
	if err != nil {
		return nil, err
	}
	o, err := r.reading()
	if err != nil {
		return nil, err
	}
	plan, err := t.Prepare(asked, o)
	if err != nil {
		return nil, refused(err)
	}
	return plan, nil
}

// Constraint is the answer of grammar.
type Constraint struct {
	Grammar   string           `json:"grammar"`
	Lazy      bool             `json:"lazy"`
	Triggers  []engine.Trigger `json:"triggers"`
	Stops     []string         `json:"stops"`
	Preserved []string         `json:"preserved"`
}

func (s *Service) grammar(r *request) (any, error) {
	plan, err := s.plan(r)
	if err != nil {
		return nil, err
	}
	grammar, err := s.written(plan, r)
	if err != nil {
		return nil, err
	}
	return Constraint{grammar, plan.Lazy, plan.Triggers, plan.Stops, plan.Preserved}, nil
}

// lazily is the language of grammars that wait for a trigger; the others are of whole answers.
const lazily = "lazy-gbnf"

// written writes a plan's grammar in the language of a request.
func (s *Service) written(plan *engine.Plan, r *request) (string, error) {
	if r.Language == "" || r.Language == lazily {
		grammar, err := plan.Grammar()
		if err != nil {
			return "", failed("render", err)
		}
		return grammar, nil
	}
	write, ok := s.o.Grammars[r.Language]
	if !ok {
		return "", wrong("there is no language %q; there are %s", r.Language,
			strings.Join(append(slices.Sorted(maps.Keys(s.o.Grammars)), lazily), ", "))
	}
	known, err := s.tokenizer(r.Template)
	if err != nil {
		return "", err
	}
	grammar, err := write(plan, known.vocabulary)
	if err != nil {
		return "", failed("language", err)
	}
	return grammar, nil
}

// emit writes a template's format for another engine, or the grammar of the answers to a request.
func (s *Service) emit(r *request) (any, error) {
	write, ok := s.o.Objects[r.Target]
	if !ok {
		r.Language = r.Target
		plan, err := s.plan(r)
		if err != nil {
			return nil, err
		}
		return s.written(plan, r)
	}
	t, err := s.template(r)
	if err != nil {
		return nil, err
	}
	text, err := write(t)
	if err != nil {
		return nil, failed("language", err)
	}
	return text, nil
}

// Segment says whose a part of a prompt is, in bytes.
type Segment struct {
	Offset int    `json:"offset"`
	Size   int    `json:"size"`
	Own    bool   `json:"own"` // the template's
	Path   string `json:"path,omitempty"`
	Role   string `json:"role,omitempty"`
	Turn   *int   `json:"turn,omitempty"` // nil where the segment is of no message
}

func (s *Service) segments(r *request) (any, error) {
	plan, err := s.plan(r)
	if err != nil {
		return nil, err
	}
	segments, err := plan.Prompt.Segments()
	if err != nil {
		return nil, refused(err)
	}
	all := []Segment{}
	for one := range segments.All() {
		told := Segment{Offset: one.Off, Size: len(one.Text), Own: one.Own, Path: one.Path(),
			Role: one.Role()}
		if turn := one.Turn(); told.Role != "" {
			told.Turn = &turn
		}
		all = append(all, told)
	}
	return struct {
		Segments []Segment `json:"segments"`
	}{all}, nil
}

// text returns the template that a reference names.
func (s *Service) text(r *request) (any, error) {
	src, err := s.source(r, "template", r.Template)
	if err != nil {
		return nil, err
	}
	return struct {
		Name     string `json:"name"`
		Text     string `json:"text"`
		BOS      string `json:"bos"`
		EOS      string `json:"eos"`
		StandIns bool   `json:"stand_ins"` // bos and eos are not the model's
	}{src.Name, src.Text, src.BOS, src.EOS, src.StandIns}, nil
}

// Stream is the answer of stream. Offsets are bytes of the output; those of the prefill are
// negative.
type Stream struct {
	Output  string       `json:"output"`
	Prefill string       `json:"prefill"`
	Steps   []Step       `json:"steps"`
	Parts   []Part       `json:"parts"`
	Message chat.Message `json:"message"`
	Finish  string       `json:"finish_reason"`
	Odd     []Diagnostic `json:"diagnostics"`
}

// Step is the result of a piece of the output.
type Step struct {
	At     int          `json:"at"`     // bytes read so far
	Deltas []chat.Delta `json:"deltas"` // the deltas that left with this piece
	Held   int          `json:"held"`   // bytes that are held
	Why    string       `json:"why,omitempty"`
}

// Part is a part of the output and its fate.
type Part struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Class string `json:"class"`
}

// Diagnostic is something odd in an output.
type Diagnostic struct {
	At      int    `json:"at"`
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Text    string `json:"text,omitempty"`
}

func diagnostics(plan *engine.Plan, p *engine.Parser) []Diagnostic {
	all := []Diagnostic{}
	for _, d := range p.Diagnostics() {
		all = append(all, Diagnostic{d.Off - len(plan.Prefill), d.Kind, d.Msg, d.Text})
	}
	return all
}

// reasonOf reads why an output ended.
func reasonOf(word string) (chat.FinishReason, error) {
	switch reason := chat.FinishReason(word); reason {
	case "":
		return chat.FinishStop, nil
	case chat.FinishStop, chat.FinishLength, chat.FinishContentFilter:
		return reason, nil
	}
	return "", wrong(`there is no reason %q; there are "stop", "length" and "content_filter"`, word)
}

// maxSteps bounds the output of a stream whose every byte is a step.
const maxSteps = 64 << 10

// stream feeds an output, cut where the request says so, or after every character.
func (s *Service) stream(r *request) (any, error) {
	reason, err := reasonOf(r.Reason)
	if err != nil {
		return nil, err
	}
	cuts := r.Cuts
	if cuts == nil {
		if len(r.Output) > maxSteps {
			return nil, wrong("the output has %d bytes; without "+
				"cuts it may have %d", len(r.Output), maxSteps)
		}
		for i := range r.Output {
			if i > 0 {
				cuts = append(cuts, i)
			}
		}
	}
	if !slices.IsSorted(cuts) ||
		len(cuts) > 0 && (cuts[0] < 0 || cuts[len(cuts)-1] > len(r.Output)) {
		return nil, wrong("cuts are offsets into the output in rising "+
			"order, at most %d", len(r.Output))
	}
	plan, err := s.plan(r)
	if err != nil {
		return nil, err
	}
	p := plan.NewParser()
	answer := Stream{Output: r.Output, Prefill: plan.Prefill, Parts: []Part{}}
	step := func(at int, deltas []chat.Delta) {
		held, why := p.Held()
		answer.Steps = append(answer.Steps, Step{at, cloned(deltas), held, why})
	}
	from := 0
	for _, to := range append(slices.Clone(cuts), len(r.Output)) {
		step(to, p.Write([]byte(r.Output[from:to])))
		from = to
	}
	step(len(r.Output), p.Close(reason))
	for _, c := range p.Coverage() {
		if start, end := max(0, c.Off-p.Prefill()), c.End-p.Prefill(); end > start {
			answer.Parts = append(answer.Parts, Part{start, end, c.Class.String()})
		}
	}
	answer.Message, answer.Finish, answer.Odd = p.Message(), string(p.Finish()),
		diagnostics(plan, p)
	return answer, nil
}

// cloned returns deltas that stay valid.
func cloned(deltas []chat.Delta) []chat.Delta {
	all := make([]chat.Delta, len(deltas))
	for i, d := range deltas {
		d.ToolCalls = slices.Clone(d.ToolCalls)
		all[i] = d
	}
	return all
}
