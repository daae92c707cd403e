package filelock_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/goassay/assay/engine/model/filelock"
)

func TestTry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	first, second := open(), open()
	for range 2 {
		if locked, err := filelock.Try(first); !locked || err != nil {
			t.Skipf("no locks here: %v", err)
		}
	}
	if locked, err := filelock.Try(second); locked || err != nil {
		t.Skipf("locked twice (%v): the system has no locks", err)
	}
	first.Close()
	if locked, err := filelock.Try(second); !locked || err != nil {
		t.Errorf("the lock outlives its file: %v", err)
	}
}
