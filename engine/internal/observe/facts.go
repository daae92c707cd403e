package observe

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
)

// Facts are the known facts about a template: its abilities and its needs.
type Facts struct {
	Tools             bool // describes the tools of a request in the prompt
	ToolCalls         bool // replays the calls of an assistant's message
	SystemRole        bool // writes a system message
	ParallelToolCalls bool // replays all calls of a message
	PreserveReasoning bool // keeps the reasoning of earlier turns, always or by PreservedBy
	StringContent     bool // takes content as a string
	TypedContent      bool // takes content as a list of typed parts
	ObjectArguments   bool // takes a call's arguments as an object
	ReasoningEffort   bool // heeds reasoning_effort, always or by EffortBy

	// PreservedBy are the variables under which earlier turns keep their reasoning; none where they
	// always do.
	PreservedBy []ordered.Member

	// EffortBy are the variables under which reasoning_effort is heeded; none where it always is.
	EffortBy []ordered.Member

	// EscapedObjects: where a call's arguments come as an object, the template's own quotes around
	// them are written as HTML entities, and where they come as text they are not.
	EscapedObjects bool

	// IDs are the ids of calls that the template can do with.
	IDs IDs

	Needs Needs

	// Unjudged are the capabilities that no probe decides, since those that would fail for a reason
	// of their own (E32).
	Unjudged []Unjudged
}

// Unjudged is a capability that is not known, and the error that keeps it from being known.
type Unjudged struct {
	Capability string // such as supports_tool_calls
	Err        error
}

// WhyUnjudged returns the error that keeps a capability from being known; nil where it is known.
func (f *Facts) WhyUnjudged(capability string) error {
	for _, u := range f.Unjudged {
		if u.Capability == capability {
			return u.Err
		}
	}
	return nil
}

// Needs are a template's demands on its input beyond its capabilities.
type Needs struct {
	// EmptyContent: null content beside calls is refused or printed as text, in the last message or
	// before others; an empty string is not.
	EmptyContent bool
	// Developer: a developer's message is written as one; else it is given as a system message.
	Developer bool
	// ReasoningField is the field that reasoning is read from; "" if none was seen to be.
	ReasoningField string
	// ReasoningPart: reasoning is read from no field, but from a part of the content whose type is
	// "thinking".
	ReasoningPart bool
	// Blocks is the form of answers with reasoning, where reasoning is read from no field and no
	// typed part, but from a block of the content.
	Blocks Blocks
	// NameInID: a call's name is written nowhere but inside its id, functions.NAME:INDEX.
	NameInID bool
	// FlatCalls: a call's name and arguments are read from the call itself, and not from its
	// function.
	FlatCalls bool
	// Followed: calls are written only where a message follows them.
	Followed bool
	// TextValues: an argument that is no string is refused where arguments are an object; its JSON
	// text is not.
	TextValues bool
	// ToolsSystem: tools are described only where there is a system message.
	ToolsSystem bool
	// ResultName: a tool's result is written with the name of the function, or refused without.
	ResultName bool
	// StringBesideTools: where there are tools, a user's typed content is refused or printed; a
	// string is not.
	StringBesideTools bool
	// Tool has the demands on tools.
	Tool ToolNeeds
	// Thinking are the variables under which reasoning is written; none where it always is, or
	// never.
	Thinking []ordered.Member
	// Bound are variables without which the template fails, with a value that it can use.
	Bound []ordered.Member
}

// IDs are the ids that a call and its result may have.
type IDs struct {
	Taken format.IDs // those that are not refused
	Kept  format.IDs // those that are written as they are
}

// ToolNeeds are the demands of a template on tools.
type ToolNeeds struct {
	// Description, Parameters and ArgumentDescription: a tool without that member is refused.
	Description, Parameters, ArgumentDescription bool
	// Flat: a tool's name is read from the tool itself, and not from its function.
	Flat bool
}

// TypedOnly reports whether content is written where it comes as typed parts, and nowhere else.
func (f *Facts) TypedOnly() bool { return f.TypedContent && !f.StringContent }

