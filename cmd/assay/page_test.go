package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/goassay/assay/harness/serve/pipe"
)

// TestPageHandler asks the server of `assay page`: for its files, with the key and without, and by
// another name of this machine.
func TestPageHandler(t *testing.T) {
	h := pageHandler(pipe.New(t.Context(), pipe.Options{}), "127.0.0.1:1", "the key")
	ask := func(method, host, path, key, body string) (int, string) {
		r := httptest.NewRequest(method, "http://"+host+path, strings.NewReader(body))
		if key != "" {
			r.Header.Set("X-Assay-Key", key)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		text, err := io.ReadAll(w.Result().Body)
		if err != nil {
			t.Fatal(err)
		}
		return w.Code, string(text)
	}
	const host, check = "127.0.0.1:1", `{"op": "check", "template": {"text": "{{ messages[0].content }}"}}`
	for _, c := range []struct {
		method, host, path, key, body string
		code                          int
		want                          string
	}{
		{"GET", host, "/", "", "", http.StatusOK, "<title>Assay: a chat template at work</title>"},
		{"GET", host, "/page.js", "", "", http.StatusOK, "use strict"},
		{"GET", host, "/families.json.gz", "", "", http.StatusOK, "\x1f\x8b"},
		{"GET", host, "/../commands.go", "", "", http.StatusBadRequest, ""},
		{"POST", host, "/ask", "the key", check, http.StatusOK, `"ok":true`},
		{"POST", host, "/ask", "the key", `{"op": "check", "template": {"file": "/etc/passwd"}}`, http.StatusOK, "reads no files"},
		{"POST", host, "/ask", "", check, http.StatusForbidden, "key"},
		{"POST", host, "/ask", "another", check, http.StatusForbidden, "key"},
		{"GET", host, "/ask", "the key", "", http.StatusForbidden, "key"},
		{"POST", "example.com:1", "/ask", "the key", check, http.StatusForbidden, "host"},
		{"GET", "example.com:1", "/", "", "", http.StatusForbidden, "host"},
	} {
		code, text := ask(c.method, c.host, c.path, c.key, c.body)
		if code != c.code && (c.want != "" || code < 400) || !strings.Contains(text, c.want) {
			t.Errorf("%s %s%s with the key %q: %d "+
				"%.200s; want %d, %s", c.method, c.host, c.path, c.key, code, text, c.code, c.want)
		}
	}
}
