//go:build cloud

package storage_test

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goassay/assay/harness/hub/storage"
	"github.com/goassay/assay/harness/testkit/double/storagetest"
)

// The secrets of the tests.
const (
	key     = "AKIATESTKEY"
	secret  = "the-secret-key"
	session = "the-session-token"
	token   = "the-oauth-token"
)

// buckets starts a server, sets the credentials for it, and returns the URLs of a folder in each
// kind of bucket.
func buckets(t *testing.T) (*storagetest.Server, []string) {
	t.Helper()
	s := new(storagetest.Server)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": key,
		"AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": session, "AWS_REGION": "eu-central-1",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CA_BUNDLE": "",
		"GOOGLE_APPLICATION_CREDENTIALS": account(t)} {
		t.Setenv(name, value)
	}
	at := url.QueryEscape(server.URL)
	return s, []string{"s3://bucket/some/folder?use_path_style=true&endpoint=" + at,
		"gs://bucket/some/folder?endpoint=" + at + url.QueryEscape("/storage/v1/")}
}

// account makes the file of a service account, whose tokens come from loopback.
func account(t *testing.T) string {
	t.Helper()
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token": %q, "token_type": "Bearer", "expires_in": 3600}`, token)
	}))
	t.Cleanup(tokens.Close)
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]string{"type": "service_account", "project_id": "p",
		"private_key_id": "1", "client_email": "a@p.example", "token_uri": tokens.URL,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "account.json")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// expected are the credentials that a request for a URL has.
func expected(name string) string {
	if strings.HasPrefix(name, "gs") {
		return "Bearer " + token
	}
	return "Credential=" + key + "/"
}

// TestBuckets demands of objects the behaviour that files in folders have.
func TestBuckets(t *testing.T) {
	s, folders := buckets(t)
	for _, folder := range folders {
		s.Expected = expected(folder)
		exercise(t, folder)
		text := s.Objects()["bucket/some/folder/r/b 1.jsonl"]
		if text != "one" {
			t.Errorf("%s: the object has %q", folder, text)
		}
	}
}

// TestElsewhere has buckets that lead to another host, in every way that HTTP knows: nothing
// arrives there, and no error shows a secret.
func TestElsewhere(t *testing.T) {
	s, folders := buckets(t)
	var stolen atomic.Int64
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stolen.Add(1)
	}))
	defer thief.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		s.Fault = func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, thief.URL+r.URL.Path, status)
			return true
		}
		for _, folder := range folders {
			for what, err := range attempts(t, folder) {
				if err == nil {
					t.Errorf("%s %s: status %d is no error", what, folder, status)
				} else {
					holdNoSecret(t, err)
				}
			}
		}
	}
	if n := stolen.Load(); n != 0 {
		t.Errorf("%d requests arrived at the other host", n)
	}
}

// attempts reads, writes and lists, and returns the errors.
func attempts(t *testing.T, folder string) map[string]error {
	t.Helper()
	ctx, files := t.Context(), new(storage.Store)
	name := storage.Join(folder, "x.jsonl")
	r, read := files.Open(ctx, name)
	if read == nil {
		_, read = io.Copy(io.Discard, r)
		r.Close()
	}
	_, list := files.List(ctx, folder, "")
	return map[string]error{"read": read, "list": list,
		"write": files.Write(ctx, name, func(w io.Writer) error {
			_, err := io.WriteString(w, "x")
			return err
		})}
}

func holdNoSecret(t *testing.T, err error) {
	t.Helper()
	for _, s := range []string{key, secret, session, token, "Authorization", "X-Amz-Signature",
		"PRIVATE KEY"} {
		if strings.Contains(err.Error(), s) {
			t.Errorf("an error shows %s: %v", s, err)
		}
	}
}

