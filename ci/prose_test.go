package ci

import (
	"bytes"
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// columns is how wide prose and code are, a tab being four columns.
const columns = 100

// prose are the files that people read. Templates, outputs, goldens and the inputs of tests are
// data, whose lines mean something.
var prose = []string{".go", ".md", ".py", ".js", ".mjs", ".css"}

// data reports whether a file is data rather than text of ours.
func data(name string) bool {
	return strings.HasPrefix(name, "golden/own/") || strings.HasPrefix(name, "golden/vendor/") ||
		strings.Contains(name, "/testdata/") || name == "engine/jinja/pystr_tables.go"
}

// TestProse checks the width of lines in the whole repository. English is read, not tested.
func TestProse(t *testing.T) {
	t.Parallel()
	list, err := exec.Command("git", "-C", "..", "ls-files").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.Lines(string(list)) {
		name = strings.TrimSpace(name)
		if !slices.Contains(prose, path.Ext(name)) || data(name) {
			continue
		}
		text, err := os.ReadFile("../" + name)
		if os.IsNotExist(err) {
			continue // removed, and not yet committed
		} else if err != nil {
			t.Fatal(err)
		}
		for _, fault := range readProse(name, text) {
			t.Error(fault)
		}
	}
}

// readProse returns the lines of a file that are too wide.
func readProse(name string, text []byte) []string {
	var faults []string
	fenced := false
	raw := quoted(name, text)
	number := 0
	for line := range bytes.Lines(text) {
		number++
		l := strings.TrimRight(string(line), "\r\n")
		if strings.HasSuffix(name, ".md") && strings.HasPrefix(strings.TrimSpace(l), "```") {
			fenced = !fenced
		}
		if w := width(l); w > columns && !fenced && !raw[number] && !long(name, l) {
			faults = append(faults,
				fmt.Sprintf("%s:%d: %d columns, at most %d: %s", name, number, w, columns,
					excerpt(l)))
		}
	}
	return faults
}

// quoted returns the lines of a Go file that are in a raw string: templates, outputs, texts of
// help.
func quoted(name string, text []byte) map[int]bool {
	if path.Ext(name) != ".go" {
		return nil
	}
	file := token.NewFileSet().AddFile(name, -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, scanner.ScanComments)
	raw := map[int]bool{}
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return raw
		}
		if tok == token.STRING && lit[0] == '`' {
			at := file.Line(pos)
			for i := range strings.Count(lit, "\n") + 1 {
				raw[at+i] = true
			}
		}
	}
}

func width(line string) int {
	return utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
}

var literal = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.){30,}\"|`[^`]{30,}`?|'[^']{40,}'|/\\[[^/]{60,}\\]/|https?://\\S{30,}|^[^`]{20,}`")

// long reports whether a line may be as wide as it is: a row of a table, or one with a long
// literal.
func long(name, line string) bool {
	trimmed := strings.TrimSpace(line)
	switch path.Ext(name) {
	case ".md":
		return strings.HasPrefix(trimmed, "|") || strings.HasPrefix(line, "    ") ||
			strings.Contains(trimmed, "](") && !strings.Contains(trimmed, ". ")
	case ".go":
		row := strings.HasPrefix(trimmed, "{") && strings.HasSuffix(trimmed, ",")
		shown := strings.HasPrefix(trimmed, "//\t") || strings.HasPrefix(trimmed, "//  ") ||
			strings.HasPrefix(trimmed, "// {")
		return row || shown || literal.MatchString(trimmed)
	}
	return literal.MatchString(trimmed)
}

func excerpt(line string) string {
	r := []rune(strings.TrimSpace(line))
	return string(r[:min(len(r), 80)])
}
