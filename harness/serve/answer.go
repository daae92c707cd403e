package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
)

// answer answers a request of any protocol.
func (s *Server) answer(a *asked) error {
	body, err := s.read(a)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(a.r.Context(), s.o.Limits.Answer,
		&wire.Refusal{Reason: wire.Late,
			Message: fmt.Sprintf("the answer takes more than %s", s.o.Limits.Answer)})
	defer cancel()
	leave, err := s.place(ctx)
	if err != nil {
		return err
	}
	defer leave()
	p, err := s.prepare(ctx, a, body, a.protocol.Decode)
	if err != nil {
		return err
	}
	defer p.leave()
	id, err := s.id()
	if err != nil {
		return err
	}
	job := p.job
	t := &turn{s: s, a: a, job: job, parser: p.plan.NewParser(),
		control: http.NewResponseController(a.w),
		stops:   stopper{stops: p.request.Stops},
		writer: a.protocol.Writer(wire.Envelope{ID: id, Created: s.o.Now().Unix(),
			Model: s.o.Names[0], Request: p.request, Sealer: s.o.Sealer})}
	t.stayAlive()
	result, err := s.o.Backend.Generate(ctx, job, t.take)
	t.over()
	switch {
	case errors.Is(err, errStopped), errors.Is(err, errFull):
		result.Cut = errors.Is(err, errFull)
		if result.Usage.Prompt = t.prompt; t.prompt == 0 { // the back end had counted at the end
			result.Usage.Prompt, _ = s.o.Backend.Count(ctx, job)
		}
	case err != nil:
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return t.fail(err)
	}
	return t.end(result)
}

// errStopped ends an answer at one of its stops, errFull at a limit.
var (
	errStopped = errors.New("a stop came")
	errFull    = errors.New("the answer is full")
)

// turn is an answer that is being written.
type turn struct {
	s      *Server
	a      *asked
	job    Job
	parser *engine.Parser
	stops  stopper
	writer wire.Writer

	prompt int // tokens
	pieces int
	bytes  int
	paid   int // bytes of the text that the budget has been charged for
	token  [1]engine.Token
	buffer []byte // events that are not sent yet
	begun  bool   // the answer's first events are in the buffer, or sent

	control *http.ResponseController
	moved   time.Time // when the deadline for writing was set last

	// Events that keep the connection alive come from a timer, between others.
	mu    sync.Mutex // held while something is sent
	alive *time.Timer
	told  *atomic.Pointer[turn] // the turn, for the timer, until the answer is over
	last  time.Time             // when something went to the client
	ended bool                  // nothing comes from the timer any more
}

