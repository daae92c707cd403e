package caps

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/internal/observe"
	"github.com/goassay/assay/engine/ordered"
)

// Fitted is a request as a template takes it, and the polyfills that it took.
type Fitted struct {
	Input chattemplate.Input
	Fits  []string
	// From has, for each message of the input, the number of the request's that it is, -1 for one
	// that a polyfill has put in; nil: they are the request's, one by one. A message into which
	// another one was folded is itself.
	From []int
}

// Place returns the number of the request's message that a message of the input is, -1 where it is
// none of them.
func (f *Fitted) Place(message int) int {
	if f.From == nil {
		return message
	}
	return f.From[message]
}

// Fit turns a request into an input for the template. Everything that a client may say and the
// template cannot take is rewritten by one of the polyfills below; the request itself is not
// changed.
func (c Caps) Fit(r chat.Request) Fitted {
	f := fitter{caps: c, Fitted: Fitted{Input: chattemplate.Input{
		Messages: slices.Clone(r.Messages),
		Generate: !r.NoGeneration && r.Continue == chat.ContinueNone,
	}}}
	if r.ToolChoice.Mode != chat.ChoiceNone {
		for _, t := range r.Tools {
			f.Input.Tools = append(f.Input.Tools, t.Wire())
		}
	}
	f.kwargs(r)
	f.developerRole()
	f.systemRole()
	f.toolMembers()
	f.flatTools()
	f.typedContent()
	f.typedBesideTools()
	f.stringContent()
	f.toolsSystem()
	f.arguments()
	f.textValues()
	f.namedIDs()
	f.takenIDs()
	f.flatCalls()
	f.nullContent()
	f.resultNames()
	f.reasoningField()
	f.reasoningPart()
	f.reasoningBlocks()
	f.variables()
	return f.Fitted
}

type fitter struct {
	caps Caps
	Fitted
}

// used records a polyfill, once.
func (f *fitter) used(name string) {
	if !slices.Contains(f.Fits, name) {
		f.Fits = append(f.Fits, name)
	}
}

// ThinkingNames are the variables by which thinking goes out there.
var ThinkingNames = []string{"enable_thinking", "thinking"}

// kwargs gives the request's flags to the template as variables.
func (f *fitter) kwargs(r chat.Request) {
	if r.EnableThinking != nil {
		for _, name := range ThinkingNames {
			f.Input.Kwargs = append(f.Input.Kwargs,
				ordered.MemberOf(name, ordered.Boolean(*r.EnableThinking)))
		}
	}
	f.Input.Kwargs = append(f.Input.Kwargs, r.Kwargs.Members()...)
}

// developerRole gives a developer's message as a system message where the template does not know
// the role.
func (f *fitter) developerRole() {
	if f.caps.Needs.Developer {
		return
	}
	for i, m := range f.Input.Messages {
		if m.At("role").Text() == "developer" {
			f.Input.Messages[i] = m.With("role", ordered.Str("system"))
			f.used("developer-as-system")
		}
	}
}

// systemRole folds a system message into the user's next turn where the template has no system
// role.
func (f *fitter) systemRole() {
	if f.caps.SystemRole {
		return
	}
	var system []string
	var kept []ordered.Value
	var from []int
	last := 0
	for i, m := range f.Input.Messages {
		switch role := m.At("role").Text(); {
		case role == "system":
			system = append(system, plainText(m.At("content")))
			f.used("system-in-user")
			last = i
			continue
		case role == "user" && len(system) > 0:
			m = m.With("content",
				ordered.Str(strings.Join(append(system, plainText(m.At("content"))), "\n\n")))
			system = nil
		}
		kept, from = append(kept, m), append(from, i)
	}
	if len(system) > 0 {
		kept = append(kept, chat.MessageOf("user", ordered.Str(strings.Join(system, "\n\n"))))
		from = append(from, last)
	}
	f.Input.Messages, f.From = kept, from
}

// plainText returns content as a string: the texts of its parts, where it has parts.
func plainText(content ordered.Value) string {
	if content.Kind() != ordered.Array {
		return content.Text()
	}
	var parts []string
	for _, p := range content.Items() {
		if t := p.At("text"); t.Kind() == ordered.String {
			parts = append(parts, t.Text())
		}
	}
	return strings.Join(parts, "\n")
}

