// Package livetest serves a chat template over HTTP as an OpenAI-compatible server should, for
// tests of the tests of servers.
//
// # Model
//
// The server has no model. It makes its "text" from the template: the shortest sentence of the
// request's grammar where one constrains the answer, else reasoning and content in the template's
// format; or a text that the test gives. It is cut into tokens of a few bytes, which a plan's
// parser reads, and sent in OpenAI's shape, in one piece or streamed. The same request gets the
// same answer.
//
// A test makes a server wrong by altering replies before they are sent ([Options].Alter).
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package livetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/constraint"
	"github.com/goassay/assay/harness/subject"
)

// Model is the name of the model that the server lists.
const Model = "fake"

// tokenSize is the size of a token, in bytes: markers and characters straddle it.
const tokenSize = 3

// maxBody bounds a request, in bytes.
const maxBody = 4 << 20

// Options control how a server behaves. The zero value is right in everything.
type Options struct {
	Source string // of the template, as /props gives it; "": there is no such path
	Raw    bool   // answers have the text that the model wrote
	Think  bool   // thinking is on where a request does not say
	// Output, where set, is the model's output.
	Output func(r chat.Request, plan *engine.Plan) string
	// Alter, where set, changes the reply.
	Alter func(r *Reply)
}

// Reply is the reply to a request.
type Reply struct {
	Request ordered.Value // as it came; null where it is no JSON
	Status  int
	Stream  bool
	Body    ordered.Value   // in one piece
	Chunks  []ordered.Value // of a stream
	Tail    string          // the end of the stream
	Hang    bool            // nothing comes after the chunks, and the connection stays open
}

// Chunk returns the delta of a chunk; null where it has none.
func Chunk(v ordered.Value) ordered.Value {
	if choices := v.At("choices").Items(); len(choices) > 0 {
		return choices[0].At("delta")
	}
	return ordered.Value{}
}

// WithDelta returns a chunk with another delta.
func WithDelta(chunk, delta ordered.Value) ordered.Value {
	return chunk.With("choices",
		ordered.ArrayOf(chunk.At("choices").Items()[0].With("delta", delta)))
}

// New starts a server on loopback; the caller closes it.
func New(t *engine.Template, o Options) *httptest.Server {
	s := &server{t: t, o: o, prompts: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		send(w, http.StatusOK,
			ordered.ObjectOf(ordered.MemberOf("object", ordered.Str("list")),
				ordered.MemberOf("data", ordered.ArrayOf(ordered.ObjectOf(
					ordered.MemberOf("id", ordered.Str(Model)),
					ordered.MemberOf("object", ordered.Str("model")))))))
	})
	if o.Source != "" {
		mux.HandleFunc("GET /props", func(w http.ResponseWriter, _ *http.Request) {
			send(w, http.StatusOK,
				ordered.ObjectOf(ordered.MemberOf("chat_template", ordered.Str(o.Source)),
					ordered.MemberOf("bos_token", ordered.Str(subject.BOS)),
					ordered.MemberOf("eos_token", ordered.Str(subject.EOS))))
		})
	}
	mux.HandleFunc("POST /apply-template", s.render)
	mux.HandleFunc("POST /v1/chat/completions", s.chat)
	mux.HandleFunc("POST /v1/completions", s.complete)
	return httptest.NewServer(mux)
}

type server struct {
	t *engine.Template
	o Options

	mu      sync.Mutex
	prompts map[string]string // the prompt written for each
}

func send(w http.ResponseWriter, status int, v ordered.Value) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(v.Append(nil, ordered.Compact))
}

func mistaken(err error) ordered.Value {
	return ordered.ObjectOf(ordered.MemberOf("error",
		ordered.ObjectOf(ordered.MemberOf("message", ordered.Str(err.Error())),
			ordered.MemberOf("type", ordered.Str("invalid_request_error")),
			ordered.MemberOf("param", ordered.Value{}), ordered.MemberOf("code", ordered.Value{}))))
}

// read reads a request and prepares it.
func (s *server) read(body io.Reader) (ordered.Value, chat.Request, *engine.Plan, error) {
	text, err := io.ReadAll(io.LimitReader(body, maxBody))
	if err != nil {
		return ordered.Value{}, chat.Request{}, nil, err
	}
	v, err := ordered.Parse(text)
	if err != nil {
		return v, chat.Request{}, nil, err
	}
	r, err := chat.ParseRequest(v)
	if err != nil {
		return v, r, nil, err
	}
	if thinking := r.Kwargs.At("enable_thinking"); thinking.Kind() == ordered.Bool {
		on := thinking.Bool()
		r.EnableThinking = &on
	} else if s.o.Think {
		r.EnableThinking = &s.o.Think
	}
	plan, err := s.t.Prepare(r, engine.PrepareOptions{})
	return v, r, plan, err
}

