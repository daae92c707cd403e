package hub

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine/model/patience"
)

// Repo is a repository at a commit.
type Repo struct {
	ID       string // OWNER/NAME
	Revision string // the revision that was asked for
	Commit   string // the commit to which it was resolved: 40 hexadecimal digits
	Gated    string // "": it is not; else "auto" or "manual"
	Private  bool
	Files    []File // sorted by name
}

// File is a file in a repository.
type File struct {
	Name   string // the path within the repository, with slashes
	Size   int64  // in bytes; -1: not known
	SHA256 string // of the content, where it is stored as LFS; else ""
	Blob   string // the git blob id, where it is not; else ""
}

// Find returns a file by its name.
func (r *Repo) Find(name string) (File, bool) {
	i, found := slices.BinarySearchFunc(r.Files, name,
		func(f File, name string) int { return strings.Compare(f.Name, name) })
	if !found {
		return File{}, false
	}
	return r.Files[i], true
}

// below returns the files below a folder.
func (r *Repo) below(folder string) []File {
	compare := func(f File, name string) int { return strings.Compare(f.Name, name) }
	first, _ := slices.BinarySearchFunc(r.Files, folder+"/", compare)
	end, _ := slices.BinarySearchFunc(r.Files, folder+string('/'+1), compare)
	return r.Files[first:end]
}

// etag names the content; "": not known.
func (f File) etag() string {
	if f.SHA256 != "" {
		return f.SHA256
	}
	return f.Blob
}

// hash returns a hash whose sum is the etag, once the content is written to it. It is nil where the
// etag is not known.
func (f File) hash() hash.Hash {
	switch {
	case f.SHA256 != "":
		return sha256.New()
	case f.Blob != "":
		h := sha1.New() // git's object id
		fmt.Fprintf(h, "blob %d\x00", f.Size)
		return h
	}
	return nil
}

// named is a file's name with the repository's, for errors.
func (r *Repo) named(name string) string { return r.ID + ": " + name }

// Repo lists the files of a repository at a revision ("": main). A gated or private repository
// without a token is an [ErrAccess]: nothing could be read from it. Offline it lists the cached
// files.
func (c *Client) Repo(ctx context.Context, id, revision string) (*Repo, error) {
	ctx = patience.With(ctx)
	if !validRepo(id) {
		return nil, fmt.Errorf("%q: expected OWNER/NAME", id)
	}
	if revision == "" {
		revision = mainRevision
	}
	if !validPath(revision) {
		return nil, fmt.Errorf("%q is not a revision; expected a branch, a "+
			"tag or a commit", revision)
	}
	if c.offline {
		return c.cachedRepo(id, revision)
	}
	var answer struct {
		SHA      string          `json:"sha"`
		Gated    json.RawMessage `json:"gated"`
		Private  *bool           `json:"private"`
		Siblings entries[struct {
			Name   string `json:"rfilename"`
			Size   *int64 `json:"size"`
			BlobID string `json:"blobId"`
			LFS    *struct {
				SHA256 string `json:"sha256"`
				Size   *int64 `json:"size"`
			} `json:"lfs"`
		}] `json:"siblings"`
	}
	if err := c.api(ctx, id, revision, "blobs=true", &answer); err != nil {
		return nil, err
	}
	r := &Repo{ID: id, Revision: revision, Commit: answer.SHA, Private: answer.Private != nil &&
		*answer.Private}
	if !isHex(r.Commit, 40) {
		return nil, c.failf(nil, id, "%s names no commit for revision %s; is "+
			"HF_ENDPOINT a Hub?", c.endpoint.Host, revision)
	}
	if isHex(revision, 40) && r.Commit != revision {
		return nil, c.failf(ErrMismatch, id, "%s answered about commit %s, "+
			"asked for was %s", c.endpoint.Host, r.Commit, revision)
	}
	r.Gated = gate(answer.Gated)
	if err := c.admitted(r); err != nil {
		return nil, err
	}
	for _, s := range answer.Siblings {
		f := File{Name: s.Name, Size: -1}
		if !validPath(s.Name) {
			return nil, c.failf(nil, id, "the repository lists a file named %q, which is not "+
				"a path within it", plain(s.Name))
		}
		if s.Size != nil && *s.Size >= 0 {
			f.Size = *s.Size
		}
		if s.LFS != nil {
			if s.LFS.Size != nil && *s.LFS.Size >= 0 {
				f.Size = *s.LFS.Size
			}
			if isHex(s.LFS.SHA256, 64) {
				f.SHA256 = s.LFS.SHA256
			}
		} else if isHex(s.BlobID, 40) {
			f.Blob = s.BlobID
		}
		r.Files = append(r.Files, f)
	}
	slices.SortFunc(r.Files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return r, nil
}

// admitted says before anything is fetched that a token is missing (M4).
func (c *Client) admitted(r *Repo) error {
	switch {
	case c.token != "":
	case r.Gated != "":
		return c.failf(ErrAccess, r.ID, "%s", c.gatedText(r.ID, r.Gated))
	case r.Private:
		return c.failf(ErrAccess, r.ID, "the repository is private; %s", setToken)
	}
	return nil
}

// api asks about a repository, until it works or cannot.
func (c *Client) api(ctx context.Context, id, revision, query string, answer any) error {
	return c.retried(ctx, func() error { return c.ask(ctx, id, revision, query, answer) })
}

// ask asks about a repository once. The main revision has an address of its own.
func (c *Client) ask(ctx context.Context, id, revision, query string, answer any) error {
	u := c.endpoint.JoinPath("api", "models", id)
	what := id
	if revision != mainRevision {
		u = c.endpoint.JoinPath("api", "models", id, "revision", url.PathEscape(revision))
		what += " at " + revision
	}
	u.RawQuery = query
	resp, err := c.send(ctx, what, http.MethodGet, u, nil, followAll)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return c.statusError(resp, what, id)
	}
	return c.decode(resp, what, answer)
}

