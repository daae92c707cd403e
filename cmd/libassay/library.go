//go:build cgo && libassay

// Command libassay is the engine as a C library: `go build -tags libassay -buildmode c-shared`, or
// c-archive. assay.h is its manual, docs/embedding.md has a program that uses it.
//
// # Model
//
// entry.c has the functions of assay.h. Each asks whether this process has been forked off the one
// that loaded the library, since Go's threads do not come along, and then enters Go by its
// counterpart in exports.go. That turns C's arguments into Go's and the result into bytes of the
// caller's buffer. What is behind a handle is here, the handles themselves are in handles.go.
//
// # Errors
//
// A failure is a status with an error in JSON. A panic is one of the status INTERNAL: the caller's
// process goes on.
//
// # Stability
//
// assay.h has a number, ASSAY_ABI.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/emit"
	"github.com/goassay/assay/engine/formatjson"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/engine/vocab"
)

func main() {}

// status is one of the statuses of assay.h, in its order.
type status int32

const (
	statusOK status = iota
	statusRequest
	statusHandle
	statusTemplate
	statusRender
	statusUnverified
	statusLimit
	statusLanguage
	statusFinished
	statusForked
	statusMemory
	statusInternal
)

// words are those of the statuses; entry.c has the same ones for forked processes.
var words = [...]string{"ok", "request", "handle", "template", "render", "unverified", "limit",
	"language", "finished", "forked", "memory", "internal"}

