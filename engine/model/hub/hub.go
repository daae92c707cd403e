// Package hub fetches models from the Hugging Face Hub, or from anything that speaks its protocol,
// into the cache that other programs share.
//
// # Terminology
//
// A repository has an id, OWNER/NAME, and revisions: branches, tags, commits. A revision is
// resolved to a commit once, and everything after that is asked of the commit, so a branch that
// moves meanwhile changes nothing. A file has an etag, which names its content: the SHA-256 of a
// file in LFS, the git blob id of any other. A gated repository may be seen by everybody and read
// by those who accepted its licence ("auto") or were let in ("manual").
//
// # Model
//
// [FromEnv] reads the settings that every program of the Hub understands; [New] makes a [Client] of
// them. [Client.Repo] lists the files at a revision, and refuses files that cannot be read before
// it fetches anything. [Client.ReadFile] reads a small file, [Client.Open] opens one of any size
// for reading by ranges: the header of a model file takes its own length and at most 600 KB more.
// [Client.FS] makes a file system of both. [Client.Hint] asks for the template that the Hub shows.
// [Client.List] lists the repositories that a [Query] finds, a page at a time, and [Client.Refresh]
// reads a file again that may not have changed. [Client.Pull] is the whole way of M2: choose, check
// access, download, compare, judge, and only then show the file to the world.
//
// # Cache
//
// The layout is that of the huggingface_hub library, so that each finds the files that the other
// has fetched:
//
//	models--OWNER--NAME/refs/REVISION             the commit
//	models--OWNER--NAME/snapshots/COMMIT/FILE     a link to
//	models--OWNER--NAME/blobs/ETAG                the content
//	models--OWNER--NAME/blobs/ETAG.incomplete     its part that has come so far
//	.locks/models--OWNER--NAME/ETAG.lock          held while somebody downloads it
//	models--OWNER--NAME/quarantine/ETAG/FILE      content that was rejected, with FILE.reason.json; not known to other programs
//
// A blob appears whole or not at all: it is downloaded beside its place, compared with the size and
// hash that the Hub promised, judged, flushed and renamed. The links appear when all parts of a
// model are there, the ref last. A download that broke, or was killed, goes on where it stopped;
// the earlier bytes are hashed again.
//
// # Token
//
// The token goes to the scheme, host and port of the endpoint and nowhere else; once a redirect has
// left the endpoint, the rest of the chain is anonymous. It is in no error and no file, and a
// [Token] prints as "[token]". Addresses in errors are without their query, where storage hosts
// carry signatures.
//
// # Pace
//
// The Hub announces how many requests it still allows and until when (RateLimit), or demands a wait
// (429, Retry-After). A client heeds both before its next request. [Config]
// bounds requests besides.
//
// # Limits
//
// The Hub is not trusted: names, commits and etags are checked before they become paths.
//
//	redirects            8
//	answer of the API    16 MiB
//	wait on request      5 minutes     a Retry-After beyond it is an error
//	pause between two    10 minutes    where the Hub allows no more requests for now
//	retries              5             in a row without a MiB of progress
//	silence              30 s          or HF_HUB_DOWNLOAD_TIMEOUT
//	waiting in all       10 minutes    for one thing that is done, and a second for each 16 KiB that come
//	requests in all      200           and one for each 64 KiB that come
//	pieces in all        100,000       in which bytes come, and one for each 512 bytes
//
// # Errors
//
// [Error] gives the request, the answer and the remedy. Its kind is [ErrAccess], [ErrNotFound],
// [ErrMismatch], [ErrBusy], [ErrBudget], [ErrOffline], [ErrChoice] or nil. [Rejected] reports that
// the gate rejected a file, and names its place now.
//
// # Specifications followed
//
// The calls and their answers are those that M2 and M4 need; the cache, the environment and the
// headers those of the huggingface_hub library's documentation ("Understand caching", "Environment
// variables").
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"
)

// DefaultEndpoint is where the Hub is.
const DefaultEndpoint = "https://huggingface.co"

// The limits; see the package's comment.
const (
	maxRedirects   = 8
	maxAnswer      = 16 << 20 // bytes
	maxWait        = 5 * time.Minute
	defaultIdle    = 30 * time.Second
	DefaultRetries = 5
)

