package hub

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// cache is the folder of the cache, in the layout of the package's comment.
type cache struct{ dir string }

// folder is where the cache has a repository.
func (c cache) folder(id string) string {
	return filepath.Join(c.dir, "models--"+strings.ReplaceAll(id, "/", "--"))
}

// The places of the layout; see the package's comment.
func (c cache) blobPath(id, etag string) string {
	return filepath.Join(c.folder(id), "blobs", etag)
}
func (c cache) refPath(id, revision string) string {
	return filepath.Join(c.folder(id), "refs", filepath.FromSlash(revision))
}
func (c cache) snapshotPath(id, commit, name string) string {
	return filepath.Join(c.folder(id), "snapshots", commit, filepath.FromSlash(name))
}

func (c cache) lockPath(id, etag string) string {
	return filepath.Join(c.dir, ".locks", filepath.Base(c.folder(id)), etag+".lock")
}
func (c cache) quarantinePath(id, etag, name string) string {
	return filepath.Join(c.folder(id), "quarantine", etag, filepath.Base(filepath.FromSlash(name)))
}

// cachedPath is where the cache has a file; "": it has not. A file of another size than the Hub
// promised is not that file.
func (c cache) cachedPath(r *Repo, f File) string {
	paths := []string{c.snapshotPath(r.ID, r.Commit, f.Name)}
	if etag := f.etag(); etag != "" {
		paths = append(paths, c.blobPath(r.ID, etag))
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() &&
			(f.Size < 0 || info.Size() == f.Size) {
			return path
		}
	}
	return ""
}

// openCached opens a file of the cache; nil: it is not there.
func (c *Client) openCached(r *Repo, f File) (*os.File, error) {
	path := c.cachedPath(r, f)
	if path == "" {
		if c.offline {
			return nil, c.failf(ErrOffline, r.named(f.Name), "not in the cache at %s",
				c.folder(r.ID))
		}
		return nil, nil
	}
	return os.Open(path)
}

// cachedRepo lists the cached files of a repository at a revision.
func (c *Client) cachedRepo(id, revision string) (*Repo, error) {
	r := &Repo{ID: id, Revision: revision, Commit: revision}
	if !isHex(revision, 40) {
		text, err := os.ReadFile(c.refPath(id, revision))
		if r.Commit = strings.TrimSpace(string(text)); err != nil || !isHex(r.Commit, 40) {
			return nil, c.failf(ErrOffline, id, "the cache at %s does not have revision %s, and "+
				"HF_HUB_OFFLINE keeps the network from being used", c.folder(id), revision)
		}
	}
	root := filepath.Join(c.folder(id), "snapshots", r.Commit)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			return nil // a link to nothing is no file
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		f := File{Name: filepath.ToSlash(name), Size: info.Size()}
		if target, err := os.Readlink(path); err == nil {
			switch etag := filepath.Base(target); {
			case isHex(etag, 64):
				f.SHA256 = etag
			case isHex(etag, 40):
				f.Blob = etag
			}
		}
		r.Files = append(r.Files, f)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, c.failf(ErrOffline, id, "the cache at %s does not have commit %s, and "+
			"HF_HUB_OFFLINE keeps the network from being used", c.folder(id), r.Commit)
	}
	slices.SortFunc(r.Files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return r, err
}
