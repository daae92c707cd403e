package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goassay/assay/harness/testkit/measure/conditions/at"
)

// condition is an expression that a branch depends on and that has no smaller one in it: an
// operand of && and ||, without its !.
type condition struct {
	pkg  string // import path
	file string // base name
	line int
	col  int // in bytes, from 1
	text string
}

func (c condition) String() string {
	return fmt.Sprintf("%s/%s:%d:%d: %s", c.pkg, c.file, c.line, c.col, c.text)
}

// build is an instrumented tree: the conditions by their numbers, and the overlay for the go
// command that has them noted.
type build struct {
	conditions []condition
	overlay    string // path of the file for -overlay
}

// listed is what `go list -json` tells of a package.
type listed struct {
	Dir, ImportPath, Name string
	GoFiles               []string
}

// packages lists the packages of patterns.
func packages(patterns []string) ([]listed, error) {
	list := exec.Command("go", append([]string{"list", "-json=Dir,ImportPath,Name,GoFiles"},
		patterns...)...)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var one listed
		if err := d.Decode(&one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// instrument writes the files of packages whose base names match into a folder, with each of their
// conditions noted.
func instrument(pkgs []listed, match func(base string) bool, folder string) (*build, error) {
	b := &build{overlay: filepath.Join(folder, "overlay.json")}
	replaced := map[string]string{}
	for i, p := range pkgs {
		before := len(b.conditions)
		for _, base := range p.GoFiles {
			if !match(base) {
				continue
			}
			src, err := os.ReadFile(filepath.Join(p.Dir, base))
			if err != nil {
				return nil, err
			}
			text, found, err := noted(src, len(b.conditions))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", filepath.Join(p.Dir, base), err)
			}
			for _, c := range found {
				c.pkg, c.file = p.ImportPath, base
				b.conditions = append(b.conditions, c)
			}
			to := filepath.Join(folder, fmt.Sprintf("%d_%s", i, base))
			if err := os.WriteFile(to, text, 0o666); err != nil {
				return nil, err
			}
			replaced[filepath.Join(p.Dir, base)] = to
		}
		if len(b.conditions) == before {
			continue
		}
		to := filepath.Join(folder, fmt.Sprintf("%d_conditions_at.go", i))
		if err := os.WriteFile(to, fmt.Appendf(nil, helper, p.Name), 0o666); err != nil {
			return nil, err
		}
		replaced[filepath.Join(p.Dir, "conditions_at.go")] = to
	}
	if len(b.conditions) > at.Most {
		return nil, fmt.Errorf("%d conditions; expected at most %d: name fewer packages",
			len(b.conditions), at.Most)
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return nil, err
	}
	return b, os.WriteFile(b.overlay, text, 0o666)
}

// helper is what an instrumented package gets in a file of its own.
const helper = `package %s

import conditionsat "github.com/goassay/assay/harness/testkit/measure/conditions/at"

func conditionAt[B ~bool](n int, is B) B { return B(conditionsat.Decided(n, bool(is))) }
`

// noted returns a source with each condition put into a call of conditionAt, whose numbers begin
// at first.
func noted(src []byte, first int) ([]byte, []condition, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", src, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, err
	}
	var found []condition
	type insert struct {
		offset int
		order  int // of inserts at one offset: ends first, then the longer expression's start
		text   string
	}
	var inserts []insert
	for _, e := range deciding(file) {
		start, end := set.Position(e.Pos()), set.Position(e.End())
		inserts = append(inserts,
			insert{start.Offset, 1 + len(src) - (end.Offset - start.Offset),
				fmt.Sprintf("conditionAt(%d, ", first+len(found))},
			insert{end.Offset, 0, ")"})
		found = append(found, condition{line: start.Line, col: start.Column,
			text: oneLine(src[start.Offset:end.Offset])})
	}
	slices.SortStableFunc(inserts, func(a, b insert) int {
		if a.offset != b.offset {
			return a.offset - b.offset
		}
		return a.order - b.order
	})
	var out []byte
	from := 0
	for _, i := range inserts {
		out = append(append(out, src[from:i.offset]...), i.text...)
		from = i.offset
	}
	return append(out, src[from:]...), found, nil
}

// oneLine folds an expression into one short line.
func oneLine(text []byte) string {
	s := []rune(strings.Join(strings.Fields(string(text)), " "))
	if len(s) > 80 {
		return string(s[:77]) + "..."
	}
	return string(s)
}

// deciding returns the conditions of a file in the order of the source: of if, for and cases
// without a tag, operands of && and ||, and comparisons that are returned.
func deciding(file *ast.File) []ast.Expr {
	var all []ast.Expr
	add := func(exprs ...ast.Expr) {
		for _, e := range exprs {
			all = append(all, operands(e)...)
		}
	}
	inOperand := map[ast.Expr]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			add(n.Cond)
		case *ast.ForStmt:
			if n.Cond != nil {
				add(n.Cond)
			}
		case *ast.SwitchStmt:
			if n.Tag != nil {
				break
			}
			for _, s := range n.Body.List {
				add(s.(*ast.CaseClause).List...)
			}
		case *ast.BinaryExpr:
			if n.Op == token.LAND || n.Op == token.LOR {
				add(n)
			}
		case *ast.ReturnStmt:
			for _, e := range n.Results {
				if compares(e) {
					add(e)
				}
			}
		}
		return true
	})
	return slices.DeleteFunc(all, func(e ast.Expr) bool {
		twice := inOperand[e]
		inOperand[e] = true
		return twice
	})
}

// operands returns the smallest conditions of an expression.
func operands(e ast.Expr) []ast.Expr {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return operands(x.X)
	case *ast.UnaryExpr:
		if x.Op == token.NOT {
			return operands(x.X)
		}
	case *ast.BinaryExpr:
		if x.Op == token.LAND || x.Op == token.LOR {
			return append(operands(x.X), operands(x.Y)...)
		}
	}
	return []ast.Expr{e}
}

// compares reports whether an expression is a comparison or a negation.
func compares(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return compares(x.X)
	case *ast.UnaryExpr:
		return x.Op == token.NOT
	case *ast.BinaryExpr:
		return slices.Contains([]token.Token{token.EQL, token.NEQ, token.LSS, token.GTR,
			token.LEQ, token.GEQ}, x.Op)
	}
	return false
}