// failure is an error with its status.
type failure struct {
	status status
	err    error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// failf returns a failure with a message.
func failf(s status, format string, args ...any) error {
	return &failure{s, fmt.Errorf(format, args...)}
}

// fail returns an error of the engine as a failure: of the status, unless the error is one that has
// a status of its own.
func fail(s status, err error) error {
	var inexpressible *emit.Inexpressible
	switch {
	case errors.Is(err, engine.ErrExhausted):
		s = statusLimit
	case errors.Is(err, engine.ErrUnverified):
		s = statusUnverified
	case errors.As(err, &inexpressible):
		s = statusLanguage
	}
	return &failure{s, err}
}

// maxMessage bounds the text of an error, in bytes.
const maxMessage = 16 << 10

// appendError appends an error as JSON, and returns its status.
func appendError(dst []byte, err error) ([]byte, status) {
	f := &failure{statusInternal, err}
	errors.As(err, &f)
	v := ordered.ObjectOf(ordered.MemberOf("error", ordered.Str(words[f.status])),
		ordered.MemberOf("message", ordered.Str(source.Cut(source.Detail(f.err), maxMessage))))
	var at *source.Error
	if errors.As(f.err, &at) && at.Src != nil {
		place := at.Src.Position(at.Off)
		v = v.With("offset", ordered.Int(at.Off)).With("line", ordered.Int(place.Line)).
			With("column", ordered.Int(place.Col))
	}
	return v.Append(dst, ordered.Compact), f.status
}

// template is what assay_compile makes.
type template struct {
	*engine.Template
	vocabulary *engine.Vocabulary           // nil where there is none
	texts      func() (*vocab.Texts, error) // of all tokens
}

// compile compiles a template. vocabulary has the texts of a tokeniser's files.
func compile(s engine.Source, o engine.Options, vocabulary engine.VocabularyFiles) (*template,
	error) {
	if vocabulary.Tokenizer != "" {
		v, err := engine.ReadVocabulary(vocabulary)
		if err != nil {
			return nil, fail(statusTemplate, err)
		}
		o.Vocabulary = v
	}
	t, err := engine.Compile(context.Background(), s, o)
	if err != nil {
		return nil, fail(statusTemplate, err)
	}
	return &template{t, o.Vocabulary, sync.OnceValues(func() (*vocab.Texts, error) {
		if vocabulary.Tokenizer == "" {
			return nil, failf(statusRequest, "tokens without their bytes need a template that "+
				"was compiled with its tokenizer.json")
		}
		texts, err := vocab.ReadTexts(vocabulary.Tokenizer)
		if err != nil {
			return nil, fail(statusTemplate, err)
		}
		return texts, nil
	})}, nil
}

// gate returns the gate's verdict.
func (t *template) gate() ordered.Value {
	v := t.Gate()
	return ordered.ObjectOf(ordered.MemberOf("pass", ordered.Boolean(v.Pass())),
		ordered.MemberOf("tool_capable", ordered.Boolean(v.ToolCapable())),
		ordered.MemberOf("verified", ordered.Boolean(v.Unverified == nil)),
		ordered.MemberOf("verdict", ordered.Str(v.String())))
}

// format returns the template's format as a document.
func (t *template) format() ordered.Value {
	a := t.Analysis()
	return formatjson.Write(formatjson.Document{Format: a.Format, Prefills: a.Prefills})
}

// plan is what assay_prepare makes.
type plan struct {
	*engine.Plan
	template *template // nil where there is a format alone
}

// prepare prepares a request.
func (t *template) prepare(request, options []byte) (*plan, error) {
	r, o, err := asked(request, options)
	if err != nil {
		return nil, err
	}
	p, err := t.Prepare(r, o)
	if err != nil {
		return nil, fail(statusRender, err)
	}
	return &plan{p, t}, nil
}

// prepareFormat prepares a request for a format's document. A nil prefill is the document's first.
func prepareFormat(document, prefill, request, options []byte) (*plan, error) {
	v, err := ordered.Parse(document)
	if err != nil {
		return nil, fail(statusRequest, err)
	}
	d, err := formatjson.Read(v)
	if err != nil {
		return nil, fail(statusRequest, err)
	}
	if prefill == nil && len(d.Prefills) > 0 {
		prefill = []byte(d.Prefills[0])
	}
	r, o, err := asked(request, options)
	if err != nil {
		return nil, err
	}
	p, err := engine.PrepareFormat(d.Format, string(prefill), r, o)
	if err != nil {
		return nil, fail(statusRequest, err)
	}
	return &plan{Plan: p}, nil
}

// asked reads a request and its options.
func asked(request, options []byte) (r chat.Request, o engine.PrepareOptions, err error) {
	v, err := ordered.Parse(request)
	if err != nil {
		return r, o, fail(statusRequest, err)
	}
	if r, err = chat.ParseRequest(v); err != nil {
		return r, o, fail(statusRequest, err)
	}
	if len(options) == 0 {
		return r, o, nil
	}
	var given struct {
		Insist     bool            `json:"insist"`
		Fallbacks  []string        `json:"fallbacks"`
		Tolerances map[string]bool `json:"tolerances"`
		Incomplete string          `json:"incomplete"`
		Prefill    *string         `json:"prefill"`
	}
	d := json.NewDecoder(bytes.NewReader(options))
	d.DisallowUnknownFields()
	if err := d.Decode(&given); err != nil {
		return r, o, failf(statusRequest, "the options are no JSON object with insist, "+
			"fallbacks, tolerances, incomplete or prefill: %v", err)
	}
	o = engine.PrepareOptions{Insist: given.Insist, Fallbacks: given.Fallbacks,
		Prefill: given.Prefill}
	if given.Incomplete != "" {
		if o.Incomplete, err = codegen.ParseIncomplete(given.Incomplete); err != nil {
			return r, o, fail(statusRequest, err)
		}
	}
	tolerances := codegen.Usual
	for _, name := range slices.Sorted(maps.Keys(given.Tolerances)) {
		one, err := codegen.ParseTolerance(name)
		if err != nil {
			return r, o, fail(statusRequest, err)
		}
		if tolerances &^= one; given.Tolerances[name] {
			tolerances |= one
		}
	}
	o.Tolerances = &tolerances
	return r, o, nil
}

// value returns what a caller needs of a plan to have a model answer.
func (p *plan) value() ordered.Value {
	triggers := ordered.ListOf(p.Triggers, func(t engine.Trigger) ordered.Value {
		return ordered.ObjectOf(ordered.MemberOf("text", ordered.Str(t.Text)),
			ordered.MemberOf("pattern", ordered.Boolean(t.Pattern)),
			ordered.MemberOf("call", ordered.Boolean(t.Call)))
	})
	return ordered.ObjectOf(ordered.MemberOf("prompt", ordered.Str(p.Prompt.Text)),
		ordered.MemberOf("prefill", ordered.Str(p.Prefill)),
		ordered.MemberOf("stops", ordered.ListOf(p.Stops, ordered.Str)),
		ordered.MemberOf("preserved", ordered.ListOf(p.Preserved, ordered.Str)),
		ordered.MemberOf("lazy", ordered.Boolean(p.Lazy)),
		ordered.MemberOf("triggers", triggers),
		ordered.MemberOf("fitted", ordered.ListOf(p.Prompt.Fits, ordered.Str)))
}

// languages has the writers of grammars by the names of their languages.
var languages = map[string]func(*plan) (string, error){
	"lazy-gbnf": func(p *plan) (string, error) { return p.Grammar() },
	"gbnf":      func(p *plan) (string, error) { return emit.GBNF(p.Output) },
	"ebnf":      func(p *plan) (string, error) { return emit.EBNF(p.Output) },
	"lark": func(p *plan) (string, error) {
		var v *engine.Vocabulary
		if p.template != nil {
			v = p.template.vocabulary
		}
		return emit.Lark(p.Output, v)
	},
	"structural-tag": func(p *plan) (string, error) {
		tag, err := emit.StructuralTag(p.Output)
		return string(tag.Append(nil, ordered.Compact)), err
	},
}

// grammar writes the grammar of the answers.
func (p *plan) grammar(language string) (string, error) {
	write, ok := languages[language]
	if !ok {
		return "", failf(statusRequest, "there is no language %q; there are %s", language,
			strings.Join(slices.Sorted(maps.Keys(languages)), ", "))
	}
	text, err := write(p)
	if err != nil {
		return "", fail(statusLimit, err)
	}
	return text, nil
}

// segments says of each byte of the prompt whose it is.
func (p *plan) segments() (ordered.Value, error) {
	segments, err := p.Prompt.Segments()
	if err != nil {
		return ordered.Value{}, fail(statusRender, err)
	}
	var all []ordered.Value
	for s := range segments.All() {
		v := ordered.ObjectOf(ordered.MemberOf("offset", ordered.Int(s.Off)),
			ordered.MemberOf("size", ordered.Int(len(s.Text))),
			ordered.MemberOf("own", ordered.Boolean(s.Own)))
		if path := s.Path(); path != "" {
			v = v.With("path", ordered.Str(path))
		}
		if role := s.Role(); role != "" {
			v = v.With("role", ordered.Str(role)).With("turn", ordered.Int(s.Turn()))
		}
		all = append(all, v)
	}
	return ordered.ArrayOf(all...), nil
}

// parser is what assay_parser makes.
type parser struct {
	mu       sync.Mutex // held while the parser is in use
	plan     *plan
	p        *engine.Parser
	finished bool
	text     []byte         // the result of the last call, kept for its memory
	tokens   []engine.Token // of the last piece, for the same reason
}

// errFinished is the failure of a call on a parser that is finished.
var errFinished = failf(statusFinished, "the parser is finished; make another one of the plan")

// piece is a piece of an output.
type piece struct {
	data []byte
	ids  []int32 // nil where the output does not come in tokens
	ends []uint  // of each token's bytes; nil where the tokeniser spells them
}

// write reads a piece.
func (p *parser) write(piece piece) ([]chat.Delta, error) {
	if p.finished {
		return nil, errFinished
	}
	if piece.ids == nil {
		return p.p.Write(piece.data), nil
	}
	p.tokens = p.tokens[:0]
	if piece.ends == nil && len(piece.ids) > 0 {
		return p.spelled(piece.ids)
	}
	from := uint(0)
	for i, id := range piece.ids {
		end := piece.ends[i]
		if end < from || end > uint(len(piece.data)) {
			return nil, failf(statusRequest, "token %d ends at byte %d; expected one from %d to "+
				"%d", i, end, from, len(piece.data))
		}
		p.tokens = append(p.tokens, engine.Token{ID: int(id), Text: piece.data[from:end]})
		from = end
	}
	if from != uint(len(piece.data)) {
		return nil, failf(statusRequest, "the tokens have %d bytes, the piece has %d", from,
			len(piece.data))
	}
	return p.p.WriteTokens(p.tokens), nil
}

// spelled reads tokens whose bytes the template's tokeniser knows.
func (p *parser) spelled(ids []int32) ([]chat.Delta, error) {
	if p.plan.template == nil {
		return nil, failf(statusRequest, "the plan is one of a format: give tokens their bytes")
	}
	texts, err := p.plan.template.texts()
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		text, ok := texts.Bytes(int(id))
		if !ok {
			return nil, failf(statusRequest, "token %d has the id %d, which the tokenizer.json "+
				"does not have", i, id)
		}
		p.tokens = append(p.tokens, engine.Token{ID: int(id), Text: text})
	}
	return p.p.WriteTokens(p.tokens), nil
}