// TestFaults demands errors which know whether another try may help.
func TestFaults(t *testing.T) {
	s, folders := buckets(t)
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	for _, folder := range folders {
		for status, again := range map[int]bool{503: true, 403: false} {
			s.Fault = func(w http.ResponseWriter, r *http.Request) bool {
				w.WriteHeader(status)
				return true
			}
			for what, err := range attempts(t, folder) {
				var failed *storage.Error
				if !errors.As(err, &failed) || failed.Again != again {
					t.Errorf("%s at status %d: %v", what, status, err)
				} else {
					holdNoSecret(t, err)
				}
			}
		}
	}
	s.Fault, s.Expected = nil, "nobody"
	for _, folder := range folders {
		for what, err := range attempts(t, folder) {
			var failed *storage.Error
			if !errors.As(err, &failed) || failed.Again {
				t.Errorf("%s without permission: %v", what, err)
			}
		}
	}
	s.Expected = ""
	for _, folder := range folders {
		asked := len(s.Asked())
		for _, err := range attempts(t, folder) {
			var failed *storage.Error
			if err != nil && (!errors.As(err, &failed) || failed.Again) {
				t.Errorf("%s: %v", folder, err)
			}
		}
		if len(s.Asked()) == asked {
			t.Errorf("%s: nothing was asked", folder)
		}
	}
}

// TestWrong demands errors for URLs that cannot be used, which name what is wrong, show no secret
// and ask for nothing.
func TestWrong(t *testing.T) {
	s, folders := buckets(t)
	base, query, _ := strings.Cut(folders[0], "?")
	for name, want := range map[string]string{
		"s3://" + key + ":" + secret + "@bucket/x?" + query: "a URL has no credentials here",
		"s3:///x?" + query:               "the bucket's name is missing",
		base + "/../../x?" + query:       "expected one without",
		base + "//x?" + query:            "expected one without",
		base + "/x#y?" + query:           "a # has no meaning",
		base + "/%zz?" + query:           "invalid URL escape",
		base + "/x?use_path_style=maybe": `use_path_style is "maybe"`,
		base + "/x?secret=" + secret:     "unknown query parameter",
		"gs://bucket/x?region=here":      `the query has "region"`,
		"ftp://bucket/x":                 "no buckets of the kind ftp",
	} {
		_, err := new(storage.Store).Open(t.Context(), name)
		var failed *storage.Error
		if !errors.As(err, &failed) || failed.Again || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
			continue
		}
		holdNoSecret(t, err)
	}
	if asked := s.Asked(); len(asked) > 0 {
		t.Errorf("it was asked for %q", slices.Compact(asked))
	}
}

