package config_test

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pelletier/go-toml/v2"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/config"
)

var update = flag.Bool("update", false, "rewrite the schema")

const published = "../../../docs/reference/assay.schema.json"

// TestSchema compares the published schema with the settings, and its verdicts with the decoder's.
func TestSchema(t *testing.T) {
	t.Parallel()
	words := config.Words()
	text := string(words.Schema().Append(nil, ordered.Pretty)) + "\n"
	if *update {
		if err := os.WriteFile(published, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if is, err := os.ReadFile(published); err != nil || string(is) != text {
		t.Errorf("%s differs from the code (%v); run `make update`", published, err)
	}
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("assay.json", parsed); err != nil {
		t.Fatal(err)
	}
	schema := compiler.MustCompile("assay.json")
	var named []string
	for name := range parsed.(map[string]any)["properties"].(map[string]any) {
		named = append(named, name)
	}
	slices.Sort(named)
	if names := slices.Sorted(slices.Values(config.Names())); !slices.Equal(named, names) {
		t.Errorf("the schema has the keys %v, the decoder %v", named, names)
	}
	for _, c := range settings {
		_, _, wrong := words.Parse(source.New("assay.toml", c.text))
		var value map[string]any
		if err := toml.Unmarshal([]byte(c.text), &value); err != nil {
			t.Fatal(err)
		}
		spelled, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		instance, err := jsonschema.UnmarshalJSON(strings.NewReader(string(spelled)))
		if err != nil {
			t.Fatal(err)
		}
		refused := schema.Validate(instance)
		if (wrong != nil) != c.wrong || (refused != nil) != c.wrong {
			t.Errorf("%s\nthe decoder says %v, the schema %v", c.text, wrong, refused)
		}
	}
}

// settings has files with every setting, right and wrong.
var settings = []struct {
	text  string
	wrong bool
}{
	{text: ""},
	{text: `select = ["A012", "A0", "null-content-printed", "all"]`},
	{text: `select = "A012"`, wrong: true},
	{text: `select = ["no-such-rule"]`, wrong: true},
	{text: `ignore = []`},
	{text: `ignore = [1]`, wrong: true},
	{text: `per-file-ignores = { "a/**" = ["D004"] }`},
	{text: `per-file-ignores = { "a/**" = "D004" }`, wrong: true},
	{text: `per-file-ignores = ["A012"]`, wrong: true},
	{text: `exclude = ["a", "**/*.j2"]`},
	{text: `exclude = [""]`, wrong: true},
	{text: "[severities]\nA012 = \"note\"\nnull-content-printed = \"error\""},
	{text: `severities = { A012 = "high" }`, wrong: true},
	{text: `severities = { A0 = "error" }`, wrong: true},
	{text: `engines = ["vLLM"]`},
	{text: `engines = ["none"]`, wrong: true},
	{text: `clients = ["all"]`},
	{text: `clients = ["none"]`, wrong: true},
	{text: `base = "main"`},
	{text: `base = ""`, wrong: true},
	{text: `baseline = "b.toml"`},
	{text: `baseline = true`, wrong: true},
	{text: `require-tools = true`},
	{text: `require-tools = "true"`, wrong: true},
	{text: `format = "short"`},
	{text: `format = "xml"`, wrong: true},
	{text: `fail-on = "never"`},
	{text: `fail-on = 3`, wrong: true},
	{text: `fial-on = "never"`, wrong: true},
	{text: `per_file_ignores = {}`, wrong: true},
}

// TestExcludes matches paths with patterns of both kinds.
func TestExcludes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern string
		yes, no []string
	}{
		{"vendor", []string{"vendor", "vendor/a.jinja", "x/vendor/y/a.jinja"},
			[]string{"vendors/a.jinja", "a/vendor.jinja"}},
		{"vendor/", []string{"vendor/a.jinja"}, []string{"a.jinja"}},
		{"*.j2", []string{"a.j2", "x/a.j2"}, []string{"a.jinja", "a.j2.jinja"}},
		{"x/*.j2", []string{"x/a.j2"}, []string{"a.j2", "x/y/a.j2", "y/x/a.j2"}},
		{"**/old/*.j2", []string{"old/a.j2", "x/y/old/a.j2"}, []string{"x/older/a.j2"}},
		{"./x/y", []string{"x/y/z/a.j2"}, []string{"z/x/y/a.j2"}},
	} {
		s := config.Settings{Exclude: []string{c.pattern}, Dir: "/project"}
		for _, name := range c.yes {
			if _, excluded := s.Excludes("/project/" + name); !excluded {
				t.Errorf("%q does not match %s", c.pattern, name)
			}
		}
		for _, name := range c.no {
			if _, excluded := s.Excludes("/project/" + name); excluded {
				t.Errorf("%q matches %s", c.pattern, name)
			}
		}
	}
}

// TestChosen weighs selectors: the closer one wins, and ignoring where they are as close.
func TestChosen(t *testing.T) {
	t.Parallel()
	words := config.Words()
	for _, c := range []struct {
		selects, ignores, in, out []string
	}{
		{[]string{"A01"}, nil, []string{"A012", "A013"}, []string{"A021"}},
		{[]string{"all"}, []string{"A01"}, []string{"A021"}, []string{"A012"}},
		{[]string{"A012"}, []string{"A"}, []string{"A012"}, []string{"A013"}},
		{[]string{"A012"}, []string{"A012"}, nil, []string{"A012"}},
		{[]string{"a012"}, nil, []string{"A012"}, []string{"A013"}},
	} {
		s := &config.Settings{Select: c.selects, Ignore: c.ignores}
		chosen := s.Chosen(words.Rules)
		for _, id := range c.in {
			if !slices.Contains(chosen, id) {
				t.Errorf("%v without %v lacks %s", c.selects, c.ignores, id)
			}
		}
		for _, id := range c.out {
			if slices.Contains(chosen, id) {
				t.Errorf("%v without %v has %s", c.selects, c.ignores, id)
			}
		}
	}
}
