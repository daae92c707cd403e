package rule_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/harness/check/rule"
)

// TestJoin tells findings of one cause as one, the worst first, and leaves the others alone.
func TestJoin(t *testing.T) {
	at := func(line int, condition string) rule.Place {
		return rule.Place{File: "a.jinja", Line: line, Col: 3, Condition: condition}
	}
	found := func(id string, s rule.Severity, at rule.Place, request string) rule.Result {
		return rule.Result{Suite: "a.jinja", Rule: id, Status: s.Status(), Severity: s, Place: at,
			Text: id + " happens\nrequest: " + request + "\nhelp: mend it"}
	}
	patched := found("A030", rule.Warning, at(4, "4:1"), "user")
	patched.Fixable = true
	old := found("A061", rule.Warning, at(4, "4:1"), "system, user")
	old.Old = true
	second := found("A146", rule.Error, at(9, ""), "user")
	second.Suite = "b.jinja"
	elsewhere := at(4, "4:1")
	elsewhere.File = "b.jinja"
	for _, c := range []struct {
		name string
		in   []rule.Result
		want string // the rules that stay, each with those that are lines of it
	}{
		{"in one condition the worst one stays", []rule.Result{
			found("A061", rule.Warning, at(4, "4:1"), "system, user"),
			found("A014", rule.Error, at(5, "4:1"), "user, assistant")}, "A014+A061"},
		{"in two conditions", []rule.Result{
			found("A014", rule.Error, at(5, "4:1"), "user"),
			found("A061", rule.Warning, at(6, "6:1"), "user")}, "A014 A061"},
		{"in conditions of two files", []rule.Result{
			found("A014", rule.Error, at(4, "4:1"), "user"),
			found("A061", rule.Warning, elsewhere, "user")}, "A014 A061"},
		{"at one place", []rule.Result{
			found("A012", rule.Error, at(7, ""), "user"),
			found("A030", rule.Warning, at(7, ""), "user")}, "A012 A030"},
		{"a consequence is told of its cause", []rule.Result{
			found("A003", rule.Error, at(7, ""), "user, assistant with one call"),
			found("A146", rule.Error, at(9, ""), "user, assistant with one call")}, "A146+A003"},
		{"a consequence that is worse tells of its cause", []rule.Result{
			found("A128", rule.Warning, at(9, ""), "user, assistant, tool"),
			found("A003", rule.Error, at(7, ""), "user, assistant")}, "A003+A128"},
		{"of a consequence another one follows", []rule.Result{
			found("A146", rule.Error, at(7, ""), "user, assistant"),
			found("A003", rule.Error, at(9, ""), "user, assistant"),
			found("A006", rule.Error, at(11, ""), "user, assistant")}, "A146+A003+A006"},
		{"the cause stays wherever the consequence stands", []rule.Result{
			found("A006", rule.Error, at(7, ""), "user, assistant"),
			found("A012", rule.Error, at(9, ""), "user, assistant"),
			found("A146", rule.Error, at(11, ""), "user, assistant")}, "A012 A146+A006"},
		{"of two templates", []rule.Result{
			found("A006", rule.Error, at(7, ""), "user"),
			second}, "A006 A146"},
		{"of other messages nothing follows", []rule.Result{
			found("A063", rule.Warning, at(7, ""), "system, user"),
			found("A083", rule.Warning, at(9, ""), "developer, user; with tools")}, "A063 A083"},
		{"a patch stays", []rule.Result{
			found("A014", rule.Error, at(5, "4:1"), "user"), patched}, "A014 A030"},
		{"what is old, a note or none joins nothing", []rule.Result{
			found("A014", rule.Error, at(5, "4:1"), "user"), old,
			found("A023", rule.Note, at(4, "4:1"), "user"), {Suite: "a.jinja", Rule: "A001"}},
			"A014 A061 A023 A001"},
	} {
		var got []string
		for _, res := range rule.Join(slices.Clone(c.in)) {
			one := res.Rule
			for line := range strings.Lines(res.Text) {
				if also, ok := strings.CutPrefix(line, "also "); ok {
					one += "+" + also[:4]
				}
			}
			got = append(got, one)
			if !strings.HasSuffix(res.Text, "mend it") && res.Text != "" {
				t.Errorf("%s: the help is not the last: %q", c.name, res.Text)
			}
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s, want %s", c.name, text, c.want)
		}
	}
}
