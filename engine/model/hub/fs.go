package hub

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// FS returns the repository as a file system. A file that is read from its start is fetched whole,
// at most 64 MiB, and checked against its etag; ReadAt reads by ranges instead ([Client.Open]), and
// does not check. Reads fail once the context has ended.
func (c *Client) FS(ctx context.Context, r *Repo) fs.FS { return &repoFS{c, ctx, r} }

type repoFS struct {
	c    *Client
	ctx  context.Context // an fs.FS has no other place for it
	repo *Repo
}

// maxWhole is the size of the largest file that is fetched whole.
const maxWhole = 64 << 20

// Open implements [fs.FS].
func (f *repoFS) Open(name string) (fs.File, error) {
	info, err := f.stat("open", name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		entries, err := f.ReadDir(name)
		return &repoDir{info: info, entries: entries}, err
	}
	return &repoFile{fsys: f, info: info}, nil
}

// Stat implements [fs.StatFS].
func (f *repoFS) Stat(name string) (fs.FileInfo, error) {
	info, err := f.stat("stat", name)
	if err != nil {
		return nil, err
	}
	return info, nil
}

// stat finds a file, or a directory: a path with files below it.
func (f *repoFS) stat(op, name string) (repoInfo, error) {
	if !fs.ValidPath(name) {
		return repoInfo{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	if file, ok := f.repo.Find(name); ok {
		if file.Size < 0 {
			var err error
			if file, err = f.c.Stat(f.ctx, f.repo, file); err != nil {
				return repoInfo{}, err
			}
		}
		return repoInfo{File: file}, nil
	}
	if name != "." && len(f.repo.below(name)) == 0 {
		return repoInfo{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return repoInfo{File: File{Name: name}, dir: true}, nil
}

// ReadDir implements [fs.ReadDirFS].
func (f *repoFS) ReadDir(name string) ([]fs.DirEntry, error) {
	info, err := f.stat("readdir", name)
	if err != nil {
		return nil, err
	}
	if !info.dir {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errors.New("not a directory")}
	}
	files, prefix := f.repo.Files, ""
	if name != "." {
		files, prefix = f.repo.below(name), name+"/"
	}
	var entries []fs.DirEntry
	listed := map[string]bool{}
	for _, file := range files {
		first, _, deeper := strings.Cut(file.Name[len(prefix):], "/")
		if listed[first] {
			continue
		}
		listed[first] = true
		if deeper {
			file = File{Name: prefix + first}
		}
		entries = append(entries, repoInfo{File: file, dir: deeper})
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// repoInfo describes a file or a directory, as [fs.FileInfo] and as [fs.DirEntry].
type repoInfo struct {
	File
	dir bool
}

func (i repoInfo) Name() string       { return path.Base(i.File.Name) }
func (i repoInfo) Size() int64        { return i.File.Size }
func (i repoInfo) ModTime() time.Time { return time.Time{} }
func (i repoInfo) IsDir() bool        { return i.dir }
func (i repoInfo) Sys() any           { return i.File }
func (i repoInfo) Type() fs.FileMode  { return i.Mode().Type() }
func (i repoInfo) String() string     { return fs.FormatDirEntry(i) }

func (i repoInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

// Info returns the listing's entry. The size is below zero where the listing gives none.
func (i repoInfo) Info() (fs.FileInfo, error) { return i, nil }

// repoDir is an opened directory.
type repoDir struct {
	info    repoInfo
	entries []fs.DirEntry
}

func (d *repoDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *repoDir) Close() error               { return nil }
func (d *repoDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.File.Name, Err: errors.New("is a directory")}
}

// ReadDir implements [fs.ReadDirFile].
func (d *repoDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(d.entries)
	} else if len(d.entries) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.entries))
	entries := d.entries[:n]
	d.entries = d.entries[n:]
	return entries, nil
}

// repoFile is an opened file. Nothing is fetched before it is read.
type repoFile struct {
	fsys   *repoFS
	info   repoInfo
	whole  *bytes.Reader
	ranges *Reader
}

func (f *repoFile) Stat() (fs.FileInfo, error) { return f.info, nil }

func (f *repoFile) Read(p []byte) (int, error) {
	if f.whole == nil {
		text, err := f.fsys.c.ReadFile(f.fsys.ctx, f.fsys.repo, f.info.File, maxWhole)
		if err != nil {
			return 0, err
		}
		f.whole = bytes.NewReader(text)
	}
	return f.whole.Read(p)
}

// ReadAt implements [io.ReaderAt].
func (f *repoFile) ReadAt(p []byte, off int64) (int, error) {
	if f.ranges == nil {
		var err error
		if f.ranges, err = f.fsys.c.Open(f.fsys.ctx, f.fsys.repo, f.info.File); err != nil {
			return 0, err
		}
	}
	return f.ranges.ReadAt(p, off)
}

func (f *repoFile) Close() error {
	if f.ranges == nil {
		return nil
	}
	return f.ranges.Close()
}
