// Command package builds the parts of a release, into one folder, and publishes nothing:
//
//   - an archive for each platform, with completions and manual pages, and another one whose
//     command reaches buckets;
//   - a wheel for each platform, with the Python package of ci/package/python beside the binary,
//     and the C library, which also has its own archive, with the header;
//   - npm packages: one for each platform, and assay-chat, which takes the one that fits;
//     assay-chat-wasm, the engine in WebAssembly with a module for browsers and servers;
//   - a container image for Linux, as an OCI layout in one file, and another one with buckets;
//   - the page that runs in a browser;
//   - a list of the modules in each binary (CycloneDX), checksums of all of it, and their
//     signature.
//
// # Why this and no other tool
//
// GoReleaser's free edition makes neither wheels nor npm packages, and takes longer to compile than
// one platform's release takes to build. The formats are archives with a few lines of text, which
// the standard library writes; `make snapshot` installs each of them with the tool that it is meant
// for. The same commit gives the same bytes: no clock and no name of a machine gets in.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// platform is the platform of a binary, in the words of each kind of package.
type platform struct {
	os, arch string // Go's
	wheel    string // PEP 425's platform tag
	npm      string // Node's process.platform and process.arch
	// zig's target, with the oldest system that has what the C library needs. Without -s a DLL
	// names a file of symbols by a number that depends on paths of this machine.
	zig string
}

// platforms are those that are released. The binaries are static, so that they run on any Linux;
// Go's oldest macOS is 12.
var platforms = []platform{
	{"linux", "amd64", "manylinux2014_x86_64.manylinux_2_17_x86_64.musllinux_1_1_x86_64", "linux-x64",
		"x86_64-linux-gnu.2.17"},
	{"linux", "arm64", "manylinux2014_aarch64.manylinux_2_17_aarch64.musllinux_1_1_aarch64",
		"linux-arm64", "aarch64-linux-gnu.2.17"},
	{"darwin", "amd64", "macosx_12_0_x86_64", "darwin-x64", "x86_64-macos.12.0"},
	{"darwin", "arm64", "macosx_12_0_arm64", "darwin-arm64", "aarch64-macos.12.0"},
	{"windows", "amd64", "win_amd64", "win32-x64", "x86_64-windows-gnu -s"},
	{"windows", "arm64", "win_arm64", "win32-arm64", "aarch64-windows-gnu -s"},
}

func (p platform) String() string { return p.os + "/" + p.arch }

// binary is the name that the command has on the platform.
func (p platform) binary() string {
	if p.os == "windows" {
		return "assay.exe"
	}
	return "assay"
}

// libassay is the name that the C library has on the platform.
func (p platform) libassay() string {
	suffixes := map[string]string{"windows": "dll", "darwin": "dylib", "linux": "so"}
	return "libassay." + suffixes[p.os]
}

// release is one release while it is built.
type release struct {
	version string // without v: 0.1.0, or 0.1.0-dev for a snapshot
	root    string // the checkout
	out     string
	work    string // for files that are built and not released; absolute
}

