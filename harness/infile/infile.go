// Package infile opens the files that the listing of a folder names, or a list that others wrote.
//
// A person who names a pipe on the command line wants it to be read. A pipe in a folder, or a link
// to one, keeps its reader for ever, a device may never end, and both are there only by accident or
// malice: they are errors, before they are opened.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package infile

import (
	"errors"
	"io/fs"
	"os"
)

// ErrIrregular is wrapped by the error for a name that is no file's.
var ErrIrregular = errors.New("it is not a regular file")

// Open opens a regular file, or a link to one.
func Open(name string) (*os.File, error) {
	if err := Check(name); err != nil {
		return nil, err
	}
	return os.Open(name)
}

// Check returns why a name is not that of a regular file, or of a link to one.
func Check(name string) error {
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: ErrIrregular}
	}
	return err
}