// Config says where the Hub and the cache are, and how to wait.
type Config struct {
	Endpoint string // scheme://host[:port][/path]; "": DefaultEndpoint
	Token    Token  // "": requests are anonymous
	Cache    string // the folder that holds models--OWNER--NAME
	Offline  bool   // answer from the cache, use no network
	Agent    string // the User-Agent header; "": "assay"
	// Retries is how often something is tried again in a row without progress; below zero: never.
	Retries int
	// Rate is how many requests may be sent a second; 0: as many as the Hub allows. Budget is how
	// many may be sent in all; 0: any number.
	Rate   float64
	Budget int64
	// Idle is how long a server may be silent; 0: 30 s.
	Idle time.Duration
	// Transport carries the requests; nil: a plain one that uses the proxies of the environment.
	Transport http.RoundTripper
	// Now and Sleep are the clock for waits on request; nil: the real one. Sleep ends early where
	// its context does.
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) error
}

// Token is a secret. It prints as "[token]" in every format.
type Token string

// Format implements [fmt.Formatter].
func (t Token) Format(f fmt.State, _ rune) { fmt.Fprint(f, t.hidden()) }

// MarshalText keeps the token out of JSON.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.hidden()), nil }

func (t Token) hidden() string {
	if t == "" {
		return ""
	}
	return "[token]"
}

// FromEnv reads the environment: HF_ENDPOINT, HF_TOKEN or the file HF_TOKEN_PATH (HF_HOME/token),
// HF_HUB_CACHE (HF_HOME/hub), HF_HUB_OFFLINE, HF_HUB_DOWNLOAD_TIMEOUT in seconds. HF_HOME is
// XDG_CACHE_HOME/huggingface unless it is set, and XDG_CACHE_HOME is ~/.cache.
func FromEnv(getenv func(string) string) (Config, error) {
	c := Config{Endpoint: getenv("HF_ENDPOINT"), Retries: DefaultRetries}
	first := func(names ...string) string {
		for _, name := range names {
			if v := strings.TrimSpace(getenv(name)); v != "" {
				return v
			}
		}
		return ""
	}
	user, err := os.UserHomeDir()
	if err != nil && first("HF_HOME", "XDG_CACHE_HOME") == "" {
		return c, fmt.Errorf("no folder for the cache: %w; set HF_HOME", err)
	}
	folder := func(otherwise string, names ...string) string {
		path := first(names...)
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			return filepath.Join(user, rest)
		} else if path == "" {
			return otherwise
		}
		return path
	}
	home := folder(filepath.Join(folder(filepath.Join(user, ".cache"), "XDG_CACHE_HOME"),
		"huggingface"), "HF_HOME")
	c.Cache = folder(filepath.Join(home, "hub"), "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE")
	switch strings.ToUpper(first("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")) {
	case "1", "ON", "YES", "TRUE":
		c.Offline = true
	}
	if text := first("HF_HUB_DOWNLOAD_TIMEOUT"); text != "" {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || !(seconds > 0 && seconds < 1e6) {
			return c, fmt.Errorf("HF_HUB_DOWNLOAD_TIMEOUT is %q, expected seconds", text)
		}
		c.Idle = time.Duration(seconds * float64(time.Second))
	}
	if c.Token = Token(first("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")); c.Token != "" {
		return c, nil
	}
	text, err := os.ReadFile(folder(filepath.Join(home, "token"), "HF_TOKEN_PATH"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return c, fmt.Errorf("the token file cannot be read: %w", err)
	}
	c.Token = Token(strings.TrimSpace(string(text)))
	return c, nil
}

// Anonymous reports whether requests go without a token.
func (c *Client) Anonymous() bool { return c.token == "" }

// Client talks to a Hub. It is safe for concurrent use.
type Client struct {
	site
	cache
	offline bool
	agent   string
	retries int
	idle    time.Duration
	http    *http.Client
	now     func() time.Time
	sleep   func(context.Context, time.Duration) error
	pace    pace
	border  border
}

// site is a Hub as this machine asks it.
type site struct {
	endpoint *url.URL
	token    Token
}

