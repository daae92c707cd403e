package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine/model/patience"
	"github.com/goassay/assay/engine/source"
)

// pageSize is how many repositories a page of a listing has at most.
const pageSize = 500

// Query chooses the repositories of a listing. Those with the most downloads come first.
type Query struct {
	Author string   `json:"author,omitempty"` // the owner; "": everybody
	Tags   []string `json:"tags,omitempty"`   // all of which a repository has, such as "gguf"
}

// check returns why the query cannot be asked.
func (q Query) check() error {
	if q.Author != "" && !validName(q.Author) {
		return fmt.Errorf("%q is not the name of an owner", q.Author)
	}
	for _, tag := range q.Tags {
		if tag == "" || len(tag) > 200 || strings.ContainsFunc(tag, unicodeControl) {
			return fmt.Errorf("%q is not a tag", tag)
		}
	}
	return nil
}

func unicodeControl(r rune) bool { return r < ' ' || r == 0x7f }

// Listed is a repository as a listing has it.
type Listed struct {
	ID, Commit string
	Downloads  int64    // in the last 30 days
	Gated      string   // "": it is not; else "auto" or "manual"
	Base       string   // the repository of the model that it was made from; "": not known
	Files      []string // their paths, sorted
}

// Page is a part of a listing.
type Page struct {
	Repos []Listed
	// LeftOut is how many repositories were left out, since their name is not OWNER/NAME, as those
	// of the Hub's first years, or no commit is named.
	LeftOut int
	Next    string // names the page after it; "": it is the last one
	ETag    string // names its content; "": the Hub names none
	// Unchanged reports that the content is still that of the etag; then Repos and Next are empty.
	Unchanged bool
}

// List returns a page of a listing: the first one, or that which Next of another page names. An
// etag that is not empty is that of the page as it was read before.
func (c *Client) List(ctx context.Context, q Query, next, etag string) (*Page, error) {
	ctx = patience.With(ctx)
	if err := q.check(); err != nil {
		return nil, err
	}
	u := c.endpoint.JoinPath("api", "models")
	if u.RawQuery = next; next == "" {
		u.RawQuery = url.Values{"sort": {"downloads"}, "direction": {"-1"}, "filter": q.Tags,
			"limit":  {strconv.Itoa(pageSize)},
			"expand": {"downloads", "gated", "sha", "siblings", "tags"}}.Encode()
		if q.Author != "" {
			u.RawQuery += "&author=" + url.QueryEscape(q.Author)
		}
	}
	header := http.Header{}
	if etag != "" {
		header.Set("If-None-Match", etag)
	}
	var page *Page
	err := c.retried(ctx, func() (err error) {
		page, err = c.listPage(ctx, u, header)
		return err
	})
	return page, err
}

// listing is the name of the thing in errors.
const listing = "the list of models"

func (c *Client) listPage(ctx context.Context, u *url.URL, header http.Header) (*Page, error) {
	resp, err := c.send(ctx, listing, http.MethodGet, u, header, followHome)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotModified && header.Get("If-None-Match") != "":
		return &Page{Unchanged: true}, nil
	case resp.StatusCode != http.StatusOK:
		return nil, c.statusError(resp, listing, "")
	}
	var answer entries[struct {
		ID        string          `json:"id"`
		SHA       string          `json:"sha"`
		Downloads int64           `json:"downloads"`
		Gated     json.RawMessage `json:"gated"`
		Tags      []string        `json:"tags"`
		Siblings  entries[struct {
			Name string `json:"rfilename"`
		}] `json:"siblings"`
	}]
	if err := c.decode(resp, listing, &answer); err != nil {
		return nil, err
	}
	page := &Page{}
	if page.Next, err = c.nextPage(resp); err != nil {
		return nil, err
	}
	if etag := resp.Header.Get("ETag"); validETag(etag) {
		page.ETag = etag
	}
	for _, a := range answer {
		if !validRepo(a.ID) || !isHex(a.SHA, 40) {
			page.LeftOut++
			continue
		}
		l := Listed{ID: a.ID, Commit: a.SHA, Downloads: max(0, a.Downloads), Gated: gate(a.Gated)}
		for _, tag := range a.Tags {
			if base, is := strings.CutPrefix(tag, "base_model:"); is && l.Base == "" &&
				validRepo(base) {
				l.Base = base
			}
		}
		for _, s := range a.Siblings {
			if validPath(s.Name) {
				l.Files = append(l.Files, s.Name)
			}
		}
		slices.Sort(l.Files)
		page.Repos = append(page.Repos, l)
	}
	return page, nil
}

