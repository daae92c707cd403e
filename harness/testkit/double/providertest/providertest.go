// Package providertest is a provider of a model on loopback, right or wrong at will, for tests of
// the statistics of providers.
//
// # Model
//
// There is no model. An answer is drawn from the request's text, the number of times that it was
// asked, and a seed: a call of the first tool with arguments that keep its schema, or content.
// [Options] set how often something is wrong with it. The same seed and requests give the same
// answers, in whatever order they come.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package providertest

import (
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
)

// Options set how often an answer is wrong: shares, from 0 to 1.
type Options struct {
	Seed        uint64
	Schema      float64       // arguments that do not keep their schema
	Silent      float64       // content where a call is right
	Unknown     float64       // a call of a function that is not there
	Empty       float64       // reasoning and nothing else
	Leak        float64       // a marker in the content
	Thoughtless float64       // no reasoning
	Busy        float64       // status 429 with Retry-After: 0
	Broken      float64       // status 500, for this request each time
	StreamBad   float64       // arguments that lack their end, in streams only
	Cut         float64       // arguments that lack their end
	Tokens      int           // added to the count of a prompt's tokens
	Delay       time.Duration // before an answer
	Key         string        // what is not sent with it is refused
}

// Server is the provider's handler.
type Server struct {
	Options
	Requests atomic.Int64 // that came
	AtOnce   atomic.Int64 // the most that were answered at once

	busy atomic.Int64
	mu   sync.Mutex
	seen map[uint64]uint32 // how often a conversation came; nil: it does not matter
}

// New returns a provider.
func New(o Options) *Server { return &Server{Options: o, seen: map[uint64]uint32{}} }

// maxBody bounds a request, in bytes.
const maxBody = 8 << 20

