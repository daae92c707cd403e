package account

import (
	"github.com/goassay/assay/harness/check/fact/boundary"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// LineFeedLost is the rule A180: two parts of the prompt stand in one line, and a line feed parts
// them from everything else that stands there.
var LineFeedLost = &probe.Rule{
	Rule: rule.Rule{
		ID: "A180", Name: "line-feed-lost", Severity: rule.Warning, Harm: rule.Glued,
		Short: "A line feed is missing between two parts of the prompt, though it stands there " +
			"in every other case.",
		Damage: "A tool call sticks to the role, the content or the call before it: other tokens " +
			"than in training, and the model learns to write it so.",
		Fix: "Write the line feed in this place as well, or nowhere. Look for a minus sign in a " +
			"tag, and for `loop.first` where there is text before the loop.",
	},
	Find: findLineFeedLost,
}

func findLineFeedLost(s *probe.Subject, find probe.Finder) {
	seen := map[int]bool{}
	for _, o := range boundary.Outliers.Of(s) {
		at := o.At(s)
		if seen[at.Off()] || o.Fed() {
			continue
		}
		seen[at.Off()] = true
		left, right, elsewhere := o.Words()
		find(at, "no line feed stands between %s and %s, though one stands %s\nelsewhere: "+
			"%s", left, right, elsewhere,
			o.Like.Quote())
	}
}
