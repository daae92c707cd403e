// Package vector runs test vectors: portable cases, one JSON object a line, that any engine can be
// held to.
//
// # Kinds
//
// Every vector has an id, unique in its file, and a kind that decides the rest:
//
//	render   template, vars; want (the exact text) or error (Python's class name)
//	jinja    the same, template being the source rather than a file name
//	parse    template, request, output, want {content, reasoning_content, tool_calls[]{name, arguments, id}};
//	         optional: partial, grammar_accepts, fallback[], generation_prompt, output_token_ids, tokenizer {repo}
//	grammar  grammar (GBNF), accept[], reject[]
//	schema   schema (JSON Schema), accept[], reject[], against the grammar made of it
//	caps     template, want: capability -> bool
//	fixture  a record of CanIToolCall's fixture specification 0.1, which has no kind and is known by its raw_output: models, tools,
//	         raw_output; expected {content, reasoning_content, tool_calls[]} or expected_error {reason, accept[]};
//	         optional: output_token_ids, tokenizer {repo}
//	dynamo   a case of Dynamo's parser fixtures, files of YAML: family, cases{model_text or chunks, tools, expected}, or
//	         cases{request{input, tools}, golden{assembled}}
//	k2       a line of K2 Vendor Verifier: a request, or a result {data_index, request, response, tool_calls_valid}
//
// A fixture names its template by digest (provenance.template_sha256) and by the models that write
// so; [Templates] describes how it is found. It has no messages: it is read as the answer to one
// user's message, in the first mode of thinking whose prompt ends as the fixture's does. Its calls
// are compared without ids. Where an output breaks off, servers differ in whether a call that is
// not complete is shown, so only complete calls count.
//
// A case of Dynamo's names its template by the family of parsers, as the model dynamo/FAMILY, and
// wants what Dynamo's own parser reads. It is checked like a fixture. A result of K2 Vendor
// Verifier has no output: its message is written in the format of the template that the request's
// model names, and must be read back from that. Its calls must satisfy the schemas of their
// functions, or violate them, as the line says. A request of K2 Vendor Verifier must render and
// give a parser.
//
// An output that also comes as token ids is read by these too, in groups and in bursts, if the
// tokeniser that it names is available. The ids must spell the output, and give the same message.
//
// Templates are rendered in the immutable sandbox with the clock of the verifier. An output is
// parsed in one go and in every split (package split). Content and reasoning compare without
// surrounding white space, arguments as JSON values; arguments of an output that is cut off compare
// as text, without the white space that JSON does not need.
//
// # Scale
//
// A file is read line by line and never as a whole. [Check] reads it once for its faults,
// [Verifier.Run] runs vectors on all cores, with a bounded number of them in flight and of
// templates compiled, and hands the results on in the order of the vectors. So memory does not grow
// with the file, except for 16 bytes an id.
//
// # Errors
//
// A file that cannot be read, a line that is not JSON, lacks a field or is longer than [MaxLine],
// an id used twice: these are errors with file, line and column ([source.Error]), and nothing is
// run.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package vector

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/batch"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/corpus/tokens"
	"github.com/goassay/assay/harness/report/safefile"
)

// Vector is one case.
type Vector struct {
	ID, Kind string
	Place    rule.Place
	Value    ordered.Value // the whole object
}

// checks has the kinds. A check returns the fault, nil where there is none.
var checks = map[string]struct {
	fields []string // that must be there
	check  func(*Verifier, context.Context, *Vector) error
}{
	"render":  {[]string{"template", "vars"}, (*Verifier).render},
	"jinja":   {[]string{"template", "vars"}, (*Verifier).jinja},
	"parse":   {[]string{"template", "request", "output", "want"}, (*Verifier).parse},
	"grammar": {[]string{"grammar", "accept", "reject"}, (*Verifier).grammar},
	"schema":  {[]string{"schema", "accept", "reject"}, (*Verifier).schema},
	"caps":    {[]string{"template", "want"}, (*Verifier).caps},
	"fixture": {[]string{"models", "tools", "raw_output", "tags"}, (*Verifier).fixture},
	"dynamo":  {[]string{"models", "output", "tools", "want"}, (*Verifier).dynamo},
	"k2":      {[]string{"request"}, (*Verifier).k2},
}

