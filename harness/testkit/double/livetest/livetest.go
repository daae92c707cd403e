// Package livetest serves a chat template over HTTP as a server of chat completions, Responses and
// Messages should, for tests of the tests of servers.
//
// # Model
//
// The server has no model. It makes its "text" from the template: the shortest sentence of the
// request's grammar where one constrains the answer, else reasoning and content in the template's
// format; or a text that the test gives. It is cut into tokens of a few bytes, which a plan's
// parser reads, and package wire writes the answer, in one piece or streamed. The same request gets
// the same answer, with other ids.
//
// A test makes a server wrong by altering replies before they are sent ([Options].Alter).
// [Faults] are forty such servers for each protocol.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package livetest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
	"github.com/goassay/assay/harness/check/subject"
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
	// Only, where set, are the protocols that the server speaks.
	Only []wire.Protocol
	// Output, where set, is the model's output.
	Output func(r chat.Request, plan *engine.Plan) string
	// Alter, where set, changes the reply.
	Alter func(r *Reply)
}

// Event is an event of a stream. Name is "" in chat completions.
type Event struct {
	Name string
	Data ordered.Value
}

// Reply is the reply to a request.
type Reply struct {
	Protocol wire.Protocol
	Request  ordered.Value // as it came; null where it is no JSON
	Number   int           // of the request, from 1
	Status   int
	Type     string // of the content; "": the right one
	Stream   bool
	Body     ordered.Value // in one piece
	Events   []Event       // of a stream
	Tail     string        // the end of the stream
	Hang     bool          // nothing comes after the events, and the connection stays open
}

// Chunk returns the delta of a chunk of chat completions; null where it has none.
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
	return httptest.NewServer(Handler(t, o))
}

// Handler answers as a server does.
func Handler(t *engine.Template, o Options) http.Handler {
	sealer, err := wire.NewSealer([]byte(strings.Repeat("k", 32)), zeros{})
	if err != nil {
		panic(err) // the key is of the right length
	}
	s := &server{t: t, o: o, sealer: sealer, prompts: map[string]string{}}
	if o.Only == nil {
		s.o.Only = wire.All
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		send(w, http.StatusOK, ordered.Pairs("object", "list",
			"data", ordered.ArrayOf(ordered.Pairs("id", Model, "object", "model"))))
	})
	if o.Source != "" {
		mux.HandleFunc("GET /props", func(w http.ResponseWriter, _ *http.Request) {
			send(w, http.StatusOK, ordered.Pairs("chat_template", o.Source,
				"bos_token", subject.BOS, "eos_token", subject.EOS))
		})
	}
	mux.HandleFunc("POST /apply-template", s.render)
	mux.HandleFunc("POST /v1/completions", s.complete)
	for _, p := range s.o.Only {
		mux.HandleFunc("POST "+p.Path(), func(w http.ResponseWriter, q *http.Request) {
			s.answer(p, w, q)
		})
		if p == wire.Messages {
			mux.HandleFunc("POST "+wire.CountPath, s.count)
		}
	}
	return mux
}

// zeros is a source of randomness without any, so that seals are the same in every run.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

type server struct {
	t      *engine.Template
	o      Options
	sealer *wire.Sealer

	mu      sync.Mutex
	prompts map[string]string // the prompt written for each
	asked   int               // requests for answers
	calls   int               // whose ids are given
}

func send(w http.ResponseWriter, status int, v ordered.Value) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(v.Append(nil, ordered.Compact))
}

// decoder reads a request of a protocol.
type decoder func(ordered.Value, *wire.Sealer) (*wire.Request, error)

// read reads a request and prepares it.
func (s *server) read(decode decoder, body io.Reader) (ordered.Value, *wire.Request, *engine.Plan,
	error) {
	text, err := io.ReadAll(io.LimitReader(body, maxBody))
	if err != nil {
		return ordered.Value{}, nil, nil, err
	}
	v, err := ordered.Parse(text)
	if err != nil {
		return v, nil, nil, err
	}
	r, err := decode(v, s.sealer)
	if err != nil {
		return v, nil, nil, err
	}
	if s.o.Think && r.Chat.EnableThinking == nil {
		r.Chat.EnableThinking = &s.o.Think
	}
	plan, err := s.t.Prepare(r.Chat, engine.PrepareOptions{})
	return v, r, plan, err
}

