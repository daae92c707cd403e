package equivalence_test

import (
	"os"
	"strings"
	"testing"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/equivalence"
	"github.com/goassay/assay/harness/corpus/families"
)

// TestVendors compares every vendor template with the own one of its family. ASSAY_VENDOR is the
// folder of the vendors' templates (make test sets it).
func TestVendors(t *testing.T) {
	dir := os.Getenv("ASSAY_VENDOR")
	if dir == "" {
		t.Skip("ASSAY_VENDOR is not set; `make test` sets it")
	}
	c, err := families.Load(corpus.FS)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range c.Families {
		if len(f.Vendors) == 0 {
			continue
		}
		text, err := c.Text(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		own := equivalence.Text(compile(t, f.Name, text))
		for _, v := range f.Vendors {
			t.Run(v.Name, func(t *testing.T) {
				text, err := families.ReadVendor(os.DirFS(dir), v)
				if err != nil {
					t.Fatal(err)
				}
				if res := equivalence.Compare(v, own,
					compile(t, v.Name, text)); res.Status != rule.Passed {
					t.Error(res.Text)
				}
			})
		}
	}
}

func compile(t *testing.T, name, text string) *engine.Template {
	t.Helper()
	compiled, err := subject.New(name, text).Compile()
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// call is a template with calls in an element whose name is to be filled in, between given ends of
// the turn.
func call(element, end string, tools bool) string {
	describe := ""
	if tools {
		describe = "{{ tools | tojson if tools }}"
	}
	return describe + `{% for m in messages %}<{{ m.role }}>{{ m.content or '' }}` +
		`{% for c in m.tool_calls or [] %}` + "\n<" + element + `>{{ c.function | tojson }}</` + element + `>{% endfor %}` + end + `{% endfor %}` +
		`{% if add_generation_prompt %}<assistant>{% endif %}`
}

func TestCompare(t *testing.T) {
	own := call("call", "<end>", true)
	for _, c := range []struct {
		name, vendor string
		differs      []string
		want         []string // parts of the failure; none: it passes
	}{
		{"itself", own, nil, nil},
		{"another end of the turn", call("call", "<stop>", true), nil, nil},
		{"white space beside a marker", strings.Replace(own, "\n<call>", "<call>\n", 1), nil, nil},
		{"another marker", call("tool", "<end>", true), nil, []string{
			"not equivalent to the family's own template " +
				"family/template.jinja", `-per_call_start: "<call>"`, `+per_call_start: "<tool>"`}},
		{"a capability less", call("call", "<end>", false), nil, []string{"-supports_tools: true", "+supports_tools: false"}},
		{"a declared difference", call("call", "<end>", false), []string{"supports_tools"}, nil},
		{"a declared difference and another one", call("tool", "<end>", false), []string{"supports_tools"}, []string{`+per_call_start: "<tool>"`}},
		{"a declared difference that does not exist", own, []string{"supports_tools"}, []string{
			"declares a difference in supports_tools, but the templates agree; remove it"}},
		{"an unknown name", own, []string{"toolss"}, []string{"declares a difference in toolss, which is no line of either template"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := families.Vendor{Name: "vendor.jinja", Family: "family", Differs: c.differs}
			res := equivalence.Compare(v, equivalence.Text(compile(t, "own", own)),
				compile(t, v.Name, c.vendor))
			if failed := res.Status == rule.Failed; failed != (c.want != nil) {
				t.Errorf("failed: %t\n%s", failed, res.Text)
			}
			for _, want := range c.want {
				if !strings.Contains(res.Text, want) {
					t.Errorf("no %q in\n%s", want, res.Text)
				}
			}
		})
	}
}
