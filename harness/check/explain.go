package check

import (
	"fmt"
	"strings"

	"github.com/goassay/assay/harness/report"
)

// Explain describes a rule in Markdown; ok says that there is a rule with that id or name.
func Explain(id string) (text string, ok bool) {
	for _, r := range Rules() {
		if strings.EqualFold(r.ID, id) || r.Name == id {
			return r.Markdown(), true
		}
	}
	return "", false
}

// Manual is docs/rules.md: every rule, in the order of their ids.
func Manual() string {
	var b strings.Builder
	b.WriteString("# Rules\n\nWhat `assay check` looks for. An error fails the check, a warning and a note do not. " +
		"Ids never change their meaning.\nThis page is written by `make update` from the code; `assay explain A012` prints a part of it.\n")
	for _, r := range Rules() {
		text, _ := Explain(r.ID)
		b.WriteString("\n" + text)
	}
	b.WriteString("\n## Where they come from\n\nWhat goes wrong out there, as public trackers have it, and the rules that would have caught it. " +
		"D rules are those of `assay diff`, S rules those of `assay live --server`.\n\n| pain | what happened | seen in | rules |\n| --- | --- | --- | --- |\n")
	for _, p := range report.Pains() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", p.ID, p.What, p.Seen, strings.Join(p.Rules, ", "))
	}
	return b.String()
}
