package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/internal/observe"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
)

// lab renders probes for the passes, and keeps their findings.
type lab struct {
	observer *observe.Observer
	tails    map[*observe.Rendering]*observation
	evidence []Evidence
	next     string // the opener of a user's message after an answer, where probes have one
	tooled   bool   // answers are written beside tools alone
}

// found notes a comparison's finding.
func (a *lab) found(comparison, text string, args ...any) {
	a.evidence = append(a.evidence,
		Evidence{Comparison: comparison, Found: fmt.Sprintf(text, args...)})
}

// gave notes a comparison's finding and the fields of the format that it gives, by their names with
// spaces between, with their basis.
func (a *lab) gave(comparison, fields string, basis format.Basis, text string, args ...any) {
	a.evidence = append(a.evidence,
		Evidence{comparison, strings.Fields(fields), basis, fmt.Sprintf(text, args...)})
}

// shared returns the answers that the comparisons share.
func (a *lab) shared() turns {
	t := a.observer.Turns
	of := func(r *observe.Rendering) turn { return turn{observation: a.seen(r)} }
	return turns{of(t.Plain), of(t.Bare), of(t.Thought), of(t.Called), of(t.Acted), of(t.Spoken),
		of(t.Double)}
}

// observation is a rendered probe and the turn in it.
type observation struct {
	*observe.Rendering
	// the text after the last byte of the user's message, less that about tools after the answer
	tail []observe.Atom
}

// observe renders a probe once; the same probe again costs nothing.
func (a *lab) observe(p observe.Probe) *observation { return a.seen(a.observer.Observe(p)) }

// seen returns a rendering with its turn; nil for nil.
func (a *lab) seen(r *observe.Rendering) *observation {
	if r == nil {
		return nil
	}
	o, ok := a.tails[r]
	if !ok {
		o = &observation{r, a.withoutNext(r.Probe, a.withoutTools(r.Probe, r.Tail))}
		a.tails[r] = o
	}
	return o
}

// withoutTools takes off an answer's tail the text that the template writes after the messages
// where there are tools: an answer without tools does not end with it.
func (a *lab) withoutTools(p observe.Probe, tail []observe.Atom) []observe.Atom {
	from := len(tail)
	for i, at := range slices.Backward(tail) {
		if at.Kind == observe.Foreign && strings.HasPrefix(at.Path, "tools") {
			from = i
		} else if at.Kind != observe.Literal && at.Kind != observe.Counter &&
			at.Kind != observe.Foreign {
			break // a tool that is described before the answer's end is a part of the answer
		}
	}
	if p.Plain || !p.Tools || from < 1 || from == len(tail) ||
		tail[from-1].Kind != observe.Literal {
		return tail
	}
	with := tail[from-1].Text
	without := ""
	if o := a.observe(p.With(func(p *observe.Probe) { p.Tools = false })); o.Err == nil {
		without = observe.LastLiteral(o.tail)
	}
	end := tail[from-1]
	end.Text = snapEnd(source.CommonPrefix(with, without), with, without)
	return append(slices.Clone(tail[:from-1]), end)
}

// withoutNext takes the user's message that follows an answer, and its opener, off the answer's
// tail.
func (a *lab) withoutNext(p observe.Probe, tail []observe.Atom) []observe.Atom {
	if !p.Followed || p.Plain {
		return tail
	}
	next := strings.TrimSuffix(p.AnswerPath(), "[1]") + "[2]"
	from := slices.IndexFunc(tail,
		func(at observe.Atom) bool {
			return at.Kind == observe.Foreign && strings.HasPrefix(at.Path, next)
		})
	if from < 1 || tail[from-1].Kind != observe.Literal {
		return tail
	}
	end := tail[from-1]
	end.Text = strings.TrimSuffix(end.Text, a.next)
	return append(slices.Clone(tail[:from-1]), end)
}

