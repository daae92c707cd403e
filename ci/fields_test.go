package ci

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// given are the types of other packages that package engine gives a name to, by their packages.
var given = map[string][]string{
	"engine/codegen": {"Trigger"},
	"engine/jinja":   {"Limits"},
	"engine/peg/vm":  {"Limits"},
	"engine/stream":  {"Diagnostic", "Token"},
	"engine/vocab":   {"Config", "Files", "Piece", "Vocabulary"},
}

// ruleCodes are the codes of the engine's rules at the end of a comment.
var ruleCodes = regexp.MustCompile(`\s*\((?:[A-Z]\d+(?:[ ,-]+)?)+\)$`)

// bareCode is the code of a rule anywhere else.
var bareCode = regexp.MustCompile(`\b[A-Z]\d+\b`)

// TestFieldsExplained reads the comments of the fields of stable types: each is explained in words,
// and names the rule that it comes from in brackets at the end, if at all.
func TestFieldsExplained(t *testing.T) {
	t.Parallel()
	for _, dir := range stable {
		explained(t, dir, nil)
	}
	for dir, types := range given {
		explained(t, dir, types)
	}
}

// explained checks the exported struct types of a package; types: those alone.
func explained(t *testing.T, dir string, types []string) {
	files, err := filepath.Glob("../" + dir + "/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no Go files (%v)", dir, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for node := range ast.Preorder(f) {
			spec, ok := node.(*ast.TypeSpec)
			if !ok || !spec.Name.IsExported() ||
				types != nil && !slices.Contains(types, spec.Name.Name) {
				continue
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					explainedField(t, dir+"."+spec.Name.Name, field)
				}
			}
		}
	}
}

// explainedField checks a field of a struct, or several that share a comment.
func explainedField(t *testing.T, of string, field *ast.Field) {
	names := []string{typeName(field.Type)} // of an embedded one
	if len(field.Names) > 0 {
		names = nil
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	if !slices.ContainsFunc(names, ast.IsExported) {
		return
	}
	text := strings.TrimSpace(field.Doc.Text() + field.Comment.Text())
	words := ruleCodes.ReplaceAllString(strings.TrimRight(text, "."), "")
	switch {
	case len(strings.Fields(words)) < 3:
		t.Errorf("%s.%s is explained by %q; say in words what it is", of,
			strings.Join(names, ", "), text)
	case bareCode.MatchString(words):
		t.Errorf("%s.%s: the code of a rule stands in brackets at the end, after the words: %q",
			of, strings.Join(names, ", "), text)
	}
}
