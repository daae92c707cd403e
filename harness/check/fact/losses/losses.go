// Package losses counts which texts of the conversations reached the prompt, and which did not.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package losses

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/conversation"
)

// All counts the texts of all conversations.
var All = probe.NewFact(take)

// Forgotten returns the prompt of a conversation whose history the template does not write; false
// where it does.
func Forgotten(s *probe.Subject) (probe.Rendering, bool) {
	f := forgotten.Of(s)
	return f.prompt, f.ok
}

var forgotten = probe.NewFact(func(s *probe.Subject) (f struct {
	prompt probe.Rendering
	ok     bool
}) {
	f.prompt, f.ok = forgetful(s)
	return f
})

// forgetful returns the prompt of a conversation of which the template writes one of the last
// messages and nothing of the first question and its answer, and knows no tools, or has the task to
// judge: it is for models that judge or translate one text.
func forgetful(s *probe.Subject) (probe.Rendering, bool) {
	c := s.Template.Caps()
	prompt, err := s.Fitted(sample.Talk(sample.User, sample.Answer, sample.LaterUser,
		sample.AnswerOf("AGAINNEEDLE"), chat.User("THIRDNEEDLE")), false, true)
	one := prompt.Has("THIRDNEEDLE") && !c.Tools && !c.ToolCalls ||
		prompt.Has("AGAINNEEDLE") && Judged.Of(s)
	return prompt, err == nil && one && !prompt.Has("USERNEEDLE") && !prompt.Has("ANSWERNEEDLE")
}

// Lost is a leaf that a conversation's prompt lacks.
type Lost struct {
	conversation.Leaf
	In *prompts.Prompt
}

// Kind is the kind of message that the leaf is of.
func (l Lost) Kind() conversation.Kind {
	if l.Message < 0 {
		return conversation.None
	}
	return l.In.Kinds[l.Message]
}

// Sort is a sort of leaf: its container, and its part in it.
type Sort struct {
	Kind conversation.Kind
	Part conversation.Part
}

// Census counts the leaves of each sort that reached the prompt, and keeps those that did not, the
// plainest conversation first.
type Census struct {
	Written map[Sort]int
	lost    map[Sort][]Lost
}

// take looks for every leaf of every conversation.
func take(s *probe.Subject) *Census {
	c := &Census{map[Sort]int{}, map[Sort][]Lost{}}
	for t := range prompts.Rendered(s) {
		found := t.Origins()
		for _, l := range t.Leaves() {
			leaf := Lost{l, t}
			of := Sort{leaf.Kind(), l.Part}
			_, there := found[prompts.OriginOf(l)]
			if there && !l.Coded || t.Shows(l.Text) {
				c.Written[of]++
			} else {
				c.lost[of] = append(c.lost[of], leaf)
			}
		}
	}
	return c
}

// Of returns the leaves of a kind of message that are lost, of any of the parts.
func (c *Census) Of(kind conversation.Kind, parts ...conversation.Part) []Lost {
	var all []Lost
	for _, p := range parts {
		all = append(all, c.lost[Sort{kind, p}]...)
	}
	return all
}

// FindLost reports leaves that are lost, once, with the first of them in the smallest request.
func (c *Census) FindLost(s *probe.Subject, find probe.Finder, all []Lost) {
	if len(all) == 0 {
		return
	}
	first := all[0]
	gone := func(l conversation.Leaf) bool { return !first.In.Shows(l.Text) }
	subject := SubjectOf(first, gone)
	switch {
	case subject == laterSystem &&
		slices.Contains(first.In.Kinds[:first.Message], conversation.System):
		subject = "a second system message"
	case first.Kind() == conversation.Call && (first.Part == conversation.Argument ||
		first.Part == conversation.Key):
		subject = "the " + first.Part.String() + " of a tool call"
	}
	what := subject + c.form(all) + " does not reach the prompt"
	if first.partly() {
		what = "of " + probe.Article(first.Kind().String()) + " in parts only the first part " +
			"reaches the prompt"
	}
	alike := func(p *prompts.Prompt) (Lost, bool) {
		for _, l := range p.Leaves() {
			if one := (Lost{l, p}); l.Text == first.Text && l.Part == first.Part &&
				one.Kind() == first.Kind() && one.Alone() == first.Alone() {
				return one, !p.Shows(l.Text) && !prompts.Has(p.Origins(), prompts.OriginOf(l))
			}
		}
		return Lost{}, false
	}
	in := first.In.Smallest(s, func(p *prompts.Prompt) bool { _, ok := alike(p); return ok })
	if small, ok := alike(in); ok {
		first = small
	}
	more := ""
	seen := map[conversation.Part]bool{first.Part: true}
	for _, l := range all {
		if !seen[l.Part] {
			seen[l.Part] = true
			more += "\nthe same: " + SubjectOf(l, func(conversation.Leaf) bool { return false })
		}
	}
	find(in.Lost(first.Path, first.Text).Needing(), "%s%s", what, more)
}

