// Package embedded reads files that are embedded in the program as they are, or compressed.
//
// In the repository the files are text, and `go build` and `go install` embed that. A release is
// built with each of them compressed by gzip in its place (see ci/package), which makes the command
// smaller by a tenth. A file is compressed if it begins with gzip's magic number.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package embedded

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"path"
)

// FS has the files that are stored. A variable of a package that has one of a pointer to its own
// embed.FS is no part of a program that does not use it.
type FS struct{ Stored fs.FS }

// ReadFile returns the text of a file.
func (f FS) ReadFile(name string) ([]byte, error) {
	text, err := fs.ReadFile(f.Stored, name)
	if err != nil || !bytes.HasPrefix(text, []byte("\x1f\x8b")) {
		return text, err
	}
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err == nil {
		text, err = io.ReadAll(r)
	}
	if err != nil {
		return nil, fmt.Errorf("the embedded file %s: %w", name, err)
	}
	return text, nil
}

// Open opens a file, whose text is in memory, or a folder.
func (f FS) Open(name string) (fs.File, error) {
	stored, err := f.Stored.Open(name)
	if err != nil {
		return nil, err
	}
	if list, ok := stored.(fs.ReadDirFile); ok {
		return folder{list, f, name}, nil
	}
	stat, err := stored.Stat()
	text, unread := f.ReadFile(name)
	if err := cmp.Or(unread, err); err != nil {
		return nil, err
	}
	return file{bytes.NewReader(text), info{stat, int64(len(text))}}, nil
}

type file struct {
	*bytes.Reader
	info info
}

func (f file) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f file) Close() error               { return nil }

type info struct {
	fs.FileInfo
	size int64 // of the text
}

func (i info) Size() int64 { return i.size }

type folder struct {
	fs.ReadDirFile
	files FS
	name  string
}

func (f folder) ReadDir(n int) ([]fs.DirEntry, error) {
	entries, err := f.ReadDirFile.ReadDir(n)
	for i, e := range entries {
		entries[i] = entry{e, f.files, path.Join(f.name, e.Name())}
	}
	return entries, err
}

type entry struct {
	fs.DirEntry
	files FS
	path  string
}

func (e entry) Info() (fs.FileInfo, error) { return fs.Stat(e.files, e.path) }
