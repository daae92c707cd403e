package ci

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The bounds of what somebody reads who comes to the project.
const (
	readmeLines = 120
	guides      = 20 // the pages of docs; those in its folders are for looking things up
	rooms       = 11 // the packages on the first level of harness
	terms       = 80 // of the glossary
)

// usualTargets are those that `make` alone shows.
var usualTargets = []string{"test", "check", "update", "golden", "bench"}

// TestShape counts what a newcomer meets first.
func TestShape(t *testing.T) {
	t.Parallel()
	if n := strings.Count(readFile(t, "../README.md"), "\n"); n > readmeLines {
		t.Errorf("README.md has %d lines; at most %d are allowed. Move details into a guide.", n,
			readmeLines)
	}
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) > guides {
		t.Errorf("docs has %d guides; at most %d are allowed. Join two, or move one into "+
			"docs/reference, docs/internals or docs/results.", len(pages), guides)
	}
	words := tableRows(t, "../docs/internals/glossary.md", "")
	if len(words) > terms {
		t.Errorf("the glossary has %d terms; at most %d are allowed", len(words), terms)
	}
	if !slices.IsSortedFunc(words, func(a, b []string) int { return strings.Compare(a[0], b[0]) }) {
		t.Error("the glossary is not sorted")
	}
	entries, err := os.ReadDir("../harness")
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for _, entry := range entries {
		if entry.IsDir() {
			dirs = append(dirs, "../harness/"+entry.Name())
		}
	}
	if len(dirs) > rooms {
		t.Errorf("harness has %d rooms; at most %d are allowed. Move a package into the room "+
			"that uses it.", len(dirs), rooms)
	}
	for _, dir := range dirs {
		if _, err := os.Stat(dir + "/doc.go"); err != nil {
			t.Errorf("%v; doc.go is the manual of the room", err)
		}
	}
}

// TestScripts demands that scripts lie in folders of ci by job; beside the tests of this package
// there is the list of the stable API alone.
func TestScripts(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if !entry.IsDir() && filepath.Ext(name) != ".go" && name != "api.txt" {
			t.Errorf("ci/%s belongs into a folder of ci", name)
		}
	}
}

// TestResults demands of each page of results that its beginning names the command that makes it,
// and a date.
func TestResults(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../docs/results/*.md")
	if err != nil {
		t.Fatal(err)
	}
	made := regexp.MustCompile("`(make|assay|go test) ?[^`]*`")
	date := regexp.MustCompile(`\b20\d\d-\d\d-\d\d\b`)
	for _, page := range pages {
		if filepath.Base(page) == "README.md" {
			continue
		}
		text := readFile(t, page)
		if !made.MatchString(text[:min(len(text), 2000)]) || !date.MatchString(text) {
			t.Errorf("%s does not begin with its command, or has no date", page)
		}
	}
}

// TestMake demands that `make` alone shows the usual targets, and `make help` every target, in
// groups.
func TestMake(t *testing.T) {
	t.Parallel()
	need(t, "make")
	listed := regexp.MustCompile(`(?m)^  ([a-z-]+) +\S`)
	shown := func(args ...string) (names []string) {
		out, err := exec.Command("make", append([]string{"-s", "-C", ".."}, args...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range listed.FindAllStringSubmatch(string(out), -1) {
			names = append(names, m[1])
		}
		return names
	}
	if names := shown(); !slices.Equal(names, usualTargets) {
		t.Errorf("make shows %q, expected %q", names, usualTargets)
	}
	var declared []string
	for _, m := range regexp.MustCompile(`(?m)^\.PHONY: (.*)`).FindAllStringSubmatch(
		readFile(t, "../Makefile"), -1) {
		declared = append(declared, strings.Fields(m[1])...)
	}
	all := shown("help")
	for _, name := range declared {
		if name != "help" && name != "usual" && !slices.Contains(all, name) {
			t.Errorf("make help does not show %s: its line needs a `## description`", name)
		}
	}
}

// TestNotice demands that NOTICE names each module that a program or a test is made of.
func TestNotice(t *testing.T) {
	t.Parallel()
	list := exec.Command("go", "list", "-deps", "-test", "-f",
		"{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "./...")
	list.Dir = ".."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	notice := readFile(t, "../NOTICE")
	modules := strings.Fields(string(out))
	if len(modules) < 20 {
		t.Fatalf("%d modules are listed", len(modules))
	}
	slices.Sort(modules)
	for _, name := range slices.Compact(modules) {
		if !strings.Contains(notice, "  "+name+" ") {
			t.Errorf("NOTICE does not name %s with its licence", name)
		}
	}
}
