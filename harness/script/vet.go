package script

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

// borrowed are the commands of testscript that a case may use, with the number of arguments that are no files. The others, refused,
// run programs, or write and read wherever they like; a corpus from a stranger must not.
var (
	borrowed = map[string]int{"cmp": 0, "exists": 0, "grep": 1, "env": 99, "skip": 99, "stop": 99}
	refused  = []string{"cd", "chmod", "cmpenv", "cp", "exec", "kill", "mkdir", "mv", "rm", "stderr", "stdin", "stdout", "symlink", "ttyin", "ttyout", "unix2dos", "unquote", "wait"}
)

// texts are the commands of this package whose arguments are no files.
var texts = []string{"fallback", "caps", "gate", "finish"}

// vet says what a script does that a case may not: it runs none but the known commands, and touches nothing outside its folder.
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
	number := 0
	for line := range strings.Lines(string(archive.Comment)) {
		number++
		if err := vetCommand(line); err != nil {
			return fmt.Errorf("%s:%d: %w", file, number, err)
		}
	}
	return nil
}

func vetCommand(line string) error {
	if i := strings.IndexAny(line, "#'"); i >= 0 && line[i] == '#' { // behind a quote it may be none
		line = line[:i]
	}
	words := strings.Fields(strings.ReplaceAll(line, "'", "")) // at worst more words than there are
	if len(words) > 0 && words[0] == "[live]" {                // runs only where somebody named a model for this corpus
		return nil
	}
	for len(words) > 0 && (words[0] == "!" || words[0] == "?" || strings.HasPrefix(words[0], "[")) {
		words = words[1:]
	}
	if len(words) == 0 {
		return nil
	}
	name, args := words[0], words[1:]
	skip, ok := borrowed[name]
	if _, own := commands[name]; !ok && !own {
		if !slices.Contains(refused, name) && !strings.Contains(name, "$") {
			return nil // there is no such command, as the run will say
		}
		known := slices.Sorted(maps.Keys(commands))
		return fmt.Errorf("a case may not use the command %s; there are %s", name, strings.Join(append(known, slices.Sorted(maps.Keys(borrowed))...), ", "))
	}
	if slices.Contains(texts, name) {
		return nil
	}
	for _, arg := range args[min(skip, len(args)):] {
		if !inside(arg) {
			return fmt.Errorf("%s: %s may be outside the script's folder", name, arg)
		}
	}
	return nil
}

// inside says that a name cannot lead out of a folder, and has no variable in it.
func inside(name string) bool { return filepath.IsLocal(name) && !strings.ContainsAny(name, `$\`) }
