package ci

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// sizes bounds the types of packages that have been one large type each: how many methods a type
// may have, functions that take it as their first parameter counted in, and how many fields. A
// bound above 40 and 15 is where a package stands; it only goes down.
var sizes = []struct {
	dir             string
	methods, fields int
}{
	{"../engine/codegen", 40, 15},
	{"../engine/analysis", 40, 15},
	{"../engine/observe", 40, 15},
}

// TestSizes counts.
func TestSizes(t *testing.T) {
	for _, s := range sizes {
		files, err := filepath.Glob(s.dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no Go files (%v)", s.dir, err)
		}
		methods, fields := map[string]int{}, map[string]int{}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				count(d, methods, fields)
			}
		}
		for name, n := range methods {
			if _, here := fields[name]; here && n > s.methods {
				t.Errorf("%s: %s has %d methods and functions of its own; at most %d are "+
					"allowed. Move those with one purpose to a "+
					"type of their own.", s.dir, name, n, s.methods)
			}
		}
		for name, n := range fields {
			if n > s.fields {
				t.Errorf("%s: %s has %d fields; at most %d are allowed. Fields that are used "+
					"together are a type.", s.dir, name, n, s.fields)
			}
		}
	}
}

// count adds the types of a declaration. fields has an entry for each type of the package.
func count(d ast.Decl, methods, fields map[string]int) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		list := d.Recv
		if list == nil {
			list = d.Type.Params
		}
		if len(list.List) > 0 {
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
