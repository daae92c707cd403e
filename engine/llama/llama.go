// Package llama runs models with llama.cpp 0.5.0, by cgo.
//
// Without the build tag llama, or without cgo, everything here compiles and every call that would
// need the library returns [ErrNotBuilt]. With it, pkg-config must find "llama"; `make llama` sees
// to that. No type of C is in this interface.
//
// # Terminology
//
// A token is a number of the model's vocabulary; its piece is the bytes that it stands for, which
// may end inside a character or a marker. An end token ends a turn. The past is the sequence of
// tokens that a context has decoded and remembers.
//
// # Model
//
// [Load] reads a GGUF into a [Model]: weights and vocabulary, which do not change.
// [Model.NewContext] makes a [Context]: the memory of one sequence, and the threads that compute.
// [Context.Generate] decodes a prompt, as much of it as differs from the past, and then samples
// token by token: top-k, top-p, min-p and temperature, and where the grammar does not allow that
// token, once more among those that it allows. A lazy grammar waits for a trigger; text before it
// is free. A stop ends the turn wherever its bytes come together, in one token or in several;
// tokens that may become one are held back until it is known.
//
// # Ownership and threads
//
// Model and Context are closed by their Close, which may be called again. A model whose contexts
// are still open lives on until the last of them is closed. A Model may be used from any number of
// goroutines. A Context serves one Generate at a time; calls from several goroutines wait for each
// other, Close included. Callbacks run on the goroutine that made the call and must not call back
// into the same Context. Log lines come from any thread.
//
// # Cancelling
//
// When the context.Context of a call ends, loading stops at the next tensor, decoding on the CPU
// within one graph node, decoding on a GPU at the next batch. The call returns the cause
// ([context.Cause]).
//
// # Limits
//
// A prompt and its answer must fit [Context.Size]. Grammars are those that llama.cpp takes; package
// gbnf describes them. A failed assertion of the library ends the process; its exceptions are
// caught and come back as errors.
//
// # Errors
//
// Errors wrap one of the Err variables of this package and carry the library's log, if it logged
// anything.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package llama

import "errors"

// The errors that others wrap.
var (
	ErrNotBuilt = errors.New("this binary was built without llama.cpp; `make llama` provides the " +
		"library, and `go build -tags llama` the binary")
	ErrModel   = errors.New("the model cannot be loaded")
	ErrMemory  = errors.New("the context cannot be made")
	ErrGrammar = errors.New("llama.cpp refuses the grammar")
	ErrSample  = errors.New("no token can follow")
	ErrFull    = errors.New("the context is too small")
	ErrDecode  = errors.New("decoding failed")
	ErrClosed  = errors.New("closed already")
)

// Token is a number of a model's vocabulary.
type Token int32

// ModelOptions control how a model is loaded. The zero value is usable: everything on the CPU.
type ModelOptions struct {
	GPULayers int                    // layers to offload, from the last one on; negative: all
	Progress  func(fraction float64) // called while the model is loaded, from 0 to 1
}

// ContextOptions control how a context is made. The zero value is usable.
type ContextOptions struct {
	Size    int // tokens that prompt and answer may have; 0: as many as the model was trained for
	Batch   int // most tokens that are decoded at once; 0: 512
	Threads int // 0: the library's choice
}

// ModelInfo describes a loaded model.
type ModelInfo struct {
	Description string // such as "llama 135M Q4_1"
	FileType    string // the quantisation, such as "Q4_1"
	Parameters  uint64
	Bytes       uint64 // of all tensors
	Training    int    // context size that the model was trained for, in tokens
	Layers      int
	Vocabulary  int // number of tokens
}

// Device is something that computes.
type Device struct {
	Name, Description string
	GPU               bool
	Free, Total       uint64 // memory, in bytes
}

// Sampling describes how the next token is chosen. The zero value is greedy: the likeliest one.
type Sampling struct {
	Temperature float32 // 0: greedy
	TopK        int     // 0: off
	TopP        float32 // 0: off
	MinP        float32 // 0: off
	Seed        uint32
}

// TriggerKind is the kind of a trigger's text.
type TriggerKind uint8

// The kinds of triggers.
const (
	TriggerWord TriggerKind = iota // a text with which the constrained part begins
	// a regular expression (ECMAScript); the constrained part begins with its first group
	TriggerPattern
	TriggerToken // the text of one token
)

// Trigger switches a lazy grammar on.
type Trigger struct {
	Kind TriggerKind
	Text string
}

// Grammar constrains the sampled text.
type Grammar struct {
	Text     string // GBNF
	Lazy     bool   // it waits for a trigger
	Triggers []Trigger
}

// Request is a job for [Context.Generate].
type Request struct {
	Prompt   []Token
	Begin    []Token // the answer's first tokens, taken as if they had been sampled
	Sampling Sampling
	Grammar  *Grammar // nil: none
	Stops    []string // texts that end the turn; they are not part of the answer
	Ends     []Token  // tokens that end the turn besides the model's own, as those do
	Max      int      // most tokens of the answer; 0: as many as fit
}

// End says why an answer ended.
type End uint8

// The ends.
const (
	EndToken End = iota // the model gave an end token
	EndStop             // a stop came
	EndMax              // Request.Max was reached
	EndFull             // the context is full
)

var endNames = [...]string{"end token", "stop", "token limit", "full context"}

func (e End) String() string { return endNames[e] }

// Cut reports whether the answer was not ended by the model.
func (e End) Cut() bool { return e == EndMax || e == EndFull }

// Result describes the making of an answer.
type Result struct {
	Prompt int    // tokens of the prompt
	Reused int    // of them, those that were in the past already
	Tokens int    // of the answer, the end token included
	End    End    // why it ended
	Text   string // the end token's piece, or the stop
}

// LogLevel is how grave a line of the log is.
type LogLevel uint8

// The levels.
const (
	LogDebug LogLevel = iota
	LogInfo
	LogWarning
	LogError
)

var logNames = [...]string{"debug", "info", "warning", "error"}

func (l LogLevel) String() string { return logNames[l] }
