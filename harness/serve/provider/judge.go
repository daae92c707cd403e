package provider

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"github.com/dlclark/regexp2"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
)

// schemas compiles the schemas of tools, each once as long as it is used.
type schemas struct {
	mu     sync.Mutex
	seed   maphash.Seed
	byText map[uint64]*compiled
}

// maxSchemas bounds the schemas that are kept.
const maxSchemas = 1024

type compiled struct {
	schema *jsonschema.Schema
	err    error
}

func newSchemas() *schemas {
	return &schemas{seed: maphash.MakeSeed(), byText: map[uint64]*compiled{}}
}

// of returns the schema of a tool's parameters. One without parameters takes any object.
func (s *schemas) of(parameters ordered.Value) (*jsonschema.Schema, error) {
	if parameters.IsNull() {
		parameters = ordered.ObjectOf()
	}
	text := parameters.Append(nil, ordered.Compact)
	key := maphash.Bytes(s.seed, text)
	s.mu.Lock()
	c := s.byText[key]
	s.mu.Unlock()
	if c == nil {
		c = new(compiled)
		c.schema, c.err = compile(string(text))
		s.mu.Lock()
		if len(s.byText) >= maxSchemas {
			clear(s.byText)
		}
		s.byText[key] = c
		s.mu.Unlock()
	}
	return c.schema, c.err
}

// compile compiles a schema. It loads no other document: a data set must not read files.
func compile(text string) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(pattern)
	const name = "schema:parameters"
	if err := c.AddResource(name, document); err != nil {
		return nil, err
	}
	return c.Compile(name)
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%.80q is another document, and none is loaded", url)
}

// patternTime bounds a match of a pattern: those of JSON Schema are ECMAScript's, which can take
// time without end, and the texts come from the provider.
const patternTime = 100 * time.Millisecond

// ecma is a pattern of a schema.
type ecma struct{ *regexp2.Regexp }

func pattern(text string) (jsonschema.Regexp, error) {
	p, err := regexp2.Compile(text, regexp2.ECMAScript|regexp2.Unicode)
	if err != nil {
		return nil, err
	}
	p.MatchTimeout = patternTime
	return ecma{p}, nil
}

// MatchString reports whether a text matches. One that takes too long does not.
func (e ecma) MatchString(text string) bool {
	ok, err := e.Regexp.MatchString(text)
	return ok && err == nil
}

// question is a request as answers to it are judged.
type question struct {
	request chat.Request
	tools   map[string]ordered.Value // parameters by name
	off     bool                     // thinking is switched off
	expect  *bool
	tokens  int // that the prompt has to have; 0: it is not known
}

func newQuestion(body ordered.Value, expect *bool) (*question, error) {
	r, err := chat.ParseRequest(body)
	if err != nil {
		return nil, err
	}
	q := &question{request: r, tools: map[string]ordered.Value{}, expect: expect,
		off: thinkingOff(body)}
	for _, t := range r.Tools {
		q.tools[t.Name] = t.Parameters
	}
	return q, nil
}

// thinkingOff reports whether a request switches thinking off, in any of the ways that servers
// have.
func thinkingOff(body ordered.Value) bool {
	for _, at := range [...]ordered.Value{body.At("enable_thinking"),
		body.At("chat_template_kwargs", "enable_thinking"),
		body.At("chat_template_kwargs", "thinking")} {
		if at.Kind() == ordered.Bool && !at.Bool() {
			return true
		}
	}
	return body.At("thinking", "type").Text() == "disabled" ||
		body.At("reasoning_effort").Text() == "none"
}

// Outcome has the facts about an answer that the measures need.
type Outcome struct {
	State     State  `json:"state"`
	Called    bool   `json:"called,omitempty"`    // it ended in a call
	Reasoning bool   `json:"reasoning,omitempty"` // it has some
	Off       bool   `json:"off,omitempty"`       // thinking was switched off
	Substance bool   `json:"substance,omitempty"` // it has content or a call
	Ended     bool   `json:"ended,omitempty"`     // no limit cut it off
	Leaked    bool   `json:"leaked,omitempty"`    // its content has a marker of a format
	Expected  int8   `json:"expected,omitempty"`  // a call: 1, none: -1; 0: the data set is silent
	Exact     int8   `json:"exact,omitempty"`     // the prompt has the data set's tokens: 1, other: -1
	Tries     uint8  `json:"tries,omitempty"`     // 255 for more
	Calls     uint16 `json:"calls,omitempty"`
	Exist     uint16 `json:"exist,omitempty"`    // calls of functions that the request has
	Valid     uint16 `json:"valid,omitempty"`    // of those, with arguments that keep their schema
	Unjudged  uint16 `json:"unjudged,omitempty"` // of those, whose schema cannot be used
	Prompt    uint32 `json:"prompt,omitempty"`   // tokens, as the provider counts; 0: it does not
	Bytes     uint32 `json:"bytes,omitempty"`    // of the prompt that the template renders
	Shape     uint32 `json:"shape,omitempty"`    // the same where answers have equal parts
	Words     uint32 `json:"words,omitempty"`    // the same where answers are equal to the word
}

// State is how far a request came.
type State uint8

// The states.
const (
	Missing  State = iota // it was not asked, or not answered yet
	Failed                // no try had an answer
	Answered              // it has one
)

// Right reports whether an answer has no fault that can be told without another one: it came to an
// end, has content or calls that can be made, and calls where the data set says so.
func (o *Outcome) Right() bool {
	return o.State == Answered && o.Ended && o.Substance && !o.Leaked && o.Exist == o.Calls &&
		o.Valid+o.Unjudged == o.Exist && (o.Expected == 0 || (o.Expected > 0) == o.Called)
}

