package clients

import (
	"fmt"
	"strings"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/conversation/clients"
	"github.com/goassay/assay/harness/report"
)

// ClientRequestChanged is the rule A096: a request that a client sends (--client) is refused in the
// template's words, or a part of it does not reach the prompt as it was.
var ClientRequestChanged = &probe.Rule{
	Rule: rule.Rule{
		ID: "A096", Name: "client-request-changed", Severity: rule.Warning, Harm: rule.Lost,
		Short:  "A request that a client sends (--client) is refused, loses a part or is changed.",
		Damage: "The client must send something else, or the model does not see the message.",
		Fix: "The finding names the message, and a form of it that is rendered; render the " +
			"message where it stands.",
	},
	Find: checkClientChanged,
}

func checkClientChanged(s *probe.Subject, find probe.Finder) {
	findTroubles(s, find, true, "is refused")
	findGone(s, find)
}

// loss is a part of a request that does not reach the prompt, or reaches it as a word of Python.
type loss struct {
	kind   conversation.Kind
	part   conversation.Part
	python bool
}

// lostPart is the first loss of a sort.
type lostPart struct {
	trouble
	text string
	at   probe.Where
}

// findGone reports the parts of clients' requests that do not reach the prompt, or reach it as a
// word of Python: each sort once, with the clients that send it.
func findGone(s *probe.Subject, find probe.Finder) {
	counted := map[loss]*lostPart{}
	var order []*lostPart
	note := func(of loss, c clients.Client, q clients.Request, at probe.Where, text string) {
		if before := counted[of]; before != nil {
			before.again(c, q)
			return
		}
		counted[of] = &lostPart{trouble{client: c, request: q}, text, at}
		order = append(order, counted[of])
	}
	for _, c := range s.Clients {
		for _, q := range c.Requests {
			goneOf(s, c, q, note)
		}
	}
	for _, l := range order {
		find(l.at, "%s\n%s", l.text, l.told())
	}
}

// goneOf notes the losses of a request.
func goneOf(s *probe.Subject, c clients.Client, q clients.Request,
	note func(loss, clients.Client, clients.Request, probe.Where, string)) {
	in := served(s, q)
	o, err := s.Template.ChatTemplate().Observe(in)
	if err != nil {
		return
	}
	t := &prompts.Prompt{Rendering: s.Rendered(o.String, in), Seen: o}
	for _, m := range in.Messages {
		t.Kinds = append(t.Kinds, conversation.KindOf(m))
	}
	found := t.Origins()
	for _, l := range conversation.Leaves(in) {
		if l.Part == conversation.CallID || l.Part == conversation.ResultName {
			continue
		}
		if _, there := found[prompts.OriginOf(l)]; there && !l.Coded || t.Shows(l.Text) {
			continue
		}
		kind := conversation.None
		switch {
		case l.Message >= 0:
			kind = t.Kinds[l.Message]
		case !s.Template.Caps().Tools && l.Part != conversation.ToolName:
			continue // one finding reports that there are no tools
		}
		at := probe.Nowhere
		if pos, ok := o.Trace.Nearest(l.Path); ok {
			at = probe.Offset(pos)
		}
		note(loss{kind, l.Part, false}, c, q, at, fmt.Sprintf("a request by %s loses %s\n"+
			"lost: %s", c.Name, l.Path, report.Quote(l.Text, 0)))
	}
	if path, at, ok := pythonAt(t); ok {
		kind := conversation.None
		of := jinja.Run{Origin: jinja.Origin{Path: path, Role: jinja.FromValue}}
		if i := prompts.MessageOf(of); i >= 0 {
			kind = t.Kinds[i]
		}
		note(loss{kind, 0, true}, c, q, t.At(at), fmt.Sprintf("in a request by %s, %s is "+
			"printed as Python, not as JSON\nthe model sees: %s",
			c.Name, path, report.Quote(t.Text, at)))
	}
}

// pythonAt returns where a prompt has null, or a list of parts, as Python prints it.
func pythonAt(t *prompts.Prompt) (path string, at int, ok bool) {
	for at, r := range t.Seen.All() {
		isContent := strings.HasSuffix(r.Path, ".content") && strings.HasPrefix(r.Path, "messages[")
		null := isContent && r.Role != jinja.Literal && t.Text[at:at+r.Len] == "None"
		list := strings.Contains(r.Path, ".content") && r.Codec == jinja.Python &&
			r.Role == jinja.Structure
		if null && contentIsNull(t.In, r.Path) || list {
			return r.Path, at, true
		}
	}
	return "", 0, false
}

// contentIsNull reports whether the content at a path of a message is null.
func contentIsNull(in chattemplate.Input, path string) bool {
	for i, m := range in.Messages {
		if path == fmt.Sprintf("messages[%d].content", i) {
			return m.At("content").IsNull()
		}
	}
	return false
}
