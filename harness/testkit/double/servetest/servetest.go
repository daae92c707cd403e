// Package servetest has a server of raw completions that writes the text of a script, for tests of
// package serve and of clients.
//
// # Model
//
// [Upstream] speaks the dialect of one of the servers that package upstream knows, cuts the
// script's text into tokens of a few bytes and streams them. [Agent] is a script: a model that
// thinks, calls two tools at once for as many rounds as it is told, and then answers.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package servetest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/goassay/assay/engine/ordered"
)

// Model is the name of the model that an upstream lists.
const Model = "scripted"

// tokenSize is the size of a token, in bytes: markers straddle it. A token that ends inside a
// character goes on to its end, as in the text of servers, who hold half characters back.
const tokenSize = 3

// Upstream is a server of raw completions.
type Upstream struct {
	Dialect string // "llama-server", "vllm", "sglang", "ollama" or "openai"
	// Write is the model: it returns its text for a prompt.
	Write func(prompt string) string
	// Obey is the model where Write is nil: it returns its text for a request.
	Obey  func(request ordered.Value) string
	Pause time.Duration // between tokens
	// BOS is the token that the server puts before prompts; a prompt that begins with it is an
	// error.
	BOS string

	Begun     atomic.Int64 // requests whose first token was sent
	Cancelled atomic.Int64 // requests whose client went away

	mu   sync.Mutex
	last ordered.Value // the last request
}

// Last returns the last request for a completion.
func (u *Upstream) Last() ordered.Value {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.last
}

func send(w http.ResponseWriter, status int, v ordered.Value) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(v.Append(nil, ordered.Compact))
}

// signs are the answers by which the dialects are told apart.
var signs = map[string][2]string{
	"llama-server": {"/props", `{"default_generation_settings": {}}`},
	"ollama":       {"/api/version", `{"version": "0.34.0"}`},
	"sglang":       {"/get_model_info", `{"model_path": "m"}`},
	"vllm":         {"/version", `{"version": "0.33.0"}`},
}

// ServeHTTP implements [http.Handler].
func (u *Upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if sign := signs[u.Dialect]; sign[0] == r.URL.Path {
		send(w, http.StatusOK, ordered.MustParse(sign[1]))
		return
	}
	switch r.URL.Path {
	case "/health":
	case "/v1/models":
		send(w, http.StatusOK, ordered.MustParse(`{"object": "list", "data": [{"id": "`+Model+`"}]}`))
	case "/tokenize":
		u.tokenize(w, r)
	case "/api/show":
		send(w, http.StatusOK, ordered.MustParse(fmt.Sprintf(
			`{"model_info": {"tokenizer.ggml.add_bos_token": %t}}`, u.BOS != "")))
	case "/v1/completions", "/api/generate":
		u.complete(w, r)
	default:
		send(w, http.StatusNotFound, ordered.MustParse(`{"error": {"message": "no such path"}}`))
	}
}

func body(r *http.Request) ordered.Value {
	text, _ := io.ReadAll(r.Body)
	v, _ := ordered.Parse(text)
	return v
}

func (u *Upstream) tokenize(w http.ResponseWriter, r *http.Request) {
	v := body(r)
	n := tokens(v.At("content").Text() + v.At("prompt").Text())
	if u.BOS != "" && (v.At("add_special").Bool() || v.At("add_special_tokens").Bool()) {
		n++
	}
	list := make([]ordered.Value, n)
	for i := range list {
		list[i] = ordered.Int(i)
	}
	send(w, http.StatusOK, ordered.Pairs("tokens", list))
}

// cut cuts a text into tokens.
func cut(text string) []string {
	var pieces []string
	for text != "" {
		n := min(tokenSize, len(text))
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		pieces, text = append(pieces, text[:n]), text[n:]
	}
	return pieces
}

func tokens(text string) int { return len(cut(text)) }

