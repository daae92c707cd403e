package check

import (
	"fmt"
	"strings"

	"github.com/goassay/assay/harness/check/rule"
)

// Book has every rule: docs/reference/rules.md.
func Book() *rule.Book {
	var tail strings.Builder
	tail.WriteString("\n## Where they come from\n\nFaults that people met, as public trackers have " +
		"them, and the rules that would have caught them. " +
		"D rules are those of [changes](change-rules.md), S rules those of [servers](server-rules.md), " +
		"V rules those of [providers](provider-rules.md).\n\n| pain | event | seen in | rules |\n| --- | --- | --- | --- |\n")
	for _, p := range rule.Pains() {
		fmt.Fprintf(&tail, "| %s | %s | %s | %s |\n", p.ID, p.What, p.Seen,
			strings.Join(p.Rules, ", "))
	}
	return &rule.Book{
		Title: "Rules",
		Intro: "The rules of `assay check`. An error fails the check, a warning " +
			"and a note do not.",
		Rules: Rules(),
		Tail:  tail.String(),
	}
}
