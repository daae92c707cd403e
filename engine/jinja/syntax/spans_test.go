package syntax_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/jinja/syntax"
	"github.com/goassay/assay/engine/source"
)

// TestSpans cuts every part of templates out of their source: read alone it is the same part.
func TestSpans(t *testing.T) {
	texts := map[string]string{
		"every tag": "a\r\n  {%- if (a + b) * -c ** 2 > d.e['f'][1:2]|trim(1)|upper is not none " +
			"-%}\n {{- x if y else (1, 2) -}}" +
			"{% elif not q %} {% else %}{% set ns.x = f(*a, **b) ~ 'x' 'y' %}{% endif %}" +
			"{% for k, v in d.items() if v recursive %}z\n{% endfor %}{% print 1, {'a': [2]} " +
			"%}{% filter upper %}x{% endfilter %}",
		"raw": "{% raw %} {{ x }} {%- endraw %}{{ y }}",
	}
	paths, _ := filepath.Glob("../../../corpus/*/template.jinja")
	vendor, _ := filepath.Glob(filepath.Join(os.Getenv("ASSAY_VENDOR"), "*.jinja"))
	for _, path := range append(paths, vendor...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[path] = string(text)
	}
	for name, text := range texts {
		tree, spans, err := syntax.ParseSpans(source.New(name, text))
		if err != nil {
			t.Fatal(err)
		}
		cut := func(s syntax.Span) string { return text[s.From:s.To] }
		var walk func(n syntax.Node)
		walk = func(n syntax.Node) {
			switch n := n.(type) {
			case *syntax.If: // an elif has no tags of its own
			case syntax.Stmt:
				if s := cut(spans.Stmt(n)); spans.Tags(n) != nil && !(strings.HasPrefix(s,
					"{%") && strings.HasSuffix(s, "%}")) {
					t.Errorf("%s: a %T is %q", name, n, s)
				}
			case *syntax.AttrTarget, *syntax.Slice:
			case syntax.Expr:
				checkSpan(t, name, n, cut(spans.Expr(n)))
			}
			for _, child := range syntax.Children(n) {
				walk(child)
			}
		}
		for _, s := range tree.Body {
			walk(s)
		}
	}
}

// checkSpan reads the text of an expression alone.
func checkSpan(t *testing.T, name string, x syntax.Expr, text string) {
	t.Helper()
	if c, ok := x.(*syntax.Const); ok && c.Kind == syntax.Data {
		if strings.NewReplacer("\r\n", "\n").Replace(text) != c.Text {
			t.Errorf("%s: the text %q stands at %q", name, c.Text, text)
		}
		return
	}
	if f, ok := x.(*syntax.Filter); ok && f.X == nil {
		return
	}
	if item, ok := x.(*syntax.Tuple); ok && len(item.Items) > 0 {
		for _, x := range item.Items {
			if _, ok := x.(*syntax.Slice); ok {
				return
			}
		}
	}
	again, err := syntax.Parse(source.New("part", "{{ "+text+" }}"))
	if err != nil {
		t.Errorf("%s: %s stands at %q: %v", name, syntax.Show(x), text, err)
		return
	}
	got := syntax.Show(again.Body[0].(*syntax.Output).Parts[0])
	if _, test := x.(*syntax.Test); test && strings.HasPrefix(got, `Unary(not Test(`) {
		got = strings.TrimSuffix(strings.TrimPrefix(got, "Unary(not "), ")")
	}
	if got != syntax.Show(x) {
		t.Errorf("%s: %s stands at %q, which reads %s", name, syntax.Show(x), text, got)
	}
}
