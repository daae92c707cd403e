package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/capability"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
)

// draft is a request while an engine changes it.
type draft struct {
	*Server
	body      ordered.Value // as it was sent
	messages  []ordered.Value
	variables []ordered.Member   // of the template, but messages
	input     chattemplate.Input // when all is done
	continued *continuation      // nil: there is none
}

func (d *draft) get(name string) ordered.Value {
	return ordered.ObjectOf(d.variables...).At(name)
}

func (d *draft) has(name string) bool {
	return slices.ContainsFunc(d.variables,
		func(m ordered.Member) bool { return m.Key == name })
}

func (d *draft) set(name string, value ordered.Value) {
	d.unset(name)
	d.variables = append(d.variables, ordered.MemberOf(name, value))
}

func (d *draft) unset(name string) {
	d.variables = slices.DeleteFunc(d.variables,
		func(m ordered.Member) bool { return m.Key == name })
}

// step is a step of an engine's request code: it changes a request, or refuses it.
type step func(*draft) error

// messageStep is a step that changes one message.
type messageStep func(d *draft, m ordered.Value) (ordered.Value, error)

// each makes a step of steps that change each message.
func each(steps ...messageStep) step {
	return func(d *draft) (err error) {
		for i := range d.messages {
			for _, step := range steps {
				if d.messages[i], err = step(d, d.messages[i]); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// rebuilt is a message step that cannot fail and does not look at the template.
func rebuilt(change func(ordered.Value) ordered.Value) messageStep {
	return func(_ *draft, m ordered.Value) (ordered.Value, error) { return change(m), nil }
}

// nullVariables gives the template variables as null that the request does not have.
func nullVariables(names ...string) step {
	return func(d *draft) error {
		for _, name := range names {
			if !d.has(name) {
				d.set(name, ordered.Value{})
			}
		}
		return nil
	}
}

// noEmptyTools makes tools that are null or empty null.
func noEmptyTools(d *draft) error {
	if len(d.get("tools").Items()) == 0 {
		d.set("tools", ordered.Value{})
	}
	return nil
}

// asksAlways asks for an answer whatever the request says.
func asksAlways(d *draft) error {
	d.set("add_generation_prompt", ordered.Boolean(true))
	return nil
}

// refusesNull refuses messages with a member that is null.
func refusesNull(names ...string) step {
	return func(d *draft) error {
		for _, m := range d.messages {
			for _, name := range names {
				if value, ok := m.Get(name); ok && value.IsNull() {
					return refuse("%q of a message is null", name)
				}
			}
		}
		return nil
	}
}

// dropNull leaves members of a message out that are null.
func dropNull(m ordered.Value) ordered.Value {
	return ordered.ObjectOf(slices.DeleteFunc(slices.Clone(m.Members()),
		func(of ordered.Member) bool { return of.Value.IsNull() })...)
}

// dropNoCalls leaves a list of calls out that is null or empty.
func dropNoCalls(m ordered.Value) ordered.Value {
	if len(m.At("tool_calls").Items()) == 0 {
		return m.Without("tool_calls")
	}
	return m
}

// emptyContent makes "" of content that is null or absent.
func emptyContent(m ordered.Value) ordered.Value {
	if m.At("content").IsNull() {
		return m.With("content", ordered.Str(""))
	}
	return m
}

// keeps keeps members of a message alone, in their order.
func keeps(names ...string) func(ordered.Value) ordered.Value {
	return func(m ordered.Value) ordered.Value {
		var members []ordered.Member
		for _, name := range names {
			if value, ok := m.Get(name); ok {
				members = append(members, ordered.MemberOf(name, value))
			}
		}
		return ordered.ObjectOf(members...)
	}
}

// aliases gives a message its reasoning under several names: the first of those that clients use
// which is not null.
func aliases(names ...string) func(ordered.Value) ordered.Value {
	return func(m ordered.Value) ordered.Value {
		for _, name := range []string{"reasoning_content", "thinking", "reasoning"} {
			text := m.At(name)
			if text.IsNull() {
				continue
			}
			for _, alias := range names {
				if m.At(alias).IsNull() {
					m = m.With(alias, text)
				}
			}
			break
		}
		return m
	}
}

// call changes each call of a message.
func call(change func(c ordered.Value) (ordered.Value, error)) messageStep {
	return func(_ *draft, m ordered.Value) (ordered.Value, error) {
		var first error
		changed := chat.WithCalls(m, func(c ordered.Value) ordered.Value {
			is, err := change(c)
			first = cmp.Or(first, err)
			return is
		})
		return changed, first
	}
}

// parsed changes the arguments of a call that are text by a function that reads them.
func parsed(read func(text string) (ordered.Value, error)) messageStep {
	return call(func(c ordered.Value) (ordered.Value, error) {
		f := c.At("function")
		arguments, ok := f.Get("arguments")
		if !ok || arguments.Kind() != ordered.String {
			return c, nil
		}
		value, err := read(arguments.Text())
		return c.With("function", f.With("arguments", value)), err
	})
}

// asJSON reads arguments as JSON, and refuses others.
func asJSON(text string) (ordered.Value, error) {
	value, err := ordered.ParseString(text)
	if err != nil {
		return value, refuse("the arguments of a call are no JSON")
	}
	return value, nil
}

// object reads arguments as a JSON object, and refuses others.
func object(text string) (ordered.Value, error) {
	value, err := asJSON(text)
	if err == nil && value.Kind() != ordered.Object {
		return value, refuse("the arguments of a call are no object")
	}
	return value, err
}

// objectOrEmpty reads arguments as a JSON object; others are an empty one.
func objectOrEmpty(text string) (ordered.Value, error) {
	value, err := ordered.ParseString(text)
	if err != nil || value.Kind() != ordered.Object {
		return ordered.ObjectOf(), nil
	}
	return value, nil
}

// jsonOrText reads arguments as JSON; others stay text.
func jsonOrText(text string) (ordered.Value, error) {
	value, err := ordered.ParseString(text)
	if err != nil {
		return ordered.Str(text), nil
	}
	return value, nil
}

// isMedia reports whether a part of content is no text.
func isMedia(part ordered.Value) bool { return kindOf(part) != "text" }

// kindOf is the type of a part as templates know it: "image" for OpenAI's "image_url".
func kindOf(part ordered.Value) string {
	kind := part.At("type").Text()
	return cmp.Or(capability.SortOf(kind), kind)
}

// placeholder is a part without what it shows, as a template writes a place for it.
func placeholder(part ordered.Value) ordered.Value {
	return ordered.Pairs("type", kindOf(part))
}

// texts are the texts of parts.
func texts(parts []ordered.Value) []string {
	var all []string
	for _, part := range parts {
		if part.Kind() == ordered.String {
			all = append(all, part.Text())
		} else if !isMedia(part) {
			all = append(all, part.At("text").Text())
		}
	}
	return all
}

// joined is the text of parts with a separator between them.
func joined(parts []ordered.Value, separator string) ordered.Value {
	return ordered.Str(strings.Join(texts(parts), separator))
}
