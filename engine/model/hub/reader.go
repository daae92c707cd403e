package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goassay/assay/engine/model/patience"
)

// The windows of a Reader, in bytes: how much is asked for beyond the need.
const (
	firstWindow = 64 << 10
	lastWindow  = 512 << 10
	maxRange    = 8 << 20 // the most that one request asks for
)

// Reader reads a file on the Hub by ranges. It keeps the bytes that it has read in memory, so
// reading them again costs nothing. Where the server ignores ranges, it reads from the file's start
// as far as it has to. It is safe for concurrent use.
type Reader struct {
	c     *Client
	ctx   context.Context // of Open: a ReaderAt has no other place for it
	repo  *Repo
	file  File
	local *os.File // where the cache has the file

	mu     sync.Mutex
	pieces []piece  // sorted, not touching
	window int64    // of the next request
	direct *url.URL // where the last redirect led: storage, which is asked directly from then on
	stream io.ReadCloser
	read   int64
}

// piece is a part of a file in memory.
type piece struct {
	off  int64
	data []byte
}

// Open opens a file for reading by ranges; from the cache where it is there. Reads fail once the
// context has ended.
func (c *Client) Open(ctx context.Context, r *Repo, f File) (*Reader, error) {
	ctx = patience.With(ctx)
	local, err := c.openCached(r, f)
	if err != nil {
		return nil, err
	}
	reader := &Reader{c: c, ctx: ctx, repo: r, file: f, local: local, window: firstWindow}
	if local != nil {
		info, err := local.Stat()
		if err != nil {
			local.Close()
			return nil, err
		}
		reader.file.Size = info.Size()
	} else if f.Size < 0 {
		if reader.file, err = c.Stat(ctx, r, f); err != nil {
			return nil, err
		}
		if reader.file.Size < 0 {
			return nil, c.failf(nil, r.named(f.Name), "%s gives no length of the file", c.endpoint.Host)
		}
	}
	return reader, nil
}

// Size is the file's size in bytes.
func (r *Reader) Size() int64 { return r.file.Size }

// BytesRead is how many bytes of content have come over the network.
func (r *Reader) BytesRead() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.read
}

// Sequential reports whether the server ignores ranges, so that everything up to the needed bytes
// had to be read.
func (r *Reader) Sequential() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stream != nil
}

// Close ends the request under way.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	if r.stream != nil {
		err = r.stream.Close()
	}
	if r.local != nil {
		err = r.local.Close()
	}
	return err
}

// ReadAt implements [io.ReaderAt].
func (r *Reader) ReadAt(p []byte, off int64) (int, error) {
	if r.local != nil {
		return r.local.ReadAt(p, off)
	}
	if off < 0 {
		return 0, errors.New("hub: negative offset")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	done := 0
	for done < len(p) {
		pos := off + int64(done)
		if pos >= r.file.Size {
			return done, io.EOF
		}
		if have := r.at(pos); have != nil {
			done += copy(p[done:], have)
		} else if err := r.fetch(pos, min(int64(len(p)-done), r.file.Size-pos)); err != nil {
			return done, err
		}
	}
	return done, nil
}

// at returns the known bytes from an offset on.
func (r *Reader) at(pos int64) []byte {
	i := r.index(pos)
	if i < 0 || pos-r.pieces[i].off >= int64(len(r.pieces[i].data)) {
		return nil
	}
	return r.pieces[i].data[pos-r.pieces[i].off:]
}

// index is that of the last piece that does not begin after an offset; below zero: there is none.
func (r *Reader) index(pos int64) int {
	i, found := slices.BinarySearchFunc(r.pieces, pos, func(p piece, pos int64) int {
		if p.off < pos {
			return -1
		} else if p.off > pos {
			return 1
		}
		return 0
	})
	if found {
		return i
	}
	return i - 1
}

// add keeps the bytes that have come.
func (r *Reader) add(pos int64, data []byte) {
	r.read += int64(len(data))
	i := r.index(pos)
	if i >= 0 && r.pieces[i].off+int64(len(r.pieces[i].data)) == pos {
		r.pieces[i].data = append(r.pieces[i].data, data...)
	} else {
		r.pieces = slices.Insert(r.pieces, i+1, piece{pos, data})
	}
}

// fetch gets at least one byte at an offset that is not known yet; want bytes are needed there.
func (r *Reader) fetch(pos, want int64) error {
	if r.stream != nil {
		return r.forward(pos + want)
	}
	n := min(max(want, r.window), maxRange, r.file.Size-pos)
	if i := r.index(pos) + 1; i < len(r.pieces) {
		n = min(n, r.pieces[i].off-pos)
	}
	err := r.c.retried(r.ctx, func() error {
		if r.at(pos) != nil {
			return nil // a part has come before the answer broke off
		}
		return r.request(pos, n)
	})
	if err != nil {
		return err
	}
	r.window = min(2*r.window, lastWindow)
	if r.stream != nil {
		return r.forward(pos + want)
	}
	return nil
}

// request asks for a range.
func (r *Reader) request(pos, n int64) error {
	u := r.direct
	if u == nil {
		u = r.c.resolve(r.repo, r.file.Name)
	}
	what := r.repo.named(r.file.Name)
	resp, err := r.c.send(r.ctx, what, http.MethodGet, u,
		http.Header{"Range": {fmt.Sprintf("bytes=%d-%d", pos, pos+n-1)}}, followAll)
	if err != nil {
		return err
	}
	keep := false
	defer func() {
		if !keep {
			resp.Body.Close()
		}
	}()
	switch {
	case resp.StatusCode == http.StatusPartialContent:
		if n, err = r.c.contentRange(what, resp, pos, n, r.file.Size); err != nil {
			return err
		}
		data := make([]byte, n)
		got, err := io.ReadFull(resp.Body, data)
		if got > 0 {
			r.add(pos, data[:got])
		}
		if err != nil {
			return r.c.short(what, resp, err)
		}
		if !r.c.home(resp.Request.URL) {
			r.direct = resp.Request.URL
		}
		return nil
	case resp.StatusCode == http.StatusOK:
		if resp.ContentLength >= 0 && resp.ContentLength != r.file.Size {
			return r.c.failf(ErrMismatch, what, "%d bytes are coming, expected %d",
				resp.ContentLength, r.file.Size)
		}
		r.stream, r.pieces, keep = resp.Body, nil, true
		return nil
	case r.direct != nil && resp.StatusCode/100 == 4 &&
		resp.StatusCode != http.StatusTooManyRequests:
		r.direct = nil // the address of the storage is valid for some time only
		return r.request(pos, n)
	}
	return r.c.statusError(resp, what, r.repo.ID)
}

// short makes an error of a body that ended early.
func (c *Client) short(what string, resp *http.Response, err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		e := c.failf(nil, what, "%s closed the connection before "+
			"everything had come", resp.Request.URL.Host)
		e.Err = io.ErrUnexpectedEOF
		return &transient{e, -1}
	}
	return err
}

