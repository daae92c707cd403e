package proof

import (
	"fmt"
	"strings"

	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/verify"
	"github.com/goassay/assay/harness/check/probe"
)

// grouped gathers the findings about shapes, so that one fault that several shapes show is one
// finding.
func grouped(s *probe.Subject) *groups { return &groups{index: map[string]int{}} }

type groups struct {
	index map[string]int // cause -> place in list
	list  []group
}

type group struct {
	first verify.Shape
	err   error
	names []string // of further shapes
}

// add adds a finding; findings with the same cause are one.
func (g *groups) add(shape verify.Shape, cause, format string, args ...any) {
	if at, ok := g.index[cause]; ok {
		g.list[at].names = append(g.list[at].names, shape.Name)
		return
	}
	g.index[cause] = len(g.list)
	g.list = append(g.list, group{first: shape, err: fmt.Errorf(format, args...)})
}

func (g *groups) find(find probe.Finder, further string, at func(verify.Shape) probe.Where) {
	for _, group := range g.list {
		if group.names != nil {
			find(at(group.first).Bare(), "%w\n%s: %s", group.err, further,
				strings.Join(group.names, ", "))
		} else {
			find(at(group.first).Bare(), "%w", group.err)
		}
	}
}

// plan generates a parser for turns as the template writes them, without a prefill.
func plan(s *probe.Subject, o codegen.Options) (*codegen.Output, error) {
	o.Tolerances, o.Fallbacks = codegen.Usual, s.Options.Fallbacks
	return generators.Of(s).Generate(o)
}

var generators = probe.NewFact(func(s *probe.Subject) *codegen.Generator {
	return codegen.NewGenerator(s.Template.Analysis().Format)
})

// turns yields the turns that verify proved, with a plan that reads them.
func turns(s *probe.Subject, yield func(shape verify.Shape, plan *codegen.Output)) error {
	plan, err := turnPlan(s)
	if err != nil {
		return err
	}
	for _, shape := range s.Template.Verify().Shapes {
		if shape.Verdict == verify.Verified {
			yield(shape, plan)
		}
	}
	return nil
}

// turnPlan returns the plan that reads the turns of verify, or why there is none.
func turnPlan(s *probe.Subject) (*codegen.Output, error) {
	p := turnPlans.Of(s)
	return p.output, p.err
}

var turnPlans = probe.NewFact(func(s *probe.Subject) (p struct {
	output *codegen.Output
	err    error
}) {
	p.output, p.err = plan(s, codegen.Options{Tools: verify.Tools(), Parallel: true})
	return p
})
