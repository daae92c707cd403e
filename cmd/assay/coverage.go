package main

import (
	"errors"
	"fmt"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/corpus/relatives"
)

var coverageCommand = command{
	group: judging, name: "coverage", args: "TEMPLATE", takes: arity{1, 1, "one template"},
	files: templateFiles,
	short: "show which branches of a template any request reaches",
	long: `Conversations are derived from a grammar of clients' requests, and changed as the
template's own comparisons suggest, until every branch was taken or no more is to be tried. Each
line is shown with how many of its outcomes were reached: each if, elif and inline if true and
false, where an absent else counts, each loop entered and repeated. Those that no request reached
follow the line, with the reason where it is proven that none can. Of a template that renders none
of the grammar's conversations the errors are named, and a request that it renders if one is found.
The last lines name the families of the corpus that behave most like the template, and how it
differs from the nearest: what it loses or refuses and that one does not, then the choices.`,
	setup: func(flags *flagSet) func(*call) error {
		s := new(step)
		seed := flags.Uint64("seed", 1, "draw the conversations from this `SEED`")
		tries := flags.Int("tries", conversation.UsualRenders, "try `N` conversations at most")
		s.flags(flags)
		return func(c *call) error {
			src, err := s.source(c)
			if err != nil {
				return err
			}
			var t *chattemplate.Template
			var bound []ordered.Member
			if compiled, err := src.Compile(); err == nil {
				if err := exhausted(compiled); err != nil {
					return err
				}
				t, bound = compiled.ChatTemplate(), compiled.Caps().Needs.Bound
			} else if errors.Is(err, engine.ErrExhausted) {
				return &failure{err}
			} else {
				// A template that renders no probe has branches all the same.
				t, err = chattemplate.Compile(c.ctx, src.Places(), src.BOS, src.EOS, subject.Now)
				if err != nil {
					return &failure{err}
				}
				t.Bound(s.limits.Render, s.limits.TotalSteps)
			}
			grammar := conversation.Usual()
			if *seed != grammar.Seed {
				grammar = conversation.New(*seed)
			}
			x := conversation.Explore(t, grammar, bound, *tries, nil)
			cut, kin := t.Exhausted(), relatives.Find(src)
			if s.json {
				err = writeJSON(c.stdout, x.Value().With("relatives", kin.Value()))
			} else {
				_, err = fmt.Fprint(c.stdout, x, kin.Listing())
			}
			if err == nil && cut != nil {
				return &failure{cut}
			}
			return err
		}
	},
}