// typedContent joins typed parts into a string where the template takes strings alone. Parts that
// are no text stay as they are, since a string cannot hold them.
func (f *fitter) typedContent() {
	if f.caps.TypedContent {
		return
	}
	for i, m := range f.Input.Messages {
		content := m.At("content")
		if !onlyText(content) {
			continue
		}
		f.Input.Messages[i] = m.With("content", ordered.Str(plainText(content)))
		f.used("typed-content-as-string")
	}
}

// typedBesideTools joins a user's typed parts into a string where the template writes the tools
// into the user's message and cannot do so with parts.
func (f *fitter) typedBesideTools() {
	if !f.caps.Needs.StringBesideTools || len(f.Input.Tools) == 0 {
		return
	}
	for i, m := range f.Input.Messages {
		if content := m.At("content"); m.At("role").Text() == "user" && onlyText(content) {
			f.Input.Messages[i] = m.With("content", ordered.Str(plainText(content)))
			f.used("typed-content-as-string")
		}
	}
}

// onlyText reports whether content is a list of parts that are text.
func onlyText(content ordered.Value) bool {
	return content.Kind() == ordered.Array &&
		!slices.ContainsFunc(content.Items(),
			func(p ordered.Value) bool { return p.At("type").Text() != "text" })
}

// Unfilled returns the capabilities whose Fit leaves tools, arguments and ids as they came, though
// the template fails on them.
func (c Caps) Unfilled() Caps {
	c.Needs.Tool, c.Needs.TextValues, c.IDs.Taken = observe.ToolNeeds{}, false, format.IDs{}
	return c
}

// toolPolyfills are the polyfills for a tool without description, without parameters, and with a
// parameter without description.
var toolPolyfills = [...]string{"tool-description", "tool-parameters", "argument-description"}

// toolMembers adds the members without which the template fails: an empty description, no
// parameters, empty descriptions of its parameters.
func (f *fitter) toolMembers() {
	n := f.caps.Needs.Tool
	if !n.Description && !n.Parameters && !n.ArgumentDescription {
		return
	}
	fill := func(needed bool, v ordered.Value, key string, value ordered.Value,
		polyfill string) ordered.Value {
		if !needed || !v.At(key).IsNull() {
			return v
		}
		f.used(polyfill)
		return v.With(key, value)
	}
	for i, t := range f.Input.Tools {
		function := fill(n.Description, t.At("function"), "description", ordered.Str(""),
			toolPolyfills[0])
		function = fill(n.Parameters, function, "parameters", noParameters, toolPolyfills[1])
		if properties := function.At("parameters", "properties"); n.ArgumentDescription &&
			properties.Kind() == ordered.Object {
			for _, m := range properties.Members() {
				if m.Value.Kind() == ordered.Object {
					properties = properties.With(m.Key,
						fill(true, m.Value, "description", ordered.Str(""), toolPolyfills[2]))
				}
			}
			function = function.With("parameters", function.At("parameters").
				With("properties", properties))
		}
		f.Input.Tools[i] = t.With("function", function)
	}
}

// noParameters is the schema of a function without parameters.
var noParameters = ordered.Pairs("type", "object", "properties", ordered.ObjectOf())

// resultNames gives a tool's result the name of the function where the template writes it: that of
// the last call with the result's id.
func (f *fitter) resultNames() {
	if !f.caps.Needs.ResultName {
		return
	}
	names := map[string]string{}
	for i, m := range f.Input.Messages {
		for _, call := range m.At("tool_calls").Items() {
			names[call.At("id").Text()] = call.At("function", "name").Text()
		}
		if name := names[m.At("tool_call_id").Text()]; m.At("role").Text() == "tool" &&
			m.At("name").IsNull() && name != "" {
			f.Input.Messages[i] = m.With("name", ordered.Str(name))
			f.used("result-name")
		}
	}
}

// stringContent turns strings into typed parts where the template takes parts alone.
func (f *fitter) stringContent() {
	if !f.caps.TypedOnly() {
		return
	}
	for i, m := range f.Input.Messages {
		if content := m.At("content"); content.Kind() == ordered.String {
			f.Input.Messages[i] = m.With("content", ordered.ArrayOf(chat.TextPart(content)))
			f.used("string-as-typed-content")
		}
	}
}

