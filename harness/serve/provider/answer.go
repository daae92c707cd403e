package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/serve/openai"
)

// pathChat is the path of chat completions.
const pathChat = "/v1/chat/completions"

// The limits on an answer, in bytes. A stream has some 300 bytes around each token, and nothing is
// kept of them; an answer in one piece is read as a whole.
const (
	maxMessage = 4 << 20
	maxStream  = 64 << 20
)

// longest is the time that an answer may take: reasoning of 100,000 tokens at 30 tokens a second.
const longest = time.Hour

// Client asks a provider. It is safe for concurrent use.
type Client struct{ whole, stream *openai.Client }

// NewClient returns a client of the provider at an address. The key, which may be empty, is sent to
// that origin only. silence bounds the time in which nothing comes.
func NewClient(address, key string, silence time.Duration) (*Client, error) {
	l := openai.Limits{Silence: silence, Total: max(longest, silence), Body: maxMessage}
	whole, err := openai.New(address, key, l)
	if err != nil {
		return nil, err
	}
	l.Body = maxStream
	stream, err := openai.New(address, key, l)
	return &Client{whole, stream}, err
}

// Root is the provider's address without /v1.
func (c *Client) Root() string { return c.whole.Root() }

// answer is the result of a try that had one.
type answer struct {
	Message chat.Message
	Finish  chat.FinishReason
	Usage   *chat.Usage
	Raw     *string // the text that the model wrote, where the provider gives it
}

// fault is why a try had no answer.
type fault struct {
	status int           // of HTTP; 0: there was none
	after  time.Duration // before which the provider wants no other try; 0: it does not say
	again  bool          // another try may help
	err    error
}

func (f *fault) Error() string { return f.err.Error() }

// ask tries once. The error is a *fault, or that of the context.
func (c *Client) ask(ctx context.Context, body ordered.Value, stream bool,
	now func() time.Time) (*answer, error) {
	text := body.Append(nil, ordered.Compact)
	var a *answer
	var whole *openai.Answer
	var err error
	if stream {
		a, whole, err = c.events(ctx, text)
	} else {
		whole, err = c.whole.Post(ctx, pathChat, text)
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, &fault{again: !errors.Is(err, openai.ErrTooLarge), err: err}
	case a != nil:
		return a, nil
	case whole.Status >= 300 && whole.Status <= 399:
		return nil, &fault{status: whole.Status, err: fmt.Errorf("HTTP status %d: it redirects, "+
			"which is not followed, since the key and the requests are meant for this host alone",
			whole.Status)}
	case !whole.OK():
		return nil, &fault{status: whole.Status, after: retryAfter(whole.Header, now),
			again: temporary(whole.Status), err: errors.New(whole.Fault())}
	case stream:
		return nil, &fault{status: whole.Status, err: fmt.Errorf("a stream was asked for, and the "+
			"answer is of the type %s", openai.Excerpt(whole.Type))}
	case whole.Err != nil:
		return nil, &fault{status: whole.Status, again: true, err: fmt.Errorf("the body %s is no "+
			"JSON: %w", openai.Excerpt(whole.Body), whole.Err)}
	}
	a, err = readAnswer(whole.JSON)
	if err != nil {
		return nil, &fault{status: whole.Status, err: err}
	}
	return a, nil
}

// temporary reports whether another try may help after a status.
func temporary(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500 && status != http.StatusNotImplemented
}

// readAnswer reads an answer in one piece.
func readAnswer(v ordered.Value) (*answer, error) {
	if _, there := v.Get("object"); !there { // some leave it out, and nothing hangs on it
		v = v.With("object", ordered.Str("chat.completion"))
	}
	c, err := chat.ParseCompletion(v)
	if err != nil {
		return nil, fmt.Errorf("the answer is no chat.completion: %w", err)
	}
	a := &answer{Message: c.Message, Finish: c.Finish, Usage: c.Usage}
	if raw := v.At("__verbose", "content"); raw.Kind() == ordered.String {
		text := raw.Text()
		a.Raw = &text
	}
	return a, nil
}

// events reads a stream as it comes, and keeps the message alone.
func (c *Client) events(ctx context.Context, body []byte) (*answer, *openai.Answer, error) {
	events, whole, err := c.stream.Events(ctx, pathChat, body)
	if events == nil {
		return nil, whole, err
	}
	defer events.Close()
	g := gatherer{}
	for {
		e, err := events.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		if e.Done {
			continue
		}
		if fault, ok := e.Data.Get("error"); ok && !fault.IsNull() {
			return nil, nil, fmt.Errorf("the stream has an error: %s",
				openai.Excerpt(fault.String()))
		}
		if err := g.add(e.Data); err != nil {
			return nil, nil, err
		}
	}
	a := g.answer()
	if a.Finish == "" {
		return nil, nil, fmt.Errorf("%w: no chunk of the stream has a finish reason",
			openai.ErrTruncated)
	}
	return a, nil, nil
}

// gatherer puts the chunks of a stream together.
type gatherer struct {
	size               int
	content, reasoning strings.Builder
	calls              []chat.ToolCall
	arguments          []*strings.Builder
	finish             chat.FinishReason
	usage              *chat.Usage
}

// maxCalls bounds the calls of an answer.
const maxCalls = 1000

func (g *gatherer) add(v ordered.Value) error {
	if _, there := v.Get("object"); !there {
		v = v.With("object", ordered.Str("chat.completion.chunk"))
	}
	c, err := chat.ParseChunk(v)
	if err != nil {
		return fmt.Errorf("an event is no chat.completion.chunk: %w", err)
	}
	if c.Usage == nil { // some put it into the choice
		if choices := v.At("choices").Items(); len(choices) > 0 {
			if usage, ok := choices[0].Get("usage"); ok {
				u, _ := chat.ParseChunk(v.With("usage", usage))
				c.Usage = u.Usage
			}
		}
	}
	if c.Usage != nil {
		g.usage = c.Usage
	}
	if c.Finish != "" {
		g.finish = c.Finish
	}
	g.size += len(c.Delta.Content) + len(c.Delta.Reasoning)
	g.content.WriteString(c.Delta.Content)
	g.reasoning.WriteString(c.Delta.Reasoning)
	for _, d := range c.Delta.ToolCalls {
		if d.Index < 0 || d.Index > len(g.calls) || d.Index >= maxCalls {
			return fmt.Errorf("an event goes on with call %d, expected one of 0 to %d", d.Index,
				len(g.calls))
		}
		if d.Index == len(g.calls) {
			g.calls = append(g.calls, chat.ToolCall{Complete: true})
			g.arguments = append(g.arguments, new(strings.Builder))
		}
		call := &g.calls[d.Index]
		if call.ID == "" {
			call.ID = d.ID
		}
		if call.Name == "" { // some servers repeat it in every event
			call.Name = d.Name
		}
		g.arguments[d.Index].WriteString(d.Arguments)
		g.size += len(d.ID) + len(d.Name) + len(d.Arguments)
	}
	if g.size > maxMessage {
		return fmt.Errorf("%w: a message of more than %d bytes", openai.ErrTooLarge, maxMessage)
	}
	return nil
}

func (g *gatherer) answer() *answer {
	for i := range g.calls {
		g.calls[i].Arguments = g.arguments[i].String()
	}
	return &answer{Message: chat.Message{Reasoning: g.reasoning.String(),
		Content: g.content.String(), ToolCalls: g.calls}, Finish: g.finish, Usage: g.usage}
}

// FirstModel returns the first model that the provider lists.
func (c *Client) FirstModel(ctx context.Context) (string, error) { return c.whole.FirstModel(ctx) }
