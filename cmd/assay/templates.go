package main

import (
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/subject"
	"github.com/goassay/assay/harness/survey"
)

var templatesCommand = command{
	name: "templates", args: "FOLDER|MODEL.gguf",
	short: "list a model's chat templates, and say which of them each engine takes",
	long: `A model folder holds templates in chat_template.jinja, additional_chat_templates, chat_template.json, processor_config.json,
tokenizer_config.json and GGUF files. All are listed with the gate's verdict; then which one transformers, vLLM and llama.cpp
take for requests without and with tools, and why; then how they differ (identical, white space, not observable, safe,
risky, breaking) with the changes as ` + "`assay diff`" + ` names them; then what is wrong (rules A050 to A055; ` + "`assay check`" + ` of
the folder has the faults of each template besides). Exit status 1 says that a file cannot be used, or that there is no
template. docs/templates.md has the engines' rules.`,
	setup: func(flags *flag.FlagSet) func(*call) error {
		s := stepFlags(flags)
		return func(c *call) error {
			if err := c.want(1, 1, "a model folder or a model file"); err != nil {
				return err
			}
			return s.templates(c)
		}
	},
}

func (s *step) templates(c *call) error {
	name := c.args[0]
	if !subject.IsModel(name) && !strings.HasSuffix(name, "/") {
		return fmt.Errorf("%s is neither a folder nor a .gguf file; `assay check` takes single templates", name)
	}
	m, err := subject.OpenModel(name)
	if err != nil {
		return err
	}
	found := survey.Of(m)
	if s.json {
		_, err = fmt.Fprintf(c.data(), "%s\n", found.Value().Append(nil, ordered.Pretty))
	} else {
		_, err = io.WriteString(c.stdout, found.String())
	}
	if err == nil && !found.OK() {
		err = errFailed
	}
	return err
}
