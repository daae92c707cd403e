package chattemplate_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
)

// TestEncoderOrigins finds the texts of an input in the prompts of an encoder: arguments as one
// object and one by one, texts that stand twice or are cut, and marks of Jinja.
func TestEncoderOrigins(t *testing.T) {
	args := ordered.ObjectOf(ordered.MemberOf("n", ordered.Int(7)),
		ordered.MemberOf("ready", ordered.Boolean(true)))
	call := ordered.MemberOf("tool_calls", ordered.ArrayOf(chat.CallOf("id1", "look_up", args)))
	messages := []ordered.Value{chat.User("Where {{ is }} \"it\"?\n"),
		chat.MessageOf("assistant", ordered.Value{}, call), chat.Result("id1", "look_up", "There")}
	for prompt, want := range map[string]string{
		"<u>Where {{ is }} \"it\"?\n<c>look_up{\"n\": 7, \"ready\": true}<r>look_up There": "" +
			"<u>|messages[0].content|<c>|messages[1].tool_calls[0].function.name|" +
			"messages[1].tool_calls[0].function.arguments...|<r>|messages[2].name| |" +
			"messages[2].content",
		"Where {{ is }} \"it\"?!look_up name=\"n\" string=\"false\">7; name=\"ready\">true": "" +
			"messages[0].content|!|messages[1].tool_calls[0].function.name| name=\"|" +
			"messages[1].tool_calls[0].function.arguments...|\" string=\"false\">|" +
			"messages[1].tool_calls[0].function.arguments...|; name=\"|" +
			"messages[1].tool_calls[0].function.arguments...|\">|" +
			"messages[1].tool_calls[0].function.arguments...",
		"{% raw %}\\n{# nothing #}": "{% raw %}\\n{# nothing #}",
	} {
		e := chattemplate.CompileEncoder(t.Context(), "encoder",
			func(ordered.Value) (string, error) { return prompt, nil }, "", "", time.Now)
		seen, err := e.Observe(chattemplate.Input{Messages: messages})
		if err != nil || seen.String != prompt {
			t.Errorf("%q becomes %q (%v)", prompt, seen.String, err)
			continue
		}
		if got := origins(seen.Text); got != want {
			t.Errorf("%q\n got %s\nwant %s", prompt, got, want)
		}
	}
}

// origins lists the origins of a text; the parts of arguments are one.
func origins(text jinja.Text) string {
	var all []string
	at := 0
	for _, r := range text.Runs {
		part := text.String[at : at+r.Len]
		at += r.Len
		if r.Role != jinja.Literal {
			part = r.Path
			if before, _, ok := strings.Cut(part, ".arguments"); ok {
				part = before + ".arguments..."
			}
		}
		if n := len(all); n == 0 || all[n-1] != part {
			all = append(all, part)
		}
	}
	return strings.Join(all, "|")
}

// TestEncoderRefuses has an encoder that refuses a request in words.
func TestEncoderRefuses(t *testing.T) {
	e := chattemplate.CompileEncoder(t.Context(), "encoder", func(ordered.Value) (string, error) {
		return "", errors.New("no \"system\"\nmessage")
	}, "", "", time.Now)
	_, err := e.Render(chattemplate.Input{Messages: []ordered.Value{chat.User("Hi")}})
	if err == nil || jinja.Class(err) != "TemplateError" ||
		!strings.Contains(err.Error(), "no \"system\"\nmessage") {
		t.Errorf("%v (%s)", err, jinja.Class(err))
	}
}
