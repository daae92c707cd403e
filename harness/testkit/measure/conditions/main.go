// Command conditions asks what tests know of the conditions of packages: whether each was decided
// both ways, and, with -negate, whether any test fails when it is turned round.
//
//	go run ./harness/testkit/measure/conditions -of PATTERNS [-files REGEXP] [-negate] TESTS...
//
// PATTERNS are the packages that are instrumented, separated by commas, and TESTS the packages
// whose tests run, in patterns of the go command. A condition is an operand of && and || in an if,
// a for, a case without a tag, or a comparison that is returned. The packages are rebuilt by an
// overlay; no file of the tree changes.
//
// The measure is that of condition coverage (DO-178C, section 6.4.4.2, asks for it within MC/DC);
// negating conditions is mutation testing with one operator, compiled once ("mutant schemata",
// Untch, Offutt, Harrold 1993).
//
// # Stability
//
// This program may change with every release.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	var a asked
	flag.StringVar(&a.of, "of", "", "the `PACKAGES` whose conditions count, separated by commas")
	flag.StringVar(&a.files, "files", "", "only files whose base name matches this `REGEXP`")
	flag.StringVar(&a.split, "split", "", "tests whose subtests run alone, by a `REGEXP`")
	flag.StringVar(&a.skip, "skip", "", "leave out tests whose names match this `REGEXP`")
	flag.BoolVar(&a.negate, "negate", false, "turn each condition round and run the tests")
	flag.StringVar(&a.list, "list", "", "write the conditions that tests do not know to a `FILE`")
	flag.Parse()
	a.tests = flag.Args()
	if err := run(os.Stdout, a); err != nil {
		fmt.Fprintln(os.Stderr, "conditions:", err)
		os.Exit(1)
	}
}

// asked is what the flags ask for.
type asked struct {
	of, files, split, skip string
	negate                 bool
	list                   string
	tests                  []string
}

func run(out io.Writer, a asked) error {
	match, err := regexp.Compile(a.files)
	if err != nil {
		return fmt.Errorf("-files: %w", err)
	}
	split, err := regexp.Compile("^(?:" + a.split + ")$")
	if err != nil {
		return fmt.Errorf("-split: %w", err)
	}
	pkgs, err := packages(strings.Split(a.of, ","))
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "conditions")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	b, err := instrument(pkgs, match.MatchString, folder)
	if err != nil {
		return err
	}
	programs, err := compile(b, a, folder)
	if err != nil {
		return err
	}
	var left []miss
	if a.negate {
		left, err = negated(b, programs, split)
	} else {
		left, err = undecided(b, programs)
	}
	if err != nil {
		return err
	}
	table(out, b, left)
	if a.list == "" {
		return nil
	}
	return os.WriteFile(a.list, []byte(lines(left)), 0o666)
}

// miss is a condition that tests do not know, and what they miss.
type miss struct {
	condition
	what string
}

// lines writes misses, a line each.
func lines(all []miss) string {
	var b strings.Builder
	for _, m := range all {
		fmt.Fprintf(&b, "%s: %s\n", m.condition, m.what)
	}
	return b.String()
}

// table writes a row a package: how many conditions it has, and how many of them tests know.
func table(out io.Writer, b *build, left []miss) {
	type row struct{ all, missed int }
	rows, names := map[string]*row{}, []string{}
	for _, c := range b.conditions {
		if rows[c.pkg] == nil {
			rows[c.pkg] = new(row)
			names = append(names, c.pkg)
		}
		rows[c.pkg].all++
	}
	for _, m := range left {
		rows[m.pkg].missed++
	}
	slices.Sort(names)
	fmt.Fprintln(out, "| package | conditions | known | share |\n| --- | --- | --- | --- |")
	for _, name := range names {
		line(out, filepath.ToSlash(strings.TrimPrefix(name, "github.com/goassay/assay/")),
			rows[name].all, rows[name].missed)
	}
	line(out, "all", len(b.conditions), len(left))
}

func line(out io.Writer, name string, all, missed int) {
	fmt.Fprintf(out, "| %s | %d | %d | %.1f%% |\n", name, all, all-missed,
		100*float64(all-missed)/float64(max(all, 1)))
}
