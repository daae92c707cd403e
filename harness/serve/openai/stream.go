package openai

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/goassay/assay/engine/ordered"
)

// EventStream is the media type of a stream, and JSONLines that of the streams of servers that
// send a JSON object in every line instead.
const (
	EventStream = "text/event-stream"
	JSONLines   = "application/x-ndjson"
)

// done is the data of a stream's last event.
const done = "[DONE]"

// Event is an event of a stream.
type Event struct {
	Name string        // "" where the stream gives none
	Data ordered.Value // an object
	Done bool          // the data are [DONE], and no object
}

// EventReader reads a stream, event by event.
type EventReader struct {
	Type string // the media type

	reply  *reply
	lines  lineReader
	number int // of the line
	name   string
	data   []string
	size   int  // of data, in bytes of memory
	late   bool // [DONE] came
	large  bool // the event that was returned last is one of the client's few large ones
}

// Events sends a body to a path and returns the stream that comes, whose header is there by then;
// the caller closes it. Where the server answers in one piece, with an error or otherwise, that is
// returned instead.
func (c *Client) Events(ctx context.Context, path string, body []byte) (*EventReader, *Answer,
	error) {
	r, err := c.open(ctx, http.MethodPost, path, body)
	if err != nil {
		return nil, nil, err
	}
	kind := mediaType(r.Header)
	if r.StatusCode < 200 || r.StatusCode > 299 || kind == "application/json" {
		defer r.close()
		r.left = min(r.left, int64(c.limits.Line)) // an error, or an answer that nobody asked for
		a, err := r.answer()
		return nil, a, err
	}
	return &EventReader{Type: kind, reply: r,
		lines: lineReader{r: bufio.NewReaderSize(r, 1<<14), most: c.limits.Line}}, nil, nil
}

// Close ends the stream, and the work that the server does for it.
func (e *EventReader) Close() {
	e.letGo()
	e.reply.close()
}

// largeEvent is the length of an event, in bytes, from which on few are read at once: an event's
// values may take twenty times its length.
const (
	largeEvent  = 32 << 10
	largeEvents = 8
)

// keep waits until a large event may be read.
func (e *EventReader) keep() error {
	select {
	case e.reply.c.large <- struct{}{}:
		e.large = true
		return nil
	case <-e.reply.ctx.Done():
		return context.Cause(e.reply.ctx)
	}
}

// letGo has another large event take the place of this one.
func (e *EventReader) letGo() {
	if e.large {
		<-e.reply.c.large
		e.large = false
	}
}

// Buffered reports whether more of the stream has come already.
func (e *EventReader) Buffered() bool { return e.lines.r.Buffered() > 0 }

// lineCost is the memory of a line of an event besides its text, in bytes.
const lineCost = 16

// Next returns the next event; [io.EOF] where the stream ends between two events. A client reads
// few long events at once, each of them until its stream is asked for the next one.
func (e *EventReader) Next() (Event, error) {
	e.letGo()
	c := e.reply.c
	for {
		if e.number++; e.number > c.limits.Lines {
			return Event{}, fmt.Errorf("%w: more than %d lines in one answer", ErrTooLarge,
				c.limits.Lines)
		}
		line, err := e.lines.next()
		if errors.Is(err, io.EOF) {
			if e.data != nil || line != "" {
				return Event{}, fmt.Errorf("%w: the stream ends within the event %s", ErrTruncated,
					Excerpt(c.redact(strings.Join(append(e.data, line), "\n"))))
			}
			return Event{}, io.EOF
		} else if err != nil {
			return Event{}, fmt.Errorf("line %d: %w", e.number, err)
		}
		line = c.redact(line)
		if e.Type == JSONLines {
			if line == "" {
				continue
			}
			return e.event([]string{line})
		}
		switch field, value := cutField(line); {
		case line == "":
			if e.data == nil { // nothing but comments
				e.name = ""
				continue
			}
			return e.event(e.data)
		case field == "": // a comment; servers keep connections alive with them
		case field == "data":
			if e.size += len(value) + lineCost; e.size > c.limits.Line {
				return Event{}, fmt.Errorf("line %d: %w: an event of more than %d bytes", e.number,
					ErrTooLarge, c.limits.Line)
			}
			e.data = append(e.data, value)
		case field == "event":
			e.name = value
		case field == "id", field == "retry":
		default:
			return Event{}, fmt.Errorf("line %d: %w: %s", e.number, ErrEvent, Excerpt(line))
		}
	}
}