// Turns are the answers that the template was seen to write, each in the first form that it takes.
// Nil where it writes no such answer.
type Turns struct {
	Plain   *Rendering // content only; never nil
	Bare    *Rendering // content only, under the variables of Thought
	Thought *Rendering // reasoning and content
	Called  *Rendering // one call
	Acted   *Rendering // reasoning and one call
	Spoken  *Rendering // content and one call
	Double  *Rendering // two calls
}

// maxBound bounds how many missing variables are bound, one rendering each.
const maxBound = 8

// bind finds the variables without which not even the plainest conversation renders, and gives each
// an empty string; a template that still fails is given tools as null where a request has none.
func (o *Observer) bind() error {
	names := o.template.Names()
	user := Probe{Plain: true}
	err := o.Observe(user).Err
	for len(o.Facts.Needs.Bound) < maxBound && jinja.Class(err) == "UndefinedError" {
		missing := ""
		for _, name := range names {
			if strings.Contains(err.Error(), "'"+name+"' is undefined") {
				missing = name
			}
		}
		if missing == "" {
			break
		}
		o.Facts.Needs.Bound = append(o.Facts.Needs.Bound,
			ordered.MemberOf(missing, ordered.Str("")))
		names = slices.DeleteFunc(names, func(n string) bool { return n == missing })
		err = o.Observe(user).Err
	}
	if err != nil && (o.Observe(Probe{Plain: true, System: "system"}).Err == nil ||
		o.Observe(Probe{Plain: true, Parts: true}).Err == nil) {
		// a template may refuse a conversation without a system message, one with nothing but a
		// user's, or content that is no list of parts
		return nil
	}
	if err == nil || o.template.NullTools {
		return err
	}
	// or ask whether tools are null, and fail where they are not given
	o.template.NullTools = true
	clear(o.seen)
	if o.Observe(user).Err == nil {
		return nil
	}
	o.template.NullTools = false
	return err
}

func (o *Observer) contents() {
	plain := o.Observe(Probe{Plain: true})
	parts := o.Observe(Probe{Plain: true, Parts: true})
	path := plain.Probe.UserPath() + ".content"
	o.Facts.StringContent = plain.Copies(path)
	o.Facts.TypedContent = parts.Copies(path + "[0].text")
	o.parts = o.Facts.TypedOnly()
	if o.silent = plain.Err == nil && !plain.Writes(path) &&
		!parts.Writes(path+"[0].text"); o.silent {
		for _, r := range o.seen {
			r.Tail = r.Atoms()
		}
	}
	answer := Probe{Content: new(ContentNeedle)}
	if o.Turns.Plain = o.Observe(answer); !o.Turns.Plain.Shows(Content) {
		answer.Parts = true
		if typed := o.Observe(answer); typed.Shows(Content) {
			o.Turns.Plain, o.parts = typed, true
		}
	}
}

func (o *Observer) roles() {
	writes := func(role string) bool {
		r := o.Observe(Probe{Plain: true, System: role})
		return r.Writes("messages[0].content") || r.Writes("messages[0].content[0].text")
	}
	o.Facts.SystemRole = writes("system")
	o.Facts.Needs.Developer = writes("developer")
}

// tools decides whether tools are described, with a user's message alone or beside a system
// message, as they are declared or with the members of their functions beside them.
func (o *Observer) tools() {
	alone := Probe{Plain: true, Tools: true}
	beside := alone.With(func(p *Probe) { p.System = "system" })
	describes := func(name string) bool {
		n := &o.Facts.Needs
		o.Facts.Tools = o.Observe(alone).Writes(name)
		if !o.Facts.Tools {
			o.Facts.Tools = o.Observe(beside).Writes(name)
			n.ToolsSystem = o.Facts.Tools
		}
		return o.Facts.Tools
	}
	if describes("tools[0].function.name") {
		return
	}
	bare := []*Rendering{o.Observe(alone), o.Observe(beside)}
	flat := func(r *Rendering) bool {
		return slices.ContainsFunc(r.Trace.Missing(), func(path string) bool {
			return strings.HasPrefix(path, "tools[0].")
		})
	}
	if slices.ContainsFunc(bare, flat) {
		o.flatTools = true
		if describes("tools[0].name") {
			o.Facts.Needs.Tool.Flat = true
			return
		}
		o.flatTools = false
	}
	o.unjudged("supports_tools", bare...)
}

