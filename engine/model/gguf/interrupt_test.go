package gguf_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/model/filelock"
	"github.com/goassay/assay/engine/model/gguf"
)

// bigModel has data of several windows, so that there is something to interrupt.
func bigModel(t testing.TB) []byte {
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	return create(t, nil, modelPairs(),
		[]gguf.Content{content("w", gguf.F32, data, uint64(len(data)/4))})
}

// TestInterrupted ends the context at every step of the copy, and of the comparison after it.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	in := write(t, filepath.Join(dir, "in.gguf"), bigModel(t))
	steps := 0
	count := gguf.RetemplateOptions{Force: true, Progress: func(int64, int64) { steps++ }}
	if err := gguf.RetemplateFile(context.Background(), in, filepath.Join(dir, "out.gguf"), "new",
		count); err != nil || steps < 8 {
		t.Fatalf("%d steps, %v", steps, err)
	}
	before, _ := os.ReadFile(filepath.Join(dir, "out.gguf"))
	for at := range steps {
		ctx, cancel := context.WithCancel(context.Background())
		n := 0
		err := gguf.RetemplateFile(ctx, in, filepath.Join(dir, "out.gguf"), "newer",
			gguf.RetemplateOptions{Force: true, Progress: func(int64, int64) {
				if n++; n == at {
					cancel()
				}
			}})
		cancel()
		if at > 0 && !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted at step %d of %d: %v", at, steps, err)
		}
		after, _ := os.ReadFile(filepath.Join(dir, "out.gguf"))
		if at > 0 && !bytes.Equal(after, before) {
			t.Errorf("interrupted at step %d: the old output is gone", at)
		}
		if at == 0 {
			before = after
		}
		if got := entries(t, dir); got != "in.gguf out.gguf" {
			t.Errorf("interrupted at step %d: left over: %s", at, got)
		}
	}
}

// TestInterruptedSplit: of a split model no part appears before all are there.
func TestInterruptedSplit(t *testing.T) {
	in, to := parts(t, t.TempDir()), t.TempDir()
	out := filepath.Join(to, "n-00001-of-00003.gguf")
	for at := 1; ; at++ {
		ctx, cancel := context.WithCancel(context.Background())
		n := 0
		err := gguf.RetemplateFile(ctx, in, out, "new",
			gguf.RetemplateOptions{Progress: func(int64, int64) {
				if n++; n == at {
					cancel()
				}
			}})
		cancel()
		if err == nil {
			break
		}
		if got := entries(t, to); got != "" || !errors.Is(err, context.Canceled) {
			t.Fatalf("interrupted at step %d: %v; left over: %s", at, err, got)
		}
	}
	if got := entries(t, to); got != "n-00001-of-00003.gguf n-00002-of-00003.gguf n-00003-of-00003.gguf" {
		t.Errorf("wrote %s", got)
	}
}

// TestKilledHelper is no test: TestKilled runs and kills it. It stops in the middle of a copy for
// ever.
func TestKilledHelper(t *testing.T) {
	in := os.Getenv("GGUF_TEST_IN")
	if in == "" {
		t.Skip("run by TestKilled")
	}
	half := false
	t.Log(gguf.RetemplateFile(context.Background(), in, os.Getenv("GGUF_TEST_OUT"), "new",
		gguf.RetemplateOptions{Progress: func(done, total int64) {
			if !half && done > total/4 {
				half = true
				os.Stdout.WriteString("\nhalf\n")
				select {}
			}
		}}))
}

// TestKilled kills a copy as kill -9 does. The output is not there. The part file is not touched
// while somebody writes it, and is used again after.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	data := bigModel(t)
	in, out := write(t, filepath.Join(dir, "in.gguf"), data), filepath.Join(dir, "out.gguf")
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledHelper$", "-test.v")
	cmd.Env = append(os.Environ(), "GGUF_TEST_IN="+in, "GGUF_TEST_OUT="+out)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("no process can be started here: %v", err)
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && lines.Text() != "half" {
	}
	err = gguf.RetemplateFile(context.Background(), in, out, "other", gguf.RetemplateOptions{})
	if err == nil || !strings.Contains(err.Error(), "out.gguf is being written by "+
		"another program") {
		t.Errorf("a second run beside the first: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the copy ended before it was killed")
	}
	if got := entries(t, dir); got != ".out.gguf.part in.gguf" {
		t.Errorf("after the kill: %s", got)
	}
	if err := gguf.RetemplateFile(context.Background(), in, out, "new",
		gguf.RetemplateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(out); !bytes.Equal(got, retemplated(t, data, "", "new")) {
		t.Error("the output differs")
	}
	if got := entries(t, dir); got != "in.gguf out.gguf" {
		t.Errorf("left over: %s", got)
	}
}

// TestPartInTheWay has a foreign file with the name of a part.
func TestPartInTheWay(t *testing.T) {
	dir := t.TempDir()
	data := model(t)
	in, out, part := write(t, filepath.Join(dir, "in.gguf"), data), filepath.Join(dir, "out.gguf"),
		filepath.Join(dir, ".out.gguf.part")
	other := write(t, filepath.Join(dir, "other"), []byte("precious"))
	run := func() error {
		return gguf.RetemplateFile(context.Background(), in, out, "new",
			gguf.RetemplateOptions{Force: true})
	}
	if err := os.Symlink(other, part); err != nil {
		t.Skipf("no links here: %v", err)
	}
	if err := run(); err == nil || !strings.Contains(err.Error(), ".out.gguf.part is in the way") {
		t.Errorf("a link: %v", err)
	}
	if got, _ := os.ReadFile(other); string(got) != "precious" {
		t.Errorf("the link's target is now %q", got)
	}
	os.Remove(part)

	// Longer than the output, and not writable.
	write(t, part, bytes.Repeat([]byte{1}, 2*len(data)))
	if err := os.Chmod(part, 0o400); err != nil {
		t.Fatal(err)
	}
	if err := run(); err != nil {
		t.Error(err)
	}
	if got, _ := os.ReadFile(out); !bytes.Equal(got, retemplated(t, data, "", "new")) {
		t.Error("the output differs")
	}

	// Locked by this process, through another descriptor.
	write(t, part, nil)
	f, err := os.OpenFile(part, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if locked, err := filelock.Try(f); !locked || err != nil {
		t.Skipf("no locks here: %v", err)
	}
	if err := run(); err == nil ||
		!strings.Contains(err.Error(), "is being written by another program") {
		t.Errorf("a lock: %v", err)
	}
	if _, err := os.Stat(part); err != nil {
		t.Errorf("the part of another program: %v", err)
	}
}
