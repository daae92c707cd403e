package check

import (
	"cmp"
	"sync"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/rule"
	"github.com/goassay/assay/harness/standard"
	"github.com/goassay/assay/harness/subject"
)

// templateRules judge the template as a program: where it runs, its dependencies and its claims.
var templateRules = []lookout{
	{Rule: rule.Rule{ID: "A008", Name: "calls-without-tools", Severity: rule.Warning,
		Short:  "Calls are replayed, but tools are never described to the model.",
		Damage: "The model is asked to call functions that it has not been told of.",
		Fix: "Write the tools into the prompt " +
			"when there are any."}, Group: groupLint, Find: checkToolsDescribed},
	{Rule: rule.Rule{ID: "A009", Name: "sandbox-violation", Severity: rule.Warning,
		Short: "The template changes its input, which the sandbox of Hugging Face's " +
			"transformers forbids.",
		Damage: "It works in one server and ends every request in a SecurityError in another.",
		Fix: "Build new lists with + instead of append, and new values with " +
			"set or namespace."}, Group: groupLint, Find: checkSandbox},
	{Rule: rule.Rule{ID: "A010", Name: "renderers-differ", Severity: rule.Note,
		Short:  "A second implementation of Jinja renders the template differently, or not at all.",
		Damage: "Servers written with that library send another prompt to the model.",
		Fix:    "Avoid the difference where the template is meant to run with that library."}, Group: groupLint, Find: checkRenderers},
	{Rule: rule.Rule{ID: "A032", Name: "template-shadowed", Severity: rule.Warning,
		Short:  "Other templates stand beside this one and differ from it.",
		Damage: "Which one is used depends on the server; a fix in one is missing in the other.",
		Fix: "Keep a single template, or " +
			"make them equal."}, Group: groupLint, Find: checkShadowed},
	{Rule: rule.Rule{ID: "A033", Name: "role-refused", Severity: rule.Note,
		Short:  "The template refuses a conversation that OpenAI's API allows.",
		Damage: "Agents that send it get an error in the middle of their work.",
		Fix: "Render it in the nearest form instead of " +
			"raising an exception."}, Group: groupLint, Find: checkRoles},
	{Rule: rule.Rule{ID: "A035", Name: "clock-read", Severity: rule.Note,
		Short: "The prompt depends on the time.",
		Damage: "Cached prefixes are lost when the date changes, and tests that compare prompts " +
			"fail the day after.",
		Fix: "Let the client give the date as a variable."}, Group: groupLint, Find: checkClock},
	{Rule: rule.Rule{ID: "A042", Name: "tools-ignored", Severity: rule.Note,
		Short: "The template describes no tools, and writes no calls.",
		Damage: "Requests with tools are answered as if they had none: the model has not " +
			"been told of them. The gate rejects the model.",
		Fix: "If the model can call tools, write them into the prompt as it was trained to " +
			"read them; otherwise there " +
			"is nothing to do."}, Group: groupLint, Find: checkToolsIgnored},
	{Rule: rule.Rule{ID: "A043", Name: "system-refused", Severity: rule.Note,
		Short: "The template refuses a system message.",
		Damage: "Clients that send one get an error where the server does not move it into the " +
			"user's first message.",
		Fix: "Write the system message, before the user's first one if the model was trained " +
			"without that role."}, Group: groupLint, Find: checkSystemRefused},
}

func checkToolsDescribed(s *Subject, find finder) {
	c := s.Template.Caps()
	if !judged(find, c.WhyUnjudged(describesTools), c.WhyUnjudged(replaysCalls)) {
		return
	}
	if c.ToolCalls && !c.Tools {
		find(s.of("CITYNEEDLE"), "supports_tool_calls without supports_tools")
	}
}

func checkToolsIgnored(s *Subject, find finder) {
	c := s.Template.Caps()
	if !judged(find, c.WhyUnjudged(describesTools), c.WhyUnjudged(replaysCalls)) {
		return
	}
	if !c.Tools && !c.ToolCalls {
		find(nowhere, "the template describes no tools: a request's tools do not reach the prompt")
	}
}

// systemTurn is a system message in the form that the template takes.
func (s *Subject) systemTurn() ordered.Value {
	if c := s.Template.Caps(); c.TypedOnly() {
		return systemTurn.With("content",
			ordered.ArrayOf(chat.TextPart(systemTurn.At("content"))))
	}
	return systemTurn
}

// checkSystemRefused renders unfitted: the engine moves the message where a template refuses it,
// and others do not.
func checkSystemRefused(s *Subject, find finder) {
	if _, err := s.raw(talk(userTurn), false); !judged(find, err) {
		return // refused without a system message too
	}
	if _, err := s.raw(talk(s.systemTurn(), userTurn), false); err != nil {
		find(nowhere, "a system message is refused: %w", err)
	}
}