// nextTurn returns the text that stands between an answer with content and a user's message, and
// that does not end such an answer where it is the last message.
func (a *lab) nextTurn() string {
	last := a.observer.Observe(observe.Probe{Content: new(observe.ContentNeedle)})
	past := a.observer.Observe(observe.Probe{Content: new(observe.ContentNeedle), Followed: true})
	if last.Err != nil || past.Err != nil {
		return ""
	}
	_, at := observe.Before(past.Tail, observe.Content)
	between := observe.After(past.Tail, at)
	_, at = observe.Before(last.Tail, observe.Content)
	return strings.TrimPrefix(between, observe.After(last.Tail, at))
}

// settings renders a probe as it is, and with each of the template's flags on and off. A flag that
// the probe's render has not looked up changes nothing of it, and is left out (E4).
func (a *lab) settings(p observe.Probe) []*observation {
	bare := a.observe(p)
	all := []*observation{bare}
	for _, flag := range a.observer.Flags() {
		if !bare.LooksUp(flag) {
			continue
		}
		for _, value := range []bool{true, false} {
			all = append(all, a.observe(p.With(func(p *observe.Probe) {
				p.Kwargs = append(p.Kwargs, ordered.MemberOf(flag, ordered.Boolean(value)))
			})))
		}
	}
	return all
}

// laterPrompts renders the generation prompts where there are tools, after a user's message and
// after a call's result: a template may open or close reasoning there alone.
func (a *lab) laterPrompts() []*observation {
	probes := []observe.Probe{{Plain: true, Generate: true, Tools: true}}
	if called := a.observer.Turns.Called; called != nil {
		answered := called.Probe.With(func(p *observe.Probe) {
			p.Answered, p.Generate = true, true
		})
		for _, tools := range []bool{true, false} {
			probes = append(probes, answered.With(func(p *observe.Probe) { p.Tools = tools }))
		}
	}
	var prompts []*observation
	for _, p := range probes {
		for _, o := range a.settings(p) {
			if o.Err == nil {
				prompts = append(prompts, o)
			}
		}
	}
	return prompts
}

// addedTo returns the text that a generation prompt adds to a rendering; "" where it changes more.
func (a *lab) addedTo(p *observation) string {
	bare := a.observe(p.Probe.With(func(p *observe.Probe) { p.Generate = false }))
	added, ok := strings.CutPrefix(p.String, bare.String)
	if bare.Err != nil || !ok {
		return ""
	}
	return added
}

// prompts renders the generation prompts: plain, and with each flag of the template on and off.
func (a *lab) prompts() []*observation {
	var prompts []*observation
	seen := map[string]bool{}
	for _, o := range a.settings(observe.Probe{Plain: true, Generate: true, Tools: a.tooled}) {
		if o.Err != nil || o.tail == nil {
			continue
		}
		if text := observe.Text(o.tail); !seen[text] {
			seen[text] = true
			prompts = append(prompts, o)
		}
	}
	return prompts
}

// wordedPrompts renders the generation prompts with each flag set to the words that the template
// compares it with (E4). Such a word may ask for anything, so that these prompts say nothing of the
// header.
func (a *lab) wordedPrompts() []*observation {
	var prompts []*observation
	bare := a.observe(observe.Probe{Plain: true, Generate: true})
	for _, flag := range a.observer.Flags() {
		if !bare.LooksUp(flag) {
			continue
		}
		on := a.observe(observe.Probe{Plain: true, Generate: true,
			Kwargs: []ordered.Member{ordered.MemberOf(flag, ordered.Boolean(true))}})
		if on.Err != nil {
			continue
		}
		words := on.Trace.Literals(flag, "==", "!=")
		for _, word := range words[:min(len(words), maxWords)] {
			o := a.observe(observe.Probe{Plain: true, Generate: true,
				Kwargs: []ordered.Member{ordered.MemberOf(flag, ordered.Str(word))}})
			if o.Err == nil {
				prompts = append(prompts, o)
			}
		}
	}
	return prompts
}

func (a *lab) describesTools() bool {
	o := a.observe(observe.Probe{Plain: true, Tools: true, Generate: true})
	return o.Err == nil && slices.ContainsFunc(o.Atoms(), func(at observe.Atom) bool {
		return at.Kind == observe.Foreign && strings.HasPrefix(at.Path, "tools[0]") &&
			strings.Contains(at.Path, "name")
	})
}

// maxWords bounds how many words a flag is set to.
const maxWords = 4
