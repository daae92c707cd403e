package hub

import (
	"context"
	"errors"
	"fmt"

	"github.com/goassay/assay/engine/model/patience"
)

// PullOptions are the callbacks and the lock of a pull. The functions may be nil.
type PullOptions struct {
	// Judge is the gate: it looks at the model, or its first part, before it is in a snapshot of
	// the cache. An error rejects it.
	Judge func(path string) error
	// Hint looks at the template that the Hub shows, before the download. Its error becomes a
	// warning, never a verdict (M1).
	Hint     func(Hint) error
	Progress func(Progress)
	Warn     func(string)
	// Lock lists exactly the files to pull; nil: whatever the reference names.
	Lock *Lock
}

// Pulled is a model in the cache.
type Pulled struct {
	Repo   *Repo
	Files  []File   // the parts in order
	Paths  []string // where they are, in the same order
	Cached bool     // all files were there before
	Lock   *Lock    // without templates, which the package does not read
}

// Rejected is the error for a model that the gate rejects. It wraps the gate's reason.
type Rejected struct {
	What string
	Path string // where it is
	// Cached reports whether it was in the cache before. Then it stays there; otherwise it is in
	// quarantine.
	Cached bool
	Err    error
}

// Error names the file, the reason and the place.
func (r *Rejected) Error() string {
	where := "it is in quarantine at "
	if r.Cached {
		where = "it was in the cache before, and stays at "
	}
	return fmt.Sprintf("%s: rejected: %v; %s%s", r.What, r.Err, where, r.Path)
}

// Unwrap returns the gate's reason.
func (r *Rejected) Unwrap() error { return r.Err }

// Pull brings a model into the cache (M2): it resolves the revision, chooses the files, checks that
// they may be read, downloads the missing ones, checks them against the listing, asks the gate, and
// links them into the snapshot. Of a split model the gate sees the first part before the others are
// downloaded. The error for a rejected model is a [Rejected].
func (c *Client) Pull(ctx context.Context, ref Ref, o PullOptions) (*Pulled, error) {
	ctx = patience.With(ctx)
	p := &puller{Client: c, options: o}
	if o.Progress == nil {
		p.options.Progress = func(Progress) {}
	}
	if o.Warn == nil {
		p.options.Warn = func(string) {}
	}
	if err := p.find(ctx, ref); err != nil {
		return nil, err
	}
	if err := p.admit(ctx); err != nil {
		return nil, err
	}
	if err := p.fetch(ctx); err != nil {
		return nil, err
	}
	return p.show()
}

// puller is a pull under way.
type puller struct {
	*Client
	options PullOptions
	repo    *Repo
	files   []File
	cached  bool   // all files were there before
	checked []bool // the files whose SHA-256 was computed on the way
}

// find resolves the revision and chooses the files. Files of a commit that the cache has need no
// network.
func (p *puller) find(ctx context.Context, ref Ref) (err error) {
	choose := func(r *Repo) ([]File, error) { return r.Choose(ref.File) }
	revision := ref.revision()
	if lock := p.options.Lock; lock != nil {
		ref.Repo, revision = lock.Repository, lock.Commit
		choose = func(r *Repo) ([]File, error) { return lock.promised(p.Client, r) }
	}
	if isHex(revision, 40) && (ref.File != "" || p.options.Lock != nil) {
		if p.repo, err = p.cachedRepo(ref.Repo, revision); err == nil {
			if p.files, err = choose(p.repo); err == nil {
				return nil
			}
		}
	}
	if p.repo, err = p.Repo(ctx, ref.Repo, revision); err == nil {
		p.files, err = choose(p.repo)
	}
	return err
}

// admit checks, before anything is downloaded, that all files may be read, and gives the hint.
func (p *puller) admit(ctx context.Context) (err error) {
	p.cached = true
	for i, f := range p.files {
		if p.cachedPath(p.repo, f) != "" {
			continue
		}
		p.cached = false
		if p.files[i], err = p.Stat(ctx, p.repo, f); err != nil {
			return err
		}
		if p.files[i].Size < 0 {
			return p.failf(nil, p.repo.named(f.Name), "%s gives no length of the file", p.endpoint.Host)
		}
	}
	if p.cached || p.options.Hint == nil {
		return nil
	}
	hint, err := p.Hint(ctx, p.repo)
	if err == nil {
		err = p.options.Hint(hint)
	}
	if err != nil && ctx.Err() == nil {
		p.options.Warn(p.scrub(err.Error()))
	}
	return context.Cause(ctx)
}

// fetch brings the files onto this machine and asks the gate.
func (p *puller) fetch(ctx context.Context) error {
	p.checked = make([]bool, len(p.files))
	for i, f := range p.files {
		if err := p.fetchOne(ctx, i, f); err != nil {
			return err
		}
	}
	return nil
}

func (p *puller) fetchOne(ctx context.Context, i int, f File) error {
	s, err := p.stage(ctx, p.repo, f, p.options.Progress)
	if err != nil {
		return err
	}
	defer s.unlock()
	p.checked[i] = s.place == downloaded && f.SHA256 != ""
	if i == 0 && p.options.Judge != nil {
		if cause := p.options.Judge(s.path); cause != nil {
			return p.reject(f, s, cause)
		}
	}
	return p.keep(p.repo, f, s)
}

// reject moves a rejected file into quarantine, unless it was in the cache before.
func (p *puller) reject(f File, s *staged, cause error) error {
	r := &Rejected{What: p.repo.named(f.Name), Path: s.path, Cached: s.place == inCache, Err: cause}
	if r.Cached {
		return r
	}
	path, err := p.quarantine(p.repo, f, s.path, p.scrub(cause.Error()))
	if err != nil {
		return errors.Join(r, fmt.Errorf("it could not be put into quarantine: %w", err))
	}
	r.Path = path
	return r
}

// show checks the files against the lock, and makes the links and the ref.
func (p *puller) show() (*Pulled, error) {
	done := &Pulled{Repo: p.repo, Files: p.files, Cached: p.cached}
	if lock := p.options.Lock; lock != nil {
		if err := p.fulfils(lock); err != nil {
			return nil, err
		}
	}
	for _, f := range p.files {
		path, err := p.shown(f)
		if err != nil {
			return nil, err
		}
		done.Paths = append(done.Paths, path)
	}
	var err error
	if !p.offline {
		err = p.writeRef(p.repo)
	}
	if err == nil {
		done.Lock, err = lockOf(p.repo, p.files, done.Paths)
	}
	return done, err
}

// shown returns the path of a file in the snapshot; it links the file if it is not there.
func (p *puller) shown(f File) (string, error) {
	path := p.snapshotPath(p.repo.ID, p.repo.Commit, f.Name)
	if p.cachedPath(p.repo, f) == path {
		return path, nil
	}
	return p.link(p.repo, f)
}

// fulfils compares the files on the disk with a lock.
func (p *puller) fulfils(l *Lock) error {
	var differences []string
	for i, f := range p.files {
		path, want, sum := p.cachedPath(p.repo, f), l.Files[i], f.SHA256
		if !p.checked[i] {
			var err error
			if sum, err = fileSum(path); err != nil {
				return err
			}
		}
		if sum != want.SHA256 {
			differences = append(differences, fmt.Sprintf("%s has the SHA-256 %s, locked is %s; "+
				"if the copy at %s is damaged, remove it and try again",
				want.File, sum, want.SHA256, path))
		}
	}
	return l.differs(p.Client, differences)
}
