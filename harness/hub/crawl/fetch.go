package crawl

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/goassay/assay/engine/model/hub"
	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/hub/manifest"
	"github.com/goassay/assay/harness/hub/storage"
	"github.com/goassay/assay/harness/report/safefile"
)

// Fetch brings the templates of a manifest of repositories.
type Fetch struct {
	Client *hub.Client
	List   string // the manifest; all else is written beside it
	// All reads the header of every model file; else that of the one which [hub.Repo.Choose] takes.
	All  bool
	Jobs int            // repositories at a time
	Show func(done int) // called after each repository, from one goroutine at a time; may be nil
}

// Fetched is how it went.
type Fetched struct {
	Repositories int `json:"repositories"`     // in the manifest
	Read         int `json:"read"`             // in this run
	Templates    int `json:"templates"`        // distinct
	Places       int `json:"places"`           // entries of the manifest of templates
	Bare         int `json:"without_template"` // have no template
	Denied       int `json:"denied"`           // may not be read
	Broken       int `json:"broken"`           // have a file that cannot be used, or are gone
	Failed       int `json:"failed"`           // could not be read; another try may help
	// Why is the first failure; nil: there was none.
	Why error `json:"-"`
}

// record is a line of the journal: a repository that was read.
type record struct {
	Where    string `json:"where"`
	Revision string `json:"revision"`
	All      bool   `json:"all,omitempty"`
	Files    []file `json:"files,omitempty"`
	Why      string `json:"why,omitempty"`    // it may not be read, or is gone
	Denied   string `json:"denied,omitempty"` // to whom: "anonymous" or "token"
}

// file is a file that was read.
type file struct {
	Name      string `json:"name"`
	ETag      string `json:"etag"`
	Templates []held `json:"templates,omitempty"`
	Why       string `json:"why,omitempty"` // it cannot be used
}

// key names everything that the templates of a file depend on: its content and, of a Jinja file,
// its name.
func (f *file) key() string {
	if path.Ext(f.Name) == ".jinja" {
		return f.ETag + " " + f.Name
	}
	return f.ETag
}

// held is a template of a file.
type held struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
}

// fetching is a run.
type fetching struct {
	*Fetch
	folder string
	files  storage.Store
	out    *os.File

	mu      sync.Mutex
	records map[string]*record
	lines   int             // of the journal
	known   map[string]file // by [file.key]
	again   []manifest.Entry
	done    Fetched
}

// maxWhy bounds the text of a reason, in bytes.
const maxWhy = 300

// Run reads the repositories that have changed, and writes the manifest of templates. Where some
// could not be read it has those that could, and for the others the templates that were there
// before.
func (f *Fetch) Run(ctx context.Context) (Fetched, error) {
	r := &fetching{Fetch: f, folder: filepath.Dir(f.List), records: map[string]*record{},
		known: map[string]file{}}
	unlock, err := own(r.folder)
	if err != nil {
		return r.done, err
	}
	defer unlock()
	if err := r.open(); err != nil {
		return r.done, err
	}
	defer r.out.Close()
	if err := r.pass(ctx, r.entries); err != nil {
		return r.done, err
	}
	// Those that failed get a second chance at once: most faults pass.
	again := r.again
	r.again, r.done.Failed, r.done.Why = nil, 0, nil
	err = r.pass(ctx, func(take func(manifest.Entry) error) error {
		for _, e := range again {
			if err := take(e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return r.done, err
	}
	return r.done, r.close()
}

// entries hands the entries of the manifest of repositories on.
func (r *fetching) entries(take func(manifest.Entry) error) error {
	f, err := os.Open(r.List)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, _, err = manifest.Read(f, manifest.Repository, take); err != nil {
		err = fmt.Errorf("%s: %w", r.List, err)
	}
	return err
}

// open reads the journal, and opens it to go on. A line that was cut off is removed.
func (r *fetching) open() error {
	name := filepath.Join(r.folder, journal)
	out, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	r.out = out
	in, whole := bufio.NewReader(out), int64(0)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		r.lines++
		var one record
		if err := json.Unmarshal(line, &one); err != nil || one.Where == "" {
			return fmt.Errorf(
				"%s:%d: it is no line of a journal (%v); remove the file, and everything "+
					"is read anew", name, r.lines, err)
		}
		r.note(&one)
		whole += int64(len(line))
	}
	if err := out.Truncate(whole); err != nil {
		return err
	}
	_, err = out.Seek(whole, io.SeekStart)
	return err
}

// note keeps a record in memory.
func (r *fetching) note(one *record) {
	r.records[one.Where] = one
	for _, f := range one.Files {
		r.known[f.key()] = f
	}
}

// pass reads repositories, several at a time.
func (r *fetching) pass(ctx context.Context,
	entries func(take func(manifest.Entry) error) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, r.Jobs))
	err := entries(func(e manifest.Entry) error {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		r.mu.Lock()
		was := r.records[e.Where]
		r.mu.Unlock()
		if r.current(e, was) {
			return nil
		}
		group.Go(func() error { return r.one(ctx, e, was) })
		return nil
	})
	// The group's error is the cause of the other one, where both are there.
	if failed := group.Wait(); failed != nil {
		return failed
	}
	return err
}

