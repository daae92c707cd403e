package vector_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/foreign/vector"
)

// run runs a file's vectors and returns the result of each, in order.
func run(t testing.TB, v *vector.Verifier, text string) []rule.Result {
	t.Helper()
	var results []rule.Result
	if err := v.Run(context.Background(), vector.NewReader("f", strings.NewReader(text)).Next,
		func(r rule.Result) { results = append(results, r) }); err != nil {
		t.Fatal(err)
	}
	return results
}

// TestRun runs many vectors of many templates: in order, and each with its own template though few
// stay compiled.
func TestRun(t *testing.T) {
	templates := fstest.MapFS{}
	var b strings.Builder
	for i := range 300 {
		name := fmt.Sprintf("t%d.jinja", i)
		templates[name] = &fstest.MapFile{Data: []byte(fmt.Sprintf("%d{{ a }}", i))}
		want := fmt.Sprint(i, "x")
		if i == 17 {
			want = "no"
		}
		fmt.Fprintf(&b, `{"kind": "render", "id": "v%d", "template": %q, "vars": {"a": "x"}, "want": %q}`+"\n", i, name, strings.ReplaceAll(want, " ", ""))
	}
	results := run(t, &vector.Verifier{Templates: vector.NewTemplates(templates)}, b.String())
	for i, r := range results {
		if r.Name != fmt.Sprint("v", i) || r.Place.Line != i+1 ||
			(r.Status == rule.Failed) != (i == 17) {
			t.Errorf("result %d: %+v", i, r)
		}
	}
	if len(results) != 300 {
		t.Errorf("%d results", len(results))
	}
}

// TestHostileFiles reads files that are no files of vectors: each ends in an error at its place, in
// bounded memory.
func TestHostileFiles(t *testing.T) {
	for _, c := range []struct {
		name string
		text io.Reader
		want string
	}{
		{"nothing", strings.NewReader("\n \n"), "f:1:1: no vectors in this file"},
		{"deep JSON", strings.NewReader(strings.Repeat("[", 1_000_000)), "f:1:1002: JSON is nested deeper than 1000 levels"},
		{"NUL bytes", strings.NewReader("\n\x00\x00"), "f:2:1: expected"},
		{"no UTF-8", strings.NewReader("{\"id\": \"\xff\"}"), "f:1:"},
		{"an endless line", io.LimitReader(endless{}, 1<<40), "f:1:1: the line is longer than 67108864 bytes"},
		{"a line of 60 MB", strings.NewReader(`{"kind": "jinja", "id": "` + strings.Repeat("x", 60<<20)), "f:1:62914586: "},
	} {
		_, err := vector.Check("f", c.text, func(*vector.Vector) bool { return true })
		var at *source.Error
		if !errors.As(err, &at) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %.200v, want %s", c.name, err, c.want)
		} else if detail := at.Detail(); len(detail) > 1000 {
			t.Errorf("%s: %d bytes of detail", c.name, len(detail))
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// FuzzCheck reads any file; a file that is read runs, within limits, and gives a result for each
// vector.
func FuzzCheck(f *testing.F) {
	f.Add(`{"kind": "grammar", "id": "a", "grammar": "root ::= \"a\"", "accept": ["a"], "reject": [""]}` + "\n")
	f.Add(`{"kind": "schema", "id": "a", "schema": {"$ref": "#"}, "accept": [1], "reject": {}}`)
	f.Add("{\"kind\": \"jinja\", \"id\": \"a\", \"template\": \"{{ a }}\", \"vars\": {\"a\": 1}, \"want\": \"1\"}\r\n\n{\"kind\": \"jinja\", \"id\": \"b\", \"template\": 7, \"vars\": [], \"error\": \"x\"}")
	f.Add(`{"kind": "parse", "id": "a", "template": "t", "request": {"messages": []}, "output": 3, "want": []}`)
	f.Add(`{"kind": "caps", "id": "a", "template": "../t", "want": {"x": 1}}`)
	templates := fstest.MapFS{"t": &fstest.MapFile{Data: []byte("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}")}}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 {
			return
		}
		n, err := vector.Check("f", strings.NewReader(text),
			func(*vector.Vector) bool { return true })
		if err != nil {
			var at *source.Error
			if !errors.As(err, &at) || at.Src.Position(at.Off).Line > strings.Count(text, "\n")+1 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		v := &vector.Verifier{Templates: vector.NewTemplates(templates)}
		v.Limits.Render.Steps, v.Limits.Render.OutputBytes = 10_000, 1<<16
		results := run(t, v, text)
		if len(results) != n {
			t.Errorf("%q: %d vectors, %d results", text, n, len(results))
		}
		for _, r := range results {
			if strings.Contains(r.Text, "internal error") {
				t.Errorf("%q: %s", text, r.Text)
			}
		}
	})
}