// unjudged notes a capability that no probe has shown, if all failed, and one of them not because
// the template refuses it.
func (o *Observer) unjudged(capability string, probes ...*Rendering) {
	var why error
	for _, r := range probes {
		if r.Err == nil {
			return
		}
		if jinja.Class(r.Err) != "TemplateError" {
			why = r.Err // the last one asks the least
		}
	}
	if why != nil {
		o.Facts.Unjudged = append(o.Facts.Unjudged, Unjudged{capability, why})
	}
}

// oneArgument is the argument of the calls of probes.
var oneArgument = ordered.MemberOf(KeyNeedles[0], ordered.Str(ValueNeedle))

// calls climbs the ladder for an answer with calls: with the tools described or not, arguments as
// an object or as text, content null or empty, up to the first rendering that is clean and shows
// the call. Where none does, calls may be written only where a message follows, or without their
// names except for their ids, or be looked for in another place.
func (o *Observer) calls() {
	probes, ok := o.climb(Probe{})
	if ok {
		// calls are shown where no tools are described; with tools it may not be known
		if !o.Facts.ToolCalls {
			o.unjudged("supports_tool_calls", probes...)
		}
		return
	}
	read := func(r *Rendering) bool {
		followed := o.Observe(r.Probe.With(func(p *Probe) { p.Followed = true }))
		return followed.Trace.Read(r.Probe.AnswerPath() + ".tool_calls")
	}
	if slices.ContainsFunc(probes[:2], read) { // content null and empty
		more, ok := o.climb(Probe{Followed: true})
		if o.Facts.Needs.Followed = ok; ok {
			return
		}
		probes = append(probes, more...)
	}
	shown := func(r *Rendering) bool {
		return r.Shows(ID) && (r.Shows(ArgKey) || r.Shows(ArgValue))
	}
	if i := slices.IndexFunc(probes, shown); i >= 0 {
		o.ids = true
		_, ok := o.climb(Probe{Followed: probes[i].Probe.Followed})
		if o.ids, o.Facts.Needs.NameInID, o.Facts.Needs.Followed = ok, ok, ok &&
			probes[i].Probe.Followed; ok {
			return
		}
	}
	flat := func(r *Rendering) bool {
		return slices.Contains(r.Trace.Missing(), r.Probe.AnswerPath()+".tool_calls[0].name")
	}
	if slices.ContainsFunc(probes, flat) {
		o.flat = true
		if _, o.flat = o.climb(Probe{}); o.flat {
			o.Facts.Needs.FlatCalls = true
			return
		}
	}
	o.Facts.ObjectArguments = o.Facts.ToolCalls
	if !o.Facts.ToolCalls {
		o.unjudged("supports_tool_calls", probes...)
	}
}

// climb renders the ladder of answers with a call, and notes the findings of the first clean one.
// It returns its earlier renderings.
func (o *Observer) climb(base Probe) (probes []*Rendering, ok bool) {
	for _, tools := range []bool{true, false} {
		for _, text := range []bool{false, true} {
			for _, content := range []*string{nil, new("")} {
				r := o.Observe(base.With(func(p *Probe) {
					p.Content, p.Calls, p.Tools, p.Text = content, o.CallsWith(1, oneArgument),
						tools, text
				}))
				o.Facts.ToolCalls = o.Facts.ToolCalls || tools && r.Shows(Name)
				if o.clean(r) && r.Shows(Name) {
					o.called(r)
					return probes, true
				}
				probes = append(probes, r)
			}
		}
	}
	return probes, false
}

