// Package target has the languages in which a format is written, or the grammar of the answers to a
// request: the targets of `assay emit`, of the pipe and of the module for JavaScript.
//
// # Errors
//
// A target says exactly the same as the format, or returns an [emit.Inexpressible].
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package target

import (
	"slices"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/capability"
	"github.com/goassay/assay/engine/emit"
	"github.com/goassay/assay/engine/formatjson"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/foreign/responsetemplate"
)

// Target is a language in which a format is written, or the grammar of the answers to a request.
type Target struct {
	Name   string
	Object func(*engine.Template) (ordered.Value, error) // of a format
	Member string                                        // of tokenizer_config.json that holds it

	Grammar func(*engine.Plan, *engine.Vocabulary) (string, error)
}

// All are the targets.
var All = []Target{
	{Name: "format", Object: func(t *engine.Template) (ordered.Value, error) {
		return Format(t), nil
	}},
	{Name: "response-template", Member: "response_template",
		Object: responsetemplate.Emit},
	{Name: "capabilities", Object: func(t *engine.Template) (ordered.Value, error) {
		return capability.Of(t).Value(), nil
	}},
	{Name: "structural-tag", Grammar: func(p *engine.Plan, _ *engine.Vocabulary) (string, error) {
		tag, err := emit.StructuralTag(p.Output)
		return emit.Indent(tag), err
	}},
	{Name: "lark", Grammar: func(p *engine.Plan, v *engine.Vocabulary) (string, error) {
		return emit.Lark(p.Output, v)
	}},
	{Name: "ebnf", Grammar: func(p *engine.Plan, _ *engine.Vocabulary) (string, error) {
		return emit.EBNF(p.Output)
	}},
	{Name: "gbnf", Grammar: func(p *engine.Plan, _ *engine.Vocabulary) (string, error) {
		return emit.GBNF(p.Output)
	}},
}

// Names returns the names of all targets.
func Names() []string {
	return lists.Map(All, func(t Target) string { return t.Name })
}

// Format is the format of a template as JSON. The prefill of an ordinary request comes first.
func Format(t *engine.Template) ordered.Value {
	a := t.Analysis()
	prefills := a.Prefills
	if prompt, err := t.Render(standard.ToolRequest()); err == nil {
		if usual, err := prompt.Prefill(); err == nil {
			same := func(p string) bool { return p == usual }
			prefills = append([]string{usual}, slices.DeleteFunc(slices.Clone(prefills), same)...)
		}
	}
	return formatjson.Write(formatjson.Document{Format: a.Format, Prefills: prefills})
}

// Grammars returns the targets that are grammars of answers, by their names.
func Grammars() map[string]func(*engine.Plan, *engine.Vocabulary) (string, error) {
	all := map[string]func(*engine.Plan, *engine.Vocabulary) (string, error){}
	for _, t := range All {
		if t.Grammar != nil {
			all[t.Name] = t.Grammar
		}
	}
	return all
}

// Objects returns the others, which are written of a template alone.
func Objects() map[string]func(*engine.Template) (string, error) {
	all := map[string]func(*engine.Template) (string, error){}
	for _, t := range All {
		if t.Object != nil {
			all[t.Name] = func(of *engine.Template) (string, error) {
				object, err := t.Object(of)
				return emit.Indent(object), err
			}
		}
	}
	return all
}