// arguments gives a call's arguments as an object or as text, whichever the template takes. Text
// that is no JSON object stays.
func (f *fitter) arguments() {
	as, how := chat.ArgumentsAsText, "arguments-as-string"
	if f.caps.ObjectArguments {
		as, how = chat.ArgumentsAsObject, "arguments-as-object"
	}
	for i, m := range f.Input.Messages {
		f.Input.Messages[i] = chat.WithArguments(m, func(was ordered.Value) ordered.Value {
			is := as(was)
			if is.Kind() != was.Kind() {
				f.used(how)
			}
			return is
		})
	}
}

// toolsSystem puts an empty system message first where the template describes tools beside one
// alone.
func (f *fitter) toolsSystem() {
	isSystem := func(m ordered.Value) bool { return m.At("role").Text() == "system" }
	if !f.caps.Needs.ToolsSystem || len(f.Input.Tools) == 0 ||
		slices.ContainsFunc(f.Input.Messages, isSystem) {
		return
	}
	for i := range f.Input.Messages {
		f.From = append(f.From, i)
	}
	f.From = slices.Insert(f.From, 0, -1)
	f.Input.Messages = slices.Insert(f.Input.Messages, 0, chat.MessageOf("system", ordered.Str("")))
	f.used("empty-system-for-tools")
}

// namedIDs gives calls ids that hold their names where the template writes the name nowhere else,
// and their results the same ids.
func (f *fitter) namedIDs() {
	if !f.caps.Needs.NameInID {
		return
	}
	renamed := map[string]string{}
	n := 0
	for i, m := range f.Input.Messages {
		f.Input.Messages[i] = chat.WithCalls(m, func(call ordered.Value) ordered.Value {
			id, name := call.At("id").Text(), call.At("function", "name").Text()
			if named := chat.NamedID(name, n); !strings.Contains(id, name) {
				renamed[id] = named
				call = call.With("id", ordered.Str(named))
				f.used("name-in-call-id")
			}
			n++
			return call
		})
		if named, ok := renamed[m.At("tool_call_id").Text()]; ok {
			f.Input.Messages[i] = m.With("tool_call_id", ordered.Str(named))
		}
	}
}

// takenIDs gives calls whose ids the template refuses ids that it takes, made of their own, and
// their results the same ones.
func (f *fitter) takenIDs() {
	taken := f.caps.IDs.Taken
	if taken.IsZero() {
		return
	}
	made, used := map[string]string{}, map[string]bool{}
	each := func(of func(id string) string) {
		at := func(v ordered.Value, key string) ordered.Value {
			if own := v.At(key).Text(); own != "" && of(own) != own {
				return v.With(key, ordered.Str(of(own)))
			}
			return v
		}
		for i, m := range f.Input.Messages {
			m = chat.WithCalls(m, func(call ordered.Value) ordered.Value { return at(call, "id") })
			f.Input.Messages[i] = at(m, "tool_call_id")
		}
	}
	each(func(own string) string { // an id that is made is none of these
		used[own] = true
		return own
	})
	each(func(own string) string {
		if taken.Has(own) {
			return own
		}
		if made[own] == "" {
			made[own] = newID(taken, own, used)
			f.used("call-id-as-taken")
		}
		return made[own]
	})
}

// newID returns an id of a set that is made of another one and is not used, and notes it as used.
func newID(set format.IDs, own string, used map[string]bool) string {
	digits := strings.Map(func(r rune) rune {
		if set.HasByte(byte(r)) {
			return r
		}
		return -1
	}, chat.IDDigits)
	length := max(chat.MadeID, set.Min)
	if set.Max > 0 {
		length = min(length, set.Max)
	}
	id := chat.IDOf(own, length, digits)
	for tries := 1; used[id] && tries < maxIDs; tries++ {
		id = chat.IDOf(fmt.Sprint(own, "\x00", tries), length, digits)
	}
	used[id] = true
	return id
}

// maxIDs bounds how often an id is made that is used already: a template may take too few.
const maxIDs = 8

// flatCalls gives calls the members of their functions where the template reads them there alone.
func (f *fitter) flatCalls() {
	if !f.caps.Needs.FlatCalls {
		return
	}
	for i, m := range f.Input.Messages {
		f.Input.Messages[i] = chat.WithCalls(m, func(call ordered.Value) ordered.Value {
			f.used("flat-calls")
			return observe.Flat(call)
		})
	}
}

