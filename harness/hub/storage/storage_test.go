package storage_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/harness/hub/storage"
)

func TestNames(t *testing.T) {
	for _, c := range []struct {
		folder, name, want, dir string
	}{
		{"a/b", "templates/x.jinja", "a/b/templates/x.jinja", "a/b/templates"},
		{"", "x", "x", "."},
		{"s3://b", "x", "s3://b/x", "s3://b/"},
		{"s3://b/", "x", "s3://b/x", "s3://b/"},
		{"s3://b/a/", "t/x y#%.jsonl", "s3://b/a/t/x%20y%23%25.jsonl", "s3://b/a/t/"},
		{"gs://b/a?endpoint=http://h/", "x", "gs://b/a/x?endpoint=http://h/",
			"gs://b/a/?endpoint=http://h/"},
	} {
		name := storage.Join(c.folder, c.name)
		if name != filepath.FromSlash(c.want) && name != c.want {
			t.Errorf("Join(%q, %q) = %q", c.folder, c.name, name)
		}
		if dir := storage.Dir(name); dir != filepath.FromSlash(c.dir) && dir != c.dir {
			t.Errorf("Dir(%q) = %q", name, dir)
		}
	}
	for name, want := range map[string]bool{"s3://b/x": true, "mem://b": true, "a/b": false,
		"C:\\x": false, "://x": false, "S3 ://x": false, "s3:/b": false, "-": false} {
		if storage.InBucket(name) != want {
			t.Errorf("InBucket(%q) = %t", name, !want)
		}
	}
	secret := "s3://key:secret@b/x?X-Amz-Signature=secret"
	if shown := storage.Shown(secret); shown != "s3://b/x" {
		t.Errorf("%s is shown as %s", secret, shown)
	}
}

// TestFolder demands of files the behaviour that objects in buckets have.
func TestFolder(t *testing.T) {
	exercise(t, t.TempDir())
}

// exercise writes, reads and lists below a folder, which may be in a bucket.
func exercise(t *testing.T, folder string) {
	t.Helper()
	ctx, files := t.Context(), new(storage.Store)
	read := func(name string) string {
		t.Helper()
		r, err := files.Open(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	write := func(name, text string) {
		t.Helper()
		err := files.Write(ctx, storage.Join(folder, name), func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("0123456789abcdef", 1<<20) // 16 MiB: in several parts
	for name, text := range map[string]string{"r/b 1.jsonl": "one", "r/a.jsonl": "", "r/c.txt": "x",
		"r/deeper/d.jsonl": "x", "r/e.jsonl": long, "rest.jsonl": "x", "r/%41#.jsonl": "x"} {
		write(name, "before")
		write(name, text)
		if got := read(storage.Join(folder, name)); got != text {
			t.Errorf("%s has %d bytes, want %d", name, len(got), len(text))
		}
	}
	var want []string
	for _, name := range []string{"%41#", "a", "b 1", "e"} {
		want = append(want, storage.Join(folder, "r/"+name+".jsonl"))
	}
	names, err := files.List(ctx, storage.Join(folder, "r"), ".jsonl")
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("the list is %q, want %q: %v", names, want, err)
	}
	for name, folders := range map[string]bool{"r": true, "r/a.jsonl": false} {
		is, err := files.IsFolder(ctx, storage.Join(folder, name))
		if err != nil || is != folders {
			t.Errorf("%s is a folder: %t, %v", name, is, err)
		}
	}
	file, done, err := files.Local(ctx, want[2])
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "one" ||
		filepath.Base(file) != "b 1.jsonl" {
		t.Errorf("the copy %s has %q: %v", file, text, err)
	}
	done()
	missing := storage.Join(folder, "r/no.jsonl")
	if _, err := files.Open(ctx, missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if found, err := files.Exists(ctx, missing); found || err != nil {
		t.Errorf("a missing file is there: %v", err)
	}
	no := errors.New("no")
	err = files.Write(ctx, want[2], func(w io.Writer) error {
		io.WriteString(w, long)
		return no
	})
	if !errors.Is(err, no) || read(want[2]) != "one" {
		t.Errorf("a file that could not be made: %v, %q", err, read(want[2]))
	}
}
