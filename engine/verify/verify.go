// Package verify proves an analysed format (E28): for the turn that the template writes for a
// message, the format alone spells the same bytes, the parser that was generated from it reads back
// the same message, and its grammar takes the calls.
//
// # Model
//
// A shape is a kind of answer: content, reasoning and content, one call, two calls, values of every
// type, and so on. For each shape a message is made up and rendered as the last one of a
// conversation; the text after the header is the text that a model would have produced. Provenance
// reports which parts of the message the template wrote at all: a part that it drops (content
// beside calls, say) is not expected back, and the report names it.
//
// # Proofs
//
//	spelling  package spell writes the message from the format alone, and the turn is one of its texts
//	parse     the turn is read back as the message, in one go and byte by byte; rule A004 makes the other cuts
//	grammar   a grammar with the shapes' tools takes the turn, as far as it constrains it; of shapes with calls
//
// A shape is verified when all of them hold. The parser alone proves little, since it is loose; a
// wrong format that it forgives spells another text, or forces a model off its own. A shape whose
// turn means two things ([Ambiguous]) cannot be read back by any parser; it has to be spelled right
// all the same.
//
// # Use
//
// Neither the analysis nor Prepare calls this package (E11); the façade offers it, the harness runs
// it on every template.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package verify

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/goassay/assay/engine/caps"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/internal/analysis"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/schema"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/engine/spell"
	"github.com/goassay/assay/engine/stream"
)

// Verdict is the outcome for a shape.
type Verdict uint8

// The verdicts.
const (
	Verified Verdict = iota // all proofs hold
	Dropped                 // the template writes nothing of the parts that make up the shape
	Refused                 // the template refuses the shape in its own words
	// read back as something else, because the template's own writing means two things
	Ambiguous
	// no such shape can be rendered, though the template does not refuse it (E32)
	Unjudged
	Failed // a proof does not hold
)

var verdicts = [...]string{"verified", "dropped", "refused", "ambiguous", "not judged", "failed"}

func (v Verdict) String() string { return verdicts[v] }

// Proof is one of the proofs of a shape.
type Proof uint8

// The proofs.
const (
	Parse    Proof = iota // the parser reads the turn back as the message
	Spelling              // the format alone spells the turn
	Grammar               // the grammar takes the turn
)

var proofs = [...]string{"parse", "spelling", "grammar"}

func (p Proof) String() string { return proofs[p] }

// MarshalText implements [encoding.TextMarshaler].
func (p Proof) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Fault is a proof that does not hold, with the difference.
type Fault struct {
	Proof Proof
	Text  string
}

func (f Fault) String() string { return f.Proof.String() + ": " + f.Text }

// Shape is one kind of answer, with its outcome.
type Shape struct {
	Name    string
	Tools   bool // has calls
	Verdict Verdict
	Note    string  // why it was dropped or refused, or the difference
	Faults  []Fault // of a shape that failed: the proofs that do not hold, in their order
	Turn    string  // the text that the template writes for it
}

// Fails reports whether a proof of the shape does not hold.
func (s Shape) Fails(p Proof) bool {
	return slices.ContainsFunc(s.Faults, func(f Fault) bool { return f.Proof == p })
}

// fail notes a proof that does not hold.
func (s *Shape) fail(p Proof, text string) {
	if s.Faults == nil {
		s.Verdict, s.Note = Failed, ""
	} else {
		s.Note += "; "
	}
	f := Fault{p, text}
	s.Faults = append(s.Faults, f)
	s.Note += f.String()
}

// String returns "name: verdict" and the note, in one line.
func (s Shape) String() string {
	line := s.Name + ": " + s.Verdict.String()
	if s.Note != "" {
		line += " (" + s.Note + ")"
	}
	return line
}

// Report is the outcome for all shapes, in a fixed order.
type Report struct{ Shapes []Shape }

// OK reports whether all shapes were judged and none failed.
func (r *Report) OK() bool { return !slices.ContainsFunc(r.Shapes, Shape.bad) }

// bad reports whether a shape failed, or was not judged.
func (s Shape) bad() bool { return s.Verdict == Failed || s.Verdict == Unjudged }

