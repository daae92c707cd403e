package editor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/config"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
)

// Options control a server. The zero value is usable.
type Options struct {
	Version string
	Check   check.Options // how templates are checked; settings choose among the rules
	Limits  engine.Limits // of a look at a document
	// Base opens a commit that settings name as the base; nil: there are none.
	Base func(commit string) (*Base, error)
}

// Base is a commit to compare with.
type Base struct {
	Open func(is subject.Source) *subject.Source // the revision of a template; nil: there is none
	Read func(file string) ([]byte, error)       // a file by its absolute path
}

// pause is how long a writer must have stopped before the costly rules begin.
const pause = 100 * time.Millisecond

// server serves one client.
type server struct {
	options Options
	words   *config.Vocabulary
	conn    *jsonrpc2.Conn
	ctx     context.Context
	scratch string // the folder of rendered prompts; "": not yet made

	mu        sync.Mutex
	documents map[string]*document // by URI
	requests  map[jsonrpc2.ID]context.CancelFunc
	shows     bool               // the client opens documents when it is asked to
	watches   bool               // it tells which files change
	wrong     map[string]bool    // files of settings, by path, that are shown as wrong
	ready     bool               // the client has introduced itself
	ended     bool               // it has asked for the end
	leave     context.CancelFunc // it says that it goes

	starting sync.Mutex
	work     sync.WaitGroup // looks and requests
}

// look is one look at a document.
type look struct {
	path    string
	version int
	text    text
	limits  engine.Limits
	parts   []part
	models  map[string]*flow.Model // of the parts by name, of the last text that had one
	read    chan struct{}          // closed when parts and models are there
	done    chan struct{}          // closed when patches are there, or it was ended
	patches []patch
}

// Serve serves a client until it leaves. The error is that of a client that leaves without a word,
// or breaks the framing, or ctx's.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	served, leave := context.WithCancel(ctx)
	defer leave()
	s := &server{options: o, words: config.Words(), ctx: served, documents: map[string]*document{},
		requests: map[jsonrpc2.ID]context.CancelFunc{}, wrong: map[string]bool{}, leave: leave}
	defer s.clear()
	var broken brokenFrame
	s.mu.Lock() // until there is a connection to answer on
	s.conn = jsonrpc2.NewConn(served, jsonrpc2.NewBufferedStream(stream{in, out},
		jsonrpc2.VSCodeObjectCodec{}), s, jsonrpc2.SetLogger(log.New(&broken, "", 0)))
	s.mu.Unlock()
	<-s.conn.DisconnectNotify()
	s.starting.Lock()
	leave()
	s.starting.Unlock()
	s.work.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case s.ended:
		return nil
	case broken.text() != "":
		return errors.New(broken.text())
	}
	return errors.New("the client left without a request for shutdown")
}

// run does work beside other work, unless the server is about to end.
func (s *server) run(work func()) {
	s.starting.Lock()
	defer s.starting.Unlock()
	if s.ctx.Err() == nil {
		s.work.Go(work)
	}
}

// brokenFrame keeps the first message that the library logs: what was wrong with the framing.
type brokenFrame struct {
	mu    sync.Mutex
	first string
}

// Write implements [io.Writer].
func (b *brokenFrame) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.first == "" {
		b.first = string(p)
	}
	return len(p), nil
}

func (b *brokenFrame) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.first
}

// stream joins both directions.
type stream struct {
	io.Reader
	io.Writer
}

// Close implements [io.Closer]: who opened the streams closes them.
func (stream) Close() error { return nil }

