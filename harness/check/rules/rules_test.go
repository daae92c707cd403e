//go:build !js

package rules_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/rules"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/clients"
	"github.com/goassay/assay/harness/foreign/gonja"
	"github.com/goassay/assay/harness/hub/templates"
)

// TestExamples runs the example of each rule: its bad template has this finding at this line, and
// writes the prompt that shows the damage; its good one is judged and has no finding.
func TestExamples(t *testing.T) {
	names, err := fs.Glob(rules.Files, "*/testdata/*.txtar")
	if err != nil || len(names) < 3 {
		t.Fatalf("%d examples, %v", len(names), err)
	}
	for _, name := range names {
		text, err := rules.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		base := strings.TrimSuffix(path.Base(name), ".txtar")
		t.Run(base, func(t *testing.T) {
			t.Parallel()
			e, err := rule.ParseExample(text)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := run(t, e, base); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// run runs an example, whose file has a name.
func run(t *testing.T, e *rule.Example, name string) error {
	declared, ok := check.Book().Lookup(e.Rule)
	if own := strings.ToLower(e.Rule) + "-" + declared.Name; !ok || name != own {
		return fmt.Errorf("the example of %s; expected its file to be named %s", e.Rule, own)
	}
	if found := findings(t, e, e.Bad); !slices.ContainsFunc(found, func(r rule.Result) bool {
		return r.Status != rule.Unjudged && r.Place.Line == e.Line
	}) {
		return fmt.Errorf("bad.jinja: expected a finding at line %d, found %s", e.Line,
			told(found))
	}
	if found := findings(t, e, e.Good); len(found) > 0 {
		return fmt.Errorf("good.jinja: expected no finding, found %s", told(found))
	}
	if e.Conversation == "" {
		return nil
	}
	return renders(e)
}

// findings returns the results of an example's rule for its files that did not pass.
func findings(t *testing.T, e *rule.Example, files []rule.File) []rule.Result {
	t.Helper()
	o := check.Options{Only: []string{e.Rule}, Differ: templates.Differ}
	var all []rule.Result
	if e.IsModel() {
		m := model(t, files)
		all = check.Model(m, o)
		if taken, err := m.Taken(); err == nil {
			all = append(all, check.Template(taken, o)...)
		}
	} else {
		all = ofTemplate(t, e, subject.New("template.jinja", files[0].Text), o)
	}
	return slices.DeleteFunc(all, func(r rule.Result) bool {
		if strings.Contains(r.Text, "NEEDLE") {
			t.Errorf("%s tells people of a needle: %s", r.Rule, r.Text)
		}
		return r.Status == rule.Passed || r.Rule != e.Rule
	})
}

// ofTemplate checks a template as the flags of an example ask for.
func ofTemplate(t *testing.T, e *rule.Example, src subject.Source,
	o check.Options) (all []rule.Result) {
	t.Helper()
	flags := pflag.NewFlagSet("check", pflag.ContinueOnError)
	client := flags.String("client", "", "")
	tools := flags.Bool("require-tools", false, "")
	limit := flags.String("limit", "", "")
	against := flags.String("against", "", "")
	if err := flags.Parse(e.Flags); err != nil || flags.NArg() > 0 {
		t.Fatalf("the flags %q: %v", e.Flags, err)
	}
	if *limit != "" {
		steps, err := strconv.ParseInt(strings.TrimPrefix(*limit, "total="), 10, 64)
		if err != nil {
			t.Fatalf("the limit %q: expected total=N", *limit)
		}
		src = src.Limited(t.Context(), engine.Limits{TotalSteps: steps})
	}
	if *client != "" {
		c, ok := clients.Named(*client)
		if !ok {
			t.Fatalf("the client %q: expected one of %q", *client, clients.Names())
		}
		all = check.Clients(src, o, []clients.Client{c})
	}
	if *against != "" {
		results, _ := check.Against(src, o, encoderOf(t, e))
		all = append(all, results...)
	}
	if *tools {
		all = append(all, check.ToolCapable([]subject.Source{src}, o)...)
	}
	if e.Rule == "A010" {
		second := new(gonja.Renderer)
		defer second.Close()
		o.Renderer = second
	}
	return append(all, check.Template(src, o)...)
}

// goodEncoder is an encoder that writes what an example's good template does.
type goodEncoder struct{ *chattemplate.Template }

func encoderOf(t *testing.T, e *rule.Example) goodEncoder {
	t.Helper()
	good, err := subject.New("good.jinja", e.Good[0].Text).Compile()
	if err != nil {
		t.Fatal(err)
	}
	return goodEncoder{good.ChatTemplate()}
}

func (goodEncoder) String() string                 { return "the encoder" }
func (goodEncoder) Tokens() (bos, eos string)      { return "", "" }
func (goodEncoder) Tokenize(string) ([]int, error) { return nil, nil }

func (e goodEncoder) Encode(vars ordered.Value) (check.Encoded, error) {
	text, err := e.Render(chattemplate.Input{Kwargs: vars.Members()})
	if err != nil {
		return check.Encoded{Refuse: err.Error()}, nil
	}
	return check.Encoded{Text: text}, nil
}

// model opens the files of a model's folder.
func model(t *testing.T, files []rule.File) *subject.Model {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		text := []byte(f.Text)
		if filepath.Ext(f.Name) == ".gguf" {
			text = modelFile(t, f.Text)
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	m, err := subject.OpenModel(dir)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// modelFile makes a model file of the JSON object of its keys.
func modelFile(t *testing.T, text string) []byte {
	t.Helper()
	keys, err := ordered.ParseString(text)
	if err != nil {
		t.Fatal(err)
	}
	var pairs []gguf.Pair
	for _, m := range keys.Members() {
		value := gguf.Text(m.Value.Text())
		switch m.Value.Kind() {
		case ordered.Number:
			n, err := strconv.ParseUint(m.Value.Text(), 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			value = gguf.Of(uint32(n))
		case ordered.Array:
			var items []string
			for _, item := range m.Value.Items() {
				items = append(items, item.Text())
			}
			value = gguf.Texts(items...)
		}
		pairs = append(pairs, gguf.Pair{Key: m.Key, Value: value})
	}
	var b bytes.Buffer
	if err := gguf.Create(&b, nil, pairs, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func told(results []rule.Result) string {
	if len(results) == 0 {
		return "none"
	}
	var all []string
	for _, r := range results {
		first, _, _ := strings.Cut(r.Text, "\n")
		all = append(all, fmt.Sprintf("line %d, %s: %s", r.Place.Line, r.Status, first))
	}
	return strings.Join(all, "; ")
}

// renders compares the prompt of the bad template with the example's part of it. The request is
// rendered as it is, as a server does that fits nothing.
func renders(e *rule.Example) error {
	request, err := ordered.ParseString(e.Conversation)
	if err != nil {
		return fmt.Errorf("conversation.json: %w", err)
	}
	in := chattemplate.Input{Generate: true}
	for _, m := range request.Members() {
		switch m.Key {
		case "messages":
			in.Messages = m.Value.Items()
		case "tools":
			if in.Tools = m.Value.Items(); len(in.Tools) == 0 {
				in.Kwargs = append(in.Kwargs, m)
			}
		case "add_generation_prompt":
			in.Generate = m.Value.Bool()
		default:
			in.Kwargs = append(in.Kwargs, m)
		}
	}
	source := subject.New("bad.jinja", e.Bad[0].Text)
	t, err := source.Compile()
	prompt := ""
	if err == nil {
		prompt, err = t.ChatTemplate().Render(in)
	}
	switch {
	case e.Error != "" && err == nil:
		return fmt.Errorf("bad.jinja renders the request; expected the error %q", e.Error)
	case e.Error != "" && !strings.Contains(err.Error(), e.Error):
		return fmt.Errorf("bad.jinja ends in the error %q; expected %q", err, e.Error)
	case e.Error == "" && err != nil:
		return fmt.Errorf("bad.jinja: %w", err)
	case e.Error == "" && !strings.Contains(prompt, e.Prompt):
		return fmt.Errorf("bad.jinja writes\n%s\nwhich does not contain\n%s", prompt, e.Prompt)
	}
	return nil
}

// TestEveryRule finds each rule in a file of its own, named after its id and name.
func TestEveryRule(t *testing.T) {
	declaration := regexp.MustCompile(`(?m)^\t\tID: (?:"([A-Z]\d{3})"|probe\.TooCostly), Name: "([a-z-]+)"`)
	files := map[string]string{} // by id
	for _, name := range ruleFiles(t) {
		m := declaration.FindAllStringSubmatch(readFile(t, name), -1)
		if len(m) != 1 {
			t.Errorf("%s declares %d rules", name, len(m))
			continue
		}
		id := m[0][1]
		if id == "" {
			id = "A056"
		}
		own := strings.ToLower(id) + "_" + strings.ReplaceAll(m[0][2], "-", "_") + ".go"
		if path.Base(name) != own {
			t.Errorf("%s has the rule %s; expected its file to be named %s", name, id, own)
		}
		files[id] = name
	}
	for _, r := range check.Rules() {
		if files[r.ID] == "" {
			t.Errorf("%s has no file", r.ID)
		}
		delete(files, r.ID)
	}
	for id, name := range files {
		t.Errorf("%s: %s is not among the rules that run; list it in rules.go", name, id)
	}
}

// unshown are the rules about the engine's own faults, which no template shows while it has none.
var unshown = []string{"A004", "A005", "A007"}

// TestEveryExample finds an example for each rule.
func TestEveryExample(t *testing.T) {
	for _, r := range check.Rules() {
		switch listed := slices.Contains(unshown, r.ID); {
		case r.Example == nil && !listed:
			t.Errorf("%s has no example: write testdata/%s-%s.txtar beside the rule", r.ID,
				strings.ToLower(r.ID), r.Name)
		case r.Example != nil && listed:
			t.Errorf("%s has an example; take it from the list unshown", r.ID)
		}
	}
}

// ruleFiles returns the names of the files of rules.
func ruleFiles(t *testing.T) []string {
	t.Helper()
	names, err := fs.Glob(os.DirFS("."), "*/a[0-9][0-9][0-9]_*.go")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