// judge returns the outcome of an answer, and its misses.
func (s *schemas) judge(q *question, a *answer) (Outcome, []Miss) {
	o := Outcome{State: Answered, Off: q.off, Reasoning: a.Message.Reasoning != "",
		Called: len(a.Message.ToolCalls) > 0, Ended: !a.Finish.Cut(),
		Substance: strings.TrimSpace(a.Message.Content) != "" || len(a.Message.ToolCalls) > 0}
	var misses []Miss
	miss := func(kind, why string, call int) {
		if len(misses) < maxMisses {
			misses = append(misses, Miss{Kind: kind, Why: why, call: call})
		}
	}
	shape := newShape()
	for i, call := range a.Message.ToolCalls[:min(len(a.Message.ToolCalls), maxCalls)] {
		o.Calls++
		shape.add(call.Name)
		parameters, exists := q.tools[call.Name]
		if !exists {
			miss(MissFunction, fmt.Sprintf("calls %.80q, which the request does not have",
				call.Name), i)
			continue
		}
		o.Exist++
		schema, err := s.of(parameters)
		if err != nil {
			o.Unjudged++
			miss(MissUsable, fmt.Sprintf("the schema of %.80q cannot be used: %.300s", call.Name,
				firstLine(err)), i)
			continue
		}
		if err := keeps(schema, call.Arguments); err != nil {
			shape.add("!")
			miss(MissSchema, fmt.Sprintf("%.80s: %.300s", call.Name, err), i)
			continue
		}
		o.Valid++
	}
	if o.Called {
		shape.add("calls")
	}
	o.Shape = shape.sum(o.Reasoning, o.Substance, o.Ended)
	words := newShape()
	words.add(a.Message.Reasoning)
	words.add(a.Message.Content)
	for _, call := range a.Message.ToolCalls {
		words.add(call.Name)
		words.add(call.Arguments)
	}
	o.Words = words.sum()
	if q.expect != nil {
		o.Expected = -1
		if *q.expect {
			o.Expected = 1
		}
		switch {
		case *q.expect && !o.Called:
			miss(MissCall, "no call, and the data set expects one", -1)
		case !*q.expect && o.Called:
			miss(MissNoCall, "a call, and the data set expects none", -1)
		}
	}
	switch {
	case !o.Ended:
		miss(MissEnd, fmt.Sprintf("ended for the reason %.40q", a.Finish), -1)
	case !o.Substance && o.Reasoning:
		miss(MissContent, "reasoning and nothing else", -1)
	case !o.Substance:
		miss(MissEverything, "neither content nor a call nor reasoning", -1)
	}
	if o.Off && o.Reasoning {
		miss(MissOff, "reasoning, though thinking is switched off", -1)
	}
	if a.Usage != nil && a.Usage.Prompt > 0 {
		o.Prompt = uint32(min(a.Usage.Prompt, 1<<31))
		if q.tokens > 0 {
			if o.Exact = 1; a.Usage.Prompt != q.tokens {
				o.Exact = -1
				miss(MissTokens, fmt.Sprintf("%d tokens of a prompt, and the data set has %d",
					a.Usage.Prompt, q.tokens), -1)
			}
		}
	}
	return o, misses
}

// keeps returns why arguments do not keep a schema.
func keeps(schema *jsonschema.Schema, arguments string) error {
	if cmp.Or(strings.TrimSpace(arguments), "{}") == "{}" {
		arguments = "{}" // no arguments, as some providers spell them
	}
	if _, err := ordered.ParseString(arguments); err != nil { // bounds the nesting as well
		return fmt.Errorf("the arguments are no JSON: %w", err)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(arguments))
	if err != nil {
		return fmt.Errorf("the arguments are no JSON: %w", err)
	}
	if _, ok := v.(map[string]any); !ok {
		return errNoObject
	}
	if err := schema.Validate(v); err != nil {
		return errors.New(firstLine(deepest(err)))
	}
	return nil
}

var errNoObject = errors.New("the arguments are no object")

// deepest is the first cause of a failed validation.
func deepest(err error) error {
	var v *jsonschema.ValidationError
	if errors.As(err, &v) {
		for len(v.Causes) > 0 {
			v = v.Causes[0]
		}
		return v
	}
	return err
}

// firstLine returns the last line of an error's text, which has the fault itself in the errors of
// the validator, whose first line names the schema.
func firstLine(err error) string {
	text := strings.TrimSpace(err.Error())
	if _, last, more := strings.Cut(text, "\n"); more {
		text = last
	}
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "- "))
}

// shape is a digest of an answer, or of a part of it: FNV-1a.
type shape uint32

func newShape() shape { return 2166136261 }

func (s *shape) add(text string) {
	for i := range len(text) {
		*s = (*s ^ shape(text[i])) * 16777619
	}
	*s = (*s ^ 0xff) * 16777619
}

func (s shape) sum(flags ...bool) uint32 {
	for _, f := range flags {
		if f {
			s.add("1")
		} else {
			s.add("0")
		}
	}
	return uint32(s)
}

// Keeps returns why a call of a message does not keep the schema of its function, which has to be
// one of the request's; nil where all do.
func Keeps(request ordered.Value, m chat.Message) error {
	q, err := newQuestion(request, nil)
	if err != nil {
		return err
	}
	_, misses := newSchemas().judge(q, &answer{Message: m})
	for _, miss := range misses {
		switch miss.Kind {
		case MissFunction, MissSchema, MissUsable:
			return errors.New(miss.Why)
		}
	}
	return nil
}
