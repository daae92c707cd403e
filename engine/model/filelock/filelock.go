// Package filelock keeps two programs from writing one file at a time, and makes a write last.
//
// # Model
//
// [Try] takes the lock that flock gives, the one of the huggingface_hub library on the same
// systems. The lock is advisory: a program that does not ask for it does not see it. Where the
// system has no flock, Try does nothing, and its callers must compare the written file afterwards,
// as those of this module do.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package filelock

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// SyncDir makes a rename in a folder last. Not every file system can; one that cannot is no error.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) &&
		!errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("flushing %s: %w", dir, err)
	}
	return nil
}
