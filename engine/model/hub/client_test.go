package hub_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goassay/assay/engine/model/hub"
	"github.com/goassay/assay/harness/testkit/double/fakehub"
)

const commit = "0123456789012345678901234567890123456789"

// world is a transport that answers from a table and notes who was sent the token.
type world struct {
	t *testing.T
	// "METHOD scheme://host/path": headers, a line each, an empty line, and the body
	answers map[string]string
	mu      sync.Mutex
	sent    []string // "METHOD URL", with " +token" where it was sent
}

func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u := *r.URL
	u.RawQuery = ""
	line := r.Method + " " + u.String()
	note := line
	for name, values := range r.Header {
		if strings.Contains(name+strings.Join(values, ""), secret) {
			note += " +token in " + name
		}
	}
	if strings.Contains(r.URL.String(), secret) {
		note += " +token in the URL"
	}
	w.sent = append(w.sent, note)
	text, ok := w.answers[line]
	if !ok {
		return nil, fmt.Errorf("no such place: %s, asked with %s", r.URL, r.Header)
	}
	head, body, _ := strings.Cut(text, "\n\n")
	resp := &http.Response{StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Request: r, ContentLength: int64(len(body)),
		Body: io.NopCloser(strings.NewReader(body))}
	for header := range strings.SplitSeq(head, "\n") {
		if name, value, ok := strings.Cut(header, ": "); ok && name == "Status" {
			fmt.Sscan(value, &resp.StatusCode)
		} else if ok {
			resp.Header.Set(name, value)
		}
	}
	return resp, nil
}

func (w *world) client(endpoint, cache string) *hub.Client {
	w.t.Helper()
	c, err := hub.New(hub.Config{Endpoint: endpoint, Token: secret, Cache: cache, Transport: w,
		Retries: -1})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// redirect answers with a redirect.
func redirect(to string) string { return "Status: 302\nLocation: " + to + "\n\n" }

// TestTokenReachesTheHubOnly follows redirects to every kind of place that is not the Hub, from
// every call, and looks at each header that was sent.
func TestTokenReachesTheHubOnly(t *testing.T) {
	const content = "the content"
	sum := sha256.Sum256([]byte(content))
	etag := hex.EncodeToString(sum[:])
	listing := fmt.Sprintf(`{"sha": %q, "siblings": [{"rfilename": "m.gguf", "size": %d, "lfs": {"sha256": %q, "size": %d}}]}`, commit, len(content), etag, len(content))
	for name, away := range map[string]string{
		"another host":       "https://storage.example/x?sig=1",
		"a subdomain":        "https://cdn.hub.example/x?sig=1",
		"the parent":         "https://example/x?sig=1",
		"another port":       "https://hub.example:8443/x?sig=1",
		"without a scheme":   "//storage.example/x?sig=1",
		"with a user":        "https://hub.example@storage.example/x?sig=1",
		"a look-alike":       "https://hub.example.evil.example/x?sig=1",
		"back again":         "https://storage.example/back?sig=1",
		"an https look-down": "http://hub.example/x?sig=1",
	} {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			w := &world{t: t, answers: map[string]string{
				"GET https://hub.example/api/models/o/m": "\n\n" + listing,
				"HEAD https://hub.example/o/m/resolve/" + commit +
					"/m.gguf": "X-Linked-Etag: \"" + etag + "\"\n" + redirect(away),
				"GET https://hub.example/o/m/resolve/" + commit +
					"/m.gguf": "X-Linked-Etag: \"" + etag + "\"\n" + redirect(away),
				"GET https://storage.example/x":          "ETag: \"s\"\n\n" + content,
				"GET https://cdn.hub.example/x":          "\n\n" + content,
				"GET https://example/x":                  "\n\n" + content,
				"GET https://hub.example:8443/x":         "\n\n" + content,
				"GET https://hub.example.evil.example/x": "\n\n" + content,
				"GET http://hub.example/x":               "\n\n" + content,
				"GET https://storage.example/back":       redirect("https://hub.example/again"),
				"GET https://hub.example/again":          "\n\n" + content,
				"HEAD https://hub.example/again":         "\n\n",
				"GET https://hub.example/o/m/resolve/" + commit + "/m.gguf/unknown-to-anybody": "",
			}}
			c := w.client("https://hub.example", cache)
			r, err := c.Repo(t.Context(), "o/m", "")
			if err != nil {
				t.Fatal(err)
			}
			down := strings.HasPrefix(away, "http:")
			check := func(call string, err error) {
				if (err != nil) != down {
					t.Errorf("%s: %v", call, err)
				}
				if err != nil && (strings.Contains(err.Error(), secret) ||
					strings.Contains(err.Error(), "sig=1")) {
					t.Errorf("%s: the error tells a secret: %v", call, err)
				}
			}
			_, err = c.ReadFile(t.Context(), r, r.Files[0], 100)
			check("ReadFile", err)
			reader, err := c.Open(t.Context(), r, r.Files[0])
			if err != nil {
				t.Fatal(err)
			}
			_, err = reader.ReadAt(make([]byte, 5), 0)
			check("ReadAt", err)
			_, _, err = c.Refresh(t.Context(), r, r.Files[0].Name, "", 100)
			check("Refresh", err)
			_, err = c.Pull(t.Context(), hub.Ref{Repo: "o/m"}, hub.PullOptions{})
			check("Pull", err)
			for _, s := range w.sent {
				toHub := strings.HasPrefix(s, "GET https://hub.example/api/") ||
					strings.Contains(s, " https://hub.example/o/m/resolve/")
				if authorized := strings.HasSuffix(s,
					" +token in Authorization"); authorized != toHub {
					t.Errorf("sent %s", s)
				}
			}
			noSecret(t, cache)
		})
	}
}

