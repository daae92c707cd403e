package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/serve/provider/dataset"
	"golang.org/x/sync/errgroup"
)

// Run asks a provider the requests of a data set.
type Run struct {
	Client      *Client
	Explain     *Explainer
	Clock       Clock
	Random      func() float64 // within 0 and 1; safe for concurrent use
	Concurrency int            // requests at once
	Tries       int            // of a request, at most
	Budget      Budget
	// Body changes the body of a request before it is sent, as the provider wants it.
	Body func(body ordered.Value, stream bool) ordered.Value
	// Done, where set, is told how many answers there are.
	Done func(done int)

	log   *Log
	table *Table
	purse *purse

	mu     sync.Mutex // guards the fields below it, and table
	done   int
	streak []job           // requests without an answer since the provider showed that it is there
	others map[uint64]bool // their conversations
	came   bool            // an answer came in this run
}

// ErrSilent is the cause of a run that ended since the provider answers nobody; the requests that
// had no answer are sent again by the next run.
var ErrSilent = errors.New("the provider does not answer")

// ErrUnanswered is the cause of a run all of whose requests failed: there is nothing to judge.
var ErrUnanswered = errors.New("no request had an answer that can be read")

// longestStreak is how many conversations in a row have no answer before a run ends.
const longestStreak = 20

// maxError bounds the error of a request, in bytes.
const maxError = 500

// job is a request to send.
type job struct {
	dataset.Request
	repeat int
	stream bool
}

