package probe

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Suppression silences one rule for one template.
type Suppression struct {
	Rule, Reason string
	At           Where // the comment; Nowhere for one from outside
	Used         bool  // it silenced a finding
}

// Standing is what a suppression of a rule does.
type Standing uint8

// The standings.
const (
	Unknown        Standing = iota // there is no such rule
	Suppressible                   // it silences the rule
	Unsuppressible                 // nothing silences the rule: without it the others are not heard
	OfModel                        // the rule is about the model that the template belongs to
)

var ignoreComment = regexp.MustCompile(`\{#[-+]?\s*assay:ignore\s+(\S*)([^#]*?)[-+]?#\}`)

// SuppressionsIn reads the comments of a template, and adds those given from outside.
func SuppressionsIn(text string, outside map[string]string) []*Suppression {
	var list []*Suppression
	for _, m := range ignoreComment.FindAllStringSubmatchIndex(text, -1) {
		list = append(list, &Suppression{Rule: text[m[2]:m[3]],
			Reason: strings.TrimSpace(text[m[4]:m[5]]), At: Offset(m[0])})
	}
	for id, reason := range outside {
		list = append(list, &Suppression{Rule: id, Reason: reason, At: Nowhere})
	}
	slices.SortFunc(list, func(a, b *Suppression) int { return strings.Compare(a.Rule, b.Rule) })
	return list
}

// suppressed reports whether a finding of a rule is silenced, and remembers that the suppression
// was needed. Where a comment would silence it and may not, note tells so.
func (s *Subject) suppressed(id string) (silenced bool, note string) {
	for _, sup := range s.Suppressions {
		if sup.Rule != id || sup.Reason == "" {
			continue
		}
		sup.Used = true
		if !sup.At.Known() || s.Options.Accepted == nil ||
			slices.Contains(*s.Options.Accepted, id) {
			return true, ""
		}
		note = fmt.Sprintf("\nThe template suppresses %s, which counts only where it was "+
			"accepted before.", id)
	}
	return false, note
}
