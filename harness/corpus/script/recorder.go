package script

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
)

// Results runs the cases of a variant with its template outside of `go test`, and reports each. A
// case that may not run is one that failed.
func (s *Suite) Results(ctx context.Context, v Variant, src subject.Source,
	verbose bool) ([]rule.Result, error) {
	family := *v.Family
	var refused []rule.Result
	family.Cases = slices.DeleteFunc(slices.Clone(family.Cases), func(file string) bool {
		_, err := open(s.Corpus.FS, file)
		if err != nil {
			refused = append(refused, s.refused(v, file, err))
		}
		return err != nil
	})
	v.Family = &family
	if len(family.Cases) == 0 {
		return refused, nil
	}
	dir, err := os.MkdirTemp("", "assay-scripts-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	p, err := s.Params(ctx, v, src, dir)
	if err != nil {
		return nil, err
	}
	top := &recorder{verbose: verbose}
	top.guard(func() { testscript.RunT(top, p) })
	results := refused
	for i, child := range top.children {
		file := v.Family.Cases[i]
		res := rule.Result{Suite: v.Name, Group: Group, Name: child.name}
		res.Place, _ = s.place(file, 0)
		if child.failed {
			line, text := child.verdict(s.Corpus.Origin(file).Shift)
			place, where := s.place(file, line)
			res.Status, res.Severity, res.Place, res.Text = rule.Failed, rule.Error, place, where+
				text
		} else if verbose {
			res.Text = child.log.String()
		}
		if s.Details {
			res.Details = s.details(ctx, src, v.Family.Cases[i])
		}
		results = append(results, res)
	}
	if top.failed {
		return nil, fmt.Errorf("%s: %s", v.Name, top.log.String())
	}
	return results, nil
}

// refused is the result of a case that may not run.
func (s *Suite) refused(v Variant, file string, err error) rule.Result {
	name := strings.TrimSuffix(path.Base(file), path.Ext(file))
	res := rule.Result{Suite: v.Name, Group: Group, Name: name, Status: rule.Failed,
		Severity: rule.Error}
	res.Place, _ = s.place(file, 0)
	res.Text = err.Error()
	var at *refusal
	if errors.As(err, &at) {
		var where string
		res.Place, where = s.place(file, at.line)
		res.Text = where + at.err.Error()
	}
	return res
}

// recorder is a testscript.T that remembers the log.
type recorder struct {
	name     string
	verbose  bool
	failed   bool
	log      strings.Builder
	children []*recorder
}

// guard runs f to its end or to its Goexit.
func (r *recorder) guard(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func (r *recorder) Run(name string, f func(testscript.T)) {
	child := &recorder{name: name, verbose: r.verbose}
	r.children = append(r.children, child)
	child.guard(func() { f(child) })
}

func (r *recorder) Parallel()         {} // variants run in parallel, the cases of one do not
func (r *recorder) Verbose() bool     { return r.verbose }
func (r *recorder) Failed() bool      { return r.failed }
func (r *recorder) Log(args ...any)   { fmt.Fprintln(&r.log, args...) }
func (r *recorder) Skip(args ...any)  { r.Log(args...); runtime.Goexit() }
func (r *recorder) Fatal(args ...any) { r.Log(args...); r.FailNow() }
func (r *recorder) FailNow()          { r.failed = true; runtime.Goexit() }

// failure is testscript's line for a command that failed, "FAIL: file:line: message"; the lines
// after it have the rest of the command's message.
var failure = regexp.MustCompile(`^FAIL: .*?:(\d+): (.*)$`)

// verdict returns the part of the log about the failure, and the line of the first failure. With
// [Suite].Continue further failures follow, each with its line less shift.
func (r *recorder) verdict(shift int) (first int, text string) {
	var texts []string
	inside := false
	for line := range strings.SplitSeq(strings.TrimSpace(r.log.String()), "\n") {
		m := failure.FindStringSubmatch(line)
		switch {
		case m != nil && texts == nil:
			first, _ = strconv.Atoi(m[1])
			texts, inside = append(texts, m[2]), true
		case m != nil:
			line, _ := strconv.Atoi(m[1])
			texts, inside = append(texts, fmt.Sprintf("line %d: %s", line-shift, m[2])), true
		case strings.HasPrefix(line, "> "):
			inside = false
		case inside:
			texts[len(texts)-1] += "\n" + line
		}
	}
	if texts == nil {
		return 0, strings.TrimSpace(r.log.String())
	}
	return first, strings.TrimSpace(strings.Join(texts, "\n"))
}
