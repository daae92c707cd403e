// Package sent has requests that clients really send, each beside a plainer one that says the same.
//
// # Model
//
// A protocol lets one thing be said in many spellings: a member can be null, empty or absent, text
// can be a string or a list of parts, ids can have any alphabet. A [Spelling] is such a request
// ([Spelling.Sent]) with the plainer one ([Spelling.Plain]), the clients that send it, and the
// relation that the two prompts of a healthy template have ([Relation]). The relation needs no
// knowledge of the template: one that cannot take the plain request says nothing about the other.
//
// The texts of a request are phrases that people write; each stands once in a request, so that its
// place in a prompt is known.
//
// # Sources
//
// The spellings were seen in requests of the clients that package clients records, and in public
// threads about templates that broke on them; [Spelling.By] names them.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package sent

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
)

// Relation is how the prompts of a plain request and of its other spelling are related.
type Relation uint8

// The relations.
const (
	Same    Relation = iota // they are the same text
	Alike                   // they are the same text, white space apart
	Renamed                 // they are the same once each name in Names is put back
	Whole                   // the other one has every text of its request, once and in order
	// Inline: with reasoning in the content; the answer stays, and no marker is left over.
	Inline
	// Later: they are the same after the first question, except where tools are described there.
	Later
	// Shown: they differ, where the template writes the text in Shows at all.
	Shown
)

// Spelling is a request that clients send, and a plainer one that says the same.
type Spelling struct {
	Name     string // the feature in words, such as "an answer with \"tool_calls\": null"
	By       string // the clients that send it
	Plain    ordered.Value
	Sent     ordered.Value
	Relation Relation
	Names    [][2]string // for Renamed: the name in the sent request and that in the plain one
	Shows    string      // for Shown
	Tags     [2]string   // for Inline: what opens and closes the reasoning
	// Unlike, where set, is a request whose prompt differs from the plain one's in every template
	// that takes the feature at all; the others are not asked.
	Unlike ordered.Value
}

// TextArguments returns messages as they go to a server: the arguments of calls are JSON text.
func TextArguments(messages []ordered.Value) []ordered.Value {
	messages = slices.Clone(messages)
	for i, m := range messages {
		messages[i] = chat.WithArguments(m, chat.ArgumentsAsText)
	}
	return messages
}

// InParts returns messages whose content is a list with a part of text where it was one.
func InParts(messages []ordered.Value) []ordered.Value {
	messages = slices.Clone(messages)
	for i, m := range messages {
		if content := m.At("content"); content.Kind() == ordered.String {
			messages[i] = m.With("content", ordered.ArrayOf(chat.TextPart(content)))
		}
	}
	return messages
}

// Joined returns messages whose content is a text where it was a list with one part of text.
func Joined(messages []ordered.Value) []ordered.Value {
	messages = slices.Clone(messages)
	for i, m := range messages {
		if parts := m.At("content").Items(); len(parts) == 1 {
			messages[i] = m.With("content", parts[0].At("text"))
		}
	}
	return messages
}

// Plain returns the conversations that the spellings change, each with a description, the shortest
// first.
func Plain() []Spelling {
	var all []Spelling
	for _, name := range slices.Sorted(maps.Keys(bases)) {
		v := ordered.MustParse(bases[name].request)
		all = append(all, Spelling{Name: bases[name].name, By: "every client", Plain: v, Sent: v})
	}
	slices.SortStableFunc(all, func(a, b Spelling) int {
		return cmp.Compare(len(a.Plain.String()), len(b.Plain.String()))
	})
	return all
}

// edit is a change of a request: a value is put at a path, or, where it is "-", the member is taken
// out.
type edit struct{ path, value string }

// spelled is a row of the table: two edits of one conversation.
type spelled struct {
	name, by    string
	base        string
	plain, sent []edit
	relation    Relation
	names       [][2]string
	shows       string
	unlike      []edit
}

// All returns the spellings.
func All() []Spelling { return slices.Clone(every()) }

var every = sync.OnceValue(func() []Spelling {
	requests := map[string]ordered.Value{} // of the bases: spellings of one have it in common
	for name, base := range bases {
		requests[name] = ordered.MustParse(base.request)
	}
	all := make([]Spelling, len(table))
	for i, row := range table {
		base := requests[row.base]
		all[i] = Spelling{Name: row.name, By: row.by, Plain: apply(base, row.plain),
			Sent: apply(base, row.sent), Relation: row.relation, Names: row.names,
			Shows: row.shows, Tags: thinkTags}
		if row.unlike != nil {
			all[i].Unlike = apply(base, row.unlike)
		}
	}
	return all
})

// thinkTags are the tags of reasoning that most models and clients write.
var thinkTags = [2]string{"<think>", "</think>"}

// Between returns the spellings with reasoning in the content, between other tags: a template that
// looks for those serves a model that writes them, and servers send them back.
func Between(tags [2]string) []Spelling {
	var all []Spelling
	change := strings.NewReplacer(thinkTags[0], tags[0], thinkTags[1], tags[1])
	for _, s := range All() {
		if s.Relation == Inline {
			s.Name, s.Tags = change.Replace(s.Name), tags
			s.Sent = ordered.MustParse(change.Replace(s.Sent.String()))
			all = append(all, s)
		}
	}
	return all
}

// apply makes the changes of a request.
func apply(v ordered.Value, edits []edit) ordered.Value {
	for _, e := range edits {
		v = put(v, strings.FieldsFunc(e.path, func(r rune) bool {
			return r == '.' || r == '[' || r == ']'
		}), e.value)
	}
	return v
}

// put puts a value at a path.
func put(v ordered.Value, path []string, value string) ordered.Value {
	if len(path) == 0 {
		return ordered.MustParse(value)
	}
	key := path[0]
	if v.Kind() == ordered.Array {
		items := append([]ordered.Value(nil), v.Items()...)
		i := int(key[0] - '0')
		if len(path) == 1 && value == "-" {
			return ordered.ArrayOf(append(items[:i], items[i+1:]...)...)
		}
		items[i] = put(items[i], path[1:], value)
		return ordered.ArrayOf(items...)
	}
	if len(path) == 1 && value == "-" {
		return v.Without(key)
	}
	inner, _ := v.Get(key)
	return v.With(key, put(inner, path[1:], value))
}
