package hub

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// border keeps a Hub outside this machine's network from having its clients ask within it: a
// redirect to a service that listens on the loopback address, or that gives a machine its secrets.
// Where the Hub, or the proxy that leads to it, is within the network itself, its redirects may
// stay there. A name counts for its address.
type border struct {
	inside  func(netip.Addr) bool
	proxy   func(*http.Request) (*url.URL, error)
	proxies sync.Map    // the addresses of proxies that requests are sent to, HOST:PORT
	within  atomic.Bool // the Hub, or a proxy, has been reached within the network
}

// errInside is why a redirect is not followed.
var errInside = errors.New("an address of this machine or of its network")

// shared are the addresses between a provider of connections and its customers: RFC 6598.
var shared = netip.MustParsePrefix("100.64.0.0/10")

// inside reports whether an address is of no use beyond this machine or its network.
func inside(a netip.Addr) bool {
	a = a.Unmap()
	return !a.IsGlobalUnicast() || a.IsPrivate() || shared.Contains(a)
}

type abroadKey struct{}

// abroad marks the context of a request that leaves the endpoint.
func abroad(ctx context.Context) context.Context {
	return context.WithValue(ctx, abroadKey{}, true)
}

// guard has a transport keep to the border.
func (b *border) guard(t *http.Transport) {
	t.Proxy = func(r *http.Request) (*url.URL, error) {
		u, err := b.proxy(r)
		if u != nil {
			at := cmp.Or(port(u), "1080") // RFC 1928
			b.proxies.Store(net.JoinHostPort(u.Hostname(), at), true)
		}
		return u, err
	}
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second,
		ControlContext: func(ctx context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			switch {
			case err != nil || !b.inside(at.Addr()):
			case ctx.Value(abroadKey{}) == nil:
				b.within.Store(true)
			case !b.within.Load():
				return errInside
			}
			return nil
		}}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if _, is := b.proxies.Load(address); is {
			ctx = context.WithValue(ctx, abroadKey{}, nil) // the user has chosen it
		}
		return dialer.DialContext(ctx, network, address)
	}
}