// current reports whether a repository was read at its commit.
func (r *fetching) current(e manifest.Entry, was *record) bool {
	return was != nil && was.Revision == e.Revision && (was.All || !r.All) &&
		(was.Denied == "" || was.Denied == r.who())
}

// who is as whom the client asks.
func (r *fetching) who() string {
	if r.Client.Anonymous() {
		return "anonymous"
	}
	return "token"
}

// one reads a repository and notes it. Its error ends the run.
func (r *fetching) one(ctx context.Context, e manifest.Entry, was *record) error {
	now, err := r.read(ctx, e, was)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case errors.Is(err, hub.ErrBudget):
		return err
	case hubError(err) != nil:
		r.again = append(r.again, e)
		if r.done.Failed++; r.done.Why == nil {
			r.done.Why = err
		}
		return nil
	case err != nil:
		return err
	}
	line, err := json.Marshal(now)
	if err == nil {
		_, err = r.out.Write(append(line, '\n')) // in one piece, or it is removed by the next run
	}
	if err != nil {
		return err
	}
	r.lines++
	r.note(now)
	if r.done.Read++; r.Show != nil {
		r.Show(r.done.Read)
	}
	return nil
}

func hubError(err error) *hub.Error {
	var e *hub.Error
	errors.As(err, &e)
	return e
}

// read reads the files of a repository and keeps their templates.
func (r *fetching) read(ctx context.Context, e manifest.Entry, was *record) (*record, error) {
	now := &record{Where: e.Where, Revision: e.Revision, All: r.All}
	if e.Gated != "" && r.Client.Anonymous() {
		now.Denied, now.Why = r.who(), "the repository is gated: a token is required"
		return now, nil
	}
	repo := &hub.Repo{ID: e.Where, Revision: e.Revision, Commit: e.Revision, Gated: e.Gated}
	for _, name := range r.wanted(e) {
		etag := ""
		if was != nil {
			if i := slices.IndexFunc(was.Files,
				func(f file) bool { return f.Name == name }); i >= 0 {
				etag = was.Files[i].ETag
			}
		}
		f, err := r.file(ctx, repo, name, etag)
		switch {
		case errors.Is(err, hub.ErrAccess):
			now.Denied, now.Why = r.who(), source.Cut(err.Error(), maxWhy)
			return now, nil
		case errors.Is(err, hub.ErrNotFound):
			now.Why = source.Cut(err.Error(), maxWhy)
			return now, nil
		case err != nil:
			return nil, err
		}
		now.Files = append(now.Files, f)
	}
	return now, nil
}

// wanted returns the files to read: all that may hold templates, but of model files one.
func (r *fetching) wanted(e manifest.Entry) []string {
	var names, models []string
	listed := &hub.Repo{ID: e.Where}
	for _, name := range modeldir.Sources(e.Files) {
		if modeldir.MaxSize(name) > 0 || r.All {
			names = append(names, name)
			continue
		}
		models = append(models, name)
		listed.Files = append(listed.Files, hub.File{Name: name, Size: -1})
	}
	if len(models) == 0 {
		return names
	}
	chosen := models[0]
	if parts, err := listed.Choose(""); err == nil {
		chosen = parts[0].Name
	}
	return append(names, chosen)
}

