package main

import (
	"fmt"

	"github.com/goassay/assay/harness/conversation"
)

var coverageCommand = command{
	group: judging, name: "coverage", args: "TEMPLATE", takes: arity{1, 1, "one template"},
	files: templateFiles,
	short: "show which branches of a template any request reaches",
	long: `Conversations are derived from a grammar of clients' requests, and changed as the
template's own comparisons suggest, until every branch was taken or no more is to be tried. Each
line is shown with how many of its outcomes were reached: each if, elif and inline if true and
false, where an absent else counts, each loop entered and repeated. Those that no request reached
follow the line, with the reason where it is proven that none can.`,
	setup: func(flags *flagSet) func(*call) error {
		s := new(step)
		seed := flags.Uint64("seed", 1, "draw the conversations from this `SEED`")
		tries := flags.Int("tries", conversation.UsualRenders, "try `N` conversations at most")
		s.flags(flags)
		return func(c *call) error {
			t, err := s.template(c)
			if err != nil {
				return err
			}
			grammar := conversation.Usual()
			if *seed != grammar.Seed {
				grammar = conversation.New(*seed)
			}
			x := conversation.Explore(t.ChatTemplate(), grammar, t.Caps().Needs.Bound, *tries,
				nil)
			if s.json {
				return writeJSON(c.stdout, x.Value())
			}
			_, err = fmt.Fprint(c.stdout, x)
			return err
		}
	},
}