func checkSandbox(s *Subject, find finder) {
	var refused error
	rendered := false
	for _, c := range standard.Battery() {
		in := s.Template.Caps().Fit(c.Request).Input
		mutable, err := s.Template.ChatTemplate().Render(in)
		if err != nil {
			refused = cmp.Or(refused, err)
			continue
		}
		rendered = true
		if text, err := s.Template.ChatTemplate().RenderImmutable(in); err != nil {
			find(nowhere, "the conversation %q: %w", c.Name, err)
			return
		} else if text != mutable {
			written := rendering{mutable, s.Template.ChatTemplate(), in}
			find(written.at(report.Parting(text, mutable)), "the conversation %q is rendered differently", c.Name)
			return
		}
	}
	if !rendered {
		unjudged(find, refused)
	}
}

func checkRenderers(s *Subject, find finder) {
	if s.Options.Renderer == nil {
		return
	}
	var refused error
	rendered := false
	second := sync.OnceValues(func() (chattemplate.Rendering, error) {
		return s.Options.Renderer.Compile(s.Template.ChatTemplate().Source)
	})
	for _, c := range standard.Battery() {
		written, err := s.ask(c.Request) // the other one sees what ends within the limits alone
		if err != nil {
			refused = cmp.Or(refused, err)
			continue
		}
		rendered = true
		want, got := written.text, ""
		program, err := second()
		if err == nil {
			got, err = program.Render(s.Template.ChatTemplate().Vars(written.in), subject.Now)
		}
		if err != nil {
			find(nowhere, "the conversation %q: %s", c.Name, first(err))
			return
		}
		if at := report.Parting(want, got); want != got {
			find(written.at(at), "the conversation %q "+
				"differs at byte %d\n%s", c.Name, at, report.Sides("native", want, "second", got))
			return
		}
	}
	if !rendered {
		unjudged(find, refused)
	}
}

func checkShadowed(s *Subject, find finder) {
	for _, name := range s.Source.Shadowed {
		find(nowhere, "%q differs from this template", name)
	}
}

// refusable are conversations that agents send and templates like to refuse.
var refusable = [...]struct {
	name     string
	messages []ordered.Value
	tools    bool // only where the template describes tools
}{
	{"a system message after the first", talk(chat.System("a"), userTurn, answerTurn,
		chat.System("b"), userTurn2), false},
	{"an assistant's message first", talk(answerTurn, userTurn), false},
	{"two user messages in a row", talk(userTurn, userTurn2), false},
	{"a call without content", talk(userTurn, callTurn.Without("content"), resultTurn), true},
	{"two calls in a message", talk(userTurn, calling(callValue, callValue2), resultTurn,
		result2Turn), true},
	{"an id that is not nine letters and digits", talk(userTurn,
		calling(callValue.With("id", ordered.Str("call_0123-abc"))),
		resultTurn.With("tool_call_id", ordered.Str("call_0123-abc"))), true},
	{"a user's message right after a tool's result", talk(userTurn, callTurn, resultTurn,
		userTurn2), true},
}

func checkRoles(s *Subject, find finder) {
	asCame := s.Template.Caps()
	asCame.IDs.Taken = format.IDs{} // other engines replace no ids
	for _, c := range refusable {
		if c.tools && !s.supports(find, replaysCalls) {
			continue
		}
		r := chat.Request{Messages: c.messages}
		if c.tools {
			r.Tools = called()
		}
		if _, err := s.render(asCame.Fit(r).Input); err != nil {
			find(nowhere, "%s: %w", c.name, err)
		}
	}
}

// checkClock renders every conversation on two days.
func checkClock(s *Subject, find finder) {
	native := chattemplate.Native{Limits: s.Template.ChatTemplate().Limits}
	program, err := native.Compile(s.Template.ChatTemplate().Source)
	if !judged(find, err) {
		return
	}
	inputs := []chattemplate.Input{
		s.Template.Caps().Fit(chat.Request{Messages: talk(userTurn)}).Input}
	all := 1
	for _, t := range s.talks() {
		if t.err == nil {
			if all++; t.o.Clock {
				inputs = append(inputs, t.in)
			}
		}
	}
	changed, first, now, later := 0, inputs[0], "", ""
	for i, in := range inputs {
		vars := s.Template.ChatTemplate().Vars(in)
		one, err1 := program.Render(vars, subject.Now)
		other, err2 := program.Render(vars, subject.Later)
		if i == 0 && !judged(find, err1, err2) || err1 != nil || err2 != nil || one == other {
			continue
		}
		if changed++; changed == 1 {
			first, now, later = in, one, other
		}
	}
	if changed > 0 {
		at := report.Parting(now, later)
		written := rendering{now, s.Template.ChatTemplate(), first}
		find(written.at(at), "the prompt changes with the "+
			"date, of %d of %d conversations\n- one day: %s\n+ another: %s", changed, all,
			report.Quote(now, at), report.Quote(later, at))
	}
}
