package conversation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
)

// Told is a request in a line of words: its messages, each with what sets it apart from the plain
// one of its kind, and whether there are tools that nobody calls.
//
//	system, question with an image, call without arguments, empty result, answer in parts
func Told(r chat.Request) string {
	var all []string
	called := false
	for _, m := range r.Messages {
		all = append(all, toldMessage(m))
		called = called || len(m.At("tool_calls").Items()) > 0
	}
	text := strings.Join(all, ", ")
	if len(r.Tools) > 0 && !called {
		text += "; with tools"
	}
	return text
}

// toldMessage is a message in words.
func toldMessage(m ordered.Value) string {
	kind := KindOf(m)
	name := kind.String()
	content := m.At("content")
	calls := m.At("tool_calls").Items()
	switch kind {
	case System, Developer:
		name = m.At("role").Text()
	case Call:
		if len(calls) > 1 {
			name = "calls"
		}
		if content.Text() != "" || len(content.Items()) > 0 {
			name = "content and " + name
		}
	case Other:
		name = "message of the role " + m.At("role").Text()
	}
	if kind != Call && content.Kind() == ordered.String && content.Text() == "" {
		name = "empty " + name
	}
	with := append(thought(m), media(content)...)
	if len(with) > 0 {
		name += " with " + strings.Join(with, " and ")
	} else if content.Kind() == ordered.Array {
		name += " in parts"
	}
	if slices.ContainsFunc(calls, withoutArguments) {
		name += " without arguments"
	}
	return name
}

// thought tells of the reasoning of a message.
func thought(m ordered.Value) []string {
	for _, field := range []string{"reasoning_content", "reasoning", "thinking"} {
		if m.At(field).Text() != "" {
			return []string{"reasoning"}
		}
	}
	return nil
}

// media tells of the parts of a content that are no text.
func media(content ordered.Value) []string {
	var all []string
	for _, sort := range []struct{ of, one, more string }{{"image", "an image", "images"},
		{"audio", "audio", "audio"}, {"video", "a video", "videos"}} {
		n := 0
		for _, part := range content.Items() {
			if strings.Contains(part.At("type").Text(), sort.of) {
				n++
			}
		}
		switch {
		case n == 1:
			all = append(all, sort.one)
		case n > 1:
			all = append(all, fmt.Sprintf("%d %s", n, sort.more))
		}
	}
	return all
}

// withoutArguments reports whether a call has none.
func withoutArguments(call ordered.Value) bool {
	arguments := call.At("function", "arguments")
	if arguments.Kind() == ordered.String {
		return strings.TrimSpace(arguments.Text()) == "{}" || arguments.Text() == ""
	}
	return arguments.Kind() == ordered.Object && len(arguments.Members()) == 0
}