// Handle implements [jsonrpc2.Handler]. Notifications are handled in the order in which they come;
// requests wait for what they ask about, and are handled beside each other.
func (s *server) Handle(_ context.Context, conn *jsonrpc2.Conn, r *jsonrpc2.Request) {
	if r.Notif {
		s.guarded(func() (any, error) { return nil, s.notified(r) })
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.mu.Lock()
	s.requests[r.ID] = cancel
	s.mu.Unlock()
	s.run(func() {
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.requests, r.ID)
			cancel()
		}()
		result, err := s.guarded(func() (any, error) { return s.answer(ctx, r) })
		if ctx.Err() != nil {
			err = &jsonrpc2.Error{Code: codeCancelled, Message: "the request was cancelled"}
		}
		var wrong *jsonrpc2.Error
		switch {
		case err == nil:
			conn.Reply(s.ctx, r.ID, result) // a client that is gone gets no answer
		case errors.As(err, &wrong):
			conn.ReplyWithError(s.ctx, r.ID, wrong)
		default:
			conn.ReplyWithError(s.ctx, r.ID, &jsonrpc2.Error{Code: codeFailed,
				Message: source.Detail(err)})
		}
	})
}

// The codes of errors that the protocol adds to JSON-RPC's.
const (
	codeCancelled      = -32800
	codeFailed         = -32803
	codeNotInitialized = -32002
)

// guarded makes an error of a panic: a fault of this program must not end the server.
func (s *server) guarded(do func() (any, error)) (result any, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = &jsonrpc2.Error{Code: jsonrpc2.CodeInternalError,
				Message: fmt.Sprintf("a fault of assay: %v\n%s", fault, debug.Stack())}
		}
	}()
	return do()
}

// params reads the parameters of a message.
func params[T any](r *jsonrpc2.Request) (p T, err error) {
	if r.Params == nil {
		return p, nil
	}
	if err = json.Unmarshal(*r.Params, &p); err != nil {
		err = &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: err.Error()}
	}
	return p, err
}

// notified handles a notification.
func (s *server) notified(r *jsonrpc2.Request) error {
	switch r.Method {
	case "initialized":
		s.watch()
	case "exit":
		s.leave()
	case "$/cancelRequest":
		p, err := params[struct {
			ID jsonrpc2.ID `json:"id"`
		}](r)
		s.mu.Lock()
		defer s.mu.Unlock()
		if cancel := s.requests[p.ID]; cancel != nil {
			cancel()
		}
		return err
	case "textDocument/didOpen":
		p, err := params[documentParams](r)
		if err == nil {
			s.opened(p.TextDocument)
		}
		return err
	case "textDocument/didChange":
		p, err := params[changeParams](r)
		if err == nil {
			s.changed(p)
		}
		return err
	case "textDocument/didClose":
		p, err := params[documentParams](r)
		if err == nil {
			s.closed(p.TextDocument.URI)
		}
		return err
	case "textDocument/didSave", "workspace/didChangeWatchedFiles":
		s.again()
	}
	return nil
}

// answer answers a request.
func (s *server) answer(ctx context.Context, r *jsonrpc2.Request) (any, error) {
	s.mu.Lock()
	ready, ended := s.ready, s.ended
	s.mu.Unlock()
	switch {
	case ended:
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidRequest,
			Message: "a request after that for shutdown"}
	case !ready && r.Method != "initialize":
		return nil, &jsonrpc2.Error{Code: codeNotInitialized,
			Message: "a request before that for initialize"}
	}
	switch r.Method {
	case "initialize":
		p, err := params[initializeParams](r)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ready = err == nil
		s.shows = p.Capabilities.Window.ShowDocument.Support
		s.watches = p.Capabilities.Workspace.Watched.Dynamic
		return capabilities(s.options.Version), err
	case "shutdown":
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended = true
		return nil, nil
	case "textDocument/hover":
		p, err := params[placeParams](r)
		if err != nil {
			return nil, err
		}
		return s.hover(ctx, p)
	case "textDocument/completion":
		p, err := params[placeParams](r)
		if err != nil {
			return nil, err
		}
		return s.completion(ctx, p)
	case "textDocument/codeAction":
		p, err := params[actionParams](r)
		if err != nil {
			return nil, err
		}
		return s.actions(ctx, p)
	case "workspace/executeCommand":
		p, err := params[commandParams](r)
		if err != nil {
			return nil, err
		}
		return s.execute(ctx, p)
	}
	return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound,
		Message: "there is no method " + r.Method}
}