// Proven returns nil where answers are proven to be read as they are meant: no shape failed or was
// left unjudged, and some shape is verified. With calls it asks so of the shapes with calls as well
// as of the others.
func (r *Report) Proven(calls bool) error {
	for _, tools := range []bool{false, true} {
		about := lists.Filter(r.Shapes, func(s Shape) bool {
			return s.Tools == tools && (calls || !tools)
		})
		failed := slices.DeleteFunc(slices.Clone(about), func(s Shape) bool { return !s.bad() })
		proven := func(s Shape) bool { return s.Verdict == Verified || s.Verdict == Ambiguous }
		switch {
		case len(failed) > 1:
			return fmt.Errorf("%s; and %d more", failed[0], len(failed)-1)
		case len(failed) == 1:
			return errors.New(failed[0].String())
		case len(about) > 0 && !slices.ContainsFunc(about, proven):
			return fmt.Errorf("nothing proves it: %s", about[0])
		}
	}
	return nil
}

// Unread returns why no answer with calls is read back: shapes with calls fail, and none is
// verified. nil: some is, or nothing is known of them.
func (r *Report) Unread() error {
	var failed error
	for _, s := range r.Shapes {
		switch {
		case !s.Tools:
		case s.Verdict == Verified || s.Verdict == Ambiguous || s.Verdict == Unjudged:
			return nil
		case s.Verdict == Failed && failed == nil:
			failed = errors.New(s.String())
		}
	}
	return failed
}

// String returns a line per shape.
func (r *Report) String() string {
	var b strings.Builder
	for _, s := range r.Shapes {
		b.WriteString(s.String() + "\n")
	}
	return b.String()
}

// Verify verifies the format of an analysis against its template, with the parsers of a generator
// for that format. It fits the conversations that it renders to the capabilities, as every request
// is.
func Verify(t *chattemplate.Template, c caps.Caps, a *analysis.Analysis,
	g *codegen.Generator) *Report {
	v := verifier{template: t, caps: c, analysis: a}
	v.output = sync.OnceValues(func() (*codegen.Output, error) {
		return g.Generate(
			codegen.Options{Tools: Tools(), Parallel: true, Tolerances: codegen.Usual})
	})
	v.matcher = sync.OnceValues(func() (*gbnf.Matcher, error) {
		out, err := v.output()
		if err != nil {
			return nil, err
		}
		grammar, err := out.Grammar()
		if err != nil || grammar == nil {
			return nil, err
		}
		return gbnf.NewMatcher(grammar)
	})
	r := &Report{}
	for _, s := range shapes {
		r.Shapes = append(r.Shapes, v.run(s))
	}
	return r
}

type verifier struct {
	template *chattemplate.Template
	caps     caps.Caps
	analysis *analysis.Analysis
	output   func() (*codegen.Output, error) // reads the turns
	// tries turns on the grammar; nil: nothing is constrained
	matcher func() (*gbnf.Matcher, error)
}

// shape is a message to render.
type shape struct {
	name      string
	reasoning string
	content   string
	calls     []call
}

type call struct {
	name string
	args ordered.Value
}

func args(text string) ordered.Value {
	v, err := ordered.ParseString(text)
	if err != nil {
		panic("verify: bad arguments in the table of shapes: " + err.Error())
	}
	return v
}

const (
	thought = "First I look at it.\nThen I decide."
	// AwkwardStrings is the shape that tells formats apart in which any string can be written from
	// those in which it cannot.
	AwkwardStrings = "awkward strings"

	closing = "That is all."

	answer = "Here is the answer:\n\n- one, \"two\" & <three>"
)

var shapes = []shape{
	{name: "content", content: answer},
	{name: "reasoning and content", reasoning: thought, content: answer},
	{name: "call", calls: []call{{"look_up", args(`{"query": "weather in Kraków", "limit": 3}`)}}},
	{name: "call without arguments", calls: []call{{"ping", args(`{}`)}}},
	{name: "content and call", content: answer, calls: []call{{"look_up", args(`{"query": "x"}`)}}},
	{name: "reasoning and call", reasoning: thought, calls: []call{{"look_up", args(`{"query": "x"}`)}}},
	{name: "two calls", calls: []call{{"look_up", args(`{"query": "a"}`)}, {"look_up_all", args(`{"queries": ["b", "c"]}`)}}},
	{name: "three calls", calls: []call{{"look_up", args(`{"query": "a"}`)}, {"ping", args(`{}`)}, {"look_up", args(`{"query": "b", "limit": 1}`)}}},
	{name: "typed values", calls: []call{{"all_types", args(`{"text": "02134", "whole": -12, "real": 1.5, "yes": true, "no": false, "object": {"a": {"b": ["one", "two"]}}, "array": ["one", "two"]}`)}}},
	{name: "null", calls: []call{{"all_types", args(`{"nothing": null}`)}}},
	{name: AwkwardStrings, calls: []call{{"all_types", args(`{"text": "  line one\n\tline \"two\" {brace} 'single' \\ back & amp <b>\n"}`)}}},
}

