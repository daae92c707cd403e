package chat

import (
	"fmt"
	"strconv"

	"github.com/goassay/assay/engine/ordered"
)

// Envelope makes the objects in which a server sends an answer: one chat.completion, or a
// chat.completion.chunk for each delta. Nothing in them comes from a clock or from chance; the
// caller gives all that they need.
type Envelope struct {
	ID      string // of the answer, such as "chatcmpl-42"; each answer has its own
	Created int64  // when the answer began, in seconds since 1970 (Unix time)
	Model   string // the name under which the server serves the model

	// CallID gives the id of a call by its number in the answer, from 0, where the output carries
	// none. nil: an id of 9 letters and digits, made of ID and the number; there are templates that
	// refuse ids of any other form.
	CallID func(index int) string
}

// Usage is how many tokens a prompt and an answer have.
type Usage struct {
	Prompt, Completion int // in tokens; OpenAI's total is their sum
}

// Completion is a whole answer as a server sends it. Its JSON is OpenAI's chat.completion.
type Completion struct {
	ID      string       // of the answer, as [Envelope] has it
	Created int64        // seconds since 1970
	Model   string       // the name under which it is served
	Message Message      // the whole answer
	Finish  FinishReason // why the answer ended
	Usage   *Usage       // nil: left out
}

// Chunk is a piece of an answer as a server sends it. Its JSON is OpenAI's chat.completion.chunk.
type Chunk struct {
	ID      string       // of the answer, the same in all its chunks
	Created int64        // seconds since 1970
	Model   string       // the name under which it is served
	Role    bool         // the first chunk: it names the assistant's role
	Delta   Delta        // empty in the first chunk and in the last one
	Finish  FinishReason // of the last chunk; empty before: null
	Usage   *Usage       // nil: left out
}

// Completion returns an answer with an id for every call.
func (e Envelope) Completion(m Message, finish FinishReason) Completion {
	if len(m.ToolCalls) > 0 {
		calls := append([]ToolCall(nil), m.ToolCalls...)
		for i := range calls {
			calls[i].ID = e.callID(calls[i].ID, i)
		}
		m.ToolCalls = calls
	}
	return Completion{ID: e.ID, Created: e.Created, Model: e.Model, Message: m, Finish: finish}
}

// Begin returns the first chunk of an answer.
func (e Envelope) Begin() Chunk {
	return Chunk{ID: e.ID, Created: e.Created, Model: e.Model, Role: true}
}

// Chunk returns the chunk of a delta, with an id for each call that begins in it. It does not keep
// the delta's memory.
func (e Envelope) Chunk(d Delta) Chunk {
	if len(d.ToolCalls) > 0 {
		calls := append([]ToolCallDelta(nil), d.ToolCalls...)
		for i, c := range calls {
			if c.Name != "" {
				calls[i].ID = e.callID(c.ID, c.Index)
			}
		}
		d.ToolCalls = calls
	}
	return Chunk{ID: e.ID, Created: e.Created, Model: e.Model, Delta: d}
}

// End returns the last chunk of an answer.
func (e Envelope) End(finish FinishReason) Chunk {
	return Chunk{ID: e.ID, Created: e.Created, Model: e.Model, Finish: finish}
}

// callID returns the id of a call: its own, or one that is made.
func (e Envelope) callID(own string, index int) string {
	switch {
	case own != "":
		return own
	case e.CallID != nil:
		return e.CallID(index)
	}
	return IDOf(e.ID+"\x00"+strconv.Itoa(index), MadeID, IDDigits)
}