// versions are those that every kind of package takes: PyPI's spelling of 0.1.0-dev is derived, see
// python.
var versions = regexp.MustCompile(`^v?(\d+\.\d+\.\d+(-dev)?)$`)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "package:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("package", flag.ContinueOnError)
	version := flags.String("version", "", "`VERSION`, such as v0.1.0 or 0.1.0-dev")
	out := flags.String("out", "", "`DIR` for the files; its contents are removed")
	only := flags.String("platforms", "all", "`LIST` of platforms, such as "+
		"linux/amd64,windows/arm64; all; or host")
	key := flags.String("key", "", "`FILE` with the private key (PEM, ECDSA P-256) that signs; "+
		"empty: one that is made for this and thrown away")
	page := flags.Bool("page", false, "write nothing but the page that runs in a browser, unpacked")
	wheel := flags.Bool("wheel", false, "write nothing but the Python wheels")
	library := flags.Bool("library", false, "write nothing but the archives of the C library")
	npm := flags.Bool("npm", false, "write nothing but the npm package of the engine in WebAssembly")
	proxy := flags.Bool("module", false, "write nothing but the module, as a module proxy has it")
	root := flags.String("root", ".", "`DIR` of the checkout")
	if err := flags.Parse(args); err != nil {
		return err
	}
	m := versions.FindStringSubmatch(*version)
	if m == nil {
		return fmt.Errorf("-version %q: expected one such as v0.1.0, or "+
			"0.1.0-dev for a snapshot", *version)
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	if *out == "" {
		return errors.New("-out names the folder for the files")
	}
	temporary, err := filepath.Abs(os.TempDir()) // go build runs in another folder
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp(temporary, "assay-package.")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r := &release{version: m[1], root: *root, out: *out, work: work}
	if err := errors.Join(os.RemoveAll(r.out), os.MkdirAll(r.out, 0o777)); err != nil {
		return err
	}
	switch {
	case *page:
		return r.unpackPage()
	case *proxy:
		return r.module()
	case *npm:
		return r.npmModule()
	case *wheel:
		return r.each(chosen, r.built, r.wheel)
	case *library:
		return r.each(chosen, r.library, func(b built) error {
			if b.library == nil {
				return errors.New("there is no compiler for its library")
			}
			return r.libraryArchive(b)
		})
	}
	if err := r.all(chosen); err != nil {
		return err
	}
	return r.sign(*key)
}

// all writes every file of the release but the checksums.
func (r *release) all(chosen []platform) error {
	shared, err := r.shared()
	if err != nil {
		return err
	}
	parts := map[edition][]func(built) error{
		usual: {r.archive, r.libraryArchive, r.wheel, r.npmBinary, r.components},
		cloud: {r.archive, r.components},
	}
	for _, e := range []edition{usual, cloud} {
		var image []built
		for _, p := range chosen {
			b, err := r.built(p, e)
			if err != nil {
				return err
			}
			b.shared = shared
			for _, write := range parts[e] {
				if err := write(b); err != nil {
					return fmt.Errorf("%s: %w", p, err)
				}
			}
			if p.os == "linux" {
				image = append(image, b)
			}
		}
		if len(image) > 0 {
			if err := r.image(image); err != nil {
				return err
			}
		}
	}
	return errors.Join(r.npmLauncher(), r.npmModule(), r.page())
}

// choose returns the platforms of a list.
func choose(list string) ([]platform, error) {
	switch list {
	case "all":
		return platforms, nil
	case "host":
		list = runtime.GOOS + "/" + runtime.GOARCH
	}
	var chosen []platform
	for _, name := range strings.Split(list, ",") {
		i := slices.IndexFunc(platforms, func(p platform) bool { return p.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("-platforms: there is no release for "+
				"%q; there are %v", name, platforms)
		}
		chosen = append(chosen, platforms[i])
	}
	return chosen, nil
}

// write writes a file of the release and describes how large it is.
func (r *release) write(name string, text []byte) error {
	fmt.Printf("%9d %s\n", len(text), name)
	return os.WriteFile(filepath.Join(r.out, name), text, 0o666)
}

// read reads a file of the checkout.
func (r *release) read(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(r.root, name))
}

// files reads the files in a folder of the checkout that match patterns, each one at least.
func (r *release) files(folder string, mode fs.FileMode, patterns ...string) ([]file, error) {
	return filesOf(os.DirFS(filepath.Join(r.root, folder)), mode, patterns...)
}

func filesOf(fsys fs.FS, mode fs.FileMode, patterns ...string) (all []file, err error) {
	for _, pattern := range patterns {
		names, err := fs.Glob(fsys, pattern)
		if err != nil || len(names) == 0 {
			return nil, cmp.Or(err, fmt.Errorf("there is no file %s", pattern))
		}
		for _, name := range names {
			text, err := fs.ReadFile(fsys, name)
			if err != nil {
				return nil, err
			}
			all = append(all, file{name, text, mode})
		}
	}
	return all, nil
}
