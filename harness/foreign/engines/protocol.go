// Package engines holds other engines to the corpus.
//
// # Model
//
// An adapter is a process that lets another engine answer: one JSON object a line in, one out
// (docs/reference/adapters.md). [Start] runs one, [Adapter.Ask] puts one [Request] to it. An
// adapter that hangs or dies costs one answer: it is started again.
//
// [Adapter.Pick] tries every parser of an engine on the template's own turns, and takes those that
// read it. [Adapter.Run] puts the corpus' cases to an engine: in one go, in chunks like tokens,
// rune by rune; [Judge] compares an answer with the message that the case wants and names the
// difference: a fault, or one of the policies of docs/reference/policies.md on which engines differ
// by design. [Adapter.RunPrompts] has an engine render the corpus' templates; its prompts have to
// be those of jinja2 to the byte.
//
// Engines that constrain outputs are held to our matcher: a [Drawer] draws turns that are right and
// wrong, and [Adapter.JudgeTurns] has an engine judge them by the grammars of package emit.
//
// # Results
//
// A [Result] is a JSON line. Results of several runs merge; [Matrix] counts them by family and
// engine, and writes the table and the page.
//
// # Errors
//
// An adapter that cannot be started, or that breaks the protocol, is an error that names its
// command and shows the line. An engine that fails on a case is a result, never an error.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package engines

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/goassay/assay/engine/ordered"
)

// Request is one line to an adapter. Op decides which of the other fields are there: "describe" has
// none, "detect" has Template and Vocabulary, "render" has Template and Vars, "tokenize" has Text,
// "parse" has all that apply.
type Request struct {
	ID string `json:"id"`
	Op string `json:"op"`
	// Template is the chat template's source, BOS and EOS the texts of its tokens.
	Template string `json:"template,omitempty"`
	BOS      string `json:"bos,omitempty"`
	EOS      string `json:"eos,omitempty"`
	// Request is a chat completion request in OpenAI's shape, Prompt the template's rendering of
	// it. Prefill is the end of the prompt that belongs to the answer, such as an opened block of
	// reasoning; ReasoningOpen reports whether it leaves one open.
	Request       json.RawMessage `json:"request,omitempty"`
	Prompt        string          `json:"prompt,omitempty"`
	Prefill       string          `json:"prefill,omitempty"`
	ReasoningOpen bool            `json:"reasoning_open,omitempty"`
	// Output is the model's output. Chunks, where they are there, are the same text in the pieces
	// in which it came, and the adapter answers with the deltas as well; a special token never
	// falls into two of them.
	Output string   `json:"output,omitempty"`
	Chunks []string `json:"chunks,omitempty"`
	// Reason is why the output ended: "stop" or "length".
	Reason string `json:"reason,omitempty"`
	// SpecialTokens are the markers of the format that a tokeniser of this family could hold as
	// single tokens, Vocabulary all markers that the template spells.
	SpecialTokens []string `json:"special_tokens,omitempty"`
	Vocabulary    []string `json:"vocabulary,omitempty"`
	// Parser names the engine's parsers to use; empty names leave a part unparsed.
	Parser *Parser `json:"parser,omitempty"`
	// ResponseTemplate is transformers' object for this template, where there is one.
	ResponseTemplate json.RawMessage `json:"response_template,omitempty"`
	// Vars, of "render", are the template's variables.
	Vars json.RawMessage `json:"vars,omitempty"`
	// Text, of "tokenize", is a prompt.
	Text string `json:"text,omitempty"`
	// Of "judge": a grammar in one of the languages that the adapter describes, and the turns to
	// judge by it, as bytes.
	Language string   `json:"language,omitempty"`
	Grammar  string   `json:"grammar,omitempty"`
	Turns    [][]byte `json:"turns,omitempty"`
}

// Parser names the parsers of an engine for calls and for reasoning.
type Parser struct {
	Tool      string `json:"tool"`
	Reasoning string `json:"reasoning"`
}