// MadeID is the length of the ids of calls that are made here, and IDDigits are their digits. There
// are templates that refuse ids of any other form.
const (
	MadeID   = 9
	IDDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// IDOf returns an id of a number of bytes that is made of a text: the same for the same text, and
// hardly ever the same for another one. Its bytes are some of digits, of which there is one at
// least.
func IDOf(text string, length int, digits string) string {
	// FNV-1a; hash/fnv would be two packages more for everybody who links this one
	sum := uint64(14695981039346656037)
	for _, b := range []byte(text) {
		sum = (sum ^ uint64(b)) * 1099511628211
	}
	id := make([]byte, length)
	for i := range id {
		id[i] = digits[sum%uint64(len(digits))]
		sum /= uint64(len(digits))
	}
	return string(id)
}

// object returns the members that both objects have.
func object(kind, id string, created int64, model string, choice ordered.Value,
	usage *Usage) ordered.Value {
	v := ordered.ObjectOf(ordered.MemberOf("id", ordered.Str(id)),
		ordered.MemberOf("object", ordered.Str(kind)),
		ordered.MemberOf("created", ordered.Num(strconv.FormatInt(created, 10))),
		ordered.MemberOf("model", ordered.Str(model)),
		ordered.MemberOf("choices", ordered.ArrayOf(choice)))
	if usage != nil {
		v = v.With("usage", ordered.Pairs("prompt_tokens", usage.Prompt,
			"completion_tokens", usage.Completion, "total_tokens", usage.Prompt+usage.Completion))
	}
	return v
}

// Value returns the object as JSON.
func (c Completion) Value() ordered.Value {
	return object("chat.completion", c.ID, c.Created, c.Model, ordered.Pairs("index", 0,
		"message", c.Message.Value(), "finish_reason", string(c.Finish)), c.Usage)
}

// Value returns the object as JSON.
func (c Chunk) Value() ordered.Value {
	delta, finish := c.Delta.Value(), ordered.Value{}
	if c.Role {
		delta = ordered.ObjectOf(append([]ordered.Member{
			ordered.MemberOf("role", ordered.Str("assistant")),
			ordered.MemberOf("content", ordered.Str(""))}, delta.Members()...)...)
	}
	if c.Finish != "" {
		finish = ordered.Str(string(c.Finish))
	}
	return object("chat.completion.chunk", c.ID, c.Created, c.Model, ordered.ObjectOf(
		ordered.MemberOf("index", ordered.Int(0)), ordered.MemberOf("delta", delta),
		ordered.MemberOf("finish_reason", finish)), c.Usage)
}

// ParseCompletion reads a chat.completion with one choice.
func ParseCompletion(v ordered.Value) (Completion, error) {
	id, created, model, choice, usage, err := parseObject(v, "chat.completion")
	if err != nil {
		return Completion{}, err
	}
	m, err := ParseMessage(choice.At("message"))
	if err != nil {
		return Completion{}, fmt.Errorf("choices[0].message: %w", err)
	}
	return Completion{id, created, model, m, FinishReason(choice.At("finish_reason").Text()),
		usage}, nil
}

// ParseChunk reads a chat.completion.chunk with one choice, or with none, as the chunk with the
// usage has.
func ParseChunk(v ordered.Value) (Chunk, error) {
	id, created, model, choice, usage, err := parseObject(v, "chat.completion.chunk")
	if err != nil {
		return Chunk{}, err
	}
	c := Chunk{ID: id, Created: created, Model: model,
		Finish: FinishReason(choice.At("finish_reason").Text()), Usage: usage}
	delta := choice.At("delta")
	if delta.IsNull() {
		return c, nil
	}
	c.Role = !delta.At("role").IsNull()
	if c.Delta, err = ParseDelta(delta); err != nil {
		return Chunk{}, fmt.Errorf("choices[0].delta: %w", err)
	}
	return c, nil
}

func parseObject(v ordered.Value,
	kind string) (id string, created int64, model string, choice ordered.Value, usage *Usage,
	err error) {
	if k := v.At("object"); k.Text() != kind {
		return id, created, model, choice, usage, wrong("object", strconv.Quote(kind), k)
	}
	choices, err := itemsOf(v, "choices")
	if err != nil {
		return id, created, model, choice, usage, err
	}
	if len(choices) > 1 || len(choices) == 0 && kind == "chat.completion" {
		return id, created, model, choice, usage,
			fmt.Errorf("choices: expected one, found %d", len(choices))
	}
	if len(choices) == 1 {
		choice = choices[0]
	}
	created, _ = strconv.ParseInt(v.At("created").Text(), 10, 64)
	if u := v.At("usage"); u.Kind() == ordered.Object {
		usage = new(Usage)
		usage.Prompt, _ = strconv.Atoi(u.At("prompt_tokens").Text())
		usage.Completion, _ = strconv.Atoi(u.At("completion_tokens").Text())
	}
	return v.At("id").Text(), created, v.At("model").Text(), choice, usage, nil
}

func (c Completion) MarshalJSON() ([]byte, error) { return c.Value().MarshalJSON() }
func (c Chunk) MarshalJSON() ([]byte, error)      { return c.Value().MarshalJSON() }

func (c *Completion) UnmarshalJSON(text []byte) error { return unmarshal(text, c, ParseCompletion) }
func (c *Chunk) UnmarshalJSON(text []byte) error      { return unmarshal(text, c, ParseChunk) }