// decode reads the JSON of an answer of the API.
func (c *Client) decode(resp *http.Response, what string, answer any) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return err
	}
	if len(text) > maxAnswer {
		return c.failf(nil, what, "%s answered with "+
			"more than %d MiB", c.endpoint.Host, maxAnswer>>20)
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return c.failf(nil, what, "%s answered with something that is not the API's JSON (%v); "+
			"is HF_ENDPOINT right, or a proxy in the way?", c.endpoint.Host, err)
	}
	return nil
}

// entries is a list of an answer, of at most maxEntries: one of two bytes takes a hundred in
// memory.
type entries[T any] []T

const maxEntries = 200_000

// UnmarshalJSON implements [json.Unmarshaler].
func (l *entries[T]) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	switch begin, err := d.Token(); {
	case err != nil:
		return err
	case begin == nil:
		return nil
	case begin != json.Delim('['):
		return fmt.Errorf("expected a list, found %.20s", text)
	}
	for d.More() {
		if len(*l) == maxEntries {
			return fmt.Errorf("a list has more than %d entries", maxEntries)
		}
		var one T
		if err := d.Decode(&one); err != nil {
			return err
		}
		*l = append(*l, one)
	}
	return nil
}

// Hint is the Hub's own reading of a repository's model files. It shows the default template alone,
// so that it is no verdict (M1).
type Hint struct {
	Template      string // "": the Hub shows none
	BOS, EOS      string
	Architecture  string
	ContextLength int64
}

// Hint asks once for the Hub's reading of a repository's model files. The result is zero where the
// Hub shows nothing, and offline.
func (c *Client) Hint(ctx context.Context, r *Repo) (Hint, error) {
	ctx = patience.With(ctx)
	if c.offline {
		return Hint{}, nil
	}
	var answer struct {
		GGUF struct {
			Template      any    `json:"chat_template"`
			BOS           string `json:"bos_token"`
			EOS           string `json:"eos_token"`
			Architecture  string `json:"architecture"`
			ContextLength int64  `json:"context_length"`
		} `json:"gguf"`
	}
	if err := c.ask(ctx, r.ID, r.Revision, "expand=gguf", &answer); err != nil {
		return Hint{}, err
	}
	g := answer.GGUF
	template, _ := g.Template.(string)
	return Hint{Template: template, BOS: g.BOS, EOS: g.EOS, Architecture: g.Architecture,
		ContextLength: g.ContextLength}, nil
}

// resolve is the address of a file at the commit.
func (s site) resolve(r *Repo, name string) *url.URL {
	elements := []string{r.ID, "resolve", r.Commit}
	for e := range strings.SplitSeq(name, "/") {
		elements = append(elements, url.PathEscape(e))
	}
	return s.endpoint.JoinPath(elements...)
}

