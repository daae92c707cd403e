package hub

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/source"
)

// The kinds of errors.
var (
	ErrAccess   = errors.New("no access")                // a token is missing or not enough
	ErrNotFound = errors.New("not found")                // no such repository, revision or file
	ErrMismatch = errors.New("not what was promised")    // size, hash, etag or a lock differ
	ErrBusy     = errors.New("the Hub is busy")          // rate limit
	ErrBudget   = errors.New("no more requests")         // the caller's bound is reached
	ErrTooLarge = errors.New("too large")                // a file is larger than may be
	ErrOffline  = errors.New("not in the cache")         // and the network is not to be used
	ErrChoice   = errors.New("no single file to choose") // several candidates, or none
)

// Error is a failure, told for people.
type Error struct {
	What   string // the thing that was asked for, such as "OWNER/NAME: FILE"
	Msg    string // the fault, and the remedy
	Status int    // the HTTP status; 0: there was none
	Kind   error  // one of the kinds; may be nil
	Err    error  // the cause; may be nil
	Again  bool   // it was tried several times; later it may work
}

// Error returns the thing that was asked for, a colon and the message.
func (e *Error) Error() string { return e.What + ": " + e.Msg }

// Unwrap returns kind and cause.
func (e *Error) Unwrap() []error {
	return lists.Filter([]error{e.Kind, e.Err}, func(err error) bool { return err != nil })
}

// failf makes an error. Whatever a server said may be in it, so the token is taken out.
func (s site) failf(kind error, what, format string, args ...any) *Error {
	return &Error{What: what, Msg: s.scrub(fmt.Sprintf(format, args...)), Kind: kind}
}

// scrub takes the token out of a text.
func (s site) scrub(text string) string {
	if s.token == "" {
		return text
	}
	return strings.ReplaceAll(text, string(s.token), s.token.hidden())
}

// transient is an error that may not be there the next time.
type transient struct {
	error
	wait time.Duration // below zero: the server did not say
}

func (t *transient) Unwrap() error { return t.error }

// statusError makes an error of an answer that is not the one hoped for (M4): about a repository,
// or one file of it.
func (c *Client) statusError(resp *http.Response, what, repo string) error {
	e := c.failf(nil, what, "%s", c.statusText(resp))
	e.Status = resp.StatusCode
	page := c.page(repo)
	switch code := resp.Header.Get("X-Error-Code"); resp.StatusCode {
	case http.StatusUnauthorized:
		e.Kind = ErrAccess
		switch {
		case code == "GatedRepo":
			e.Msg = c.gatedText(repo, "")
		case c.token != "":
			e.Msg += "; the token is not accepted: it may have expired, or lack the " +
				"permission to read this repository"
		case code != "RepoNotFound" && strings.HasPrefix(what, repo+": "):
			e.Msg += fmt.Sprintf("; a token is required, and the licence must be "+
				"accepted at %s: %s", page, setToken)
		default:
			e.Msg += "; there is no such repository, or it is private: check " +
				"the spelling, or " + setToken
		}
	case http.StatusForbidden:
		e.Kind = ErrAccess
		if code == "GatedRepo" || code == "" {
			e.Msg += fmt.Sprintf("; accept the model's licence at %s with the account of the "+
				"token, and wait where its owner has to agree", page)
			if c.token == "" {
				e.Msg += "; " + setToken
			}
		}
	case http.StatusNotFound:
		e.Kind = ErrNotFound
		switch code {
		case "RevisionNotFound":
			e.Msg = "there is no such revision (404)"
		case "EntryNotFound":
			e.Msg = "there is no such file at this revision (404)"
		default:
			e.Msg += "; check the spelling at " + page
		}
	case http.StatusTooManyRequests:
		e.Kind = ErrBusy
		e.Msg += "; too many requests"
		if c.token == "" {
			e.Msg += ", fewer are allowed without a token"
		}
		return &transient{e, c.retryAfter(resp)}
	case http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &transient{e, c.retryAfter(resp)}
	}
	return e
}

const setToken = "set HF_TOKEN, or log in so that the token file is there"

// gatedText describes how to get into a gated repository. mode is "auto", "manual" or not known.
func (s site) gatedText(repo, mode string) string {
	text := "the model is gated"
	if mode == "manual" {
		text += " and its owner decides on each request"
	}
	text += "; accept its licence at " + s.page(repo)
	if s.token == "" {
		return text + " and " + setToken
	}
	return text + " with the account of the token"
}

// page is where people look at a repository.
func (s site) page(repo string) string { return s.endpoint.JoinPath(repo).String() }

// statusText is the status with the server's message.
func (s site) statusText(resp *http.Response) string {
	text := fmt.Sprintf("%s answered %d %s", resp.Request.URL.Host, resp.StatusCode,
		http.StatusText(resp.StatusCode))
	if said := plain(resp.Header.Get("X-Error-Message")); said != "" {
		text += fmt.Sprintf(" (%s)", said)
	}
	return text
}

// plain makes a short line of a server's message.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	return source.Cut(strings.TrimSuffix(strings.TrimSpace(s), "."), 200)
}