// Answer is one line from an adapter.
type Answer struct {
	ID string `json:"id"`
	// Error is the engine's error, At its place; Unsupported is why it does not do this by design.
	Error       string `json:"error,omitempty"`
	At          string `json:"at,omitempty"`
	Unsupported string `json:"unsupported,omitempty"`

	Message *Message `json:"message,omitempty"` // of parse
	Deltas  []Delta  `json:"deltas,omitempty"`  // of parse with chunks
	Parser  *Parser  `json:"parser,omitempty"`  // of detect: the engine's own choice
	Text    *string  `json:"text,omitempty"`    // of render: the prompt
	// IDs, of render and tokenize, are the tokens of the prompt; nil: the engine tells none.
	IDs []int `json:"ids,omitempty"`
	// of judge: whether the grammar takes a turn, in the order of the turns
	Verdicts []bool `json:"verdicts,omitempty"`
	// Nanoseconds are the processor time that the operation took, where the adapter measures it.
	Nanoseconds int64 `json:"nanoseconds,omitempty"`

	Description // of describe
}

// Description is an adapter's account of its engine.
type Description struct {
	Engine           string   `json:"engine,omitempty"`
	Version          string   `json:"version,omitempty"`
	ToolParsers      []string `json:"tool_parsers,omitempty"`
	ReasoningParsers []string `json:"reasoning_parsers,omitempty"`
	// ByTemplate reports whether the engine chooses by the template alone, so that there is nothing
	// to name.
	ByTemplate bool `json:"by_template,omitempty"`
	Streams    bool `json:"streams,omitempty"`
	// Renders reports whether the engine renders prompts.
	Renders bool `json:"renders,omitempty"`
	// Tokenizes reports whether the engine tells the tokens of a text in which markers are control
	// tokens.
	Tokenizes bool `json:"tokenizes,omitempty"`
	// Encodes reports whether the engine renders without the template, with the special tokens BOS
	// and EOS.
	Encodes bool   `json:"encodes,omitempty"`
	BOS     string `json:"bos,omitempty"`
	EOS     string `json:"eos,omitempty"`
	// OneParser reports whether one parser reads calls and reasoning alike, so that both names have
	// to be the same.
	OneParser bool `json:"one_parser,omitempty"`
	// TakesResponseTemplate reports whether the engine parses with the object of a request.
	TakesResponseTemplate bool `json:"response_template,omitempty"`
	// Grammars are the languages of the grammars by which the engine judges turns.
	Grammars []string `json:"grammars,omitempty"`
}

// Parses reports whether the engine reads outputs.
func (d *Description) Parses() bool {
	return d.ByTemplate || d.TakesResponseTemplate || len(d.ToolParsers)+len(d.ReasoningParsers) > 0
}

// Message is a parsed output in OpenAI's terms. Arguments are JSON text.
type Message struct {
	Reasoning string `json:"reasoning_content"`
	Content   string `json:"content"`
	Calls     []Call `json:"tool_calls"`
}

// Equal reports whether two messages say the same; arguments are compared as JSON.
func (m Message) Equal(o Message) bool {
	return m.Reasoning == o.Reasoning && m.Content == o.Content &&
		slices.EqualFunc(m.Calls, o.Calls, func(a, b Call) bool {
			if a.ID != b.ID || a.Name != b.Name {
				return false
			}
			x, err := ordered.ParseString(a.Arguments)
			y, err2 := ordered.ParseString(b.Arguments)
			if err != nil || err2 != nil {
				return a.Arguments == b.Arguments
			}
			return ordered.Equal(x, y)
		})
}

// Call is a tool call.
type Call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Delta is an increment of a message.
type Delta struct {
	Reasoning string      `json:"reasoning_content,omitempty"`
	Content   string      `json:"content,omitempty"`
	Calls     []CallDelta `json:"tool_calls,omitempty"`
}

// CallDelta is an increment of a call.
type CallDelta struct {
	Index    int    `json:"index"`
	ID       string `json:"id,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments,omitempty"`
	} `json:"function"`
}

// maxAnswer bounds a line from an adapter, in bytes, and maxParsers the parsers that it names, each
// of which is tried.
const (
	maxAnswer  = 4 << 20
	maxParsers = 1000
)

// Patience bounds how long an adapter may take for one answer, and startPatience for the first one,
// before which engines import all that they have.
const (
	Patience      = 60 * time.Second
	startPatience = 5 * time.Minute
)

// Adapter is a running adapter. It is not safe for concurrent use.
type Adapter struct {
	Description
	command []string
	log     io.Writer // the adapter's standard error

	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan line
	n     int
}

type line struct {
	text []byte
	err  error
}

