package check_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	request "github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/spell"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/corpus/split"
	"github.com/goassay/assay/harness/testkit/share"
)

// The texts of the outputs below, in letters that no prompt has.
const (
	oddThought = "Ꙗꙁꙋ ꙖꙖꙁ"
	oddContent = "Ꚋꚍꚏ ꚊꚊꚍ"
	oddValue   = "Ꝫꝭꝯ"
)

// oddMessages are a model's answers in them.
var oddMessages = []request.Message{
	{Content: oddContent},
	{Reasoning: oddThought, Content: oddContent},
	{Content: oddContent, ToolCalls: oddCall},
	{Reasoning: oddThought, ToolCalls: oddCall},
}

var oddCall = []request.ToolCall{{Name: "get_weather", ID: "call00001", Arguments: `{"city": "` + oddValue + `"}`, Complete: true}}

// allowed is the part of a prefill that may stand before the output in a message: the body of the
// part that it leaves open, or all of it where nothing opens a part; with the part's opener where
// reasoning is kept in the content.
func allowed(ct *engine.Template, prefill string, kept bool) string {
	r := ct.Analysis().Format.Reasoning
	if r.Close.Text == "" {
		return ""
	}
	if r.Open.Text == "" {
		return prefill
	}
	at := strings.Index(prefill, r.Open.Text)
	if at < 0 || strings.Contains(prefill[at:], r.Close.Text) {
		return ""
	}
	if kept {
		return prefill[at:]
	}
	return prefill[at+len(r.Open.Text):]
}

// TestNothingInvented answers every standard request on every template, the vendors' too where
// ASSAY_VENDOR names their folder, in each way to handle reasoning, with outputs as the format
// spells them, whole and broken off, in one go and in pieces. The texts of a message stand in the
// output, in its order; all else is the body of a part that the prompt left open, its opener where
// reasoning is kept, or the text that is continued (E29).
func TestNothingInvented(t *testing.T) {
	templates := map[string]string{}
	for i, text := range prompting {
		templates["prompting "+string(rune('a'+i))] = text
	}
	own, err := fs.Glob(corpus.FS, "*/template.jinja")
	if err != nil || len(own) == 0 {
		t.Fatal("no templates in the corpus")
	}
	for _, name := range own {
		text, err := fs.ReadFile(corpus.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		templates[name] = string(text)
	}
	if dir := os.Getenv("ASSAY_VENDOR"); dir != "" {
		files, err := filepath.Glob(filepath.Join(dir, "*.jinja"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no templates in %s", dir)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			templates[filepath.Base(file)] = string(text)
		}
	}
	for name, text := range templates {
		if !share.Has(name, 4) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ct, err := subject.New(name, text).Compile()
			if err != nil {
				t.Skipf("it renders nothing: %v", err) // and has no answers
			}
			nothingInvented(t, ct)
		})
	}
}

func nothingInvented(t *testing.T, ct *engine.Template) {
	on, off := true, false
	for _, conversation := range standard.Battery() {
		for _, thinking := range []*bool{nil, &on, &off} {
			for _, kept := range []bool{false, true} {
				for _, goesOn := range []bool{false, true} {
					if goesOn && thinking != nil {
						continue // how to think says nothing of a message that has begun
					}
					r := conversation.Request
					r.EnableThinking = thinking
					if kept {
						r.ReasoningFormat = request.ReasoningKeep
					}
					said := ""
					if goesOn {
						said = "It"
						r.Messages = append(r.Messages[:len(r.Messages):len(r.Messages)],
							request.MessageOf("assistant", ordered.Str(said)))
						r.Continue = request.ContinueContent
					}
					plan, err := ct.Prepare(r, engine.PrepareOptions{Insist: true})
					if err != nil {
						continue // refused
					}
					start := allowed(ct, plan.Prefill, kept)
					for _, output := range oddOutputs(ct, plan.Prefill, len(r.Tools) > 0) {
						answer, fault := split.Check(plan.NewParser(), output, request.FinishStop)
						if fault != nil {
							t.Errorf("%s: prefill %q, output %q: %v", conversation.Name,
								plan.Prefill, output, fault)
							continue
						}
						m := answer.Message
						texts := []string{m.Reasoning, m.Content}
						for _, c := range m.ToolCalls {
							texts = append(texts, c.Name)
						}
						for _, text := range texts {
							if !comesFrom(text, output, "", said, start, start+said) {
								t.Fatalf("%s, thinking %v, kept %v: prefill %q, output %q: %q "+
									"has text of the prompt",
									conversation.Name, thinking != nil &&
										*thinking, kept, plan.Prefill, output, text)
							}
						}
					}
				}
			}
		}
	}
}

// oddOutputs are the texts of the messages as the format spells them after a prefill, or a plain
// text, each whole and broken off.
func oddOutputs(ct *engine.Template, prefill string, tools bool) []string {
	outputs := []string{oddContent}
	for _, m := range oddMessages {
		s, err := spell.Of(ct.Analysis().Format, m)
		if err != nil || len(m.ToolCalls) > 0 && !tools {
			continue
		}
		text := strings.TrimPrefix(s.String(), strings.TrimRight(prefill, " \n"))
		outputs = append(outputs, text)
		for n := 1; n < len(text); n += max(1, len(text)/4) {
			outputs = append(outputs, text[:n])
		}
	}
	return outputs
}

// comesFrom reports whether a text is one of some beginnings, and after it bytes of the output in
// their order, white space apart.
func comesFrom(text, output string, beginnings ...string) bool {
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
	text, output = squeeze(text), squeeze(output)
	for _, start := range beginnings {
		rest, from := strings.TrimPrefix(text, squeeze(start)), 0
		for rest != "" {
			i := strings.IndexByte(output[from:], rest[0])
			if i < 0 {
				break
			}
			from, rest = from+i+1, rest[1:]
		}
		if rest == "" {
			return true
		}
	}
	return false
}
