// Package exploration has the part of a template that conversations reach.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package exploration

import (
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/conversation"
)

// Reached is the part of the template that the conversations of the grammar reach, and those that a
// search makes of them.
var Reached = probe.NewFact(func(s *probe.Subject) *conversation.Exploration {
	if s.Options.Grammar == nil {
		return s.Source.Explored()
	}
	return conversation.Explore(s.Template.ChatTemplate(), s.Grammar(),
		s.Template.Caps().Needs.Bound, conversation.UsualRenders, s.Source.Unreachable)
})

// Variables are the values that conversations of the exploration give to single variables, among
// them those by which the search reached a branch.
var Variables = probe.NewFact(func(s *probe.Subject) (all []ordered.Member) {
	seen := map[string]bool{}
	for _, c := range Reached.Of(s).Conversations {
		for _, m := range c.Request.Kwargs.Members() {
			if key := m.Key + "=" + m.Value.String(); !seen[key] && len(all) < mostValues {
				seen[key] = true
				all = append(all, m)
			}
		}
	}
	return all
})

// mostValues bounds the values of variables.
const mostValues = 32
