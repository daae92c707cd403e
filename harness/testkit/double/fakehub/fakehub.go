// Package fakehub is a Hugging Face Hub on loopback, for tests: repositories with revisions, access
// rules, a second host that stores the big files, and every fault that was seen or can be thought
// of.
//
// # Model
//
// [New] starts two servers, the Hub and its storage. [Hub.Repo] makes a repository, [Repo.Put]
// changes a file in it, which makes a new commit that main points to. A file whose name ends in
// ".gguf" or ".safetensors" is stored as LFS: asked for it, the Hub redirects to the storage, with
// a signature in the query. The answers have the fields, headers and codes of the real Hub that
// programs depend on. [Repo.Describe] gives a repository its downloads and tags, by which the Hub
// lists them, and [Hub.Limit] bounds the requests in a time. [Hub.Fault] breaks some or all of
// them; [Hub.Requests] returns the requests, with their headers.
//
// It is no mock of our client: it knows nothing of it, and the huggingface_hub library could fetch
// from it as well.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package fakehub

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goassay/assay/engine/model/gguf"
)

// Hub is a running Hub. It is safe for concurrent use.
type Hub struct {
	hub, storage *httptest.Server
	stalled      chan struct{}
	closed       chan struct{}

	mu       sync.Mutex
	repos    map[string]*Repo
	tokens   []string
	faults   []*Fault
	requests []*noted
	limits   map[string]*limit
	objects  map[string][]byte // in the storage, by digest
	sorted   []*Repo           // as listings have them; nil: to be sorted
}

// Repo is a repository.
type Repo struct {
	hub     *Hub
	id      string
	gated   string // "", "auto", "manual"
	private bool
	granted []string // the tokens that may read it, where not everybody may
	loaded  int64    // downloads
	tags    []string
	refs    map[string]string // branch or tag: commit
	commits map[string]map[string][]byte
}

// noted is a request with the status of its answer, which is known before the client sees any of
// it.
type noted struct {
	Request
	status atomic.Int32
}

// Request is a request that came.
type Request struct {
	Host          string // "hub" or "storage"
	Method        string
	Path          string // with the query
	Range         string
	IfRange       string
	Authorization string
	Agent         string
	Status        int
}

// String returns the request as a line; of the credentials it says only that there were some.
func (r Request) String() string {
	s := fmt.Sprintf("%s %s %s %d", r.Host, r.Method, r.Path, r.Status)
	if r.Range != "" {
		s += " " + r.Range
	}
	if r.IfRange != "" {
		s += " if-range"
	}
	if r.Authorization != "" {
		s += " authorized"
	}
	return s
}

// Fault breaks answers.
type Fault struct {
	Kind Kind
	// a part of the request's "HOST METHOD PATH", such as "storage" or "/api/"; "": all
	On    string
	Times int    // how many answers it breaks; 0: all
	Every int    // of so many answers that fit it breaks the last; 0: each
	At    int    // of bytes into the body, of a status
	Value string // of a header

	seen int
}

// Kind is the kind of a fault.
type Kind string

// The kinds of faults.
const (
	// answers with the status At, and Retry-After: Value unless it is empty
	Status   Kind = "status"
	Limit    Kind = "limit"    // answers 429, with RateLimit: Value
	Truncate Kind = "truncate" // closes the connection after At bytes
	Corrupt  Kind = "corrupt"  // changes the byte at At of the file
	Stall    Kind = "stall"    // says nothing more after At bytes
	Drip     Kind = "drip"     // sends At bytes at a time
	NoRanges Kind = "noranges" // ignores Range
	BadRange Kind = "badrange" // answers with another range than the one asked for
	ETag     Kind = "etag"     // gives Value as the content's ETag
	Size     Kind = "size"     // gives Value as the content's size
	Commit   Kind = "commit"   // gives Value as the commit
	HTML     Kind = "html"     // answers with a page, as a proxy's log-in does
	Redirect Kind = "redirect" // redirects to Value
	Changed  Kind = "changed"  // the storage gives Value as its own ETag
	Echo     Kind = "echo"     // status At, with the request's credentials in the message
)

// New starts a Hub.
func New() *Hub {
	h := &Hub{repos: map[string]*Repo{}, limits: map[string]*limit{},
		objects: map[string][]byte{}, stalled: make(chan struct{}, 100),
		closed: make(chan struct{})}
	h.hub = httptest.NewServer(h.handler("hub", h.serveHub))
	h.storage = httptest.NewServer(h.handler("storage", h.serveStorage))
	return h
}

// Close stops both servers, and lets go of answers that stall.
func (h *Hub) Close() {
	close(h.closed)
	h.hub.Close()
	h.storage.Close()
}

// URL is the endpoint.
func (h *Hub) URL() string { return h.hub.URL }

