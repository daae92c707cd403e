package script

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/goassay/assay/harness/corpus/families"
)

// borrowed are the commands of testscript that a case may use. The others run programs, or read and
// write files wherever they like.
var borrowed = []string{"skip", "stop"}

// conditions are the conditions that a case may use. The others look at the machine.
var conditions = []string{"vendor"}

// maxLines is how many lines a script may have before its files: testscript's log of them costs the
// square of their number.
const maxLines = 10_000

// texts are the commands whose arguments are no files.
var texts = []string{"fallback", "caps", "gate", "finish", "skip", "stop"}

// statement is a line of a script, read.
type statement struct {
	Conditions []string // without brackets; with "!" before one that must not hold
	Negated    bool
	Name       string // of the command; empty: the line has none
	Args       []string
}

// open reads a script that may run: all its commands and conditions are known, and names no
// file outside its folder.
func open(fsys fs.FS, file string) (*txtar.Archive, error) {
	data, err := fs.ReadFile(fsys, file)
	if err != nil {
		return nil, err
	}
	return readArchive(file, string(data))
}

func readArchive(file, text string) (*txtar.Archive, error) {
	if line := families.Nameless(text); line > 0 {
		return nil, &refusal{file, line, errors.New("the header of a file without a name")}
	}
	archive := txtar.Parse([]byte(text)) // the reader that testscript has
	return archive, vet(file, archive)
}

// refusal says why a script may not run.
type refusal struct {
	file string
	line int
	err  error
}

func (r *refusal) Error() string { return fmt.Sprintf("%s:%d: %v", r.file, r.line, r.err) }
func (r *refusal) Unwrap() error { return r.err }

func vet(file string, archive *txtar.Archive) error {
	seen := map[string]bool{}
	for _, f := range archive.Files {
		switch {
		case !inside(f.Name):
			return fmt.Errorf("%s: the file %q is outside the script's folder", file, f.Name)
		case seen[f.Name]:
			return fmt.Errorf("%s: the file %q is there twice", file, f.Name)
		}
		seen[f.Name] = true
	}
	if n := strings.Count(string(archive.Comment), "\n"); n > maxLines {
		return &refusal{file, maxLines, fmt.Errorf("a script of %d lines, more than %d; "+
			"divide it into several", n, maxLines)}
	}
	number := 0
	for line := range strings.Lines(string(archive.Comment)) {
		number++
		s, err := readLine(strings.TrimSuffix(line, "\n"))
		if err == nil {
			err = s.vet()
		}
		if err != nil {
			return &refusal{file, number, err}
		}
	}
	return nil
}

func (s statement) vet() error {
	for _, c := range s.Conditions {
		if !slices.Contains(conditions, strings.TrimPrefix(c, "!")) {
			return fmt.Errorf("unknown condition %q; there is %s", c,
				strings.Join(conditions, ", "))
		}
	}
	if s.Name == "" {
		return nil
	}
	if _, own := commands[s.Name]; !own && !slices.Contains(borrowed, s.Name) {
		known := append(slices.Collect(maps.Keys(commands)), borrowed...)
		slices.Sort(known)
		return fmt.Errorf("unknown command %q; there are %s", s.Name, strings.Join(known, ", "))
	}
	if slices.Contains(texts, s.Name) {
		return nil
	}
	for _, arg := range s.Args {
		if !inside(arg) {
			return fmt.Errorf("%s: %q may be outside the script's folder", s.Name, arg)
		}
	}
	return nil
}

// readLine reads a line as testscript reads it, except for variables: a line that names one is an
// error, since nothing in a case needs any.
func readLine(line string) (statement, error) {
	words, err := splitLine(line)
	if err != nil || len(words) == 0 {
		return statement{}, err
	}
	var s statement
	for strings.HasPrefix(words[0], "[") && strings.HasSuffix(words[0], "]") {
		c := strings.TrimSpace(words[0][1 : len(words[0])-1])
		if rest, negated := strings.CutPrefix(c, "!"); negated {
			c = "!" + strings.TrimSpace(rest)
		}
		s.Conditions = append(s.Conditions, c)
		if words = words[1:]; len(words) == 0 {
			return s, errors.New("a condition without a command after it")
		}
	}
	if words[0] == "!" {
		s.Negated = true
		if words = words[1:]; len(words) == 0 {
			return s, errors.New("a ! without a command after it")
		}
	}
	if s.Name, s.Args = words[0], words[1:]; s.Name == "" {
		return s, errors.New("a command without a name")
	}
	return s, nil
}

// splitLine splits a line into its words. Blanks stand between words, a # outside quotes begins a
// comment, single quotes hold any text, and two of them inside a quoted text are one.
func splitLine(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, quoted := false, false
	end := func() {
		if inWord {
			words = append(words, word.String())
			word.Reset()
			inWord = false
		}
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quoted && c == '\'' && i+1 < len(line) && line[i+1] == '\'':
			word.WriteByte(c)
			i++
		case c == '\'':
			quoted, inWord = !quoted, true
		case quoted:
			word.WriteByte(c)
		case c == '#':
			end()
			return words, nil
		case c == ' ' || c == '\t' || c == '\r':
			end()
		case c == '$':
			return nil, errors.New("a case has no variables; a $ in a text stands " +
				"between single quotes")
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if quoted {
		return nil, errors.New("a single quote is not closed")
	}
	end()
	return words, nil
}

// inside reports whether a name cannot lead out of a folder, and has no variable in it.
func inside(name string) bool { return filepath.IsLocal(name) && !strings.ContainsAny(name, `$\`) }
