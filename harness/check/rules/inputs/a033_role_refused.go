package inputs

import (
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// RoleRefused is the rule A033: the template refuses a conversation that OpenAI's API allows.
var RoleRefused = &probe.Rule{
	Rule: rule.Rule{
		ID: "A033", Name: "role-refused", Severity: rule.Note, Harm: rule.Refused,
		Short:  "The template refuses a conversation that OpenAI's API allows.",
		Damage: "Agents that send it get an error in the middle of their work.",
		Fix: "Write the messages in the nearest form that the model knows, instead of calling " +
			"`raise_exception`.",
	},
	Find: checkRoles,
}

// conversationOf is a conversation that agents send.
type conversationOf struct {
	name     string
	messages []ordered.Value
	tools    bool   // only where the template describes tools
	by       string // clients by name that send it, which makes it a warning; "": any may
}

// refusable are conversations that agents send and templates like to refuse.
var refusable = [...]conversationOf{
	{"a system message after the first", sample.Talk(chat.System("a"), sample.User, sample.Answer,
		chat.System("b"), sample.LaterUser), false,
		"Claude Code, and pydantic-ai with instructions that change"},
	{"an assistant message first", sample.Talk(sample.Answer, sample.User), false, ""},
	{"two user messages in a row", sample.Talk(sample.User, sample.LaterUser), false,
		"opencode and Codex, which send a request's context as a message of its own"},
	{"a tool call without content", sample.Talk(sample.User, sample.CallTurn.Without("content"),
		sample.Result), true, ""},
	{"an id that is not nine letters and digits", sample.Talk(sample.User,
		sample.CallTurnOf(sample.Call.With("id", ordered.Str("call_0123-abc"))),
		sample.Result.With("tool_call_id", ordered.Str("call_0123-abc"))), true, ""},
	{"an assistant message after a tool message", sample.Talk(sample.User, sample.CallTurn,
		sample.Result, sample.Answer, sample.LaterUser), true, "every client that calls tools"},
	{"a tool call after a tool message", sample.Talk(sample.User, sample.CallTurn, sample.Result,
		sample.CallTurnOf(sample.LaterCall), sample.LaterResult), true,
		"every client that calls tools"},
	{"a user message right after a tool message", sample.Talk(sample.User, sample.CallTurn,
		sample.Result,
		sample.LaterUser), true, "Claude Code and opencode, where their user interrupts an agent"},
}

func checkRoles(s *probe.Subject, find probe.Finder) {
	for _, c := range refusable {
		if c.tools && !s.Supports(find, probe.ReplaysCalls) {
			continue
		}
		r, err := c.try(s)
		switch {
		case err == nil || !probe.Worded(err): // A066 has the others
		case c.by != "":
			probe.Weigh(find, rule.Warning)(probe.Nowhere.Shown(r.In),
				"a request with %s is refused: %w\nsent by: %s", c.name, err, c.by)
		default:
			find(probe.Nowhere.Shown(r.In), "a request with %s is refused: %w", c.name, err)
		}
	}
}

// try renders a conversation, with its ids as they come: other engines replace none.
func (c *conversationOf) try(s *probe.Subject) (probe.Rendering, error) {
	asCame := s.Template.Caps()
	asCame.IDs.Taken = format.IDs{}
	r := chat.Request{Messages: c.messages}
	if c.tools {
		r.Tools = sample.Tools()
	}
	return s.Render(asCame.Fit(r).Input)
}
