package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/goassay/assay/engine/emit"
	"github.com/goassay/assay/harness/subject"
)

var emitCommand = command{
	group: serving, name: "emit", args: "TARGET TEMPLATE", takes: arity{2, 2, "a target and a template"}, files: templateFiles,
	short: "write a template's format in the language of another engine",
	long: `A target reads what the format spells, or the command fails and names the part for which the target's language has no words; it never
approximates. The target response-template is transformers' object, version 1, which vLLM and SGLang read from tokenizer_config.json,
too. --into writes it there and leaves every other byte of the file as it is.`,
	setup: func(flags *flagSet) func(*call) error {
		into := flags.String("into", "", "tokenizer_config.json `FILE` to write the object into")
		return func(c *call) error {
			if target := c.args[0]; target != "response-template" {
				return usageError{fmt.Errorf("no target %q; there is response-template", target)}
			}
			return c.emitResponseTemplate(*into)
		}
	},
}

func (c *call) emitResponseTemplate(into string) error {
	src, err := subject.Open(c.args[1], c.stdin)
	if err != nil {
		return err
	}
	t, err := src.Compile()
	if err != nil {
		return err
	}
	object, err := emit.ResponseTemplate(t.Analysis().Format)
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
	written, err := emit.Into(into, string(text), "response_template", object)
	if err != nil {
		return err
	}
	info, err := os.Stat(into)
	if err != nil {
		return err
	}
	if err := os.WriteFile(into+".new", []byte(written), info.Mode().Perm()); err != nil {
		return err
	}
	return os.Rename(into+".new", into)
}
