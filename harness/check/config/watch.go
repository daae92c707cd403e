package config

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// pause is how long [Watch] waits between two looks at the files.
const pause = 300 * time.Millisecond

// Watch runs a function, and again each time a file has changed: one of those named, or in a folder
// of them, or one of settings above. It returns when the context is done. It asks for the files'
// times, since that works on every file system and with every way in which an editor saves.
func Watch(ctx context.Context, names []string, run func()) error {
	for {
		was := times(names)
		for run(); times(names) == was; {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(pause):
			}
		}
	}
}

// times lists files with their sizes and times.
func times(names []string) string {
	var all strings.Builder
	note := func(path string, info fs.FileInfo, err error) {
		if err == nil && !info.IsDir() {
			fmt.Fprintln(&all, path, info.Size(), info.ModTime().UnixNano())
		}
	}
	for _, name := range names {
		filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil // it is gone, or nobody may read it
			case d.IsDir() && path != name && strings.HasPrefix(d.Name(), "."):
				return fs.SkipDir
			}
			info, err := d.Info()
			note(path, info, err)
			return nil
		})
		abs, err := filepath.Abs(name)
		for dir := filepath.Dir(abs); err == nil; dir = filepath.Dir(dir) {
			for _, file := range []string{FileName, Pyproject} {
				path := filepath.Join(dir, file)
				info, err := os.Stat(path)
				note(path, info, err)
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return all.String()
}
