package script_test

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/stream"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/script"
)

// minCases is how many scripts a family has at least.
const minCases = 8

// kind is a kind of case that every family with such a template has. A case is of a kind by its
// request and its output; its name does not count.
type kind struct {
	name string
	of   func(script.Shown) bool // nil: every family
	is   func(sample) bool
}

// sample is one output of a case with the faults that the parser finds in it. That a turn ends with
// its end text, or begins with the close of a reasoning that it does not have, is nothing wrong.
type sample struct {
	families.Case
	request   chat.Request
	reasoning string // the model's own, without the beginning in the prompt
	faults    []stream.Diagnostic
	// noCall: a text that looks like a call in a spelling without markers turned out to be none,
	// which makes it content and no fault (E13).
	noCall bool
}

func hasTools(f script.Shown) bool { return f.Tools }

var kinds = []kind{
	{"content alone", nil, func(s sample) bool {
		return s.whole() && s.Message.Content != "" && s.reasoning == "" &&
			len(s.Message.ToolCalls) == 0
	}},
	{"reasoning and content", func(f script.Shown) bool { return f.Reasoning && f.Content },
		func(s sample) bool {
			return s.whole() && s.reasoning != "" && s.Message.Content != "" &&
				len(s.Message.ToolCalls) == 0
		}},
	{"reasoning and call", func(f script.Shown) bool { return f.Reasoning && f.Tools },
		func(s sample) bool {
			return s.whole() && s.reasoning != "" && len(s.Message.ToolCalls) > 0
		}},
	{"one call", hasTools, func(s sample) bool {
		return s.whole() && s.Message.Content == "" && s.reasoning == "" &&
			len(s.Message.ToolCalls) == 1
	}},
	{"content and call", hasTools, func(s sample) bool {
		return s.whole() && s.Message.Content != "" && len(s.Message.ToolCalls) > 0
	}},
	{"parallel calls", hasTools, func(s sample) bool { return s.whole() && len(s.Message.ToolCalls) > 1 }},
	{"typed arguments", hasTools, func(s sample) bool {
		return s.argument(isOf(ordered.Number)) &&
			(s.argument(isOf(ordered.Array)) || s.argument(isOf(ordered.Object)))
	}},
	{"awkward strings", hasTools, func(s sample) bool {
		return s.argument(hasAny(`"'`)) && s.argument(hasAny("<{[")) && s.argument(hasAny("\n"))
	}},
	{"truncated", hasTools, func(s sample) bool { return s.Reason.Cut() && (len(s.Message.ToolCalls) > 0 || s.noCall) }},
	{"malformed", hasTools, func(s sample) bool { return !s.Reason.Cut() && (len(s.faults) > 0 || s.noCall) }},
	{"json_schema", nil, func(s sample) bool { return s.request.HasJSONSchema }},
	{"required choice", hasTools, func(s sample) bool {
		return len(s.Message.ToolCalls) > 0 &&
			(s.request.ToolChoice.Mode == chat.ChoiceRequired ||
				s.request.ToolChoice.Mode == chat.ChoiceNamed)
	}},
	{"content continued", nil, func(s sample) bool { return s.request.Continue == chat.ContinueContent }},
	{"reasoning continued", func(f script.Shown) bool { return f.Reasoning && f.Content },
		func(s sample) bool {
			return s.request.Continue == chat.ContinueReasoning
		}},
}

// whole reports whether the sample is an ordinary turn, read to its end without a fault.
func (s sample) whole() bool {
	return !s.Reason.Cut() && len(s.faults) == 0 && !s.request.HasJSONSchema &&
		s.request.Continue == chat.ContinueNone &&
		!slices.ContainsFunc(s.Message.ToolCalls, func(c chat.ToolCall) bool { return !c.Complete })
}

// argument reports whether some argument of a call has a property.
func (s sample) argument(is func(ordered.Value) bool) bool {
	return s.whole() && slices.ContainsFunc(s.Message.ToolCalls, func(c chat.ToolCall) bool {
		args, err := ordered.ParseString(c.Arguments)
		return err == nil &&
			slices.ContainsFunc(args.Members(), func(m ordered.Member) bool { return is(m.Value) })
	})
}

func isOf(kind ordered.Kind) func(ordered.Value) bool {
	return func(v ordered.Value) bool { return v.Kind() == kind }
}

func hasAny(chars string) func(ordered.Value) bool {
	return func(v ordered.Value) bool {
		return v.Kind() == ordered.String &&
			strings.ContainsAny(v.Text(), chars)
	}
}

// TestEveryKind demands of every family that its cases show everything that its format can spell,
// that its template's rejection is a case where the gate rejects it, and that there are enough of
// them.
func TestEveryKind(t *testing.T) {
	corpus, err := families.Load(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range corpus.Families {
		t.Run(f.Name, func(t *testing.T) {
			if len(f.Cases) < minCases {
				t.Errorf("%d cases, want at least %d", len(f.Cases), minCases)
			}
			text, err := corpus.Text(f.Name)
			if err != nil {
				t.Fatal(err)
			}
			template, err := subject.New(f.Name, text).Compile()
			if err != nil {
				t.Fatal(err)
			}
			var samples []sample
			for _, file := range f.Cases {
				samples = append(samples, read(t, corpus, template, file)...)
			}
			is := script.ShownBy(template)
			for _, k := range kinds {
				if (k.of == nil || k.of(is)) && !slices.ContainsFunc(samples, k.is) {
					t.Errorf("no case of %s; `assay new` writes one where the template shows "+
						"how, else see another family's", k.name)
				}
			}
			rejected := slices.ContainsFunc(f.Cases, func(file string) bool {
				text, err := fs.ReadFile(corpus.FS, file)
				return err == nil && strings.Contains("\n"+string(text), "\n! gate\n")
			})
			if rejected == is.Gate {
				t.Errorf("the gate passes the template: %t; there is a case of "+
					"its rejection: %t", is.Gate, rejected)
			}
		})
	}
}

// read returns the output that a script parses, parsed.
func read(t *testing.T, corpus *families.Corpus, template *engine.Template, file string) []sample {
	cases, err := script.Read(corpus.FS, file)
	if err != nil {
		t.Fatal(err)
	}
	var samples []sample
	for _, c := range cases {
		if !c.Parsed {
			continue
		}
		r, err := chat.ParseRequest(c.Request)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := template.Prepare(r,
			engine.PrepareOptions{Insist: true, Fallbacks: c.Fallbacks})
		if err != nil {
			t.Fatal(err)
		}
		p := plan.NewParser()
		p.Write([]byte(c.Output))
		p.Close(c.Reason)
		c.Message = p.Message()
		ordinary := append([]string{template.Analysis().Format.Reasoning.Close.Text}, plan.Stops...)
		faults := slices.DeleteFunc(p.Diagnostics(), func(d stream.Diagnostic) bool {
			return d.Kind == "dropped" && slices.Contains(ordinary, strings.TrimSpace(d.Text))
		})
		calls := template.Analysis().Format.Calls
		noCall := len(calls) > 0 && calls[0].Object != nil && calls[0].Section.IsZero() && calls[0].Call.IsZero() && len(c.Message.ToolCalls) == 0 && strings.Contains(c.Output, `{"`) && !r.HasJSONSchema
		samples = append(samples,
			sample{c, r, strings.TrimPrefix(c.Message.Reasoning, strings.TrimSpace(plan.Prefill)),
				faults, noCall})
	}
	return samples
}