func (s *server) render(w http.ResponseWriter, q *http.Request) {
	_, _, plan, err := s.read(q.Body)
	if err != nil {
		send(w, http.StatusBadRequest, mistaken(err))
		return
	}
	send(w, http.StatusOK,
		ordered.ObjectOf(ordered.MemberOf("prompt", ordered.Str(plan.Prompt.Text))))
}

// complete gives the text that was written for a prompt.
func (s *server) complete(w http.ResponseWriter, q *http.Request) {
	var body struct{ Prompt string }
	if err := json.NewDecoder(io.LimitReader(q.Body, maxBody)).Decode(&body); err != nil {
		send(w, http.StatusBadRequest, mistaken(err))
		return
	}
	s.mu.Lock()
	output, ok := s.prompts[body.Prompt]
	s.mu.Unlock()
	if !ok {
		send(w, http.StatusBadRequest, mistaken(errors.New("expected the prompt of a request "+
			"that was answered before")))
		return
	}
	send(w, http.StatusOK, ordered.ObjectOf(ordered.MemberOf("object",
		ordered.Str("text_completion")),
		ordered.MemberOf("usage", usage(len(body.Prompt), len(output))),
		ordered.MemberOf("choices",
			ordered.ArrayOf(ordered.ObjectOf(ordered.MemberOf("index", ordered.Int(0)),
				ordered.MemberOf("text", ordered.Str(output)))))))
}

func (s *server) chat(w http.ResponseWriter, q *http.Request) {
	v, r, plan, err := s.read(q.Body)
	reply := &Reply{Request: v, Status: http.StatusOK, Stream: v.At("stream").Bool(),
		Tail: "data: [DONE]\n\n"}
	if err == nil {
		err = s.answer(reply, r, plan)
	}
	if err != nil {
		reply.Status, reply.Stream, reply.Body = http.StatusBadRequest, false, mistaken(err)
	}
	if s.o.Alter != nil {
		s.o.Alter(reply)
	}
	reply.write(w, q)
}

