package clients

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// ClientRequestFails is the rule A095: a request that a client sends (--client) ends in an error
// that the template did not mean to raise.
var ClientRequestFails = &probe.Rule{
	Rule: rule.Rule{
		ID: "A095", Name: "client-request-fails", Severity: rule.Error, Harm: rule.Crashed,
		Short: "A request that a client sends (--client) crashes the template.",
		Damage: "The client gets status 500 in the middle of its work, and its users are told " +
			"that the model is broken.",
		Fix: "The finding names the message, and a form of it that is rendered; `assay fix` " +
			"mends some.",
	},
	Find: checkClientFails,
}

func checkClientFails(s *probe.Subject, find probe.Finder) {
	findTroubles(s, find, false, "ends in an error")
}
