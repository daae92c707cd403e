package observe

import (
	"slices"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
)

// needs finds what the template requires of requests that every probe of the ladder happens to
// meet.
func (o *Observer) needs() {
	o.textValues()
	o.laterContent()
	o.resultName()
	o.typedBesideTools()
	o.toolMembers()
}

// textValues decides whether arguments that are not strings must be given as their JSON text: the
// template fails on a number but takes its text, as a template does that concatenates values.
func (o *Observer) textValues() {
	if o.Turns.Called == nil || !o.Facts.ObjectArguments {
		return
	}
	number := func() *Rendering {
		return o.Observe(o.Turns.Called.Probe.With(func(p *Probe) {
			p.Calls = o.CallsWith(1, ordered.MemberOf(KeyNeedles[0], ordered.Int(7)))
		}))
	}
	if r := number(); r.Err == nil || jinja.Class(r.Err) == "LimitError" {
		return
	}
	o.texts = true
	o.texts = number().Shows(ArgValue)
	o.Facts.Needs.TextValues = o.texts
}

// laterContent tests null content where the message with the calls is not the last one: a template
// may refuse null or print it only there.
func (o *Observer) laterContent() {
	n := &o.Facts.Needs
	if o.Turns.Called == nil || n.EmptyContent {
		return
	}
	for _, followed := range []bool{false, true} {
		null := o.Observe(o.Turns.Called.Probe.With(func(p *Probe) {
			p.Answered, p.Followed = true, followed
		}))
		if null.Err == nil && !null.Writes(null.Probe.AnswerPath()+".content") {
			continue
		}
		if o.Observe(null.Probe.With(func(p *Probe) { p.Content = new("") })).Err == nil {
			n.EmptyContent = true
			return
		}
	}
}

// resultName decides whether a tool result must name its function: the template writes the name, or
// fails without it.
func (o *Observer) resultName() {
	if o.Turns.Called == nil {
		return
	}
	r := o.Observe(o.Turns.Called.Probe.With(func(p *Probe) { p.Answered = true }))
	o.Facts.Needs.ResultName = r.Writes(r.Probe.path(2)+".name") ||
		o.refuses(r, func(in *chattemplate.Input) {
			last := len(in.Messages) - 1
			in.Messages[last] = in.Messages[last].Without("name")
		})
}

// typedBesideTools decides whether a user's content must be a string where the template describes
// the tools in the user's message: there it writes a string but no typed content.
func (o *Observer) typedBesideTools() {
	if !o.Facts.Tools || !o.Facts.TypedContent || !o.Facts.StringContent ||
		o.Facts.Needs.ToolsSystem {
		return
	}
	text := o.Observe(Probe{Plain: true, Tools: true})
	parts := o.Observe(Probe{Plain: true, Tools: true, Parts: true})
	path := text.Probe.UserPath() + ".content"
	o.Facts.Needs.StringBesideTools = text.Copies(path) && !parts.Copies(path+"[0].text")
}

// toolMembers finds the members of a tool without which the template fails.
func (o *Observer) toolMembers() {
	if !o.Facts.Tools {
		return
	}
	p := Probe{Plain: true, Tools: true}
	if o.Facts.Needs.ToolsSystem {
		p.System = "system"
	}
	r := o.Observe(p)
	without := func(change func(function ordered.Value) ordered.Value) bool {
		return o.refuses(r, func(in *chattemplate.Input) {
			in.Tools = slices.Clone(in.Tools)
			for i, t := range probeTools[:len(in.Tools)] {
				in.Tools[i] = t.With("function", change(t.At("function")))
				if o.flatTools {
					in.Tools[i] = Flat(in.Tools[i])
				}
			}
		})
	}
	n := &o.Facts.Needs
	lacking := func(key string) func(ordered.Value) ordered.Value {
		return func(f ordered.Value) ordered.Value { return f.Without(key) }
	}
	n.Tool.Description = without(lacking("description"))
	n.Tool.Parameters = without(lacking("parameters"))
	n.Tool.ArgumentDescription = without(func(f ordered.Value) ordered.Value {
		properties := f.At("parameters", "properties")
		for _, m := range properties.Members() {
			properties = properties.With(m.Key, m.Value.Without("description"))
		}
		return f.With("parameters", f.At("parameters").With("properties", properties))
	})
}