func (r *Reply) write(w http.ResponseWriter, q *http.Request) {
	if !r.Stream {
		if r.Hang {
			<-q.Context().Done()
			return
		}
		send(w, r.Status, r.Body)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(r.Status)
	for _, c := range r.Chunks {
		fmt.Fprintf(w, "data: %s\n\n", c.Append(nil, ordered.Compact))
		w.(http.Flusher).Flush()
	}
	if r.Hang {
		<-q.Context().Done()
		return
	}
	io.WriteString(w, r.Tail)
}

// answer makes the reply to a request.
func (s *server) answer(reply *Reply, r chat.Request, plan *engine.Plan) error {
	output, err := s.output(r, plan)
	if err != nil {
		return err
	}
	most := len(output)
	if n := reply.Request.At("max_tokens"); n.Kind() == ordered.Number {
		if err := json.Unmarshal([]byte(n.Text()), &most); err != nil {
			return fmt.Errorf("max_tokens: %w", err)
		}
	}
	reason := chat.FinishStop
	if len(output) > most*tokenSize {
		output, reason = output[:most*tokenSize], chat.FinishLength
	}
	s.mu.Lock()
	s.prompts[plan.Prompt.Text] = output
	s.mu.Unlock()
	parser := plan.NewParser()
	var deltas []ordered.Value
	keep := func(ds []chat.Delta) {
		for _, d := range ds {
			for i := range d.ToolCalls {
				// its own ids: those of a grammar's sentence may be none that the template takes
				// back
				if c := &d.ToolCalls[i]; c.Name != "" {
					c.ID = callID(c.Index)
				}
			}
			deltas = append(deltas, d.Value())
		}
	}
	for at := 0; at < len(output); at += tokenSize {
		keep(parser.Write([]byte(output[at:min(at+tokenSize, len(output))])))
	}
	keep(parser.Close(reason))
	message := parser.Message()
	for i := range message.ToolCalls {
		message.ToolCalls[i].ID = callID(i)
	}
	finish := ordered.Str(string(parser.Finish()))
	usage := usage(len(plan.Prompt.Text), len(output))
	shell := func(kind string) ordered.Value {
		return ordered.ObjectOf(ordered.MemberOf("id", ordered.Str("chatcmpl-1")),
			ordered.MemberOf("object", ordered.Str(kind)),
			ordered.MemberOf("created", ordered.Int(1767322800)),
			ordered.MemberOf("model", ordered.Str(Model)))
	}
	choice := func(key string, v, finish ordered.Value) ordered.Value {
		return ordered.ArrayOf(ordered.ObjectOf(ordered.MemberOf("index", ordered.Int(0)),
			ordered.MemberOf(key, v), ordered.MemberOf("finish_reason", finish)))
	}
	if !reply.Stream {
		reply.Body = s.raw(shell("chat.completion").
			With("choices", choice("message", message.Value(), finish)).
			With("usage", usage), output)
		return nil
	}
	chunk := shell("chat.completion.chunk")
	add := func(delta, finish ordered.Value) {
		reply.Chunks = append(reply.Chunks, chunk.With("choices", choice("delta", delta, finish)))
	}
	add(ordered.ObjectOf(ordered.MemberOf("role", ordered.Str("assistant")),
		ordered.MemberOf("content", ordered.Str(""))), ordered.Value{})
	for _, d := range deltas {
		add(d, ordered.Value{})
	}
	add(ordered.ObjectOf(), finish)
	if reply.Request.At("stream_options", "include_usage").Bool() {
		reply.Chunks = append(reply.Chunks, chunk.With("choices", ordered.ArrayOf()).
			With("usage", usage))
	}
	return nil
}

func callID(i int) string { return fmt.Sprintf("call%05d", i+1) }

func usage(prompt, output int) ordered.Value {
	prompt, output = (prompt+tokenSize-1)/tokenSize, (output+tokenSize-1)/tokenSize
	return ordered.ObjectOf(ordered.MemberOf("prompt_tokens", ordered.Int(prompt)),
		ordered.MemberOf("completion_tokens", ordered.Int(output)),
		ordered.MemberOf("total_tokens", ordered.Int(prompt+output)))
}

// raw adds the text that the model wrote, as llama.cpp's server does in its verbose mode.
func (s *server) raw(v ordered.Value, output string) ordered.Value {
	if !s.o.Raw {
		return v
	}
	return v.With("__verbose", ordered.ObjectOf(ordered.MemberOf("content", ordered.Str(output))))
}

// output is the model's output.
func (s *server) output(r chat.Request, plan *engine.Plan) (string, error) {
	if s.o.Output != nil {
		return s.o.Output(r, plan), nil
	}
	grammar, err := plan.Output.Grammar()
	if err != nil {
		return "", err
	}
	if grammar == nil ||
		!r.HasJSONSchema && (len(r.Tools) == 0 || r.ToolChoice.Mode == chat.ChoiceNone) {
		return s.prose(plan), nil
	}
	sentence, err := gbnf.Minimal(grammar)
	if err != nil || !plan.Lazy {
		return sentence, err
	}
	// some triggers want a marker before them
	for _, before := range append([]string{""}, plan.Preserved...) {
		text := "I look that up. " + before + sentence
		if found, ok := plan.Output.Constrained(text); ok && found == sentence {
			return text, nil
		}
	}
	return "", fmt.Errorf("no trigger "+
		"(%s, ...) is in %q", constraint.TriggerText(plan.Triggers[0]), sentence)
}

// prose is an answer in the template's format, as far as the prompt has not begun it: with
// reasoning where there may be some.
func (s *server) prose(plan *engine.Plan) string {
	const reasoning, content = "A greeting is due, é.", "Grüezi 日本, hello."
	f := s.t.Analysis().Format
	thought := reasoning + f.Reasoning.Close.Before + f.Reasoning.Close.Text +
		f.Reasoning.Close.After
	for _, text := range [...]string{
		strings.TrimPrefix(f.Continued(reasoning, content, false), plan.Prefill),
		strings.TrimPrefix(f.Continued("", content, false), plan.Prefill),
		thought + content,
		thought + f.Content.Open.Text + content + f.Content.Close.Text,
	} {
		if m := plan.Parse(text, chat.FinishStop).Message; strings.TrimSpace(m.Content) == content {
			return text
		}
	}
	return content
}