// finish ends the output and returns its message.
func (p *parser) finish(reason chat.FinishReason) (ordered.Value, error) {
	if p.finished {
		return ordered.Value{}, errFinished
	}
	p.finished = true
	var deltas, complete []ordered.Value
	for _, d := range p.p.Close(reason) {
		deltas = append(deltas, ordered.Clone(d.Value()))
	}
	m := p.p.Message()
	for _, c := range m.ToolCalls {
		complete = append(complete, ordered.Boolean(c.Complete))
	}
	return ordered.ObjectOf(ordered.MemberOf("deltas", ordered.ArrayOf(deltas...)),
		ordered.MemberOf("message", m.Value()),
		ordered.MemberOf("finish_reason", ordered.Str(string(p.p.Finish()))),
		ordered.MemberOf("complete", ordered.ArrayOf(complete...)),
		ordered.MemberOf("diagnostics", p.diagnostics())), nil
}

// diagnostics lists the oddities of the output. Places are bytes of the output; those of the
// prefill are negative.
func (p *parser) diagnostics() ordered.Value {
	var all []ordered.Value
	for _, d := range p.p.Diagnostics() {
		v := ordered.ObjectOf(ordered.MemberOf("at", ordered.Int(d.Off-p.p.Prefill())),
			ordered.MemberOf("kind", ordered.Str(d.Kind)),
			ordered.MemberOf("message", ordered.Str(d.Msg)))
		if d.Text != "" {
			text := d.Text
			if !utf8.ValidString(text) {
				text = strconv.Quote(text)
			}
			v = v.With("text", ordered.Str(text))
		}
		all = append(all, v)
	}
	return ordered.ArrayOf(all...)
}

