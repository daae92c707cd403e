package main

import (
	"bytes"
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
