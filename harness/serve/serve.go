package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/schema"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/engine/wire"
)

// Backend runs a model. It is safe for concurrent use.
type Backend interface {
	// Generate continues a prompt. It calls take with a zero Piece once the model has begun, then
	// for each piece of the text as it comes. It ends early with the error of take or with the
	// cause of the context. An error that is a *[wire.Refusal] is shown to the client.
	Generate(ctx context.Context, j Job, take func(Piece) error) (Result, error)
	// Count counts the tokens of a job's prompt.
	Count(ctx context.Context, j Job) (int, error)
	// Constrains reports whether the back end takes a grammar.
	Constrains() bool
	// Ready returns why the back end cannot answer now.
	Ready(ctx context.Context) error
}

// Job is a prompt to continue.
type Job struct {
	Prompt engine.Prompt
	// Output has the texts that end the turn, the markers that must come as text, and the grammar
	// with its triggers. It is the same for all requests that differ in nothing but the prompt.
	Output    *codegen.Output
	Constrain bool          // the answer is to keep to the grammar
	Max       int           // tokens of the answer; 0: as many as fit
	Sampling  ordered.Value // [wire.Request.Sampling]
}

// Piece is a piece of an answer.
type Piece struct {
	Text   []byte
	ByID   bool // it is a token, to be read by its id; all pieces of an answer are, or none
	ID     int  // of the token
	Prompt int  // tokens of the prompt, 0 where they are not known yet
	More   bool // another piece is there already
}

// Result is how an answer came about.
type Result struct {
	Cut   bool       // a limit ended it
	Usage chat.Usage // 0: not known
}

// Limits bound clients and the back end. Zero fields have the defaults.
type Limits struct {
	Body     int64         // of a request, in bytes; 16 MiB
	Memory   int64         // of all requests together, in bytes; 512 MiB, at least 8 times Body
	Header   int           // of a request, in bytes; 16 KiB
	Conns    int           // open connections; twice Running and Waiting together
	Read     time.Duration // to read a request; 30 seconds
	Running  int           // requests at once; 256
	Waiting  int           // requests that wait to run; 1024
	Wait     time.Duration // how long a request may wait to run; 1 minute
	Answer   time.Duration // how long an answer may take; 15 minutes
	Write    time.Duration // how long a client may take nothing; 30 seconds
	Alive    time.Duration // how long a stream may be silent; 15 seconds
	Text     int           // of an answer, in bytes; 16 MiB
	MaxTime  time.Duration // of a readiness check; 5 seconds
	MaxToken int           // tokens of an answer whose request states no bound; 0: as many as fit
}

func (l Limits) orDefault() Limits {
	l.Body = cmp.Or(l.Body, 16<<20)
	l.Memory = max(cmp.Or(l.Memory, 512<<20), 8*l.Body)
	l.Header = cmp.Or(l.Header, 16<<10)
	l.Read = cmp.Or(l.Read, 30*time.Second)
	l.Running = cmp.Or(l.Running, 256)
	l.Waiting = cmp.Or(l.Waiting, 1024)
	l.Conns = cmp.Or(l.Conns, 2*(l.Running+l.Waiting))
	l.Wait = cmp.Or(l.Wait, time.Minute)
	l.Answer = cmp.Or(l.Answer, 15*time.Minute)
	l.Write = cmp.Or(l.Write, 30*time.Second)
	l.Alive = cmp.Or(l.Alive, 15*time.Second)
	l.Text = cmp.Or(l.Text, 16<<20)
	l.MaxTime = cmp.Or(l.MaxTime, 5*time.Second)
	return l
}

// Options are the parts of a server.
type Options struct {
	Names    []string      // of the model in requests, the one that answers carry first
	Source   engine.Source // of the template
	Template *engine.Template
	Backend  Backend
	Info     ordered.Value // of the model, for /props; null: nothing is known
	Keys     []string      // a client must have one of them; none: everybody may ask
	Hosts    []string      // the server's names in requests; "*": any
	Sealer   *wire.Sealer  // of reasoning that is handed back
	Limits   Limits
	Reading  engine.PrepareOptions // how answers are read
	Log      *slog.Logger
	LogText  bool             // log requests and answers with their texts
	Now      func() time.Time // nil: the clock
	Random   io.Reader        // of ids; nil: crypto/rand.Reader
}

