package openai

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/goassay/assay/engine/ordered"
)

// EventStream is the media type of a stream.
const EventStream = "text/event-stream"

// done is the data of a stream's last event.
const done = "[DONE]"

// Stream is an answer in events, as they came.
type Stream struct {
	Type   string          // the media type
	Events []ordered.Value // the data of each; none is [DONE]
	Done   bool            // [DONE] came
	Late   int             // events after it, which are not in Events
	Err    error           // the error that broke the stream off; nil where it ended by itself
}

// Stream sends a body to a path and reads the events that come. Where the server answers in one
// piece, with an error or otherwise, that is returned instead.
func (c *Client) Stream(ctx context.Context, path string, body []byte) (*Stream, *Answer, error) {
	r, err := c.open(ctx, http.MethodPost, path, body)
	if err != nil {
		return nil, nil, err
	}
	defer r.close()
	s := &Stream{Type: mediaType(r.Header)}
	if r.StatusCode < 200 || r.StatusCode > 299 || s.Type == "application/json" {
		a, err := r.answer()
		return nil, a, err
	}
	s.Err = s.read(r, c)
	return s, nil, nil
}

// read reads events until the stream ends.
func (s *Stream) read(r io.Reader, c *Client) error {
	lines := lineReader{r: bufio.NewReaderSize(r, 1<<16), most: c.limits.Line}
	var data []string
	for number := 1; ; number++ {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			if data != nil || line != "" {
				return fmt.Errorf("%w: the stream ends "+
					"within the event %s", ErrTruncated,
					Excerpt(c.redact(strings.Join(append(data, line), "\n"))))
			}
			return nil
		} else if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		line = c.redact(line)
		switch field, value := cutField(line); {
		case line == "":
			if err := s.event(data); err != nil {
				return fmt.Errorf("line %d: %w", number, err)
			}
			data = nil
		case field == "": // a comment; servers keep connections alive with them
		case field == "data":
			data = append(data, value)
		case field == "id", field == "retry", field == "event" && value != "error":
		default:
			return fmt.Errorf("line %d: %w: %s", number, ErrEvent, Excerpt(line))
		}
	}
}

// cutField cuts a line into its field and value; one space after the colon is no part of the value.
func cutField(line string) (field, value string) {
	field, value, _ = strings.Cut(line, ":")
	return field, strings.TrimPrefix(value, " ")
}

// event takes the data of an event.
func (s *Stream) event(data []string) error {
	if data == nil { // nothing but comments
		return nil
	}
	text := strings.Join(data, "\n")
	switch {
	case s.Done:
		s.Late++
		return nil
	case text == done:
		s.Done = true
		return nil
	}
	v, err := ordered.ParseString(text)
	if err != nil {
		return fmt.Errorf("%w: the data %s are no JSON: %w", ErrEvent, Excerpt(text), err)
	}
	if v.Kind() != ordered.Object {
		return fmt.Errorf("%w: the data %s are no object", ErrEvent, Excerpt(text))
	}
	s.Events = append(s.Events, v)
	return nil
}

// lineReader reads lines that end in CR LF, LF or CR, and are of a bounded length.
type lineReader struct {
	r    *bufio.Reader
	most int
	cr   bool // the last line ended in CR, so that an LF still belongs to it
}

func (l *lineReader) next() (string, error) {
	var line []byte
	for {
		c, err := l.r.ReadByte()
		if err != nil {
			return string(line), err
		}
		if l.cr {
			l.cr = false
			if c == '\n' {
				continue
			}
		}
		if c == '\n' || c == '\r' {
			l.cr = c == '\r'
			return string(line), nil
		}
		if len(line) >= l.most {
			return "", fmt.Errorf("%w: a line of more than %d bytes", ErrTooLarge, l.most)
		}
		line = append(line, c)
	}
}
