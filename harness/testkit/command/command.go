// Package command builds the command assay for tests that run it as a process of its own.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// Path returns the path of the command, built from this checkout. The program is in the go
// command's build cache, so that all tests on a machine share one build, and nobody may write to it
// or remove it.
func Path(t testing.TB) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// built asks `go run`, which keeps the programs that it links: `go build` links anew each time.
// When it has linked the program, it runs the file that it then moves into the cache, so the name
// of that file means nothing and the second question is answered with the name in the cache.
var built = sync.OnceValues(func() (string, error) {
	for range 2 {
		out, err := exec.Command("go", "run", "-exec", "echo",
			"github.com/goassay/assay/cmd/assay").Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return "", fmt.Errorf("go run ./cmd/assay: %w\n%s", err, exit.Stderr)
		} else if err != nil {
			return "", err
		}
		path := strings.TrimSpace(string(out))
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", errors.New("go run ./cmd/assay leaves no program in the build cache; `go env " +
		"GOCACHE` should name a folder that can be written to")
})
