package hub_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goassay/assay/engine/model/hub"
	"github.com/goassay/assay/harness/testkit/double/fakehub"
)

// TestList reads a list page by page, by owner and by tag, and again once a page has changed.
func TestList(t *testing.T) {
	f := start(t)
	for i := range 1200 {
		r := f.Repo("o/m" + strings.Repeat("x", i%3) + string(rune('a'+i%26)) + "-" + digits(i))
		r.PutAll(map[string][]byte{"chat_template.jinja": []byte("x"), "b/a": []byte("y")})
		r.Describe(int64(i), "gguf", "base_model:quantized:o/base", "base_model:o/base")
	}
	f.Repo("p/gated").PutAll(map[string][]byte{"a.gguf": []byte("x")})
	f.Repo("p/gated").Restrict("manual", false)
	f.Repo("p/hidden").Restrict("", true)
	f.Repo("gpt2").Describe(1, "gguf")
	c := f.client(nil)
	read := func(q hub.Query) (all []hub.Listed, pages []*hub.Page) {
		for next := ""; ; {
			p, err := c.List(t.Context(), q, next, "")
			if err != nil {
				t.Fatal(err)
			}
			all, pages = append(all, p.Repos...), append(pages, p)
			if next = p.Next; next == "" {
				return all, pages
			}
		}
	}
	all, pages := read(hub.Query{Tags: []string{"gguf"}})
	if len(all) != 1200 || len(pages) != 3 || pages[2].LeftOut != 1 {
		t.Fatalf("%d repositories on %d pages", len(all), len(pages))
	}
	if !slices.IsSortedFunc(all, func(a,
		b hub.Listed) int {
		return int(b.Downloads - a.Downloads)
	}) {
		t.Error("they are not in the order of their downloads")
	}
	if one := all[0]; one.Base != "o/base" || one.Downloads != 1199 || len(one.Commit) != 40 ||
		!slices.Equal(one.Files, []string{"b/a", "chat_template.jinja"}) {
		t.Errorf("the first is %+v", one)
	}
	if all, _ := read(hub.Query{Author: "p"}); len(all) != 1 || all[0].Gated != "manual" {
		t.Errorf("of the owner: %+v", all)
	}
	again, err := c.List(t.Context(), hub.Query{Tags: []string{"gguf"}}, "", pages[0].ETag)
	if err != nil || !again.Unchanged {
		t.Errorf("the first page again: %+v, %v", again, err)
	}
	f.Repo("o/new").Put("a", []byte("a"))
	f.Repo("o/new").Describe(5000, "gguf")
	again, err = c.List(t.Context(), hub.Query{Tags: []string{"gguf"}}, "", pages[0].ETag)
	if err != nil || again.Unchanged || again.Repos[0].ID != "o/new" {
		t.Errorf("the first page once it has changed: %v", err)
	}
	for _, q := range []hub.Query{{Author: "a/b"}, {Tags: []string{""}}, {Tags: []string{"a\nb"}}} {
		if _, err := c.List(t.Context(), q, "", ""); err == nil {
			t.Errorf("%+v is asked", q)
		}
	}
}

func digits(n int) string {
	return fmt.Sprintf("%04d", n)
}

// TestNextPage demands that a list goes on within itself: its pages get the token.
func TestNextPage(t *testing.T) {
	for _, link := range []string{"https://evil.example/api/models?cursor=1",
		"http://hub.example/api/models?cursor=1", "https://hub.example:1/api/models?cursor=1",
		"https://hub.example/o/m/resolve/main/x?cursor=1", "/api/models", "//evil.example/?a=1",
		":"} {
		w := &world{t: t, answers: map[string]string{
			"GET https://hub.example/api/models": "Link: <" + link + ">; rel=\"next\"\n\n[]"}}
		p, err := w.client("https://hub.example", t.TempDir()).List(t.Context(), hub.Query{}, "",
			"")
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %+v, %v", link, p, err)
		}
	}
	w := &world{t: t, answers: map[string]string{"GET https://hub.example/api/models": "Link: " +
		`</x>; rel="prev", </api/models?cursor=2>; rel="next"` + "\n\n[]"}}
	p, err := w.client("https://hub.example", t.TempDir()).List(t.Context(), hub.Query{}, "", "")
	if err != nil || p.Next != "cursor=2" {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestManyEntries has lists with more entries than the API has, which take many times their bytes
// in memory.
func TestManyEntries(t *testing.T) {
	many := strings.Repeat("{},", 200_000) + "{}"
	w := &world{t: t, answers: map[string]string{
		"GET https://hub.example/api/models": "\n\n[" + many + "]",
		"GET https://hub.example/api/models/o/m": "\n\n" + `{"sha": "` + strings.Repeat("a", 40) +
			`", "siblings": [` + many + `]}`,
		"GET https://hub.example/api/models/o/n": "\n\n" + `{"siblings": 7}`,
	}}
	c := w.client("https://hub.example", t.TempDir())
	const want = "more than 200000 entries"
	if _, err := c.List(t.Context(), hub.Query{}, "", ""); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("the list of models: %v", err)
	}
	if _, err := c.Repo(t.Context(), "o/m", ""); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("a model's files: %v", err)
	}
	if _, err := c.Repo(t.Context(), "o/n", ""); err == nil ||
		!strings.Contains(err.Error(), "expected a list, found 7") {
		t.Errorf("no list of files: %v", err)
	}
}