func refuse(w http.ResponseWriter, p wire.Protocol, err error) {
	status, body := p.Refuse(wire.AsRefusal(err, wire.Invalid))
	send(w, status, body)
}

func (s *server) render(w http.ResponseWriter, q *http.Request) {
	_, _, plan, err := s.read(wire.ChatCompletions.Decode, q.Body)
	if err != nil {
		refuse(w, wire.ChatCompletions, err)
		return
	}
	send(w, http.StatusOK, ordered.Pairs("prompt", plan.Prompt.Text))
}

// complete gives the text that was written for a prompt.
func (s *server) complete(w http.ResponseWriter, q *http.Request) {
	var body struct{ Prompt string }
	if err := json.NewDecoder(io.LimitReader(q.Body, maxBody)).Decode(&body); err != nil {
		refuse(w, wire.ChatCompletions, err)
		return
	}
	s.mu.Lock()
	output, ok := s.prompts[body.Prompt]
	s.mu.Unlock()
	if !ok {
		refuse(w, wire.ChatCompletions, errors.New("expected the prompt of a request that was "+
			"answered before"))
		return
	}
	u := usage(body.Prompt, output)
	send(w, http.StatusOK, ordered.Pairs("object", "text_completion",
		"usage", ordered.Pairs("prompt_tokens", u.Prompt, "completion_tokens", u.Completion),
		"choices", ordered.ArrayOf(ordered.Pairs("index", 0, "text", output))))
}

// count counts the tokens of a request of the Messages.
func (s *server) count(w http.ResponseWriter, q *http.Request) {
	v, _, plan, err := s.read(wire.DecodeCount, q.Body)
	if err != nil {
		refuse(w, wire.Messages, err)
		return
	}
	s.reply(&Reply{Protocol: wire.Messages, Request: v, Status: http.StatusOK,
		Body: wire.CountObject(usage(plan.Prompt.Text, "").Prompt)}, w, q)
}

// reply sends a reply, altered where the test wants that.
func (s *server) reply(r *Reply, w http.ResponseWriter, q *http.Request) {
	if s.o.Alter != nil {
		s.o.Alter(r)
	}
	r.write(w, q)
}

func (s *server) answer(p wire.Protocol, w http.ResponseWriter, q *http.Request) {
	v, r, plan, err := s.read(p.Decode, q.Body)
	s.mu.Lock()
	s.asked++
	reply := &Reply{Protocol: p, Request: v, Number: s.asked, Status: http.StatusOK,
		Stream: v.At("stream").Bool()}
	s.mu.Unlock()
	if err == nil {
		err = s.fill(reply, r, plan)
	}
	if err != nil {
		reply.Stream = false
		reply.Status, reply.Body = p.Refuse(wire.AsRefusal(err, wire.Invalid))
	}
	s.reply(reply, w, q)
}

func (r *Reply) write(w http.ResponseWriter, q *http.Request) {
	if !r.Stream {
		if r.Hang {
			<-q.Context().Done()
			return
		}
		r.Type = cmp.Or(r.Type, "application/json")
		w.Header().Set("Content-Type", r.Type)
		w.WriteHeader(r.Status)
		w.Write(r.Body.Append(nil, ordered.Compact))
		return
	}
	r.Type = cmp.Or(r.Type, "text/event-stream")
	w.Header().Set("Content-Type", r.Type)
	w.WriteHeader(r.Status)
	for _, e := range r.Events {
		if e.Name != "" {
			fmt.Fprintf(w, "event: %s\n", e.Name)
		}
		fmt.Fprintf(w, "data: %s\n\n", e.Data.Append(nil, ordered.Compact))
		w.(http.Flusher).Flush()
	}
	if r.Hang {
		<-q.Context().Done()
		return
	}
	io.WriteString(w, r.Tail)
}

