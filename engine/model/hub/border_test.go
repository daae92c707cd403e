package hub_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/goassay/assay/engine/model/hub"
)

// TestInside demands that a Hub cannot have its clients ask within their network, unless it is
// there itself. Loopback addresses stand for both sides.
func TestInside(t *testing.T) {
	var asked atomic.Int32
	service := httptest.NewUnstartedServer(http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { asked.Add(1) }))
	var err error
	if service.Listener, err = net.Listen("tcp", "127.0.0.2:0"); err != nil {
		t.Skip(err) // some systems have but one loopback address
	}
	service.Start()
	defer service.Close()
	moved := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Linked-Etag", `"`+strings.Repeat("a", 64)+`"`)
		w.Header().Set("X-Linked-Size", "3")
		w.Header().Set("X-Repo-Commit", commit)
		http.Redirect(w, r, service.URL, http.StatusFound)
	}))
	defer moved.Close()
	read := func(service, home string, proxy func(*http.Request) (*url.URL, error)) error {
		c, err := hub.New(hub.Config{Endpoint: moved.URL, Cache: t.TempDir(), Retries: 3})
		if err != nil {
			t.Fatal(err)
		}
		c.Within(func(a netip.Addr) bool { return a.String() == service || a.String() == home })
		if proxy != nil {
			c.By(proxy)
		}
		r := &hub.Repo{ID: "o/m", Commit: commit}
		_, err = c.ReadFile(t.Context(), r, hub.File{Name: "m", Size: -1}, 100)
		return err
	}
	if err := read("127.0.0.2", "", nil); err == nil || asked.Load() > 0 ||
		!strings.Contains(err.Error(), "an address of this machine or of its network") {
		t.Errorf("a Hub outside: %v, asked %d times", err, asked.Load())
	}
	if read("127.0.0.2", "127.0.0.1", nil); asked.Swap(0) == 0 {
		t.Error("a Hub inside must be able to keep its files beside it")
	}
	read("127.0.0.2", "", func(r *http.Request) (*url.URL, error) { // for other hosts than the Hub
		if "http://"+r.URL.Host == moved.URL {
			return nil, nil
		}
		return url.Parse(service.URL)
	})
	if asked.Load() == 0 {
		t.Error("a proxy inside is not asked")
	}
	for address, want := range map[string]bool{"127.0.0.1": true, "10.1.2.3": true,
		"169.254.169.254": true, "::1": true, "fe80::1": true, "fd00::1": true, "0.0.0.0": true,
		"::ffff:192.168.1.1": true, "100.64.0.1": true, "8.8.8.8": false,
		"2606:4700::1": false, "172.32.0.1": false} {
		if got := hub.Inside(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %t", address, got)
		}
	}
}
