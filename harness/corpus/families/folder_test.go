package families_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/goassay/assay/harness/corpus/families"
)

// TestFolder gives a folder links that lead out of it, links within it, and a pipe: a corpus takes
// links within it, the folder of a template none, and neither opens a pipe, which would keep its
// reader.
func TestFolder(t *testing.T) {
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	family := filepath.Join(dir, "a")
	if err := errors.Join(os.Mkdir(family, 0o777),
		os.WriteFile(filepath.Join(family, "plain.txtar"), []byte("gate\n"), 0o666),
		os.WriteFile(elsewhere, []byte("secret\n"), 0o666),
		os.Symlink("plain.txtar", filepath.Join(family, "within.txtar")),
		os.Symlink(elsewhere, filepath.Join(family, "out.txtar")),
		os.Symlink(filepath.Dir(elsewhere), filepath.Join(dir, "b")),
	); err != nil {
		t.Fatal(err)
	}
	names := map[string][2]bool{ // whether a corpus and the folder of a template have the file
		"a/plain.txtar": {true, true}, "a/within.txtar": {true, false},
		"a/out.txtar": {}, "b/secret": {}, "../secret": {},
	}
	if exec.Command("mkfifo", filepath.Join(family, "pipe.txtar")).Run() == nil {
		names["a/pipe.txtar"] = [2]bool{}
	}
	corpus, err := families.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	folder, cases, err := families.Folder(family)
	if err != nil || len(cases) < 3 {
		t.Fatal(cases, err)
	}
	for name, want := range names {
		for i, fsys := range []fs.FS{corpus, folder} {
			text, err := fs.ReadFile(fsys, name)
			if got := err == nil; got != want[i] || got && string(text) != "gate\n" {
				t.Errorf("%s: %q, %v", name, text, err)
			}
		}
	}
}
