package main

import (
	"bufio"
	"context"
	"fmt"
	"os"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/script"
)

var exportCommand = command{
	group: proving, name: "export",
	short: "write a corpus as test vectors",
	long:  `The vectors are JSON lines. "assay verify" and other engines can run them.`,
	within: []*command{{
		name: "cases", args: "[CORPUS]", takes: arity{0, 1, "at most one corpus"}, files: folders,
		short: "write the cases as vectors of the kinds parse and caps",
		long: `The vectors name templates as FAMILY/template.jinja, for "assay verify --templates
CORPUS". Without CORPUS the embedded one is written.

With --as canitoolcall the cases are written as records of CanIToolCall's fixture specification 0.1:
a folder for each family that --model names a model of the Hub for, in --out. The corpus names no
models, since its templates are its own; a record of CanIToolCall has to have one, at a commit. A
case whose request asks for more than an answer with tools has no record, and is counted.`,
		setup: func(flags *flagSet) func(*call) error {
			e := exportFlags(flags)
			f := new(fixtures)
			flags.StringVar(&f.as, "as", "", "`FORMAT` of the cases: canitoolcall")
			flags.StringVar(&f.out, "out", "", "`DIR` to write the folders of --as into")
			flags.StringArrayVar(&f.models, "model", nil, "`FAMILY=OWNER/NAME@COMMIT`, the model "+
				"of the Hub whose outputs a family's cases are, with the commit of 40 "+
				"hexadecimal digits; may be given again")
			return func(c *call) error {
				switch f.as {
				case "":
					return e.run(c, e.cases)
				case "canitoolcall":
					return f.run(c, e)
				}
				return usageError{fmt.Errorf("--as %s; expected canitoolcall", f.as)}
			}
		},
	}, {
		name: "prompts", args: "[CORPUS]", takes: arity{0, 1, "at most one corpus"}, files: folders,
		short: "write the prompts of the standard battery as vectors of the kind jinja",
		long: "They have everything that another implementation of Jinja needs. Without CORPUS " +
			"the templates of the embedded one are rendered.",
		setup: func(flags *flagSet) func(*call) error {
			e := exportFlags(flags)
			vendor := flags.String("vendor", "", "`DIR` with the vendors' templates, which "+
				"are rendered too")
			return func(c *call) error {
				if *vendor != "" {
					e.suite.Vendor = os.DirFS(*vendor)
				}
				return e.run(c, e.battery)
			}
		},
	}},
}

// export writes vectors.
type export struct {
	json    bool
	suite   script.Suite
	out     *bufio.Writer
	limits  *limits
	ctx     context.Context // of the run, which ends its renders
	written int             // vectors
}

func exportFlags(flags *flagSet) *export {
	e := new(export)
	flags.BoolVar(&e.json, "json", false, "write one JSON array instead of a line for each vector")
	e.limits = limitFlag(flags, lookedAt)
	return e
}

// run writes the vectors of every template.
func (e *export) run(c *call, write func(script.Variant) error) error {
	e.ctx = c.ctx
	var err error
	if e.suite.Corpus, err = loadCorpus(c.args); err != nil {
		return err
	}
	e.out = bufio.NewWriter(c.data())
	for _, v := range e.suite.Variants() {
		if err := write(v); err != nil {
			return err
		}
	}
	if e.json {
		e.out.WriteString("\n]\n")
	}
	return e.out.Flush()
}

func (e *export) vector(v ordered.Value) {
	switch {
	case !e.json:
		fmt.Fprintln(e.out, v)
	case e.written == 0:
		fmt.Fprintf(e.out, "[\n%s", v)
	default:
		fmt.Fprintf(e.out, ",\n%s", v)
	}
	e.written++
}

// battery exports the prompts of a template.
func (e *export) battery(v script.Variant) error {
	src, err := e.suite.Source(e.ctx, v)
	if err != nil {
		return err
	}
	t, err := src.Limited(e.ctx, e.limits.Limits).Compile()
	if err != nil {
		return err
	}
	for _, c := range standard.Battery() {
		in := t.Caps().Fit(c.Request).Input
		text, err := t.ChatTemplate().RenderImmutable(in)
		if err != nil {
			continue // a render that the native engine refuses is no golden prompt
		}
		e.vector(ordered.Pairs("kind", "jinja", "id", v.Name+"/"+c.Name, "template", src.Text,
			"vars", t.ChatTemplate().Vars(in), "want", text))
	}
	return nil
}

// cases exports the cases of a family and its capabilities.
func (e *export) cases(v script.Variant) error {
	f := v.Family
	src, err := script.Own(e.suite.Corpus, f.Name)
	if err != nil {
		return err
	}
	t, err := src.Limited(e.ctx, e.limits.Limits).Compile()
	if err != nil {
		return err
	}
	e.vector(ordered.Pairs("kind", "caps", "id", "caps/"+f.Name, "template", src.Name,
		"want", t.Caps().Value()))
	cases, err := script.ReadAll(e.suite.Corpus.FS, f.Cases)
	for _, c := range cases {
		if c.Parsed && c.Template == "" { // a vector names a template of the corpus
			e.parse(t, src.Name, fmt.Sprintf("%s/%s/%d", f.Name, c.Name, c.Number), c)
		}
	}
	return err
}

func (e *export) parse(t *engine.Template, template, id string, c families.Case) {
	v := ordered.Pairs("kind", "parse", "id", id, "template", template, "request", c.Request,
		"output", c.Output, "want", wantValue(c.Message))
	if c.Reason.Cut() {
		v = v.With("partial", ordered.Boolean(true))
	}
	if c.Accepts {
		v = v.With("grammar_accepts", ordered.Boolean(true))
	}
	if len(c.Fallbacks) > 0 {
		v = v.With("fallback", ordered.ListOf(c.Fallbacks, ordered.Str))
	}
	if r, err := chat.ParseRequest(c.Request); err == nil {
		if prompt, err := t.Render(r); err == nil {
			if prefill, err := prompt.Prefill(); err == nil {
				v = v.With("generation_prompt", ordered.Str(prefill))
			}
		}
	}
	e.vector(v)
}

// wantValue is a message in the form of vectors.
func wantValue(m chat.Message) ordered.Value {
	calls := make([]ordered.Value, len(m.ToolCalls))
	for i, c := range m.ToolCalls {
		calls[i] = ordered.Pairs("name", c.Name, "arguments", c.Arguments, "id", c.ID)
	}
	return ordered.Pairs("content", m.Content, "reasoning_content", m.Reasoning,
		"tool_calls", calls)
}
