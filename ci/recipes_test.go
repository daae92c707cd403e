package ci

import (
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// recipe returns the recipe of docs/gate.md that has a key at its top.
func recipe(t *testing.T, key string, into any) {
	t.Helper()
	for _, m := range yamlBlock.FindAllStringSubmatch(readFile(t, "../docs/gate.md"), -1) {
		var top map[string]yaml.Node
		if err := yaml.Unmarshal([]byte(m[1]), &top); err != nil {
			t.Errorf("%v in\n%s", err, m[1])
		}
		if node, ok := top[key]; ok {
			if err := node.Decode(into); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("docs/gate.md has no recipe with the key %s", key)
}

// TestRecipes runs the commands of the recipes in docs/gate.md, in a repository with an edit that
// breaks a template and with one that does not.
func TestRecipes(t *testing.T) {
	var gitlab struct{ Script []string }
	recipe(t, "templates", &gitlab)
	var repos []struct{ Hooks []struct{ ID string } }
	recipe(t, "repos", &repos)
	var hooks []struct {
		ID, Entry, Language, Files string
		Args                       []string
	}
	if err := yaml.Unmarshal([]byte(readFile(t, "../.pre-commit-hooks.yaml")), &hooks); err != nil {
		t.Fatal(err)
	}
	if len(repos) != 1 || len(hooks) != 1 || repos[0].Hooks[0].ID != hooks[0].ID ||
		hooks[0].Language != "golang" {
		t.Fatalf("the recipe %+v names no hook of %+v", repos, hooks)
	}
	files := regexp.MustCompile(hooks[0].Files)
	for name, want := range map[string]bool{"a.jinja": true, "m/tokenizer_config.json": true,
		"m/other_config.json": false, "jinja": false} {
		if files.MatchString(name) != want {
			t.Errorf("the hook takes %s: %t, want %t", name, !want, want)
		}
	}

	s := newScratch(t)
	good := readFile(t, "../corpus/hermes/template.jinja")
	s.write("templates/one.jinja", good)
	s.write("broken.jinja", "{% if")
	base := s.commit("base")
	commands := map[string]string{
		"shell":  "assay check --base " + base + " .",
		"GitLab": strings.Join(gitlab.Script, "\n"),
		"pre-commit": hooks[0].Entry + " " + strings.Join(hooks[0].Args, " ") +
			" templates/one.jinja broken.jinja --baseline=x.jinja",
	}
	s.write("--baseline=x.jinja", good) // pre-commit gives it as it is
	if !strings.Contains(readFile(t, "../docs/gate.md"), "\n    assay check --base "+
		"origin/main .\n") {
		t.Error("docs/gate.md has no recipe for a shell")
	}
	for _, edit := range []struct {
		name, text string
		code       int
		want       string
	}{
		{"none", good, 0, " passed, 0 failed (1 known failure"},
		{"a comment", "{#- a comment -#}\n" + good, 0, "edit: templates/one.jinja: identical"},
		{"another marker", strings.ReplaceAll(good, "</tool_call>", "</call>"), 1, "edit: templates/one.jinja: breaking: format-changed"},
	} {
		s.write("templates/one.jinja", edit.text)
		for name, command := range commands {
			script := "assay() { " + s.assay + ` "$@"; }` + "\n" + command
			out, code := s.run("", []string{"CI_MERGE_REQUEST_DIFF_BASE_SHA=" + base}, "bash",
				"-euc", script)
			if code != edit.code || !strings.Contains(out, edit.want) {
				t.Errorf("%s, edit %s: status %d, "+
					"want %d with %q\n%s", name, edit.name, code, edit.code, edit.want, out)
			}
		}
	}
}
