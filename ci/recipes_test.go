package ci

import (
	"path/filepath"
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

// TestGitHubRecipe wants the recipe for GitHub to ask for the rights that its steps need, to call
// the action of this repository, and to upload the report that this writes.
func TestGitHubRecipe(t *testing.T) {
	t.Parallel()
	var jobs map[string]struct {
		Permissions map[string]string
		Steps       []struct {
			If, Uses string
			With     map[string]string
		}
	}
	recipe(t, "jobs", &jobs)
	for name, job := range jobs {
		if len(job.Steps) != 3 || !strings.HasPrefix(job.Steps[1].Uses, "goassay/assay@") {
			t.Fatalf("the job %s has the steps %+v", name, job.Steps)
		}
		report := job.Steps[1].With["report"] + "/check.sarif"
		upload := job.Steps[2]
		if !strings.HasPrefix(upload.Uses, "github/codeql-action/upload-sarif@") ||
			upload.With["sarif_file"] != report ||
			upload.If != "always() && hashFiles('"+report+"') != ''" ||
			job.Permissions["security-events"] != "write" {
			t.Errorf("the job %s does not upload %s: %+v", name, report, job)
		}
	}
}

// TestPins wants every action to be named by the digest of a commit and the version that this is,
// the same one everywhere, since who can move a tag could run programs with our rights.
func TestPins(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../.github/workflows/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	uses := regexp.MustCompile(`(?m)\buses: *([^\s@]+)@?(.*)$`)
	pin := regexp.MustCompile(`^[0-9a-f]{40} # v[0-9]+\.[0-9]+\.[0-9]+$`)
	pins := map[string]string{}
	for _, file := range append(files, "../action.yml", "../docs/gate.md") {
		for _, m := range uses.FindAllStringSubmatch(readFile(t, file), -1) {
			if m[1] == "goassay/assay" || strings.HasPrefix(m[1], "./") {
				continue
			}
			owner, rest, _ := strings.Cut(m[1], "/")
			repository, _, _ := strings.Cut(rest, "/")
			name := owner + "/" + repository
			if pins[name] == "" {
				pins[name] = m[2]
			}
			if !pin.MatchString(m[2]) || m[2] != pins[name] {
				t.Errorf("%s: %s is at %q, expected a digest and its version, and %q as elsewhere",
					file, name, m[2], pins[name])
			}
		}
	}
	if len(pins) < 10 {
		t.Errorf("found the actions %v alone", pins)
	}
}

// TestRecipes runs the commands of the recipes in docs/gate.md, in a repository with an edit that
// breaks a template and with one that does not.
func TestRecipes(t *testing.T) {
	t.Parallel()
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
	kinds := map[string]bool{"a.jinja": true, "m.gguf": true, "m/other_config.json": false,
		"jinja": false, "chat_template.json.md": false}
	for _, m := range regexp.MustCompile(`(?m)^(?:marks|others)=\((.*)\)$`).
		FindAllStringSubmatch(readFile(t, "gate/gate.sh"), -1) {
		for name := range strings.FieldsSeq(m[1]) {
			kinds["m/"+name] = name != "config.json"
			if !strings.Contains(readFile(t, "../docs/gate.md"), "`"+name+"`") {
				t.Errorf("docs/gate.md does not name %s", name)
			}
		}
	}
	if len(kinds) != 12 {
		t.Errorf("ci/gate/gate.sh has other names than expected: %v", kinds)
	}
	for name, want := range kinds {
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
		{"none", good, 0, " (1 known failure"},
		{"a comment", "{#- a comment -#}\n" + good, 0, "edit: templates/one.jinja: identical"},
		{"another marker", strings.ReplaceAll(good, "</tool_call>", "</call>"), 1, "edit: templates/one.jinja: breaking: format-changed"},
	} {
		s.write("templates/one.jinja", edit.text)
		for name, command := range commands {
			out, code := s.run("", []string{"CI_MERGE_REQUEST_DIFF_BASE_SHA=" + base}, "bash",
				"-euc", command)
			if code != edit.code || !strings.Contains(out, edit.want) {
				t.Errorf("%s, edit %s: status %d, "+
					"want %d with %q\n%s", name, edit.name, code, edit.code, edit.want, out)
			}
		}
	}
}
