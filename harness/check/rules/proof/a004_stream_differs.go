package proof

import (
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/stream"
	"github.com/goassay/assay/engine/verify"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/corpus/split"
)

// StreamDiffers is the rule A004: a message depends on how the output is cut into chunks, or the
// deltas break the protocol.
var StreamDiffers = &probe.Rule{
	Rule: rule.Rule{
		ID: "A004", Name: "stream-differs", Severity: rule.Error, Harm: rule.Misread,
		Short: "An answer is read otherwise when it is streamed in small pieces than as a " +
			"whole.",
		Damage: "Clients that stream see another answer than clients that do not, or a broken one.",
		Fix:    "This is a bug of the engine: please report it with the template.",
	},
	Group: probe.GroupStream,
	Find:  checkStream,
}

func checkStream(s *probe.Subject, find probe.Finder) {
	err := turns(s, func(shape verify.Shape, plan *codegen.Output) {
		_, mismatch := split.CheckSchedules(stream.NewParser(plan), shape.Turn, chat.FinishStop,
			split.Few(len(shape.Turn)))
		if mismatch != nil {
			find(turn(s, shape.Tools),
				"an answer with %s is read otherwise when it is streamed: %w", shape.Name, mismatch)
		}
	})
	if err != nil {
		find(probe.Nowhere, "no parser can be made for answers: %w", err)
	}
}
