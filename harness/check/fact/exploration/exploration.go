// Package exploration has the part of a template that conversations reach.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package exploration

import (
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
