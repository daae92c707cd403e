// Package crawl lists the repositories of the Hub and brings their chat templates, and nothing
// else, into a folder.
//
// # Model
//
// A folder has everything:
//
//	repositories.jsonl    a manifest of the repositories that a query finds
//	listing/NNNNN.json    the pages that it is made of
//	fetched.jsonl         the journal: a line for each repository that was read
//	templates/            the templates, each once, under its digest
//	manifest.jsonl        a manifest of the templates, for a survey
//
// A [Listing] asks for the first, a [Fetch] for the rest. Both can be ended at any time, and go on
// where they stopped: a page is a file that appears when it is whole, a line of the journal is
// written once the templates of its repository are there. Everything that was read stays known by
// the names that the Hub gives to content: a page that has not changed is not sent again, a
// repository at the same commit is not asked for, a file with a known etag is not read.
//
// # Politeness
//
// Requests are as few as can be: the listing names the files, so that a repository costs a request
// for each file that may hold templates, and of a model file's content only the header is read. The
// client heeds the rates that the Hub announces (package hub).
//
// # Errors
//
// A repository that cannot be read for good (access, a broken file) is a line of the journal with
// the reason. One that another try may read is counted in [Fetched.Failed].
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package crawl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/goassay/assay/engine/model/filelock"
	"github.com/goassay/assay/engine/model/hub"
	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/harness/hub/manifest"
	"github.com/goassay/assay/harness/report/safefile"
)

// The files of a folder.
const (
	Repositories = "repositories.jsonl"
	Manifest     = "manifest.jsonl"
	listing      = "listing"
	journal      = "fetched.jsonl"
)

// The limits.
const (
	maxPages = 20_000   // of a listing
	maxNames = 32 << 10 // bytes of the names of a repository's files that are noted
)

// Listing asks for the repositories that a query finds.
type Listing struct {
	Client *hub.Client
	Folder string
	Query  hub.Query
	Most   int             // repositories; 0: all
	Show   func(found int) // called after each page; may be nil
}

// Listed is how a listing went.
type Listed struct {
	Found     int `json:"repositories"`
	LeftOut   int `json:"left_out"` // those whose name or commit cannot be used
	Pages     int `json:"pages"`
	Unchanged int `json:"unchanged"` // pages that were as they had been
	Resumed   int `json:"resumed"`   // pages that an earlier run which was ended had asked for
}

// round is a listing from its first page to its last.
type round struct {
	Query hub.Query `json:"query"`
	Most  int       `json:"most,omitempty"`
	Round int       `json:"round"`
	Whole bool      `json:"whole"` // the round has ended
}

// page is a page in the folder.
type page struct {
	Round   int              `json:"round"` // in which it was asked for
	Asked   string           `json:"asked"` // its name; "" is the first
	Next    string           `json:"next,omitempty"`
	ETag    string           `json:"etag,omitempty"`
	LeftOut int              `json:"left_out,omitempty"`
	Entries []manifest.Entry `json:"entries"`
}

// Run asks for the pages that are not there, and writes the manifest of repositories. A listing
// that has ended is begun anew.
func (l *Listing) Run(ctx context.Context) (Listed, error) {
	unlock, err := own(l.Folder)
	if err != nil {
		return Listed{}, err
	}
	defer unlock()
	state := round{Query: l.Query, Most: l.Most, Round: 1}
	var before round
	switch err := readJSON(l.path("round"), &before); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return Listed{}, err
	case !slices.Equal(before.Query.Tags, l.Query.Tags) || before.Query.Author != l.Query.Author ||
		before.Most != l.Most:
		return Listed{},
			fmt.Errorf("%s has the list of another query; name another folder, or remove "+
				"%s", l.Folder, filepath.Join(l.Folder, listing))
	default:
		if state = before; state.Whole {
			state.Round, state.Whole = state.Round+1, false
		}
	}
	if err := writeJSON(l.path("round"), state); err != nil {
		return Listed{}, err
	}
	var done Listed
	for next := ""; ; {
		p, err := l.page(ctx, done.Pages, state.Round, next, &done)
		if err != nil {
			return done, err
		}
		done.Pages++
		done.Found += len(p.Entries)
		if l.Show != nil {
			l.Show(done.Found)
		}
		if next = p.Next; next == "" || l.Most > 0 && done.Found >= l.Most {
			break
		}
		if done.Pages == maxPages {
			return done, fmt.Errorf("the list has more than %d pages", maxPages)
		}
	}
	if err := l.join(&done); err != nil {
		return done, err
	}
	for n := done.Pages; os.Remove(l.number(n)) == nil; n++ { // of a longer round before
	}
	state.Whole = true
	return done, writeJSON(l.path("round"), state)
}

