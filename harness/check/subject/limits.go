package subject

import "github.com/goassay/assay/engine"

// Untrusted are the limits for templates of strangers. All renders of a check of the most costly
// template in public use take between 1,000,000 and 1,250,000 steps.
var Untrusted = engine.Limits{
	Source:     1 << 20,
	Render:     engine.RenderLimits{Steps: 200_000, OutputBytes: 1 << 20, Depth: 100},
	TotalSteps: 2_000_000,
	Output:     engine.OutputLimits{Held: 1 << 18, Depth: 2_000, Rereads: 16},
}

// LookedAt are the limits of a look at a template: the defaults, and for all renders together some
// hundred times the cost of a usual template.
var LookedAt = engine.Limits{TotalSteps: 20_000_000}

// Edited are the limits of the searches for a patch: for all renders of the template and of its
// edited texts together, three times the cost of the most costly one of the vendors' templates,
// which `assay train --keep` takes less than 33,000,000 steps for.
var Edited = engine.Limits{TotalSteps: 100_000_000}
