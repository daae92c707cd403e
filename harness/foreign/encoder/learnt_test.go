package encoder_test

import (
	"io/fs"
	"path"
	"testing"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/subject"
)

// unlearnt are families whose formats do not show in texts alone, with what hides them.
var unlearnt = map[string]string{
	"cohere2-moe":      "the ids of calls are counted",
	"command-r7b":      "the ids of calls are counted",
	"firefunction-v2":  "it asks for a variable that no request has",
	"gemma-4":          "strings have quotes of their own, inside of an object",
	"kind-after-name":  "the name of a call stands twice, and calls of one name are mixed up",
	"kimi-k2":          "the ids of calls are counted",
	"kimi-k2-thinking": "the ids of calls are counted",
	"kimi-k3":          "calls are counted",
	"minimax-m3":       "lists and objects are elements, one in another",
	"muse-glimmer":     "the name of a call stands twice, and calls of one name are mixed up",
	"name-as-tag":      "the name of a call stands twice, and calls of one name are mixed up",
}

// TestLearnt takes the corpus' templates for encoders, which tell nothing but their prompts: their
// formats are learnt all the same, and proven.
func TestLearnt(t *testing.T) {
	files, err := fs.Glob(corpus.FS, "*/template.jinja")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d templates: %v", len(files), err)
	}
	for _, name := range files {
		t.Run(path.Dir(name), func(t *testing.T) {
			t.Parallel()
			text, err := fs.ReadFile(corpus.FS, name)
			if err != nil {
				t.Fatal(err)
			}
			src := subject.New(name, string(text))
			compiled, err := src.Compile()
			if err != nil {
				t.Fatal(err)
			}
			e, err := engine.CompileEncoder(t.Context(), engine.Source{Name: name, BOS: src.BOS,
				EOS: src.EOS, StandIns: true}, func(vars ordered.Value) (string, error) {
				return compiled.ChatTemplate().Render(chattemplate.Input{Kwargs: vars.Members()})
			}, engine.Options{Now: subject.Now})
			proven := err == nil && e.Verify().OK()
			switch why, listed := unlearnt[path.Dir(name)]; {
			case !proven && !listed && err != nil:
				t.Error(err)
			case !proven && !listed:
				t.Errorf("the format is not proven:\n%s\n%s", e.Analysis().Format.String(),
					e.Verify())
			case proven && listed:
				t.Errorf("it is proven now: take it from the list (%s)", why)
			}
		})
	}
}

// TestTemplate learns a format from a program.
func TestTemplate(t *testing.T) {
	e, err := start(t, "same")
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := e.Template(engine.Options{Now: subject.Now})
	if err != nil {
		t.Fatal(err)
	}
	if f := compiled.Analysis().Format; f.Header != "<|assistant|>" || !compiled.Verify().OK() {
		t.Errorf("learnt:\n%s\n%s", f.String(), compiled.Verify())
	}
	prompt, err := compiled.ChatTemplate().Render(chattemplate.Input{Generate: true,
		Messages: []ordered.Value{ordered.ObjectOf(ordered.MemberOf("role", ordered.Str("user")),
			ordered.MemberOf("content", ordered.Str("a \"b\" {{ c }} \\n\n{% d %}")))}})
	want := "<begin><|user|>a \"b\" {{ c }} \\n\n{% d %}<|end|><|assistant|>"
	if err != nil || prompt != want {
		t.Errorf("the prompt is %q (%v), want %q", prompt, err, want)
	}
	silent, err := start(t, "silent")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := silent.Template(engine.Options{Now: subject.Now}); err == nil {
		t.Error("a program that answers nothing has a format")
	}
}
