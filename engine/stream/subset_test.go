package stream_test

import (
	"fmt"
	"math/rand"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/dialect"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/schema"
	"github.com/goassay/assay/engine/stream"
)

// toleratedSets are the usual tolerances, all, none, and the usual ones without one of them.
var toleratedSets = func() []codegen.Tolerances {
	out := []codegen.Tolerances{codegen.Usual, codegen.Usual | codegen.CloseArguments, 0}
	for i := range codegen.ToleranceNames() {
		if one := codegen.Tolerances(1 << i); codegen.Usual&one != 0 {
			out = append(out, codegen.Usual&^one)
		}
	}
	return out
}()

// subsetForms are the forms, and some that they lack.
var subsetForms = append(slices.Clip(forms),
	form{"keys as tags", calls(format.Calls{Head: []format.Part{lit(`<f n="`), name, lit(`">`)}, Tail: []format.Part{lit("</f>")},
		Body: format.Body{Kind: format.BodyTagged, Codec: format.Codec{Style: format.StyleRaw},
			Entry: []format.Part{lit("<"), key, lit(">"), value, lit("</"), key, lit(">")}}}), nil},
	form{"str values", calls(format.Calls{Call: pair("<c>\n", "\n</c>"),
		Head: []format.Part{lit("<f="), name, lit(">\n")}, Tail: []format.Part{lit("\n</f>")},
		Body: func() format.Body {
			b := tagged("<p=", ">\n", "\n</p>", "\n")
			b.Codec.Style = format.StyleStr
			return b
		}()}), nil},
	form{"delimiter and tags",
		format.Format{End: end,
			Reasoning: format.Reasoning{Mode: format.ReasoningDelimiter,
				Pair: pair("", "</think>")},
			Calls: []format.Calls{{Call: pair("<tool_call>", "</tool_call>"),
				Sep:    format.Mark("\n"),
				Object: plainObject}}}, nil},
	form{"repeated header", format.Format{Header: "<|im_start|>assistant\n", End: end,
		Reasoning: think, Calls: forms[0].f.Calls}, nil},
	form{"undisclosed", format.Format{End: end, Reasoning: think, Undisclosed: true}, nil},
)

// A wish is a kind of request, which describes how its answers are to be read.
type wish struct {
	name     string
	options  func(*codegen.Options)
	call     bool // there must be a call
	parallel bool
	answer   *schema.Schema
}

var wishes = func() []wish {
	v, err := ordered.ParseString(`{"type": "object", "properties": {"amount": {"type": "number"}, "tags": {"type": "array", "items": {"enum": ["a", "b"]}}}, "required": ["amount"]}`)
	if err != nil {
		panic(err)
	}
	s, err := schema.Parse(v)
	if err != nil {
		panic(err)
	}
	return []wish{
		{name: "auto", options: func(*codegen.Options) {}, parallel: true},
		{name: "auto, one call", options: func(o *codegen.Options) { o.Parallel = false }},
		{name: "required", options: func(o *codegen.Options) { o.Choice.Mode = chat.ChoiceRequired }, call: true, parallel: true},
		{name: "named", options: func(o *codegen.Options) {
			o.Choice, o.Parallel = chat.ToolChoice{Mode: chat.ChoiceNamed, Name: "get"}, false
		}, call: true},
		{name: "answer", options: func(o *codegen.Options) { o.Tools, o.JSONSchema, o.HasJSONSchema = nil, v, true }, answer: s},
		{name: "answer or calls", options: func(o *codegen.Options) { o.JSONSchema, o.HasJSONSchema = v, true }, parallel: true, answer: s},
	}
}()

// prefills returns the ends of prompts: nothing, and reasoning that is opened, begun and closed.
func prefills(f format.Format) []string {
	out := []string{""}
	if r := f.Reasoning; r.Open.Text != "" {
		out = append(out, r.Open.Full(), r.Open.Full()+"Well,", r.Open.Full()+r.Close.Full())
	}
	return out
}

