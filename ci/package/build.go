package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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
	shared []file
	// library is the path of the engine as a C library; "" where this machine has no C compiler
	// for the platform
	library string
}

// text returns the binary itself.
func (b built) text() ([]byte, error) { return os.ReadFile(b.path) }

// ownPath is the path of the module.
const ownPath = "github.com/goassay/assay"

// build builds the command: static, without the tables that only debuggers read and without the
// paths of this machine.
func (r *release) build(p platform, e edition) (string, error) {
	path := filepath.Join(r.work, e.name+"-"+p.os+"-"+p.arch, p.binary())
	return path, r.compile(path, "./cmd/assay", "main.release", "GOOS="+p.os, "GOARCH="+p.arch,
		"GOFLAGS=-tags="+e.tags)
}

// compile builds a command, whose variable gets the version.
func (r *release) compile(path, pkg, variable string, env ...string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
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

// library builds the engine as a C library and returns its path: for this machine's platform, where
// it has a C compiler. It returns "" for any other.
func (r *release) library(p platform) (string, error) {
	if p.os != runtime.GOOS || p.arch != runtime.GOARCH {
		return "", nil
	}
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "cc"
	}
	if _, err := exec.LookPath(compiler); err != nil {
		fmt.Printf("package: there is no %s, so the wheel has no library\n", compiler)
		return "", nil
	}
	path, err := filepath.Abs(filepath.Join(r.work, "library-"+p.os+"-"+p.arch, p.libassay()))
	if err != nil {
		return "", err
	}
	env := []string{"CGO_ENABLED=1", "GOFLAGS=", "CC=" + compiler}
	return path, r.goBuild("./cmd/libassay", env, "-tags=libassay", "-buildmode=c-shared",
		"-ldflags", "-s -w", "-o", path)
}

// shared returns the files that every archive has beside the binary: licence, notice, README, and
// the completions and manual pages, which the command writes itself, built for this machine.
func (r *release) shared() ([]file, error) {
	host, err := r.build(platform{os: runtime.GOOS, arch: runtime.GOARCH}, usual)
	if err != nil {
		return nil, err
	}
	var all []file
	for _, name := range []string{"LICENSE", "NOTICE", "README.md"} {
		text, err := r.read(name)
		if err != nil {
			return nil, err
		}
		all = append(all, file{name, text, 0o644})
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
	pages, err := os.ReadDir(man)
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(man, page.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, file{"man/" + page.Name(), text, 0o644})
	}
	return all, nil
}