// ServeHTTP answers chat completions, and lists its model.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		io.WriteString(w, `{"object": "list", "data": [{"id": "fake", "object": "model"}]}`)
		return
	}
	s.Requests.Add(1)
	defer s.busy.Add(-1)
	for now := s.busy.Add(1); ; {
		if most := s.AtOnce.Load(); now <= most || s.AtOnce.CompareAndSwap(most, now) {
			break
		}
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return
	}
	if s.Key != "" && r.Header.Get("Authorization") != "Bearer "+s.Key {
		http.Error(w, `{"error": {"message": "the key is wrong"}}`, http.StatusUnauthorized)
		return
	}
	body, err := ordered.Parse(text)
	if err != nil {
		http.Error(w, `{"error": {"message": "no JSON"}}`, http.StatusBadRequest)
		return
	}
	if s.Delay > 0 {
		time.Sleep(s.Delay)
	}
	stream := body.At("stream").Bool()
	h := fnv.New64a()
	io.WriteString(h, body.At("messages").String())
	request := h.Sum64()
	hard := rand.New(rand.NewPCG(request, s.Seed)) // the same each time
	if hard.Float64() < s.Broken {
		http.Error(w, `{"error": {"message": "worn out"}}`, http.StatusInternalServerError)
		return
	}
	at := request
	if stream {
		at++
	}
	s.mu.Lock()
	s.seen[at]++
	times := s.seen[at]
	s.mu.Unlock()
	rng := rand.New(rand.NewPCG(at+uint64(times)<<32, s.Seed))
	if rng.Float64() < s.Busy {
		w.Header().Set("Retry-After", "0")
		http.Error(w, `{"error": {"message": "too many"}}`, http.StatusTooManyRequests)
		return
	}
	a := s.answer(body, stream, rng)
	if stream {
		a.events(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(a.whole())
}

// answer is an answer and its counts.
type answer struct {
	message chat.Message
	finish  chat.FinishReason
	usage   chat.Usage
}

func (s *Server) answer(body ordered.Value, stream bool, rng *rand.Rand) *answer {
	hit := func(share float64) bool { return rng.Float64() < share }
	a := &answer{finish: chat.FinishStop}
	a.usage = chat.Usage{Prompt: len(body.At("messages").String())/4 + s.Tokens, Completion: 40}
	if !hit(s.Thoughtless) && body.At("chat_template_kwargs", "enable_thinking").String() !=
		"false" {
		a.message.Reasoning = fmt.Sprintf("Thought %d.", rng.Uint32())
	}
	tools := body.At("tools").Items()
	switch choice := body.At("tool_choice").Text(); {
	case hit(s.Empty):
		a.message.Reasoning = "Thought and nothing else."
	case len(tools) > 0 && choice != "none" && !hit(s.Silent):
		f := tools[0].At("function")
		call := chat.ToolCall{ID: fmt.Sprintf("call%05d", rng.IntN(100000)),
			Name: f.At("name").Text()}
		arguments := value(f.At("parameters"), rng)
		if hit(s.Schema) {
			arguments = ordered.ArrayOf(arguments)
		}
		call.Arguments = arguments.String()
		if hit(s.StreamBad) && stream || hit(s.Cut) {
			call.Arguments = strings.TrimSuffix(call.Arguments, "}")
		}
		if hit(s.Unknown) {
			call.Name += "_"
		}
		a.message.ToolCalls, a.finish = []chat.ToolCall{call}, chat.FinishToolCalls
	default:
		a.message.Content = fmt.Sprintf("Answer %d.", rng.Uint32())
		if hit(s.Leak) {
			a.message.Content += "</think>"
		}
	}
	return a
}

// value returns a value that keeps a schema of the corpus' kinds.
func value(schema ordered.Value, rng *rand.Rand) ordered.Value {
	for _, key := range [...]string{"anyOf", "oneOf"} {
		if of := schema.At(key).Items(); len(of) > 0 {
			return value(of[0], rng)
		}
	}
	if of := schema.At("enum").Items(); len(of) > 0 {
		return of[rng.IntN(len(of))]
	}
	kind := schema.At("type").Text()
	if of := schema.At("type").Items(); len(of) > 0 {
		kind = of[0].Text()
	}
	switch kind {
	case "object":
		v := ordered.ObjectOf()
		for _, m := range schema.At("properties").Members() {
			v = v.With(m.Key, value(m.Value, rng))
		}
		return v
	case "array":
		return ordered.ArrayOf(value(schema.At("items"), rng))
	case "integer", "number":
		return ordered.Int(1 + rng.IntN(9))
	case "boolean":
		return ordered.Boolean(rng.IntN(2) == 0)
	case "null":
		return ordered.Value{}
	}
	return ordered.Str(fmt.Sprintf("text %d", rng.IntN(1000)))
}

func (a *answer) envelope() chat.Envelope { return chat.Envelope{ID: "chatcmpl-1", Model: "fake"} }

func (a *answer) whole() []byte {
	c := a.envelope().Completion(a.message, a.finish)
	c.Usage = &a.usage
	return c.Value().Append(nil, ordered.Compact)
}

// events sends the answer in a few chunks.
func (a *answer) events(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	e := a.envelope()
	send := func(c chat.Chunk) {
		fmt.Fprintf(w, "data: %s\n\n", c.Value().Append(nil, ordered.Compact))
	}
	send(e.Begin())
	if r := a.message.Reasoning; r != "" {
		send(e.Chunk(chat.Delta{Reasoning: r}))
	}
	if c := a.message.Content; c != "" {
		send(e.Chunk(chat.Delta{Content: c[:len(c)/2]}))
		send(e.Chunk(chat.Delta{Content: c[len(c)/2:]}))
	}
	for i, call := range a.message.ToolCalls {
		half := len(call.Arguments) / 2
		send(e.Chunk(chat.Delta{ToolCalls: []chat.ToolCallDelta{{Index: i, ID: call.ID,
			Name: call.Name, Arguments: call.Arguments[:half]}}}))
		send(e.Chunk(chat.Delta{ToolCalls: []chat.ToolCallDelta{{Index: i,
			Arguments: call.Arguments[half:]}}}))
	}
	end := e.End(a.finish)
	end.Usage = &a.usage
	send(end)
	io.WriteString(w, "data: [DONE]\n\n")
}
