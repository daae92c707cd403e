package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/goassay/assay/engine/model/hub"
	"github.com/goassay/assay/harness/testkit/double/fakehub"
)

// secret is the token of the scripts. It must turn up nowhere.
const secret = "hf_0123456789SecretSecretSecret"

// TestHub runs the commands that talk to the Hub by scripts, each against a fake one of its own:
// $HUB is its address, $STORAGE that of the host it redirects to, $SECRET a token, $CACHE the
// cache. After every command and every script the token is looked for in all that was printed,
// written to disk or sent elsewhere.
func TestHub(t *testing.T) {
	corpus, err := filepath.Abs("../../corpus")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "hub"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": hubStatus, "model": makeModel, "resize": resize, "hub": controlHub,
			"killed": killed, "sha256": sha256Of,
		},
		Setup: func(env *testscript.Env) error {
			h := fakehub.New()
			env.Values["hub"] = h
			t := env.T().(testing.TB)
			env.Defer(func() {
				tokenStayed(t, env.WorkDir, h.Requests())
				h.Close()
			})
			home := filepath.Join(env.WorkDir, "hf")
			for _, pair := range [][2]string{
				{"CORPUS", corpus}, {"HUB", h.URL()}, {"STORAGE", h.StorageURL()}, {"SECRET",
					secret},
				{"HF_ENDPOINT", h.URL()}, {"HF_HOME", home}, {"CACHE", filepath.Join(home, "hub")},
			} {
				env.Setenv(pair[0], pair[1])
			}
			return nil
		},
	})
}

func hubOf(ts *testscript.TestScript) *fakehub.Hub { return ts.Value("hub").(*fakehub.Hub) }

// tokenStayed checks that no file but the token file has the token, and that no request to another
// host had one.
func tokenStayed(t testing.TB, dir string, requests []fakehub.Request) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == "token" {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(path, secret) || bytes.Contains(text, []byte(secret)) {
			t.Errorf("%s has the token", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for _, r := range requests {
		if r.Host != "hub" && r.Authorization != "" {
			t.Errorf("the token was sent away: %s", r)
		}
	}
}

// hubStatus is status that looks for the token in the output.
func hubStatus(ts *testscript.TestScript, neg bool, args []string) {
	status(ts, neg, args)
	for _, name := range []string{"stdout", "stderr"} {
		if strings.Contains(ts.ReadFile(name), secret) {
			ts.Fatalf("%s has the token", name)
		}
	}
}

// controlHub changes the Hub or looks at it:
//
//	hub put OWNER/REPO NAME FILE            puts a file into a repository; of "-" removes it
//	hub tag OWNER/REPO NAME                 gives main's commit a second name
//	hub restrict OWNER/REPO MODE [TOKEN]... MODE is auto, manual, private or open; the tokens were let in
//	hub token TOKEN                         makes a token valid
//	hub fault KIND [on=TEXT] [times=N] [at=N] [value=TEXT]
//	hub heal                                removes the faults
//	hub log FILE                            writes the requests since the last time
func controlHub(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: hub put|tag|restrict|token|fault|heal|log ...")
	}
	h, rest := hubOf(ts), args[1:]
	switch args[0] {
	case "put":
		var data []byte
		if rest[2] != "-" {
			data = []byte(ts.ReadFile(rest[2]))
		}
		ts.Setenv("COMMIT", h.Repo(rest[0]).Put(rest[1], data))
	case "tag":
		h.Repo(rest[0]).Tag(rest[1])
	case "restrict":
		mode := map[string]string{"auto": "auto", "manual": "manual"}[rest[1]]
		h.Repo(rest[0]).Restrict(mode, rest[1] == "private", rest[2:]...)
	case "token":
		h.Token(rest[0])
	case "fault":
		f := fakehub.Fault{Kind: fakehub.Kind(rest[0])}
		for _, arg := range rest[1:] {
			key, value, _ := strings.Cut(arg, "=")
			var err error
			switch key {
			case "on":
				f.On = value
			case "value":
				f.Value = value
			case "times":
				f.Times, err = strconv.Atoi(value)
			case "at":
				f.At, err = strconv.Atoi(value)
			}
			ts.Check(err)
		}
		h.Fault(f)
	case "heal":
		h.Heal()
	case "log":
		var b strings.Builder
		for _, r := range h.Requests() {
			if r.Host != "hub" && r.Authorization != "" {
				ts.Fatalf("the token was sent away: %s", r)
			}
			fmt.Fprintln(&b, r)
		}
		ts.Check(os.WriteFile(ts.MkAbs(rest[0]), []byte(b.String()), 0o666))
	default:
		ts.Fatalf("unknown: hub %s", args[0])
	}
}

// sha256Of puts a file's SHA-256 into a variable: sha256 NAME FILE.
func sha256Of(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sha256 NAME FILE")
	}
	ts.Setenv(args[0], fmt.Sprintf("%x", sha256.Sum256([]byte(ts.ReadFile(args[1])))))
}

// killed runs assay until the Hub stalls and a part of the file is on the disk, and kills it then,
// as kill -9 does: killed ARGUMENTS...
func killed(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: killed ARGUMENTS...")
	}
	path, err := exec.LookPath("assay")
	if err != nil {
		path = filepath.Join(filepath.SplitList(ts.Getenv("PATH"))[0], "assay")
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "HF_ENDPOINT", "HF_HOME", "HF_TOKEN"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	ts.Check(cmd.Start())
	<-hubOf(ts).Stalled()
	for begun := false; !begun; time.Sleep(time.Millisecond) {
		files, err := filepath.Glob(filepath.Join(ts.Getenv("CACHE"), "models--*", "blobs",
			"*.incomplete"))
		ts.Check(err)
		for _, name := range files {
			info, err := os.Stat(name)
			begun = begun || err == nil && info.Size() > 0
		}
	}
	ts.Check(cmd.Process.Kill())
	if err := cmd.Wait(); err == nil {
		ts.Fatalf("assay ended before it was killed")
	}
}

func TestBar(t *testing.T) {
	for _, c := range []struct {
		p    hub.Progress
		want string
	}{
		{hub.Progress{File: "a/m.gguf", Total: 4_700_000_000},
			"m.gguf [                              ]   0.0% of 4.7 GB"},
		{hub.Progress{File: "m.gguf", Done: 500, Total: 1000},
			"m.gguf [===============               ]  50.0% of 1.0 kB"},
		{hub.Progress{File: "m.gguf", Done: 10, Total: 10},
			"m.gguf [==============================] 100.0% of 10 bytes"},
		{hub.Progress{File: "m.gguf"}, "m.gguf [==============================] 100.0% of 0 bytes"},
		{hub.Progress{File: "m.gguf", Waiting: true},
			"m.gguf: another program is downloading it; waiting"},
	} {
		if got := bar(c.p); got != c.want {
			t.Errorf("bar(%+v) is %q, want %q", c.p, got, c.want)
		}
	}
}
