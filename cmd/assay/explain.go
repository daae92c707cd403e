package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/diff"
	"github.com/goassay/assay/harness/report/spelling"
	"github.com/goassay/assay/harness/report/visible"
	"github.com/goassay/assay/harness/serve/live"
	"github.com/goassay/assay/harness/serve/provider"
)

var explainCommand = command{
	group: judging, name: "explain", args: "[RULE|WORD...]", takes: arity{0, -1, ""},
	files: words(ruleNames),
	short: "explain a rule: its damage and its fix",
	long: "RULE is an id, such as A012, D004 of changes or S014 of servers, or a name, such as " +
		"null-content-printed. Without one all rules are listed; with words, such as \"tool " +
		"result\", those whose texts have them all. \"all\" prints every page as Markdown.",
	setup: func(flags *flagSet) func(*call) error {
		json := flags.Bool("json", false, "print JSON")
		return func(c *call) error {
			return explain(c, *json)
		}
	},
}

// books have all rules: those of templates, of edits and of servers.
func books() []*rule.Book {
	return []*rule.Book{check.Book(), diff.Book(), live.Book(), provider.Book()}
}

func explain(c *call, json bool) error {
	switch {
	case len(c.args) == 0:
		return listRules(c, json, nil)
	case len(c.args) > 1:
		return listRules(c, json, c.args)
	case c.args[0] == allRules:
		return explainAll(c, json)
	}
	for _, book := range books() {
		r, ok := book.Lookup(c.args[0])
		switch {
		case !ok:
		case json:
			return writeJSON(c.stdout, r)
		default:
			_, err := fmt.Fprint(c.raw, r.Page(c.width(), c.colors(c.raw)))
			return err
		}
	}
	return listRules(c, json, c.args)
}

// listRules prints a line for each rule whose texts have all words, in any case.
func listRules(c *call, json bool, words []string) error {
	var found []rule.Rule
	for _, book := range books() {
		for _, r := range book.Rules {
			texts := strings.ToLower(strings.Join([]string{r.ID, r.Name, r.Short, r.Damage, r.Fix},
				" "))
			if !slices.ContainsFunc(words, func(word string) bool {
				return !strings.Contains(texts, strings.ToLower(word))
			}) {
				found = append(found, r)
			}
		}
	}
	switch {
	case len(found) == 0 && len(words) == 1:
		return fmt.Errorf("there is no rule %q%s, and none speaks of it; `assay explain` lists "+
			"all", words[0], spelling.Meant(words[0], ruleNames()))
	case len(found) == 0:
		return fmt.Errorf("no rule speaks of %s; `assay explain` lists all",
			strings.Join(words, " and "))
	case json:
		return writeJSON(c.stdout, found)
	}
	for _, r := range found {
		const indent = "                "
		fmt.Fprintln(c.stdout, visible.Fold(fmt.Sprintf("%s  %-7s  %s", r.ID, r.Severity, r.Short),
			c.width(), indent))
	}
	return nil
}

func explainAll(c *call, json bool) error {
	var rules []rule.Rule
	var pages []string
	for _, book := range books() {
		rules = append(rules, book.Rules...)
		pages = append(pages, book.Manual())
	}
	if json {
		return writeJSON(c.stdout, rules)
	}
	_, err := fmt.Fprint(c.stdout, strings.Join(pages, "\n"))
	return err
}

// allRules is the argument of explain that means every rule.
const allRules = "all"

// ruleNames names every rule, and all.
func ruleNames() []string {
	names := []string{allRules}
	for _, book := range books() {
		for _, r := range book.Rules {
			names = append(names, r.ID, r.Name)
		}
	}
	return names
}