func (l *Listing) path(name string) string {
	return filepath.Join(l.Folder, listing, name+".json")
}

func (l *Listing) number(n int) string { return l.path(fmt.Sprintf("%05d", n+1)) }

// page returns a page, the folder's where it is of this round.
func (l *Listing) page(ctx context.Context, n, round int, asked string,
	done *Listed) (page, error) {
	var p page
	err := readJSON(l.number(n), &p)
	switch {
	case err == nil && p.Round == round && p.Asked == asked:
		done.Resumed++
		return p, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist), p.Asked != asked:
		p = page{}
	}
	got, err := l.Client.List(ctx, l.Query, asked, p.ETag)
	if err != nil {
		return p, err
	}
	if got.Unchanged {
		done.Unchanged++
	} else {
		p = page{Asked: asked, Next: got.Next, ETag: got.ETag, LeftOut: got.LeftOut}
		for _, r := range got.Repos {
			p.Entries = append(p.Entries, manifest.Entry{What: manifest.Repository, Where: r.ID,
				Revision: r.Commit, Downloads: r.Downloads, Base: r.Base, Gated: r.Gated,
				Files: noted(r.Files)})
		}
	}
	p.Round = round
	return p, writeJSON(l.number(n), p)
}

// noted returns the names of files that may hold templates, within maxNames.
func noted(names []string) []string {
	names = modeldir.Sources(names)
	size := 0
	for i, name := range names {
		if size += len(name); size > maxNames {
			return names[:i]
		}
	}
	return names
}

// join writes the manifest of the pages. A repository that moved while they were asked for is on
// two of them, and stays where it is first.
func (l *Listing) join(done *Listed) error {
	seen := map[string]bool{}
	done.Found, done.LeftOut = 0, 0
	return safefile.Write(filepath.Join(l.Folder, Repositories), func(w io.Writer) error {
		for n := range done.Pages {
			var p page
			if err := readJSON(l.number(n), &p); err != nil {
				return err
			}
			done.LeftOut += p.LeftOut
			p.Entries = slices.DeleteFunc(p.Entries, func(e manifest.Entry) bool {
				full := l.Most > 0 && done.Found == l.Most
				if seen[e.Where] || full {
					return true
				}
				seen[e.Where] = true
				done.Found++
				return false
			})
			if err := manifest.Write(w, p.Entries); err != nil {
				return err
			}
		}
		return nil
	})
}

// own keeps other processes out of a folder, which is made, and removes the files that one which
// was killed had begun.
func own(folder string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Join(folder, listing), 0o777); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(folder, listing, "lock"), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	locked, err := filelock.Try(f)
	if err == nil && !locked {
		err = fmt.Errorf("another process works in %s", folder)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	for _, begun := range []string{"*.new", listing + "/*.new", "templates/*.new"} {
		names, err := filepath.Glob(filepath.Join(folder, filepath.FromSlash(begun)))
		for _, name := range names {
			err = errors.Join(err, os.Remove(name))
		}
		if err != nil {
			f.Close()
			return nil, err
		}
	}
	return func() { f.Close() }, nil
}

func readJSON(name string, to any) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func writeJSON(name string, v any) error {
	return safefile.Write(name, func(w io.Writer) error {
		out := json.NewEncoder(w)
		out.SetEscapeHTML(false)
		return out.Encode(v)
	})
}