// flatTools gives tools the members of their functions where the template reads them there alone.
func (f *fitter) flatTools() {
	if !f.caps.Needs.Tool.Flat {
		return
	}
	for i, t := range f.Input.Tools {
		f.Input.Tools[i] = observe.Flat(t)
		f.used("flat-tools")
	}
}

// textValues gives arguments that are no strings as their JSON text where the template refuses
// them.
func (f *fitter) textValues() {
	if !f.caps.Needs.TextValues {
		return
	}
	for i, m := range f.Input.Messages {
		f.Input.Messages[i] = chat.WithArguments(m, func(was ordered.Value) ordered.Value {
			texts, changed := observe.Texts(was)
			if !changed {
				return was
			}
			f.used("values-as-text")
			return texts
		})
	}
}

// nullContent gives an empty string for null or missing content where the template would print or
// refuse it.
func (f *fitter) nullContent() {
	if !f.caps.Needs.EmptyContent {
		return
	}
	for i, m := range f.Input.Messages {
		if m.At("content").IsNull() {
			f.Input.Messages[i] = m.With("content", ordered.Str(""))
			f.used("null-content-as-empty")
		}
	}
}

// reasoningField moves reasoning to the field that the template reads.
func (f *fitter) reasoningField() {
	want := f.caps.Needs.ReasoningField
	if want == "" {
		return
	}
	for i, m := range f.Input.Messages {
		if _, ok := m.Get(want); ok {
			continue
		}
		for _, field := range chat.ReasoningFields {
			if r := m.At(field); r.Kind() == ordered.String {
				f.Input.Messages[i] = m.Without(field).With(want, r)
				f.used("reasoning-as-" + want)
				break
			}
		}
	}
}

// reasoningPart moves reasoning to a typed part before the content where the template reads it
// there.
func (f *fitter) reasoningPart() {
	if !f.caps.Needs.ReasoningPart {
		return
	}
	for i, m := range f.Input.Messages {
		field, reasoning := reasoningOf(m)
		if reasoning == "" {
			continue
		}
		parts := []ordered.Value{chat.ThinkingPart(ordered.Str(reasoning))}
		switch content := m.At("content"); {
		case content.Kind() == ordered.Array:
			parts = append(parts, content.Items()...)
		case content.Text() != "":
			parts = append(parts, chat.TextPart(content))
		}
		f.Input.Messages[i] = m.Without(field).With("content", ordered.ArrayOf(parts...))
		f.used("reasoning-as-part")
	}
}

// reasoningBlocks moves reasoning to a block of the content where the template reads it there. Then
// all answers of the conversation have blocks, since a template may refuse answers in two forms.
func (f *fitter) reasoningBlocks() {
	blocks := f.caps.Needs.Blocks
	if blocks.IsZero() || !slices.ContainsFunc(f.Input.Messages,
		func(m ordered.Value) bool { _, text := reasoningOf(m); return text != "" }) {
		return
	}
	for i, m := range f.Input.Messages {
		field, reasoning := reasoningOf(m)
		content := m.At("content")
		if m.At("role").Text() != "assistant" ||
			content.Kind() != ordered.String && !content.IsNull() {
			continue
		}
		f.Input.Messages[i] = m.Without(field).With("content",
			blocks.Content(reasoning, content.Text()))
		f.used("reasoning-as-block")
	}
}

// reasoningOf returns the reasoning of a message and the field that has it.
func reasoningOf(m ordered.Value) (field, text string) {
	for _, field := range chat.ReasoningFields {
		if v := m.At(field); v.Kind() == ordered.String && v.Text() != "" {
			return field, v.Text()
		}
	}
	return "", ""
}

// variables binds the variables that the template demands and the request does not give: the name
// "functions", OpenAI's older word for tools, gets the functions' JSON text when a request has
// tools.
func (f *fitter) variables() {
	for _, b := range f.caps.Needs.Bound {
		if slices.ContainsFunc(f.Input.Kwargs,
			func(m ordered.Member) bool { return m.Key == b.Key }) {
			continue
		}
		if b.Key == "functions" {
			b.Value = ordered.Str(ordered.ListOf(f.Input.Tools,
				func(t ordered.Value) ordered.Value { return t.At("function") }).String())
		}
		f.Input.Kwargs = append(f.Input.Kwargs, b)
		f.used("variable-" + b.Key)
	}
}
