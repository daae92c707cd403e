package check_test

import (
	"io/fs"
	"math/rand"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	openai "github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/verify"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
)

// seeds is how many sentences of each grammar are drawn.
const seeds = 8

// TestSampledCallsValidate draws sentences from the grammar of every family's template under
// required calls, parses them, and validates the arguments by the tools' schemas with a JSON Schema
// library that is not ours.
func TestSampledCallsValidate(t *testing.T) {
	validators := map[string]*jsonschema.Schema{}
	for _, tool := range verify.Tools() {
		validators[tool.Name] = compileSchema(t, tool)
	}
	templates, err := fs.Glob(corpus.FS, "*/template.jinja")
	if err != nil || len(templates) == 0 {
		t.Fatalf("the corpus has no templates (%v)", err)
	}
	for _, name := range templates {
		t.Run(strings.TrimSuffix(name, "/template.jinja"), func(t *testing.T) {
			t.Parallel()
			text, err := fs.ReadFile(corpus.FS, name)
			if err != nil {
				t.Fatal(err)
			}
			tmpl, err := engine.Compile(t.Context(), engine.Source{Name: name, Text: string(text),
				BOS: "<s>",
				EOS: "</s>"}, engine.Options{Now: subject.Now})
			if err != nil {
				t.Fatal(err)
			}
			if !tmpl.Analysis().HasCalls() {
				return
			}
			request := standard.ToolRequest()
			request.Tools, request.ToolChoice.Mode = verify.Tools(), openai.ChoiceRequired
			plan, err := tmpl.Prepare(request, engine.PrepareOptions{Insist: true})
			if err != nil {
				t.Fatal(err)
			}
			grammar, err := plan.Output.Grammar()
			if err != nil {
				t.Fatal(err)
			}
			for seed := range int64(seeds) {
				sampler, err := gbnf.NewSampler(grammar, rand.New(rand.NewSource(seed)))
				if err != nil {
					t.Fatal(err)
				}
				output, err := sampler.Sample()
				if err != nil {
					t.Fatal(err)
				}
				validate(t, validators, seed, output, plan.Parse(output, openai.FinishStop).Message)
			}
		})
	}
}

func validate(t *testing.T, validators map[string]*jsonschema.Schema, seed int64, output string,
	m openai.Message) {
	t.Helper()
	if len(m.ToolCalls) == 0 {
		t.Errorf("seed %d: no call in %q", seed, output)
	}
	for _, call := range m.ToolCalls {
		arguments, err := jsonschema.UnmarshalJSON(strings.NewReader(call.Arguments))
		if err == nil {
			err = validators[call.Name].Validate(arguments)
		}
		if err != nil {
			t.Errorf("seed %d: %s(%s): %v\nread from %q", seed, call.Name, call.Arguments, err,
				output)
		}
	}
}

func compileSchema(t *testing.T, tool openai.Tool) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(strictly(tool.Parameters).String()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(tool.Name, document); err != nil {
		t.Fatal(err)
	}
	s, err := compiler.Compile(tool.Name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// strictly writes OpenAPI's "nullable", which JSON Schema does not know, as a list of types, and
// forbids arguments that are not declared, as the grammar does.
func strictly(v ordered.Value) ordered.Value {
	properties := v.At("properties").Members()
	if len(properties) == 0 {
		return v
	}
	out := ordered.ObjectOf()
	for _, p := range properties {
		if p.Value.At("nullable").Bool() {
			p.Value = p.Value.Without("nullable").
				With("type", ordered.ArrayOf(p.Value.At("type"), ordered.Str("null")))
		}
		out = out.With(p.Key, p.Value)
	}
	return v.With("properties", out).With("additionalProperties", ordered.Boolean(false))
}
