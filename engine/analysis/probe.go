package analysis

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/observe"
)

// observation is a rendered probe and the turn in it.
type observation struct {
	*observe.Rendering
	tail []observe.Atom // what follows the last byte of the user's message, without what is written of tools after the answer
}

// observe renders a probe once; the same probe again costs nothing.
func (a *analyzer) observe(p observe.Probe) *observation { return a.seen(a.observer.Observe(p)) }

// seen returns a rendering with its turn; nil for nil.
func (a *analyzer) seen(r *observe.Rendering) *observation {
	if r == nil {
		return nil
	}
	o, ok := a.turns[r]
	if !ok {
		o = &observation{r, a.withoutTools(r.Probe, r.Tail)}
		a.turns[r] = o
	}
	return o
}

// withoutTools takes off an answer's tail what the template writes behind the messages where there are tools: what an answer without tools
// does not end with.
func (a *analyzer) withoutTools(p observe.Probe, tail []observe.Atom) []observe.Atom {
	from := len(tail)
	for i, at := range slices.Backward(tail) {
		if at.Kind == observe.Foreign && strings.HasPrefix(at.Path, "tools") {
			from = i
		} else if at.Kind != observe.Literal && at.Kind != observe.Counter && at.Kind != observe.Foreign {
			break // a tool that is described before the answer's end is a part of the answer
		}
	}
	if p.Plain || !p.Tools || from < 1 || from == len(tail) || tail[from-1].Kind != observe.Literal {
		return tail
	}
	with := tail[from-1].Text
	without := ""
	if o := a.observe(p.With(func(p *observe.Probe) { p.Tools = false })); o.Err == nil {
		without = observe.LastLiteral(o.tail)
	}
	end := tail[from-1]
	end.Text = snapEnd(commonPrefix(with, without), with, without)
	return append(slices.Clone(tail[:from-1]), end)
}
