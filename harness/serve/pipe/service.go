// Package pipe answers requests of other programs, one JSON object each: the protocol that
// `assay pipe` speaks on standard input and output, and that the page in a browser speaks with its
// worker. docs/reference/protocol.md is for those who write a client.
//
// # Model
//
// A [Service] holds the templates that were used last, and the parsers that are open.
// [Service.Answer] takes one request and returns its answer; every request has an answer, and a
// request that fails changes nothing.
//
// # Limits
//
// A client may be fed by strangers. A request has at most [MaxRequest] bytes; at most [MaxParsers]
// parsers are open; a template is looked at within the limits of a command, or the tight ones for a
// stranger's (docs/untrusted.md).
//
// # Errors
//
// An answer without "ok": true has "error": "request" where the request cannot be understood,
// "template" where the template cannot be used, "render" where it refuses the conversation,
// "limit", or "internal", a fault of this program; and "message" for people.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones. The protocol
// has a number, [Protocol].
package pipe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/engine/vocab"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/subject"
)

// Protocol is the number of the protocol. It grows when a client that was right before would no
// longer be.
const Protocol = 1

// The bounds of a client's requests.
const (
	MaxRequest = 16 << 20 // bytes of a request
	MaxParsers = 1024     // that are open at a time
	maxKept    = 32       // templates that are kept compiled
	maxMessage = 16 << 10 // bytes of an error's message
)

// Options bound the acts of a service. The zero value is usable.
type Options struct {
	Version string
	// Open reads a file or a folder that a request names; nil: requests must bring the text.
	Open func(name string) ([]subject.Source, error)
	// Find names the templates below a folder, each as a name for Open; nil: there are no folders.
	Find func(dir string) ([]string, error)
	// Vocabulary and Texts read the tokeniser that a request names: its added tokens, and the bytes
	// of all; nil: there are none.
	Vocabulary func(path string) (*engine.Vocabulary, error)
	Texts      func(path string) (*vocab.Texts, error)
	// Grammars write the grammar of whole answers, by the names of their languages. The
	// vocabulary is nil where the template came without a tokeniser.
	Grammars map[string]func(*engine.Plan, *engine.Vocabulary) (string, error)
	// Objects write a template's format, by the names of their languages.
	Objects map[string]func(*engine.Template) (string, error)
	// Check is how templates are checked; requests may change the limits only.
	Check  check.Options
	Limits engine.Limits // of a look at a template
	Tight  engine.Limits // the same for requests with "untrusted": true
}

// tokenizer is what a template's tokeniser tells. The zero value is none.
type tokenizer struct {
	vocabulary *engine.Vocabulary
	texts      *vocab.Texts
	why        error // there are no texts
}

// Service answers requests. It belongs to one client and is not safe for concurrent use.
type Service struct {
	ctx        context.Context
	o          Options
	kept       map[string]*engine.Template
	given      map[string]subject.Source // of a page, with the limits that they have already
	tokenizers map[string]tokenizer      // by their paths
	parsers    map[int]*parser
	last       int // number of the parser that was opened last
}

// New returns a service. The end of ctx ends its renders: that of a request, and all later ones,
// since templates are kept between requests.
func New(ctx context.Context, o Options) *Service {
	return &Service{ctx: ctx, o: o, kept: map[string]*engine.Template{},
		tokenizers: map[string]tokenizer{}, parsers: map[int]*parser{}}
}

// request is a request with the fields of all operations.
type request struct {
	ID json.RawMessage `json:"id"`
	Op string          `json:"op"`

	Template  *reference     `json:"template"`
	Was       *reference     `json:"was"`
	Is        *reference     `json:"is"`
	Dir       string         `json:"dir"`
	Only      []string       `json:"only"`
	Untrusted bool           `json:"untrusted"`
	Request   *ordered.Value `json:"request"`
	Fallbacks []string       `json:"fallbacks"`
	// tolerances that are switched on or off, by name, and the policy for incomplete calls
	Tolerances map[string]bool `json:"tolerances"`
	Incomplete string          `json:"incomplete"`
	Insist     bool            `json:"insist"`
	Prefill    *string         `json:"prefill"`
	As         string          `json:"as"` // the engine whose view of a request is rendered
	Language   string          `json:"language"`
	Target     string          `json:"target"`
	IDs        []int           `json:"ids"`
	Parser     int             `json:"parser"`
	Text       string          `json:"text"`
	Bytes      []byte          `json:"bytes"`
	Output     string          `json:"output"`
	Cuts       []int           `json:"cuts"`
	Reason     string          `json:"reason"`
}

