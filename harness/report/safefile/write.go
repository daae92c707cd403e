// Package safefile opens the files that the listing of a folder names, or a list that others wrote,
// and writes the files that a user names for output.
//
// # Reading
//
// A person who names a pipe on the command line wants it to be read. A pipe in a folder, or a link
// to one, keeps its reader for ever, a device may never end, and both are there only by accident or
// malice: they are errors, before they are opened.
//
// # Writing
//
// A file appears under its name when it is whole: it is written beside it, under a name that nobody
// else has, and renamed. A pipe or a device is written to and stays one. A link is an error, since
// the maker of the folder chose its target; the names that the system itself links, below /dev and
// /proc, are written to.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package safefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Write writes a file. Where write fails, the file that was there under the name stays; its
// permissions stay in any case.
func Write(name string, write func(io.Writer) error) error {
	info, err := os.Lstat(name)
	switch {
	case err == nil && info.Mode()&fs.ModeSymlink != 0 && !ofSystem(name):
		return fmt.Errorf("%s is a link, and might lead anywhere; remove it, or name the file "+
			"that it leads to", name)
	case err == nil && !info.Mode().IsRegular():
		return into(name, write)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	f, err := fresh(name)
	if err != nil {
		return err
	}
	err = write(f)
	if info != nil {
		err = errors.Join(err, f.Chmod(info.Mode().Perm()))
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// Text returns a function that writes a text, for [Write].
func Text(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// into writes to the file that is there: a pipe, a device, a name of the system for one of those or
// for an open file.
func into(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// ofSystem reports whether a name is one of the system's for open files or devices.
func ofSystem(name string) bool {
	path, err := filepath.Abs(name)
	return err == nil && (strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/"))
}

// fresh creates a file beside another one, under a name that was not there.
func fresh(name string) (*os.File, error) {
	for try := 0; ; try++ {
		f, err := os.OpenFile(name+"."+strconv.FormatUint(rand.Uint64(), 36)+".new",
			os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) || try == 100 {
			return f, err
		}
	}
}