// StorageURL is the address of the host that stores big files.
func (h *Hub) StorageURL() string { return h.storage.URL }

// Stalled receives whenever an answer begins to stall.
func (h *Hub) Stalled() <-chan struct{} { return h.stalled }

// Token makes a token valid.
func (h *Hub) Token(token string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tokens = append(h.tokens, token)
}

// Fault adds a fault. Of several that fit a request all have their effect.
func (h *Hub) Fault(f Fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults = append(h.faults, &f)
}

// Heal removes all faults.
func (h *Hub) Heal() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults = nil
}

// Requests returns the requests since the last call.
func (h *Hub) Requests() []Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []Request
	for _, r := range h.requests {
		r.Status = int(r.status.Load())
		all = append(all, r.Request)
	}
	h.requests = nil
	return all
}

// Repo returns a repository, which is made where there is none.
func (h *Hub) Repo(id string) *Repo {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, ok := h.repos[id]
	if !ok {
		r = &Repo{hub: h, id: id, refs: map[string]string{},
			commits: map[string]map[string][]byte{}}
		h.repos[id], h.sorted = r, nil
	}
	return r
}

// Describe gives the repository its downloads and its tags.
func (r *Repo) Describe(downloads int64, tags ...string) {
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	r.loaded, r.tags, r.hub.sorted = downloads, tags, nil
}

// Put writes a file, or removes it where data is nil, in a new commit of main, and returns the
// commit.
func (r *Repo) Put(name string, data []byte) string {
	return r.PutAll(map[string][]byte{name: data})
}

// PutAll does the same for several files in one commit.
func (r *Repo) PutAll(changed map[string][]byte) string {
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	files := maps.Clone(r.commits[r.refs["main"]])
	if files == nil {
		files = map[string][]byte{}
	}
	for name, data := range changed {
		if files[name] = data; data == nil {
			delete(files, name)
		} else if lfs(name) {
			r.hub.objects[sum(data)] = data
		}
	}
	h := sha1.New()
	fmt.Fprintln(h, r.id, r.refs["main"])
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintln(h, name, sum(files[name]))
	}
	commit := hex.EncodeToString(h.Sum(nil))
	r.commits[commit], r.refs["main"] = files, commit
	return commit
}

// Tag gives the commit of main a second name, such as a branch, a tag or "refs/pr/1".
func (r *Repo) Tag(name string) {
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	r.refs[name] = r.refs["main"]
}

// Restrict says who may read the repository: gated is "", "auto" or "manual", granted are the
// tokens that were let in.
func (r *Repo) Restrict(gated string, private bool, granted ...string) {
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	r.gated, r.private, r.granted = gated, private, granted
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// blobID is git's object id.
func blobID(data []byte) string {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00%s", len(data), data)
	return hex.EncodeToString(h.Sum(nil))
}

func lfs(name string) bool {
	return strings.HasSuffix(name, ".gguf") || strings.HasSuffix(name, ".safetensors")
}

// handler notes each request, and hands it on with the faults that fit.
func (h *Hub) handler(host string, serve func(*answer, *http.Request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := &answer{ResponseWriter: w, request: r, hub: h,
			noted: &noted{Request: Request{Host: host, Method: r.Method, Path: r.URL.RequestURI(),
				Range: r.Header.Get("Range"), IfRange: r.Header.Get("If-Range"),
				Authorization: r.Header.Get("Authorization"), Agent: r.UserAgent()}}}
		a.noted.status.Store(http.StatusOK)
		line := host + " " + r.Method + " " + r.URL.RequestURI()
		h.mu.Lock()
		h.faults = slices.DeleteFunc(h.faults, func(f *Fault) bool {
			if !strings.Contains(line, f.On) {
				return false
			}
			if f.seen++; f.Every > 0 && f.seen%f.Every != 0 {
				return false
			}
			a.faults = append(a.faults, *f)
			f.Times--
			return f.Times == 0
		})
		h.requests = append(h.requests, a.noted)
		refused := host == "hub" && h.refused(a, r)
		h.mu.Unlock()
		if !refused && !a.broken() {
			serve(a, r)
		}
		if a.file != nil {
			a.content(r, a.file)
		}
	})
}

// serveHub answers the API and the addresses of files.
func (h *Hub) serveHub(w *answer, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/")
	if path == "api/models" {
		h.serveList(w, r.URL.Query())
		return
	}
	if rest, ok := strings.CutPrefix(path, "api/models/"); ok {
		id, revision, found := strings.Cut(rest, "/revision/")
		if !found {
			revision = "main"
		}
		h.serveAPI(w, id, unescape(revision), r.URL.Query())
		return
	}
	id, rest, found := strings.Cut(path, "/resolve/")
	revision, name, _ := strings.Cut(rest, "/")
	if !found {
		w.fail(http.StatusNotFound, "", "Not Found")
		return
	}
	h.serveFile(w, id, unescape(revision), unescape(name))
}