// Server answers requests. It is safe for concurrent use.
type Server struct {
	o        Options
	keys     [][sha256.Size]byte
	running  chan struct{} // holds an element for each request that runs
	waiting  atomic.Int64
	budget   *budget
	conns    *conns
	stopping atomic.Bool
	metrics  *metrics
	started  int64
}

// New judges the template and makes a server. The error of a template that the gate rejects wraps
// engine.ErrToolsUnsupported or engine.ErrUnverified.
func New(o Options) (*Server, error) {
	if err := o.Template.Gate().Err(); err != nil {
		return nil, fmt.Errorf("the template is rejected: %w", err)
	}
	if len(o.Names) == 0 {
		return nil, errors.New("the model has no name")
	}
	o.Limits = o.Limits.orDefault()
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{o: o, running: make(chan struct{}, o.Limits.Running),
		budget: newBudget(o.Limits.Memory), started: o.Now().Unix()}
	for _, key := range o.Keys {
		s.keys = append(s.keys, sha256.Sum256([]byte(key)))
	}
	s.conns = newConns(s.budget, o.Limits.Conns)
	s.metrics = newMetrics(s)
	return s, nil
}

// Handler returns the server's handler.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, p := range wire.All {
		mux.HandleFunc(p.Path(), s.only(http.MethodPost, p, func(a *asked) error {
			return s.answer(a)
		}))
	}
	mux.HandleFunc(wire.CountPath, s.only(http.MethodPost, wire.Messages, s.count))
	open := func(path string, handle http.HandlerFunc) { mux.HandleFunc("GET "+path, handle) }
	open("/health", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, status("ok"))
	})
	open("/ready", s.ready)
	open("/metrics", s.metrics.handler().ServeHTTP)
	keyed := func(path string, handle func(*asked) error) {
		mux.HandleFunc(path, s.only(http.MethodGet, wire.ChatCompletions, handle))
	}
	keyed("/v1/models", s.models)
	keyed("/v1/models/{name}", s.models)
	keyed("/props", s.properties)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, protocolOf(r.URL.Path), &wire.Refusal{Reason: wire.NotFound,
			Message: "there is no such path"})
	})
	return s.named(mux)
}

// named refuses requests whose host is not a name of this server, against DNS rebinding: a page of
// another site may make its own name resolve to this machine, and its browser then takes it for a
// page of this server. That cannot be done with an address, and no browser leaves the host out.
func (s *Server) named(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
		if host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost") ||
			net.ParseIP(host) != nil || slices.ContainsFunc(s.o.Hosts, func(name string) bool {
			return name == "*" || strings.EqualFold(name, host)
		}) {
			next.ServeHTTP(w, r)
			return
		}
		host = source.Cut(host, maxPath)
		s.o.Log.Info("misdirected", "host", host, "path", source.Cut(r.URL.Path, maxPath))
		s.refuse(w, protocolOf(r.URL.Path), &wire.Refusal{Reason: wire.Misdirected,
			Message: fmt.Sprintf("%q is not a name of this server; give it (--host)", host)})
	})
}

// protocolOf returns the protocol in which requests for a path are refused.
func protocolOf(path string) wire.Protocol {
	if strings.HasPrefix(path, wire.Messages.Path()) {
		return wire.Messages
	}
	return wire.ChatCompletions
}

func status(text string) ordered.Value {
	return ordered.Pairs("status", text)
}

// Serve answers the connections of a listener until ctx ends; it is called once. Then it takes no
// more requests, and gives those that run as long as grace to finish.
func (s *Server) Serve(ctx context.Context, l net.Listener, grace time.Duration) error {
	base, end := context.WithCancelCause(context.WithoutCancel(ctx))
	server := &http.Server{
		Handler:           s.conns.handler(s.Handler()),
		ConnContext:       withConn,
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: s.o.Limits.Read,
		MaxHeaderBytes:    s.o.Limits.Header,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(s.o.Log.Handler(), slog.LevelDebug),
	}
	done := make(chan error, 1)
	s.conns.Listener = l
	go func() { done <- server.Serve(s.conns) }()
	select {
	case err := <-done:
		end(err)
		return err
	case <-ctx.Done():
	}
	s.stopping.Store(true)
	s.o.Log.Info("stopping", "running", len(s.running))
	within, cancel := context.WithTimeout(base, grace)
	defer cancel()
	err := server.Shutdown(within)
	end(errStopping)
	if err != nil {
		// now the requests end with an error of their protocol
		last, cancel := context.WithTimeout(context.WithoutCancel(base), time.Second)
		defer cancel()
		if server.Shutdown(last) != nil {
			server.Close()
		}
	}
	return nil
}