// contentRange checks that an answer holds the range asked for, or its beginning, and returns its
// length. RFC 9110, section 14.4.
func (c *Client) contentRange(what string, resp *http.Response, pos, n, size int64) (int64, error) {
	text := resp.Header.Get("Content-Range")
	span, total, _ := strings.Cut(strings.TrimPrefix(text, "bytes "), "/")
	from, to, _ := strings.Cut(span, "-")
	first, err1 := strconv.ParseInt(from, 10, 64)
	last, err2 := strconv.ParseInt(to, 10, 64)
	if err1 != nil || err2 != nil || first != pos || last < first || last-first+1 > n {
		return 0, c.failf(ErrMismatch, what, "%s answered with the range %q, "+
			"expected bytes %d-%d", resp.Request.URL.Host, plain(text), pos, pos+n-1)
	}
	if total != "*" && total != fmt.Sprint(size) {
		return 0, c.failf(ErrMismatch, what, "%s has a file of %s "+
			"bytes, expected %d", resp.Request.URL.Host, plain(total), size)
	}
	return last - first + 1, nil
}

// forward reads the stream up to an offset. A stream that breaks is begun again, and the bytes
// already read are passed over.
func (r *Reader) forward(end int64) error {
	if len(r.pieces) == 0 {
		r.pieces = []piece{{}}
	}
	p := &r.pieces[0]
	return r.c.retried(r.ctx, func() error {
		for int64(len(p.data)) < end {
			chunk := make([]byte, min(firstWindow, end-int64(len(p.data))))
			n, err := io.ReadAtLeast(r.stream, chunk, 1)
			p.data, r.read = append(p.data, chunk[:n]...), r.read+int64(n)
			if n == 0 {
				return r.reopen(err)
			}
		}
		return nil
	})
}

// reopen begins the stream again after an error, which it returns unless it cannot pass.
func (r *Reader) reopen(cause error) error {
	r.stream.Close()
	what := r.repo.named(r.file.Name)
	resp, err := r.c.send(r.ctx, what, http.MethodGet, r.c.resolve(r.repo, r.file.Name), nil,
		followAll)
	if err != nil {
		return err
	}
	r.stream = resp.Body
	if resp.StatusCode != http.StatusOK {
		return r.c.statusError(resp, what, r.repo.ID)
	}
	known := int64(len(r.pieces[0].data))
	n, err := io.CopyN(io.Discard, resp.Body, known)
	r.read += n
	if err != nil {
		return r.c.short(what, resp, err)
	}
	return r.c.short(what, resp, cause)
}