// event makes an event of its data. Nothing is read of data that come after [DONE].
func (e *EventReader) event(data []string) (Event, error) {
	event := Event{Name: e.name}
	e.name, e.data, e.size = "", nil, 0
	text := strings.Join(data, "\n")
	if e.late {
		return event, nil
	}
	if text == done {
		e.late, event.Done = true, true
		return event, nil
	}
	if len(text) > largeEvent {
		if err := e.keep(); err != nil {
			return event, err
		}
	}
	v, err := ordered.ParseString(text)
	if err != nil {
		return event, fmt.Errorf("line %d: %w: the data %s are no JSON: %w", e.number, ErrEvent,
			Excerpt(text), err)
	}
	if v.Kind() != ordered.Object {
		return event, fmt.Errorf("line %d: %w: the data %s are no object", e.number, ErrEvent,
			Excerpt(text))
	}
	event.Data = v
	return event, nil
}

// Stream is an answer in events, as they came.
type Stream struct {
	Type   string  // the media type
	Events []Event // none is [DONE]
	Done   bool    // [DONE] came
	Late   int     // events after it, which are not in Events
	Err    error   // the error that broke the stream off; nil where it ended by itself
}

// Stream sends a body to a path and reads the events that come. Where the server answers in one
// piece, with an error or otherwise, that is returned instead.
func (c *Client) Stream(ctx context.Context, path string, body []byte) (*Stream, *Answer, error) {
	events, a, err := c.Events(ctx, path, body)
	if events == nil {
		return nil, a, err
	}
	defer events.Close()
	s := &Stream{Type: events.Type}
	for {
		event, err := events.Next()
		switch {
		case errors.Is(err, io.EOF):
			return s, nil, nil
		case err != nil:
			s.Err = err
			return s, nil, nil
		case event.Done:
			s.Done = true
		case s.Done:
			s.Late++
		default:
			s.Events = append(s.Events, event)
		}
	}
}

// cutField cuts a line into its field and value; one space after the colon is no part of the value.
func cutField(line string) (field, value string) {
	field, value, _ = strings.Cut(line, ":")
	return field, strings.TrimPrefix(value, " ")
}

// lineReader reads lines that end in CR LF, LF or CR, and are of a bounded length.
type lineReader struct {
	r    *bufio.Reader
	most int
	cr   bool // the last line ended in CR, so that an LF still belongs to it
}

func (l *lineReader) next() (string, error) {
	var line []byte // the part of a line that the buffer does not hold
	for {
		if _, err := l.r.Peek(1); err != nil {
			return string(line), err
		}
		buffered, _ := l.r.Peek(l.r.Buffered())
		if l.cr {
			if l.cr = false; buffered[0] == '\n' {
				l.r.Discard(1)
				continue
			}
		}
		end := bytes.IndexByte(buffered, '\n')
		if end < 0 {
			end = len(buffered)
		}
		if cr := bytes.IndexByte(buffered[:end], '\r'); cr >= 0 {
			end = cr
		}
		if len(line)+end > l.most {
			return "", fmt.Errorf("%w: a line of more than %d bytes", ErrTooLarge, l.most)
		}
		if end == len(buffered) {
			line = append(line, buffered...)
			l.r.Discard(end)
			continue
		}
		l.cr = buffered[end] == '\r'
		whole := string(buffered[:end])
		if line != nil {
			whole = string(line) + whole
		}
		l.r.Discard(end + 1)
		return whole, nil
	}
}