// Ask sends the requests that a table has no answers to, and writes their answers to the log. open
// opens the data set. Where the budget does not allow all of them the error wraps the reason, and
// the table has the answers that came. Where all have failed it is [ErrUnanswered].
func (r *Run) Ask(ctx context.Context, log *Log, table *Table,
	open func() (io.ReadCloser, error)) error {
	r.log, r.table, r.purse = log, table, newPurse(r.Budget, table.Spent)
	r.others = map[uint64]bool{}
	for i := range table.Outcomes {
		if table.Outcomes[i].State != Missing {
			r.done++
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	jobs := make(chan job)
	group.Go(func() error {
		defer close(jobs)
		for repeat := range table.Repeats {
			if err := r.hand(ctx, open, repeat, jobs); err != nil {
				return err
			}
		}
		return nil
	})
	for range r.Concurrency {
		group.Go(func() error {
			for j := range jobs {
				if err := r.one(ctx, &j); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil && !r.came && len(r.streak) > 0:
		return r.forget(errors.New("no request had an answer"))
	case errors.Is(err, ErrSilent): // those that were under way have come since
		if e := r.forget(err); !errors.Is(e, ErrSilent) {
			return e
		}
	case err == nil:
		if answered, failed := table.answered(); answered == 0 && failed > 0 {
			return ErrUnanswered
		}
	}
	return err
}

// hand hands the requests of a repeat on that have no answer yet.
func (r *Run) hand(ctx context.Context, open func() (io.ReadCloser, error), repeat int,
	jobs chan<- job) error {
	f, err := open()
	if err != nil {
		return err
	}
	defer f.Close()
	in := dataset.NewReader(f)
	for range r.table.Requests {
		request, err := in.Next()
		if err != nil {
			return fmt.Errorf("the data set: %w", err)
		}
		for _, stream := range [...]bool{false, true} {
			key, err := r.table.at(request.N, repeat, stream)
			if err != nil {
				continue // it is not sent in this way
			}
			r.mu.Lock()
			known := r.table.Outcomes[key].State != Missing
			r.mu.Unlock()
			if known {
				continue
			}
			select {
			case jobs <- job{request, repeat, stream}:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

// one sends a request until it has an answer or no more tries.
func (r *Run) one(ctx context.Context, j *job) error {
	q, err := newQuestion(j.Body, j.Expect)
	if err != nil {
		return err
	}
	q.tokens = j.Tokens
	if err := r.purse.take(ctx); err != nil {
		return err
	}
	tries, usage := 0, (*Usage)(nil)
	defer func() { r.purse.give(tries, usage) }()
	e := &Entry{What: lineSent, N: j.N, Repeat: j.repeat, Stream: j.stream}
	if err := r.write(e); err != nil {
		return err
	}
	e.What, e.ID = lineAnswer, j.ID
	body := r.Body(j.Body, j.stream)
	var f *fault
	for {
		tries++
		a, err := r.Client.ask(ctx, body, j.stream, r.Clock.Now)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		e.Tries = tries
		if err == nil {
			o, misses := r.Explain.look(q, a)
			o.Tries = uint8(min(tries, 255))
			e.Finish, e.Message, e.Raw, e.Outcome, e.Misses = a.Finish, &a.Message, a.Raw, &o,
				misses
			if a.Usage != nil {
				usage = &Usage{a.Usage.Prompt, a.Usage.Completion}
				e.Usage = usage
			}
			if err := r.answered(j, e); err != nil || usage != nil {
				return err
			}
			return r.purse.uncounted()
		}
		if !errors.As(err, &f) {
			return err
		}
		if !f.again || tries >= r.Tries || !r.purse.more() {
			break
		}
		if err := r.Clock.Sleep(ctx, wait(tries, f.after, r.Random)); err != nil {
			return err
		}
	}
	e.Status, e.Error = f.status, source.Cut(f.Error(), maxError)
	e.Outcome = &Outcome{State: Failed, Off: q.off, Tries: uint8(min(tries, 255))}
	e.Misses = []Miss{{Kind: MissFailed, Why: e.Error, Cause: CauseProvider,
		How: fmt.Sprintf("after %d tries", tries)}}
	return r.failed(j, e, refused(f.status))
}

// refused reports whether a status shows that a request came to a provider that answers others.
func refused(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return true
	}
	return status >= 200 && status <= 299
}

// write writes a line, and notes it in the table.
func (r *Run) write(e *Entry) error {
	if err := r.log.write(e); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.note(e)
}

func (r *Run) note(e *Entry) error {
	return r.table.add(&summary{What: e.What, N: e.N, Repeat: e.Repeat, Stream: e.Stream,
		ID: e.ID, Tries: e.Tries, Usage: e.Usage, Outcome: e.Outcome, Misses: e.Misses})
}

func (r *Run) answered(j *job, e *Entry) error {
	if err := r.write(e); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.there()
	r.step()
	return nil
}

// there notes that the provider is there.
func (r *Run) there() { r.came, r.streak, r.others = true, nil, map[uint64]bool{} }

func (r *Run) step() {
	r.done++
	if r.Done != nil {
		r.Done(r.done)
	}
}

// failed notes a request without an answer. Where there are many in a row the provider is not
// there, or does not let us in, which says nothing about its answers.
// Requests of one conversation count once, since one that a provider cannot bear may be there many
// times.
func (r *Run) failed(j *job, e *Entry, refused bool) error {
	if err := r.write(e); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.step()
	if refused {
		r.there()
		return nil
	}
	r.streak = append(r.streak, *j)
	if r.others[conversation(j.Body)] = true; len(r.others) >= longestStreak {
		return r.forget(fmt.Errorf("%d requests in a row had no answer, the last one for this "+
			"reason: %s", len(r.streak), e.Error))
	}
	return nil
}

// forget takes the requests of a streak out of the results.
func (r *Run) forget(why error) error {
	for _, j := range r.streak {
		e := &Entry{What: lineForgotten, N: j.N, Repeat: j.repeat, Stream: j.stream, ID: j.ID}
		if err := errors.Join(r.log.write(e), r.note(e)); err != nil {
			return err
		}
	}
	r.done -= len(r.streak)
	r.streak, r.others = nil, map[uint64]bool{}
	return fmt.Errorf("%w: %w", ErrSilent, why)
}
