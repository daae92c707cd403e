package families

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Open returns the files of a corpus' folder. A link that leads out of the folder is not followed,
// and nothing but files and folders is opened: no pipe, no device.
func Open(dir string) (fs.FS, error) { return openFolder(dir, false) }

// Folder returns the cases of a folder alone, as paths in a file system: its scripts, and those
// that its outputs make with the kinds of the corpus around it, or of the one that is built in. No
// link is followed: who gives a template may give a link beside it, and errors show its first
// words.
func Folder(dir string) (fs.FS, []string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, nil, err
	}
	fsys, err := openFolder(filepath.Dir(dir), true)
	if err != nil {
		return nil, nil, err
	}
	c := &Corpus{FS: fsys, outputs: map[string]*family{}}
	cases, err := c.readCases(filepath.Base(dir))
	return composed{c.FS, c}, cases, err
}

func openFolder(dir string, strict bool) (fs.FS, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return folder{root, root.FS(), strict}, nil
}

// folder opens the files and folders below a folder.
type folder struct {
	root   *os.Root
	fsys   fs.FS
	strict bool // no links
}

var (
	errLink    = errors.New("it is a link, and is not followed")
	errNoPlain = errors.New("it is neither a file nor a folder")
)

// Open implements [fs.FS].
func (f folder) Open(name string) (fs.File, error) {
	stat := f.root.Stat
	if f.strict && name != "." {
		stat = f.root.Lstat
	}
	info, err := stat(filepath.FromSlash(name))
	switch {
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: errLink}
	case !info.IsDir() && !info.Mode().IsRegular():
		return nil, &fs.PathError{Op: "open", Path: name, Err: errNoPlain}
	}
	return f.fsys.Open(name)
}