// reference is a template in a request: a file, or a text.
type reference struct {
	File string  `json:"file"`
	Name string  `json:"name"`
	Text string  `json:"text"`
	BOS  *string `json:"bos"`
	EOS  *string `json:"eos"`
	// Tokenizer is the path of the template's tokeniser: parsers take tokens by their ids.
	Tokenizer string `json:"tokenizer"`
}

// Failure is a request that could not be answered.
type Failure struct {
	Kind    string `json:"error"`
	Message string `json:"message"`
	*Place
}

// Place is where a failure is in a template or a request.
type Place struct {
	Offset int `json:"offset"` // bytes from 0
	Line   int `json:"line"`   // from 1
	Column int `json:"column"` // from 1, in characters
}

// Error implements [error].
func (f *Failure) Error() string { return f.Message }

func failed(kind string, err error) error {
	f := &Failure{Kind: kind, Message: source.Detail(err)}
	var at *source.Error
	if errors.As(err, &at) && at.Src != nil {
		place := at.Src.Position(at.Off)
		f.Place = &Place{at.Off, place.Line, place.Col}
	}
	return f
}

// wrong is the failure of a request that cannot be understood.
func wrong(format string, args ...any) error {
	return &Failure{Kind: "request", Message: fmt.Sprintf(format, args...)}
}

// operation answers a request with a value for JSON.
type operation func(*Service, *request) (any, error)

// operations has every operation by its name.
var operations map[string]operation

func init() {
	operations = map[string]operation{
		"describe": (*Service).describe, "rules": (*Service).rules, "find": (*Service).find,
		"check": (*Service).check, "diff": (*Service).diff, "coverage": (*Service).coverage,
		"analyze": (*Service).analyze, "verify": (*Service).verify, "render": (*Service).
				render, "grammar": (*Service).grammar, "stream": (*Service).stream,
		"conversations": (*Service).conversations,
		"source":        (*Service).text, "prepare": (*Service).prepare,
		"segments": (*Service).segments, "emit": (*Service).emit, "fix": (*Service).fix,
		"parser": (*Service).open, "write": (*Service).write, "close": (*Service).
				close, "drop": (*Service).drop,
	}
}

// Answer answers a request: one line of JSON, with a line feed.
func (s *Service) Answer(line []byte) []byte {
	r := new(request)
	result, err := s.do(line, r)
	answer := struct {
		ID     json.RawMessage `json:"id,omitempty"`
		OK     bool            `json:"ok"`
		Result any             `json:"result,omitempty"`
		*Failure
	}{ID: r.ID, OK: err == nil, Result: result}
	if err != nil && !errors.As(err, &answer.Failure) {
		answer.Failure = &Failure{Kind: "internal", Message: err.Error()}
	}
	if answer.Failure != nil {
		answer.Failure = &Failure{Kind: answer.Failure.Kind,
			Message: source.Cut(answer.Failure.Message, maxMessage), Place: answer.Place}
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(answer); err != nil {
		return fmt.Appendf(nil, `{"ok":false,"error":"internal","message":%q}`+"\n", err.Error())
	}
	return out.Bytes()
}

// do carries out a request. A panic is an error of this program; the service goes on.
func (s *Service) do(line []byte, r *request) (result any, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			result, err = nil, &Failure{Kind: "internal",
				Message: fmt.Sprintf("panic: %v\n%s", fault, debug.Stack())}
		}
	}()
	if len(line) > MaxRequest {
		return nil, &Failure{Kind: "limit", Message: fmt.Sprintf("the request has "+
			"more than %d bytes", MaxRequest)}
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return nil, wrong("the request is no JSON object of this protocol: %v", err)
	}
	if d.More() {
		return nil, wrong("the line has more than one request")
	}
	op, ok := operations[r.Op]
	if !ok {
		return nil, wrong("there is no operation %q; describe lists them", r.Op)
	}
	kept := maps.Clone(s.kept)
	result, err = op(s, r)
	for key, t := range kept {
		// it had served others before: once more, from the start
		if err != nil && s.kept[key] == t && t.Exhausted() != nil {
			delete(s.kept, key)
			return op(s, r)
		}
	}
	return result, err
}

// limits are those for the templates of a request.
func (s *Service) limits(r *request) engine.Limits {
	if r.Untrusted {
		return s.o.Tight
	}
	return s.o.Limits
}

