package edit_test

import (
	"slices"
	"testing"

	"github.com/goassay/assay/engine/jinja/edit"
	"github.com/goassay/assay/engine/source"
)

func parse(t *testing.T, text string) *edit.Template {
	t.Helper()
	parts, err := edit.Parse(source.New("t", text))
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

// TestWraps puts the expression x or x.y of a template through each constructor.
func TestWraps(t *testing.T) {
	t.Parallel()
	or := func(n *edit.Node) []edit.Edit { return n.Or("''") }
	filter := func(n *edit.Node) []edit.Edit { return n.Through("trim") }
	choice := func(n *edit.Node) []edit.Edit { return n.Else("z if z") }
	for _, c := range []struct {
		text, find string
		wrap       func(*edit.Node) []edit.Edit
		want       string
	}{
		{"{{ x }}", "x", or, "{{ x or '' }}"},
		{"{{ x|upper }}", "x", or, "{{ (x or '')|upper }}"},
		{"{% if x %}{% endif %}", "x", or, "{% if x or '' %}{% endif %}"},
		{"{{ x if a else b }}", "x if a else b", or, "{{ (x if a else b) or '' }}"},
		{"{{ x.y }}", "x", filter, "{{ (x|trim).y }}"},
		{"{{ x + 1 }}", "x + 1", filter, "{{ (x + 1)|trim }}"},
		{"{{ (x + 1) }}", "(x + 1)", filter, "{{ (x + 1)|trim }}"},
		{"{{ f(x) }}", "x", choice, "{{ f(z if z else x) }}"},
		{"{% for m in x %}{% endfor %}", "x", choice,
			"{% for m in (z if z else x) %}{% endfor %}"},
		{"{{ x and y }}", "x and y", func(n *edit.Node) []edit.Edit { return n.And("z") },
			"{{ x and y and z }}"},
	} {
		parts := parse(t, c.text)
		got := "no such expression"
		for n := range parts.All() {
			if n.IsExpr() && n.Source == c.find {
				got, _ = edit.Apply(c.text, c.wrap(n)...)
				break
			}
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.text, got, c.want)
		}
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{{ x.key }}", "{{ x['key'] }}", "{{ x.get('key') }}",
		"{{ x.get('key', 1) }}"} {
		for n := range parse(t, text).All() {
			if key, of, ok := n.Field(); ok {
				if key != "key" || of.Source != "x" {
					t.Errorf("%s: got %q of %q", text, key, of.Source)
				}
				break
			}
		}
	}
}

func TestWritten(t *testing.T) {
	t.Parallel()
	parts := parse(t, "{% if a %}1{% elif b %}2{% else %}3{% endif %}{% macro m() %}4{% endmacro %}")
	var got []string
	for _, n := range parts.Body {
		for _, body := range n.Written() {
			got = append(got, body[0].Source)
		}
	}
	if want := []string{"1", "2", "3"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestGuarded(t *testing.T) {
	t.Parallel()
	const stripped = "a\n  {{- x }}"
	for text, want := range map[string]string{
		stripped:   "a\n  {%- if c %}\n      {{- y }}\n  {%- endif %}\n  {{- x }}",
		"a{{ x }}": "a{% if c %}{{- y }}{%- endif %}{{ x }}",
	} {
		parts := parse(t, text)
		for n := range parts.All() {
			if !n.Is(edit.Name, "x") {
				continue
			}
			got, _ := edit.Apply(text, parts.Guarded(n.Print.From, "c", "{{- y }}"))
			if got != want {
				t.Errorf("%q: got %q, want %q", text, got, want)
			}
		}
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	got, made := edit.Apply("abcdef", edit.Insert(4, "2"), edit.Edit{From: 1, To: 3, Text: "X"},
		edit.Edit{From: 2, To: 4, Text: "left out"}, edit.Insert(4, "3"))
	if got != "aXd23ef" || len(made) != 3 || !edit.Apart(made) {
		t.Errorf("got %q, %v", got, made)
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	const text = "a'b\"\\\n\t\r"
	for _, mark := range []string{"'", `"`} {
		for n := range parse(t, "{{ "+edit.Quote(text, mark)+" }}").All() {
			if n.IsLiteral() && n.Content() != text {
				t.Errorf("%s: got %q", mark, n.Content())
			}
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	parts := edit.Read(source.New("t", "{% if %}"))
	if from, to := parts.OnLine(3); from != 3 || to != 4 || len(parts.Hollows()) > 0 {
		t.Errorf("a text that is no template: %d to %d", from, to)
	}
	parts = edit.Read(source.New("t", "{% if a.b %}{% endif %}"))
	if from, to := parts.OnLine(7); parts.Text[from:to] != "a.b" || len(parts.Hollows()) != 1 {
		t.Errorf("got %q, %v", parts.Text[from:to], parts.Hollows())
	}
}
