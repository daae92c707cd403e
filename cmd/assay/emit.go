package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/capability"
	"github.com/goassay/assay/engine/emit"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/model/tokenizer"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/foreign/target"
	"github.com/goassay/assay/harness/report/safefile"
	"github.com/goassay/assay/harness/report/spelling"
)

var emitCommand = command{
	group: serving, name: "emit", args: "TARGET TEMPLATE",
	takes: arity{2, 2, "a target and a template"}, files: templateFiles,
	short: "write a template's format, or the grammar of its answers, for another engine",
	long: `Of the format: the target format is JSON, from which parsers can be made in any language;
"assay parse --format" reads it. The target capabilities says what the template takes: roles, forms
of content, tools, reasoning and the variables for it; docs/reference/capabilities.schema.json
describes the record. The target response-template is transformers' object, version 1,
which vLLM and SGLang read from tokenizer_config.json, too; --into writes it there and leaves every
other byte of the file as it is.

Of the answers to a request, its tools, its tool_choice and its parallel_tool_calls: structural-tag
and ebnf are for xgrammar, lark is for llguidance, gbnf for llama.cpp. The grammar is one of a whole
answer, reasoning and the end included; only a structural tag leaves text free up to a call, where
the request leaves the model free to call. With --tokenizer, lark names special tokens by their ids,
which a tokeniser that has such tokens needs.

A target says exactly the same as the format, or the command fails and names the part for which the
target's language has no words; it never approximates. docs/formats.md has the proofs.`,
	setup: func(flags *flagSet) func(*call) error {
		e := &emission{step: new(step)}
		flags.StringVar(&e.into, "into", "", "tokenizer_config.json `FILE` to write a "+
			"response-template into")
		flags.StringVar(&e.convention, "for", "", "write capabilities as this `PROGRAM` has "+
			"them: "+strings.Join(conventions(), ", "))
		flags.completes("for", conventions)
		e.tokenizerFlag(flags)
		e.limits = limitFlag(flags, lookedAt)
		e.requestFlags(flags)
		return e.run
	},
}

type emission struct {
	*step
	into, convention string
}

func conventions() []string {
	return lists.Map(capability.Conventions, func(c capability.Convention) string { return c.Name })
}

// object returns what is written of a template.
func (e *emission) object(to target.Target, t *engine.Template) (ordered.Value, error) {
	if e.convention == "" {
		return to.Object(t)
	}
	i := slices.Index(conventions(), e.convention)
	if i < 0 || to.Name != "capabilities" {
		return ordered.Value{}, usageError{fmt.Errorf("--for writes capabilities, for one of %s",
			strings.Join(conventions(), ", "))}
	}
	return capability.Conventions[i].Of(capability.Of(t)), nil
}

func (e *emission) run(c *call) error {
	i := slices.IndexFunc(target.All, func(t target.Target) bool { return t.Name == c.args[0] })
	if i < 0 {
		return usageError{fmt.Errorf("no target %q; there are %s%s", c.args[0],
			strings.Join(target.Names(), ", "), spelling.Meant(c.args[0], target.Names()))}
	}
	to := target.All[i]
	if e.into != "" && to.Member == "" {
		return usageError{fmt.Errorf("--into: no file has a place for the target %s", to.Name)}
	}
	template := c.args[1]
	c.args = c.args[1:]
	if to.Grammar != nil {
		vocabulary, err := e.specials()
		if err != nil {
			return err
		}
		plan, err := e.prepare(c)
		if err != nil {
			return err
		}
		text, err := to.Grammar(plan, vocabulary)
		if err != nil {
			return &failure{err}
		}
		_, err = io.WriteString(c.data(), text)
		return err
	}
	t, err := e.template(c)
	if err != nil {
		return err
	}
	object, err := e.object(to, t)
	if err := exhausted(t); err != nil {
		return err
	}
	var refused *emit.Inexpressible
	if errors.As(err, &refused) {
		fmt.Fprintf(c.stderr, "%s: %v\n", template, err)
		return errFailed
	} else if err != nil {
		return err
	}
	if e.into == "" {
		fmt.Fprint(c.data(), emit.Indent(object))
		return nil
	}
	return writeInto(e.into, to.Member, object)
}

// specials reads the tokenizer's vocabulary, if there is one. Only the grammar's literals are to
// have its tokens: the parser is made without it.
func (e *emission) specials() (*engine.Vocabulary, error) {
	if e.tokenizer == "" {
		return nil, nil
	}
	v, err := tokenizer.Vocabulary(e.tokenizer)
	e.tokenizer = ""
	return v, err
}

// writeInto puts a member into a file of JSON.
func writeInto(file, member string, object ordered.Value) error {
	text, err := readFile(file)
	if err != nil {
		return err
	}
	written, err := emit.Into(file, string(text), member, object)
	if err != nil {
		return err
	}
	return safefile.Write(file, safefile.Text(written))
}
