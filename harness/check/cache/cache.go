// Package cache keeps what was found in templates, so that a second look at one that has not
// changed costs nothing.
//
// # Model
//
// An [Entry] is kept under a [Key], the digest of all that it depends on: the program, the
// template, the options. Nothing is ever found again under another key, so a stale entry is never
// read; [Store.Trim] deletes those that nobody has asked for lately. A store that cannot be read or
// written keeps nothing, and is no error.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package cache

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/report/safefile"
)

// Entry is what was found in the templates of a file.
type Entry struct {
	Results     []rule.Result
	Conclusions []string // in words, such as which template is tool-capable
}

// Key is the digest of what an entry depends on.
type Key [sha256.Size]byte

// KeyOf returns the key of values that can be written as JSON.
func KeyOf(depends ...any) (Key, error) {
	text, err := json.Marshal(depends)
	return sha256.Sum256(text), err
}

// Store keeps entries in the files of a folder. It is safe for concurrent use, also by several
// programs. The zero value keeps nothing.
type Store struct {
	dir string
	now func() time.Time
}

// Open returns the store of a folder, which need not exist; "": one that keeps nothing. The clock
// tells which entries are asked for.
func Open(dir string, now func() time.Time) *Store { return &Store{dir, now} }

const (
	fresh  = 24 * time.Hour      // for so long an entry's file is not marked as asked for again
	unused = 30 * 24 * time.Hour // after this an entry that nobody asked for is deleted
	most   = 16 << 20            // bytes of an entry that is read
)

// Get returns the entry of a key; false where there is none that can be read.
func (s *Store) Get(key Key) (e Entry, ok bool) {
	if s.dir == "" {
		return e, false
	}
	name := s.file(key)
	text, err := os.ReadFile(name)
	if err != nil {
		return e, false
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return e, false
	}
	if json.NewDecoder(io.LimitReader(unzipped, most)).Decode(&e) != nil {
		return Entry{}, false
	}
	if info, err := os.Stat(name); err == nil && s.age(info) > fresh {
		_ = os.Chtimes(name, s.now(), s.now()) // that it is in use is only told to Trim
	}
	return e, true
}

// Put keeps an entry. Where it cannot be written it is not kept.
func (s *Store) Put(key Key, e Entry) {
	if s.dir == "" {
		return
	}
	name := s.file(key)
	if os.MkdirAll(filepath.Dir(name), 0o777) != nil {
		return
	}
	err := safefile.Write(name, func(w io.Writer) error {
		zipped := gzip.NewWriter(w)
		if err := json.NewEncoder(zipped).Encode(e); err != nil {
			return err
		}
		return zipped.Close()
	})
	if err == nil {
		_ = os.Chtimes(name, s.now(), s.now())
	}
}

// Trim deletes the entries that nobody has asked for in thirty days. It looks at most once a day.
func (s *Store) Trim() {
	mark := filepath.Join(s.dir, "trimmed")
	info, err := os.Stat(mark)
	if s.dir == "" || err == nil && s.age(info) < fresh {
		return
	}
	if os.WriteFile(mark, nil, 0o666) != nil {
		return
	}
	_ = os.Chtimes(mark, s.now(), s.now())
	_ = filepath.WalkDir(s.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == mark {
			return nil // what cannot be read stays
		}
		if info, err := d.Info(); err == nil && s.age(info) > unused {
			_ = os.Remove(name)
		}
		return nil
	})
}

// age is how far from now a file was marked: a mark in the future, of a clock that has gone back
// since, is no younger than one as far in the past.
func (s *Store) age(info fs.FileInfo) time.Duration { return s.now().Sub(info.ModTime()).Abs() }

// file is the file of a key.
func (s *Store) file(key Key) string {
	name := hex.EncodeToString(key[:])
	return filepath.Join(s.dir, name[:2], name)
}