// Start starts an adapter and asks for its description.
func Start(ctx context.Context, command []string, log io.Writer) (*Adapter, error) {
	a := &Adapter{command: command, log: log}
	answer, err := a.Ask(ctx, Request{Op: "describe"})
	if err == nil && answer.Error != "" {
		err = errors.New(answer.Error)
	}
	if err != nil {
		a.Close()
		return nil, fmt.Errorf("%s: %w", command[0], err)
	}
	a.Description = answer.Description
	if n := len(a.ToolParsers) + len(a.ReasoningParsers); n > maxParsers {
		a.Close()
		return nil, fmt.Errorf("%s: it names %d parsers, at most %d are tried", command[0], n,
			maxParsers)
	}
	if a.Engine == "" {
		a.Close()
		return nil, fmt.Errorf(`%s: its answer to {"op": "describe"} names no "engine"; docs/reference/adapters.md has the protocol`, command[0])
	}
	return a, nil
}

func (a *Adapter) start() error {
	a.cmd = exec.Command(a.command[0], a.command[1:]...)
	a.cmd.Stderr = a.log
	a.cmd.Env = append(os.Environ(), "PYTHONHASHSEED=0")
	var err error
	if a.in, err = a.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := a.cmd.Start(); err != nil {
		a.cmd = nil
		return err
	}
	a.lines = make(chan line, 1)
	go func(lines chan<- line) {
		defer close(lines)
		in := bufio.NewScanner(out)
		in.Buffer(nil, maxAnswer)
		for in.Scan() {
			lines <- line{text: append([]byte(nil), in.Bytes()...)}
		}
		if err := in.Err(); errors.Is(err, bufio.ErrTooLong) {
			lines <- line{err: fmt.Errorf("a line of its answer has more than %d bytes", maxAnswer)}
		} else if err != nil {
			lines <- line{err: err}
		}
	}(a.lines)
	return nil
}

// Ask puts a request to the adapter. Where the adapter dies or takes longer than [Patience], the
// answer has that as its error, and the next request starts it again. Ask returns an error where
// the adapter cannot be started, where it breaks the protocol, and where the context ends.
func (a *Adapter) Ask(ctx context.Context, r Request) (Answer, error) {
	if a.cmd == nil {
		if err := a.start(); err != nil {
			return Answer{}, err
		}
	}
	a.n++
	r.ID = fmt.Sprint(a.n)
	text, err := json.Marshal(r)
	if err != nil {
		return Answer{}, err
	}
	wrote := make(chan error, 1)
	go func(in io.Writer) { // an adapter that does not read lets this wait
		_, err := in.Write(append(text, '\n'))
		wrote <- err
	}(a.in)
	patience := Patience
	if r.Op == "describe" {
		patience = startPatience
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	lines := a.lines
	for {
		var got line
		var ok bool
		select {
		case <-ctx.Done():
			a.Close()
			return Answer{}, context.Cause(ctx)
		case <-timer.C:
			a.Close()
			return Answer{ID: r.ID, Error: fmt.Sprintf("no answer within %v", patience)}, nil
		case err := <-wrote:
			if err != nil {
				return a.died(r.ID), nil
			}
			continue
		case got, ok = <-lines:
		}
		switch {
		case !ok:
			return a.died(r.ID), nil
		case got.err != nil:
			a.Close()
			return Answer{}, fmt.Errorf("%s: %w", a.command[0], got.err)
		}
		var answer Answer
		if err := json.Unmarshal(got.text, &answer); err != nil {
			a.Close()
			return Answer{}, fmt.Errorf("%s: the answer is not a JSON object of the "+
				"protocol: %w\n%.200q", a.command[0], err, got.text)
		}
		if answer.ID != r.ID {
			a.Close()
			return Answer{}, fmt.Errorf("%s: the answer has the id %q, "+
				"the request had %q", a.command[0], answer.ID, r.ID)
		}
		return answer, nil
	}
}

// died collects an adapter that ended, so that the next request starts it again.
func (a *Adapter) died(id string) Answer {
	err := a.cmd.Wait()
	a.cmd = nil
	text := "the adapter's process ended"
	if err != nil {
		text += " (" + err.Error() + ")"
	}
	return Answer{ID: id, Error: text}
}

// Close ends the adapter's process.
func (a *Adapter) Close() {
	if a.cmd == nil {
		return
	}
	a.in.Close()
	done := make(chan struct{})
	go func(cmd *exec.Cmd) {
		cmd.Wait()
		close(done)
	}(a.cmd)
	select {
	case <-done:
	case <-time.After(time.Second):
		a.cmd.Process.Kill()
		<-done
	}
	a.cmd = nil
}