// maxGate bounds the text of a gate, in bytes; those that the Hub has are "auto" and "manual".
const maxGate = 64

// gate reads the API's "gated": false, or a text.
func gate(value json.RawMessage) string {
	switch text := strings.Trim(string(value), `"`); text {
	case "false", "null":
		return ""
	default:
		return source.Cut(text, maxGate)
	}
}

// validETag reports whether a header is an entity tag that can be sent back. RFC 9110, section
// 8.8.3.
func validETag(etag string) bool {
	text := strings.TrimPrefix(etag, "W/")
	return len(text) > 2 && len(text) < 200 && text[0] == '"' && text[len(text)-1] == '"' &&
		!strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// nextLink is the link to the next page in a Link header. RFC 8288, section 3.
var nextLink = regexp.MustCompile(`<([^>]*)>\s*;[^<]*\brel="?next"?`)

// nextPage returns the query of the next page: it must be of the same list.
func (c *Client) nextPage(resp *http.Response) (string, error) {
	m := nextLink.FindStringSubmatch(strings.Join(resp.Header.Values("Link"), ", "))
	if m == nil {
		return "", nil
	}
	u, err := resp.Request.URL.Parse(m[1])
	if err != nil || !c.home(u) || u.Path != c.path("api", "models") ||
		u.RawQuery == "" || len(u.RawQuery) > 16<<10 {
		return "", c.failf(nil, listing, "%s names a next page that is not of its list: %s",
			resp.Request.URL.Host, plain(m[1]))
	}
	return u.RawQuery, nil
}

// Refresh reads a file of at most so many bytes, of which nothing is known but its name and, where
// it was read before, its etag. text is nil where the etag still names its content. The content is
// checked against the etag that the answer gives, which now is.
func (c *Client) Refresh(ctx context.Context, r *Repo, name, etag string, most int64) (text []byte,
	now string, err error) {
	ctx = patience.With(ctx)
	err = c.retried(ctx, func() (err error) {
		text, now, err = c.refresh(ctx, r, name, etag, most)
		return err
	})
	return text, now, err
}

func (c *Client) refresh(ctx context.Context, r *Repo, name, etag string, most int64) ([]byte,
	string, error) {
	header, what := http.Header{}, r.named(name)
	if etag != "" {
		header.Set("If-None-Match", `"`+etag+`"`)
	}
	resp, err := c.send(ctx, what, http.MethodGet, c.resolve(r, name), header, followHome)
	if err != nil {
		return nil, "", err
	}
	defer func() {
		if resp != nil {
			resp.Body.Close()
		}
	}()
	switch {
	case resp.StatusCode == http.StatusNotModified && etag != "":
		return nil, etag, nil
	case resp.StatusCode != http.StatusOK && resp.StatusCode/100 != 3:
		return nil, "", c.statusError(resp, what, r.ID)
	}
	f, err := c.agree(r, File{Name: name, Size: -1}, resp)
	switch {
	case err != nil:
		return nil, "", err
	case f.etag() == etag:
		return nil, etag, nil
	case f.Size > most:
		return nil, "", c.tooLong(what, f.Size, most)
	}
	if resp.StatusCode != http.StatusOK { // the content is elsewhere
		away, err := c.redirected(what, resp.Request.URL, resp.Header.Get("Location"))
		if err != nil {
			return nil, "", err
		}
		resp.Body.Close()
		if resp, err = c.send(ctx, what, http.MethodGet, away, nil, followAll); err != nil {
			return nil, "", err
		}
		if resp.StatusCode != http.StatusOK {
			return nil, "", c.statusError(resp, what, r.ID)
		}
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err != nil {
		return nil, "", err
	}
	if int64(len(text)) > most {
		return nil, "", c.tooLong(what, int64(len(text)), most)
	}
	return text, f.etag(), c.check(r, f, text)
}
