package serve

import (
	"container/list"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// headerByte is the memory, in bytes, that a byte of a header may take: a line of four bytes is an
// entry of a map.
const headerByte = 56

// conns are the open connections, of which there are so many at most. Where one more comes, the one
// that has sent no whole request for the longest time is closed: a connection that idles, and one
// whose header comes byte by byte, make room for those that ask.
type conns struct {
	net.Listener
	b     *budget
	limit int

	mu     sync.Mutex
	open   int
	asking *list.List // of those that no handler works for, the oldest first
	closed atomic.Int64
}

func newConns(b *budget, limit int) *conns {
	return &conns{b: b, limit: limit, asking: list.New()}
}

// conn is a connection. Until a handler works for it, the bytes that it sends are those of a
// header, and are charged for.
type conn struct {
	net.Conn
	all  *conns
	once sync.Once

	mu     sync.Mutex
	place  *list.Element // among those that ask; nil: a handler works for it
	header asked         // has the charge for the header
}

// Accept returns the next connection for which there is room.
func (all *conns) Accept() (net.Conn, error) {
	for {
		c, err := all.Listener.Accept()
		if err != nil {
			return nil, err
		}
		all.mu.Lock()
		var oldest *conn
		if full := all.open >= all.limit; full && all.asking.Len() > 0 {
			oldest = all.asking.Front().Value.(*conn)
		} else if full {
			all.mu.Unlock()
			all.closed.Add(1)
			c.Close()
			continue
		}
		all.open++
		next := &conn{Conn: c, all: all}
		next.place = all.asking.PushBack(next)
		all.mu.Unlock()
		if oldest != nil {
			all.closed.Add(1)
			oldest.Close()
		}
		return next, nil
	}
}

// Close makes room for another connection.
func (c *conn) Close() error {
	c.once.Do(func() {
		c.leave(false)
		c.all.mu.Lock()
		c.all.open--
		c.all.mu.Unlock()
	})
	return c.Conn.Close()
}

// errHeaders ends a connection whose header has no room.
var errHeaders = errors.New("no memory for another header")

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.place != nil && n > 0 && c.all.b.hold(&c.header, int64(n)*headerByte) != nil {
		return 0, errHeaders
	}
	return n, err
}

// leave gives up the connection's place, and takes a new one where it is to ask again.
func (c *conn) leave(again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	if c.place != nil {
		c.all.asking.Remove(c.place)
		c.place = nil
	}
	c.all.b.release(&c.header)
	c.header.held = 0
	if again {
		c.place = c.all.asking.PushBack(c)
	}
}

// connKey is the key of a request's connection in its context.
type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// handler notes when a handler works for a connection. One whose request came in chunks is closed:
// proxies that read the length instead of the chunks would take the rest for another request.
func (all *conns) handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(*conn); ok {
			c.leave(false)
			defer c.leave(true)
		}
		if len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}
