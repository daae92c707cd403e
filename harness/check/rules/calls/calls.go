package calls

import (
	"github.com/goassay/assay/harness/check/fact/losses"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/conversation"
)

// threeCalls is a message with three calls that differ in nothing but a word of equal length.
var threeCalls = sample.CallTurnOf(sample.CallIn("callid001", "CITYONE"), sample.CallIn("callid002",
	"CITYTWO"), sample.CallIn("callid003", "CITYSIX"))

// checkBesideCalls looks for the texts of messages that have calls: those of a template that writes
// some of them, or those of one that writes none.
func checkBesideCalls(s *probe.Subject, find probe.Finder, some bool) {
	if !s.Supports(find, probe.ReplaysCalls) || !prompts.Heard(s, find, conversation.Call) {
		return
	}
	if written := losses.All.Of(s).Written[losses.Sort{
		Kind: conversation.Call, Part: conversation.Content}]; some ==
		(written > 0) {
		beside := func(at probe.Where, format string, args ...any) {
			if some {
				format += "\nelsewhere: other conversations keep it"
			}
			find(at, format, args...)
		}
		losses.All.Of(s).FindLost(s, beside, losses.All.Of(s).Of(conversation.Call,
			conversation.Content))
	}
}