// errStopping ends the requests that still run when the server's grace is over.
var errStopping = &wire.Refusal{Reason: wire.Unavailable, Message: "the server is stopping"}

// asked is a request that is being answered.
type asked struct {
	protocol wire.Protocol
	w        http.ResponseWriter
	r        *http.Request
	begun    time.Time
	body     int64 // bytes that have come
	marks    int64 // commas, brackets and escapes among them; see arriving.marks
	held     int64 // of the budget

	// for the log
	first   time.Duration // until the first text
	elapsed time.Duration
	usage   chat.Usage
	stream  bool
	sent    bool // the answer's header
	text    []byte
}

// only calls a handler for requests of one method that have a key, and refuses the others. An error
// of the handler is a refusal too, unless the answer has begun.
func (s *Server) only(method string, p wire.Protocol, handle func(*asked) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a := &asked{protocol: p, w: w, r: r, begun: s.o.Now()}
		defer s.budget.release(a)
		var err error
		switch {
		case r.Method != method:
			w.Header().Set("Allow", method)
			err = &wire.Refusal{Reason: wire.Method, Message: "use " + method}
		case len(s.keys) == 0 && !fromHere(r):
			err = &wire.Refusal{Reason: wire.Unauthorized, Message: "the request is from a page " +
				"of another site, and this server has no API keys; give it some (--keys)"}
		case !s.knows(r):
			w.Header().Set("WWW-Authenticate", "Bearer")
			err = &wire.Refusal{Reason: wire.Unauthorized, Message: "the API key is missing or " +
				"wrong; send it as a bearer token, or as x-api-key"}
		case s.stopping.Load():
			err = errStopping
		default:
			err = handle(a)
		}
		code := http.StatusOK
		refusal := new(wire.Refusal)
		switch {
		case err == nil:
		case !errors.As(err, &refusal) && context.Cause(r.Context()) == context.Canceled:
			code = gone
		case a.sent:
			code = wire.AsRefusal(err, wire.Internal).Status()
		default:
			code = s.refuse(w, p, wire.AsRefusal(err, wire.Internal))
		}
		a.elapsed = s.o.Now().Sub(a.begun)
		s.metrics.done(a, code)
		s.log(a, code, err)
	}
}

// gone is the status in the log of a request whose client went away, as nginx has it.
const gone = 499

// maxPath and maxCause bound the path of a request and the cause of an error in the log, in bytes.
const maxPath, maxCause = 200, 2000

func (s *Server) log(a *asked, code int, err error) {
	attrs := []any{"path", source.Cut(a.r.URL.Path, maxPath), "status", code, "stream", a.stream,
		"ms", a.elapsed.Milliseconds(), "first_ms", a.first.Milliseconds(),
		"prompt_tokens", a.usage.Prompt, "completion_tokens", a.usage.Completion}
	var refusal *wire.Refusal
	if errors.As(err, &refusal) {
		refusal = wire.AsRefusal(refusal, refusal.Reason) // with its texts cut
		attrs = append(attrs, "reason", refusal.Reason.String(), "param", refusal.Param)
	}
	// Clients see no cause. Causes of these reasons are safe to log: they repeat nothing of a
	// request.
	switch {
	case refusal == nil && err != nil && code != gone:
		attrs = append(attrs, "cause", source.Cut(err.Error(), maxCause))
	case refusal == nil || refusal.Err == nil:
	case s.o.LogText || refusal.Reason == wire.Unavailable || refusal.Reason == wire.Late:
		attrs = append(attrs, "cause", source.Cut(refusal.Err.Error(), maxCause))
	}
	if s.o.LogText {
		attrs = append(attrs, "text", string(a.text))
		if err != nil {
			attrs = append(attrs, "error", err.Error())
		}
	}
	s.o.Log.Info("request", attrs...)
}

