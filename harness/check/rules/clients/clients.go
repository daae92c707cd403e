package clients

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/conversation/clients"
)

// trouble is a request that is not rendered as it came.
type trouble struct {
	client  clients.Client
	request clients.Request
	err     error
	remedy  string // the message, and the form in which it is rendered
	more    int    // requests of the client with the same trouble

	others []clients.Client // with the same trouble
}

// again notes another request with the same trouble.
func (t *trouble) again(c clients.Client, q clients.Request) {
	switch {
	case c.Name == t.client.Name && q.Name != t.request.Name:
		t.more++
	case c.Name != t.client.Name && (len(t.others) == 0 ||
		t.others[len(t.others)-1].Name != c.Name):
		t.others = append(t.others, c)
	}
}

// told is the rest of a finding: which requests have it.
func (t *trouble) told() string {
	text := fmt.Sprintf("request: %s (%s of %s)", t.request.Name,
		probe.Plural(t.more+1, "request"), t.client)
	if len(t.others) == 0 {
		return text
	}
	var names []string
	for _, c := range t.others {
		names = append(names, c.String())
	}
	return text + "\nthe same: " + strings.Join(names, ", ")
}

// served returns the input of a request as a server gives it to the template that fits nothing but
// the arguments, which every server reads as JSON where the template takes objects.
func served(s *probe.Subject, q clients.Request) chattemplate.Input {
	in := chattemplate.Input{
		Messages: q.Messages,
		Generate: true,
		Kwargs:   s.Template.Caps().Needs.Bound,
	}
	for _, t := range q.Tools {
		in.Tools = append(in.Tools, t.Wire())
	}
	if s.Template.Caps().ObjectArguments {
		in = each(in, argumentsRead)
	}
	return in
}

// remedy is another form of a message or a tool.
type remedy struct {
	name    string // the message's name for it
	instead string // and the form in which it is rendered
	message func(m ordered.Value) ordered.Value
	tool    func(t ordered.Value) ordered.Value
	// all changes the messages together; it names the first of them that it is about, -1: none.
	all func(messages []ordered.Value) ([]ordered.Value, int)
}

var remedies = []remedy{
	{
		name:    "null content",
		instead: "with an empty string",
		message: func(m ordered.Value) ordered.Value {
			if content, there := m.Get("content"); there && content.IsNull() {
				return m.With("content", ordered.Str(""))
			}
			return m
		},
	},
	{
		name:    "the role developer",
		instead: "with the role system",
		message: func(m ordered.Value) ordered.Value {
			if m.At("role").Text() == "developer" {
				return m.With("role", ordered.Str("system"))
			}
			return m
		},
	},
	{name: "an image", instead: "without the image", message: func(m ordered.Value) ordered.Value {
		parts := slices.DeleteFunc(slices.Clone(m.At("content").Items()),
			func(p ordered.Value) bool {
				return p.At("type").Text() != "text"
			})
		if len(parts) == len(m.At("content").Items()) {
			return m
		}
		return m.With("content", ordered.ArrayOf(parts...))
	}},
	{
		name:    "content in parts",
		instead: "as one text (vLLM: --chat-template-content-format string)",
		message: joinedParts,
	},
	{
		name:    "a second system message",
		instead: "with all of them in one system message in first place",
		all:     oneSystem,
	},
	{
		name:    "the role of the message before",
		instead: "as one message with that",
		all:     neighboursJoined,
	},
	{name: "several calls", instead: "with one call in a message", all: singleCalls},
	{name: "a tool call's id", instead: "with ids of nine letters and digits", message: shortIDs},
	{name: "no description", instead: "with an empty description", tool: withDescription},
	{
		name:    "a type that is no word",
		instead: "with a single type",
		tool: func(t ordered.Value) ordered.Value {
			return t.With("function", singleTypes(t.At("function")))
		},
	},
}

// oneSystem puts all instructions into one system message in first place.
func oneSystem(messages []ordered.Value) ([]ordered.Value, int) {
	var said []string
	var rest []ordered.Value
	second := -1
	for i, m := range messages {
		role := m.At("role").Text()
		if role != "system" && role != "developer" {
			rest = append(rest, m)
			continue
		}
		if i > 0 && second < 0 {
			second = i
		}
		said = append(said, joinedParts(m).At("content").Text())
	}
	if second < 0 {
		return messages, -1
	}
	return append(
		[]ordered.Value{chat.MessageOf("system", ordered.Str(strings.Join(said, "\n\n")))},
		rest...), second
}

