package check_test

import (
	"strings"
	"testing"

	chats "github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/clients"
)

// TestClients puts requests of a made-up client to templates with one fault each.
func TestClients(t *testing.T) {
	const plain = `{% for t in tools or [] %}{{ t|tojson }}{% endfor %}{% for m in messages %}<|{{ m.role }}|>CONTENT` +
		`{% for c in m.tool_calls or [] %}<call>{{ c.function.name }}{{ c.function.arguments }}</call>{% endfor %}<|end|>{% endfor %}`
	const content = `{% if m.content is string %}{{ m.content }}{% elif m.content %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endif %}`
	for _, c := range []struct{ name, content, messages, rule, want string }{
		{"all well", content, `[{"role": "developer", "content": [{"type": "text", "text": "Velano."}]}, {"role": "user", "content": "Pilova?"}, CALL]`, "", ""},
		{"null content", `{{ m.content + '' }}`, `[{"role": "user", "content": "Pilova?"}, CALL]`,
			"A095", "messages[1] (assistant) has null content; it is rendered with " +
				"an empty string"},
		{"null content printed", `{{ m.content }}`, `[{"role": "user", "content": "Pilova?"}, CALL]`,
			"A096", "messages[1].content is printed as Python, not as JSON"},
		{"parts", `{{ m.content + '' }}`, `[{"role": "system", "content": [{"type": "text", "text": "Velano."}]}, {"role": "user", "content": "Pilova?"}]`,
			"A095", "messages[0] (system) has content in parts; it is rendered as one text"},
		{"an image", `{{ m.content + '' }}`, `[{"role": "user", "content": [{"type": "text", "text": "Pilova?"}, {"type": "image_url", "image_url": {"url": "https://example.org/a"}}]}]`,
			"A095", "messages[0] (user) has an image; it is rendered without the image, and " +
				"messages[0] (user) has content in parts"},
		{"the developer refused", `{% if m.role == 'developer' %}{{ raise_exception('no developers') }}{% endif %}` + content,
			`[{"role": "developer", "content": "Velano."}, {"role": "user", "content": "Pilova?"}]`,
			"A096", "messages[0] (developer) has the role developer; it is rendered with " +
				"the role system"},
		{"a second system message refused", `{% if m.role == 'system' and not loop.first %}{{ raise_exception('first') }}{% endif %}` + content,
			`[{"role": "system", "content": "Velano."}, {"role": "user", "content": "Pilova?"}, {"role": "system", "content": "Dorune."}]`,
			"A096", "messages[2] (system) has a second system message; it is rendered " +
				"with all of them in one system message in first place"},
		{"long ids refused", `{% for c in m.tool_calls or [] %}{% if c.id|length != 9 %}{{ raise_exception('ids') }}{% endif %}{% endfor %}` + content,
			`[{"role": "user", "content": "Pilova?"}, CALL]`, "A096", "messages[1] (assistant) " +
				"has a tool call's id; it is rendered with ids of nine"},
		{"a lost developer", `{% if m.role != 'developer' %}` + content + `{% endif %}`,
			`[{"role": "developer", "content": "Velano."}, {"role": "user", "content": "Pilova?"}]`,
			"A096", "a request by made-up loses messages[0].content"},
		{"nothing helps", `{% if m.tool_calls %}{{ m.nothing.there }}{% endif %}` + content,
			`[{"role": "user", "content": "Pilova?"}, CALL]`,
			"A095", "no other form of a message or a tool is rendered"},
	} {
		t.Run(c.name, func(t *testing.T) {
			call := `{"role": "assistant", "content": null, "tool_calls": [{"id": "call_lumati_1", "type": "function",
				"function": {"name": "find_place", "arguments": "{\"city\": \"Lumati\"}"}}]}`
			v, err := ordered.ParseString(strings.Replace(c.messages, "CALL", call, 1))
			if err != nil {
				t.Fatal(err)
			}
			client := clients.Client{Name: "made-up", Version: "1", Requests: []clients.Request{
				{Name: "the request", Request: chats.Request{Messages: v.Items()}}}}
			src := subject.New("t.jinja", strings.Replace(plain, "CONTENT", c.content, 1))
			var found []rule.Result
			for _, res := range check.Clients(src, check.Options{}, []clients.Client{client}) {
				if res.Status != rule.Passed {
					found = append(found, res)
				}
			}
			switch {
			case c.rule == "" && len(found) > 0:
				t.Errorf("found %s: %s", found[0].Rule, found[0].Text)
			case c.rule != "" &&
				(len(found) != 1 || found[0].Rule != c.rule ||
					!strings.Contains(found[0].Text, c.want)):
				t.Errorf("found %+v, want %s with %q", found, c.rule, c.want)
			}
		})
	}
}

// TestClientsTogether puts one request of three clients to a template: the trouble that they have
// in common is one finding that names them all.
func TestClientsTogether(t *testing.T) {
	for rules, template := range map[string]string{
		"A095": "{% for m in messages %}{{ m.content + '' }}{% endfor %}",
		"A096": "{% for m in messages %}{{ m.content if m.content is string }}{% endfor %}",
	} {
		v, err := ordered.ParseString(`[{"role": "user", "content": ` +
			`[{"type": "text", "text": "Pilova?"}]}]`)
		if err != nil {
			t.Fatal(err)
		}
		var all []clients.Client
		for _, name := range []string{"one", "two", "three"} {
			all = append(all, clients.Client{Name: name, Version: "1", Requests: []clients.Request{
				{Name: "in parts", Request: chats.Request{Messages: v.Items()}}}})
		}
		var found []rule.Result
		for _, res := range check.Clients(subject.New("t.jinja", template), check.Options{}, all) {
			if res.Status != rule.Passed {
				found = append(found, res)
			}
		}
		if len(found) != 1 || found[0].Rule != rules ||
			!strings.Contains(found[0].Text, "\nthe same: two 1, three 1\nhelp: ") {
			t.Errorf("found %+v, want one finding of %s with all clients", found, rules)
		}
	}
}