// knows reports whether a request has one of the keys. Every key is compared, in constant time.
func (s *Server) knows(r *http.Request) bool {
	if len(s.keys) == 0 {
		return true
	}
	given := r.Header.Get("X-Api-Key")
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok &&
		strings.EqualFold(scheme, "bearer") {
		given = strings.TrimSpace(token)
	}
	sum, found := sha256.Sum256([]byte(given)), 0
	for _, key := range s.keys {
		found |= subtle.ConstantTimeCompare(sum[:], key[:])
	}
	return found == 1
}

// fromHere reports whether a request is from a program, or from a page of this very server. With
// each POST a browser sends the origin of the page that asks. A name other than localhost is not
// trusted, since another site may have made it resolve to this machine.
func fromHere(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host != r.Host {
		return false
	}
	return u.Hostname() == "localhost" || net.ParseIP(u.Hostname()) != nil
}

func (s *Server) refuse(w http.ResponseWriter, p wire.Protocol, r *wire.Refusal) int {
	code, body := p.Refuse(r)
	if r.Reason == wire.Busy || r.Reason == wire.Unavailable {
		w.Header().Set("Retry-After", "1")
	}
	if r.Reason == wire.TooLarge || r.Reason == wire.Late {
		w.Header().Set("Connection", "close") // the rest of the body is not read
	}
	writeJSON(w, code, body)
	return code
}

func writeJSON(w http.ResponseWriter, code int, v ordered.Value) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	w.Write(v.Append(nil, ordered.Compact))
}

// read reads a request's body.
func (s *Server) read(a *asked) (string, error) {
	control := http.NewResponseController(a.w)
	control.SetReadDeadline(time.Now().Add(s.o.Limits.Read))
	var body strings.Builder
	_, err := io.CopyBuffer(struct{ io.Writer }{&body}, &arriving{b: s.budget, a: a,
		body: http.MaxBytesReader(a.w, a.r.Body, s.o.Limits.Body)}, make([]byte, 4<<10))
	var full *wire.Refusal
	var large *http.MaxBytesError
	var slow net.Error
	switch {
	case errors.As(err, &full):
		return "", full
	case errors.As(err, &large):
		return "", &wire.Refusal{Reason: wire.TooLarge,
			Message: fmt.Sprintf("the request has more than %d bytes", large.Limit)}
	case errors.As(err, &slow) && slow.Timeout():
		return "", &wire.Refusal{Reason: wire.Late,
			Message: fmt.Sprintf("the request did not come within %s", s.o.Limits.Read)}
	case err != nil:
		return "", &wire.Refusal{Reason: wire.Invalid, Message: "the request's body ends early"}
	}
	control.SetReadDeadline(time.Time{})
	if s.o.LogText {
		a.text = append(a.text, body.String()...)
		return body.String(), s.budget.hold(a, a.body)
	}
	return body.String(), nil
}