// appendDeltas appends deltas as JSON, nothing where there is none. It writes what chat.Delta's
// MarshalJSON does, without the values that one makes of each delta: there is a call a token.
func appendDeltas(dst []byte, deltas []chat.Delta) []byte {
	for i := range deltas {
		if i == 0 {
			dst = append(dst, '[')
		} else {
			dst = append(dst, ',')
		}
		dst = appendDelta(dst, &deltas[i])
	}
	if len(deltas) > 0 {
		dst = append(dst, ']')
	}
	return dst
}

func appendDelta(dst []byte, d *chat.Delta) []byte {
	dst = append(dst, '{')
	opened := len(dst)
	member := func(name string) {
		if len(dst) > opened {
			dst = append(dst, ',')
		}
		dst = append(dst, name...)
	}
	if d.Reasoning != "" {
		member(`"reasoning_content":`)
		dst = ordered.AppendQuoted(dst, d.Reasoning, false)
	}
	if d.Content != "" {
		member(`"content":`)
		dst = ordered.AppendQuoted(dst, d.Content, false)
	}
	if len(d.ToolCalls) > 0 {
		member(`"tool_calls":[`)
		for i := range d.ToolCalls {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendCall(dst, &d.ToolCalls[i])
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

func appendCall(dst []byte, c *chat.ToolCallDelta) []byte {
	dst = strconv.AppendInt(append(dst, `{"index":`...), int64(c.Index), 10)
	if c.ID != "" {
		dst = ordered.AppendQuoted(append(dst, `,"id":`...), c.ID, false)
	}
	if c.Name != "" {
		dst = append(dst, `,"type":"function","function":{"name":`...)
		dst = append(ordered.AppendQuoted(dst, c.Name, false), ',')
	} else {
		dst = append(dst, `,"function":{`...)
	}
	dst = ordered.AppendQuoted(append(dst, `"arguments":`...), c.Arguments, false)
	return append(dst, "}}"...)
}

// The kinds of spans, as in assay.h.
const (
	spanReasoning = iota + 1
	spanContent
	spanID
	spanName
	spanArguments
)

// eachPart calls a function with each part of the message that deltas add, in order.
func eachPart(deltas []chat.Delta, part func(kind, call int, text string)) {
	for i := range deltas {
		d := &deltas[i]
		if d.Reasoning != "" {
			part(spanReasoning, 0, d.Reasoning)
		}
		if d.Content != "" {
			part(spanContent, 0, d.Content)
		}
		for j := range d.ToolCalls {
			c := &d.ToolCalls[j]
			if c.ID != "" {
				part(spanID, c.Index, c.ID)
			}
			if c.Name != "" {
				part(spanName, c.Index, c.Name)
			}
			if c.Arguments != "" {
				part(spanArguments, c.Index, c.Arguments)
			}
		}
	}
}
