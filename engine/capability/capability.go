// Package capability says what a chat template takes and what it makes of it, as a record for
// programs that choose, configure or show models.
//
// # Model
//
// Every field of a [Record] is found by rendering: a text of a request that reaches the prompt is
// written, one that does not is dropped, and a conversation that fails is refused. A variable has a
// value where setting it changes a prompt; its default is the value that changes none. What the
// analysis of the template knows already, markers of reasoning, ends of turns and forms of calls,
// is taken from there, so that the record and the parser never disagree.
//
// # Stability
//
// The record's form has a number, [Version], and a schema, docs/reference/capabilities.schema.json.
// Fields are added within a version, none is renamed. This package may change with every release;
// package engine lists the stable ones.
package capability

import (
	"encoding/json"

	"github.com/goassay/assay/engine/ordered"
)

// Version is the number of the record's form.
const Version = 1

// Outcome is what becomes of a part of a request.
type Outcome string

// The outcomes.
const (
	Written Outcome = "written" // it reaches the prompt
	Dropped Outcome = "dropped" // it leaves no trace
	Refused Outcome = "refused" // the template fails, or refuses in its own words
)

// Record is what a template takes.
type Record struct {
	Version     int  `json:"assay_capabilities"`
	ToolCapable bool `json:"tool_capable"` // it describes tools and replays calls

	Roles      map[string]Outcome `json:"roles"` // "system", "developer", "user", "assistant", "tool"
	Content    Content            `json:"content"`
	Documents  Documents          `json:"documents"`
	Tools      Tools              `json:"tools"`
	Reasoning  Reasoning          `json:"reasoning"`
	Variables  []Variable         `json:"variables"` // sorted by name; messages and tools are none
	Generation Generation         `json:"generation_prompt"`
	Stops      []string           `json:"stops"` // texts that end an answer
	Dates      bool               `json:"dates"` // the prompt depends on the day
	Limits     Limits             `json:"limits"`
}

// Value returns the record as JSON.
func (r *Record) Value() ordered.Value {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // it has nothing but texts, numbers and values of JSON
	}
	return ordered.MustParse(string(text))
}

// Content says in which forms the content of a message may come.
type Content struct {
	String bool `json:"string"` // a text
	Parts  bool `json:"parts"`  // a list of typed parts
	// Null is what becomes of an answer that has calls and null for its content.
	Null Outcome `json:"null"`
	// Types are the types of parts beside text that leave something in the prompt, such as "image",
	// each with the text that stands for it.
	Types map[string]string `json:"part_types"`
	// ResultTypes are those that do so in the result of a call.
	ResultTypes map[string]string `json:"result_part_types"`
}

// Documents says what becomes of the texts for an answer to rest on, the variable documents.
type Documents struct {
	Outcome Outcome  `json:"outcome"`
	Fields  []string `json:"fields"` // of a document that are written, such as "text"; sorted
}

// Tools says what becomes of tools, calls and results.
type Tools struct {
	Described bool `json:"described"` // the prompt has the tools of a request
	// InMessages is what becomes of the tools that a message of the system or the developer brings
	// between the turns.
	InMessages Outcome `json:"in_messages"`
	Calls      bool    `json:"calls"`    // calls of the history are written
	Parallel   bool    `json:"parallel"` // all calls of a message are
	// Arguments are the forms that a call's arguments may come in: "object", "text".
	Arguments []string `json:"arguments"`
	Results   Outcome  `json:"results"`
	IDs       IDs      `json:"ids"`
}

// IDs says which ids of calls a template takes.
type IDs struct {
	Written    bool   `json:"written"`              // with the call or with the result
	Characters string `json:"characters,omitempty"` // as ranges: "0-9A-Za-z"; "": any
	Min        int    `json:"min,omitempty"`        // of the length in characters
	Max        int    `json:"max,omitempty"`        // 0: no bound
}

// Reasoning says how a template treats reasoning.
type Reasoning struct {
	Mode  string `json:"mode"`            // as `assay analyze` names it; "none": there is none
	Open  string `json:"open,omitempty"`  // the marker before it
	Close string `json:"close,omitempty"` // and after it
	// Fields are the fields of a message from which the history's reasoning is read.
	Fields []string `json:"fields"`
	// Switch is the variable that switches reasoning on and off; nil: none.
	Switch *Switch `json:"switch,omitempty"`
	// Effort is the variable that sets how much the model reasons; nil: none.
	Effort *Switch `json:"effort,omitempty"`
	// Earlier and Within are what becomes of reasoning in turns before the last question, and in
	// the calls after it.
	Earlier Outcome `json:"earlier_turns"`
	Within  Outcome `json:"within_calls"`
	// Keep is the variable by which reasoning of earlier turns is kept; nil: none.
	Keep *Switch `json:"keep,omitempty"`
}

// Switch is a variable with the values that do different things.
type Switch struct {
	Variable string          `json:"variable"`
	Values   []ordered.Value `json:"values"`
	Default  ordered.Value   `json:"default"` // null: leaving it out differs from all values
}

// Variable is a variable that the template reads, beside messages and tools.
type Variable struct {
	Name    string          `json:"name"`
	Kind    string          `json:"kind"`             // "boolean", "choice", "text", "list", "unknown"
	Values  []ordered.Value `json:"values,omitempty"` // that do different things
	Default ordered.Value   `json:"default"`          // null: leaving it out differs from all values
	// Changes names the conversations whose prompts it changes: "plain", "tools", "history" (with
	// a call), "calls" (with one before the last question), "reasoning" (in an earlier answer),
	// "parts" (with pictures, sound, whatever is shown).
	Changes []string `json:"changes"`
}

// Generation is what add_generation_prompt adds.
type Generation struct {
	Text     string   `json:"text"`
	Prefills []string `json:"prefills"` // the starts of an answer among it, by the variables' values
}

// Limits are the conversations that a template does not take.
type Limits struct {
	SystemFirst Outcome `json:"system_later"`    // a system message after the first message
	TwoSystem   Outcome `json:"second_system"`   // a second one behind the first
	SameRole    Outcome `json:"two_questions"`   // two messages of the user in a row
	AnswerFirst Outcome `json:"answer_first"`    // a conversation that begins with an answer
	EmptyTools  string  `json:"empty_tool_list"` // "as none", "changes the prompt", "refused"
}