// TestRenamedRepository: a redirect within the Hub keeps the token.
func TestRenamedRepository(t *testing.T) {
	w := &world{t: t, answers: map[string]string{
		"GET https://hub.example/api/models/o/old": redirect("/api/models/o/new"),
		"GET https://hub.example/api/models/o/new": "\n\n" + `{"sha": "` + commit + `", "siblings": []}`,
	}}
	if _, err := w.client("https://hub.example", t.TempDir()).
		Repo(t.Context(), "o/old", ""); err != nil {
		t.Error(err)
	}
	if last := w.sent[len(
		w.sent)-1]; last != "GET https://hub.example/api/models/o/new +token in Authorization" {
		t.Errorf("sent %s", last)
	}
}

// FuzzListing: whatever a Hub lists, the names stay below the folder they are joined to.
func FuzzListing(f *testing.F) {
	f.Add(`{"sha": "` + commit + `", "siblings": [{"rfilename": "a/b.gguf", "size": 3, "lfs": {"sha256": "00", "size": 3}}]}`)
	f.Add(`{"sha": "` + commit + `", "gated": "auto", "siblings": [{"rfilename": "../x"}]}`)
	f.Fuzz(func(t *testing.T, listing string) {
		w := &world{t: t,
			answers: map[string]string{"GET https://hub.example/api/models/o/m": "\n\n" + listing}}
		r, err := w.client("https://hub.example", t.TempDir()).Repo(t.Context(), "o/m", "")
		if err != nil {
			return
		}
		for _, file := range r.Files {
			if !filepath.IsLocal(filepath.FromSlash(file.Name)) || file.Size < -1 {
				t.Errorf("listed %+v", file)
			}
		}
		if files, err := r.Choose(""); err == nil && len(files) == 0 {
			t.Error("chose nothing")
		}
	})
}

