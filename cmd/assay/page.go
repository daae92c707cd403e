package main

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/serve/pipe"
)

var pageCommand = command{
	group: looking, name: "page", args: "[TEMPLATE]", takes: arity{0, 1, "one template"},
	files: templateFiles,
	short: "open a page that shows a template at work while you edit it",
	long: `The page has the findings beside the lines, the prompt by whose text it is, the format as
a diagram, outputs as they stream, two revisions and the coverage. This program answers it, on this
machine alone and to nobody who does not know the key in the address, until it is interrupted; no
file is read or written. The same page runs without any program, from static files (docs/check.md).`,
	setup: func(flags *flagSet) func(*call) error {
		stay := flags.Bool("no-browser", false, "print the address and open no browser")
		limits := limitFlag(flags, lookedAt)
		return func(c *call) error {
			fragment := ""
			if len(c.args) == 1 {
				src, err := c.open(c.args[0])
				if err != nil {
					return err
				}
				if fragment, err = pageState(src); err != nil {
					return err
				}
			}
			s := pipe.New(c.ctx, pipe.Options{Version: version(),
				Check:  check.Options{Requests: true},
				Limits: limits.Limits, Tight: untrusted})
			return servePage(c, s, fragment, !*stay)
		}
	},
}

// pageState packs a template as links of the page do.
func pageState(src subject.Source) (string, error) {
	state, err := json.Marshal(map[string]string{"name": src.Name, "template": src.Text})
	if err != nil {
		return "", err
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		return "", err
	}
	_, err = w.Write(state)
	err = errors.Join(err, w.Close())
	return "#" + base64.RawURLEncoding.EncodeToString(packed.Bytes()), err
}

func servePage(c *call, s *pipe.Service, fragment string, browse bool) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	key := rand.Text()
	address := "http://" + listener.Addr().String() + "/?key=" + url.QueryEscape(key) + fragment
	server := &http.Server{Handler: pageHandler(s, listener.Addr().String(), key),
		ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-c.ctx.Done()
		_ = server.Close()
	}()
	fmt.Fprintln(c.raw, address)
	c.note("the page is there until Ctrl-C ends this")
	if browse {
		openBrowser(c.ctx, address)
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// pageHandler serves the page's files, and answers who knows the key. Another site that a browser
// shows cannot: it does not know the key, and a name that resolves to this machine is not the host.
func pageHandler(s *pipe.Service, host, key string) http.Handler {
	files := http.FileServerFS(report.Web())
	var one sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		switch {
		case r.Host != host:
			http.Error(w, "the host is not "+host, http.StatusForbidden)
		case r.URL.Path == "/families.json.gz":
			w.Header().Set("Content-Type", "application/gzip")
			packed := gzip.NewWriter(w)
			_ = json.NewEncoder(packed).Encode(families.Owned())
			_ = packed.Close()
		case r.URL.Path != "/ask":
			files.ServeHTTP(w, r)
		case r.Method != http.MethodPost || r.Header.Get("X-Assay-Key") != key:
			http.Error(w, "the key is missing", http.StatusForbidden)
		default:
			line, err := io.ReadAll(http.MaxBytesReader(w, r.Body, pipe.MaxRequest))
			if err != nil {
				http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
				return
			}
			one.Lock()
			defer one.Unlock()
			if r.Context().Err() != nil {
				return // nobody waits for it any more
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(s.Answer(line))
		}
	})
}

// openBrowser opens an address as the desktop does; where there is none, the address that was
// printed has to do.
func openBrowser(ctx context.Context, address string) {
	name, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	_ = exec.CommandContext(ctx, name, args...).Start()
}
