package hub

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/goassay/assay/engine/model/patience"
)

// follow decides which redirects are followed.
type follow bool

const (
	followHome follow = false // those within the endpoint, as when a repository was renamed
	followAll  follow = true
)

// home reports whether a URL is the endpoint's own: the one place where the token may go.
func (s site) home(u *url.URL) bool {
	return u.Scheme == s.endpoint.Scheme &&
		strings.EqualFold(u.Hostname(), s.endpoint.Hostname()) && port(u) == port(s.endpoint)
}

// path is the path of a place of the endpoint, as it is in a request.
func (s site) path(elements ...string) string {
	return "/" + strings.TrimPrefix(s.endpoint.JoinPath(elements...).Path, "/")
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// send sends a request without a body and follows redirects. The answer's Request is the last one
// sent; the caller closes its body. Reading the body fails once the server has been silent for too
// long. what is the name of the thing in errors.
func (c *Client) send(ctx context.Context, what, method string, u *url.URL, header http.Header,
	f follow) (*http.Response, error) {
	if c.offline {
		return nil, c.failf(ErrOffline, what, "not in the cache at %s, and HF_HUB_OFFLINE keeps "+
			"the network from being used", c.dir)
	}
	trusted := true // no redirect has left the endpoint
	for hops := 0; ; hops++ {
		trusted = trusted && c.home(u)
		resp, err := c.exchange(ctx, what, method, u, header, trusted)
		if err != nil {
			return nil, err
		}
		location := resp.Header.Get("Location")
		if resp.StatusCode/100 != 3 || location == "" {
			return resp, nil
		}
		next, err := c.redirected(what, u, location)
		switch {
		case err == nil && hops >= maxRedirects:
			err = c.failf(nil, what, "more than %d redirects", maxRedirects)
		case err == nil && f == followHome && !c.home(next):
			return resp, nil
		}
		resp.Body.Close()
		if err != nil {
			return nil, err
		}
		u = next
	}
}

// redirected is the address that an answer from another one names.
func (c *Client) redirected(what string, u *url.URL, location string) (*url.URL, error) {
	next, err := u.Parse(location)
	switch {
	case err != nil || next.Host == "" || next.Scheme != "http" && next.Scheme != "https":
		return nil, c.failf(nil, what, "%s redirects to an address that cannot be used", u.Host)
	case u.Scheme == "https" && next.Scheme == "http":
		return nil, c.failf(nil, what, "%s redirects from https to http, to %s; that "+
			"is not followed", u.Host, next.Host)
	}
	next.User = nil
	return next, nil
}

// exchange sends one request.
func (c *Client) exchange(ctx context.Context, what, method string, u *url.URL, header http.Header,
	trusted bool) (*http.Response, error) {
	spent := patience.Of(ctx)
	if err := c.spend(spent, what, u, 0, 0, 1); err != nil {
		return nil, err
	}
	answered, err := c.allowed(ctx, what, u)
	if err != nil {
		return nil, err
	}
	var resp *http.Response
	defer func() { answered(resp) }()
	watched, dog := patience.Watch(ctx, c.idle, patience.ErrSilent)
	if !c.home(u) {
		watched = abroad(watched)
	}
	req, err := http.NewRequestWithContext(watched, method, u.String(), nil)
	if err != nil {
		dog.Stop()
		return nil, c.failf(nil, what, "no request can be made of the address on %s", u.Host)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", c.agent)
	req.Header.Set("Accept-Encoding", "identity")
	if trusted && c.token != "" {
		req.Header.Set("Authorization", "Bearer "+string(c.token))
	}
	start := c.now()
	resp, err = c.http.Do(req)
	late := c.spend(spent, what, u, c.now().Sub(start), 0, 0)
	if err != nil {
		err = c.netError(ctx, watched, what, u, err)
		dog.Stop()
		if late != nil && context.Cause(ctx) == nil {
			err = late
		}
		return nil, err
	}
	dog.Rest()
	resp.Body = &patience.Body{
		ReadCloser: resp.Body, Dog: dog, Now: c.now,
		Fail: func(err error) error { return c.netError(ctx, watched, what, u, err) },
		Took: func(waited time.Duration, came int) error {
			return c.spend(spent, what, u, waited, came, 0)
		},
	}
	return resp, nil
}

// spend adds to the time, bytes and requests taken, and returns an error where they are too much.
func (c *Client) spend(b *patience.Budget, what string, u *url.URL, waited time.Duration, came,
	requests int) error {
	if err := b.Spend(waited, came, requests); err != nil {
		return c.failf(nil, what, "%s %v", u.Host, err)
	}
	return nil
}

// netError makes an error of a failed exchange. Addresses with their queries stay out of it.
func (c *Client) netError(ctx, watched context.Context, what string, u *url.URL, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if context.Cause(watched) == patience.ErrSilent {
		e := c.failf(nil, what, "%s has sent nothing for %v", u.Host, c.idle)
		e.Err = patience.ErrSilent
		return &transient{e, -1}
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	e := c.failf(nil, what, "%s cannot be reached: %v", u.Host, err)
	e.Err = err
	if errors.Is(err, errInside) {
		e.Msg = fmt.Sprintf("it redirects to %s, which is %v; that is not followed", u.Host, errInside)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
		errors.Is(err, syscall.ECONNRESET) {
		e.Msg = u.Host + " closed the connection before everything had come"
	}
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var plainHTTP tls.RecordHeaderError
	if errors.As(err, &dns) && dns.IsNotFound || errors.As(err, &certificate) ||
		errors.As(err, &plainHTTP) || errors.Is(err, syscall.ECONNREFUSED) ||
		errors.Is(err, errInside) {
		return e
	}
	return &transient{e, -1}
}

// reset is the time in a RateLimit header, as the Hub sends it: `"api";r=0;t=55`.
// Draft-ietf-httpapi-ratelimit-headers-09.
var reset = regexp.MustCompile(`;\s*t\s*=\s*(\d+)`)

// retryAfter is how long the server asks to wait; below zero: it does not say. RFC 9110, section
// 10.2.3.
func (c *Client) retryAfter(resp *http.Response) time.Duration {
	text := resp.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if t, err := http.ParseTime(text); err == nil {
		return max(0, t.Sub(c.now()))
	}
	if m := reset.FindStringSubmatch(resp.Header.Get("RateLimit")); m != nil &&
		resp.StatusCode == http.StatusTooManyRequests {
		if seconds, err := strconv.ParseUint(m[1], 10, 31); err == nil {
			return time.Duration(seconds+1) * time.Second // it is rounded down
		}
	}
	return -1
}

// retrier decides which requests are tried again, and waits before them.
type retrier struct {
	c     *Client
	tries int // in a row without progress
}

func (c *Client) retrier() *retrier { return &retrier{c: c} }

// wait returns nil once it is time to try again, and the error itself where that is of no use.
func (r *retrier) wait(ctx context.Context, err error) error {
	var again *transient
	if !errors.As(err, &again) {
		return err
	}
	if r.tries >= r.c.retries {
		return r.final(again, "")
	}
	wait := again.wait
	if wait < 0 {
		wait = min(time.Second<<r.tries, 30*time.Second)
	}
	if wait > maxWait {
		return r.final(again, fmt.Sprintf("; it asks to wait %v, so try again later", wait))
	}
	r.tries++
	if err := r.c.spend(patience.Of(ctx), "", r.c.endpoint, wait, 0, 0); err != nil {
		return r.final(again, "; that took too long")
	}
	began := r.c.now()
	if err := r.c.sleep(ctx, wait); err != nil {
		return err
	}
	r.c.pace.over(began.Add(wait))
	return nil
}

// final is the error without the mark that it may pass.
func (r *retrier) final(t *transient, more string) error {
	var e *Error
	if !errors.As(t.error, &e) {
		return t.error
	}
	last := *e
	last.Again = true
	if last.Msg += more; r.tries > 0 {
		last.Msg += fmt.Sprintf(" (tried %d times)", r.tries+1)
	}
	return &last
}

// retried does something until it works, or cannot.
func (c *Client) retried(ctx context.Context, do func() error) error {
	again := c.retrier()
	for {
		err := do()
		if err == nil {
			return nil
		}
		if err := again.wait(ctx, err); err != nil {
			return err
		}
	}
}