// neighboursJoined makes one message of users' messages that follow each other.
func neighboursJoined(messages []ordered.Value) ([]ordered.Value, int) {
	var joined []ordered.Value
	second := -1
	for i, m := range messages {
		last := len(joined) - 1
		if last < 0 || m.At("role").Text() != "user" || joined[last].At("role").Text() != "user" {
			joined = append(joined, m)
			continue
		}
		if second < 0 {
			second = i
		}
		before, after := joinedParts(joined[last]).At("content").Text(),
			joinedParts(m).At("content").Text()
		joined[last] = m.With("content", ordered.Str(before+"\n\n"+after))
	}
	return joined, second
}

// singleCalls leaves every message one call, and out the results of the others.
func singleCalls(messages []ordered.Value) ([]ordered.Value, int) {
	var kept []ordered.Value
	gone := map[string]bool{}
	found := -1
	for i, m := range messages {
		calls := m.At("tool_calls").Items()
		if len(calls) > 1 {
			if found < 0 {
				found = i
			}
			for _, call := range calls[1:] {
				gone[call.At("id").Text()] = true
			}
			m = m.With("tool_calls", ordered.ArrayOf(calls[0]))
		}
		if !gone[m.At("tool_call_id").Text()] {
			kept = append(kept, m)
		}
	}
	return kept, found
}

// argumentsRead makes objects of arguments that are JSON.
func argumentsRead(m ordered.Value) ordered.Value {
	return chat.WithArguments(m, chat.ArgumentsAsObject)
}

func joinedParts(m ordered.Value) ordered.Value {
	var text []string
	parts := m.At("content").Items()
	for _, p := range parts {
		if p.At("type").Text() != "text" {
			return m
		}
		text = append(text, p.At("text").Text())
	}
	if m.At("content").Kind() != ordered.Array {
		return m
	}
	return m.With("content", ordered.Str(strings.Join(text, "\n")))
}

// shortIDs gives calls and results ids as some templates demand them.
func shortIDs(m ordered.Value) ordered.Value {
	short := func(id string) ordered.Value {
		keep := strings.Map(func(r rune) rune {
			if '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
				return r
			}
			return -1
		}, id) + "000000000"
		return ordered.Str(keep[:9])
	}
	m = chat.WithCalls(m, func(call ordered.Value) ordered.Value {
		return call.With("id", short(call.At("id").Text()))
	})
	if id := m.At("tool_call_id"); !id.IsNull() {
		m = m.With("tool_call_id", short(id.Text()))
	}
	return m
}

func withDescription(t ordered.Value) ordered.Value {
	described := func(v ordered.Value) ordered.Value {
		if v.Kind() == ordered.Object && v.At("description").IsNull() {
			return v.With("description", ordered.Str(""))
		}
		return v
	}
	f := described(t.At("function"))
	properties := f.At("parameters", "properties")
	for _, p := range properties.Members() {
		properties = properties.With(p.Key, described(p.Value))
	}
	if len(properties.Members()) > 0 {
		f = f.With("parameters", f.At("parameters").With("properties", properties))
	}
	return t.With("function", f)
}

// singleTypes replaces alternatives by the first of them, everywhere in a schema.
func singleTypes(v ordered.Value) ordered.Value {
	switch v.Kind() {
	case ordered.Array:
		items := slices.Clone(v.Items())
		for i := range items {
			items[i] = singleTypes(items[i])
		}
		return ordered.ArrayOf(items...)
	case ordered.Object:
		var members []ordered.Member
		for _, m := range v.Members() {
			first := ordered.Value{}
			if options := m.Value.Items(); len(options) > 0 {
				first = options[0]
			}
			switch {
			case m.Key == "type" && m.Value.Kind() == ordered.Array:
				members = append(members, ordered.MemberOf("type", first))
			case (m.Key == "anyOf" || m.Key == "oneOf") && first.Kind() == ordered.Object:
				members = append(members, singleTypes(first).Members()...)
			case m.Key == "$ref":
				members = append(members, ordered.MemberOf("type", ordered.Str("object")))
			default:
				members = append(members, ordered.MemberOf(m.Key, singleTypes(m.Value)))
			}
		}
		return ordered.ObjectOf(members...)
	}
	return v
}