// called notes how calls must be given, and renders the other things that can stand beside one.
func (o *Observer) called(r *Rendering) {
	p := r.Probe
	o.Turns.Called = r
	o.Facts.Needs.EmptyContent = p.Content != nil
	o.Turns.Double = o.Observe(p.With(func(p *Probe) { p.Calls = o.CallsWith(2, oneArgument) }))
	o.Turns.Spoken = o.Observe(p.With(func(p *Probe) { p.Content = new(ContentNeedle) }))
	if !o.Facts.ToolCalls {
		return
	}
	o.Facts.ObjectArguments = !p.Text
	shows := func(call int) bool {
		return slices.ContainsFunc(o.Turns.Double.Tail,
			func(at Atom) bool { return at.Kind == Name && at.Call == call })
	}
	o.Facts.ParallelToolCalls = shows(0) && shows(1)
}

// clean reports whether a rendering with a call is as the model would write it: no null content
// printed, and no arguments written as a Python value where a string of JSON would have been
// copied.
func (o *Observer) clean(r *Rendering) bool {
	if r.Err != nil {
		return false
	}
	for _, at := range r.Tail {
		switch {
		case at.Kind == Content && r.Probe.Content == nil:
			return false // "None"
		case at.Kind == Structure && at.Path == "" && at.Codec == jinja.Python && !r.Probe.Text &&
			o.copiesText(r.Probe):
			return false
		case at.Kind == ArgValue && at.Path == "" && at.Codec != jinja.Plain:
			return false // JSON text quoted once more
		}
	}
	if !r.Probe.Text && escaped(r) {
		if text := o.Observe(r.Probe.With(func(p *Probe) { p.Text = true })); text.Shows(Name) &&
			!escaped(text) {
			o.Facts.EscapedObjects = true
			return false // two spellings, and no model writes the one with entities
		}
	}
	return true
}

// escaped reports whether the template's own text around a call has quotes written as HTML
// entities, as where it joins text with a value that is marked as safe.
func escaped(r *Rendering) bool {
	return slices.ContainsFunc(r.Tail, func(at Atom) bool {
		return at.Kind == Literal &&
			(strings.Contains(at.Text, "&#34;") || strings.Contains(at.Text, "&#39;"))
	})
}

// copiesText reports whether arguments that are given as a string of JSON are copied as they are.
func (o *Observer) copiesText(p Probe) bool {
	r := o.Observe(p.With(func(p *Probe) { p.Text = true }))
	return r.Err == nil && slices.ContainsFunc(r.Tail, func(at Atom) bool {
		return at.Kind == ArgValue && at.Path == "" && at.Codec == jinja.Plain && at.Exact
	})
}

// reasoning finds how reasoning must be given to be written, beside content and beside calls, and
// whether earlier turns keep it.
func (o *Observer) reasoning() {
	t := &o.Turns
	t.Thought = o.thoughtful(Probe{Content: new(ContentNeedle)})
	if t.Thought != nil {
		o.wrote(t.Thought)
		// Compare with an answer under the same variables: the difference is due to reasoning.
		t.Bare = o.Observe(t.Thought.Probe.With(func(p *Probe) {
			p.Reasoning, p.Form = false, Form{}
		}))
	}
	if t.Called != nil {
		if t.Acted = o.thoughtful(t.Called.Probe); t.Acted != nil && t.Thought == nil {
			o.wrote(t.Acted)
		}
	}
	if t.Thought == nil && t.Acted == nil {
		o.blocked()
	}
	for _, field := range chat.ReasoningFields {
		past := o.Observe(Probe{Content: new(ContentNeedle), Reasoning: true, Followed: true})
		if past.Writes(past.Probe.AnswerPath() + "." + field) {
			o.Facts.PreserveReasoning = true
			o.Facts.Needs.ReasoningField = field
		}
	}
}

// blocked looks for reasoning in blocks of the content.
func (o *Observer) blocked() {
	t := &o.Turns
	if o.Facts.Needs.Blocks = o.blocks(); o.Facts.Needs.Blocks.IsZero() {
		return
	}
	with := func(r *Rendering) *Rendering {
		return o.Observe(r.Probe.With(func(p *Probe) {
			p.Reasoning, p.Form.Blocks = true, o.Facts.Needs.Blocks
		}))
	}
	t.Thought, t.Bare = with(t.Plain), t.Plain
	if t.Called != nil {
		if t.Acted = with(t.Called); !t.Acted.Shows(Reasoning) {
			t.Acted = nil
		}
	}
}

