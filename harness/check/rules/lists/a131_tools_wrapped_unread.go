package lists

import (
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// ToolsWrappedUnread is the rule A131: the template reads a tool's name from the tool itself;
// clients send it within function.
var ToolsWrappedUnread = &probe.Rule{
	Rule: rule.Rule{
		ID: "A131", Name: "tools-wrapped-unread", Severity: rule.Warning, Harm: rule.Lost,
		Short: "The template reads a tool's name from the tool itself, not from `tool.function`.",
		Damage: "With tools as OpenAI's API has them a request fails, or the model sees tools " +
			"without names, unless the server unwraps them.",
		Fix: "`{% set function = tool.function or tool %}`, and read from that.",
	},
	Find: checkWrapped,
}

// checkWrapped renders unfitted: the engine unwraps tools, and others do not.
func checkWrapped(s *probe.Subject, find probe.Finder) {
	if !s.Template.Caps().Needs.Tool.Flat {
		return
	}
	in := chattemplate.Input{Messages: sample.Talk(sample.User), Generate: true,
		Kwargs: s.Template.Caps().Needs.Bound}
	for _, tool := range sample.Tools() {
		in.Tools = append(in.Tools, tool.Wire())
	}
	p, err := s.Render(in)
	switch {
	case err != nil:
		find(probe.Nowhere.Shown(in), "tools as OpenAI's API has them, {\"type\": \"function\", "+
			"\"function\": {...}}, end the request in an error: %w\nsent by: every client with tools",
			err)
	case !p.Has("get_weather"):
		find(p.Near("get_weather"), "the names of tools do not reach the prompt where they come "+
			"in tool.function, as in OpenAI's API")
	}
}
