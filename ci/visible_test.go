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

// printers may name the process's own outputs: programs that print our own text alone, and those
// that put package visible before them.
var printers = []string{
	"cmd/assay/main.go",                   // which puts visible.Writer before them
	"cmd/assay/memory.go",                 // a file for output that nobody else prints any more
	"harness/foreign/gonja/",              // a worker, whose parent reads it
	"harness/testkit/measure/bench/",      // measures our own works
	"harness/testkit/measure/advise",      // puts visible.Writer before it
	"harness/testkit/measure/growth",      // prints costs as JSON
	"harness/testkit/measure/conditions/", // counts conditions of our own code
	"harness/testkit/measure/oracles/",    // counts differences, in our own words
	"harness/testkit/newrule/",            // names the files that it wrote
	"harness/testkit/measure/real/",       // counts faults, in our own words
	"harness/testkit/measure/views/",      // counts prompts, in our own words
	"ci/",
}

// bare may use the streams below the writers of a command, each for a reason.
var bare = []string{
	"main.go",      // makes them
	"output.go",    // reports make texts visible themselves; JSON, prompts and grammars are data
	"templates.go", // writes such a report
	"spans.go",     // makes texts visible itself, and colours them
	"help.go",      // asks for the width of the terminal
	"memory.go",    // prints our own text
	"page.go",      // prints its own address
	"explain.go",   // prints our own text, in colours
	"lsp.go",       // speaks a protocol of JSON with the editor
}

// TestOneWriter demands that nothing prints past package visible: no source names the process's
// outputs or prints to them, except for the printers, and of a command's writers only those that
// show hostile characters are used, except in the files listed with a reason.
func TestOneWriter(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir("..", func(name string, entry fs.DirEntry, err error) error {
		switch base := filepath.Base(name); {
		case err != nil:
			return err
		case entry.IsDir() && (base == "out" || base == "testdata" || base == "node_modules" ||
			len(base) > 2 && base[0] == '.'):
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file := strings.TrimPrefix(filepath.ToSlash(name), "../")
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			return err
		}
		printer := slices.ContainsFunc(printers,
			func(p string) bool { return strings.HasPrefix(file, p) })
		ast.Inspect(tree, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			of, _ := selector.X.(*ast.Ident)
			if of == nil {
				return true
			}
			what := of.Name + "." + selector.Sel.Name
			switch what {
			case "os.Stdout", "os.Stderr", "fmt.Print", "fmt.Println", "fmt.Printf", "log.Print",
				"log.Println", "log.Printf", "log.Fatal", "log.Fatalf":
				if !printer {
					t.Errorf("%s: %s prints past package visible; print to the "+
						"writers of a command", set.Position(n.Pos()), what)
				}
			case "c.raw", "c.rawErr":
				if command, ok := strings.CutPrefix(file, "cmd/assay/"); ok &&
					!slices.Contains(bare, command) {
					t.Errorf("%s: %s is after package visible; use c.stdout, c.stderr, or "+
						"c.data() for output that programs read",
						set.Position(n.Pos()), what)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
