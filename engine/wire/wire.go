// Package wire speaks the three protocols in which clients talk to models: OpenAI's chat
// completions and Responses, and Anthropic's Messages.
//
// # Model
//
// A [Protocol] stands between bytes and package chat; it knows no model and no template:
//
//	client -> server   Decode   the JSON of a request -> Request, which has a chat.Request
//	server -> client   Writer   chat.Delta, one after the other -> events, or one JSON object
//	server -> client   Refuse   Refusal -> the protocol's error object and HTTP status
//
// and the other way, as a client has it:
//
//	Ask          a request of chat completions -> the same one in the protocol's words
//	Reader       events, one after the other -> Answer, with a Fault for everything over which a
//	             client stumbles; Read reads an answer in one piece, ReadRefusal an error object
//	Follow       a request, an Answer and the results of its calls -> the next request
//
// An answer in one piece is a stream that is put together: [Writer.Whole] has the text of the
// deltas before it, in the same items or blocks.
//
// # Requests
//
// A field that this package knows and that a stateless server of texts cannot keep to is refused:
// images, files and audio, n above 1, logprobs, store, previous_response_id, background, tools
// that run on the server. Fields that hint (user, metadata, service_tier, caching) are taken and
// mean nothing here; so are unknown ones, since clients send the extensions of many servers.
//
// A custom tool takes free text. To a template it is a function with one string "input", and
// calls of it are told apart by the tool's name: [Request.Custom]. Its grammar, a regular
// expression or rules in Lark's syntax that do not name themselves, becomes the string's pattern;
// a grammar with recursion is refused.
//
// # Reasoning that is handed back
//
// Clients return reasoning with the next request: as reasoning_content, as a reasoning item with
// encrypted_content, as a thinking block with a signature. The latter two are sealed by a
// [Sealer]: opaque to clients, and refused where a byte of them was altered.
//
// # Limits
//
// Writers and readers keep the text of an answer and nothing else that grows with it; readers also
// the first 100 faults.
//
// # Errors
//
// Every error of Decode is a [Refusal].
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
//
// # Specifications
//
// OpenAI's API reference (chat, responses) and Anthropic's (messages), as their official clients of
// November 2026 read them (openai-go 3.96, anthropic-sdk-go 1.84).
package wire

import (
	"fmt"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
)

// Protocol is one of the wire formats. Its values are safe for concurrent use.
type Protocol interface {
	// Name is the protocol's for people: "chat completions", "responses" or "messages".
	Name() string
	// Path is where a server has it, such as "/v1/chat/completions".
	Path() string
	// Decode reads a request. The sealer opens reasoning that a client hands back; nil: such
	// reasoning is refused. The error is a *[Refusal].
	Decode(body ordered.Value, s *Sealer) (*Request, error)
	// Writer returns a writer of one answer.
	Writer(a Envelope) Writer
	// Refuse returns the HTTP status and the object of a refusal.
	Refuse(r *Refusal) (status int, body ordered.Value)

	// Ask spells a request of chat completions in the protocol's words. The error wraps
	// [ErrNoWords] where the protocol has none for a part of it.
	Ask(request ordered.Value) (ordered.Value, error)
	// Follow returns a request of this protocol with an answer to it and the results of the
	// answer's calls, as its next request.
	Follow(request ordered.Value, a *Answer, results []Result) ordered.Value
	// Reader returns a reader of one stream.
	Reader() Reader
	// Read reads an answer in one piece.
	Read(v ordered.Value) Answer
	// ReadRefusal reads an error object and returns its message. The error is that it has not the
	// protocol's shape.
	ReadRefusal(v ordered.Value) (message string, fault error)
}

// The protocols.
var (
	ChatCompletions Protocol = chatCompletions{}
	Responses       Protocol = responses{}
	Messages        Protocol = messages{}
)

// All has every protocol.
var All = []Protocol{ChatCompletions, Responses, Messages}