// wrote notes how reasoning must be given to be written as it is in a rendering.
func (o *Observer) wrote(r *Rendering) {
	n := &o.Facts.Needs
	n.Thinking, n.ReasoningPart = r.Probe.Kwargs, r.Probe.Form.Typed
	for _, field := range chat.ReasoningFields {
		if r.Writes(r.Probe.AnswerPath() + "." + field) {
			n.ReasoningField = field
		}
	}
}

// thoughtful renders a probe with reasoning added: under the names of fields, then as typed parts,
// then with the template's flags switched on, each of them alone, but only if all of them together,
// where that can be rendered, show anything. The first rendering that shows reasoning is returned,
// nil if none does.
func (o *Observer) thoughtful(p Probe) *Rendering {
	fields := p.With(func(p *Probe) { p.Reasoning = true })
	ways := []Probe{fields, fields.With(func(p *Probe) { p.Form.Typed = true })}
	for _, q := range ways {
		if r := o.Observe(q); r.Shows(Reasoning) {
			return r
		}
	}
	with := func(p Probe, flags ...string) *Rendering {
		return o.Observe(p.With(func(p *Probe) {
			for _, flag := range flags {
				p.Kwargs = append(p.Kwargs, ordered.MemberOf(flag, ordered.Boolean(true)))
			}
		}))
	}
	for _, q := range ways {
		if r := with(q, o.Flags()...); r.Err == nil && !r.Shows(Reasoning) {
			continue
		}
		for _, flag := range o.Flags() {
			if r := with(q, flag); r.Shows(Reasoning) {
				return r
			}
		}
	}
	return nil
}

// standard are the variables that every conversation has; the others that a template reads may be
// flags.
var standard = []string{"messages", "tools", "add_generation_prompt", "bos_token", "eos_token",
	"pad_token", "unk_token",
	"documents", "raise_exception", "strftime_now", "namespace", "range", "dict",
	"tools_in_user_message", "date_string",
	"custom_tools", "builtin_tools", "continue_final_message"}

// fewFlags is up to how many variables are all taken for flags, and maxTrials bounds how many
// renderings it may cost to find the flags among more: a bound of work, which no order or name of
// variables changes.
const fewFlags, maxTrials = 12, 128

// Flags returns the variables of the template that may be flags. Of many these are the ones that do
// something: set to true or to false they change the text of a prompt or of an answer with
// reasoning, or make the template fail.
func (o *Observer) Flags() []string {
	if o.flags != nil {
		return o.flags
	}
	names := []string{}
	for _, n := range o.template.Names() {
		if !slices.Contains(standard, n) &&
			!slices.ContainsFunc(o.Facts.Needs.Bound,
				func(m ordered.Member) bool { return m.Key == n }) {
			names = append(names, n)
		}
	}
	if len(names) > fewFlags {
		trials := maxTrials
		names = o.effective(names, &trials)
	}
	o.flags = names
	return names
}

// effective returns the variables of a group that do something, by group testing: a group that does
// nothing as a whole is left out.
func (o *Observer) effective(group []string, trials *int) []string {
	if !o.changes(group, trials) {
		return []string{}
	}
	if len(group) == 1 {
		return group
	}
	half := len(group) / 2
	return append(slices.Clip(o.effective(group[:half], trials)),
		o.effective(group[half:], trials)...)
}

// changes reports whether some rendering is another one, or none, where all variables of a group
// are set to true, or all to false. Variables left untried when the trials run out count as
// changing nothing.
func (o *Observer) changes(group []string, trials *int) bool {
	for _, p := range []Probe{{Plain: true, Generate: true},
		{Content: new(ContentNeedle), Reasoning: true}} {
		bare := o.Observe(p)
		for _, value := range []bool{true, false} {
			if *trials--; *trials < 0 {
				return false
			}
			set := o.Observe(p.With(func(p *Probe) {
				for _, name := range group {
					p.Kwargs = append(p.Kwargs, ordered.MemberOf(name, ordered.Boolean(value)))
				}
			}))
			if set.Err != nil || set.String != bare.String {
				return true
			}
		}
	}
	return false
}
