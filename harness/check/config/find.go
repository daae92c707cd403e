package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/goassay/assay/engine/source"
)

// Finder finds the settings of files. Its methods may be called from several goroutines.
type Finder struct {
	*Vocabulary
	// Read reads a file by its absolute path; an error that is [fs.ErrNotExist] means that it is
	// not there.
	Read func(file string) ([]byte, error)
	// Name is how messages name a file of an absolute path.
	Name func(file string) string
	// Alone is the file with the settings of everything; "": they are found.
	Alone string
	// Wrong is told of a file with wrong settings, which then has the defaults; nil: that is an
	// error.
	Wrong func(error)

	mu    sync.Mutex
	found map[string]*Settings // by folder
}

// For returns the settings of a file or of a folder: those of the nearest file upwards of it, else
// the defaults. Their paths are relative to the folder of that file.
func (f *Finder) For(name string, isFolder bool) (*Settings, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	if !isFolder {
		abs = filepath.Dir(abs)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.found == nil {
		f.found = map[string]*Settings{}
	}
	if f.Alone == "" {
		return f.upwards(abs)
	}
	if s := f.found[""]; s != nil {
		return s, nil
	}
	file, err := filepath.Abs(f.Alone)
	if err != nil {
		return nil, err
	}
	s, err := f.read(file)
	if err == nil && s == nil {
		err = fmt.Errorf("%s: the file has no settings: there is no such file, or no table "+
			"tool.assay in it", f.Alone)
	}
	f.found[""] = s
	return s, err
}

// upwards finds the settings of a folder.
func (f *Finder) upwards(dir string) (*Settings, error) {
	if s := f.found[dir]; s != nil {
		return s, nil
	}
	for _, name := range []string{FileName, Pyproject} {
		s, err := f.read(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		if s != nil {
			f.found[dir] = s
			return s, nil
		}
	}
	above := filepath.Dir(dir)
	if above == dir {
		return &Settings{}, nil
	}
	s, err := f.upwards(above)
	if err == nil {
		f.found[dir] = s
	}
	return s, err
}

// read reads a file of settings; nil where it is not there, or says nothing of this program.
func (f *Finder) read(file string) (*Settings, error) {
	text, err := f.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s, ok, err := f.Parse(source.New(f.Name(file), strings.TrimPrefix(string(text), "\ufeff")))
	if err != nil && f.Wrong != nil {
		f.Wrong(err)
		return &Settings{}, nil
	}
	if err != nil || !ok {
		return nil, err
	}
	s.Dir = filepath.Dir(file)
	return s, nil
}