// TestHostile has servers that lie, flood and dawdle: each ends with an error, in bounded memory,
// time and requests.
func TestHostile(t *testing.T) {
	s, folders := buckets(t)
	t.Setenv("AWS_MAX_ATTEMPTS", "3")
	flood := strings.Repeat("x", 1<<16)
	endless := func(w http.ResponseWriter, text string) {
		for {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
		}
	}
	// listed answers a listing in either protocol, with a mark of the next page.
	listed := func(w http.ResponseWriter, r *http.Request, keys []string, next string) {
		if r.URL.Query().Has("list-type") {
			fmt.Fprintf(w, "<ListBucketResult><IsTruncated>%t</IsTruncated>"+
				"<NextContinuationToken>%s</NextContinuationToken>", next != "", next)
			for _, key := range keys {
				fmt.Fprint(w, "<Contents><Key>")
				xml.EscapeText(w, []byte(key))
				fmt.Fprint(w, "</Key><LastModified>1970-01-01T00:00:00.000Z</LastModified>"+
					"<Size>1</Size></Contents>")
			}
			fmt.Fprint(w, "</ListBucketResult>")
			return
		}
		items := []any{}
		for _, key := range keys {
			items = append(items, map[string]any{"name": key, "updated": "1970-01-01T00:00:00Z"})
		}
		json.NewEncoder(w).Encode(map[string]any{"items": items, "nextPageToken": next})
	}
	pages := 0
	for _, c := range []struct {
		name, what string // what is attempted
		fault      func(w http.ResponseWriter, r *http.Request)
		want       string
	}{
		{"silence before an answer", "read", func(w http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		}, ""},
		{"silence in an answer", "read", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000000")
			io.WriteString(w, flood[:1000])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, ""},
		{"a break without progress", "read", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000000")
			w.Header().Set("Content-Range", "bytes 0-999999/1000000")
			w.Header().Set("X-Goog-Generation", "1")
			if r.Header.Get("Range") != "" {
				w.WriteHeader(http.StatusPartialContent)
			}
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, ""},
		{"a body without an end", "read", func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\nhalf a fi")
				conn.Close()
			}
		}, "does not tell where its answer ends"},
		{"an endless error", "read", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			endless(w, flood)
		}, ""},
		{"an endless error of a listing", "list", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			endless(w, flood)
		}, ""},
		{"an endless listing", "list", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("list-type") {
				io.WriteString(w, "<ListBucketResult>")
				endless(w, strings.Repeat("<Contents/>", 1000))
			}
			io.WriteString(w, `{"items":[{}`)
			endless(w, strings.Repeat(",{}", 1000))
		}, "more than 2 MiB where no content was asked for"},
		{"a page that repeats", "list", func(w http.ResponseWriter, r *http.Request) {
			listed(w, r, []string{"some/folder/a"}, "again")
		}, `a listing has "some/folder/a" twice`},
		{"pages with nothing", "list", func(w http.ResponseWriter, r *http.Request) {
			listed(w, r, nil, "more")
		}, "in 201 answers"},
		{"pages with one key", "list", func(w http.ResponseWriter, r *http.Request) {
			pages++
			listed(w, r, []string{fmt.Sprint("some/folder/", pages)}, "more")
		}, "in 201 answers"},
		{"a key elsewhere", "list", func(w http.ResponseWriter, r *http.Request) {
			listed(w, r, []string{"other/x.jsonl"}, "")
		}, `has "other/x.jsonl"`},
		{"a key further down", "list", func(w http.ResponseWriter, r *http.Request) {
			listed(w, r, []string{"some/folder/../../x.jsonl"}, "")
		}, `has "some/folder/../../x.jsonl"`},
	} {
		for _, folder := range folders {
			t.Run(c.name+" "+folder[:2], func(t *testing.T) {
				asked := len(s.Asked())
				s.Fault = func(w http.ResponseWriter, r *http.Request) bool {
					c.fault(w, r)
					return true
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				files := &storage.Store{Silence: time.Second}
				var err error
				if c.what == "list" {
					_, err = files.List(t.Context(), folder, "")
				} else {
					var r io.ReadCloser
					if r, err = files.Open(t.Context(), storage.Join(folder, "x")); err == nil {
						_, err = io.Copy(io.Discard, r)
						r.Close()
					}
				}
				runtime.ReadMemStats(&after)
				var failed *storage.Error
				if !errors.As(err, &failed) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("it ends with %.300v, want %q", err, c.want)
				} else {
					holdNoSecret(t, err)
				}
				if n := len(s.Asked()) - asked; n > 250 {
					t.Errorf("it took %d requests", n)
				}
				if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 1024 {
					t.Errorf("it took %d MiB", n)
				}
			})
		}
	}
}

// TestCompressed has content in a form that a client could unfold: it comes as it is.
func TestCompressed(t *testing.T) {
	s, folders := buckets(t)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(make([]byte, 10<<20))
	z.Close()
	s.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Length", strconv.Itoa(packed.Len()))
		w.Write(packed.Bytes())
		return true
	}
	for _, folder := range folders {
		r, err := new(storage.Store).Open(t.Context(), storage.Join(folder, "x"))
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, r)
		if r.Close(); n > 1<<20 {
			t.Errorf("%s: %d bytes came of %d (%v)", folder, n, packed.Len(), err)
		}
	}
}