// Request is a request of any protocol.
type Request struct {
	Chat  chat.Request
	Model string

	Stream bool // the answer is to be streamed
	Usage  bool // the stream is to end with its usage, where the protocol leaves that to the client

	MaxTokens int      // of the answer; 0: no bound
	Stops     []string // texts of the content that end the answer; they are not part of it

	// Sampling has the settings of the sampler under OpenAI's names, as an object: temperature,
	// top_p, top_k, min_p, seed, presence_penalty, frequency_penalty, logit_bias. Null: none.
	Sampling ordered.Value

	// Custom has the names of tools that take free text.
	Custom map[string]bool
	// Strict reports whether the client relies on a constraint: a strict tool, a schema of the
	// answer, a required call, a custom tool's grammar.
	Strict bool

	// Prefix is the text of the last message that the answer goes on with. The answer has only the
	// text after it.
	Prefix chat.Message

	Sealed  bool // reasoning is wanted in sealed form as well
	Omitted bool // and in no other

	echo ordered.Value // of the Responses: the part of the request that the answer repeats

	paths paths
}

// paths are where a protocol has the parts of a request for which chat completions have the paths
// of package codegen's errors.
type paths struct {
	messages   string // of "messages"
	function   string // of ".function", below a tool
	parameters string // of ".parameters", below a function
	answer     string // of "json_schema"
}

// Place returns where the request's protocol has the part that an error of package chat or codegen
// places in one of chat completions.
func (r *Request) Place(path string) string {
	tool, below, isTool := strings.Cut(path, ".function")
	switch rest, isAnswer := strings.CutPrefix(path, "json_schema"); {
	case path == "messages":
		return r.paths.messages
	case isAnswer:
		return r.paths.answer + rest
	case isTool && strings.HasPrefix(path, "tools["):
		if rest, ok := strings.CutPrefix(below, ".parameters"); ok {
			below = r.paths.parameters + rest
		}
		return tool + r.paths.function + below
	}
	return path
}

// maxToolName bounds the name of a tool, in bytes. OpenAI takes 64 of them and Anthropic 128;
// names that gateways qualify are longer.
const maxToolName = 256

// read makes the request of one of chat completions. It refuses what no model can be asked.
func (r *Request) read(request ordered.Value, at paths) error {
	r.paths = at
	var err error
	if r.Chat, err = chat.ParseRequest(request); err != nil {
		return reparsed(err, r.Place)
	}
	if len(r.Chat.Messages) == 0 {
		return expected(r.Place("messages"), "an array that is not empty", request.At("messages"))
	}
	for i, t := range r.Chat.Tools {
		if len(t.Name) > maxToolName {
			return invalid(r.Place(fmt.Sprintf("tools[%d].function.name", i)),
				"expected at most %d bytes, found %d", maxToolName, len(t.Name))
		}
	}
	return nil
}

// demands notes whether a tool is strict and returns it without that word: it is for the server,
// and the protocols have other defaults for it, which are not to show in the prompt.
func (r *Request) demands(tool ordered.Value) ordered.Value {
	r.Strict = r.Strict || tool.At("strict").Bool()
	return tool.Without("strict")
}

// End is how an answer ended.
type End struct {
	Finish chat.FinishReason
	Stop   string // the stop that ended it, "" where none did
	Usage  chat.Usage
}

// Envelope surrounds an answer. Nothing in it comes from a clock or from chance; the caller gives
// all that they need.
type Envelope struct {
	ID      string // letters and digits; each answer has its own. Protocols put a prefix before it
	Created int64  // when the answer began, in seconds since 1970 (Unix time)
	Model   string
	Request *Request
	Sealer  *Sealer // seals reasoning; nil: none is sealed
}

// Writer writes one answer. Each method that takes dst appends events to it, as bytes of a stream
// of server-sent events; where the request does not ask for a stream it appends nothing.
type Writer interface {
	// Begin begins the answer. The number of the prompt's tokens is 0 where it is not known yet.
	Begin(dst []byte, promptTokens int) []byte
	// Delta writes a delta. Every call that begins in it needs a name.
	Delta(dst []byte, d chat.Delta) []byte
	// End ends the answer.
	End(dst []byte, e End) []byte
	// KeepAlive tells a client that an answer is still coming, between two other calls or before
	// them. It may be called at the same time as any other method.
	KeepAlive(dst []byte) []byte
	// Fail ends an answer that cannot come to its end.
	Fail(dst []byte, r *Refusal) []byte
	// Whole returns the answer in one piece, after its last delta; End is not called then.
	Whole(e End) ordered.Value
}

// A Reason is why a request is refused, or an answer breaks off.
type Reason uint8

