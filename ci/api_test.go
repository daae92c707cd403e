package ci

import (
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// stable are the packages whose exported API does not change by accident. apiFile lists it, one
// line for each constant, variable, function, type, field and method, in the manner of Go's own
// api/*.txt. A listing is kept in place of a comparison with a release (golang.org/x/exp/apidiff),
// since it needs no second version, shows a reviewer the change for users, and covers the types of
// other packages that they give a name to.
var stable = []string{"engine", "engine/chat", "engine/format", "engine/ordered"}

const apiFile = "api.txt"

// TestAPI compares the API of the stable packages with the listing.
func TestAPI(t *testing.T) {
	t.Parallel()
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}"}
	for _, name := range stable {
		args = append(args, module+name)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	files := map[string]string{} // by package, its types as the compiler writes them
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "=")
		files[path] = file
	}
	var lines []string
	compiled := importer.ForCompiler(token.NewFileSet(), "gc",
		func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
	for _, name := range stable {
		p, err := compiled.Import(module + name)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, exported(p)...)
	}
	slices.Sort(lines)
	got := strings.Join(slices.Compact(lines), "\n") + "\n"
	if *update {
		if err := os.WriteFile(apiFile, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want := strings.Split(readFile(t, apiFile), "\n")
	for _, line := range lines {
		if !slices.Contains(want, line) {
			t.Errorf("+ %s", line)
		}
	}
	for _, line := range want {
		if line != "" && !slices.Contains(lines, line) {
			t.Errorf("- %s", line)
		}
	}
	if t.Failed() {
		t.Errorf("the API of the stable packages is not that of ci/%s; where the change is "+
			"meant, run `make update` and argue for it in the commit", apiFile)
	}
}

// TestStability reads the package comments: the stable packages report that they are, and all
// others that a program could import report that they may change.
func TestStability(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("go", "list", "-f", "{{.Name}} {{.ImportPath}} {{.Dir}} {{join .GoFiles \",\"}}", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) < 4 || words[0] == "main" ||
			slices.Contains(strings.Split(words[1], "/"), "internal") {
			continue
		}
		says := "This package may change with every release"
		if name := strings.TrimPrefix(words[1], module); name == "engine" {
			says = "the stable surface: their API is listed"
		} else if slices.Contains(stable, name) {
			says = "This package is part of the stable surface"
		}
		if !slices.ContainsFunc(strings.Split(words[3], ","), func(file string) bool {
			head, _, _ := strings.Cut(readFile(t, filepath.Join(words[2], file)), "\npackage ")
			return strings.Contains(head, "# Stability\n") && strings.Contains(head, says)
		}) {
			t.Errorf("%s: the package comment has no section \"# "+
				"Stability\" with %q", words[1], says)
		}
	}
}

// exported lists a package's API.
func exported(p *types.Package) []string {
	short := func(o *types.Package) string {
		if o == p {
			return ""
		}
		return strings.TrimPrefix(o.Path(), module)
	}
	text := func(o any) string {
		switch o := o.(type) {
		case types.Type:
			return types.TypeString(o, short)
		case types.Object:
			return types.ObjectString(o, short)
		}
		panic("unreachable")
	}
	var lines []string
	line := func(format string, args ...any) {
		lines = append(lines,
			"pkg "+strings.TrimPrefix(p.Path(), module)+", "+fmt.Sprintf(format, args...))
	}
	for _, name := range p.Scope().Names() {
		o := p.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		named, isType := o.(*types.TypeName)
		if !isType {
			if c, ok := o.(*types.Const); ok {
				line("const %s %s = %s", name, text(c.Type()), c.Val())
			} else {
				line("%s", text(o))
			}
			continue
		}
		typ := types.Unalias(named.Type())
		if named.IsAlias() {
			line("type %s = %s", name, text(typ))
		}
		if s, ok := typ.Underlying().(*types.Struct); ok {
			line("type %s struct", name)
			for f := range s.Fields() {
				if f.Exported() {
					embedded := ""
					if f.Embedded() {
						embedded = " (embedded)"
					}
					line("type %s struct, %s %s%s", name, f.Name(), text(f.Type()), embedded)
				}
			}
		} else if !named.IsAlias() {
			line("type %s %s", name, text(typ.Underlying()))
		}
		methods := types.NewMethodSet(types.NewPointer(typ))
		values := types.NewMethodSet(typ)
		for i := range methods.Len() {
			if m := methods.At(i).Obj(); m.Exported() {
				receiver := "*" + name
				if values.Lookup(m.Pkg(), m.Name()) != nil {
					receiver = name
				}
				line("method (%s) %s%s", receiver, m.Name(),
					strings.TrimPrefix(text(m.Type()), "func"))
			}
		}
	}
	return lines
}