// Files returns the files of vectors that a name stands for: itself, or the *.jsonl and *.yaml
// files of a folder and the folders in it, sorted.
func Files(name string) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil || !info.IsDir() {
		return []string{name}, nil // opening it reports the fault
	}
	var files []string
	err = fs.WalkDir(os.DirFS(name), ".", func(rel string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && (path.Ext(rel) == ".jsonl" || isYAML(rel)) {
			found := filepath.Join(name, filepath.FromSlash(rel))
			err = safefile.Check(found)
			files = append(files, found)
		}
		return err
	})
	if err == nil && files == nil {
		err = fmt.Errorf("%s has no *.jsonl and no *.yaml files", name)
	}
	return files, err
}

// MaxLine bounds the length of a line, in bytes.
const MaxLine = 64 << 20

// Reader reads the vectors of a file, of JSON lines or of YAML.
type Reader struct {
	name string
	in   *bufio.Reader
	line int
	buf  []byte

	yaml  bool
	cases []Vector // of a file of YAML that was read, those to come
	begun bool
}

// NewReader returns a reader. name is the file's name in errors, and its ending tells YAML.
func NewReader(name string, r io.Reader) *Reader {
	return &Reader{name: name, in: bufio.NewReaderSize(r, 1<<16), yaml: isYAML(name)}
}

// Next returns the next vector, [io.EOF] after the last one.
func (r *Reader) Next() (Vector, error) {
	if r.yaml {
		return r.nextCase()
	}
	for {
		line, err := r.next()
		if err != nil {
			return Vector{}, err
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		src := &source.Source{Name: r.name, Text: line, First: r.line}
		v, err := readLine(src, 0, line)
		if err != nil {
			return Vector{}, err
		}
		v.Place = rule.Place{File: r.name, Line: r.line}
		return v, nil
	}
}

// nextCase returns the next case of a file of YAML, which is read as a whole.
func (r *Reader) nextCase() (v Vector, err error) {
	if !r.begun {
		r.begun = true
		if r.cases, err = readDynamo(r.name, r.in); err != nil {
			return Vector{}, err
		}
	}
	if len(r.cases) == 0 {
		return Vector{}, io.EOF
	}
	v, r.cases = r.cases[0], r.cases[1:]
	return v, nil
}

// next returns the next line, without more than MaxLine bytes of it ever being held.
func (r *Reader) next() (string, error) {
	r.buf = r.buf[:0]
	r.line++
	for {
		part, err := r.in.ReadSlice('\n')
		r.buf = append(r.buf, part...)
		switch {
		case len(r.buf) > MaxLine:
			return "", source.Errorf(&source.Source{Name: r.name, Text: string(r.buf[:100]),
				First: r.line}, 0, "the line is longer than %d bytes", MaxLine)
		case err == nil, errors.Is(err, io.EOF) && len(r.buf) > 0:
			line := string(r.buf)
			if cap(r.buf) > 1<<20 {
				r.buf = nil // one long line is no reason to keep so much
			}
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", err
		}
	}
}

// place is where an id was used. It has the id's hash, so that a million take little memory.
type place struct {
	id   uint64
	line int
}

// Check reads a file, returns its first fault, and counts the vectors that are chosen.
func Check(name string, r io.Reader, chosen func(*Vector) bool) (n int, err error) {
	in := NewReader(name, r)
	seed := maphash.MakeSeed()
	var ids []place
	for {
		v, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return 0, err
		}
		ids = append(ids, place{maphash.String(seed, v.ID), v.Place.Line})
		if chosen(&v) {
			n++
		}
	}
	if len(ids) == 0 {
		return 0, source.Errorf(source.New(name, ""), 0, "no vectors in this file; a vector is a "+
			"JSON object on a line of its own")
	}
	slices.SortFunc(ids,
		func(a, b place) int { return cmp.Or(cmp.Compare(a.id, b.id), a.line-b.line) })
	for i := range ids[1:] {
		if ids[i].id == ids[i+1].id {
			return 0, source.Errorf(&source.Source{Name: name, First: ids[i+1].line}, 0,
				"an id is used twice, first in line %d", ids[i].line)
		}
	}
	return n, nil
}

