package check

import (
	"fmt"
	"strings"

	"github.com/goassay/assay/harness/report"
)

// Manual is docs/rules.md: every rule, in the order of their ids.
func Manual() string {
	var b strings.Builder
	b.WriteString("# Rules\n\nWhat `assay check` looks for. An error fails the check, a warning and a note do not. " +
		"Ids never change their meaning.\nThis page is written by `make update` from the code; `assay explain A012` prints a part of it.\n")
	for _, r := range Rules() {
		b.WriteString("\n" + r.Markdown())
	}
	b.WriteString("\n## Where they come from\n\nWhat goes wrong out there, as public trackers have it, and the rules that would have caught it. " +
		"D rules are those of [changes](change-rules.md), S rules those of [servers](server-rules.md).\n\n| pain | what happened | seen in | rules |\n| --- | --- | --- | --- |\n")
	for _, p := range report.Pains() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", p.ID, p.What, p.Seen, strings.Join(p.Rules, ", "))
	}
	return b.String()
}