// noSecret checks that no file below a folder has the token.
func noSecret(t *testing.T, dir string) {
	t.Helper()
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(path+string(text), secret) {
			t.Errorf("%s has the token", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestErrorsOfTheTransport has errors of a transport that may name the address and headers of a
// request.
func TestErrorsOfTheTransport(t *testing.T) {
	w := &world{t: t}
	_, err := w.client("https://hub.example", t.TempDir()).Repo(t.Context(), "o/m", "")
	wantError(t, err, nil, "o/m: hub.example cannot be reached: no such place")
	if strings.Contains(err.Error(), secret) {
		t.Errorf("the error has the token: %v", err)
	}
}

// TestHostileListings: names, commits and etags of a Hub become paths, so they are checked first.
func TestHostileListings(t *testing.T) {
	const file = `{"rfilename": "m.gguf", "size": 1, "blobId": "0123456789012345678901234567890123456789"}`
	for name, c := range map[string]struct{ listing, says string }{
		"a path upwards":       {`{"sha": "` + commit + `", "siblings": [{"rfilename": "../../m.gguf"}]}`, "not a path within it"},
		"an absolute path":     {`{"sha": "` + commit + `", "siblings": [{"rfilename": "/m.gguf"}]}`, "not a path within it"},
		"a path of Windows":    {`{"sha": "` + commit + `", "siblings": [{"rfilename": "a\\..\\m.gguf"}]}`, "not a path within it"},
		"an empty name":        {`{"sha": "` + commit + `", "siblings": [{}]}`, "not a path within it"},
		"escapes of terminals": {`{"sha": "` + commit + `", "siblings": [{"rfilename": "\u001b[2J.gguf"}]}`, "not a path within it"},
		"a commit upwards":     {`{"sha": "../../../../../../../../../../../../../x", "siblings": [` + file + `]}`, "names no commit"},
		"no commit":            {`{"siblings": [` + file + `]}`, "names no commit"},
		"an array":             {`[]`, "not the API's JSON"},
		"deep":                 {strings.Repeat("[", 100_000), "not the API's JSON"},
		"a size out of range":  {`{"sha": "` + commit + `", "siblings": [{"rfilename": "m.gguf", "size": 1e99}]}`, "not the API's JSON"},
		"cut off":              {`{"sha": "` + commit, "not the API's JSON"},
		"private":              {`{"sha": "` + commit + `", "private": true, "siblings": [` + file + `]}`, "the repository is private; set HF_TOKEN"},
		"gated some other way": {`{"sha": "` + commit + `", "gated": "soon", "siblings": [` + file + `]}`, "the model is gated"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{t: t, answers: map[string]string{"GET https://hub.example/api/models/o/m": "\n\n" + c.listing}}
			client, err := hub.New(hub.Config{Endpoint: "https://hub.example", Cache: t.TempDir(),
				Transport: w})
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.Repo(t.Context(), "o/m", "")
			wantError(t, err, nil, "o/m", c.says)
		})
	}
}

// TestETags requires that an etag be a hash of the content.
func TestETags(t *testing.T) {
	listing := "\n\n" + `{"sha": "` + commit + `", "siblings": [{"rfilename": "m.gguf"}]}`
	for name, c := range map[string]struct{ head, says string }{
		"a path": {"X-Linked-Etag: \"../../x\"\nX-Linked-Size: 1\n\n",
			"neither a SHA-256 nor a git blob id"},
		"none": {"X-Linked-Size: 1\n\n", "gives no ETag"},
		"of the wrong kind": {"ETag: \"d41d8cd98f00b204e9800998ecf8427e\"\n\n",
			"neither a SHA-256"},
		"without a size": {"Status: 302\nLocation: https://s.example/\nX-Linked-Etag: \"" +
			strings.Repeat("0", 64) + "\"\n\n",
			"gives no length of the file"},
		"of another commit": {"X-Repo-Commit: " + strings.Repeat("0", 40) + "\n\n",
			"its commit is 0000"},
		"a redirect without": {"Status: 302\nLocation: https://s.example/\nETag: \"" +
			strings.Repeat("0", 64) + "\"\nX-Linked-Size: 1\n\n",
			"gives no ETag"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{t: t, answers: map[string]string{
				"GET https://hub.example/api/models/o/m":                     listing,
				"HEAD https://hub.example/o/m/resolve/" + commit + "/m.gguf": c.head,
			}}
			dir := t.TempDir()
			_, err := w.client("https://hub.example", dir).
				Pull(t.Context(), hub.Ref{Repo: "o/m"}, hub.PullOptions{})
			wantError(t, err, nil, "o/m: m.gguf", c.says)
			if found, _ := os.ReadDir(dir); len(found) > 0 {
				t.Errorf("the cache has %v", found)
			}
		})
	}
}

// TestListingWithoutSizes: a mirror that lists names alone is asked for each file.
func TestListingWithoutSizes(t *testing.T) {
	sum := sha256.Sum256([]byte("content"))
	w := &world{t: t, answers: map[string]string{
		"GET https://hub.example/mirror/api/models/o/m/revision/" + commit: "\n\n" + `{"sha": "` + commit + `", "siblings": [{"rfilename": "m.gguf"}]}`,
		"GET https://hub.example/mirror/api/models/o/m":                    "\n\n" + `{"sha": "` + commit + `", "siblings": [{"rfilename": "m.gguf"}]}`,
		"HEAD https://hub.example/mirror/o/m/resolve/" + commit + "/m.gguf": "ETag: W/\"" +
			hex.EncodeToString(sum[:]) + "\"\n\ncontent",
		"GET https://hub.example/mirror/o/m/resolve/" + commit + "/m.gguf": "\n\ncontent",
	}}
	c := w.client("https://hub.example/mirror/", t.TempDir())
	p, err := c.Pull(t.Context(), hub.Ref{Repo: "o/m"}, hub.PullOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(p.Paths[0]); err != nil || string(text) != "content" {
		t.Errorf("read %q, %v", text, err)
	}
	p.Lock.Files[0].SHA256 = strings.Repeat("0", 64)
	_, err = w.client("https://hub.example/mirror/", t.TempDir()).
		Pull(t.Context(), hub.Ref{}, hub.PullOptions{Lock: p.Lock})
	wantError(t, err, hub.ErrMismatch, "not what was locked: m.gguf has the SHA-256 ")
}

// TestFileOutsideLFS: a file that is named by git's object id is fetched, checked and locked as
// well.
func TestFileOutsideLFS(t *testing.T) {
	const id = "6b584e8ece562ebffc15d38808cd6b98fc3d97ea" // of "content", by git hash-object
	sum := sha256.Sum256([]byte("content"))
	resolve := "https://hub.example/o/m/resolve/" + commit + "/m.gguf"
	w := &world{t: t, answers: map[string]string{
		"GET https://hub.example/api/models/o/m": "\n\n" + `{"sha": "` + commit + `", "siblings": [{"rfilename": "m.gguf", "size": 7, "blobId": "` + id + `"}]}`,
		"HEAD " + resolve:                        "ETag: \"" + id + "\"\n\ncontent",
		"GET " + resolve:                         "ETag: \"" + id + "\"\n\ncontent",
	}}
	cache := t.TempDir()
	c := w.client("https://hub.example", cache)
	p, err := c.Pull(t.Context(), hub.Ref{Repo: "o/m"}, hub.PullOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(cache, "models--o--m", "blobs", id)); err != nil {
		t.Error(err)
	}
	if got := p.Lock.Files[0].SHA256; got != hex.EncodeToString(sum[:]) {
		t.Errorf("locked %s", got)
	}
	if _, err := c.Pull(t.Context(), hub.Ref{}, hub.PullOptions{Lock: p.Lock}); err != nil {
		t.Error(err)
	}
	p.Lock.Files[0].SHA256 = strings.Repeat("0", 64)
	_, err = c.Pull(t.Context(), hub.Ref{}, hub.PullOptions{Lock: p.Lock})
	wantError(t, err, hub.ErrMismatch, "not what was locked: m.gguf "+
		"has the SHA-256 "+hex.EncodeToString(sum[:]))
	w.answers["GET "+resolve] = "\n\nCONTENT"
	_, err = w.client("https://hub.example", t.TempDir()).
		Pull(t.Context(), hub.Ref{Repo: "o/m"}, hub.PullOptions{})
	wantError(t, err, hub.ErrMismatch, "its hash is ", "expected "+id)
}

func TestWaits(t *testing.T) {
	for name, c := range map[string]struct {
		fault fakehub.Fault
		waits []time.Duration
		says  string // "": it works
	}{
		"seconds": {fakehub.Fault{Kind: fakehub.Status, At: 429, Value: "7", Times: 1},
			[]time.Duration{7 * time.Second}, ""},
		"a date": {fakehub.Fault{Kind: fakehub.Status, At: 429,
			Value: "Fri, 02 Jan 2026 03:04:35 GMT", Times: 1}, []time.Duration{30 * time.Second},
			""},
		"a date gone by": {fakehub.Fault{Kind: fakehub.Status, At: 503,
			Value: "Fri, 02 Jan 2026 03:00:00 GMT", Times: 1}, []time.Duration{0}, ""},
		"nothing said": {fakehub.Fault{Kind: fakehub.Status, At: 429, Times: 2},
			[]time.Duration{time.Second, 2 * time.Second}, ""},
		"nonsense": {fakehub.Fault{Kind: fakehub.Status, At: 500, Value: "soon",
			Times: 1}, []time.Duration{time.Second}, ""},
		"a limit":  {fakehub.Fault{Kind: fakehub.Limit, Value: `"api";r=0;t=55`, Times: 1}, []time.Duration{56 * time.Second}, ""},
		"no limit": {fakehub.Fault{Kind: fakehub.Limit, Value: `"api";r=0`, Times: 1}, []time.Duration{time.Second}, ""},
		"too long": {fakehub.Fault{Kind: fakehub.Status, At: 429, Value: "301"}, nil,
			"it asks to wait 5m1s, so try again later"},
		"too often": {fakehub.Fault{Kind: fakehub.Status, At: 502},
			[]time.Duration{time.Second, 2 * time.Second}, "(tried 3 times)"},
		"a lasting fault": {fakehub.Fault{Kind: fakehub.Status, At: 410}, nil, "410"},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			f.Repo("o/m").Put("m.gguf", []byte("x"))
			f.Fault(c.fault)
			_, err := f.client(nil).Repo(t.Context(), "o/m", "")
			if c.says != "" {
				wantError(t, err, nil, c.says)
			} else if err != nil {
				t.Error(err)
			}
			if !slices.Equal(f.waits, c.waits) {
				t.Errorf("waited %v, want %v", f.waits, c.waits)
			}
		})
	}
}