func unescape(s string) string {
	if text, err := url.PathUnescape(s); err == nil {
		return text
	}
	return s
}

// enter finds a repository, or fails as the Hub does where there is none, or none for this token.
func (h *Hub) enter(w *answer, id string) (*Repo, string, bool) {
	token := strings.TrimPrefix(w.request.Header.Get("Authorization"), "Bearer ")
	if token != "" && !slices.Contains(h.tokens, token) {
		w.fail(http.StatusUnauthorized, "", "Invalid credentials in Authorization header")
		return nil, "", false
	}
	repo, ok := h.repos[id]
	if !ok || repo.private && !slices.Contains(repo.granted, token) {
		if token == "" {
			w.fail(http.StatusUnauthorized, "RepoNotFound", "Invalid username or password.")
		} else {
			w.fail(http.StatusNotFound, "RepoNotFound", "Repository not found")
		}
		return nil, "", false
	}
	return repo, token, true
}

func (r *Repo) resolve(revision string) (string, map[string][]byte, bool) {
	if commit, ok := r.refs[revision]; ok {
		revision = commit
	}
	files, ok := r.commits[revision]
	return revision, files, ok
}

func (h *Hub) serveAPI(w *answer, id, revision string, query url.Values) {
	repo, _, ok := h.enter(w, id)
	if !ok {
		return
	}
	commit, files, ok := repo.resolve(revision)
	if !ok {
		w.fail(http.StatusNotFound, "RevisionNotFound", "Invalid rev id: "+revision)
		return
	}
	info := map[string]any{"_id": "0", "id": id}
	if slices.Contains(query["expand"], "gguf") {
		if shown := shown(files); shown != nil {
			info["gguf"] = shown
		}
		w.json(info)
		return
	}
	siblings := []any{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		s := map[string]any{"rfilename": name}
		if query.Get("blobs") == "true" {
			s["size"], s["blobId"] = len(files[name]), blobID(files[name])
			if lfs(name) {
				s["lfs"] = map[string]any{"sha256": w.value(ETag, sum(files[name])),
					"size": len(files[name]), "pointerSize": 135}
				s["blobId"] = blobID([]byte(
					"version https://git-lfs.github.com/spec/v1\noid sha256:" + sum(files[name])))
			}
		}
		siblings = append(siblings, s)
	}
	info["sha"], info["private"], info["siblings"], info["gated"] = w.value(Commit, commit),
		repo.private, siblings, false
	if repo.gated != "" {
		info["gated"] = repo.gated
	}
	w.json(info)
}

// shown is the part of the first model file that the Hub shows: the default template alone.
func shown(files map[string][]byte) map[string]any {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := gguf.Open(bytes.NewReader(files[name]), int64(len(files[name])))
		if err != nil {
			continue
		}
		info, err := f.Info()
		if err != nil {
			continue
		}
		shown := map[string]any{"architecture": info.Architecture,
			"context_length": info.ContextLength, "bos_token": info.BOS.Text,
			"eos_token": info.EOS.Text}
		if t, ok := info.Template(""); ok {
			shown["chat_template"] = t.Text
		}
		return shown
	}
	return nil
}

func (h *Hub) serveFile(w *answer, id, revision, name string) {
	repo, token, ok := h.enter(w, id)
	if !ok {
		return
	}
	if repo.gated != "" && !slices.Contains(repo.granted, token) {
		if token == "" {
			w.fail(http.StatusUnauthorized, "GatedRepo", "Access to model "+id+" is restricted. You must have access to it and be authenticated to access it. Please log in.")
		} else {
			w.fail(http.StatusForbidden, "GatedRepo",
				"Access to model "+id+" is restricted and you are not in the authorized list.")
		}
		return
	}
	commit, files, ok := repo.resolve(revision)
	if !ok {
		w.fail(http.StatusNotFound, "RevisionNotFound", "Invalid rev id: "+revision)
		return
	}
	data, ok := files[name]
	if !ok {
		w.fail(http.StatusNotFound, "EntryNotFound", "Entry not found")
		return
	}
	w.Header().Set("X-Repo-Commit", w.value(Commit, commit))
	if !lfs(name) {
		w.Header().Set("ETag", `"`+w.value(ETag, blobID(data))+`"`)
		w.file = data
		return
	}
	w.Header().Set("X-Linked-Size", w.value(Size, strconv.Itoa(len(data))))
	w.Header().Set("X-Linked-Etag", `"`+w.value(ETag, sum(data))+`"`)
	w.Header().Set("Location", h.storage.URL+"/"+sum(data)+"?Signature=abc&Expires=1")
	w.WriteHeader(http.StatusFound)
}