// run renders and parses one shape.
func (v *verifier) run(s shape) Shape {
	result := Shape{Name: s.name, Tools: len(s.calls) > 0}
	switch {
	case !result.Tools || v.analysis.Unread == "":
	case v.caps.WhyUnjudged("supports_tool_calls") != nil:
		result.Verdict, result.Note = Unjudged, v.analysis.Unread
		return result
	default:
		result.fail(Parse, v.analysis.Unread)
		return result
	}
	if result.Tools && (!v.analysis.HasCalls() || v.analysis.Format.Undisclosed) {
		result.Verdict, result.Note = Dropped, "the template writes no call"
		return result
	}
	turn, want, err := v.render(s)
	switch {
	case err != nil:
		if result.Verdict, result.Note = Unjudged,
			firstLine(err.Error()); jinja.Class(err) == "TemplateError" {
			result.Verdict = Refused
		}
		return result
	case want.note != "" && !want.any:
		result.Verdict, result.Note = Dropped, want.note
		return result
	}
	if want.message.Reasoning != "" {
		turn = v.prompted(turn)
	}
	result.Turn, result.Note = turn, want.note
	v.prove(&result, s, want.message)
	return result
}

// prove tries the proofs on a shape's turn.
func (v *verifier) prove(result *Shape, s shape, want chat.Message) {
	turn := result.Turn
	out, err := v.output()
	if err != nil {
		result.fail(Parse, firstLine(err.Error()))
		return
	}
	var got chat.Message
	parser := stream.NewParser(out)
	for _, whole := range []bool{true, false} {
		got = parse(parser, turn, whole)
		if diff := compare(got, want); diff != "" {
			if why := v.ambiguity(s, turn, got, want); why != "" {
				result.Verdict, result.Note = Ambiguous, why
			} else {
				result.fail(Parse, diff)
			}
			break
		}
	}
	n, err := v.spelled(want, turn)
	if err != nil && result.Verdict == Ambiguous {
		if _, err = v.spelled(got, turn); result.Note == unclosed || result.Note == unescaped {
			err = nil // no message is spelled so: the turn lacks a close, or an escape
		} // else the turn is right for its other meaning
	}
	if err == nil && result.Verdict == Verified {
		err = v.ended(turn[n:])
	}
	if err != nil {
		result.fail(Spelling, err.Error())
	}
	// in a grammar the first quote ends a string
	if result.Verdict == Verified && result.Tools &&
		!(s.name == AwkwardStrings && v.analysis.Unescaped) {
		if refusal := v.constrain(turn[:n]); refusal != "" {
			result.fail(Grammar, refusal)
		}
	}
}

// spelled returns the length of the text of a message's spelling with which a turn begins, or how
// the turn departs from it.
func (v *verifier) spelled(m chat.Message, turn string) (int, error) {
	spelling, err := spell.Of(v.analysis.Format, m)
	if err != nil {
		return 0, err
	}
	return spelling.Match(turn)
}

// ended checks the text after the end of a turn: nothing, white space, or another marker, between
// brackets or as a turn or its end begins. Anything else that stands right there belongs to an end
// that the format has by half.
func (v *verifier) ended(rest string) error {
	if rest == "" || strings.IndexByte(format.Space, rest[0]) >= 0 ||
		len(v.analysis.Format.Routes) > 0 || bracketed(rest) {
		return nil
	}
	for _, end := range append(slices.Clone(v.analysis.Format.End), v.analysis.Format.Header) {
		if end = strings.Trim(end, format.Space); end != "" && strings.HasPrefix(rest, end) {
			return nil
		}
	}
	return fmt.Errorf("the template writes %q right after the end of the turn, which the "+
		"format does not have", source.Cut(rest, maxQuoted))
}

