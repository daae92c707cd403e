package model

import (
	"errors"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
)

// Rule is a rule about a model as a whole with the function that looks for its fault.
type Rule = rule.Check[*Subject, struct{}]

// Subject is a model while it is checked.
type Subject struct {
	*subject.Model
	picks   []modeldir.Pick
	options probe.Options
}

// New returns a model to be checked.
func New(m *subject.Model, o probe.Options) *Subject { return &Subject{m, m.Picks(), o} }

// Place is the file that an error is about, with the place there, and the rest of its message; else
// the model.
func (s *Subject) Place(_ struct{}, err error) (rule.Place, string) {
	for _, at := range probe.Positioned(err, nil) {
		if at.Src != nil {
			return rule.At(at.Src.Name, at.Src, at.Off),
				strings.Replace(err.Error(), at.Error(), at.Msg, 1)
		}
	}
	var problem modeldir.Problem
	if errors.As(err, &problem) {
		return rule.Place{File: problem.File}, err.Error()
	}
	return rule.Place{File: s.Path}, err.Error()
}

// disagreements compares the loaders' choices with that of the first one that takes any.
func (s *Subject) disagreements(tools bool) []disagreement {
	var found []disagreement
	first := -1
	for _, p := range s.picks {
		at := choice(p, tools).Template
		switch {
		case at < 0:
		case first < 0:
			first = at
		case at != first && !s.Sources[at].Same(s.Sources[first]):
			i := slices.IndexFunc(found,
				func(d disagreement) bool { return s.Sources[d.second].Same(s.Sources[at]) })
			if i < 0 {
				i = len(found)
				found = append(found, disagreement{first: first, second: at})
			}
			found[i].loaders = append(found[i].loaders, p.String())
		}
	}
	return found
}