// partly reports whether a leaf is of a later part of a content whose first part is written.
func (l Lost) partly() bool {
	of, _, later := strings.Cut(l.Path, ".content[")
	return later && slices.ContainsFunc(l.In.Leaves(), func(first conversation.Leaf) bool {
		return first.Path == of+".content[0].text" && first.Path != l.Path && l.In.Shows(first.Text)
	})
}

// form is what all messages with lost leaves have in common, and others of their kind have not.
func (c *Census) form(all []Lost) string {
	every := func(is func(Lost) bool) bool {
		return c.Written[Sort{all[0].Kind(), all[0].Part}] > 0 &&
			!slices.ContainsFunc(all, func(l Lost) bool { return !is(l) })
	}
	switch {
	case every(func(l Lost) bool { return strings.Contains(l.Path, ".content[") }):
		return " that comes in parts"
	case every(func(l Lost) bool {
		return l.Kind() == conversation.Call && l.Part != conversation.Content &&
			!l.In.In.Messages[l.Message].At("content").IsNull()
	}):
		return " beside content, even an empty one,"
	}
	return ""
}

// laterSystem is what a system message is called that stands after others.
const laterSystem = "a system message after the first message"

// SubjectOf names what a leaf is of; where each text of its tool has the same fault, the tool.
func SubjectOf(l Lost, same func(conversation.Leaf) bool) string {
	name := probe.Article(l.Kind().String())
	differs := func(of conversation.Leaf) bool {
		return of.Tool == l.Tool && !same(of) &&
			(of.Part == conversation.ToolName || of.Part == conversation.Description)
	}
	switch {
	case l.Message < 0 && same != nil && !slices.ContainsFunc(l.In.Leaves(), differs):
		return "a tool, with its description and parameters,"
	case l.Message < 0 && strings.Count(l.Path, ".properties.") > 1:
		return ofSchema[l.Part] + " of a property nested in a tool's parameter"
	case l.Message < 0 && strings.Contains(l.Path, ".properties."):
		return ofSchema[l.Part] + " of a tool's parameter"
	case l.Message < 0:
		return "the " + strings.TrimPrefix(l.Part.String(), "tool's ") + " of a tool"
	case l.Kind() == conversation.Call && l.Part == conversation.Content:
		return "the content beside tool_calls"
	case l.Kind() == conversation.System && l.Message > 0 && !l.Alone():
		return laterSystem
	case l.Part == conversation.CallName && same != nil && !slices.ContainsFunc(l.In.Leaves(),
		func(of conversation.Leaf) bool {
			return of.Part == conversation.Argument && of.Message == l.Message && !same(of)
		}):
		return "a tool call"
	case strings.Contains(l.Part.String(), " "): // the name of a call
		return "the " + l.Part.String()
	}
	return fmt.Sprintf("the %s of %s", l.Part, name)
}

// ofSchema names the parts of a parameter in the schema of a tool.
var ofSchema = map[conversation.Part]string{conversation.Description: "the description",
	conversation.Parameter: "the name", conversation.Choice: "an enum value",
	conversation.Required: "an entry in the required list"}

// Alone reports whether a leaf is of the only instructions of a conversation, in first place.
func (l Lost) Alone() bool {
	for i, k := range l.In.Kinds {
		if i > 0 && (k == conversation.System || k == conversation.Developer) {
			return false
		}
	}
	return l.Message == 0
}