// bracketed reports whether a text begins with a marker between brackets.
func bracketed(text string) bool {
	first, size := utf8.DecodeRuneInString(text)
	at := slices.Index([]rune(format.OpenBrackets), first)
	if at < 0 {
		return false
	}
	shut := strings.IndexRune(text[size:], []rune(format.ShutBrackets)[at])
	return shut > 0 && !strings.Contains(text[size:size+shut], "\n")
}

// maxQuoted bounds a text in a message, in bytes.
const maxQuoted = 60

// constrain describes how a grammar refuses a turn with calls, "" if it takes it, as far as it
// constrains it.
func (v *verifier) constrain(turn string) string {
	out, err := v.output()
	if err != nil {
		return err.Error()
	}
	matcher, err := v.matcher()
	if err != nil {
		return err.Error()
	} else if matcher == nil {
		return "" // nothing to constrain
	}
	text, ok := out.Constrained(turn)
	if !ok {
		return "nothing in the turn arms the grammar"
	}
	refusal, err := matcher.Refusal(text)
	if err != nil {
		return err.Error()
	}
	return refusal
}

// prompted returns a turn that shows the close of reasoning alone after the prefill that opens it:
// a model writes such a turn only where the prompt does so.
func (v *verifier) prompted(turn string) string {
	r := v.analysis.Format.Reasoning
	if r.Open.Text == "" || r.Close.Text == "" || strings.Contains(turn, r.Open.Text) ||
		!strings.Contains(turn, r.Close.Text) {
		return turn
	}
	for _, p := range v.analysis.Prefills {
		if strings.Contains(p, r.Open.Text) && !strings.Contains(p, r.Close.Text) {
			return p + turn
		}
	}
	return turn
}

// Why turns mean two things; unclosed and unescaped ones are spelled as no message is.
const (
	// Misplaced says that what the model says beside its calls is taken for its reasoning.
	Misplaced = "the text beside calls stands where reasoning does"
	unclosed  = "the template opens reasoning before content and does not close it"
	// Padded says that a turn ends in white space and in nothing else.
	Padded    = "the white space that ends it may be the template's or the text's own"
	unescaped = "strings are written as they are, and their end is not escaped inside"
	// Joined says that no array is told from a string.
	Joined = "an array is written as its items alone, as a string with their text is"
)

// ambiguity returns the reason why no parser could have read a turn back as it was meant, "" if one
// could. The reason is always something else that the template writes, never a finding about its
// format.
func (v *verifier) ambiguity(s shape, turn string, got, want chat.Message) string {
	swapped := len(want.ToolCalls) == len(got.ToolCalls) && want.Reasoning == "" &&
		want.Content != "" && got.Reasoning == want.Content && got.Content == ""
	switch {
	case swapped && v.writes(s, got, func(other string) bool { return other == turn }):
		return Misplaced
	case v.unmarked(s, turn, got, want):
		return "the template writes reasoning as it writes content"
	case swapped && v.opened(s, turn, got):
		return unclosed
	case swapped && len(s.calls) > 0 && v.thinks(turn, got.Reasoning):
		return Misplaced
	case v.padded(s, turn, got, want):
		return Padded
	case s.name == AwkwardStrings && v.unescaped(s, turn):
		return unescaped
	case v.joined(s, turn, got):
		return Joined
	}
	return ""
}

// joined reports whether a turn is the same with the strings that were read in place of arrays.
func (v *verifier) joined(s shape, turn string, got chat.Message) bool {
	other, found := s, false
	other.calls = slices.Clone(s.calls[:min(len(s.calls), len(got.ToolCalls))])
	for i, c := range other.calls {
		read, _ := ordered.ParseString(got.ToolCalls[i].Arguments)
		found = found || slices.ContainsFunc(c.args.Members(), func(m ordered.Member) bool {
			return m.Value.Kind() == ordered.Array && read.At(m.Key).Kind() == ordered.String
		})
		other.calls[i].args = read
	}
	return found && v.writes(other, chat.Message{Reasoning: s.reasoning, Content: s.content},
		func(text string) bool { return text == turn })
}