// TestSubset draws sentences from the grammars of every form under all tolerances and under subsets
// of them, puts markers into them wherever the grammar lets them through, and demands that the
// parser of the same plan reads them as they are meant (E21): calls are complete and satisfy their
// schemas, no marker is in the content, nothing is lost, and nothing is odd.
func TestSubset(t *testing.T) {
	for _, form := range subsetForms {
		t.Run(form.name, func(t *testing.T) {
			seed := int64(0)
			for _, set := range toleratedSets {
				for _, w := range wishes {
					texts := prefills(form.f)
					newSubset(t, form.f, w, set, texts[seed%int64(len(texts))]).sample(seed)
					seed++
				}
			}
		})
	}
}

// TestSubsetFallbacks does the same with each fallback spelling beside spellings of several kinds.
func TestSubsetFallbacks(t *testing.T) {
	none := format.Format{End: end, Reasoning: think}
	beside := []format.Format{none, formNamed(t, "tagged arguments"), formNamed(t, "bare json")}
	for _, name := range dialect.Names() {
		t.Run(name, func(t *testing.T) {
			seed := int64(0)
			for _, f := range beside {
				for _, w := range wishes {
					with := w
					with.options = func(o *codegen.Options) {
						w.options(o)
						o.Fallbacks = []string{name}
					}
					spelling, _ := dialect.Lookup(name)
					with.call = w.call && len(f.Calls)+len(spelling.Calls) > 0
					texts := prefills(f)
					s := newSubset(t, f, with, codegen.Usual, texts[seed%int64(len(texts))])
					s.sample(seed)
					seed++
				}
			}
		})
	}
}

// FuzzSubset does the same for any set of tolerances.
func FuzzSubset(f *testing.F) {
	for i := range subsetForms {
		f.Add(i, uint16(i*37), i, i, int64(i))
	}
	f.Fuzz(func(t *testing.T, which int, set uint16, wish, prefill int, seed int64) {
		form := subsetForms[uint(which)%uint(len(subsetForms))].f
		texts := prefills(form)
		newSubset(t, form, wishes[uint(wish)%uint(len(wishes))],
			codegen.Tolerances(set)&(codegen.Usual|codegen.CloseArguments),
			texts[uint(prefill)%uint(len(texts))]).sample(seed)
	})
}

// subset judges the texts that the grammar of one plan allows.
type subset struct {
	t          testing.TB
	what       string
	f          format.Format
	w          wish
	tolerances codegen.Tolerances
	out        *codegen.Output
	markers    []string // that no content may have
}

func newSubset(t testing.TB, f format.Format, w wish, set codegen.Tolerances,
	prefill string) *subset {
	o := usual(prefill)
	o.Tolerances = set
	w.options(&o)
	var on []string
	for i, name := range codegen.ToleranceNames() {
		if set&(1<<i) != 0 {
			on = append(on, name)
		}
	}
	return &subset{t: t, what: fmt.Sprintf("%s, prefill %q, with %q", w.name, prefill, on), f: f,
		w: w, tolerances: set, out: generate(t, f, o), markers: openers(f)}
}

// sample judges a sentence and its reading.
func (s *subset) sample(seed int64) {
	s.t.Helper()
	g := grammar(s.t, s.out)
	matcher, err := gbnf.NewMatcher(g)
	if err != nil {
		s.t.Fatal(err)
	}
	random := rand.New(rand.NewSource(seed))
	sampler, err := gbnf.NewSampler(g, random)
	if err != nil {
		s.t.Fatalf("%s: %v", s.what, err)
	}
	sampler.Max = 150
	sentence, err := sampler.Sample()
	if err != nil {
		s.t.Fatal(err)
	}
	s.judge(sentence)
	snippets := append(slices.Clone(s.out.Preserved), " ", "\n", ",", "]", "```", "</tool_call>")
	for _, c := range s.f.Calls {
		snippets = append(snippets, c.Call.Open.Full(), c.Call.Close.Full(), c.Section.Close.Full(),
			c.Sep.Full())
		for _, p := range slices.Concat(c.Head, c.Body.Entry, c.Body.Item, c.Tail) {
			snippets = append(snippets, p.Text.Full())
		}
	}
	for range 8 {
		at := random.Intn(len(sentence) + 1)
		changed := sentence[:at] + snippets[random.Intn(len(snippets))] + sentence[at:]
		if matcher.Reset(); matcher.AcceptString(changed) && matcher.Done() {
			s.judge(changed)
		}
	}
}