// refuses reports whether a change makes the template fail on a conversation that it has rendered.
// Reaching a limit does not count.
func (o *Observer) refuses(r *Rendering, change func(*chattemplate.Input)) bool {
	if r.Err != nil {
		return false
	}
	in := o.input(r.Probe)
	change(&in)
	_, err := o.template.Render(in)
	return err != nil && jinja.Class(err) != "LimitError"
}

// preserved finds the variables that make earlier turns keep their reasoning: none where they
// always do. Of several settings it takes the one that changes the fewest other prompts.
func (o *Observer) preserved() {
	if o.Facts.PreserveReasoning || o.Turns.Thought == nil {
		return
	}
	past := o.Turns.Thought.Probe.With(func(p *Probe) { p.Followed = true })
	settings := [][]ordered.Member{nil}
	bare := o.Observe(past)
	for _, flag := range o.Flags() {
		if !bare.LooksUp(flag) {
			continue
		}
		for _, on := range []bool{true, false} {
			settings = append(settings,
				[]ordered.Member{ordered.MemberOf(flag, ordered.Boolean(on))})
		}
	}
	least := 0
	for _, kwargs := range settings {
		under := func(p Probe) *Rendering {
			return o.Observe(p.With(func(p *Probe) { p.Kwargs = append(p.Kwargs, kwargs...) }))
		}
		kept := under(past)
		if !kept.Shows(Reasoning) {
			continue
		}
		// changes is 1 plus the number of prompts that the setting changes: of a question, and of
		// an answer with reasoning that is the last message.
		changes := 1
		for _, p := range []Probe{{Plain: true, Generate: true}, o.Turns.Thought.Probe} {
			if under(p).String != o.Observe(p).String {
				changes++
			}
		}
		if least == 0 || changes < least {
			least = changes
			o.Facts.PreserveReasoning, o.Facts.PreservedBy = true, kept.Probe.Kwargs
		}
	}
}

// effort decides whether any value of reasoning_effort changes the prompt: on its own, with the
// variables under which reasoning is written, or with a flag switched on.
func (o *Observer) effort() {
	if !slices.Contains(o.template.Names(), effortName) {
		return
	}
	under := [][]ordered.Member{nil}
	if by := o.Facts.Needs.Thinking; len(by) > 0 {
		under = append(under, by)
	}
	unset := o.Observe(Probe{Plain: true, Generate: true})
	for _, flag := range o.Flags() {
		if flag != effortName && unset.LooksUp(flag) {
			under = append(under, []ordered.Member{ordered.MemberOf(flag, ordered.Boolean(true))})
		}
	}
	for _, by := range under {
		if o.heedsEffort(by) {
			o.Facts.ReasoningEffort, o.Facts.EffortBy = true, by
			return
		}
	}
}

const effortName = "reasoning_effort"

// heedsEffort reports whether, with the given variables, a value of reasoning_effort changes the
// prompt: one of the usual values, or one that the template compares it with.
func (o *Observer) heedsEffort(under []ordered.Member) bool {
	asked := Probe{Plain: true, Generate: true, Kwargs: under}
	values := []string{"low", "medium", "high"}
	texts := map[string]bool{}
	unset := o.Observe(asked)
	if unset.Err == nil {
		texts[unset.String] = true
	}
	if !unset.LooksUp(effortName) {
		return false
	}
	for i := 0; i < len(values) && i < maxEfforts; i++ {
		r := o.Observe(asked.With(func(p *Probe) {
			p.Kwargs = append(p.Kwargs, ordered.MemberOf(effortName, ordered.Str(values[i])))
		}))
		if r.Err == nil {
			texts[r.String] = true
		}
		for _, literal := range r.Trace.Literals(effortName) {
			if !slices.Contains(values, literal) {
				values = append(values, literal)
			}
		}
		if len(texts) > 1 {
			return true
		}
	}
	return false
}

// maxEfforts bounds how many values of reasoning_effort are tried.
const maxEfforts = 12