// writes reports whether the turn that the template writes for a shape with the text of another
// message satisfies is.
func (v *verifier) writes(s shape, m chat.Message, is func(turn string) bool) bool {
	s.reasoning, s.content = m.Reasoning, m.Content
	turn, _, err := v.render(s)
	return err == nil && is(turn)
}

// thinks reports whether a turn begins as one whose reasoning is a text, up to and with a part of
// its close.
func (v *verifier) thinks(turn, text string) bool {
	other, _, err := v.render(shape{reasoning: text, content: closing})
	lead, behind, found := strings.Cut(other, text)
	rest, ok := strings.CutPrefix(turn, lead+text)
	shared := 0
	for shared < len(rest) && shared < len(behind) && rest[shared] == behind[shared] {
		shared++
	}
	return err == nil && found && ok && strings.Trim(lead, format.Space) != "" &&
		strings.Trim(rest[:shared], format.Space) != ""
}

// unmarked reports whether reasoning was read as content, all of it and nothing else, and that the
// template writes the same where it is content: white space alone tells the two apart.
func (v *verifier) unmarked(s shape, turn string, got, want chat.Message) bool {
	squeeze := func(text string) string { return strings.Join(strings.Fields(text), "") }
	return want.Reasoning != "" && got.Reasoning == "" &&
		squeeze(got.Content) == squeeze(want.Reasoning+want.Content) &&
		v.writes(s, got, func(other string) bool { return squeeze(other) == squeeze(turn) })
}

// opened reports whether a turn goes on from its beginning to the end of its text as it would where
// the text is reasoning. Where the template writes no reasoning, it shows elsewhere that it is:
// prompts begin as the turn does, and it takes the text that such a prompt would have made
// reasoning out of a past answer.
func (v *verifier) opened(s shape, turn string, got chat.Message) bool {
	lead, _, _ := strings.Cut(turn, got.Reasoning)
	if strings.Trim(lead, format.Space) == "" {
		return false
	}
	// the close is the template's own, where there is something to close
	closes := func(other string) bool {
		rest, ok := strings.CutPrefix(other, lead+got.Reasoning)
		return ok && strings.HasPrefix(strings.TrimLeft(rest, format.Space),
			v.analysis.Format.Reasoning.Close.Text)
	}
	if v.writes(s, got, closes) {
		return true
	}
	return slices.Contains(v.analysis.Prefills, lead) && v.takesOut(got.Reasoning)
}

// takesOut reports whether the template writes only the part of a past answer after the close of
// reasoning.
func (v *verifier) takesOut(thought string) bool {
	close := v.analysis.Format.Reasoning.Close.Text
	past, err := v.observe(chat.Request{Messages: []ordered.Value{asked(),
		shape{content: thought + close + closing}.message(), asked()}})
	text := past.Text.String
	return err == nil && close != "" && strings.Contains(text, closing) &&
		!strings.Contains(text, thought)
}

// observe renders a request as the engine does, with provenance.
func (v *verifier) observe(r chat.Request) (chattemplate.Observation, error) {
	r.NoGeneration = true
	return v.template.Observe(v.caps.Fit(r).Input)
}

// padded reports whether a turn ends with white space after content that has been read as content,
// and that content with as much of its own is written with more.
func (v *verifier) padded(s shape, turn string, got, want chat.Message) bool {
	return want.Content != "" && strings.TrimRight(got.Content, format.Space) == want.Content &&
		got.Reasoning == want.Reasoning && strings.HasSuffix(turn, got.Content) &&
		v.writes(s, got, func(other string) bool {
			return other != turn && strings.HasPrefix(other, turn)
		})
}

// unescaped reports whether the shape's string is written as it is, and holds the text that stands
// after every string.
func (v *verifier) unescaped(s shape, turn string) bool {
	const first, second = "vfyfirst", "vfysecond"
	awkward := s.calls[0].args.Members()[0].Value.Text()
	pair := s
	pair.calls = []call{{s.calls[0].name, args(`{"` + first + `": "` + first + `", "` + second + `": "` + second + `"}`)}}
	other, _, err := v.render(pair)
	if err != nil || !strings.Contains(turn, awkward) {
		return false
	}
	behind := func(text string) string { // the text after its last place, the key being the first
		return other[strings.LastIndex(other, text)+len(text):]
	}
	x, y := behind(first), behind(second)
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	end := strings.Trim(x[:n], format.Space)
	return end != "" && strings.Contains(awkward, end)
}