// stayAlive sends an event whenever a client has heard nothing for a time. Where that is before the
// back end has begun, the answer begins to stream, and a later error is an event.
func (t *turn) stayAlive() {
	if !t.a.stream {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = time.Now()
	// A timer that was stopped may stay where the runtime keeps timers until its time has come, and
	// would keep the whole answer.
	told := new(atomic.Pointer[turn])
	told.Store(t)
	t.told = told
	t.alive = time.AfterFunc(t.s.o.Limits.Alive, func() {
		t := told.Load()
		if t == nil {
			return
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.ended {
			return
		}
		left := t.s.o.Limits.Alive - time.Since(t.last)
		if left <= 0 {
			t.header()
			if t.write(t.writer.KeepAlive(nil)) != nil {
				return // the client is gone, which the back end hears of
			}
			left = t.s.o.Limits.Alive
		}
		t.alive.Reset(left)
	})
}

// over ends the events of the timer.
func (t *turn) over() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended = true; t.alive != nil {
		t.alive.Stop()
		t.told.Store(nil)
	}
}

// take reads a piece of the model's text.
func (t *turn) take(p Piece) error {
	if p.Prompt > 0 {
		t.prompt = p.Prompt
	}
	if p.Text == nil { // the model has begun: the client may know
		if !t.a.stream {
			return nil
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.header()
		return t.write(nil)
	}
	t.begin()
	t.pieces++
	t.bytes += len(p.Text)
	if t.pieces == 1 {
		t.a.first = t.s.o.Now().Sub(t.a.begun)
		t.s.metrics.first(t.a)
	}
	if err := t.pay(); err != nil {
		return err
	}
	if t.s.o.LogText {
		t.a.text = append(t.a.text, p.Text...)
	}
	var deltas []chat.Delta
	if p.ByID {
		t.token[0] = engine.Token{ID: p.ID, Text: p.Text}
		deltas = t.parser.WriteTokens(t.token[:])
	} else {
		deltas = t.parser.Write(p.Text)
	}
	stopped := t.deltas(deltas)
	if err := t.flush(p.More); err != nil {
		return err
	}
	switch {
	case stopped:
		return errStopped
	case t.bytes > t.s.o.Limits.Text, t.job.Max > 0 && t.pieces > t.job.Max:
		return errFull // the back end keeps to no limit of its own
	}
	return nil
}

// pay charges for the text of the answer.
func (t *turn) pay() error {
	if t.bytes <= t.paid {
		return nil
	}
	price := int64(wholeByte)
	if t.a.stream {
		price = streamByte
	}
	step := max(payment, t.bytes-t.paid)
	t.paid += step
	return t.s.budget.hold(t.a, price*int64(step))
}

// deltas writes deltas, as far as no stop comes in the content.
func (t *turn) deltas(ds []chat.Delta) (stopped bool) {
	for _, d := range ds {
		if t.stops.found != "" {
			return true
		}
		d, before := t.stops.read(d)
		if before != "" {
			t.buffer = t.writer.Delta(t.buffer, chat.Delta{Content: before})
		}
		if d.Reasoning != "" || d.Content != "" || len(d.ToolCalls) > 0 {
			t.buffer = t.writer.Delta(t.buffer, d)
		}
	}
	return t.stops.found != ""
}

// begin puts the answer's first events into the buffer.
func (t *turn) begin() {
	if !t.begun {
		t.begun = true
		t.buffer = t.writer.Begin(t.buffer, t.prompt)
	}
}

// header makes the header of a stream, unless it is made.
func (t *turn) header() {
	if t.a.sent {
		return
	}
	h := t.a.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx: pass events on as they come
	t.a.sent = true
	t.a.w.WriteHeader(http.StatusOK)
}

// flush sends the events in the buffer, unless another piece is there already.
func (t *turn) flush(more bool) error {
	if len(t.buffer) == 0 || more && len(t.buffer) < maxBuffer {
		return nil
	}
	err := t.send(t.buffer)
	t.buffer = t.buffer[:0]
	return err
}

// maxBuffer bounds the events that wait for others, in bytes.
const maxBuffer = 16 << 10

// send sends events.
func (t *turn) send(events []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.write(events)
}

// write sends events; the caller holds the lock.
func (t *turn) write(events []byte) error {
	// a deadline is a timer: it moves four times in its length, and not with every token
	now := time.Now()
	t.last = now
	if now.Sub(t.moved) > t.s.o.Limits.Write/4 {
		t.moved = now
		t.control.SetWriteDeadline(now.Add(t.s.o.Limits.Write))
	}
	if _, err := t.a.w.Write(events); err != nil {
		return err
	}
	return t.control.Flush()
}

// finish closes the parser.
func (t *turn) finish(r Result) wire.End {
	reason := chat.FinishStop
	if r.Cut {
		reason = chat.FinishLength
	}
	end := wire.End{Usage: r.Usage}
	if t.stops.found == "" {
		t.deltas(t.parser.Close(reason))
	}
	if t.stops.found == "" {
		if rest := t.stops.close(); rest != "" {
			t.buffer = t.writer.Delta(t.buffer, chat.Delta{Content: rest})
		}
		end.Finish = t.parser.Finish()
	} else {
		end.Finish, end.Stop = chat.FinishStop, t.stops.found
	}
	if end.Usage.Prompt == 0 {
		end.Usage.Prompt = t.prompt
	}
	if end.Usage.Completion == 0 { // broken off, or not counted: a piece is a token
		end.Usage.Completion = t.pieces
	}
	t.a.usage = end.Usage
	return end
}

// end ends the answer.
func (t *turn) end(r Result) error {
	t.prompt = max(t.prompt, r.Usage.Prompt)
	t.begin()
	end := t.finish(r)
	if !t.a.stream {
		t.a.sent = true
		http.NewResponseController(t.a.w).SetWriteDeadline(time.Now().Add(t.s.o.Limits.Write))
		writeJSON(t.a.w, http.StatusOK, t.writer.Whole(end))
		return nil
	}
	t.buffer = t.writer.End(t.buffer, end)
	return t.flush(false)
}

// fail ends the answer with an error; one whose header is not sent yet is refused instead.
func (t *turn) fail(err error) error {
	if t.a.sent && context.Cause(t.a.r.Context()) != context.Canceled { // the client is there
		t.begin()
		t.buffer = t.writer.Fail(t.buffer, wire.AsRefusal(err, wire.Internal))
		t.flush(false)
	}
	return err
}

// count counts the tokens of a request of the Messages.
func (s *Server) count(a *asked) error {
	body, err := s.read(a)
	if err != nil {
		return err
	}
	leave, err := s.place(a.r.Context())
	if err != nil {
		return err
	}
	defer leave()
	p, err := s.prepare(a.r.Context(), a, body, wire.DecodeCount)
	if err != nil {
		return err
	}
	defer p.leave()
	n, err := s.o.Backend.Count(a.r.Context(), p.job)
	if err == nil {
		writeJSON(a.w, http.StatusOK, wire.CountObject(n))
	}
	return err
}

// ready tells whether requests can be answered.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), s.o.Limits.MaxTime)
	defer cancel()
	switch err := s.o.Backend.Ready(ctx); {
	case s.stopping.Load():
		writeJSON(w, http.StatusServiceUnavailable, status("stopping"))
	case err != nil:
		s.o.Log.Warn("not ready", "error", err)
		writeJSON(w, http.StatusServiceUnavailable, status("the back end does not answer"))
	default:
		writeJSON(w, http.StatusOK, status("ok"))
	}
}

// models lists the model, in the shape of the API that the client speaks.
func (s *Server) models(a *asked) error {
	anthropic := a.r.Header.Get("Anthropic-Version") != ""
	if anthropic {
		a.protocol = wire.Messages
	}
	model := func(name string) ordered.Value {
		if anthropic {
			return wire.ModelOfMessages(name, s.started)
		}
		return wire.Model(name, s.started)
	}
	if name := a.r.PathValue("name"); name != "" {
		if err := s.known(name); err != nil {
			return err
		}
		writeJSON(a.w, http.StatusOK, model(name))
		return nil
	}
	data := ordered.MemberOf("data", ordered.ListOf(s.o.Names, model))
	v := ordered.ObjectOf(ordered.MemberOf("object", ordered.Str("list")), data)
	if anthropic {
		v = ordered.ObjectOf(data, ordered.MemberOf("has_more", ordered.Boolean(false)),
			ordered.MemberOf("first_id", ordered.Str(s.o.Names[0])),
			ordered.MemberOf("last_id", ordered.Str(s.o.Names[len(s.o.Names)-1])))
	}
	writeJSON(a.w, http.StatusOK, v)
	return nil
}

// properties are those of llama.cpp's server that have a counterpart here.
func (s *Server) properties(a *asked) error {
	v := ordered.Pairs("chat_template", s.o.Source.Text, "bos_token", s.o.Source.BOS,
		"eos_token", s.o.Source.EOS)
	if !s.o.Info.IsNull() {
		v = v.With("model_info", s.o.Info)
	}
	writeJSON(a.w, http.StatusOK, v)
	return nil
}
