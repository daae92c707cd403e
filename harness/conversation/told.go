package conversation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
)

// Told is a request in a line of words: the roles of its messages, each with what sets it apart
// from the plain one of its kind, and whether there are tools that nobody calls.
//
//	system, user with an image, assistant with one call without arguments, tool with empty content
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
	content := m.At("content")
	calls := m.At("tool_calls").Items()
	with := media(content)
	switch texts := len(content.Items()); {
	case len(with) > 0:
	case texts == 1:
		with = append(with, "content in parts")
	case texts > 1:
		with = append(with, fmt.Sprintf("%d parts of text", texts))
	case content.Kind() == ordered.String && (content.Text() == "") == (len(calls) == 0):
		if with = append(with, "content"); len(calls) == 0 {
			with[0] = "empty content"
		}
	}
	if slices.ContainsFunc(chat.ReasoningFields[:],
		func(f string) bool { return m.At(f).Text() != "" }) {
		with = append(with, "reasoning")
	}
	switch without := slices.ContainsFunc(calls, withoutArguments); {
	case len(calls) == 1 && without:
		with = append(with, "one call without arguments")
	case len(calls) == 1:
		with = append(with, "one call")
	case without:
		with = append(with, fmt.Sprintf("%d calls, one without arguments", len(calls)))
	case len(calls) > 1:
		with = append(with, fmt.Sprintf("%d calls", len(calls)))
	}
	if with == nil {
		return m.At("role").Text()
	}
	return m.At("role").Text() + " with " + strings.Join(with, " and ")
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
