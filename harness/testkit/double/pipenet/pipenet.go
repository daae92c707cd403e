// Package pipenet runs servers on a network in memory, for tests of time limits. In a bubble of
// testing/synctest the clock is fake and advances only when every goroutine is durably blocked. A
// goroutine that waits for a real connection never is.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package pipenet

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
)

// listeners has the open listeners by address.
var listeners struct {
	sync.Mutex
	n  int
	at map[string]*listener
}

// Clients use http.DefaultTransport or clones of it, so this is where connections are made.
func init() {
	listeners.at = map[string]*listener{}
	t := http.DefaultTransport.(*http.Transport)
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		listeners.Lock()
		l := listeners.at[address]
		listeners.Unlock()
		if l == nil {
			return dial(ctx, network, address)
		}
		return l.dial(ctx)
	}
}

// NewServer starts a server. http.DefaultTransport, and clones of it that are made later, reach it
// by its URL, which has a loopback address.
func NewServer(handler http.Handler) *httptest.Server {
	s := NewUnstartedServer(handler)
	s.Start()
	return s
}

// NewUnstartedServer makes a server whose configuration can still be changed.
func NewUnstartedServer(handler http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(handler)
	s.Listener.Close()
	l := &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
	listeners.Lock()
	defer listeners.Unlock()
	listeners.n++
	l.address = address(fmt.Sprintf("127.255.%d.%d:1", listeners.n>>8&0xff, listeners.n&0xff))
	listeners.at[l.address.String()] = l
	s.Listener = l
	// Closing any httptest.Server closes the idle connections of http.DefaultTransport. A goroutine
	// outside a bubble must not close one that was made inside, so none is kept.
	s.Config.SetKeepAlivesEnabled(false)
	return s
}

// Dial connects to a server by the address in its URL.
func Dial(address string) (net.Conn, error) {
	t := http.DefaultTransport.(*http.Transport)
	return t.DialContext(context.Background(), "tcp", address)
}

type address string

func (address) Network() string  { return "pipe" }
func (a address) String() string { return string(a) }

type listener struct {
	address address
	conns   chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func (l *listener) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.closed)
		listeners.Lock()
		defer listeners.Unlock()
		delete(listeners.at, l.address.String())
	})
	return nil
}

// Addr implements [net.Listener].
func (l *listener) Addr() net.Addr { return l.address }
