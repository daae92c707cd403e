package hub_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/goassay/assay/engine/model/hub"
)

// slow is a server that takes its time, by a clock of its own. Each answer is partial content with
// one more byte, or a whole body that comes byte by byte.
type slow struct {
	clock  time.Time
	each   time.Duration // that a byte takes
	broken int           // bytes after which an answer breaks off; 0: it does not
	whole  bool
	asked  int
}

func (s *slow) now() time.Time { return s.clock }

func (s *slow) sleep(_ context.Context, d time.Duration) error {
	s.clock = s.clock.Add(d)
	return nil
}

func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked++
	resp := &http.Response{StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Request: r, ContentLength: -1}
	var from, to int64
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); err == nil &&
		!s.whole {
		resp.StatusCode = http.StatusPartialContent
		resp.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, from, int64(size)))
		resp.Body = io.NopCloser(bytes.NewReader([]byte{0}))
		return resp, nil
	}
	resp.Body = io.NopCloser(&drip{s: s})
	return resp, nil
}

// drip is a body that comes byte by byte.
type drip struct {
	s     *slow
	given int
}

func (d *drip) Read(p []byte) (int, error) {
	if d.given++; d.s.broken > 0 && d.given > d.s.broken {
		return 0, io.ErrUnexpectedEOF
	}
	d.s.clock = d.s.clock.Add(d.s.each)
	p[0] = 0
	return 1, nil
}

const size = 1 << 40 // bytes of the file

// TestPatience asks servers that would keep a client for ever. Each is given up, after a number of
// requests and a time that the package's comment states.
func TestPatience(t *testing.T) {
	for _, test := range []struct {
		name   string
		server slow
		want   string
	}{
		{"a byte with each answer", slow{}, "answers, expected at least"},
		{"a byte every half second", slow{whole: true, each: time.Second / 2}, "a second after"},
		{"a byte at a time, as fast as it can", slow{whole: true}, "pieces, expected at least"},
		{"a byte just before the silence is too long", slow{whole: true, each: 29 * time.Second}, "a second after"},
		{"some bytes and a break by turns", slow{whole: true, each: time.Millisecond, broken: 3}, "tried"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := test.server
			s.clock = time.Unix(0, 0)
			c, err := hub.New(hub.Config{Endpoint: "http://hub.test", Cache: t.TempDir(),
				Retries: 5, Transport: &s, Now: s.now, Sleep: s.sleep})
			if err != nil {
				t.Fatal(err)
			}
			r, err := c.Open(t.Context(), &hub.Repo{ID: "a/b", Commit: commit},
				hub.File{Name: "m.gguf", Size: size})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			_, err = r.ReadAt(make([]byte, 64<<20), 0)
			var failed *hub.Error
			if !errors.As(err, &failed) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("it ends with %v, want %q", err, test.want)
			}
			if took := s.clock.Sub(time.Unix(0, 0)); took > 11*time.Minute || s.asked > 250 {
				t.Errorf("it took %v and %d requests", took, s.asked)
			}
		})
	}
}
