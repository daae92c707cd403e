package main

import (
	"fmt"
	"io"
)

var grammarCommand = command{
	group: looking, name: "grammar", args: "TEMPLATE", takes: arity{1, 1, "one template"},
	files: templateFiles,
	short: "print the grammar made for a template and a request",
	long: "Nothing is printed where the request needs no grammar. --explain adds the triggers " +
		"and the stops of an answer.",
	setup: func(flags *flagSet) func(*call) error {
		s := new(step)
		flags.BoolVar(&s.explain, "explain", false, "print triggers, stops and preserved "+
			"tokens as comments")
		s.flags(flags).requestFlags(flags)
		return s.grammar
	},
}

func (s *step) grammar(c *call) error {
	plan, err := s.prepare(c)
	if err != nil {
		return err
	}
	text, err := plan.Grammar()
	if err != nil {
		return &failure{err}
	}
	if s.json {
		return writeJSON(c.stdout,
			map[string]any{"grammar": text, "lazy": plan.Lazy, "triggers": plan.Triggers,
				"stops": plan.Stops, "preserved_tokens": plan.Preserved})
	}
	if s.explain {
		fmt.Fprintf(c.stdout, "# lazy: %t\n", plan.Lazy)
		for _, t := range plan.Triggers {
			fmt.Fprintf(c.stdout, "# trigger: %s\n", t)
		}
		fmt.Fprintf(c.stdout, "# stops: %q\n# preserved: %q\n", plan.Stops, plan.Preserved)
	}
	_, err = io.WriteString(c.data(), text)
	return err
}
