// Package vector runs test vectors: portable cases, one JSON object a line, that any engine can be held to.
//
// # Kinds
//
// Every vector has an id, unique in its file, and a kind that decides the rest:
//
//	render   template, vars; want (the exact text) or error (Python's class name)
//	jinja    the same, template being the source rather than a file name
//	parse    template, request, output, want {content, reasoning_content, tool_calls[]{name, arguments, id}};
//	         optional: partial, grammar_accepts, fallback[], generation_prompt
//	grammar  grammar (GBNF), accept[], reject[]
//	schema   schema (JSON Schema), accept[], reject[], against the grammar made of it
//	caps     template, want: capability -> bool
//
// Templates are rendered in the immutable sandbox with the clock of package subject. An output is parsed in one go and in every
// split (package split). Content and reasoning compare without surrounding white space, arguments as JSON values;
// arguments of an output that is cut off compare as text, without the white space that JSON does not need.
//
// # Errors
//
// A file that does not read, a line that is not JSON or lacks a field, an id used twice: these are errors with file, line
// and column ([source.Error]), and nothing is run.
package vector

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/report"
)

// Vector is one case.
type Vector struct {
	ID, Kind string
	Place    report.Place
	Value    ordered.Value // the whole object
}

// checks has the kinds. A check returns what is wrong, nil where nothing is.
var checks = map[string]struct {
	fields []string // that must be there
	check  func(*Verifier, *Vector) error
}{
	"render":  {[]string{"template", "vars"}, (*Verifier).render},
	"jinja":   {[]string{"template", "vars"}, (*Verifier).jinja},
	"parse":   {[]string{"template", "request", "output", "want"}, (*Verifier).parse},
	"grammar": {[]string{"grammar", "accept", "reject"}, (*Verifier).grammar},
	"schema":  {[]string{"schema", "accept", "reject"}, (*Verifier).schema},
	"caps":    {[]string{"template", "want"}, (*Verifier).caps},
}

// Read reads a file of vectors.
func Read(name string, r io.Reader) ([]Vector, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	src := source.New(name, string(text))
	var vectors []Vector
	seen := map[string]int{}
	off, number := 0, 0
	for line := range strings.Lines(src.Text) {
		start := off
		off += len(line)
		number++
		if strings.TrimSpace(line) == "" {
			continue
		}
		v, err := readLine(src, start, line)
		if err != nil {
			return nil, err
		}
		if first := seen[v.ID]; first > 0 {
			return nil, source.Errorf(src, start, "the id %q is used twice, first in line %d", v.ID, first)
		}
		seen[v.ID] = number
		v.Place = report.Place{File: name, Line: number}
		vectors = append(vectors, v)
	}
	if len(vectors) == 0 {
		return nil, source.Errorf(src, 0, "no vectors in this file; a vector is a JSON object on a line of its own")
	}
	return vectors, nil
}

func readLine(src *source.Source, start int, line string) (Vector, error) {
	value, n, err := ordered.ParsePrefix(line)
	if err != nil {
		var fault *source.Error
		errors.As(err, &fault)
		return Vector{}, source.Errorf(src, start+n, "%s", fault.Msg)
	}
	if n < len(line) {
		return Vector{}, source.Errorf(src, start+n, "text after the vector; a line is one JSON object")
	}
	v := Vector{ID: value.At("id").Text(), Kind: value.At("kind").Text(), Value: value}
	kind, ok := checks[v.Kind]
	switch {
	case v.ID == "":
		return Vector{}, source.Errorf(src, start, `a vector without an "id"`)
	case !ok:
		return Vector{}, source.Errorf(src, start, "%s has the kind %q; kinds are caps, grammar, jinja, parse, render, schema", v.ID, v.Kind)
	}
	for _, field := range kind.fields {
		if _, ok := value.Get(field); !ok {
			return Vector{}, source.Errorf(src, start, "%s has no %q; a vector of the kind %s needs %s",
				v.ID, field, v.Kind, strings.Join(kind.fields, ", "))
		}
	}
	return v, nil
}

// Verifier runs vectors. Its zero value runs those that name no template.
type Verifier struct {
	Templates fs.FS // where vectors find templates by file name

	templates sync.Map // file name -> func() (*template, error)
}

// Run runs vectors on all cores. Results are in the order of the vectors.
func (v *Verifier) Run(vectors []Vector, progress func(done int)) []report.Result {
	results := make([]report.Result, len(vectors))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	var done struct {
		sync.Mutex
		n int
	}
	for i := range vectors {
		group.Go(func() error {
			results[i] = v.result(&vectors[i])
			if progress != nil {
				done.Lock()
				done.n++
				progress(done.n)
				done.Unlock()
			}
			return nil
		})
	}
	group.Wait() // no error is ever returned
	return results
}

func (v *Verifier) result(vec *Vector) report.Result {
	res := report.Result{Suite: vec.Kind, Group: vec.Kind, Name: vec.ID, Place: vec.Place}
	if err := v.check(vec); err != nil {
		res.Status, res.Severity, res.Text = report.Failed, report.Error, source.Detail(err)
	}
	return res
}

// check runs one vector; a panic is a bug of the engine, and reported as what it is.
func (v *Verifier) check(vec *Vector) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("internal error: panic: %v\n%s", r, debug.Stack())
		}
	}()
	return checks[vec.Kind].check(v, vec)
}

// stringsOf reads an array of strings.
func stringsOf(v ordered.Value) []string {
	texts := make([]string, len(v.Items()))
	for i, item := range v.Items() {
		texts[i] = item.Text()
	}
	return texts
}