func TestRateLimitIsAKind(t *testing.T) {
	f := start(t)
	f.Fault(fakehub.Fault{Kind: fakehub.Status, At: 429, Value: "999"})
	_, err := f.client(nil).Repo(t.Context(), "o/m", "")
	wantError(t, err, hub.ErrBusy)
	var e *hub.Error
	if !errors.As(err, &e) || e.Status != 429 {
		t.Errorf("%+v", e)
	}
}

// TestStalledEverywhere: silence ends each call.
func TestStalledEverywhere(t *testing.T) {
	f := start(t)
	f.Repo("o/m").Put("m.gguf", model(t, "x", 0, 1<<20))
	c := f.client(func(c *hub.Config) { c.Idle, c.Retries = 500*time.Millisecond, 0 })
	r := f.repo(f.client(nil), "o/m", "")
	f.Fault(fakehub.Fault{Kind: fakehub.Stall, At: 10})
	_, err := c.Repo(t.Context(), "o/m", "")
	wantError(t, err, nil, "has sent nothing for 500ms")
	_, err = c.ReadFile(t.Context(), r, r.Files[0], 1<<30)
	wantError(t, err, nil, "o/m: m.gguf: ", "has sent nothing for 500ms")
	reader, err := c.Open(t.Context(), r, r.Files[0])
	if err != nil {
		t.Fatal(err)
	}
	_, err = reader.ReadAt(make([]byte, 100), 0)
	wantError(t, err, nil, "has sent nothing for 500ms")
}