// New checks the settings and returns a client. It sends nothing.
func New(c Config) (*Client, error) {
	c.Endpoint = cmp.Or(c.Endpoint, DefaultEndpoint)
	u, err := url.Parse(strings.TrimRight(strings.TrimSpace(c.Endpoint), "/"))
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the Hub's address (HF_ENDPOINT) must be https://HOST, without " +
			"user, query or fragment")
	}
	for _, r := range c.Token {
		if r <= ' ' || r >= 0x7f {
			return nil, errors.New("the token (HF_TOKEN or the token file) has a character that " +
				"no token has; it must be one line of printable ASCII")
		}
	}
	if c.Cache == "" {
		return nil, errors.New("no folder for the cache; set HF_HOME")
	}
	dir, err := filepath.Abs(c.Cache)
	if err != nil {
		return nil, err
	}
	if c.Budget < 0 || c.Rate < 0 || c.Rate > 1e6 {
		return nil, errors.New("the rate and the budget of requests must not be negative")
	}
	client := &Client{site: site{u, c.Token}, cache: cache{dir}, offline: c.Offline, agent: c.Agent,
		retries: c.Retries, idle: c.Idle,
		now: c.Now, sleep: c.Sleep, pace: pace{most: c.Budget}, border: border{inside: inside,
			proxy: http.ProxyFromEnvironment}}
	if c.Rate > 0 {
		client.pace.every = time.Duration(float64(time.Second) / c.Rate)
	}
	client.agent = cmp.Or(client.agent, "assay")
	if client.idle <= 0 {
		client.idle = defaultIdle
	}
	if client.now == nil {
		client.now = time.Now
	}
	if client.sleep == nil {
		client.sleep = sleep
	}
	transport := c.Transport
	if transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.DisableCompression = true // lengths and ranges are those of the file
		t.MaxResponseHeaderBytes = 256 << 10
		client.border.guard(t)
		transport = t
	}
	client.http = &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}
	return client, nil
}

// sleep waits by the real clock.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// Ref names a model on the Hub.
type Ref struct {
	Repo     string // OWNER/NAME
	File     string // a file of it, or a quantisation such as Q8_0; "": chosen
	Revision string // a branch, tag or commit; "": main
}

// Scheme begins the name of a model on the Hub where a path could stand as well.
const Scheme = "hf:"

// ParseRef reads OWNER/NAME[:FILE], with or without "hf:" before it.
func ParseRef(text string) (Ref, error) {
	repo, file, found := strings.Cut(strings.TrimPrefix(text, Scheme), ":")
	r := Ref{Repo: repo, File: file}
	if !validRepo(repo) {
		return r, fmt.Errorf("%q: expected OWNER/NAME, optionally followed by :FILE", text)
	}
	if found && !validPath(file) {
		return r, fmt.Errorf("%q: %q is not the name of a file in a repository", text, file)
	}
	return r, nil
}

// String returns "hf:OWNER/NAME[:FILE]".
func (r Ref) String() string {
	s := Scheme + r.Repo
	if r.File != "" {
		s += ":" + r.File
	}
	return s
}

func (r Ref) revision() string {
	if r.Revision == "" {
		return mainRevision
	}
	return r.Revision
}

const mainRevision = "main"

// validRepo reports whether a text is OWNER/NAME, as the Hub allows them: letters, digits, '-', '_'
// and '.', none of the last three at an end, no "--" and no "..".
func validRepo(s string) bool {
	owner, name, found := strings.Cut(s, "/")
	return found && validName(owner) && validName(name)
}

func validName(s string) bool {
	if s == "" || len(s) > 96 || strings.ContainsAny(s[:1]+s[len(s)-1:], "-.") ||
		strings.Contains(s, "--") || strings.Contains(s, "..") {
		return false
	}
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' ||
			r == '_' || r == '.') {
			return false
		}
	}
	return true
}

// validPath reports whether a text is a path that stays below the folder it is joined to, on any
// system: no empty, "." or ".." element, and no character that has a meaning in paths elsewhere, or
// that people could not see.
func validPath(s string) bool {
	if s == "" || len(s) > 1024 {
		return false
	}
	for _, r := range s {
		if !unicode.IsPrint(r) || r == '\\' || r == ':' || r == utf8.RuneError {
			return false
		}
	}
	for element := range strings.SplitSeq(s, "/") {
		if element == "" || element == "." || element == ".." || len(element) > 255 {
			return false
		}
	}
	return true
}

// isHex reports whether a text is n hexadecimal digits, in lower case.
func isHex(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}