// TestRefresh reads files whose size nobody has told, and again by their etags.
func TestRefresh(t *testing.T) {
	f := start(t)
	f.Repo("o/m").Put("config.json", []byte("small"))
	commit := f.Repo("o/m").Put("big.gguf", []byte("stored elsewhere"))
	repo := &hub.Repo{ID: "o/m", Commit: commit}
	f.Token(secret)
	c := f.client(func(c *hub.Config) { c.Token = secret })
	for name, want := range map[string]string{"config.json": "small",
		"big.gguf": "stored elsewhere"} {
		text, etag, err := c.Refresh(t.Context(), repo, name, "", 100)
		if err != nil || string(text) != want {
			t.Fatalf("%s: %q, %v", name, text, err)
		}
		f.Requests()
		again, same, err := c.Refresh(t.Context(), repo, name, etag, 100)
		if err != nil || again != nil || same != etag {
			t.Errorf("%s again: %q, %s, %v", name, again, same, err)
		}
		for _, r := range f.Requests() {
			if r.Host != "hub" || r.Status == http.StatusOK {
				t.Errorf("%s again: %s", name, r)
			}
		}
		if _, _, err := c.Refresh(t.Context(), repo, name, "", 4); !errors.Is(err,
			hub.ErrTooLarge) {
			t.Errorf("%s, of 4 bytes at most: %v", name, err)
		}
		f.Fault(fakehub.Fault{Kind: fakehub.Corrupt, At: 1})
		if _, _, err := c.Refresh(t.Context(), repo, name, "", 100); !errors.Is(err,
			hub.ErrMismatch) {
			t.Errorf("%s, damaged on the way: %v", name, err)
		}
		f.Heal()
		f.Fault(fakehub.Fault{Kind: fakehub.Truncate, At: 2, Times: 1})
		if text, _, err := c.Refresh(t.Context(), repo, name, "", 100); string(text) != want {
			t.Errorf("%s, cut off at first: %q, %v", name, text, err)
		}
		f.Heal()
		for _, r := range f.Requests() {
			if r.Host != "hub" && r.Authorization != "" {
				t.Errorf("the token was sent away: %s", r)
			}
		}
	}
	if _, _, err := c.Refresh(t.Context(), repo, "none", "", 100); !errors.Is(err,
		hub.ErrNotFound) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// counted is a Hub that announces how many requests it allows.
type counted struct {
	now       time.Time
	header    string // RateLimit
	status    int
	retries   int
	asked     int
	waits     []time.Duration
	forbidden time.Time // until then nothing may be asked
}

func (s *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.asked++; s.now.Before(s.forbidden) {
		return nil, errors.New("asked too early")
	}
	resp := &http.Response{StatusCode: s.status, Header: http.Header{}, Request: r,
		Body: http.NoBody}
	if s.header != "" {
		resp.Header.Set("RateLimit", s.header)
	}
	return resp, nil
}

func (s *counted) client(t *testing.T, rate float64, budget int64) *hub.Client {
	c, err := hub.New(hub.Config{Endpoint: "http://hub.test", Cache: t.TempDir(), Transport: s,
		Rate: rate, Budget: budget, Retries: s.retries, Now: func() time.Time { return s.now },
		Sleep: func(_ context.Context, d time.Duration) error {
			s.now, s.waits = s.now.Add(d), append(s.waits, d)
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestPace demands that a client asks no more than the Hub allows, its caller or its budget.
func TestPace(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ask := func(c *hub.Client) error {
		_, err := c.List(t.Context(), hub.Query{}, "", "")
		return err
	}
	s := &counted{now: start, status: http.StatusNotFound, header: `"api";r=1;t=10`}
	c := s.client(t, 0, 0)
	for range 2 { // the second is the last one that is allowed
		ask(c)
		s.header = ""
	}
	s.forbidden = start.Add(11 * time.Second)
	ask(c)
	if s.asked != 3 || len(s.waits) != 1 || s.now.Before(s.forbidden) {
		t.Errorf("%d requests, waits %v", s.asked, s.waits)
	}

	s = &counted{now: start, status: http.StatusNotFound}
	c = s.client(t, 4, 0)
	for range 9 {
		ask(c)
	}
	if took := s.now.Sub(start); took != 2*time.Second {
		t.Errorf("nine requests at four a second take %v", took)
	}

	s = &counted{now: start, status: http.StatusNotFound}
	c = s.client(t, 0, 3)
	for range 3 {
		if err := ask(c); errors.Is(err, hub.ErrBudget) {
			t.Error(err)
		}
	}
	if err := ask(c); !errors.Is(err, hub.ErrBudget) || s.asked != 3 {
		t.Errorf("beyond the budget: %v after %d requests", err, s.asked)
	}

	// each pause is short enough, and all of them are not
	s = &counted{now: start, status: http.StatusServiceUnavailable, header: `"api";r=0;t=250`,
		retries: 9}
	c = s.client(t, 0, 0)
	err := ask(c)
	if took := s.now.Sub(start); err == nil || took > 15*time.Minute ||
		!strings.Contains(err.Error(), "it is given up") {
		t.Errorf("pauses without an end: %v after %v, %d requests", err, took, s.asked)
	}

	s = &counted{now: start, status: http.StatusNotFound, header: `"api";r=0;t=86400`}
	c = s.client(t, 0, 0)
	ask(c)
	if err := ask(c); !errors.Is(err, hub.ErrBusy) || s.asked != 1 {
		t.Errorf("a day's wait: %v", err)
	}
}