// fill makes the reply to a request.
func (s *server) fill(reply *Reply, r *wire.Request, plan *engine.Plan) error {
	output, err := s.output(r.Chat, plan)
	if err != nil {
		return err
	}
	reason := chat.FinishStop
	if most := r.MaxTokens * tokenSize; most > 0 && len(output) > most {
		output, reason = output[:most], chat.FinishLength
	}
	s.mu.Lock()
	s.prompts[plan.Prompt.Text] = output
	s.mu.Unlock()
	parser := plan.NewParser()
	var deltas []chat.Delta
	keep := func(ds []chat.Delta) {
		for _, d := range ds {
			d.ToolCalls = slices.Clone(d.ToolCalls) // whose memory the parser uses again
			deltas = append(deltas, d)
		}
	}
	for at := 0; at < len(output); at += tokenSize {
		keep(parser.Write([]byte(output[at:min(at+tokenSize, len(output))])))
	}
	keep(parser.Close(reason))
	end := wire.End{Finish: parser.Finish(), Usage: usage(plan.Prompt.Text, output)}
	if deltas, end.Stop = stopped(deltas, r.Stops); end.Stop != "" {
		end.Finish = chat.FinishStop
	}
	writer := reply.Protocol.Writer(wire.Envelope{ID: fmt.Sprint(reply.Number), Model: Model,
		Created: 1767322800, Request: r, Sealer: s.sealer})
	events := writer.Begin(nil, end.Usage.Prompt)
	for _, d := range deltas {
		for i := range d.ToolCalls {
			// its own ids: those of a grammar's sentence may be none that the template takes back
			if c := &d.ToolCalls[i]; c.Name != "" {
				c.ID = s.callID()
			}
		}
		events = writer.Delta(events, d)
	}
	if !reply.Stream {
		reply.Body = s.raw(writer.Whole(end), output)
		return nil
	}
	reply.Events, reply.Tail = cut(string(writer.End(events, end)))
	return nil
}

// stopped ends the content of deltas at the first of some texts.
func stopped(deltas []chat.Delta, stops []string) ([]chat.Delta, string) {
	content := ""
	for i, d := range deltas {
		before := len(content)
		content += d.Content
		for _, stop := range stops {
			at := strings.Index(content, stop)
			if at < 0 {
				continue
			}
			kept := deltas[:i+1]
			kept[i].Content = d.Content[:max(0, at-before)]
			// a part of the stop may be in deltas before
			for j, over := i-1, before-at; over > 0 && j >= 0; j-- {
				n := min(over, len(kept[j].Content))
				kept[j].Content = kept[j].Content[:len(kept[j].Content)-n]
				over -= n
			}
			return kept, stop
		}
	}
	return deltas, ""
}

// cut cuts a stream into its events. The mark that ends chat completions is no event.
func cut(text string) (events []Event, tail string) {
	for text != "" {
		event, rest, _ := strings.Cut(text, "\n\n")
		name, data, ok := strings.Cut(event, "\ndata: ")
		if !ok {
			name, data = "", strings.TrimPrefix(event, "data: ")
		}
		v, err := ordered.ParseString(data)
		if err != nil {
			return events, text
		}
		events = append(events, Event{strings.TrimPrefix(name, "event: "), v})
		text = rest
	}
	return events, ""
}

// callID returns an id that no other call has.
func (s *server) callID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	return fmt.Sprintf("call%05d", s.calls)
}

func usage(prompt, output string) chat.Usage {
	count := func(text string) int { return (len(text) + tokenSize - 1) / tokenSize }
	return chat.Usage{Prompt: count(prompt), Completion: count(output)}
}

// raw adds the text that the model wrote, as llama.cpp's server does in its verbose mode.
func (s *server) raw(v ordered.Value, output string) ordered.Value {
	if !s.o.Raw {
		return v
	}
	return v.With("__verbose", ordered.Pairs("content", output))
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
		return s.prose(r, plan), nil
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
	return "", fmt.Errorf("no trigger (%s, ...) is in %q", plan.Triggers[0], sentence)
}

// Word is how a user asks the fake model to repeat a word.
const Word = "Repeat this word: "

// prose is an answer in the template's format, as far as the prompt has not begun it: with
// reasoning where there may be some.
func (s *server) prose(r chat.Request, plan *engine.Plan) string {
	const reasoning = "A greeting is due, é."
	content := "Grüezi 日本, hello."
	if n := len(r.Messages); n > 0 {
		if _, word, ok := strings.Cut(r.Messages[n-1].At("content").Text(), Word); ok {
			content = "It is " + word + "."
		}
	}
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
