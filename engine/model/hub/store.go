package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// link shows a blob under its name in the snapshot of the commit.
func (c cache) link(r *Repo, f File) (string, error) {
	path, blob := c.snapshotPath(r.ID, r.Commit, f.Name), c.blobPath(r.ID, f.etag())
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	target, err := filepath.Rel(filepath.Dir(path), blob)
	if err != nil {
		return "", err
	}
	if old, err := os.Readlink(path); err == nil && old == target {
		return path, nil
	}
	if here, err := os.Stat(path); err == nil {
		if there, err := os.Stat(blob); err == nil && os.SameFile(here, there) {
			return path, nil
		}
	}
	fresh := path + ".new"
	os.Remove(fresh)
	if err := os.Symlink(target, fresh); err != nil {
		if err := os.Link(blob, fresh); err != nil { // a system where links need a permission
			return "", fmt.Errorf("neither a symbolic nor a hard link can be made "+
				"in the cache: %w", err)
		}
	}
	return path, os.Rename(fresh, path)
}

// writeRef notes which commit a revision was resolved to.
func (c cache) writeRef(r *Repo) error {
	if r.Revision == r.Commit {
		return nil
	}
	return replaceFile(c.refPath(r.ID, r.Revision), []byte(r.Commit))
}

// replaceFile writes a small file whole or not at all.
func replaceFile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// reason is the note beside a quarantined file.
type reason struct {
	Repository string `json:"repository"`
	Commit     string `json:"commit"`
	File       string `json:"file"`
	Size       int64  `json:"size"`
	ETag       string `json:"etag"`
	Reason     string `json:"reason"`
}

// quarantine moves content to where no program looks for models, with the reason beside it, and
// returns where it is.
func (c cache) quarantine(r *Repo, f File, from, why string) (string, error) {
	path := c.quarantinePath(r.ID, f.etag(), f.Name)
	text, err := json.MarshalIndent(reason{r.ID, r.Commit, f.Name, f.Size, f.etag(), why}, "", "  ")
	if err != nil {
		return "", err
	}
	if err := replaceFile(path+".reason.json", append(text, '\n')); err != nil {
		return "", err
	}
	if from == path {
		return path, nil
	}
	return path, os.Rename(from, path)
}

// release takes content out of quarantine.
func (c cache) release(r *Repo, f File, to string) error {
	path := c.quarantinePath(r.ID, f.etag(), f.Name)
	if err := os.Rename(path, to); err != nil {
		return err
	}
	if err := os.Remove(path + ".reason.json"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	os.Remove(filepath.Dir(path)) // stays if something else is in it
	return nil
}
