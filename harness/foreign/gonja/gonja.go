// Package gonja renders chat templates with gonja, the Jinja engine that Go programs in the wild
// use, after the same interface as the native engine, so that the harness can note where the two
// differ.
//
// # Model
//
// A difference is a note about a template and never a failure: jinja2 is the reference, and the
// native engine is held to it. Gonja is given everything that it can be given: the white-space
// settings of transformers, its tojson, raise_exception, strftime_now with the caller's clock, the
// generation block, dictionaries that keep their order, and the methods and globals that it lacks
// or that would harm the process.
//
// # Safety
//
// A recursive macro in gonja ends the process beyond recovery, so gonja never runs in it.
// [Renderer] renders in a child process, a second start of the same binary (see worker.go), and
// only conversations that the native engine has rendered within its limits just before. The child
// has limits of its own on stack, memory and time, and a new one is started when it dies.
//
// # Limits
//
// A render may take 10 seconds and its output 64 MiB ([Renderer.Timeout]); the child may use 64 MiB
// of stack and 1 GiB of memory.
//
// # Errors
//
// A template that gonja cannot compile or render gives gonja's message, at the start of the source,
// since gonja's places do not always mean the template's. A child that dies gives an error that
// describes how.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package gonja

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
)

// Renderer is gonja as a [chattemplate.Renderer]. It is safe for concurrent use; every render has a
// child process of its own, which later ones use again. The zero value is ready to use.
type Renderer struct {
	Timeout time.Duration // for one render; zero: 10 seconds

	mu   sync.Mutex
	idle []*child
}

// defaultTimeout is far beyond the need of any chat template, so that only a render that hangs
// meets it.
const defaultTimeout = 10 * time.Second

// Close ends the child processes. The renderer can be used again and then starts others.
func (r *Renderer) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.idle {
		c.stop()
	}
	r.idle = nil
}

// take returns a child that nobody uses, if possible one that has the template compiled already.
func (r *Renderer) take(template string) (*child, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.idle) == 0 {
		return start()
	}
	i := max(0, slices.IndexFunc(r.idle, func(c *child) bool { return c.source == template }))
	c := r.idle[i]
	r.idle = slices.Delete(r.idle, i, i+1)
	return c, nil
}

// give gives a child back.
func (r *Renderer) give(c *child) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle = append(r.idle, c)
}

// Compile implements [chattemplate.Renderer]: it compiles for the native engine, which guards every
// render, and asks gonja whether it can compile the template too.
func (r *Renderer) Compile(src *source.Source) (chattemplate.Rendering, error) {
	native, err := chattemplate.Native{Mode: jinja.Mutable}.Compile(src)
	if err != nil {
		return nil, err
	}
	if _, err := r.ask(src, request{Source: src.Text}); err != nil {
		return nil, err
	}
	return rendering{r, src, native}, nil
}

type rendering struct {
	renderer *Renderer
	src      *source.Source
	native   chattemplate.Rendering
}

// Render implements [chattemplate.Rendering].
func (g rendering) Render(vars ordered.Value, now func() time.Time) (string, error) {
	if _, err := g.native.Render(vars, now); err != nil {
		return "", fmt.Errorf("gonja renders only conversations that the native engine renders: %w", err)
	}
	q := request{Source: g.src.Text, Vars: vars, Render: true}
	if now != nil {
		q.Now = now().Format(time.RFC3339Nano)
	}
	return g.renderer.ask(g.src, q)
}

// request is one line to the child. Without Render it only compiles.
type request struct {
	Source string `json:",omitempty"` // empty: that of the request before
	Vars   ordered.Value
	Now    string // RFC 3339; empty: there is no clock
	Render bool
}

// response is one line from the child.
type response struct {
	Text  string
	Error string
}

// ask sends a request to a child, starting one if need be.
func (r *Renderer) ask(src *source.Source, q request) (string, error) {
	c, err := r.take(q.Source)
	if err != nil {
		return "", fmt.Errorf("gonja: the child process did not start: %w", err)
	}
	timeout := r.Timeout
	if timeout == 0 {
		timeout = defaultTimeout
	}
	if q.Source == c.source {
		q.Source = ""
	} else {
		c.source = q.Source
	}
	answer, err := c.exchange(q, timeout)
	if err != nil {
		death := c.stop()
		return "", &source.Error{Src: src,
			Msg: "gonja died: " + strings.Join(nonEmpty(err.Error(), death), ": "), Err: err}
	}
	r.give(c)
	if answer.Error != "" {
		return "", &source.Error{Src: src, Msg: "gonja: " + answer.Error}
	}
	return answer.Text, nil
}

func nonEmpty(texts ...string) []string {
	kept := texts[:0]
	for _, t := range texts {
		if t != "" {
			kept = append(kept, t)
		}
	}
	return kept
}

// child is a running worker.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  *bufio.Reader
	stderr *headWriter
	source string // of the template that it has compiled
}

// start runs this binary again as a worker.
func start() (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.Command(self), stderr: new(headWriter)}
	c.cmd.Env = append(os.Environ(), workerEnv+"=1")
	c.cmd.Stderr = c.stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.lines = bufio.NewReaderSize(out, 1<<16)
	return c, c.cmd.Start()
}

var errTimeout = errors.New("it took too long")

// exchange sends a request and waits for its answer. After an error the child is of no use any
// more.
func (c *child) exchange(q request, timeout time.Duration) (response, error) {
	var late atomic.Bool
	timer := time.AfterFunc(timeout, func() { late.Store(true); c.cmd.Process.Kill() })
	answer, err := c.talk(q)
	if timer.Stop(); err != nil && late.Load() {
		err = errTimeout
	}
	return answer, err
}

func (c *child) talk(q request) (response, error) {
	var answer response
	if err := json.NewEncoder(c.in).Encode(q); err != nil {
		return answer, err
	}
	line, err := c.lines.ReadBytes('\n')
	if err != nil {
		return answer, err
	}
	return answer, json.Unmarshal(line, &answer)
}

// stop ends the child and returns the first line of its standard error.
func (c *child) stop() string {
	c.in.Close()
	c.cmd.Process.Kill()
	c.cmd.Wait()
	line, _, _ := strings.Cut(strings.TrimSpace(string(c.stderr.head)), "\n")
	return line
}

// headWriter keeps the first bytes written to it; a stack overflow prints a megabyte.
type headWriter struct{ head []byte }

func (w *headWriter) Write(p []byte) (int, error) {
	w.head = append(w.head, p[:min(len(p), max(0, 4096-len(w.head)))]...)
	return len(p), nil
}
