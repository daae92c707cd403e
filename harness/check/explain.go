package check

import (
	"fmt"
	"slices"
	"strings"
)

// Explain describes a rule in Markdown; ok says that there is a rule with that id or name.
func Explain(id string) (text string, ok bool) {
	for _, r := range Rules() {
		if strings.EqualFold(r.ID, id) || r.Name == id {
			text := fmt.Sprintf("## %s\n\n**%s** (%s). %s\n\n*Damage:* %s\n\n*Fix:* %s\n", r.ID, r.Name, r.Severity, r.Short, r.Damage, r.Fix)
			for _, p := range pains {
				if slices.Contains(p.Rules, r.ID) {
					text += fmt.Sprintf("\n*Seen* (%s): %s: %s.\n", p.ID, p.What, p.Seen)
				}
			}
			return text, true
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
		"D rules are those of `assay diff`.\n\n| pain | what happened | seen in | rules |\n| --- | --- | --- | --- |\n")
	for _, p := range pains {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", p.ID, p.What, p.Seen, strings.Join(p.Rules, ", "))
	}
	return b.String()
}