// place waits until a request may run. The caller calls leave.
func (s *Server) place(ctx context.Context) (leave func(), err error) {
	leave = func() { <-s.running }
	select {
	case s.running <- struct{}{}:
		return leave, nil
	default:
	}
	if s.waiting.Add(1) > int64(s.o.Limits.Waiting) {
		s.waiting.Add(-1)
		return nil, &wire.Refusal{Reason: wire.Busy, Message: "too many requests are waiting"}
	}
	defer s.waiting.Add(-1)
	patience := time.NewTimer(s.o.Limits.Wait)
	defer patience.Stop()
	select {
	case s.running <- struct{}{}:
		return leave, nil
	case <-patience.C:
		return nil, s.waited()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// waited is the refusal of a request that has waited for too long.
func (s *Server) waited() error {
	return &wire.Refusal{Reason: wire.Busy,
		Message: fmt.Sprintf("the request has waited for %s", s.o.Limits.Wait)}
}

// known returns a refusal unless the model of a request is the one that is served.
func (s *Server) known(name string) error {
	if name == "" || slices.Contains(s.o.Names, name) {
		return nil
	}
	return &wire.Refusal{Reason: wire.NotFound, Param: "model", Code: "model_not_found",
		Message: fmt.Sprintf("there is no model %q here; expected %q", name, s.o.Names[0])}
}

// prepared is a request that can be answered.
type prepared struct {
	request *wire.Request
	plan    *engine.Plan
	job     Job
	leave   func() // ends the use of the plan
}

// prepare reads a request from its body and makes its plan and its job. The caller calls leave.
func (s *Server) prepare(ctx context.Context, a *asked, body string,
	decode func(ordered.Value, *wire.Sealer) (*wire.Request, error)) (*prepared, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.o.Limits.Wait, s.waited())
	defer cancel()
	need := a.body*workingByte + a.marks*workingMark
	has := need + codegen.MakingBytes // without tools
	var r *wire.Request
	var kept int64
	for r == nil {
		if err := s.budget.work(ctx, has); err != nil {
			return nil, err
		}
		v, err := parse(body)
		if err == nil {
			r, err = decode(v, s.o.Sealer)
		}
		if err != nil {
			s.budget.rest(has)
			return nil, err
		}
		var most int64
		most, kept = making(r)
		if more := need + most - has; more > 0 {
			if !s.budget.workMore(more) {
				// Requests that hold memory while they wait for more could deadlock.
				s.budget.rest(has)
				r = nil
			}
			has += more
		}
	}
	defer s.budget.rest(has)
	a.stream = r.Stream
	plan, job, err := s.planned(r)
	if err != nil {
		return nil, err
	}
	more := max(0, int64(len(job.Prompt.Text))-a.body)
	if err := s.budget.hold(a, heldRequest+more*promptByte); err != nil {
		return nil, err
	}
	leave, err := s.budget.plan(a, plan.Output, kept)
	if err != nil {
		return nil, err
	}
	return &prepared{r, plan, job, leave}, nil
}

// notTaken is the refusal of a request that Prepare does not take. It does not show the path of the
// template.
func (s *Server) notTaken(r *wire.Request, err error) *wire.Refusal {
	refusal := &wire.Refusal{Reason: wire.Invalid, Err: err}
	if fault := new(schema.Error); errors.As(err, &fault) {
		refusal.Param, refusal.Message = r.Place(fault.Path), fault.Msg
		return refusal
	}
	text := err.Error()
	if name := s.o.Source.Name; name != "" {
		text = strings.ReplaceAll(text, name, "the template")
	}
	refusal.Message = "the model's template does not take the request: " + text
	return refusal
}

// planned makes a plan and a job of a request.
func (s *Server) planned(r *wire.Request) (*engine.Plan, Job, error) {
	if err := s.known(r.Model); err != nil {
		return nil, Job{}, err
	}
	plan, err := s.o.Template.Prepare(r.Chat, s.o.Reading)
	if err != nil {
		return nil, Job{}, s.notTaken(r, err)
	}
	for _, fault := range plan.Output.Faults() {
		return nil, Job{}, &wire.Refusal{Reason: wire.Invalid, Param: r.Place(fault.Path),
			Message: fault.Msg}
	}
	constrain := r.Chat.HasJSONSchema ||
		len(r.Chat.Tools) > 0 && r.Chat.ToolChoice.Mode != chat.ChoiceNone
	if constrain && !s.o.Backend.Constrains() {
		if r.Strict {
			return nil, Job{}, &wire.Refusal{Reason: wire.Invalid, Code: "unsupported_value",
				Message: "the upstream takes no grammar, so a required call, a single call, a " +
					"strict tool and a schema of the answer cannot be promised"}
		}
		constrain = false
	}
	if constrain { // tell the client if no grammar can be made of its schema
		if _, err := plan.Output.Grammar(); err != nil {
			return nil, Job{}, &wire.Refusal{Reason: wire.Invalid, Message: err.Error()}
		}
	}
	return plan, Job{Prompt: plan.Prompt, Output: plan.Output, Constrain: constrain,
		Max: cmp.Or(r.MaxTokens, s.o.Limits.MaxToken), Sampling: r.Sampling}, nil
}

// id returns letters and digits that no other answer has.
func (s *Server) id() (string, error) {
	var raw [15]byte
	if _, err := io.ReadFull(s.o.Random, raw[:]); err != nil {
		return "", err
	}
	return strings.ToLower(base32.StdEncoding.EncodeToString(raw[:])), nil
}
