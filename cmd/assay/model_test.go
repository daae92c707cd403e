package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/goassay/assay/engine/gguf"
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
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"status": status, "model": makeModel, "resize": resize, "append": appendText},
		Setup: func(env *testscript.Env) error {
			env.Setenv("CORPUS", corpus)
			return nil
		},
	})
}

// makeModel writes a model with one tensor of eight numbers: model FILE KEY=VALUE... A value is a text, @FILE for the text of a
// file, uint:N, bool:B, or texts:A,B,C.
func makeModel(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: model FILE KEY=VALUE...")
	}
	var pairs []gguf.Pair
	for _, arg := range args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		pairs = append(pairs, gguf.Pair{Key: key, Value: modelValue(ts, value)})
	}
	tensor := gguf.Content{Tensor: gguf.Tensor{Name: "w", Dims: []uint64{4, 2}, Type: gguf.F32}, Data: bytes.NewReader([]byte("thirty-two bytes of tensor data!"))}
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