// sources returns the templates that a reference names, limited together.
func (s *Service) sources(r *request, field string, ref *reference) ([]subject.Source, error) {
	if ref == nil {
		return nil, wrong(`%s needs %q: {"text": ...} or {"file": ...}`, r.Op, field)
	}
	var all []subject.Source
	var err error
	switch {
	case ref.File != "" && ref.Text != "":
		return nil, wrong(`%q has both "file" and "text"`, field)
	case ref.File != "" && s.o.Open == nil:
		return nil, wrong(`this service reads no files; give the template as "text"`)
	case ref.File != "":
		all, err = s.o.Open(ref.File)
	default:
		name := ref.Name
		if name == "" {
			name = "template.jinja"
		}
		all, err = subject.Texts(name, ref.Text)
	}
	if err != nil {
		return nil, failed("template", err)
	}
	if ref.BOS != nil || ref.EOS != nil {
		for i := range all {
			bos, eos := all[i].BOS, all[i].EOS
			if ref.BOS != nil {
				bos = *ref.BOS
			}
			if ref.EOS != nil {
				eos = *ref.EOS
			}
			all[i] = all[i].WithTokens(bos, eos)
		}
	}
	known, err := s.tokenizer(ref)
	if err != nil {
		return nil, err
	}
	return subject.With(s.ctx, all, engine.Options{Limits: s.limits(r),
		Vocabulary: known.vocabulary}), nil
}

// source is the first of the templates that a reference names.
func (s *Service) source(r *request, field string, ref *reference) (subject.Source, error) {
	all, err := s.sources(r, field, ref)
	if err != nil {
		return subject.Source{}, err
	}
	return all[0], nil
}

// template compiles the template of a request, or takes it from those that are kept. The bound on
// all renders of a template together is that of a look; one that has served until it is met is
// compiled again, and one that meets it at once is refused.
func (s *Service) template(r *request) (*engine.Template, error) {
	src, err := s.source(r, "template", r.Template)
	if err != nil {
		return nil, err
	}
	key := r.Template.Tokenizer + "\x00" + keyOf(src, r.Untrusted)
	given, ok := s.given[key]
	if ok {
		src = given
	} else if t := s.kept[key]; t != nil && t.Exhausted() == nil {
		return t, nil
	}
	t, err := src.Compile()
	if err != nil {
		return nil, failed("template", err)
	}
	t.Analysis()
	if err := t.Exhausted(); err != nil {
		return nil, failed("limit", err)
	}
	if ok {
		return t, nil
	}
	if len(s.kept) >= maxKept {
		clear(s.kept)
	}
	s.kept[key] = t
	return t, nil
}

// tokenizer returns the tokeniser of a reference.
func (s *Service) tokenizer(ref *reference) (t tokenizer, err error) {
	if ref.Tokenizer == "" {
		return t, nil
	}
	if t, ok := s.tokenizers[ref.Tokenizer]; ok {
		return t, nil
	}
	if s.o.Vocabulary == nil {
		return t, wrong("this service reads no tokenizers")
	}
	if t.vocabulary, err = s.o.Vocabulary(ref.Tokenizer); err != nil {
		return t, failed("template", err)
	}
	t.texts, t.why = s.o.Texts(ref.Tokenizer)
	if len(s.tokenizers) >= maxKept {
		clear(s.tokenizers)
	}
	s.tokenizers[ref.Tokenizer] = t
	return t, nil
}

// keyOf tells a template apart from others.
func keyOf(src subject.Source, untrusted bool) string {
	return fmt.Sprintf("%t\x00%s\x00%s\x00%s\x00%s", untrusted, src.Name, src.BOS, src.EOS,
		src.Text)
}

func (s *Service) describe(*request) (any, error) {
	var names []string
	for name := range operations {
		names = append(names, name)
	}
	slices.Sort(names)
	return struct {
		Program    string   `json:"program"`
		Version    string   `json:"version"`
		Protocol   int      `json:"protocol"`
		Operations []string `json:"operations"`
		MaxRequest int      `json:"max_request"`
		MaxParsers int      `json:"max_parsers"`
	}{"assay", s.o.Version, Protocol, names, MaxRequest, MaxParsers}, nil
}

func (s *Service) find(r *request) (any, error) {
	if s.o.Find == nil {
		return nil, wrong("this service reads no folders")
	}
	names, err := s.o.Find(r.Dir)
	if err != nil {
		return nil, failed("template", err)
	}
	return struct {
		Files []string `json:"files"`
	}{names}, nil
}
