package ci

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rulesPage has the rules that are cited by number.
const rulesPage = "../docs/internals/engine-rules.md"

var (
	ruleHeading = regexp.MustCompile(`(?m)^### ((?:E\d+ )?[ERCTAM]\d+)\b`)
	ruleCited   = regexp.MustCompile(`\b(?:E21 \(?T[1-9]|E[1-9]\d?|[RCTAM][1-9])\b`)
	painCited   = regexp.MustCompile(`\bP[1-9]\d\b`)
	// checkCited is a rule of the checks, of changes, of servers or of providers; checkHeading
	// declares one.
	checkCited   = regexp.MustCompile(`\b[ADSV]\d{3}\b`)
	checkHeading = regexp.MustCompile(`(?m)^## ([ADSV]\d{3})$`)
	painHeading  = regexp.MustCompile(`(?m)^\| (P\d\d) \|`)
	// pageCited is a page of the repository. Names in capitals are those of its own documents; a
	// name in .md that belongs to others is cited with an address or a path.
	pageCited = regexp.MustCompile(`(?:^|[\s(\x60"])((?:docs/(?:[a-z]+/)?)?[A-Za-z][A-Za-z-]*\.md)\b`)
	// pageNamed is a page that a message or a text of help names.
	pageNamed = regexp.MustCompile(`\bdocs/(?:[a-z]+/)?[a-z][a-z0-9-]*\.md\b`)
	// elsewhere are citations of documents that the repository does not have.
	elsewhere = regexp.MustCompile(`(?i)\bthe (?:compositional|differential|two-phase) (?:specification|one)\b|\b[BCD]\.[1-9]\b|\b(?:the|our|these) specifications?'? (?:has|have|says?|wants?|mapper|lists?)\b`)
)

// inComparisons are the places in which T1 to T7 mean the comparisons of the analysis; elsewhere
// they mean tolerances.
var inComparisons = []string{
	"engine/internal/analysis/", "engine/format/", "engine/internal/observe/",
	"docs/internals/architecture.md"}

// citing are the endings of the files that may cite.
var citing = []string{".go", ".txtar", ".jinja", ".md", ".txt"}

// foreign are files that speak of other things in the words of citations: texts for models, other
// people's names, generated tables.
func foreign(name string) bool {
	return strings.HasPrefix(name, "golden/own/") || strings.HasPrefix(name, "golden/vendor/") ||
		strings.Contains(name, "/testdata/") || strings.HasSuffix(name, ".lock")
}

// cites returns the texts of a file that may cite a rule, each with its line: the comments of Go
// code and templates, the head of a case, a whole document.
func cites(t *testing.T, name, text string) map[int]string {
	lines := map[int]string{}
	all := func(text string, first int) {
		for i, line := range strings.Split(text, "\n") {
			lines[first+i] += " " + line
		}
	}
	switch {
	case strings.HasSuffix(name, ".go"):
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, name, text,
			parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range f.Comments {
			for _, c := range group.List {
				all(c.Text, files.Position(c.Pos()).Line)
			}
		}
	case strings.HasSuffix(name, ".txtar"):
		head, _, _ := strings.Cut(text, "\n-- ")
		all(head, 1)
	case strings.HasSuffix(name, ".jinja"):
		for _, m := range regexp.MustCompile(`(?s)\{#.*?#\}`).FindAllStringIndex(text, -1) {
			all(text[m[0]:m[1]], 1+strings.Count(text[:m[0]], "\n"))
		}
	default:
		all(text, 1)
	}
	return lines
}

// literals returns the string literals of Go code, each with its line. They cite rules of the
// checks only: engine rules are cited in comments, and a text such as E2 may mean anything there.
func literals(t *testing.T, name, text string) map[int]string {
	lines := map[int]string{}
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			lines[files.Position(lit.Pos()).Line] += " " + lit.Value
		}
		return true
	})
	return lines
}