// serveStorage answers for the host that stores big files. It demands the signature, and no
// credentials.
func (h *Hub) serveStorage(w *answer, r *http.Request) {
	if r.URL.Query().Get("Signature") == "" {
		w.fail(http.StatusForbidden, "", "no signature")
		return
	}
	if r.Header.Get("Authorization") != "" {
		w.fail(http.StatusBadRequest, "", "only one way to authorize is allowed")
		return
	}
	h.mu.Lock()
	found := h.objects[strings.TrimPrefix(r.URL.Path, "/")]
	h.mu.Unlock()
	if found == nil {
		w.fail(http.StatusNotFound, "", "no such object")
		return
	}
	w.Header().Set("ETag", `"`+w.value(Changed, "multipart-"+sum(found)[:16])+`"`)
	w.file = found
}

// answer is a response with faults.
type answer struct {
	http.ResponseWriter
	request *http.Request
	hub     *Hub
	faults  []Fault
	file    []byte // the content to send once the Hub is unlocked
	noted   *noted
	written int
}

// find returns the fault of a kind.
func (a *answer) find(kind Kind) (Fault, bool) {
	for _, f := range a.faults {
		if f.Kind == kind {
			return f, true
		}
	}
	return Fault{}, false
}

// value is a value, or the wrong one of a fault.
func (a *answer) value(kind Kind, v string) string {
	if f, ok := a.find(kind); ok {
		return f.Value
	}
	return v
}

// broken answers in place of the server where a fault says so.
func (a *answer) broken() bool {
	if f, ok := a.find(Status); ok {
		if f.Value != "" {
			a.Header().Set("Retry-After", f.Value)
		}
		a.fail(f.At, "", "")
		return true
	}
	if f, ok := a.find(Limit); ok {
		a.Header().Set("RateLimit", f.Value)
		a.fail(http.StatusTooManyRequests, "", "")
		return true
	}
	if f, ok := a.find(Echo); ok {
		a.fail(f.At, "", "you sent "+a.request.Header.Get("Authorization"))
		return true
	}
	if _, ok := a.find(HTML); ok {
		a.Header().Set("Content-Type", "text/html")
		fmt.Fprint(a, "<!doctype html><title>Log in</title>")
		return true
	}
	if f, ok := a.find(Redirect); ok {
		a.Header().Set("Location", f.Value)
		a.WriteHeader(http.StatusFound)
		return true
	}
	return false
}

func (a *answer) fail(status int, code, message string) {
	if code != "" {
		a.Header().Set("X-Error-Code", code)
	}
	if message != "" {
		a.Header().Set("X-Error-Message", message)
	}
	a.WriteHeader(status)
}

func (a *answer) json(v any) {
	a.Header().Set("Content-Type", "application/json; charset=utf-8")
	json.NewEncoder(a).Encode(v)
}

// content sends a file, or the range of it that was asked for.
func (a *answer) content(r *http.Request, data []byte) {
	if f, ok := a.find(Corrupt); ok && f.At < len(data) {
		data = bytes.Clone(data)
		data[f.At] ^= 0xff
	}
	if _, ok := a.find(NoRanges); ok {
		r = r.Clone(r.Context())
		r.Header.Del("Range")
	}
	if _, ok := a.find(BadRange); ok && r.Header.Get("Range") != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Range", "bytes=1-2")
	}
	http.ServeContent(a, r, "", time.Time{}, bytes.NewReader(data))
}

func (a *answer) WriteHeader(status int) {
	a.noted.status.Store(int32(status))
	a.ResponseWriter.WriteHeader(status)
}

// Write sends the body up to where a fault ends it.
func (a *answer) Write(p []byte) (int, error) {
	stop, stall := -1, false
	if f, ok := a.find(Truncate); ok {
		stop = f.At
	}
	if f, ok := a.find(Stall); ok {
		stop, stall = f.At, true
	}
	end := len(p)
	if stop >= 0 && a.written+end > stop {
		end = stop - a.written
	}
	for done := 0; done < end; {
		n := end - done
		if f, ok := a.find(Drip); ok {
			n = min(n, f.At)
		}
		sent, err := a.ResponseWriter.Write(p[done : done+n])
		done, a.written = done+sent, a.written+sent
		if err != nil {
			return done, err
		}
		http.NewResponseController(a.ResponseWriter).Flush()
	}
	if end == len(p) {
		return end, nil
	}
	if stall {
		a.hub.stalled <- struct{}{}
		select {
		case <-a.request.Context().Done():
		case <-a.hub.closed:
		}
	}
	panic(http.ErrAbortHandler) // closes the connection
}
