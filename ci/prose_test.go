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
		strings.Contains(name, "/testdata/") || name == "engine/jinja/pystr_tables.go" ||
		name == "ci/prose_test.go"
}

// stumbles are turns of phrase that a reader stumbles over, each with a better one. TestProse looks
// for them in comments, in documents and in the messages of programs.
var stumbles = []struct {
	pattern *regexp.Regexp
	better  string
}{
	{regexp.MustCompile(`(^|[.:;] )What [a-z]+(?: [a-z]+)*[^?]*$`), "begin with the actor: \"Text that cannot be read is ...\""},
	{regexp.MustCompile(`\b(is|are|was|were|be|of|from|with|without|by|in|into|on|to|against|for|` +
		`beside|before|after|between|but|than|as|at) what [a-z]+ [a-z]`), "name the thing: \"the text after a key\" for \"what follows a key\""},
	{regexp.MustCompile(`\b(return|hold|keep|take|give|add|print|write|read|find|drop|match|` +
		`close|open|name|say|list|note|collect|compare|bound|cover|reject|refuse)s what [a-z]+ ?[a-z]`), "name the thing: \"returns the text after a key\""},
	{regexp.MustCompile(`\bsays? (that|whether|how)\b`), "a predicate reports whether, a text states that, a type describes how"},
	{regexp.MustCompile(`\bbehind\b`), "\"after\" for what follows; \"behind\" is for places"},
	{regexp.MustCompile(`\bbut for\b`), "\"except for\""},
	{regexp.MustCompile(`\bholds? [^.;:]{1,60} against\b`), "\"compares ... with\""},
	{regexp.MustCompile(`\bwhoever\b`), "name the actor: the user, the author, a server"},
	{regexp.MustCompile(`\bif that is\b|, if any is\b|\bnone but\b|\bthat is none\b`), "say who or what is meant"},
}

// TestProse checks the width of the whole repository, and its English.
func TestProse(t *testing.T) {
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

// readProse returns the faults in the prose of a file.
func readProse(name string, text []byte) []string {
	var faults []string
	fenced := false
	raw, messages := quoted(name, text)
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
		var texts []string
		if words, ok := sentence(name, l); ok && !fenced {
			texts = append(texts, words)
		}
		for _, words := range append(texts, messages[number]...) {
			for _, s := range stumbles {
				if s.pattern.MatchString(words) {
					faults = append(faults,
						fmt.Sprintf("%s:%d: %s: %s", name, number, s.better, excerpt(words)))
				}
			}
		}
	}
	return faults
}

// quoted returns the lines of a Go file that are in a raw string (templates, outputs, texts of
// help), and by line the messages of a program: its string literals, tests excepted.
func quoted(name string, text []byte) (raw map[int]bool, messages map[int][]string) {
	if path.Ext(name) != ".go" {
		return nil, nil
	}
	file := token.NewFileSet().AddFile(name, -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, scanner.ScanComments)
	raw, messages = map[int]bool{}, map[int][]string{}
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return raw, messages
		} else if tok != token.STRING {
			continue
		}
		at := file.Line(pos)
		for i, words := range strings.Split(strings.Trim(lit, "`\""), "\n") {
			raw[at+i] = raw[at+i] || lit[0] == '`'
			if !strings.HasSuffix(name, "_test.go") {
				messages[at+i] = append(messages[at+i], words)
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

// sentence returns the prose of a line: of code its comment, of a document all of it.
func sentence(name, line string) (string, bool) {
	trimmed := strings.TrimSpace(line)
	switch path.Ext(name) {
	case ".md":
		return trimmed, true
	case ".go", ".js", ".mjs":
		_, words, ok := strings.Cut(line, "// ")
		return words, ok
	}
	words, ok := strings.CutPrefix(trimmed, "# ")
	return words, ok
}

func excerpt(line string) string {
	r := []rune(strings.TrimSpace(line))
	return string(r[:min(len(r), 80)])
}
