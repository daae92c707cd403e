// Package equivalence shows that a family's own template stands for the vendors' templates of the
// family.
//
// # The parts that are the same
//
// Two templates are equivalent where they can do the same, have the same output format and parse
// every case of the family alike. The cases say the last, since each runs with every template of
// its family (package script). This package compares the other two, line by line, as golden markers
// ([Text]):
//
//   - the capabilities, all of them (E26);
//   - the format's spelling: the modes of reasoning and content, their markers and whether the
//     template trims there, the section, the markers around calls, separators, the parts of a call
//     with its ids and counters, the members of a JSON object, how arguments are enclosed, keyed,
//     valued, escaped and sorted, and the routes ([format.Format.Spelling]).
//
// The frame of a turn of the chat (header and end) and the white space at the edges of markers are
// no part of it: a parser reads the one off its own template and takes the other as it comes. The
// result of verification for a shape of turn is none either; a template that drops content beside
// calls has the format of one that keeps it.
//
// # Declared differences
//
// A vendor template may differ where families.txt says so and why:
//
//	vendor.jinja differs in supports_tools: the reason
//
// names lines of the text. That is for faults which our own template should not have; a format of
// its own is a family of its own. A declared difference that does not exist, or a name that no
// template has a line of, is a failure, so that the list stays true.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package equivalence

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/corpus/families"
)

// Group is the group of the results, a column of the matrix.
const Group = "equivalent"

// Text returns the parts that must be the same in all templates of a family: a line "name: value"
// for each capability and each field of the format's spelling, in a fixed order.
func Text(t *engine.Template) string {
	return t.Caps().String() + t.Analysis().Format.Spelling().String()
}

// Compare compares a vendor's template with the own one of its family; own is that one's [Text].
// The differences that families.txt declares must be there, and no others.
func Compare(v families.Vendor, own string, vendor *engine.Template) rule.Result {
	res := rule.Result{Suite: v.Name, Group: Group, Name: "equivalent",
		Place: rule.Place{File: v.Name}}
	if faults := faults(v, own, Text(vendor)); len(faults) > 0 {
		res.Status, res.Severity, res.Text = rule.Failed, rule.Error, strings.Join(faults, "\n")
	}
	return res
}

// faults returns the faults between two texts, given the declared differences.
func faults(v families.Vendor, own, vendor string) []string {
	ours, theirs := lines(own), lines(vendor)
	var faults []string
	for _, name := range v.Differs {
		switch {
		case ours[name] == "" && theirs[name] == "":
			faults = append(faults, fmt.Sprintf("families.txt declares a difference in %s, which "+
				"is no line of either template", name))
		case ours[name] == theirs[name]:
			faults = append(faults, fmt.Sprintf("families.txt declares a difference in %s, but "+
				"the templates agree; remove it", name))
		}
		own, vendor = without(own, name), without(vendor, name)
	}
	if own != vendor {
		faults = append(faults, fmt.Sprintf("is not equivalent to the family's own template "+
			"%s/%s; change that one, or give the vendor's a family of its own\n%s",
			v.Family, families.OwnTemplate,
			diff.Diff("own", []byte(own), "vendor", []byte(vendor))))
	}
	return faults
}

// lines returns a text's lines by their names; lines of one name are joined.
func lines(text string) map[string]string {
	byName := map[string]string{}
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(line, ":")
		byName[name] += line
	}
	return byName
}

// without returns a text without the lines of a name.
func without(text, name string) string {
	return strings.Join(slices.DeleteFunc(slices.Collect(strings.Lines(text)),
		func(line string) bool {
			return strings.HasPrefix(line, name+":")
		}), "")
}
