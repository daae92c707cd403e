package conversation_test

import (
	"testing"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/harness/conversation"
)

func TestTold(t *testing.T) {
	for text, want := range map[string]string{
		`{"messages": [{"role": "user", "content": "Hi"}]}`: "user",
		`{"messages": [{"role": "system", "content": ""}, {"role": "user", "content": [
			{"type": "image_url", "image_url": {"url": "u"}}, {"type": "text", "text": "Hi"}]}]}`: "system " +
			"with empty content, user with an image",
		`{"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]},
			{"role": "assistant", "content": "Yes", "reasoning_content": "R", "tool_calls": [
			{"function": {"name": "f", "arguments": "{}"}}]},
			{"role": "tool", "content": ""}]}`: "user with content in parts, assistant with content " +
			"and reasoning and one call without arguments, tool with empty content",
		`{"messages": [{"role": "developer", "content": "Hi"}, {"role": "user", "content": [
			{"type": "image"}, {"type": "image"}, {"type": "video"}]}],
			"tools": [{"type": "function", "function": {"name": "f"}}]}`: "developer, user with " +
			"2 images and a video; with tools",
	} {
		var r chat.Request
		if err := r.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := conversation.Told(r); got != want {
			t.Errorf("%s is told as\n%q\nexpected\n%q", text, got, want)
		}
	}
}