// file reads a file, unless its etag is known.
func (r *fetching) file(ctx context.Context, repo *hub.Repo, name, etag string) (file, error) {
	var folder *modeldir.Folder
	now := file{Name: name}
	if most := modeldir.MaxSize(name); most > 0 {
		text, current, err := r.Client.Refresh(ctx, repo, name, etag, most)
		if errors.Is(err, hub.ErrTooLarge) {
			now.Why = source.Cut(err.Error(), maxWhy)
			return now, nil
		}
		if err != nil {
			return now, err
		}
		if now.ETag = current; r.knows(&now) {
			return now, nil
		}
		if folder, err = modeldir.ReadText(name, string(text)); err != nil {
			return r.unusable(now, err)
		}
	} else {
		f, err := r.Client.Stat(ctx, repo, hub.File{Name: name, Size: -1})
		if err != nil {
			return now, err
		}
		now.ETag = f.SHA256
		if now.ETag == "" {
			now.ETag = f.Blob
		}
		if r.knows(&now) {
			return now, nil
		}
		one := *repo
		one.Files = []hub.File{f}
		if folder, err = modeldir.ReadGGUF(r.Client.FS(ctx, &one), name); err != nil {
			return r.unusable(now, err)
		}
	}
	for _, t := range folder.Templates {
		digest, err := manifest.Keep(ctx, &r.files, r.folder, t.Text)
		if err != nil {
			return now, err
		}
		now.Templates = append(now.Templates, held{t.Name, digest})
	}
	return now, nil
}

// knows takes over the facts about a file that is known by its etag.
func (r *fetching) knows(f *file) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, known := r.known[f.key()]
	f.Templates, f.Why = was.Templates, was.Why
	return known
}

// unusable notes the fault of a file, unless it could not be read.
func (r *fetching) unusable(f file, err error) (file, error) {
	if hubError(err) != nil {
		return f, err
	}
	f.Why = source.Cut(err.Error(), maxWhy)
	return f, nil
}

// close writes the manifest of templates, and the journal anew where most of it is out of date.
func (r *fetching) close() error {
	listed := map[string]bool{}
	digests := map[string]bool{}
	err := safefile.Write(filepath.Join(r.folder, Manifest), func(w io.Writer) error {
		return r.entries(func(e manifest.Entry) error {
			listed[e.Where] = true
			r.done.Repositories++
			one := r.records[e.Where]
			if one == nil {
				return nil
			}
			entries := one.entries(e)
			r.count(one, len(entries))
			for _, e := range entries {
				digests[e.Digest] = true
			}
			return manifest.Write(w, entries)
		})
	})
	if r.done.Templates = len(digests); err != nil || r.lines <= 2*len(listed) {
		return err
	}
	return safefile.Write(filepath.Join(r.folder, journal), func(w io.Writer) error {
		out := bufio.NewWriter(w)
		for _, where := range slices.Sorted(maps.Keys(r.records)) {
			if line, err := json.Marshal(r.records[where]); err != nil {
				return err
			} else if listed[where] {
				out.Write(line)
				out.WriteByte('\n')
			}
		}
		return out.Flush()
	})
}

// count counts a repository.
func (r *fetching) count(one *record, places int) {
	r.done.Places += places
	switch {
	case one.Denied != "":
		r.done.Denied++
	case one.Why != "" || slices.ContainsFunc(one.Files, func(f file) bool { return f.Why != "" }):
		r.done.Broken++
	case places == 0:
		r.done.Bare++
	}
}

// entries returns the places of a repository's templates: its own name is that of the template that
// programs take, the first default one; each other text has the file's name after it.
func (one *record) entries(repo manifest.Entry) []manifest.Entry {
	var all []manifest.Entry
	main := -1
	for _, f := range one.Files {
		for _, t := range f.Templates {
			where := repo.Where + "#" + f.Name
			if t.Name != modeldir.Default {
				where += "#" + t.Name
			} else if main < 0 {
				main = len(all)
			}
			all = append(all, manifest.Entry{What: manifest.Template, Where: where,
				Revision: one.Revision, Digest: t.Digest, Downloads: repo.Downloads,
				Base: repo.Base})
		}
	}
	if len(all) == 0 {
		return nil
	}
	first := all[max(main, 0)]
	first.Where = repo.Where
	places := []manifest.Entry{first}
	for _, e := range all {
		if !slices.ContainsFunc(places,
			func(p manifest.Entry) bool { return p.Digest == e.Digest }) {
			e.Downloads = 0 // they are counted for the repository's own
			places = append(places, e)
		}
	}
	return places
}
