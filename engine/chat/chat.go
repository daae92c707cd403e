// Package chat holds the messages between clients and servers: requests, tools, messages and
// deltas, in the shape of OpenAI's chat completions.
//
// # Model
//
// A [Request] is a client's question. Its messages and tools stay JSON values ([ordered.Value]),
// since a template may read any field of them and prints their keys in the order in which they
// came. A [Message] is a model's answer; a [Delta] is one increment of it.
//
// # Wire
//
// All of them marshal to and unmarshal from OpenAI's JSON with encoding/json. Fields that a request
// has besides are kept in its Rest; unknown fields of answers are skipped. An [Envelope] makes the
// objects in which a server sends an answer.
//
// # Stability
//
// This package is part of the stable surface; see package engine.
//
// # Errors
//
// [ParseRequest] names the field that is wrong by its path ("messages[1].role"), with the expected
// and the found value.
package chat

import "github.com/goassay/assay/engine/ordered"

// Value is a JSON value that keeps the order of keys and the digits of numbers. It marshals and
// unmarshals with encoding/json.
type Value = ordered.Value

// ReasoningFields are the names under which reasoning arrives in a message, the common one first
// (E5).
var ReasoningFields = [...]string{"reasoning_content", "reasoning", "thinking", "thought"}

// Tool is a function that a model may call.
type Tool struct {
	Name        string        // the function, as calls name it
	Description string        // what it does, for the model; may be empty
	Parameters  ordered.Value // a JSON Schema; null where the function declares none

	// Value is the tool as it came, as a template sees it. Null in a tool that is made by hand:
	// [Tool.Wire] builds one then.
	Value ordered.Value
}

// ChoiceMode decides whether a model may, must or must not call tools.
type ChoiceMode uint8

// The modes of tool choice.
const (
	ChoiceAuto     ChoiceMode = iota // the model decides
	ChoiceRequired                   // at least one call
	ChoiceNone                       // no call; call syntax is content
	ChoiceNamed                      // a call of one function
)

// ToolChoice is a request's tool_choice.
type ToolChoice struct {
	Mode ChoiceMode // whether the model may, must or must not call
	Name string     // ChoiceNamed: the function that it must call
}

// ReasoningFormat says where reasoning goes.
type ReasoningFormat uint8

// The reasoning formats.
const (
	ReasoningAuto ReasoningFormat = iota // into reasoning_content
	ReasoningKeep                        // "none": it stays in the content, with its markers
)

// Continue selects the part of a last assistant message that the model goes on with
// (continue_final_message).
type Continue uint8

// The parts that can be continued.
const (
	ContinueNone Continue = iota
	ContinueContent
	ContinueReasoning
)

// Request is a client's request.
type Request struct {
	Messages        []ordered.Value // objects, each with a "role"
	Tools           []Tool          // the functions that the model may call; none: it calls nothing
	ToolChoice      ToolChoice      // whether it may, must or must not call them
	OneCall         bool            // parallel_tool_calls is false: a grammar allows one call
	ReasoningFormat ReasoningFormat // where the answer's reasoning goes
	EnableThinking  *bool           // nil: not given, the template's default
	NoGeneration    bool            // add_generation_prompt is false
	Continue        Continue        // the part of the last message to go on with
	JSONSchema      ordered.Value   // of the answer; null where there is none
	HasJSONSchema   bool            // a schema was given (it may be {} or true)
	// chat_template_kwargs: further template variables, an object or null
	Kwargs ordered.Value

	// Rest is an object with the fields of the request that are not above (model, temperature,
	// stream, ...), in the order in which they came; null where there are none. They do not concern
	// a template.
	Rest ordered.Value
}

// Message is a model's answer. Its JSON is OpenAI's.
type Message struct {
	Reasoning string     // the text before the answer, reasoning_content in JSON; "": none
	Content   string     // the text of the answer; "": none
	ToolCalls []ToolCall // the calls in the order in which the model wrote them
}

// ToolCall is one call in a [Message]. Its JSON is OpenAI's, which has no place for Complete: a
// call that is read from JSON is complete.
type ToolCall struct {
	ID        string // empty where the output carries none (E22)
	Name      string // the function that is called
	Arguments string // JSON text as the model wrote it, or as much of it as came
	Complete  bool   // the call was read to its end (E14)
}

// Delta is one increment of a message. Reasoning and content never stand in one delta; a delta is
// never empty (E24). Its JSON is OpenAI's.
type Delta struct {
	Reasoning string          // what follows of the reasoning
	Content   string          // what follows of the content
	ToolCalls []ToolCallDelta // what follows of calls, or begins one
}

// ToolCallDelta is an increment of a call. The first one of a call has its name, and its id where
// there is one; the arguments of all of them, put together, are the call's.
type ToolCallDelta struct {
	Index     int    // which call, from 0
	ID        string // of the first increment, where the output carries one
	Name      string // of the first increment alone: the function
	Arguments string // what follows of the JSON text of the arguments
}

// FinishReason is why a turn ended, in the words of OpenAI's finish_reason. Servers have further
// reasons of their own.
type FinishReason string

// The finish reasons.
const (
	FinishStop          FinishReason = "stop"           // the model ended its turn
	FinishToolCalls     FinishReason = "tool_calls"     // it did, and a complete call is there
	FinishLength        FinishReason = "length"         // a limit cut the output off
	FinishContentFilter FinishReason = "content_filter" // a filter did
)

// Cut reports whether an output that ended for the reason was cut off where it stands. The empty
// reason counts as [FinishStop]; every one that is not the model's own is a cut.
func (r FinishReason) Cut() bool { return r != "" && r != FinishStop && r != FinishToolCalls }