// Stat asks for a file's size and etag, and so whether it may be read at all. The answer must agree
// with the listing and with the commit.
func (c *Client) Stat(ctx context.Context, r *Repo, f File) (File, error) {
	ctx = patience.With(ctx)
	if c.offline {
		return f, nil
	}
	err := c.retried(ctx, func() error {
		resp, err := c.send(ctx, r.named(f.Name), http.MethodHead, c.resolve(r, f.Name), nil,
			followHome)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK && resp.StatusCode/100 != 3 {
			return c.statusError(resp, r.named(f.Name), r.ID)
		}
		f, err = c.agree(r, f, resp)
		return err
	})
	return f, err
}

// agree adds the headers' statements about a file to the known ones.
func (c *Client) agree(r *Repo, f File, resp *http.Response) (File, error) {
	differs := func(what, found, want string) error {
		return c.failf(ErrMismatch, r.named(f.Name), "its %s is %s, and the listing says %s; the "+
			"repository may be changing, so try again", what, found, want)
	}
	if commit := resp.Header.Get("X-Repo-Commit"); commit != "" && commit != r.Commit {
		return f, differs("commit", plain(commit), r.Commit)
	}
	size := int64(-1)
	if n, err := strconv.ParseInt(resp.Header.Get("X-Linked-Size"), 10, 64); err == nil && n >= 0 {
		size = n
	} else if resp.StatusCode == http.StatusOK {
		size = resp.ContentLength
	}
	if size >= 0 && f.Size >= 0 && size != f.Size {
		return f, differs("size", fmt.Sprint(size), fmt.Sprint(f.Size))
	}
	f.Size = max(f.Size, size)
	etag := unquote(resp.Header.Get("X-Linked-Etag"))
	if etag == "" && resp.StatusCode == http.StatusOK {
		etag = unquote(resp.Header.Get("ETag"))
	}
	switch known := f.etag(); {
	case etag == "" && known == "":
		return f, c.failf(nil, r.named(f.Name), "%s gives no ETag, so the content "+
			"could not be checked", resp.Request.URL.Host)
	case known != "" && etag != "" && etag != known:
		return f, differs("ETag", plain(etag), known)
	case known != "":
	case isHex(etag, 64):
		f.SHA256 = etag
	case isHex(etag, 40):
		f.Blob = etag
	default:
		return f, c.failf(nil, r.named(f.Name), "its ETag, %q, is neither a SHA-256 nor a git "+
			"blob id, so the content could not be checked", plain(etag))
	}
	return f, nil
}

// unquote takes an ETag out of its quotes. RFC 9110, section 8.8.3.
func unquote(etag string) string {
	return strings.Trim(strings.TrimPrefix(etag, "W/"), `"`)
}

// ReadFile reads a file of at most so many bytes. Its content is checked against the etag where
// that is known.
func (c *Client) ReadFile(ctx context.Context, r *Repo, f File, most int64) ([]byte, error) {
	ctx = patience.With(ctx)
	if f.Size > most {
		return nil, c.tooLong(r.named(f.Name), f.Size, most)
	}
	if local, err := c.openCached(r, f); err != nil || local != nil {
		if err != nil {
			return nil, err
		}
		defer local.Close()
		return io.ReadAll(io.LimitReader(local, most))
	}
	var text []byte
	err := c.retried(ctx, func() error {
		resp, err := c.send(ctx, r.named(f.Name), http.MethodGet, c.resolve(r, f.Name), nil,
			followAll)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return c.statusError(resp, r.named(f.Name), r.ID)
		}
		if text, err = io.ReadAll(io.LimitReader(resp.Body, most+1)); err != nil {
			return err
		}
		if int64(len(text)) > most {
			return c.tooLong(r.named(f.Name), max(resp.ContentLength, most+1), most)
		}
		return c.check(r, f, text)
	})
	return text, err
}

func (c *Client) tooLong(what string, n, most int64) error {
	return c.failf(ErrTooLarge, what, "%d bytes, expected at most %d", n, most)
}

// check compares a whole content with the listing's promise.
func (c *Client) check(r *Repo, f File, text []byte) error {
	if f.Size >= 0 && int64(len(text)) != f.Size {
		return c.failf(ErrMismatch, r.named(f.Name), "%d bytes came, expected %d", len(text),
			f.Size)
	}
	h := f.hash()
	if h == nil || f.Size < 0 {
		return nil
	}
	h.Write(text)
	if sum := hex.EncodeToString(h.Sum(nil)); sum != f.etag() {
		return c.failf(ErrMismatch, r.named(f.Name), "its hash is %s, expected %s: the content "+
			"was damaged on the way", sum, f.etag())
	}
	return nil
}
