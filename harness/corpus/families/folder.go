package families

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Open returns the files of a corpus' folder. A link that leads out of the folder is not followed,
// and nothing but folders and files of at most 64 MiB is opened: no pipe, no device.
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
	errLarge   = errors.New("it has more than 64 MiB")
)

// maxFile bounds the size of a file of a corpus, in bytes.
const maxFile = 64 << 20

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
	case info.Mode().IsRegular() && info.Size() > maxFile:
		return nil, &fs.PathError{Op: "open", Path: name, Err: errLarge}
	}
	return f.fsys.Open(name)
}
