package ci

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/harness/testkit/command"
)

const architecture = "../docs/internals/architecture.md"

var code = regexp.MustCompile("`([^`]+)`")

// tableRows returns the cells of the rows of the table below a heading; "" is the page's title.
func tableRows(t *testing.T, page, heading string) (rows [][]string) {
	t.Helper()
	text, found := readFile(t, page), true
	if heading != "" {
		_, text, found = strings.Cut(text, "\n## "+heading+"\n")
	}
	if !found {
		t.Fatalf("%s has no section %q", page, heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| ---") {
			rows = append(rows, strings.Split(strings.Trim(line, "| "), " | "))
		}
	}
	if len(rows) < 2 {
		t.Fatalf("%s has no table below %q", page, heading)
	}
	return rows[1:]
}

// TestPlaces demands that the questions of a newcomer are answered by places that exist, and that
// the first thing that an answer names stands there.
func TestPlaces(t *testing.T) {
	t.Parallel()
	asked := ""
	for _, row := range tableRows(t, architecture, "Where is it?") {
		asked += row[0] + " "
		place := strings.Trim(row[1], "`")
		files := []string{"../" + place}
		info, err := os.Stat(files[0])
		if err != nil {
			t.Errorf("%s %v", row[0], err)
			continue
		}
		if info.IsDir() {
			if files, err = filepath.Glob(files[0] + "/*.go"); err != nil {
				t.Fatal(err)
			}
		}
		thing := code.FindStringSubmatch(row[2])
		if place == "ci/api.txt" {
			continue // it names packages
		}
		if thing == nil || !slices.ContainsFunc(files, func(name string) bool {
			return strings.Contains(readFile(t, name), thing[1])
		}) {
			t.Errorf("%s %s has no %q", row[0], place, thing)
		}
	}
	for _, question := range []string{"a rule?", "a command?", "the parser machine?", "rendered?",
		"the corpus read?", "a case added?", "stable?"} {
		if !strings.Contains(asked, question) {
			t.Errorf("%s does not answer %q", architecture, question)
		}
	}
}

// TestCommandTable demands a row for each command, and that the command line imports the package
// that the row names.
func TestCommandTable(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(command.Path(t), "help").Output()
	if err != nil {
		t.Fatal(err)
	}
	var imports []string
	for _, p := range list(t) {
		if p.ImportPath == module+"cmd/assay" {
			imports = p.Imports
		}
	}
	var commands, listed []string
	_, groups, _ := strings.Cut(string(out), "\nStart here:\n")
	_, groups, ok := strings.Cut(groups, "\n\n") // what follows are the groups of commands
	if !ok {
		t.Fatalf("the help does not say where to start:\n%s", out)
	}
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z]+) +\S`).FindAllStringSubmatch(groups, -1) {
		commands = append(commands, m[1])
	}
	for _, row := range tableRows(t, architecture, "The commands") {
		for _, m := range code.FindAllStringSubmatch(row[0], -1) {
			listed = append(listed, m[1])
		}
		name := strings.Trim(row[1], "`")
		if name != "cmd/assay" && !slices.Contains(imports, module+name) {
			t.Errorf("%s: the command line does not import %s", row[0], name)
		}
	}
	slices.Sort(commands)
	slices.Sort(listed)
	if !slices.Equal(commands, listed) {
		t.Errorf("%s lists the commands\n%q\nthe program has\n%q", architecture, listed, commands)
	}
}

// TestRooms demands a row for each room of the harness.
func TestRooms(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir("../harness")
	if err != nil {
		t.Fatal(err)
	}
	var rooms, listed []string
	for _, entry := range entries {
		if entry.IsDir() {
			rooms = append(rooms, entry.Name())
		}
	}
	for _, row := range tableRows(t, architecture, "The rooms of the harness") {
		listed = append(listed, strings.Trim(row[0], "`"))
	}
	slices.Sort(listed)
	if !slices.Equal(rooms, listed) {
		t.Errorf("%s lists the rooms %q; harness has %q", architecture, listed, rooms)
	}
}

// TestEnginePackages demands that the map names each package of the engine, or the folder above it.
func TestEnginePackages(t *testing.T) {
	t.Parallel()
	named := []string{"", "internal"}
	for _, row := range tableRows(t, architecture, "The engine") {
		for _, m := range code.FindAllStringSubmatch(row[0], -1) {
			named = append(named, m[1])
		}
	}
	for name := range policy {
		if !slices.Contains(named, name) && !slices.Contains(named, path.Dir(name)) {
			t.Errorf("%s does not name engine/%s", architecture, name)
		}
	}
}
