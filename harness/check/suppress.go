package check

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goassay/assay/harness/rule"
)

// suppression silences one rule for one template.
type suppression struct {
	rule, reason string
	at           where // the comment; nowhere for one from outside
	used         bool
}

var ignoreComment = regexp.MustCompile(`\{#[-+]?\s*assay:ignore\s+(\S*)([^#]*?)[-+]?#\}`)

// suppressionsOf reads the comments of a template, and adds those given from outside.
func suppressionsOf(text string, outside map[string]string) []*suppression {
	var list []*suppression
	for _, m := range ignoreComment.FindAllStringSubmatchIndex(text, -1) {
		list = append(list, &suppression{rule: text[m[2]:m[3]],
			reason: strings.TrimSpace(text[m[4]:m[5]]), at: where(m[0])})
	}
	for id, reason := range outside {
		list = append(list, &suppression{rule: id, reason: reason, at: nowhere})
	}
	slices.SortFunc(list, func(a, b *suppression) int { return strings.Compare(a.rule, b.rule) })
	return list
}

// never are the rules that nothing suppresses: without them the others are not heard.
var never = []string{"A001", "A002", "A098", "A099", knowsTests, plants, repeats, TooCostly,
	ToolsRequired}

// Suppressed returns the rules that the comments of a template suppress. In a gate, a new revision
// may suppress those rules that the accepted one suppresses ([Options].Accepted).
func Suppressed(text string) []string {
	var ids []string
	for _, sup := range suppressionsOf(text, nil) {
		if sup.reason != "" {
			ids = append(ids, sup.rule)
		}
	}
	return ids
}

// suppressed reports whether a finding of a rule is silenced, and remembers that the suppression
// was needed. Where a comment would silence it and may not, note tells so.
func (s *Subject) suppressed(id string) (silenced bool, note string) {
	if slices.Contains(never, id) {
		return false, ""
	}
	for _, sup := range s.suppressions {
		if sup.rule != id || sup.reason == "" {
			continue
		}
		sup.used = true
		if sup.at == nowhere || s.Options.Accepted == nil ||
			slices.Contains(*s.Options.Accepted, id) {
			return true, ""
		}
		note = fmt.Sprintf("\nThe template suppresses %s, which counts only where it was "+
			"accepted before.", id)
	}
	return false, note
}

// suppressionRules come last, when it is known which suppressions were needed.
var suppressionRules = []lookout{
	{Rule: rule.Rule{ID: "A098", Name: "suppression-invalid", Severity: rule.Error,
		Short:  "A suppression names no rule or one that cannot be suppressed, or gives no reason.",
		Damage: "A finding is silenced and nobody remembers why, or not silenced at all.",
		Fix:    "Write {# assay:ignore A021 and then why #}."}, Group: groupLint, Find: checkSuppressions},
	{Rule: rule.Rule{ID: "A099", Name: "suppression-unused", Severity: rule.Error,
		Short:  "A suppression silences nothing.",
		Damage: "The next fault of that kind is silenced too.",
		Fix:    "Remove the suppression."}, Group: groupLint, Find: checkUnused},
}

func checkSuppressions(s *Subject, find finder) {
	for _, sup := range s.suppressions {
		switch {
		case isModelRule(sup.rule):
			find(sup.at, "assay:ignore names %s, which is about the model that the template "+
				"belongs to; a template cannot suppress it", sup.rule)
		case slices.Contains(never, sup.rule):
			find(sup.at, "assay:ignore names %s, which cannot be suppressed", sup.rule)
		case !s.isRule(sup.rule):
			find(sup.at, "assay:ignore names %q, which is no rule", sup.rule)
		case sup.reason == "":
			find(sup.at, "assay:ignore %s gives no reason", sup.rule)
		}
	}
}

func checkUnused(s *Subject, find finder) {
	for _, sup := range s.suppressions {
		if !sup.used && sup.reason != "" && s.isRule(sup.rule) &&
			!slices.Contains(never, sup.rule) {
			find(sup.at, "assay:ignore %s (%s) silences nothing", sup.rule, sup.reason)
		}
	}
}

func isModelRule(id string) bool {
	return slices.ContainsFunc(modelRules, func(r modelLookout) bool { return r.ID == id })
}

func (s *Subject) isRule(id string) bool {
	return slices.ContainsFunc(s.rules, func(r lookout) bool { return r.ID == id })
}
