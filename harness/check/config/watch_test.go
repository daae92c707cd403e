package config_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/goassay/assay/harness/check/config"
)

// TestWatch changes a template, a file of a folder, and settings above them: each is a further run.
func TestWatch(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	template := filepath.Join(dir, "t.jinja")
	changes := []string{template, filepath.Join(dir, "new.jinja"),
		filepath.Join(root, "assay.toml")}
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Error(err)
		}
	}
	write(template, "one")
	ctx, stop := context.WithTimeoutCause(t.Context(), 5*time.Minute, errors.New("too few runs"))
	defer stop()
	runs := 0
	err := config.Watch(ctx, []string{dir}, func() {
		if runs == len(changes) {
			stop()
			return
		}
		runs++
		write(changes[runs-1], "two, which is longer")
	})
	if !errors.Is(err, context.Canceled) || runs != len(changes) {
		t.Errorf("%d runs, %v", runs, err)
	}
}
