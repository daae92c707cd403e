package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/goassay/assay/harness/hub/observatory"
)

var update = flag.Bool("update", false, "rewrite the scripts' expectations")

func TestMain(m *testing.M) {
	// A relative folder is none: no test reads what the user's checks have kept. The command of a
	// script, which is this program by another name, has the script's folder.
	if name, _, _ := strings.Cut(filepath.Base(os.Args[0]), "."); name != "assay" ||
		strings.HasSuffix(os.Args[0], ".test") {
		if err := os.Setenv("XDG_CACHE_HOME", "none"); err != nil {
			panic(err)
		}
	}
	testscript.Main(m, map[string]func(){"assay": main})
}

// TestScripts runs the command line by scripts. $CORPUS is the corpus in the checkout.
func TestScripts(t *testing.T) {
	corpus, err := filepath.Abs("../../corpus")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool,
			[]string){"status": status, "mkfile": mkfile},
		Condition: func(name string) (bool, error) {
			switch name {
			case "cloud":
				return observatory.Parquet, nil
			case "mount": // in a namespace of its own
				return exec.Command("unshare", "-rm", "true").Run() == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("CORPUS", corpus)
			env.Setenv("GITHUB_ACTIONS", "")
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, ".cache"))
			env.Setenv("ESC", "name\x1b[31m\u202e<b>.jinja")
			return nil
		},
	})
}

// status runs assay and demands an exit status: status 2 check missing.jinja
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: status N ARGUMENTS...")
	}
	err := ts.Exec("assay", args[1:]...)
	code := "0"
	if err != nil {
		code = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if code != args[0] {
		ts.Fatalf("assay ended with %q (%v), want %s", code, err, args[0])
	}
}

// mkfile writes a file that no archive can hold: mkfile NAME GO-STRING
func mkfile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mkfile NAME GO-STRING")
	}
	text, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o666))
}