func readLine(src *source.Source, start int, line string) (Vector, error) {
	value, n, err := ordered.ParsePrefix(line)
	if err != nil {
		var fault *source.Error
		errors.As(err, &fault)
		return Vector{}, source.Errorf(src, start+n, "%s", fault.Msg)
	}
	if n < len(line) {
		return Vector{}, source.Errorf(src, start+n, "text after the vector; a line is "+
			"one JSON object")
	}
	v := Vector{ID: value.At("id").Text(), Kind: value.At("kind").Text(), Value: value}
	switch {
	case v.Kind == "" && isFixture(value):
		v.Kind = "fixture"
	case v.Kind == "" && isK2(value):
		v = k2Vector(value, src.First)
	}
	kind, ok := checks[v.Kind]
	switch {
	case v.ID == "":
		return Vector{}, source.Errorf(src, start, `a vector without an "id"`)
	case !ok:
		return Vector{}, source.Errorf(src, start, "%s has the kind %q; kinds are caps, grammar, "+
			"jinja, parse, render, schema, and records with a "+
			"raw_output are fixtures, those with messages or a response K2 Vendor "+
			"Verifier's", v.ID, v.Kind)
	}
	for _, field := range kind.fields {
		if _, ok := v.Value.Get(field); !ok {
			return Vector{}, source.Errorf(src, start, "%s has no %q; a vector of the "+
				"kind %s needs %s",
				v.ID, field, v.Kind, strings.Join(kind.fields, ", "))
		}
	}
	return v, nil
}

// Verifier runs vectors. Its zero value runs those that name no template.
type Verifier struct {
	Templates *Templates       // where vectors find templates
	Limits    engine.Limits    // zero: the defaults
	Now       func() time.Time // the clock of templates; nil: that of package subject
	// Tokenizers has tokenisers by the repositories that vectors name. Outputs that name one of
	// them are read by token ids too.
	Tokenizers map[string]tokens.Tokenizer

	cache cache
}

// Run runs the vectors that next returns, until next returns an error or the context ends. It hands
// the results on in the order of the vectors. It returns next's error, unless that is [io.EOF], or
// why the context ended.
func (v *Verifier) Run(ctx context.Context, next func() (Vector, error),
	result func(rule.Result)) error {
	return batch.Run(ctx, next, func(vec Vector) rule.Result { return v.result(ctx, &vec) }, result)
}

func (v *Verifier) result(ctx context.Context, vec *Vector) rule.Result {
	res := rule.Result{Suite: vec.Kind, Group: vec.Kind, Name: vec.ID, Place: vec.Place}
	if err := v.check(ctx, vec); err != nil {
		res.Status, res.Severity, res.Text = rule.Failed, rule.Error, source.Detail(err)
	}
	return res
}

// check runs one vector; a panic is a bug of the engine, and reported as one.
func (v *Verifier) check(ctx context.Context, vec *Vector) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("internal error: panic: %v\n%s", r, debug.Stack())
		}
	}()
	return checks[vec.Kind].check(v, ctx, vec)
}

// stringsOf reads an array of strings.
func stringsOf(v ordered.Value) []string {
	return lists.Map(v.Items(), ordered.Value.Text)
}
