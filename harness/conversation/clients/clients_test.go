package clients_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/conversation/clients"
)

// TestShapes compares the files with the known shapes of the clients: a file that lost a shape
// would let the check pass.
func TestShapes(t *testing.T) {
	for _, c := range []struct {
		client, shape string
		has           func(q clients.Request) bool
	}{
		{"openai-agents", "null content beside calls", nullCall},
		{"openai-agents", "strict", strict},
		{"openai-agents", "unions", inTools("anyOf")},
		{"langchain", "null content beside calls", nullCall},
		{"langchain", "results in parts", inParts("tool")},
		{"langchain", "a developer", from("developer")},
		{"langchain", "an image", inMessages(`"image_url"`)},
		{"pydantic-ai", "two system messages", func(q clients.Request) bool {
			return len(q.Messages) > 1 && q.Messages[1].At("role").Text() == "system"
		}},
		{"pydantic-ai", "references", inTools("$ref")},
		{"mcp", "results in parts", inParts("tool")},
		{"codex", "a developer in parts", inParts("developer")},
		{"codex", "null content beside calls", nullCall},
		{"claude-code", "a system message in parts", inParts("system")},
		{"claude-code", "a system message in the middle", func(q clients.Request) bool {
			return len(q.Messages) > 2 && q.Messages[2].At("role").Text() == "system"
		}},
		{"opencode", "an empty string beside calls", inMessages(`"content": ""`)},
		{"cline", "null content beside calls", nullCall},
	} {
		client, ok := clients.Named(c.client)
		if !ok || client.Version == "" || client.Package == "" || client.Protocol == "" {
			t.Fatalf("%s: %+v", c.client, client)
		}
		if !slices.ContainsFunc(client.Requests, c.has) {
			t.Errorf("no request of %s has %s", client, c.shape)
		}
	}
	for _, c := range clients.All() {
		results := false
		for _, q := range c.Requests {
			results = results || from("tool")(q)
			for _, m := range q.Messages {
				for _, call := range m.At("tool_calls").Items() {
					args := call.At("function", "arguments")
					if v, err := ordered.ParseString(args.Text()); err != nil ||
						v.Kind() != ordered.Object {
						t.Errorf("%s: %s: arguments %s", c, q.Name, args)
					}
				}
			}
		}
		if !results {
			t.Errorf("%s has no request with a result", c)
		}
	}
}

func from(role string) func(clients.Request) bool {
	return func(q clients.Request) bool {
		return slices.ContainsFunc(
			q.Messages,
			func(m ordered.Value) bool { return m.At("role").Text() == role },
		)
	}
}

func inParts(role string) func(clients.Request) bool {
	return func(q clients.Request) bool {
		return slices.ContainsFunc(q.Messages, func(m ordered.Value) bool {
			return m.At("role").Text() == role && m.At("content").Kind() == ordered.Array
		})
	}
}

func inMessages(text string) func(clients.Request) bool {
	return func(q clients.Request) bool {
		return strings.Contains(ordered.ArrayOf(q.Messages...).String(), text)
	}
}

func inTools(text string) func(clients.Request) bool {
	return func(q clients.Request) bool {
		for _, tool := range q.Tools {
			if strings.Contains(tool.Wire().String(), text) {
				return true
			}
		}
		return false
	}
}

func nullCall(q clients.Request) bool {
	return slices.ContainsFunc(q.Messages, func(m ordered.Value) bool {
		content, there := m.Get("content")
		return there && content.IsNull() && len(m.At("tool_calls").Items()) > 0
	})
}

func strict(q clients.Request) bool { return inTools(`"strict": true`)(q) }