// openers returns the literals with which something other than content begins.
func openers(f format.Format) (out []string) {
	add := func(m format.Marker) bool {
		if len(m.Text) > 3 {
			out = append(out, m.Text)
		}
		return m.Text != ""
	}
	add(f.Reasoning.Open)
	add(f.Content.Open)
	add(f.Content.Close)
	for _, c := range f.Calls {
		if !add(c.Section.Open) && !add(c.Call.Open) && len(c.Head) > 0 {
			add(c.Head[0].Text)
		}
	}
	for _, r := range f.Routes {
		add(r.Start)
	}
	return out
}

// judge reads a sentence, after text where the grammar waits for a trigger.
func (s *subset) judge(sentence string) {
	if s.t.Failed() {
		return
	}
	if !s.out.Lazy {
		s.read("", sentence)
		return
	}
	for _, before := range []string{"", " \n", "I look.\n"} {
		if armed(s.out, before+sentence) == len(before) {
			s.read(before, sentence)
		}
	}
}

// armed returns where a lazy grammar begins in a text, -1 if it does not.
func armed(out *codegen.Output, text string) int {
	at := -1
	for _, trigger := range out.Triggers {
		if !trigger.Pattern {
			if i := strings.Index(text, trigger.Text); i >= 0 && (at < 0 || i < at) {
				at = i
			}
		} else if m := regexp.MustCompile(trigger.Text).FindStringSubmatchIndex(text); m != nil &&
			(at < 0 || m[2] < at) {
			at = m[2]
		}
	}
	return at
}

// droppable reports whether dropping the span loses nothing: the end of the turn, as much of it as
// there is, a fence around an answer in JSON, or the end of reasoning that there is none of (E20).
func (s *subset) droppable(text string) bool {
	if s.w.answer != nil {
		text = strings.TrimPrefix(strings.TrimPrefix(text, "```"), "json")
	}
	if close := s.f.Reasoning.Close.Text; close != "" { // of reasoning that is not there
		text = strings.ReplaceAll(text, close, "")
	}
	text = strings.TrimSpace(text)
	return text == "" || slices.ContainsFunc(s.f.End,
		func(end string) bool { return strings.HasPrefix(strings.TrimSpace(end), text) })
}

func (s *subset) read(before, sentence string) {
	s.t.Helper()
	text := before + sentence
	p, m := read(s.t, s.out, text)
	fault := func(format string, args ...any) {
		s.t.Helper()
		s.t.Fatalf("%s: %+q: %s\n%+v\n%s", s.what, text, fmt.Sprintf(format, args...), m,
			p.Diagnostics())
	}
	if _, again := read(s.t, s.out, bytesOf(text)...); !reflect.DeepEqual(again, m) {
		fault("byte by byte it is %+v", again)
	}
	for _, d := range p.Diagnostics() {
		// no grammar of this kind keeps the names of an object apart
		if d.Kind != "repeated-argument" && !s.droppable(d.Text) {
			fault("%s", d)
		}
	}
	for _, span := range p.Coverage() {
		for _, marker := range s.markers {
			if from := (s.out.Prefill +
				text)[span.Off:span.End]; span.Class == stream.ClassContent &&
				strings.Contains(from, marker) {
				fault("the content has the marker %q", marker)
			}
		}
	}
	if around := s.tolerances&codegen.ContentAround != 0 ||
		len(s.f.Routes) > 0; !around && before == "" && len(m.ToolCalls) > 0 && m.Content != "" {
		fault("there is content beside calls")
	}
	want := chat.FinishStop
	if len(m.ToolCalls) > 0 {
		want = chat.FinishToolCalls
		checkCalls(s.t, s.what+": "+text, m, s.w.parallel)
	}
	if got := p.Finish(); got != want {
		fault("finish %s, want %s", got, want)
	}
	switch {
	case s.w.call && len(m.ToolCalls) == 0 &&
		!(s.f.Undisclosed && s.tolerances&codegen.AnySpelling == 0):
		fault("no call")
	case s.w.answer != nil && len(m.ToolCalls) > 0:
		if strings.TrimSpace(m.Content) != "" {
			fault("there are calls and an answer")
		}
	case s.w.answer != nil:
		v, err := ordered.ParseString(m.Content)
		if err != nil {
			fault("the answer is no JSON: %v", err)
		}
		if err := s.w.answer.Validate(v); err != nil {
			fault("%v", err)
		}
	}
}
