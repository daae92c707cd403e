package gonja

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/loaders"
)

// workerEnv marks the environment of a child process. A name of its own, since a binary that sees
// it does nothing but render.
const workerEnv = "ASSAY_GONJA_WORKER"

// The child's limits.
const (
	maxStack  = 64 << 20 // bytes; Go's default would let a recursive macro fill a gigabyte first
	maxMemory = 1 << 30  // bytes of heap
	maxOutput = 64 << 20 // bytes of one render
)

// init turns the process into a worker if it was started as one. Because it is here rather than in
// a main function, every binary that links this package, the test binaries included, can start
// itself as its own child.
func init() {
	if os.Getenv(workerEnv) == "" {
		return
	}
	debug.SetMaxStack(maxStack)
	go watchMemory()
	serve(os.Stdin, os.Stdout)
	os.Exit(0)
}

// watchMemory ends the process when its heap is too large.
func watchMemory() {
	var m runtime.MemStats
	for range time.Tick(50 * time.Millisecond) {
		if runtime.ReadMemStats(&m); m.HeapAlloc > maxMemory {
			fmt.Fprintln(os.Stderr, "it used too much memory")
			os.Exit(1)
		}
	}
}

// serve answers requests, one JSON value a line, until the input ends.
func serve(in io.Reader, out io.Writer) {
	requests := json.NewDecoder(bufio.NewReaderSize(in, 1<<16))
	answers := json.NewEncoder(out)
	answers.SetEscapeHTML(false)
	w := new(worker)
	for {
		var q request
		if requests.Decode(&q) != nil {
			return
		}
		var answer response
		text, err := w.answerTo(q)
		if answer.Text = text; err != nil {
			answer = response{Error: message(err, w.source)}
		}
		if answers.Encode(answer) != nil {
			return
		}
	}
}

// worker keeps the template of the last request.
type worker struct {
	source   string
	compiled bool // it was tried
	template *exec.Template
	err      error
	now      string // of the request
}

// message returns an error's text on one line, without the template's source, which gonja puts into
// it.
func message(err error, src string) string {
	text := strings.ReplaceAll(err.Error(), "'"+src+"'", "")
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		text = "it failed without a message"
	}
	return source.Cut(text, 300)
}

// answerTo compiles and renders.
func (w *worker) answerTo(q request) (text string, err error) {
	if q.Source != "" || !w.compiled {
		w.source, w.compiled = q.Source, true
		w.template, w.err = w.compile()
	}
	if w.now = q.Now; w.err != nil || !q.Render {
		return "", w.err
	}
	defer caught(&err)
	return execute(w.template, variables(q.Vars))
}

func (w *worker) compile() (t *exec.Template, err error) {
	defer caught(&err)
	return compile(w.source, w.clock)
}

// caught makes a panic in gonja its error. It is deferred.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v", p)
	}
}

// clock is the time that the request names.
func (w *worker) clock() (time.Time, error) {
	if w.now == "" {
		return time.Time{}, errors.New("strftime_now: there is no clock")
	}
	return time.Parse(time.RFC3339Nano, w.now)
}

func compile(source string, now func() (time.Time, error)) (*exec.Template, error) {
	const name = "/template"
	loader, err := loaders.NewMemoryLoader(map[string]string{name: source})
	if err != nil {
		return nil, err
	}
	settings := config.New()
	settings.TrimBlocks, settings.LeftStripBlocks = true, true
	return exec.NewTemplate(name, settings, loader, environment(now))
}

// variables are an object's members as gonja sees them.
func variables(object ordered.Value) map[string]any {
	vars := map[string]any{}
	for _, m := range object.Members() {
		vars[m.Key] = fromJSON(m.Value).Interface()
	}
	return vars
}

func execute(template *exec.Template, vars map[string]any) (string, error) {
	out := new(limited)
	if err := template.Execute(out, exec.NewContext(vars)); err != nil {
		return "", err
	}
	return out.String(), nil
}

// Unguarded is a template that gonja renders in this very process, with no guard at all: for a
// process that may die, such as one that measures how fast gonja is.
type Unguarded struct{ template *exec.Template }

// CompileUnguarded compiles a template. now is the clock that strftime_now shows.
func CompileUnguarded(src *source.Source, now func() time.Time) (u *Unguarded, err error) {
	defer caught(&err)
	template, err := compile(src.Text, func() (time.Time, error) { return now(), nil })
	if err != nil {
		return nil, err
	}
	return &Unguarded{template}, nil
}

// Bind decodes variables, and returns a function that renders for them.
func (u *Unguarded) Bind(object ordered.Value) func() (string, error) {
	vars := variables(object)
	return func() (text string, err error) {
		defer caught(&err)
		return execute(u.template, vars)
	}
}

// limited is a buffer that refuses to grow beyond maxOutput.
type limited struct{ strings.Builder }

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > maxOutput {
		return 0, fmt.Errorf("the output is longer than %d bytes", maxOutput)
	}
	return l.Builder.Write(p)
}

func (l *limited) WriteString(s string) (int, error) { return l.Write([]byte(s)) }
