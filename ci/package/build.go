package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// edition is a way to build the command.
type edition struct{ name, tags string }

// cloud is the edition that reaches buckets, of twice the size; it has archives and an image of its
// own.
var cloud = edition{"assay_cloud", "cloud"}

// usual is the edition for everyone else.
var usual = edition{name: "assay"}

// built is the command for a platform, with the files that it has on any.
type built struct {
	platform
	edition
	path   string
	text   []byte // of the binary
	shared []file
	// library is the engine as a C library; nil where there is no C compiler for the platform
	library []byte
}

// built builds the command, and the C library for the usual edition.
func (r *release) built(p platform, e edition) (b built, err error) {
	if b = (built{platform: p, edition: e}); e == usual {
		if b, err = r.library(p, e); err != nil {
			return b, err
		}
	}
	if b.path, err = r.build(p, e); err == nil {
		b.text, err = os.ReadFile(b.path)
	}
	return b, err
}

// ownPath is the path of the module.
const ownPath = "github.com/goassay/assay"

// build builds the command: static, without the tables that only debuggers read and without the
// paths of this machine, and with its texts compressed.
func (r *release) build(p platform, e edition) (string, error) {
	path := filepath.Join(r.work, e.name+"-"+p.os+"-"+p.arch, p.binary())
	overlay, err := r.overlay()
	if err != nil {
		return "", err
	}
	return path, r.compile(path, "./cmd/assay", "main.release", "GOOS="+p.os, "GOARCH="+p.arch,
		"GOFLAGS=-tags="+e.tags+" '-overlay="+overlay+"'")
}

// embedding lists the files that the command embeds and reads through package embedded.
const embedding = `{{range .Imports}}{{if eq . "` + ownPath + `/harness/corpus/embedded"}}` +
	`{{range $.EmbedFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}`

// overlay compresses those files, and returns the path of the list by which go build takes them.
func (r *release) overlay() (string, error) {
	list := filepath.Join(r.work, "overlay.json")
	if _, err := os.Stat(list); err == nil {
		return list, nil
	}
	cmd := exec.Command("go", "list", "-deps", "-f", embedding, "./cmd/assay")
	cmd.Dir = r.root
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	replace := map[string]string{}
	for i, name := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		replace[name] = filepath.Join(r.work, fmt.Sprintf("%d.gz", i))
		text, err := os.ReadFile(name)
		if err == nil {
			text, err = gzipped(text)
		}
		if err := errors.Join(err, os.WriteFile(replace[name], text, 0o666)); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	return list, os.WriteFile(list, text, 0o666)
}

// compile builds a command, whose variable gets the version.
func (r *release) compile(path, pkg, variable string, env ...string) error {
	return r.goBuild(pkg, append([]string{"CGO_ENABLED=0", "GOFLAGS="}, env...), "-ldflags",
		"-s -w -X "+variable+"="+r.version, "-o", path)
}

// goBuild runs go build.
func (r *release) goBuild(pkg string, env []string, args ...string) error {
	cmd := exec.Command("go", append(append([]string{"build", "-trimpath", "-buildvcs=false"},
		args...), pkg)...)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s for %v: %w\n%s", pkg, env, err, out)
	}
	return nil
}

// library builds the engine as a C library, by the zig that ASSAY_ZIG names. Without it, this
// machine's C compiler builds for this machine, and other platforms have none. zig has of macOS's
// libraries only libSystem; the folder macos has the names of two that Go links alongside and that
// nothing here calls.
func (r *release) library(p platform, e edition) (built, error) {
	b := built{platform: p, edition: e}
	compiler, zig := cmp.Or(os.Getenv("CC"), "cc"), os.Getenv("ASSAY_ZIG")
	stubs, err := filepath.Abs(filepath.Join(r.root, "ci/package/macos"))
	if err != nil {
		return b, err
	}
	if zig != "" {
		compiler = fmt.Sprintf("'%s' cc -target %s '-L%s' '-F%[3]s'", zig, p.zig, stubs)
	} else if _, err := exec.LookPath(compiler); err != nil ||
		p.os != runtime.GOOS || p.arch != runtime.GOARCH {
		fmt.Printf("package: %v gets no library: ASSAY_ZIG names no zig\n", p)
		return b, nil
	}
	defer os.Remove(filepath.Join(r.root, "-.o")) // zig's answer when go build asks for its version
	path := filepath.Join(r.work, "library-"+p.os+"-"+p.arch, p.libassay())
	// go build's own flags for C ask for what debuggers read.
	env := []string{"GOFLAGS=", "GOOS=" + p.os, "GOARCH=" + p.arch, "CGO_ENABLED=1",
		"CC=" + compiler, "CGO_CFLAGS=-O2", "CGO_LDFLAGS=-O2"}
	if err = r.goBuild("./cmd/libassay", env, "-tags=libassay", "-buildmode=c-shared",
		"-ldflags", "-s -w -buildid=", "-o", path); err == nil {
		b.library, err = os.ReadFile(path)
	}
	return b, err
}

// shared returns the files that every archive has beside the binary: licence, notice, README, and
// the completions and manual pages, which the command writes itself, built for this machine.
func (r *release) shared() ([]file, error) {
	host, err := r.build(platform{os: runtime.GOOS, arch: runtime.GOARCH}, usual)
	if err != nil {
		return nil, err
	}
	all, err := r.files("", 0o644, "LICENSE", "NOTICE", "README.md")
	if err != nil {
		return nil, err
	}
	for _, shell := range []struct{ name, file string }{
		{"bash", "assay.bash"}, {"zsh", "_assay"}, {"fish", "assay.fish"}, {"powershell", "assay.ps1"},
	} {
		text, err := exec.Command(host, "completion", shell.name).Output()
		if err != nil {
			return nil, fmt.Errorf("assay completion %s: %w", shell.name, err)
		}
		all = append(all, file{"completions/" + shell.file, text, 0o644})
	}
	man := filepath.Join(r.work, "man")
	if err := os.Mkdir(man, 0o777); err != nil {
		return nil, err
	}
	cmd := exec.Command(host, "man", man)
	cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", epoch.Unix()))
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("assay man: %w\n%s", err, bytes.TrimSpace(out))
	}
	pages, err := filesOf(os.DirFS(man), 0o644, "*")
	return append(all, under("man", pages)...), err
}