// TestCancel ends a context: the download ends, and the bytes that came stay.
func TestCancel(t *testing.T) {
	f := start(t)
	f.Repo("o/m").Put("m.gguf", model(t, "x", 0, 1<<20))
	f.Fault(fakehub.Fault{Kind: fakehub.Stall, At: 500_000, On: "storage"})
	c := f.client(nil)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := c.Pull(ctx, hub.Ref{Repo: "o/m"}, hub.PullOptions{Progress: func(p hub.Progress) {
		if p.Done > 0 {
			cancel()
		}
	}})
	wantError(t, err, context.Canceled)
	found, err := filepath.Glob(filepath.Join(f.cache, "models--o--m", "blobs", "*.incomplete"))
	if err != nil || len(found) != 1 {
		t.Errorf("the cache has %v, %v", found, err)
	}
	if _, err := os.Stat(filepath.Join(f.cache, "models--o--m", "snapshots")); err == nil {
		t.Error("the model is shown")
	}
	f.Heal()
	if _, err := c.Pull(t.Context(), hub.Ref{Repo: "o/m"}, hub.PullOptions{}); err != nil {
		t.Error(err)
	}
}

// TestPullTogether: of several pulls of the same model one downloads, the others wait for it.
func TestPullTogether(t *testing.T) {
	f := start(t)
	f.Repo("o/m").Put("m.gguf", model(t, "x", 0, 1<<20))
	f.Fault(fakehub.Fault{Kind: fakehub.Drip, At: 8 << 10, On: "storage"})
	var group sync.WaitGroup
	for range 4 {
		c := f.client(func(c *hub.Config) { c.Sleep = nil })
		group.Go(func() {
			p, err := c.Pull(t.Context(), hub.Ref{Repo: "o/m"}, hub.PullOptions{})
			if err != nil {
				t.Error(err)
			} else if _, err := os.Stat(p.Paths[0]); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	downloads := 0
	for _, r := range f.Requests() {
		if r.Host == "storage" {
			downloads++
		}
	}
	if downloads != 1 {
		t.Errorf("%d downloads", downloads)
	}
}

// TestLivelyDownload: a connection that breaks again and again is no failure while enough comes
// between.
func TestLivelyDownload(t *testing.T) {
	f := start(t)
	data := model(t, "x", 0, 12<<20)
	f.Repo("o/m").Put("m.gguf", data)
	f.Fault(fakehub.Fault{Kind: fakehub.Truncate, At: 1<<20 + 1, On: "storage"})
	p, err := f.client(nil).Pull(t.Context(), hub.Ref{Repo: "o/m"}, hub.PullOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(p.Paths[0]); err != nil || string(text) != string(data) {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	f = start(t)
	f.Repo("o/m").Put("m.gguf", data)
	f.Fault(fakehub.Fault{Kind: fakehub.Truncate, At: 1 << 18, On: "storage"})
	_, err = f.client(nil).Pull(t.Context(), hub.Ref{Repo: "o/m"}, hub.PullOptions{})
	wantError(t, err, io.ErrUnexpectedEOF, "closed the connection before "+
		"everything had come", "(tried 3 times)")
}

// TestSmallFilesAreChecked has files that are not stored as LFS: git's object id names their
// content.
func TestSmallFilesAreChecked(t *testing.T) {
	f := start(t)
	f.Repo("o/m").Put("config.json", []byte(`{"a": 1}`))
	c := f.client(nil)
	r := f.repo(c, "o/m", "")
	f.Fault(fakehub.Fault{Kind: fakehub.Corrupt, At: 3})
	_, err := c.ReadFile(t.Context(), r, r.Files[0], 100)
	wantError(t, err, hub.ErrMismatch, "o/m: config.json: its hash is ",
		"the content was damaged on the way")
	f.Heal()
	f.Fault(fakehub.Fault{Kind: fakehub.Truncate, At: 3, Times: 1})
	if text, err := c.ReadFile(t.Context(), r, r.Files[0], 100); err != nil || len(text) != 8 {
		t.Errorf("read %q, %v", text, err)
	}
	_, err = c.ReadFile(t.Context(), r, hub.File{Name: "none", Size: -1}, 100)
	wantError(t, err, hub.ErrNotFound, "o/m: none: there is no such file at this revision")
}

// TestReader reads pieces in every order.
func TestReader(t *testing.T) {
	f := start(t)
	data := model(t, "x", 0, 3<<20)
	f.Repo("o/m").Put("m.gguf", data)
	c := f.client(nil)
	r := f.repo(c, "o/m", "")
	reader, err := c.Open(t.Context(), r, r.Files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	check := func(off int64, n int) {
		t.Helper()
		got := make([]byte, n)
		m, err := reader.ReadAt(got, off)
		want := data[min(off, int64(len(data))):min(off+int64(n), int64(len(data)))]
		if string(got[:m]) != string(want) || (m < n) != (err == io.EOF) {
			t.Errorf("at %d: %d of %d bytes, %v", off, m, n, err)
		}
	}
	for _, off := range []int64{1 << 20, 0, 1<<20 - 10, 1 << 19, 2 << 20, int64(len(data)) - 5,
		int64(len(data)), 1 << 40} {
		check(off, 100)
		check(off, 1)
	}
	before := reader.BytesRead()
	check(0, 100)
	if reader.BytesRead() != before {
		t.Error("known bytes were read again")
	}
	check(0, len(data)+1)
	if n := reader.BytesRead(); n != int64(len(data)) {
		t.Errorf("%d bytes read of %d", n, len(data))
	}
	if _, err := reader.ReadAt(make([]byte, 1), -1); err == nil {
		t.Error("no error before the start")
	}
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() { check(int64(i)<<17, 1000) })
	}
	group.Wait()
}

// TestReaderAsksAgain: the address of the storage expires, and the Hub gives a new one.
func TestReaderAsksAgain(t *testing.T) {
	f := start(t)
	data := model(t, "x", 0, 3<<20)
	f.Repo("o/m").Put("m.gguf", data)
	c := f.client(nil)
	r := f.repo(c, "o/m", "")
	reader, err := c.Open(t.Context(), r, r.Files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	got := make([]byte, 10)
	for i, off := range []int64{0, 1 << 20, 2 << 20} {
		if i == 1 {
			f.Fault(fakehub.Fault{Kind: fakehub.Status, At: 403, On: "storage", Times: 1})
		}
		if _, err := reader.ReadAt(got, off); err != nil ||
			string(got) != string(data[off:off+10]) {
			t.Errorf("at %d: %v", off, err)
		}
	}
	f.Fault(fakehub.Fault{Kind: fakehub.Status, At: 403, On: "storage"})
	_, err = reader.ReadAt(got, 5<<19)
	wantError(t, err, hub.ErrAccess, "403")
}

// TestReaderOfTheCache reads a file that is in the cache: the Hub is not asked.
func TestReaderOfTheCache(t *testing.T) {
	f := start(t)
	data := model(t, "x", 0, 1<<20)
	f.Repo("o/m").Put("m.gguf", data)
	f.Repo("o/m").Put("a/config.json", []byte("{}"))
	c := f.client(nil)
	if _, err := c.Pull(t.Context(), hub.Ref{Repo: "o/m"}, hub.PullOptions{}); err != nil {
		t.Fatal(err)
	}
	f.Requests()
	offline := f.client(func(c *hub.Config) { c.Offline = true })
	r := f.repo(offline, "o/m", "")
	if len(r.Files) != 1 || r.Files[0].SHA256 == "" || r.Files[0].Size != int64(len(data)) {
		t.Errorf("offline there is %+v", r.Files)
	}
	reader, err := offline.Open(t.Context(), r, r.Files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	got := make([]byte, len(data))
	if _, err := reader.ReadAt(got, 0); err != nil || string(got) != string(data) ||
		reader.BytesRead() != 0 {
		t.Errorf("%v, %d bytes read", err, reader.BytesRead())
	}
	if text, err := offline.ReadFile(t.Context(), r, r.Files[0], 1<<30); err != nil ||
		len(text) != len(data) {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	_, err = offline.ReadFile(t.Context(), r, hub.File{Name: "a/config.json", Size: -1}, 100)
	wantError(t, err, hub.ErrOffline, "a/config.json: not in the cache")
	if asked := f.Requests(); len(asked) > 0 {
		t.Errorf("asked %v", asked)
	}
}
