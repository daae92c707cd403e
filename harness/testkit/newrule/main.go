// Command newrule writes the two files of a new rule, and lists the rule in its package:
//
//	go run ./harness/testkit/newrule A900 turns turn-closed-late
//
// It takes an id that no rule has, a package below harness/check/rules and the rule's name. The
// rule finds nothing until its function does, and its example fails until it is written.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

const rules = "harness/check/rules"

const declaration = `package %[1]s

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// %[2]s is the rule %[3]s: TODO.
var %[2]s = &probe.Rule{
	Rule: rule.Rule{
		ID: "%[3]s", Name: "%[4]s", Severity: rule.Warning, Harm: rule.Changed,
		Short:  "TODO: the meaning of a breach, one sentence.",
		Damage: "TODO: what happens to whom.",
		Fix:    "TODO: the remedy.",
	},
	Find: find%[2]s,
}

// find%[2]s looks for TODO.
func find%[2]s(s *probe.Subject, find probe.Finder) {}
`

const example = `TODO: one sentence of what happens.
-- bad.jinja --
TODO: a template with the fault
-- conversation.json --
{"messages": [{"role": "user", "content": "How warm is it in Oslo?"}]}
-- prompt --
TODO: the part of the bad prompt that shows the damage
-- finding --
%s:1
-- good.jinja --
TODO: the template without the fault
`

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr,
			"usage: newrule ID PACKAGE NAME, such as A900 turns turn-closed-late")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "newrule:", err)
		os.Exit(1)
	}
}

var (
	idForm   = regexp.MustCompile(`^A\d{3}$`)
	nameForm = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
)

func write(id, pkg, name string) error {
	if !idForm.MatchString(id) || !nameForm.MatchString(name) {
		return fmt.Errorf("%s %s: expected an id such as A900 and a name such as turn-closed-late",
			id, name)
	}
	own := strings.ToLower(id)
	taken, err := filepath.Glob(filepath.Join(rules, "*", own+"_*.go"))
	if err != nil {
		return err
	}
	if len(taken) > 0 {
		return fmt.Errorf("%s has the id %s already", taken[0], id)
	}
	dir := filepath.Join(rules, pkg)
	list := filepath.Join(dir, "rules.go")
	text, err := os.ReadFile(list)
	if err != nil {
		return fmt.Errorf("%w; expected a package below %s", err, rules)
	}
	variable := ""
	for word := range strings.SplitSeq(name, "-") {
		variable += strings.ToUpper(word[:1]) + word[1:]
	}
	whole, ok := strings.CutSuffix(string(text), "}\n")
	if !ok {
		return fmt.Errorf("%s does not end with its list of rules", list)
	}
	if err := os.MkdirAll(filepath.Join(dir, "testdata"), 0o755); err != nil {
		return err
	}
	for _, f := range []struct{ name, text string }{
		{filepath.Join(dir, own+"_"+strings.ReplaceAll(name, "-", "_")+".go"),
			fmt.Sprintf(declaration, pkg, variable, id, name)},
		{filepath.Join(dir, "testdata", own+"-"+name+".txtar"), fmt.Sprintf(example, id)},
		{list, whole + "\t" + variable + ",\n}\n"},
	} {
		if err := os.WriteFile(f.name, []byte(f.text), 0o644); err != nil {
			return err
		}
		fmt.Println(f.name)
	}
	return nil
}
