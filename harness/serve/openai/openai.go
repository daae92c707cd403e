// Package openai speaks to servers that have OpenAI's chat completions API, and believes nothing
// that they say.
//
// # Model
//
// A [Client] sends JSON and returns the reply: an [Answer] in one piece, or events, one by one
// ([EventReader]) or all of them, kept as they were sent ([Stream]). Events are server-sent ones,
// or lines of JSON. The meaning of the texts is not this package's business. Getting them is:
// limits on time and size, a stream that breaks off, lines that are no events, data that are no
// JSON.
//
// # Limits
//
// [Limits.Silence] bounds the time in which nothing comes, [Limits.Total] that of a whole answer,
// [Limits.Line] a line and an event of a stream, [Limits.Lines] its lines, [Limits.Body] everything
// that one answer has, and [Limits.All] what all answers of a client have together. A server that
// goes beyond any of them gets an error, and neither time nor memory. Nothing is decompressed.
//
// # The key
//
// A key is sent as a bearer token to the server's own origin only: redirects are not followed.
// Wherever a server repeats it, in a body, a line or an error, it reads "[API key]" here, so that
// no report has it.
//
// # Errors
//
// An error of [Client.Post] and [Client.Stream] is that there is no answer. It wraps [ErrSilent],
// [ErrSlow], [ErrTooLarge], [ErrTruncated] or the network's error. An HTTP status beyond 299 is an
// answer. The error that breaks a stream after its header is in [Stream.Err]; it wraps [ErrEvent]
// besides those.
//
// # Specifications
//
// Server-sent events: the WHATWG's HTML standard, section 9.2.6, with the faults that it lets pass
// silently (fields without a meaning, an event that nothing ends) as errors, since text is lost
// there.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package openai

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/goassay/assay/engine/model/patience"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
)

// The errors that others wrap.
var (
	ErrSilent    = errors.New("the server is silent")
	ErrSlow      = errors.New("the server does not come to an end")
	ErrTooLarge  = errors.New("the server sends too much")
	ErrTruncated = errors.New("the answer breaks off")
	ErrEvent     = errors.New("the stream has a line that is no event of a completion")
)

// Limits bound a server. Zero fields have the defaults.
type Limits struct {
	Silence time.Duration // the longest time in which nothing comes; 2 minutes
	Total   time.Duration // of an answer; 15 minutes
	Line    int           // and event of a stream, or the answer instead of one, in bytes; 1 MiB
	Lines   int           // of a stream; 1,048,576, which hold some 350,000 tokens
	Body    int64         // of an answer, in bytes; 64 MiB
	All     int64         // of all answers of a client together, in bytes; no bound
}

func (l Limits) orDefault() Limits {
	l.Silence = cmp.Or(l.Silence, 2*time.Minute)
	l.Total = cmp.Or(l.Total, 15*time.Minute)
	l.Line = cmp.Or(l.Line, 1<<20)
	l.Lines = cmp.Or(l.Lines, 1<<20)
	l.Body = cmp.Or(l.Body, 64<<20)
	return l
}

// Client is a server as its clients see it. It is safe for concurrent use.
type Client struct {
	root   string // without /v1
	key    string
	limits Limits
	http   *http.Client
	all    atomic.Int64  // bytes of all answers
	large  chan struct{} // one for each large event that is being read
}

// New returns a client of the server at an address, which may end in /v1. The key may be empty.
func New(address, key string, l Limits) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is no server's address; expected one such as "+
			"http://127.0.0.1:8080", address)
	}
	if u.User != nil {
		return nil, errors.New("the server's address has a user name or a password, which would " +
			"be shown in reports; use an API key")
	}
	u.RawQuery, u.Fragment = "", ""
	// with the proxies of the environment
	transport := http.DefaultTransport.(*http.Transport).Clone()
	// servers close idle connections at will; nothing that is asked here does harm when it is asked
	// again on a fresh one (the header is not sent: see net/http.Transport)
	transport.MaxIdleConnsPerHost, transport.IdleConnTimeout = 256, 4*time.Second
	transport.MaxResponseHeaderBytes = 256 << 10
	transport.DisableCompression = true // a short answer could unfold to a long one
	root := strings.TrimSuffix(strings.TrimSuffix(u.String(), "/"), "/v1")
	large := make(chan struct{}, largeEvents)
	return &Client{root: root, key: key, limits: l.orDefault(), large: large, http: &http.Client{
		Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}}, nil
}

// Root is the server's address without /v1.
func (c *Client) Root() string { return c.root }

// Answer is a server's answer in one piece.
type Answer struct {
	Status int    // of HTTP
	Type   string // the media type, without its parameters
	Header http.Header
	Body   string
	JSON   ordered.Value // null where the body is no JSON
	Err    error         // the reason why it is not one
}

// OK reports whether the status is one of success.
func (a *Answer) OK() bool { return a.Status >= 200 && a.Status <= 299 }

// maxExcerpt bounds the quotation of a body, in bytes.
const maxExcerpt = 300

// Excerpt quotes the beginning of a server's text.
func Excerpt(text string) string { return strconv.Quote(source.Cut(text, maxExcerpt)) }

// Message returns the message of an error; "" where the answer has none.
func (a *Answer) Message() string {
	for _, at := range [...]ordered.Value{a.JSON.At("error", "message"), a.JSON.At("message"),
		a.JSON.At("error")} {
		if at.Text() != "" && at.Kind() == ordered.String {
			return at.Text()
		}
	}
	return ""
}

