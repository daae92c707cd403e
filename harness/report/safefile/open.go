package safefile

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
