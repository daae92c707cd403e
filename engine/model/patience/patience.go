// Package patience keeps servers from holding a client for ever.
//
// # Model
//
// A [Budget] is the time, and the number of requests, that a client spends on one thing that it
// does: it lists a repository, reads a file, pulls a model, lists a bucket. [With] puts it into the
// context of that thing, and every request made for it spends from it. Bytes that come earn time
// and requests, so that a large file may take as long as it needs, and a server that gives a byte
// at a time is given up: slowly, for the time that it takes, or fast, for the work of taking it.
//
// [Watch] ends a single request whose server has been silent for too long; a [Body] is an answer's
// body under both.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package patience

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// The bounds of a budget.
const (
	Wait       = 10 * time.Minute // of waiting for servers, in all, besides
	Slowest    = 16 << 10         // bytes a second that must come on average
	Requests   = 200              // in all, besides one for each
	PerRequest = 64 << 10         // bytes that came
	Pieces     = 100_000          // in which bytes come, in all, besides one for each
	PerPiece   = 512              // bytes that came
)

// Budget is how much of that is spent. The zero value is unspent. It is safe for use by several
// goroutines.
type Budget struct {
	mu       sync.Mutex
	waited   time.Duration
	came     int64 // bytes of content
	requests int
	pieces   int64 // in which the bytes came
}

type key struct{}

// With returns a context for one thing that a client does. A thing that is a part of another one
// has the other's budget.
func With(ctx context.Context) context.Context {
	if ctx.Value(key{}) != nil {
		return ctx
	}
	return context.WithValue(ctx, key{}, new(Budget))
}

// Of returns the budget of a context, a new one where it has none.
func Of(ctx context.Context) *Budget {
	if b, ok := ctx.Value(key{}).(*Budget); ok {
		return b
	}
	return new(Budget)
}

// Spend adds to the time, the bytes and the requests. Its error begins with a verb, for a text
// before it that names the server.
func (b *Budget) Spend(waited time.Duration, came, requests int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waited += waited
	b.came += int64(came)
	b.requests += requests
	if came > 0 {
		b.pieces++
	}
	earned := time.Duration(b.came/Slowest) * time.Second
	switch {
	case b.waited > Wait+earned:
		return fmt.Errorf("gave %d bytes in %v, expected at least %d KiB a second after %v: "+
			"it is given up", b.came, b.waited.Round(time.Second), Slowest>>10, Wait)
	case int64(b.requests) > Requests+b.came/PerRequest:
		return fmt.Errorf("gave %d bytes in %d answers, expected at least %d KiB an answer after "+
			"the first %d: it is given up", b.came, b.requests, PerRequest>>10, Requests)
	case b.pieces > Pieces+b.came/PerPiece:
		return fmt.Errorf("gave %d bytes in %d pieces, expected at least %d bytes a piece after the "+
			"first %d: it is given up", b.came, b.pieces, PerPiece, Pieces)
	}
	return nil
}

// ErrSilent is the usual cause with which a [Watchdog] ends a context.
var ErrSilent = errors.New("stalled")

// Watchdog ends a request whose server has been silent for too long.
type Watchdog struct {
	idle   time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

// Watch returns a context for a request, which ends with a cause where the server gives nothing for
// so long. The watch begins at once.
func Watch(ctx context.Context, idle time.Duration, cause error) (context.Context, *Watchdog) {
	watched, cancel := context.WithCancelCause(ctx)
	return watched, &Watchdog{idle, time.AfterFunc(idle, func() { cancel(cause) }), cancel}
}

// Seen begins the watch anew: something came.
func (d *Watchdog) Seen() { d.timer.Reset(d.idle) }

// Stop ends the watch, and the context.
func (d *Watchdog) Stop() {
	d.timer.Stop()
	d.cancel(nil)
}

// Rest holds the watch until somebody waits again.
func (d *Watchdog) Rest() { d.timer.Stop() }

// Body is an answer's body, watched while somebody waits for it.
type Body struct {
	io.ReadCloser
	Dog *Watchdog
	Now func() time.Time
	// Fail makes an error of a failure to read, and Took takes the time and the bytes of each
	// reading; its error ends the body.
	Fail func(error) error
	Took func(waited time.Duration, came int) error

	late error
}

// Read implements [io.Reader].
func (b *Body) Read(p []byte) (int, error) {
	if b.late != nil {
		return 0, b.late
	}
	b.Dog.Seen()
	start := b.Now()
	n, err := b.ReadCloser.Read(p)
	b.Dog.Rest()
	b.late = b.Took(b.Now().Sub(start), n) // of the next read: bytes that have come count
	if err != nil && err != io.EOF {
		err = b.Fail(err)
	}
	return n, err
}

// Close implements [io.Closer].
func (b *Body) Close() error {
	b.Dog.Stop()
	return b.ReadCloser.Close()
}