func (u *Upstream) complete(w http.ResponseWriter, r *http.Request) {
	v := body(r)
	u.mu.Lock()
	u.last = v
	u.mu.Unlock()
	prompt := v.At("prompt").Text()
	if u.BOS != "" && strings.HasPrefix(prompt, u.BOS) {
		send(w, http.StatusBadRequest, ordered.MustParse(`{"error": {"message": "two tokens begin the prompt"}}`))
		return
	}
	text := ""
	if u.Write != nil {
		text = u.Write(prompt)
	} else {
		text = u.Obey(v)
	}
	output := cut(text)
	most, limited := len(output), false
	for _, key := range [...]ordered.Value{v.At("max_tokens"), v.At("options", "num_predict")} {
		var n int
		if _, err := fmt.Sscan(key.Text(), &n); err == nil && n > 0 && n < most {
			most, limited = n, true
		}
	}
	counted, line := tokens(prompt), u.openAI
	w.Header().Set("Content-Type", "text/event-stream")
	if u.Dialect == "ollama" {
		line = ollama
		w.Header().Set("Content-Type", "application/x-ndjson")
	}
	flush := func(text string) bool {
		io.WriteString(w, text)
		http.NewResponseController(w).Flush()
		if r.Context().Err() != nil {
			u.Cancelled.Add(1)
			return false
		}
		return true
	}
	for i := range most {
		if u.Pause > 0 {
			select {
			case <-time.After(u.Pause):
			case <-r.Context().Done():
			}
		}
		if !flush(line(output[i], "", counted, i+1)) {
			return
		}
		if i == 0 {
			u.Begun.Add(1)
		}
	}
	reason := "stop"
	if limited {
		reason = "length"
	}
	flush(line("", reason, counted, most))
	if u.Dialect != "ollama" {
		flush("data: [DONE]\n\n")
	}
}

func (u *Upstream) openAI(piece, reason string, prompt, completion int) string {
	finish := "null"
	if reason != "" {
		finish = `"` + reason + `"`
	}
	chunk := `data: {"id":"cmpl-1","object":"text_completion","choices":[{"index":0,"text":` +
		string(ordered.AppendQuoted(nil, piece, false)) + `,"finish_reason":` + finish + `}]`
	usage := fmt.Sprintf(`"usage":{"prompt_tokens":%d,"completion_tokens":%d}`, prompt, completion)
	switch {
	case u.Dialect == "vllm": // counts with every event
		return chunk + "," + usage + "}\n\n"
	case reason != "":
		return chunk + "}\n\ndata: {\"choices\":[]," + usage + "}\n\n"
	}
	return chunk + "}\n\n"
}

func ollama(piece, reason string, prompt, completion int) string {
	text := `{"response":` + string(ordered.AppendQuoted(nil, piece, false))
	if reason == "" {
		return text + ",\"done\":false}\n"
	}
	return text + fmt.Sprintf(
		",\"done\":true,\"done_reason\":%q,\"prompt_eval_count\":%d,\"eval_count\":%d}\n",
		reason, prompt, completion)
}

// Agent returns a script for a template in the format of corpus/qwen3: in each round the model
// thinks, says something and calls two tools; after so many rounds it answers. Faults are told of
// prompts that lack the reasoning and results of an agent.
func Agent(rounds int, fault func(format string, args ...any)) func(prompt string) string {
	return func(prompt string) string {
		done := strings.Count(prompt, "<tool_response>") / 2
		for i := range done {
			for _, part := range [...]string{thought(i), "I look for the " + ordinal(i),
				fmt.Sprintf(`"city-%d é"`, i), fmt.Sprintf("weather of round %d", i),
				fmt.Sprintf("note %d", i)} {
				if !strings.Contains(prompt, part) {
					fault("round %d: the prompt lacks %q:\n%s", done, part, prompt)
				}
			}
		}
		if done >= rounds {
			return "<think>\nThat is all.\n</think>\n\nIt rains everywhere, 日本 too.<|im_end|>"
		}
		return fmt.Sprintf("<think>\n%s\n</think>\n\nI look for the %s time.\n<tool_call>\n"+
			`{"name": "get_weather", "arguments": {"city": "city-%d é"}}`+
			"\n</tool_call>\n<tool_call>\n"+
			`{"name": "store_note", "arguments": {"text": "note %d"}}`+
			"\n</tool_call><|im_end|>", thought(done), ordinal(done), done, done)
	}
}

func thought(round int) string { return fmt.Sprintf("Round %d needs a look.", round) }
func ordinal(round int) string { return fmt.Sprintf("%d.", round+1) }