// watch asks the client to tell when files of settings change.
func (s *server) watch() {
	s.mu.Lock()
	watches := s.watches
	s.mu.Unlock()
	if !watches {
		return
	}
	type object = map[string]any
	watchers := lists.Map([]string{config.FileName, config.Pyproject}, func(name string) object {
		return object{"globPattern": "**/" + name}
	})
	s.run(func() {
		s.conn.Call(s.ctx, "client/registerCapability", object{"registrations": []object{{
			"id": "settings", "method": "workspace/didChangeWatchedFiles",
			"registerOptions": object{"watchers": watchers}}}}, nil) // it may refuse
	})
}

// opened begins to look at a document.
func (s *server) opened(t textDocument) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.documents[t.URI]; d != nil {
		d.stop()
	}
	d := &document{uri: t.URI, path: pathOf(t.URI), version: t.Version, text: newText(t.Text)}
	s.documents[t.URI] = d
	s.begin(d)
}

// changed edits a document.
func (s *server) changed(p changeParams) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.documents[p.TextDocument.URI]
	if d == nil {
		return
	}
	for _, c := range p.Changes {
		is, from, to := d.text.edited(c)
		d.shown = moved(d.shown, from, to, len(c.Text))
		d.text = is
	}
	d.version = p.TextDocument.Version
	s.begin(d)
}

// closed forgets a document, and takes back what was shown of it.
func (s *server) closed(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.documents[uri]; d != nil {
		d.stop()
		delete(s.documents, uri)
		if isSettings(d.path) {
			s.beginAll() // those of the disk count again
			return
		}
		s.conn.Notify(s.ctx, publish, publishParams{URI: uri, Diagnostics: []diagnostic{}})
	}
}

// again looks at all documents anew: their settings may be others.
func (s *server) again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beginAll()
}

// beginAll begins to look at all documents. The caller holds the lock.
func (s *server) beginAll() {
	for _, d := range s.documents {
		if !isSettings(d.path) {
			s.begin(d)
		}
	}
}

// isSettings reports whether a file may be one of settings, which the client opens so that they
// count before they are saved.
func isSettings(path string) bool { return filepath.Ext(path) == ".toml" }

const publish = "textDocument/publishDiagnostics"

// begin ends the look at a document and begins a new one. The caller holds the lock.
func (s *server) begin(d *document) {
	if d.stop != nil {
		d.stop()
	}
	if isSettings(d.path) {
		d.stop = func() {}
		s.beginAll()
		return
	}
	ctx, stop := context.WithCancel(s.ctx)
	l := &look{path: d.path, version: d.version, text: d.text, limits: s.options.Limits,
		models: map[string]*flow.Model{}, read: make(chan struct{}), done: make(chan struct{})}
	if d.look != nil {
		select {
		case <-d.look.read:
			for name, m := range d.look.models {
				l.models[name] = m
			}
		default: // it was ended before it had read the text
		}
	}
	d.stop, d.look = stop, l
	s.run(func() {
		defer close(l.done)
		s.guarded(func() (any, error) { s.look(ctx, d, l); return nil, nil })
	})
}

// look looks at a document.
func (s *server) look(ctx context.Context, d *document, l *look) {
	paused := time.After(pause) // since the key, so that the first rules take none of it
	fault := l.open(ctx)
	if fault != nil {
		s.show(ctx, d, l, []finding{*fault})
		return
	}
	j, err := s.judge(l.path)
	s.showWrong(ctx, err)
	switch {
	case j == nil:
		s.show(ctx, d, l, []finding{{res: rule.Result{Status: rule.Unjudged,
			Text: "not judged: " + err.Error()}}})
		return
	case j.excluded || len(l.parts) == 0:
		s.show(ctx, d, l, nil)
		return
	}
	s.show(ctx, d, l, append(j.static(l.parts), s.kept(d, l)...))
	select {
	case <-ctx.Done():
		return
	case <-paused:
	}
	found := j.whole(ctx, l)
	if s.show(ctx, d, l, found) {
		l.patches = patchesOf(ctx, l, j, found)
	}
}

