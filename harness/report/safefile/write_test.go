//go:build linux

package safefile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/goassay/assay/harness/report/safefile"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "report")
	for _, want := range []string{"one", "two"} {
		if err := safefile.Write(name, text(want)); err != nil || read(t, name) != want {
			t.Errorf("%q: %v", want, err)
		}
		if err := os.Chmod(name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := safefile.Write(name, text("two")); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a file that only its owner may read is %v now (%v)", info.Mode(), err)
	}
	no := errors.New("no")
	if err := safefile.Write(name,
		func(w io.Writer) error { io.WriteString(w, "half"); return no }); !errors.Is(err, no) ||
		read(t, name) != "two" {
		t.Errorf("a report that fails: %v, %q", err, read(t, name))
	}
	if names, _ := os.ReadDir(dir); len(names) != 1 {
		t.Errorf("there are %v", names)
	}
}

// TestLinks writes through no link, not even one under the name of a file that is about to be
// renamed.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("kept"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{"report", "dangling", "report2.new"} {
		target := secret
		if link == "dangling" {
			target += "2"
		}
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	for _, name := range []string{"report", "dangling"} {
		if err := safefile.Write(filepath.Join(dir, name), text("x")); err == nil ||
			!strings.Contains(err.Error(), "is a link") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := safefile.Write(filepath.Join(dir, "report2"), text("x")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(secret + "2"); err == nil || read(t, secret) != "kept" {
		t.Errorf("a link was written through: %q, %v", read(t, secret), err)
	}
}

// TestPipes writes to pipes and devices, and checks that they stay.
func TestPipes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o666); err != nil {
		t.Fatal(err)
	}
	got := make(chan string)
	go func() {
		data, _ := os.ReadFile(name)
		got <- string(data)
	}()
	if err := safefile.Write(name, text("through")); err != nil {
		t.Error(err)
	}
	if text := <-got; text != "through" {
		t.Errorf("the pipe had %q", text)
	}
	if err := safefile.Write("/dev/full", text("x")); err == nil ||
		!strings.Contains(err.Error(), "no space left") {
		t.Errorf("/dev/full: %v", err)
	}
	if info, err := os.Lstat("/dev/full"); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		t.Errorf("/dev/full is %v, %v", info, err)
	}
	if err := safefile.Write("/dev/null", text("x")); err != nil {
		t.Error(err)
	}
}
