package hub

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/goassay/assay/engine/model/patience"
)

// longestPause is how long a client waits before a request because the Hub allows no more for now.
const longestPause = 2 * maxWait

// pace keeps a client within the Hub's quotas and the bounds of its caller. The Hub counts requests
// by kind: those of its API, and those for files. The zero value knows no bound.
type pace struct {
	mu    sync.Mutex
	every time.Duration // between two requests; 0: no bound
	most  int64         // requests in all; 0: no bound
	sent  int64
	next  time.Time // when the next request may go, by every
	kinds [2]quota  // of the API, of files
}

// quota is the Hub's last statement about one kind of requests.
type quota struct {
	until time.Time // the end of the window that the rest is of; zero: nothing is known
	left  int       // how many may still be sent before that
	open  int       // sent and not yet answered
}

// of returns the quota that a request of an address counts against.
func (p *pace) of(c *Client, u *url.URL) *quota {
	if strings.HasPrefix(u.Path, c.path("api")+"/") {
		return &p.kinds[0]
	}
	return &p.kinds[1]
}

// allowed waits until a request may be sent, and counts it. The caller calls the function that it
// returns with the answer, or with nil where none came.
func (c *Client) allowed(ctx context.Context, what string, u *url.URL) (func(*http.Response),
	error) {
	p := &c.pace
	for {
		p.mu.Lock()
		q, now := p.of(c, u), c.now()
		pause, quota := time.Duration(0), false
		switch home := c.home(u); {
		case p.most > 0 && p.sent >= p.most:
			p.mu.Unlock()
			return nil, c.failf(ErrBudget, what, "%d requests were sent, and no more are allowed",
				p.most)
		case home && q.left <= 0 && now.Before(q.until):
			pause, quota = q.until.Sub(now), true
		case p.every > 0 && now.Before(p.next):
			pause = p.next.Sub(now)
		default:
			p.sent++
			p.next = now.Add(p.every)
			if home {
				q.left--
				q.open++
			}
			p.mu.Unlock()
			return func(resp *http.Response) {
				if home {
					p.learn(c, q, resp)
				}
			}, nil
		}
		p.mu.Unlock()
		if pause > longestPause {
			return nil, c.failf(ErrBusy, what, "%s allows no more requests for %v; try again later",
				u.Host, pause.Round(time.Second))
		}
		if quota {
			if err := c.spend(patience.Of(ctx), what, u, pause, 0, 0); err != nil {
				return nil, err
			}
		}
		if err := c.sleep(ctx, pause); err != nil {
			return nil, err
		}
		p.over(now.Add(pause))
	}
}

// remaining is the rest of a quota in a RateLimit header: `"api";r=12;t=55`.
var remaining = regexp.MustCompile(`;\s*r\s*=\s*(\d+)`)

// learn takes the answer's statement on the quota. Requests that are under way may not be counted
// in it, and are taken off.
func (p *pace) learn(c *Client, q *quota, resp *http.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q.open--
	if resp == nil {
		return
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		if wait := c.retryAfter(resp); wait > 0 {
			q.left, q.until = 0, c.now().Add(wait)
		}
		return
	}
	header := resp.Header.Get("RateLimit")
	left, end := remaining.FindStringSubmatch(header), reset.FindStringSubmatch(header)
	if left == nil || end == nil {
		return
	}
	n, err1 := strconv.ParseInt(left[1], 10, 32)
	seconds, err2 := strconv.ParseUint(end[1], 10, 31)
	if err1 == nil && err2 == nil {
		q.left = int(n) - q.open
		q.until = c.now().Add(time.Duration(seconds+1) * time.Second) // it is rounded down
	}
}

// over forgets the quotas whose window has ended by a time until which somebody has waited.
func (p *pace) over(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.kinds {
		if !p.kinds[i].until.After(now) {
			p.kinds[i].until = time.Time{}
		}
	}
	if !p.next.After(now) {
		p.next = time.Time{}
	}
}