// open reads the templates of the text; the finding is why that cannot be.
func (l *look) open(ctx context.Context) *finding {
	defer close(l.read)
	if len(l.text.string) > maxText {
		return &finding{res: rule.Result{Status: rule.Unjudged,
			Text: fmt.Sprintf("not judged: the text has more than %d bytes", maxText)}}
	}
	parts, err := partsOf(l.path, l.text.string)
	var wrong *source.Error
	if errors.As(err, &wrong) && strings.Contains(l.text.string, `"chat_template"`) {
		return &finding{from: wrong.Off, to: extent(l.text.string, min(wrong.Off,
			len(l.text.string))), res: rule.Result{Status: rule.Failed, Text: wrong.Msg}}
	}
	sources := lists.Map(parts, func(p part) subject.Source { return p.src })
	for i, src := range subject.With(ctx, sources, engine.Options{Limits: l.limits}) {
		l.parts = append(l.parts, part{src, parts[i].at})
		if m, err := flow.Parse(src.Places()); err == nil {
			l.models[src.Name] = m
		}
	}
	return nil
}

// kept are the findings of rules that need a render, of an earlier look.
func (s *server) kept(d *document, l *look) []finding {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kept []finding
	static := check.Static()
	for _, f := range d.shown {
		if d.look == l && !slices.Contains(static, f.res.Rule) && f.res.Rule != "" {
			kept = append(kept, f)
		}
	}
	return kept
}

// show gives the client the findings in a document, and reports whether the look is still the last.
func (s *server) show(ctx context.Context, d *document, l *look, found []finding) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil || d.look != l || s.documents[d.uri] != d {
		return false
	}
	d.shown = found
	version := l.version
	s.conn.Notify(s.ctx, publish, publishParams{d.uri, &version,
		diagnostics(d.uri, l.text, found)}) // a client that is gone sees nothing
	return true
}

// showWrong gives the client the faults of settings, and takes back those that are gone.
func (s *server) showWrong(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	faults := map[string][]diagnostic{}
	for _, e := range faultsOf(err) {
		t := newText(e.Src.Text)
		faults[e.Src.Name] = append(faults[e.Src.Name], diagnostic{Severity: severityError,
			Range: t.span(e.Off, extent(t.string, min(e.Off, len(t.string)))), Source: "assay",
			Message: e.Msg})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for file := range s.wrong {
		if faults[file] == nil {
			faults[file] = []diagnostic{}
		}
	}
	for file, list := range faults {
		s.wrong[file] = len(list) > 0
		s.conn.Notify(s.ctx, publish, publishParams{URI: s.uri(file), Diagnostics: list})
	}
}

// uri is the URI of a file as the client writes it, where it has opened the file: it may escape
// other characters than we do.
// The caller holds the lock.
func (s *server) uri(path string) string {
	for _, d := range s.documents {
		if d.path == path {
			return d.uri
		}
	}
	return uriOf(path)
}

// faultsOf are the errors with a place in a tree of errors.
func faultsOf(err error) []*source.Error {
	switch err := err.(type) {
	case nil:
		return nil
	case *source.Error:
		return []*source.Error{err}
	case config.Errors:
		return err
	case interface{ Unwrap() []error }:
		var all []*source.Error
		for _, one := range err.Unwrap() {
			all = append(all, faultsOf(one)...)
		}
		return all
	}
	return faultsOf(errors.Unwrap(err))
}
