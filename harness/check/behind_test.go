package check_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
)

// TestBehind plants several faults in a healthy template, of which the first one hides the others,
// and asks for the rule and the line of each.
func TestBehind(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../corpus/hermes/template.jinja")
	if err != nil {
		t.Fatal(err)
	}
	const (
		tool    = "{{- tool | tojson + '\\n' }}"
		content = "(message.content or '')"
		result  = "'\\n<tool_response>\\n' + message.content +"
		end     = "'<|im_end|>\\n' if loop.last or"
		called  = "else function.arguments | tojson }}"
	)
	for _, c := range []struct {
		name  string
		edits []string // old and new texts
		want  []string
	}{
		{"an unknown filter alone", []string{tool, "{{- tool | to_jsn + '\\n' }}"},
			[]string{"A001:11"}},
		{"a result alone", []string{result, "'\\n<tool_response>\\n' + message.contents.text +"},
			[]string{"A066:34"}},
		{"objects joined to text, and null content", []string{tool, "{{- tool + '\\n' }}",
			content, "message.content"}, []string{"A012:22", "A066:11"}},
		{"an unknown filter, null content, an unknown field", []string{
			tool, "{{- tool | to_jsn + '\\n' }}", content, "message.content",
			result, "'\\n<tool_response>\\n' + message.contents.text +"},
			[]string{"A001:11", "A012:22", "A066:34"}},
		{"an unknown method, an end that is missing, values as Python", []string{
			result, "'\\n<tool_response>\\n' + message.content.text() +",
			end, "'' if loop.last or", called, "else function.arguments }}"},
			[]string{"A058:30", "A066:34", "A068:27"}},
		{"a part of the content that is not there", []string{content,
			"('<t>' + message.content.split('</t>', 1)[1] if message.content else '')"},
			[]string{"A066:22"}},
		{"an error that is raised by accident, and null content", []string{
			tool, "{{- tool | tojson + '\\n' }}{{ raise_eror('A tool.') }}",
			content, "message.content"}, []string{"A012:22", "A066:11"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			edited := string(text)
			for i := 0; i < len(c.edits); i += 2 {
				if !strings.Contains(edited, c.edits[i]) {
					t.Fatalf("the template has no %q", c.edits[i])
				}
				edited = strings.Replace(edited, c.edits[i], c.edits[i+1], 1)
			}
			var got []string
			for _, r := range check.Template(subject.New("template", edited), check.Options{}) {
				switch {
				case r.Status == rule.Unjudged && r.Group != probe.GroupVerify &&
					r.Group != probe.GroupGrammar && r.Group != probe.GroupStream &&
					r.Group != probe.GroupLeak: // the proof of a format is void
					t.Errorf("%s is not judged: %s", r.Rule, r.Text)
				case r.Status == rule.Failed || r.Status == rule.Found && r.Severity > rule.Note:
					got = append(got, fmt.Sprintf("%s:%d", r.Rule, r.Place.Line))
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// TestBehindNote asks that a finding behind another one says so, at its place in the template as it
// was given.
func TestBehindNote(t *testing.T) {
	t.Parallel()
	text := "{%- for message in messages %}<|{{ message.role | caps }}|>\n" +
		"{% if message.role != 'system' %}{{ message.content }}{% endif %}<|end|>\n{% endfor %}" +
		"{%- if add_generation_prompt %}<|assistant|>\n{% endif %}"
	for _, r := range check.Template(subject.New("template", text), check.Options{}) {
		if r.Rule != "A013" || r.Status == rule.Passed {
			continue
		}
		const want = "\nline 1 fails first: this was found after replacing " +
			"`message.role | caps` there"
		if r.Place.Line != 2 || !strings.Contains(r.Text, want) {
			t.Errorf("line %d, %s", r.Place.Line, r.Text)
		}
		return
	}
	t.Error("the lost system message is not found")
}

// TestBehindSelected asks that a selection of rules is a part of what all of them find.
func TestBehindSelected(t *testing.T) {
	t.Parallel()
	text := "{%- for m in messages %}<|{{ m.role }}|>{{ m.text.first + '\n' }}" +
		"{% if m.role != 'system' %}{{ m.content }}{% endif %}<|end|>\n{% endfor %}" +
		"{%- if add_generation_prompt %}<|assistant|>\n{% endif %}"
	found := func(o check.Options) (all []string) {
		for _, r := range check.Template(subject.New("template", text), o) {
			if r.Rule == "A013" {
				all = append(all, r.Status.String()+" "+r.Text)
			}
		}
		return all
	}
	alone, all := found(check.Options{Only: []string{"A013"}}), found(check.Options{})
	if len(all) != 1 || !slices.Equal(alone, all) ||
		!strings.Contains(all[0], "line 1 fails first") {
		t.Errorf("%q alone, %q among all", alone, all)
	}
}
