package rule_test

import (
	"strings"
	"testing"

	"github.com/goassay/assay/harness/check/rule"
)

// TestExampleForm reads examples of each form, and refuses others.
func TestExampleForm(t *testing.T) {
	const asked = "-- conversation.json --\n{}\n-- prompt --\np\n"
	for _, c := range []struct{ about, text, want string }{
		{"a template", "s\n-- bad.jinja --\nb\n" + asked + "-- finding --\nA001:1\n-- good.jinja --\ng\n", ""},
		{"a model", "s\n-- bad/a.json --\nb\n-- bad/b --\nb\n-- finding --\nA001\n-- good/a.json --\ng\n", ""},
		{"flags", "s\n-- bad.jinja --\nb\n-- flags --\n--client x\n-- finding --\nA001\n-- good.jinja --\ng\n", ""},
		{"no sentence", "-- bad.jinja --\nb\n-- finding --\nA001\n-- good.jinja --\ng\n", "the comment is empty"},
		{"no good one", "s\n-- bad.jinja --\nb\n-- finding --\nA001\n", "good.jinja"},
		{"a conversation without its prompt", "s\n-- bad.jinja --\nb\n-- conversation.json --\n{}\n-- finding --\nA001\n-- good.jinja --\ng\n", "prompt or error"},
		{"another order", "s\n-- good.jinja --\ng\n-- finding --\nA001\n-- bad.jinja --\nb\n", "expected bad.jinja"},
		{"an empty file", "s\n-- bad.jinja --\n-- finding --\nA001\n-- good.jinja --\ng\n", "bad.jinja is empty"},
		{"no rule", "s\n-- bad.jinja --\nb\n-- finding --\nline 3\n-- good.jinja --\ng\n", "such as A058:7"},
	} {
		_, err := rule.ParseExample([]byte(c.text))
		if c.want == "" && err != nil || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.about, err, c.want)
		}
	}
}

// TestExampleOfModel prints the change of a model's folder with the names of the files that differ.
func TestExampleOfModel(t *testing.T) {
	e := rule.Example{Summary: "s", Flags: []string{"--client", "x"},
		Bad: []rule.File{{Name: "same", Text: "1"}, {Name: "a", Text: "x\ny"},
			{Name: "gone", Text: "z"}},
		Good: []rule.File{{Name: "same", Text: "1"}, {Name: "a", Text: "x\nw"},
			{Name: "new", Text: "v"}}}
	const want = "```diff\n@@ a @@\n x\n-y\n+w\n@@ gone @@\n-z\n@@ new @@\n+v\n```\n\n" +
		"`assay check --client x` finds it.\n"
	if got := e.Markdown(); !strings.HasSuffix(got, want) {
		t.Errorf("%s\nwant at its end\n%s", got, want)
	}
}