// The reasons.
const (
	Invalid      Reason = iota // the request is wrong, or asks for a thing that does not exist
	Unauthorized               // the key is missing or wrong
	Misdirected                // the host that the request names is not this server
	NotFound                   // there is no such path, or no such model
	Method                     // the path is not for this method
	TooLarge                   // the request is
	Busy                       // the queue is full
	Unavailable                // the server is stopping, or its upstream does not answer
	Upstream                   // the upstream answered with an error, or with nonsense
	Late                       // it took too long
	Internal                   // a fault of the server's own
)

// reasons are their names.
var reasons = [...]string{Invalid: "invalid", Unauthorized: "unauthorized",
	Misdirected: "misdirected", NotFound: "not found", Method: "method", TooLarge: "too large",
	Busy: "busy", Unavailable: "unavailable",
	Upstream: "upstream", Late: "late", Internal: "internal"}

// String names a reason.
func (r Reason) String() string { return reasons[r] }

// statuses are the HTTP statuses of the reasons.
var statuses = [...]int{Invalid: 400, Unauthorized: 401, Misdirected: 421, NotFound: 404,
	Method: 405, TooLarge: 413, Busy: 429, Unavailable: 503, Upstream: 502, Late: 504,
	Internal: 500}

// ContextLength is the code of a refusal of a prompt that is longer than the model's context.
const ContextLength = "context_length_exceeded"

// Refusal is why a request is not answered. It is an error.
type Refusal struct {
	Reason  Reason
	Param   string // the field that is to blame, such as "messages[1].content"; "" where none is
	Code    string // OpenAI's code, such as "unsupported_value"; ""
	Message string
	Err     error // the cause, for the server's log; no client sees it
}

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Err }

// Error implements error.
func (r *Refusal) Error() string {
	if r.Param != "" {
		return r.Param + ": " + r.Message
	}
	return r.Message
}

// Status is the HTTP status in OpenAI's protocols.
func (r *Refusal) Status() int { return statuses[r.Reason] }

// invalid refuses a field.
func invalid(param, format string, args ...any) *Refusal {
	return &Refusal{Reason: Invalid, Param: param, Message: fmt.Sprintf(format, args...)}
}

// unsupported refuses a field for the reason in this package's manual.
func unsupported(param, why string) *Refusal {
	return &Refusal{Reason: Invalid, Param: param, Code: "unsupported_parameter",
		Message: "not supported: " + why}
}

// expected refuses a value of another form.
func expected(param, want string, v ordered.Value) *Refusal {
	return invalid(param, "expected %s, found %s", want, ordered.Excerpt(v, 40))
}

// AsRefusal returns an error as a refusal: itself, or one with its text and the reason. A fault of
// the server's own has another text, since its error may name files and addresses. The texts are
// excerpts, since they repeat names and values of the request.
func AsRefusal(err error, reason Reason) *Refusal {
	bounded := Refusal{Reason: reason, Message: err.Error(), Err: err}
	if r, ok := err.(*Refusal); ok {
		bounded = *r
	} else if bounded.Status() >= 500 {
		bounded.Message = "the server fails; its log has the cause"
	}
	bounded.Param, bounded.Message = excerpt(bounded.Param, 200), excerpt(bounded.Message, 2000)
	return &bounded
}

// excerpt is a text, of a long one the beginning.
func excerpt(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s... (%d bytes more)", strings.ToValidUTF8(text[:most], ""),
		len(text)-most)
}

// reparsed is the refusal of an error of package chat, which begins with a path.
func reparsed(err error, rename func(path string) string) *Refusal {
	path, text, ok := strings.Cut(err.Error(), ": ")
	if !ok || strings.ContainsAny(path, ` "`) {
		return invalid("", "%v", err)
	}
	return invalid(rename(path), "%s", text)
}

// text returns the member of a key with a string.
func text(key, s string) ordered.Member { return ordered.MemberOf(key, ordered.Str(s)) }

// typed returns an object with a type and other members.
func typed(kind string, more ...ordered.Member) ordered.Value {
	return ordered.ObjectOf(append([]ordered.Member{text("type", kind)}, more...)...)
}

// comment appends a server-sent comment, which clients skip.
func comment(dst []byte) []byte { return append(dst, ": keep-alive\n\n"...) }

// event appends a server-sent event; the name is "" where the protocol gives its events none.
func event(dst []byte, name string, data ordered.Value) []byte {
	if name != "" {
		dst = append(append(append(dst, "event: "...), name...), '\n')
	}
	dst = append(dst, "data: "...)
	dst = data.Append(dst, ordered.Compact)
	return append(dst, "\n\n"...)
}