// Fault describes an answer that is no success, with the error's message where it has one.
func (a *Answer) Fault() string {
	if text := a.Message(); text != "" {
		return fmt.Sprintf("HTTP status %d: %s", a.Status, Excerpt(text))
	}
	return fmt.Sprintf("HTTP status %d with the body %s", a.Status, Excerpt(a.Body))
}

// pathModels is the path of the list of models.
const pathModels = "/v1/models"

// maxName bounds the name of a model, in bytes, which stands in requests, logs and results.
const maxName = 1 << 10

// ErrNoModel is why there is no first model.
var ErrNoModel = errors.New("lists no model")

// FirstModel returns the name of the first model that the server lists. The error wraps
// [ErrNoModel] where it lists none.
func (c *Client) FirstModel(ctx context.Context) (string, error) {
	a, err := c.Get(ctx, pathModels)
	if err != nil {
		return "", err
	}
	if models := a.JSON.At("data").Items(); a.OK() && len(models) > 0 {
		name := models[0].At("id").Text()
		if len(name) > maxName {
			return "", fmt.Errorf("%s%s lists a model whose name has %d bytes, which is no name",
				c.Root(), pathModels, len(name))
		}
		if name != "" {
			return name, nil
		}
	}
	return "", fmt.Errorf("%s%s %w: %s", c.Root(), pathModels, ErrNoModel, a.Fault())
}

// Get asks for a path below the root.
func (c *Client) Get(ctx context.Context, path string) (*Answer, error) {
	return c.whole(ctx, http.MethodGet, path, nil)
}

// Post sends a body, JSON or not, to a path below the root.
func (c *Client) Post(ctx context.Context, path string, body []byte) (*Answer, error) {
	return c.whole(ctx, http.MethodPost, path, body)
}

func (c *Client) whole(ctx context.Context, method, path string, body []byte) (*Answer, error) {
	r, err := c.open(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	defer r.close()
	return r.answer()
}

// reply is a response that is being read.
type reply struct {
	*http.Response
	c     *Client
	ctx   context.Context
	watch *patience.Watchdog
	stop  func() // ends the watch and the context
	left  int64  // bytes that may still come
}

// open sends a request and returns when the header of the answer is there.
func (c *Client) open(ctx context.Context, method, path string, body []byte) (*reply, error) {
	l := c.limits
	ctx, end := context.WithTimeoutCause(ctx, l.Total,
		fmt.Errorf("%w: the answer takes more than %s", ErrSlow, l.Total))
	ctx, watch := patience.Watch(ctx, l.Silence,
		fmt.Errorf("%w: nothing came for %s", ErrSilent, l.Silence))
	stop := func() {
		watch.Stop()
		end()
	}
	request, err := http.NewRequestWithContext(ctx, method, c.root+path, bytes.NewReader(body))
	if err != nil {
		stop()
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header["Idempotency-Key"] = nil
	if c.key != "" {
		request.Header.Set("Authorization", "Bearer "+c.key)
	}
	response, err := c.http.Do(request)
	if err != nil {
		err = c.failure(ctx, path, err) // before the watchdog ends the context
		stop()
		return nil, err
	}
	watch.Seen()
	return &reply{Response: response, c: c, ctx: ctx, watch: watch, stop: stop,
		left: c.limits.Body}, nil
}

func (r *reply) close() {
	r.stop()
	r.Response.Body.Close()
}

// leastRead is the least length that a part of a body counts for, in bytes. To get one takes as
// long as to read some thousand bytes, and a server may send byte by byte. An event with a token is
// longer as a rule.
const leastRead = 256

// Read reads a part of the body, and keeps the limits.
func (r *reply) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, fmt.Errorf("%w: more than %d bytes in one answer", ErrTooLarge, r.c.limits.Body)
	}
	n, err := r.Response.Body.Read(p[:min(int64(len(p)), r.left)])
	r.watch.Seen()
	charge := int64(0)
	if n > 0 {
		charge = int64(max(n, leastRead))
	}
	r.left -= charge
	if all := r.c.all.Add(charge); r.c.limits.All > 0 && all > r.c.limits.All {
		return 0, fmt.Errorf("%w: more than %d bytes in all answers", ErrTooLarge, r.c.limits.All)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		// the header has come: whatever fails now, the answer breaks off
		if err = r.c.failure(r.ctx, r.Request.URL.Path, err); r.ctx.Err() == nil &&
			!errors.Is(err, ErrTruncated) {
			err = fmt.Errorf("%w: %w", ErrTruncated, err)
		}
	}
	return n, err
}

// answer reads the rest as one piece.
func (r *reply) answer() (*Answer, error) {
	body, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	a := &Answer{Status: r.StatusCode, Type: mediaType(r.Header), Header: r.Header,
		Body: r.c.redact(string(body))}
	a.JSON, a.Err = ordered.ParseString(a.Body)
	return a, nil
}

func mediaType(h http.Header) string {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return h.Get("Content-Type")
	}
	return t
}

// failure names the cause that ended a request: the caller, the watchdog, or the network. The
// network's error has the whole URL, of which the path is enough.
func (c *Client) failure(ctx context.Context, path string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("%s: %w", path, cause)
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = ErrTruncated
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("nothing listens at %s: %w; is the "+
			"server running?", c.Root(), syscall.ECONNREFUSED)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// redact takes the key out of a server's text.
func (c *Client) redact(text string) string {
	if c.key == "" {
		return text
	}
	return strings.ReplaceAll(text, c.key, "[API key]")
}
