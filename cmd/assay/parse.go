package main

import (
	"errors"
	"flag"
	"fmt"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/reduce"
	"github.com/goassay/assay/harness/split"
)

var parseCommand = command{
	name: "parse", args: "TEMPLATE [OUTPUT]",
	short: "parse a model's output and print the message",
	long: `The output is read from the file OUTPUT, or from standard input. It is parsed in one go and in every split; exit
status 1 says that a split gives another message.`,
	setup: func(flags *flag.FlagSet) func(*call) error {
		s := new(step).requestFlags(flags)
		cut := flags.Bool("cut", false, "the output was cut off by a limit on its length")
		deltas := flags.Bool("deltas", false, "print the deltas of a stream of single bytes instead of the message")
		minimize := flags.Bool("minimize", false, "shrink a case in which a split differs, and print a script that shows it")
		flags.BoolVar(&s.explain, "explain", false, "print what was dropped or went wrong, too")
		return func(c *call) error {
			if err := c.want(1, 2, "a template and an output"); err != nil {
				return err
			}
			if *minimize {
				return s.minimize(c, *cut)
			}
			return s.parse(c, *cut, *deltas)
		}
	},
}

func (s *step) parse(c *call, cut, deltas bool) error {
	plan, err := s.prepare(c)
	if err != nil {
		return err
	}
	output, err := c.readInput(1)
	if err != nil {
		return err
	}
	if deltas {
		for _, d := range split.Feed(plan.NewParser(), output, split.Every(len(output)), cut).Deltas {
			fmt.Fprintln(c.stdout, d.Value())
		}
		return nil
	}
	answer, mismatch := split.Check(plan.NewParser(), output, cut)
	fmt.Fprintf(c.stdout, "%s\n", answerValue(answer).Append(nil, ordered.Pretty))
	if s.explain {
		for _, d := range plan.Parse(output, cut).Diagnostics {
			fmt.Fprintln(c.stderr, d)
		}
	}
	if mismatch != nil {
		return &failure{mismatch}
	}
	return nil
}

// minimize shrinks the case. Finding one is a failure, since there should be none.
func (s *step) minimize(c *call, cut bool) error {
	t, err := c.template()
	if err != nil {
		return err
	}
	request, err := s.requestValue(c)
	if err != nil {
		return err
	}
	output, err := c.readInput(1)
	if err != nil {
		return err
	}
	small, fault, err := reduce.Case{Template: t, Request: request, Fallbacks: *s.fallbacks, Output: output, Cut: cut}.Reduce()
	if errors.Is(err, reduce.ErrHolds) {
		fmt.Fprintln(c.stderr, err)
		return nil
	} else if err != nil {
		return err
	}
	fmt.Fprint(c.stdout, small.Script(fault))
	return &failure{errors.New(fault.Text)}
}

// answerValue is an answer in OpenAI's shape of a choice.
func answerValue(a split.Answer) ordered.Value {
	return ordered.ObjectOf(
		ordered.Member{Key: "message", Value: a.Message.Value()},
		ordered.Member{Key: "finish_reason", Value: ordered.Str(string(a.Finish))})
}