// ArrayIn returns the place of the first argument of tools, by its name, its pattern or as one of
// the rest, that is declared and may be an array; "" where there is none. An argument without a
// type is taken as a string.
func ArrayIn(tools []chat.Tool) string {
	for i, tool := range tools {
		at := fmt.Sprintf("tools[%d].function.parameters", i)
		s, err := schema.ParseObjectAt(at, tool.Parameters)
		if err != nil {
			continue // which is refused elsewhere
		}
		fs := slices.Clip(s.Fields())
		for _, l := range append([]*schema.Schema{s}, s.Alts...) {
			for _, p := range l.PatternProperties {
				fs = append(fs, schema.Property{Name: p.Pattern.Text, Schema: p.Schema})
			}
			if l.Additional != nil {
				fs = append(fs, schema.Property{Name: "additionalProperties", Schema: l.Additional})
			}
		}
		for _, f := range fs {
			if t := f.Schema.Types(); t&schema.Array != 0 && t != schema.AnyType {
				return fmt.Sprintf("%s: %q", at, f.Name)
			}
		}
	}
	return ""
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// parse feeds a turn to a parser, in one go or byte by byte.
func parse(p *stream.Parser, turn string, whole bool) chat.Message {
	p.Reset()
	if whole {
		p.Write([]byte(turn))
	} else {
		text := []byte(turn)
		for i := range text {
			p.Write(text[i : i+1])
		}
	}
	p.Close(chat.FinishStop)
	return p.Message()
}

// expected is the part of a shape's message that the template writes.
type expected struct {
	message chat.Message
	note    string // the parts that it drops
	any     bool   // the part that makes up the shape is written
}

// render renders a shape and returns the text after the header with the message that should be read
// from it.
func (v *verifier) render(s shape) (string, expected, error) {
	r := chat.Request{
		Messages: []ordered.Value{asked(), s.message()},
		Kwargs:   ordered.ObjectOf(v.caps.Needs.Thinking...),
	}
	// no more than are called: one that a template fails to describe says nothing of the others
	for _, t := range tools() {
		if slices.ContainsFunc(s.calls, func(c call) bool { return c.name == t.Name }) {
			r.Tools = append(r.Tools, t)
		}
	}
	if v.analysis.BesideTools && len(r.Tools) == 0 {
		r.Tools = Tools()[:1]
	}
	if v.caps.Needs.Followed {
		r.Messages = append(r.Messages, asked())
	}
	o, err := v.observe(r)
	if err != nil {
		return "", expected{}, err
	}
	start, stop := 0, len(o.Text.String)
	written := map[string]int{} // the first byte of the text that was copied from a path
	last := map[string]int{}    // and where the last of it ends
	for pos, run := range o.All() {
		if v.caps.Needs.ToolsSystem && len(r.Tools) > 0 {
			run.Path = withoutSystem(run.Path)
		}
		if run.Role == jinja.FromValue {
			if run.Path == "messages[0].content" || run.Path == "messages[0].content[0].text" {
				start = pos + run.Len
			}
			// the message that follows
			if strings.HasPrefix(run.Path, "messages[2].content") && stop == len(o.Text.String) {
				stop = len(strings.TrimSuffix(o.Text.String[:pos], v.analysis.NextTurn))
			}
			if _, ok := written[run.Path]; !ok {
				written[run.Path] = pos
			}
			last[run.Path] = pos + run.Len
		}
	}
	if stop == len(o.Text.String) {
		stop = len(strings.TrimSuffix(o.Text.String, v.analysis.NextPrompt))
	}
	turn, ok := v.analysis.CutTurn(o.Text.String[start:max(start, stop)])
	if !ok && v.analysis.Judged {
		return "", expected{note: "the template writes the message as a part of the " +
			"question, and no answer"}, nil
	} else if !ok {
		return "", expected{}, fmt.Errorf("the turn does not "+
			"begin with the header %q", v.analysis.Format.Header)
	}
	// A template may write a second turn for the same message; the text there is not this turn's.
	end, from := len(turn), 0
	if c := v.analysis.Format.Reasoning.Close.Text; c != "" && strings.Contains(turn, c) {
		from = strings.Index(turn, c) + len(c)
	}
	for _, e := range v.analysis.Format.End {
		if v.closesPart(e) {
			continue // the end of a part ends the turn only where no other part follows
		}
		end = min(end, v.endsAt(turn, from, strings.Trim(e, format.Space)))
	}
	limit := stop - len(turn) + end
	for path, at := range written {
		if at > limit {
			delete(written, path)
		}
	}
	e := v.expect(s, written)
	for _, path := range contentPaths {
		// A template that changes a text, and writes it once, can still be read.
		if from, ok := written[path]; ok && e.message.Content != "" && last[path] > from &&
			last[path] <= limit && last[path]-from < len(strings.TrimSpace(s.content)) {
			e.message.Content = o.Text.String[from:last[path]]
		}
	}
	return turn, e, nil
}

// endsAt returns the first place at or after from at which a text ends the turn, its length where
// there is none. Where calls open with the end of a message, the end does not stand where a call
// opens.
func (v *verifier) endsAt(turn string, from int, end string) int {
	opens := func(rest string) bool {
		return slices.ContainsFunc(v.analysis.Format.Calls, func(c format.Calls) bool {
			return slices.ContainsFunc([]string{c.Section.Open.Text, c.Call.Open.Text},
				func(open string) bool {
					return len(open) > len(end) && strings.HasPrefix(rest, open)
				})
		})
	}
	for at := from; ; {
		i := strings.Index(turn[at:], end)
		if i < 0 {
			return len(turn)
		}
		if at += i; end == "" || !opens(turn[at:]) {
			return at
		}
		at += len(end)
	}
}

// contentPaths are where the content of a shape's message may come from.
var contentPaths = []string{"messages[1].content", "messages[1].content[0].text",
	"messages[1].content[1].text"}

// closesPart reports whether a text that ends turns also ends each part of one.
func (v *verifier) closesPart(end string) bool {
	end = strings.Trim(end, format.Space)
	return slices.ContainsFunc(v.analysis.Format.Routes, func(r format.Route) bool {
		return slices.ContainsFunc(r.Close, func(m format.Marker) bool { return m.Text == end })
	})
}

// withoutSystem returns a path in a conversation as it is in the same one without the system
// message that precedes it.
func withoutSystem(path string) string {
	for i := range 3 {
		if rest, ok := strings.CutPrefix(path, fmt.Sprintf("messages[%d]", i+1)); ok {
			return fmt.Sprintf("messages[%d]", i) + rest
		}
	}
	return path
}

// expect removes from a shape's message the parts that the template does not write.
func (v *verifier) expect(s shape, written map[string]int) expected {
	has := func(path string) bool { _, ok := written[path]; return ok }
	var e expected
	var dropped []string
	put := func(what, text string, into *string, paths ...string) {
		if text == "" {
			return
		}
		if slices.ContainsFunc(paths, has) {
			*into = text
			e.any = true
		} else {
			dropped = append(dropped, what)
		}
	}
	fields := []string{"messages[1].content[0].thinking"}
	for _, f := range chat.ReasoningFields {
		fields = append(fields, "messages[1]."+f)
	}
	said := contentPaths
	if b := v.caps.Needs.Blocks; !b.IsZero() {
		thought, text := b.Paths()
		fields = append(fields, "messages[1]."+thought)
		said = append(slices.Clone(said), "messages[1]."+text)
	}
	put("reasoning", s.reasoning, &e.message.Reasoning, fields...)
	reasoned := e.any
	put("content", s.content, &e.message.Content, said...)
	if s.reasoning != "" {
		e.any = reasoned
	}
	for i, c := range s.calls {
		base := fmt.Sprintf("messages[1].tool_calls[%d]", i)
		function := base + ".function"
		if v.caps.Needs.FlatCalls {
			function = base
		}
		if !has(function+".name") && !(v.caps.Needs.NameInID && has(base+".id")) {
			dropped = append(dropped, fmt.Sprintf("call %d", i+1))
			e.any = false
			continue
		}
		for _, m := range c.args.Members() {
			if m.Value.IsNull() && !has(function+".arguments."+m.Key) &&
				!has(function+".arguments") {
				dropped = append(dropped, "null")
			}
		}
		e.any = (s.reasoning == "" || reasoned) && !slices.Contains(dropped, "null")
		id := ""
		if has(base + ".id") {
			id = callID(i)
			if v.caps.Needs.NameInID {
				id = chat.NamedID(c.name, i)
			}
		}
		e.message.ToolCalls = append(e.message.ToolCalls,
			chat.ToolCall{ID: id, Name: c.name, Arguments: c.args.String(), Complete: true})
	}
	if len(dropped) > 0 {
		e.note = "the template writes no " + strings.Join(dropped, ", no ")
	}
	return e
}

const userText = "Please help me."

// asked is the user's message.
func asked() ordered.Value { return chat.MessageOf("user", ordered.Str(userText)) }

// callID is nine letters and digits, since some templates demand that.
func callID(i int) string { return fmt.Sprintf("vfycall%02d", i) }

// message builds the assistant's message of a shape as a client gives it.
func (s shape) message() ordered.Value {
	m := chat.Message{Reasoning: s.reasoning, Content: s.content}
	for i, c := range s.calls {
		m.ToolCalls = append(m.ToolCalls,
			chat.ToolCall{ID: callID(i), Name: c.name, Arguments: c.args.String()})
	}
	return m.Value()
}

// Tools declares the functions that the shapes call; a turn is read with them.
func Tools() []chat.Tool { return slices.Clone(tools()) }

// tools are read from the table once.
var tools = sync.OnceValue(func() []chat.Tool {
	declare := func(name, properties string) chat.Tool {
		v := args(`{"type": "function", "function": {"name": "` + name + `", "description": "A function.", "parameters": {"type": "object", "properties": ` + properties + `, "required": []}}}`)
		t, err := chat.ParseTool(v)
		if err != nil {
			panic("verify: bad tool in the table: " + err.Error())
		}
		return t
	}
	return []chat.Tool{
		declare("look_up", `{"query": {"type": "string", "description": "What."}, "limit": {"type": "integer", "description": "How many."}}`),
		declare("look_up_all", `{"queries": {"type": "array", "description": "What.", "items": {"type": "string"}}}`),
		declare("ping", `{}`),
		declare("all_types", `{"text": {"type": "string", "description": "."}, "whole": {"type": "integer", "description": "."},
			"real": {"type": "number", "description": "."}, "yes": {"type": "boolean", "description": "."}, "no": {"type": "boolean", "description": "."},
			"nothing": {"type": "string", "description": ".", "nullable": true}, "object": {"type": "object", "description": ".", "additionalProperties": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}}}, "array": {"type": "array", "description": ".", "items": {"type": "string"}}}`),
	}
})

// compare returns the difference between the message that was read and the one that was written, ""
// if there is none.
func compare(got, want chat.Message) string {
	switch {
	case got.Reasoning != want.Reasoning:
		return fmt.Sprintf("the reasoning is read as %q, and was %q", got.Reasoning, want.Reasoning)
	case got.Content != want.Content:
		return fmt.Sprintf("the content is read as %q, and was %q", got.Content, want.Content)
	case len(got.ToolCalls) != len(want.ToolCalls):
		return fmt.Sprintf("%d calls are read, and there were %d", len(got.ToolCalls), len(want.ToolCalls))
	}
	for i, w := range want.ToolCalls {
		g := got.ToolCalls[i]
		a, errA := ordered.ParseString(g.Arguments)
		b, errB := ordered.ParseString(w.Arguments)
		switch {
		case g.Name != w.Name:
			return fmt.Sprintf("the name of call %d is read as %q, and was %q", i+1, g.Name, w.Name)
		case w.ID != "" && g.ID != w.ID:
			return fmt.Sprintf("the id of call %d is read as %q, and was %q", i+1, g.ID, w.ID)
		case errA != nil || errB != nil || !ordered.Equal(a, b):
			return fmt.Sprintf("the arguments of call %d are read as %q, and were %q", i+1,
				g.Arguments, w.Arguments)
		case !g.Complete:
			return fmt.Sprintf("call %d is not complete", i+1)
		}
	}
	return ""
}
