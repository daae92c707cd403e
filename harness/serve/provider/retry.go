package provider

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// Clock is the time as a run sees it.
type Clock interface {
	Now() time.Time
	// Sleep waits, or returns the cause of a context that is done before.
	Sleep(ctx context.Context, d time.Duration) error
}

// Wall is the clock of this machine.
type Wall struct{}

// Now returns the time.
func (Wall) Now() time.Time { return time.Now() }

// Sleep waits.
func (Wall) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// The waits before another try.
const (
	firstWait   = time.Second
	longestWait = time.Minute
	// longestAfter bounds a Retry-After: a provider must not stop a run for a day.
	longestAfter = 10 * time.Minute
)

// wait is how long to wait before try n (the second one is 1): twice as long each time, of which a
// drawn part, so that requests that failed together do not come together again, but no less than
// the provider asked for.
func wait(n int, after time.Duration, draw func() float64) time.Duration {
	most := longestWait
	if n <= 6 {
		most = min(most, firstWait<<(n-1))
	}
	return min(after, longestAfter) + time.Duration(draw()*float64(most))
}

// retryAfter reads the header of that name, seconds or a date (RFC 9110, section 10.2.3).
func retryAfter(h http.Header, now func() time.Time) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil && seconds >= 0 {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(0, date.Sub(now()))
	}
	return 0
}
