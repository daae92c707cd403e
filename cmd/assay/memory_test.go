package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// TestMemory takes more memory than a command may: it ends with an error that names the limit. One
// that stays below it, with garbage far beyond, goes on.
func TestMemory(t *testing.T) {
	run := func(keep bool) (string, int) {
		var errs bytes.Buffer
		ended := make(chan int, 1)
		c := &call{rawErr: &errs, command: &cobra.Command{Use: "check"},
			exit: func(status int) { ended <- status }}
		runtime.GC()
		stop := c.bounded(256 << 20)
		defer stop()
		var kept [][]byte
		for range 64 {
			b := make([]byte, 8<<20)
			if keep {
				kept = append(kept, b)
			}
			time.Sleep(time.Millisecond)
		}
		defer runtime.KeepAlive(kept)
		select {
		case status := <-ended:
			return errs.String(), status
		case <-time.After(200 * time.Millisecond):
			return "", -1
		}
	}
	if text, status := run(true); status != exitUsage || !strings.Contains(text, "more than the 256 MiB that --limit memory allows") {
		t.Errorf("with 512 MiB it ends with %d: %s", status, text)
	}
	if text, status := run(false); status != -1 {
		t.Errorf("with garbage alone it ends with %d: %s", status, text)
	}
}

// TestPeak prints the stream of an output that needs more memory whole than a command may take: the
// process stays below the limit all the time.
func TestPeak(t *testing.T) {
	dir := t.TempDir()
	program, output := linked(t, dir), filepath.Join(dir, "output")
	if err := os.WriteFile(output, bytes.Repeat([]byte("word "), 2<<20), 0o666); err != nil {
		t.Fatal(err)
	}
	const limit = 256
	cmd := exec.Command(program, "parse", "--stream", "--limit", fmt.Sprintf("memory=%dM", limit),
		"--output", output, "../../corpus/hermes/template.jinja")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done, most := make(chan error, 1), int64(0)
	go func() { done <- cmd.Wait() }()
	for running := true; running; {
		select {
		case err := <-done:
			if running = false; err != nil {
				t.Errorf("%v: %s", err, errs.String())
			}
		case <-time.After(5 * time.Millisecond):
			most = max(most, resident(cmd.Process.Pid))
		}
	}
	if most > limit<<20 {
		t.Errorf("%d MiB, more than the limit of %d", most>>20, limit)
	}
}
