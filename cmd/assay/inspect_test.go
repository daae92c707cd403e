package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/goassay/assay/engine/model/gguf"
)

// TestModels runs the commands on model files by scripts.
func TestModels(t *testing.T) {
	corpus, err := filepath.Abs("../../corpus")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "model"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool,
			[]string){"status": status, "model": makeModel, "resize": resize, "append": appendText,
			"terminated": terminated},
		Setup: func(env *testscript.Env) error {
			env.Setenv("CORPUS", corpus)
			return nil
		},
	})
}

// makeModel writes a model with one tensor of eight numbers: model FILE KEY=VALUE... A value is a
// text, @FILE for the text of a file, uint:N, bool:B, or texts:A,B,C.
func makeModel(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: model FILE KEY=VALUE...")
	}
	var pairs []gguf.Pair
	for _, arg := range args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		pairs = append(pairs, gguf.Pair{Key: key, Value: modelValue(ts, value)})
	}
	tensor := gguf.Content{Tensor: gguf.Tensor{Name: "w", Dims: []uint64{4, 2}, Type: gguf.F32},
		Data: bytes.NewReader([]byte("thirty-two bytes of tensor data!"))}
	var b bytes.Buffer
	ts.Check(gguf.Create(&b, nil, pairs, []gguf.Content{tensor}))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o666))
}

func modelValue(ts *testscript.TestScript, value string) gguf.Value {
	kind, rest, _ := strings.Cut(value, ":")
	switch {
	case strings.HasPrefix(value, "@"):
		return gguf.Text(ts.ReadFile(value[1:]))
	case kind == "uint":
		n, err := strconv.ParseUint(rest, 10, 32)
		ts.Check(err)
		return gguf.Of(uint32(n))
	case kind == "bool":
		yes, err := strconv.ParseBool(rest)
		ts.Check(err)
		return gguf.Of(yes)
	case kind == "ints":
		var items []gguf.Value
		for text := range strings.SplitSeq(rest, ",") {
			n, err := strconv.ParseInt(text, 10, 32)
			ts.Check(err)
			items = append(items, gguf.Of(int32(n)))
		}
		list, err := gguf.ArrayOf(items[0].Type(), items...)
		ts.Check(err)
		return list
	case kind == "texts":
		return gguf.Texts(strings.Split(rest, ",")...)
	}
	return gguf.Text(value)
}

// resize cuts a file off, or makes a hole at its end: resize FILE BYTES.
func resize(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: resize FILE BYTES")
	}
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
}

// appendText adds to a file: append FILE GO-STRING.
func appendText(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: append FILE GO-STRING")
	}
	text, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(ts.ReadFile(args[0])+text), 0o666))
}

// terminated runs assay until a file is there that is being written, and ends it with SIGTERM then:
// terminated FILE ARGUMENTS... It demands that assay ends by itself, and says on stderr that it was
// interrupted unless it was done already.
func terminated(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: terminated FILE ARGUMENTS...")
	}
	path, err := exec.LookPath("assay")
	if err != nil {
		path = filepath.Join(filepath.SplitList(ts.Getenv("PATH"))[0], "assay")
	}
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."),
		[]string{"PATH=" + ts.Getenv("PATH"), "HOME=" + ts.Getenv("HOME")}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	ts.Check(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			ts.Check(err)
			return // it was faster
		case <-time.After(time.Millisecond):
		}
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			break
		}
	}
	ts.Check(cmd.Process.Signal(syscall.SIGTERM))
	if err := <-ended; err == nil {
		return
	} else if cmd.ProcessState.ExitCode() != exitInterrupted ||
		!strings.Contains(stderr.String(), "interrupted; nothing is left of the copy") {
		ts.Fatalf("assay ended with %v\n%s", err, stderr.String())
	}
}
