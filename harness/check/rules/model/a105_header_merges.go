package model

import (
	"strings"

	"github.com/goassay/assay/harness/check/rule"
)

// HeaderMerges is the rule A105: the header of an answer ends in text that a tokeniser may join
// with the answer's.
var HeaderMerges = &Rule{
	Rule: rule.Rule{
		ID: "A105", Name: "header-merges", Severity: rule.Note, Harm: rule.Misread,
		Short: "The assistant's header ends in text that may merge with the first word after it.",
		Damage: "In training an assistant message begins with a merged token, which cannot " +
			"follow the header of a prompt.",
		Fix: "End the header with a special token or a line feed.",
	},
	Find: anywhere(withVocabulary(checkHeaderMerges)),
}

func checkHeaderMerges(t *tokenised, find Finder) {
	header := t.Analysis().Format.Header
	tail := header
	if found := t.v.Scan(header); len(found) > 0 {
		tail = header[found[len(found)-1].End():]
	}
	if tail != "" && !strings.HasSuffix(tail, "\n") {
		find("the header of %s ends in %q", t.name, tail)
	}
}
