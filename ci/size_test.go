package ci

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The bounds of the tree, in the terms of [lines] and of [methods].
const (
	// maxTotal bounds the lines of code of the whole tree. It goes down with what is taken out; a
	// commit of its own, which names the capability that needs it, raises it.
	maxTotal   = 140053
	maxPackage = 4000  // lines of code of a package
	maxJinja   = 11448 // lines of code of engine/jinja, which is a language with its library
	maxMethods = 40    // methods of a type
	maxFields  = 15    // fields of the types of onceLarge
)

// largePackages are the packages that have more lines, with their bounds, which only go down.
var largePackages = map[string]struct {
	lines  int
	reason string
}{
	"engine/jinja": {maxJinja, "one language: its filters, tests, methods and its interpreter"},
	"cmd/assay":    {8421, "a file a command; their work is under harness"},
	"engine/codegen": {5557, "one pass a file from a format to its program and grammar, which " +
		"share the tree of patterns"},
	"engine/gbnf": {4082, "one language in both directions: reader, automaton, sampler, printer"},
}

// manyMethods are the types that have more methods: scanners, parsers and machines of a language,
// which have one for each of its forms. The numbers only go down.
var manyMethods = map[string]int{
	"engine/jinja compiler": 42, "engine/jinja/flow/reach prover": 49,
	"engine/jinja/syntax parser": 56, "engine/stream Parser": 51,
}

// onceLarge are packages that have been one large type each. Functions that take a type as their
// first parameter count as its methods there, and its fields are bounded as well.
var onceLarge = []string{"engine/codegen", "engine/internal/analysis", "engine/internal/observe",
	"harness/check/fact/boundary", "harness/check/fact/prompts", "harness/check/probe"}

// goFiles returns the Go files of the module that are no tests, by the folders of their packages.
func goFiles(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if skipped := []string{".deps", ".git", "node_modules", "out"}; name != ".." &&
				slices.Contains(skipped, d.Name()) {
				return fs.SkipDir
			}
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			dir := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(name), "../"))
			all[dir] = append(all[dir], name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// lines counts the lines of code of a file: those that are not blank and no comment.
func lines(t *testing.T, name string) (n int) {
	t.Helper()
	for line := range strings.Lines(readFile(t, name)) {
		if text := strings.TrimSpace(line); text != "" && !strings.HasPrefix(text, "//") {
			n++
		}
	}
	return n
}

// TestPackages counts the lines of each package, and of all.
func TestPackages(t *testing.T) {
	t.Parallel()
	total := 0
	defer func() {
		if total > maxTotal {
			t.Errorf("all packages have %d lines of code; at most %d are allowed. Take out what "+
				"is there twice, or raise the bound in a commit that says for what.", total, maxTotal)
		}
	}()
	for dir, files := range goFiles(t) {
		n := 0
		for _, name := range files {
			n += lines(t, name)
		}
		total += n
		if bound := max(maxPackage, largePackages[dir].lines); n > bound {
			t.Errorf("%s has %d lines of code; at most %d are allowed. Split it where there are "+
				"two audiences, or take out what is there twice.", dir, n, bound)
		}
	}
}

// TestSizes counts the methods of types, and of the packages of onceLarge the fields.
func TestSizes(t *testing.T) {
	t.Parallel()
	for dir, files := range goFiles(t) {
		isOnce := slices.Contains(onceLarge, dir)
		methods, fields := map[string]int{}, map[string]int{}
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				count(d, methods, fields, isOnce)
			}
		}
		for name, n := range methods {
			if _, here := fields[name]; here && n > max(maxMethods, manyMethods[dir+" "+name]) {
				t.Errorf("%s: %s has %d methods; at most %d are allowed. Move those with one "+
					"purpose to a type of their own.", dir, name, n, maxMethods)
			}
		}
		for name, n := range fields {
			if isOnce && n > maxFields {
				t.Errorf("%s: %s has %d fields; at most %d are allowed. Fields that are used "+
					"together are a type.", dir, name, n, maxFields)
			}
		}
	}
}

// count adds the types of a declaration. fields has an entry for each type of the package.
// Functions count as methods of their first parameter's type where they are asked for.
func count(d ast.Decl, methods, fields map[string]int, functions bool) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		list := d.Recv
		if list == nil && functions {
			list = d.Type.Params
		}
		if list != nil && len(list.List) > 0 {
			methods[typeName(list.List[0].Type)]++
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			spec, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			fields[spec.Name.Name] = 0
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range s.Fields.List {
					fields[spec.Name.Name] += max(1, len(f.Names))
				}
			}
		}
	}
}

// typeName returns the name of a type, or of the type that it points to; empty where it has none.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	}
	return ""
}

// maxCommand bounds the functions of cmd/assay, in lines: a command parses its flags and calls one
// function.
const maxCommand = 60

// longCommands are the functions that are longer still, by file and name, with their lines. The
// numbers only go down.
var longCommands = map[string]int{
	"check.go run": 90,
}

// TestThinCommands counts the lines of the functions of cmd/assay.
func TestThinCommands(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../cmd/assay/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("cmd/assay: no Go files (%v)", err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			d, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			of := filepath.Base(name) + " " + d.Name.Name
			lines := set.Position(d.End()).Line - set.Position(d.Pos()).Line + 1
			if bound := max(maxCommand, longCommands[of]); lines > bound {
				t.Errorf("%s has %d lines, at most %d are allowed; move its work to the "+
					"room under harness that owns it", of, lines, bound)
			}
		}
	}
}
