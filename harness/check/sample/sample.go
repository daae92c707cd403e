// Package sample has the messages that rules render. Their texts are needles: upper-case words that
// occur nowhere else, so that a rule finds them in a prompt.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package sample

import (
	"slices"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/conversation/standard"
)

// Tools are the standard tools that callValue and callValue2 call.
func Tools() []chat.Tool {
	return slices.DeleteFunc(slices.Clone(standard.ToolRequest().Tools), func(t chat.Tool) bool {
		return t.Name != "get_weather" && t.Name != "list_notes"
	})
}

// The parts of the conversations that rules render. Needles are upper-case words that occur nowhere
// else.
var (
	System      = chat.System("SYSTEMNEEDLE")
	User        = chat.User("USERNEEDLE")
	LaterUser   = chat.User("SECONDNEEDLE")
	UserInParts = InParts(User)
	Answer      = AnswerOf("ANSWERNEEDLE")
	Thinking    = Answer.With("reasoning_content", ordered.Str("REASONNEEDLE"))
	CallTurn    = CallTurnOf(Call)
	Call        = chat.CallOf("callid001", "get_weather", Arguments)
	LaterCall   = chat.CallOf("callid002", "list_notes", ordered.ObjectOf())
	Result      = ResultOf("callid001", "RESULTNEEDLE")
	LaterResult = chat.Result("callid002", "list_notes", "RESULT2NEEDLE")
)

// The arguments of callTurn's call, as an object and as OpenAI's API sends them.
var (
	Arguments     = ordered.Pairs("city", "CITYNEEDLE", "days", 3)
	ArgumentsText = ordered.Str(Arguments.String())
)

// AnswerOf returns an answer.
func AnswerOf(text string) ordered.Value { return chat.MessageOf("assistant", ordered.Str(text)) }

// CallTurnOf returns a message that calls functions and says nothing.
func CallTurnOf(calls ...ordered.Value) ordered.Value {
	return chat.MessageOf("assistant", ordered.Str(""),
		ordered.MemberOf("tool_calls", ordered.ArrayOf(calls...)))
}

// FullTurn returns a message with reasoning, content and calls.
func FullTurn(calls ...ordered.Value) ordered.Value {
	return Thinking.With("tool_calls", ordered.ArrayOf(calls...))
}

// CallTurnWith returns callTurn with other arguments.
func CallTurnWith(arguments ordered.Value) ordered.Value {
	return CallTurnOf(chat.CallOf("callid001", "get_weather", arguments))
}

// CallIn returns a call with a city as its one argument.
func CallIn(id, name string) ordered.Value {
	return chat.CallOf(id, "get_weather", City(ordered.Str(name)))
}

// City returns arguments with nothing but a city.
func City(name ordered.Value) ordered.Value {
	return ordered.Pairs("city", name)
}

// ResultOf returns the result of a call of get_weather.
func ResultOf(id, text string) ordered.Value { return chat.Result(id, "get_weather", text) }

// WithText returns a message with another text.
func WithText(message ordered.Value, text string) ordered.Value {
	return message.With("content", ordered.Str(text))
}

// InParts returns a message whose text comes as a list of parts.
func InParts(message ordered.Value) ordered.Value {
	return message.With("content", ordered.ArrayOf(chat.TextPart(message.At("content"))))
}

// Talk returns a conversation.
func Talk(turns ...ordered.Value) []ordered.Value { return turns }
