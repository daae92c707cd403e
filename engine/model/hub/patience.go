package hub

import (
	"context"
	"net/url"
	"sync"
	"time"
)

// The bounds of a client while it does one thing: lists a repository, reads a file, pulls a model.
// Bytes that come earn time and requests, so that a large model may take as long as it needs and a
// server that gives a byte at a time cannot keep a client for ever.
const (
	patience    = 10 * time.Minute // of waiting for servers, in all, besides
	slowest     = 16 << 10         // bytes a second that must come on average
	maxRequests = 200              // in all, besides one for each
	perRequest  = 64 << 10         // bytes that came
)

// budget is how much of that is spent.
type budget struct {
	mu       sync.Mutex
	waited   time.Duration
	came     int64 // bytes of content
	requests int
}

type budgetKey struct{}

// patient returns a context for one thing that a client does. A thing that is a part of another one
// has the other's budget.
func patient(ctx context.Context) context.Context {
	if ctx.Value(budgetKey{}) != nil {
		return ctx
	}
	return context.WithValue(ctx, budgetKey{}, new(budget))
}

func budgetOf(ctx context.Context) *budget {
	if b, ok := ctx.Value(budgetKey{}).(*budget); ok {
		return b
	}
	return new(budget)
}

// spend adds to the time and bytes taken, and returns an error where they are too much.
func (c *Client) spend(b *budget, what string, u *url.URL, waited time.Duration, came,
	requests int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waited += waited
	b.came += int64(came)
	b.requests += requests
	earned := time.Duration(b.came/slowest) * time.Second
	switch {
	case b.waited > patience+earned:
		return c.failf(nil, what, "%s gave %d bytes in %v, expected at least %s a second after "+
			"%v: it is given up",
			u.Host, b.came, b.waited.Round(time.Second), Bytes(slowest), patience)
	case int64(b.requests) > maxRequests+b.came/perRequest:
		return c.failf(nil, what, "%s gave %d bytes in %d answers, expected at least %s "+
			"an answer after the first %d: it is given up",
			u.Host, b.came, b.requests, Bytes(perRequest), maxRequests)
	}
	return nil
}