// each changes every message.
func each(in chattemplate.Input, change func(ordered.Value) ordered.Value) chattemplate.Input {
	in.Messages = slices.Clone(in.Messages)
	for i, m := range in.Messages {
		in.Messages[i] = change(m)
	}
	return in
}

// with applies a remedy to an input, except for the message or tool of an index.
func (r remedy) with(in chattemplate.Input, but int) chattemplate.Input {
	change := func(all []ordered.Value, f func(ordered.Value) ordered.Value) []ordered.Value {
		all = slices.Clone(all)
		for i, v := range all {
			if i != but && f != nil {
				all[i] = f(v)
			}
		}
		return all
	}
	in.Messages, in.Tools = change(in.Messages, r.message), change(in.Tools, r.tool)
	if r.all != nil {
		in.Messages, _ = r.all(in.Messages)
	}
	return in
}

// first is the first message or tool without the remedy of which the rest does not help.
func (r remedy) first(in chattemplate.Input, works func(chattemplate.Input) bool) string {
	for i, m := range in.Messages {
		if r.message != nil && !works(r.with(in, i)) {
			return fmt.Sprintf("messages[%d] (%s)", i, m.At("role").Text())
		}
	}
	for i, t := range in.Tools {
		if r.tool != nil && !works(r.with(in, i)) {
			return fmt.Sprintf("tools[%d] (%s)", i, t.At("function", "name").Text())
		}
	}
	if r.all != nil {
		if _, i := r.all(in.Messages); i >= 0 {
			return fmt.Sprintf("messages[%d] (%s)", i, in.Messages[i].At("role").Text())
		}
	}
	if r.tool != nil {
		return "the tools"
	}
	return "the messages"
}

// cure says in which form an input is rendered: the fewest remedies that make it work.
func cure(in chattemplate.Input, works func(chattemplate.Input) bool) string {
	apply := func(chosen []remedy) chattemplate.Input {
		with := in
		for _, r := range chosen {
			with = r.with(with, -1)
		}
		return with
	}
	chosen := slices.Clone(remedies)
	if !works(apply(chosen)) {
		return ""
	}
	for i := len(chosen) - 1; i >= 0; i-- {
		if less := slices.Delete(slices.Clone(chosen), i, i+1); works(apply(less)) {
			chosen = less
		}
	}
	var said []string
	for i, r := range chosen {
		others := apply(slices.Delete(slices.Clone(chosen), i, i+1))
		said = append(said, fmt.Sprintf("%s has %s; it is rendered %s", r.first(others, works),
			r.name, r.instead))
	}
	return strings.Join(said, ", and ")
}

// troubles are the requests that fail, each cause once: those that crash, or those that the
// template refuses in its own words.
func troubles(s *probe.Subject, isWorded bool) []*trouble {
	seen := map[string]*trouble{}
	var all []*trouble
	for _, c := range s.Clients {
		for _, q := range c.Requests {
			in := served(s, q)
			_, err := s.Template.ChatTemplate().Render(in)
			if err == nil || probe.Worded(err) != isWorded {
				continue
			}
			cause := probe.FirstLine(err)
			if at := (*source.Error)(nil); errors.As(err, &at) {
				cause += fmt.Sprint(" at ", at.Off)
			}
			if before := seen[cause]; before != nil {
				before.again(c, q)
				continue
			}
			works := func(in chattemplate.Input) bool {
				_, err := s.Template.ChatTemplate().Render(in)
				return err == nil
			}
			seen[cause] = &trouble{client: c, request: q, err: err, remedy: cure(in, works)}
			all = append(all, seen[cause])
		}
	}
	return all
}

func findTroubles(s *probe.Subject, find probe.Finder, isWorded bool, verb string) {
	for _, t := range troubles(s, isWorded) {
		find(probe.Nowhere, "a request by %s %s: %w\n%s\n%s", t.client.Name, verb, t.err,
			cmp.Or(t.remedy, "no other form of a message or a tool is rendered"), t.told())
	}
}
