package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/emit"
	"github.com/goassay/assay/engine/formatjson"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/standard"
	"github.com/goassay/assay/harness/subject"
)

// target is a language in which a format is written.
type target struct {
	name   string
	write  func(*engine.Template) (ordered.Value, error)
	member string // of tokenizer_config.json that holds it; empty: none does
}

var targets = []target{
	{"format", func(t *engine.Template) (ordered.Value, error) { return formatDocument(t), nil }, ""},
	{"response-template", func(t *engine.Template) (ordered.Value, error) {
		return emit.ResponseTemplate(t.Analysis().Format)
	}, "response_template"},
}

func targetNames() []string {
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = t.name
	}
	return names
}

// formatDocument is the format of a template as JSON. The prefill of an ordinary request comes
// first.
func formatDocument(t *engine.Template) ordered.Value {
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

var emitCommand = command{
	group: serving, name: "emit", args: "TARGET TEMPLATE",
	takes: arity{2, 2, "a target and a template"}, files: templateFiles,
	short: "write a template's format for another engine",
	long: `The target format is the format as JSON, from which parsers can be made in any language;
"assay parse --format" reads it. The target response-template is transformers' object, version 1,
which vLLM and SGLang read from tokenizer_config.json, too; --into writes it there and leaves every
other byte of the file as it is. It reads every turn that the format spells, or the command fails
and names the part for which the target's language has no words; it never approximates.`,
	setup: func(flags *flagSet) func(*call) error {
		into := flags.String("into", "", "tokenizer_config.json `FILE` to write a "+
			"response-template into")
		limits := limitFlag(flags, lookedAt)
		return func(c *call) error {
			for _, t := range targets {
				if t.name == c.args[0] {
					return c.emit(t, *into, limits.of(c))
				}
			}
			return usageError{fmt.Errorf("no target %q; there are %s%s", c.args[0],
				strings.Join(targetNames(), ", "), meant(c.args[0], targetNames()))}
		}
	},
}

func (c *call) emit(to target, into string, limits engine.Limits) error {
	if into != "" && to.member == "" {
		return usageError{fmt.Errorf("--into: no file has a place for the target %s", to.name)}
	}
	src, err := subject.Open(c.args[1], c.stdin)
	if err != nil {
		return err
	}
	t, err := src.Limited(limits).Compile()
	if err != nil {
		return err
	}
	object, err := to.write(t)
	if err := exhausted(t); err != nil {
		return err
	}
	var refused *emit.Inexpressible
	if errors.As(err, &refused) {
		fmt.Fprintf(c.stderr, "%s: %v\n", src.Name, err)
		return errFailed
	} else if err != nil {
		return err
	}
	if into == "" {
		fmt.Fprint(c.data(), emit.Indent(object))
		return nil
	}
	text, err := os.ReadFile(into)
	if err != nil {
		return err
	}
	written, err := emit.Into(into, string(text), to.member, object)
	if err != nil {
		return err
	}
	return replaceText(into, written)
}
