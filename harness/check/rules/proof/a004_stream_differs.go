package proof

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/formatjson"
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
		Short:  "An assistant message is parsed differently when it streams in small pieces.",
		Damage: "Clients that stream get another message than others, or a broken one.",
		Fix:    "This is a bug of Assay's parser: please report it with the template.",
	},
	Group: probe.GroupStream,
	Find:  checkStream,
}

func checkStream(s *probe.Subject, find probe.Finder) {
	format := formatjson.Write(formatjson.Document{Format: s.Template.Analysis().Format}).String()
	err := turns(s, func(shape verify.Shape, plan *codegen.Output) {
		key := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", format, s.Options.Fallbacks, shape.Turn))
		if wholes.has(key) {
			return
		}
		_, mismatch := split.CheckSchedules(stream.NewParser(plan), shape.Turn, chat.FinishStop,
			split.Few(len(shape.Turn)))
		if mismatch != nil {
			find(turn(s, shape), "an assistant message with %s is read differently when it is "+
				"streamed: %w", shape.Name, mismatch)
		} else {
			wholes.add(key)
		}
	})
	if err != nil {
		find(probe.Nowhere, "no parser can be made for assistant messages: %w", err)
	}
}

// wholes are the turns that every cut has left the same, with what their parser is made of: many
// templates share it, and a template shares it with its patches.
var wholes digests

// digests is a set of digests. It is safe for concurrent use.
type digests struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]bool
}

// mostDigests bounds a set: a fuller one begins anew.
const mostDigests = 1 << 15

func (d *digests) has(key [sha256.Size]byte) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all[key]
}

func (d *digests) add(key [sha256.Size]byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.all) == 0 || len(d.all) == mostDigests {
		d.all = map[[sha256.Size]byte]bool{}
	}
	d.all[key] = true
}