// TestCitations finds every citation of a rule, of a complaint (P13) and of a page, in code,
// documents and cases, and demands that the repository has it. Rules of the checks are looked for
// in the string literals of code, too.
func TestCitations(t *testing.T) {
	t.Parallel()
	var rules, pains []string
	for _, m := range ruleHeading.FindAllStringSubmatch(readFile(t, rulesPage), -1) {
		if slices.Contains(rules, m[1]) {
			t.Errorf("%s has the rule %s twice", rulesPage, m[1])
		}
		rules = append(rules, m[1])
	}
	page := readFile(t, "../docs/reference/rules.md")
	for _, m := range painHeading.FindAllStringSubmatch(page, -1) {
		pains = append(pains, m[1])
	}
	checks := []string{
		"A000",         // SARIF's name for a failure that no rule produced
		"A777", "A900", // tests and documents invent them
		"D800", // a surrogate
	}
	for _, page := range []string{"rules.md", "change-rules.md", "server-rules.md",
		"provider-rules.md"} {
		text := readFile(t, "../docs/reference/"+page)
		for _, m := range checkHeading.FindAllStringSubmatch(text, -1) {
			checks = append(checks, m[1])
		}
	}
	cited := map[string]bool{}
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if hidden := strings.HasPrefix(d.Name(), ".") && name != "."; hidden || name == "out" ||
				name == "bin" || d.Name() == "node_modules" {
				return fs.SkipDir
			}
			return nil
		}
		if foreign(name) || !slices.Contains(citing, path.Ext(name)) {
			return nil
		}
		declared := func(line int, text string) {
			for _, id := range checkCited.FindAllString(text, -1) {
				if !slices.Contains(checks, id) {
					t.Errorf("%s:%d: cites the rule %s, which no page of docs has", name, line, id)
				}
			}
		}
		source := readFile(t, "../"+name)
		if path.Ext(name) == ".go" {
			for line, text := range literals(t, name, source) {
				declared(line, text)
				for _, page := range pageNamed.FindAllString(text, -1) {
					if !has(page) {
						t.Errorf("%s:%d: names %s, which is not in the repository", name, line, page)
					}
				}
			}
		}
		for line, text := range cites(t, name, source) {
			declared(line, text)
			for _, id := range ruleCited.FindAllString(text, -1) {
				id = strings.Replace(id, "(", "", 1)
				comparison := slices.ContainsFunc(inComparisons,
					func(dir string) bool { return strings.HasPrefix(name, dir) })
				if id[0] == 'T' && !comparison {
					id = "E21 " + id
				}
				cited[id] = true
				if !slices.Contains(rules, id) {
					t.Errorf("%s:%d: cites %s, which docs/internals/engine-rules.md has not", name, line, id)
				}
			}
			for _, id := range painCited.FindAllString(text, -1) {
				if !slices.Contains(pains, id) {
					t.Errorf("%s:%d: cites %s, which docs/reference/rules.md has not", name, line, id)
				}
			}
			for _, m := range pageCited.FindAllStringSubmatch(text, -1) {
				if name == "ci/rules_test.go" || strings.HasSuffix(name, ".txtar") || has(m[1]) ||
					has(path.Join(path.Dir(name), m[1])) {
					continue
				}
				t.Errorf("%s:%d: cites %s, which is not in the repository", name, line, m[1])
			}
			if m := elsewhere.FindString(text); m != "" && name != "ci/rules_test.go" {
				t.Errorf("%s:%d: cites %q, which is not in the repository; cite a rule of "+
					"docs/internals/engine-rules.md", name, line, m)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(cited) < 40 {
		t.Errorf("only %d rules are cited; is the test looking at the sources?", len(cited))
	}
}

// has reports whether the repository has a page, at a path or in docs.
func has(name string) bool {
	for _, p := range []string{"../" + name, "../docs/" + name, "../docs/reference/" + name} {
		if _, err := os.Stat(p); err == nil {
			return true
		}
	}
	return false
}
