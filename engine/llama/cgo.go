//go:build llama && cgo

package llama

// #cgo pkg-config: llama
// #cgo CXXFLAGS: -std=c++17
// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"runtime/cgo"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/goassay/assay/engine/model/gguf"
)

// Model is a loaded model.
type Model struct {
	mu    sync.Mutex
	c     *C.struct_llama_model
	vocab *C.struct_llama_vocab
	users int  // contexts, and 1 until Close
	done  bool // Close was called

	offloaded bool // some layers, with what they keep of a context, are in a GPU's memory
}

// Context is a sequence that is being written.
type Context struct {
	mu    sync.Mutex
	model *Model
	c     *C.struct_llama_context
	abort *C.int
	batch int
	past  []Token
}

// Available reports whether the library is in this binary.
func Available() bool { return true }

// Version returns the library's version.
func Version() string { return C.GoString(C.llama_version()) }

func start() { backend.start.Do(func() { C.assay_log_start() }) }

// SetLog routes the library's log, which is one for the process; nil, the state at first, discards
// it. The handler is called by one thread at a time, with a line without its end, and must not call
// SetLog.
func SetLog(handler func(LogLevel, string)) {
	backend.mu.Lock()
	defer backend.mu.Unlock()
	backend.handler = handler
}

// Devices returns the devices with which the library can compute.
func Devices() []Device {
	start()
	devices := make([]Device, C.ggml_backend_dev_count())
	for i := range devices {
		d := C.ggml_backend_dev_get(C.size_t(i))
		var free, total C.size_t
		C.ggml_backend_dev_memory(d, &free, &total)
		kind := C.ggml_backend_dev_type(d)
		devices[i] = Device{C.GoString(C.ggml_backend_dev_name(d)),
			C.GoString(C.ggml_backend_dev_description(d)),
			kind == C.GGML_BACKEND_DEVICE_TYPE_GPU ||
				kind == C.GGML_BACKEND_DEVICE_TYPE_IGPU, uint64(free), uint64(total)}
	}
	return devices
}

// fail makes an error of a kind from an exception's text and the log.
func fail(kind error, what string, e *C.assay_error) error {
	lines := failures()
	if text := C.GoString(&e.text[0]); text != "" {
		lines = append(lines, text)
	}
	if what != "" {
		lines = append([]string{what}, lines...)
	}
	if len(lines) == 0 {
		return kind
	}
	return fmt.Errorf("%w: %s", kind, strings.Join(lines, "; "))
}

// Load loads a model. The file's header is read by package gguf first, so that a file that is no
// model, or is cut off, never reaches the library.
func Load(ctx context.Context, path string, o ModelOptions) (*Model, error) {
	file, header, err := gguf.OpenFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrModel, path, err)
	}
	file.Close()
	if len(header.Tensors) == 0 {
		return nil, fmt.Errorf("%w: %s: it has no tensors, so it is a "+
			"vocabulary only", ErrModel, path)
	}
	start()
	handle := cgo.NewHandle(func(done float64) bool {
		if o.Progress != nil {
			o.Progress(done)
		}
		return ctx.Err() == nil
	})
	defer handle.Delete()
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	failures()
	var e C.assay_error
	c := C.assay_load(name, C.int(o.GPULayers), C.uintptr_t(handle), &e)
	if ctx.Err() != nil {
		if c != nil {
			C.llama_model_free(c)
		}
		return nil, context.Cause(ctx)
	}
	if c == nil {
		return nil, fail(ErrModel, path, &e)
	}
	return &Model{c: c, vocab: C.llama_model_get_vocab(c), users: 1,
		offloaded: o.GPULayers != 0}, nil
}

// Close frees the model once its contexts are closed as well.
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.done {
		m.done = true
		m.release()
	}
	return nil
}

// release ends a use; the mutex is held.
func (m *Model) release() {
	if m.users--; m.users == 0 {
		C.llama_model_free(m.c)
		m.c = nil
	}
}

// use keeps the model from being freed until the returned function is called.
func (m *Model) use() (func(), error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.c == nil {
		return nil, fmt.Errorf("the model is %w", ErrClosed)
	}
	m.users++
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.release()
	}, nil
}

// Info describes the model; of a freed one it returns nothing.
func (m *Model) Info() ModelInfo {
	release, err := m.use()
	if err != nil {
		return ModelInfo{}
	}
	defer release()
	var text [256]C.char
	C.llama_model_desc(m.c, &text[0], C.size_t(len(text)))
	return ModelInfo{
		Description: C.GoString(&text[0]),
		FileType:    C.GoString(C.llama_ftype_name(C.llama_model_ftype(m.c))),
		Parameters:  uint64(C.llama_model_n_params(m.c)),
		Bytes:       uint64(C.llama_model_size(m.c)),
		Training:    int(C.llama_model_n_ctx_train(m.c)),
		Layers:      int(C.llama_model_n_layer(m.c)),
		Vocabulary:  int(C.llama_vocab_n_tokens(m.vocab)),
	}
}

// Tokenize splits a text. Special reports whether texts of special tokens in it are taken as such,
// else they are text as any; none are added. Bytes that are no UTF-8 are read as U+FFFD: llama.cpp
// takes no text with them, and a prompt may have half of a surrogate pair, if a call's arguments
// escape one.
func (m *Model) Tokenize(text string, special bool) ([]Token, error) {
	release, err := m.use()
	if err != nil {
		return nil, err
	}
	defer release()
	return m.tokenize(text, special)
}

func (m *Model) tokenize(text string, special bool) ([]Token, error) {
	if text == "" {
		return nil, nil
	}
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) > math.MaxInt32/2 {
		return nil, fmt.Errorf("%w: a text of %d bytes is too "+
			"long to be split", ErrDecode, len(text))
	}
	// no token has less than a byte; some vocabularies put a space before
	tokens := make([]Token, len(text)+8)
	var e C.assay_error
	bytes := (*C.char)(unsafe.Pointer(unsafe.StringData(text)))
	for {
		n := int(C.assay_tokenize(m.vocab, bytes, C.int(len(text)), (*C.llama_token)(&tokens[0]),
			C.int(len(tokens)), C.bool(special), &e))
		if n >= 0 {
			return tokens[:n:n], nil
		}
		if n == math.MinInt32 || -n <= len(tokens) {
			return nil, fail(ErrDecode, "the text cannot be split into tokens", &e)
		}
		tokens = make([]Token, -n)
	}
}

// Piece returns the bytes of a token, those of special tokens included; of a token that there is
// not, nothing.
func (m *Model) Piece(t Token) []byte {
	release, err := m.use()
	if err != nil {
		return nil
	}
	defer release()
	return m.piece(t)
}

func (m *Model) piece(t Token) []byte {
	if t < 0 || t >= Token(C.llama_vocab_n_tokens(m.vocab)) {
		return nil
	}
	piece := make([]byte, 64)
	for {
		n := int(C.llama_token_to_piece(m.vocab, C.llama_token(t),
			(*C.char)(unsafe.Pointer(&piece[0])), C.int32_t(len(piece)), 0, true))
		if n >= 0 {
			return piece[:n]
		}
		piece = make([]byte, -n)
	}
}

// IsEnd reports whether a token ends a turn.
func (m *Model) IsEnd(t Token) bool {
	release, err := m.use()
	if err != nil {
		return false
	}
	defer release()
	return m.isEnd(t)
}

func (m *Model) isEnd(t Token) bool {
	return t >= 0 && t < Token(C.llama_vocab_n_tokens(m.vocab)) &&
		bool(C.llama_vocab_is_eog(m.vocab, C.llama_token(t)))
}

// Accepts reports whether the library takes a whole text for a sentence of a grammar, which is not
// lazy. The text must not have the vocabulary's tokens that end a turn in it: they end it.
func (m *Model) Accepts(g Grammar, text string) (bool, error) {
	release, err := m.use()
	if err != nil {
		return false, err
	}
	defer release()
	tokens, err := m.tokenize(text, true)
	if err != nil {
		return false, err
	}
	c, err := m.grammar(&g)
	if err != nil {
		return false, err
	}
	defer C.llama_sampler_free(c)
	var e C.assay_error
	for _, t := range append(tokens, Token(C.llama_vocab_eos(m.vocab))) {
		switch C.assay_allows(c, C.llama_token(t), &e) {
		case 0:
			return false, nil
		case -1:
			return false, fail(ErrGrammar, "", &e)
		}
		if C.assay_accept(c, C.llama_token(t), &e) < 0 {
			return false, fail(ErrGrammar, "", &e)
		}
	}
	return true, nil
}

// grammar makes the sampler of a grammar.
func (m *Model) grammar(g *Grammar) (*C.struct_llama_sampler, error) {
	if strings.ContainsRune(g.Text, 0) {
		return nil, fmt.Errorf("%w: it has a NUL character", ErrGrammar)
	}
	var patterns []*C.char
	defer func() {
		for _, p := range patterns {
			C.free(unsafe.Pointer(p))
		}
	}()
	var tokens []C.llama_token
	for _, t := range g.Triggers {
		// a word may be a token, and may be spelled with others nevertheless
		if t.Kind != TriggerPattern {
			split, err := m.tokenize(t.Text, true)
			if err != nil {
				return nil, err
			}
			if len(split) == 1 {
				tokens = append(tokens, C.llama_token(split[0]))
			} else if t.Kind == TriggerToken {
				return nil, fmt.Errorf("%w: the trigger %q is not one token of "+
					"this vocabulary", ErrGrammar, t.Text)
			}
		}
		switch t.Kind {
		case TriggerWord:
			patterns = append(patterns, C.CString("("+regexp.QuoteMeta(t.Text)+")"))
		case TriggerPattern:
			patterns = append(patterns, C.CString(t.Text))
		}
	}
	if g.Lazy && len(patterns)+len(tokens) == 0 {
		return nil, fmt.Errorf("%w: it is lazy and has no trigger", ErrGrammar)
	}
	text := C.CString(g.Text)
	defer C.free(unsafe.Pointer(text))
	list := (**C.char)(C.calloc(C.size_t(len(patterns)+1), C.size_t(unsafe.Sizeof(text))))
	defer C.free(unsafe.Pointer(list))
	copy(unsafe.Slice(list, len(patterns)), patterns)
	lazy := C.int(0)
	if g.Lazy {
		lazy = 1
	}
	failures()
	var e C.assay_error
	c := C.assay_grammar(m.vocab, text, lazy, list, C.size_t(len(patterns)),
		unsafe.SliceData(tokens), C.size_t(len(tokens)), &e)
	if c == nil {
		return nil, fail(ErrGrammar, "", &e)
	}
	return c, nil
}

// NewContext makes a context.
func (m *Model) NewContext(o ContextOptions) (*Context, error) {
	release, err := m.use()
	if err != nil {
		return nil, err
	}
	if o.Size < 0 || o.Batch < 0 || o.Threads < 0 || o.Size > math.MaxInt32 {
		release()
		return nil, fmt.Errorf("%w: size, batch and threads cannot "+
			"be %d, %d and %d", ErrMemory, o.Size, o.Batch, o.Threads)
	}
	if err := m.fits(o.Size); err != nil {
		release()
		return nil, err
	}
	c := &Context{model: m, batch: 512, abort: (*C.int)(C.calloc(1, C.sizeof_int))}
	if o.Batch > 0 {
		c.batch = o.Batch
	}
	failures()
	var e C.assay_error
	c.c = C.assay_context(m.c, C.uint32_t(o.Size), C.uint32_t(c.batch), C.int(o.Threads), c.abort,
		&e)
	if c.c == nil {
		C.free(unsafe.Pointer(c.abort))
		release()
		return nil, fail(ErrMemory, fmt.Sprintf("of %d tokens", o.Size), &e)
	}
	c.batch = min(c.batch, int(C.llama_n_batch(c.c)))
	return c, nil
}

// tokenBytes is the least memory that a layer needs for a token, in bytes.
const tokenBytes = 64

// fits refuses a context that cannot fit the memory it would lie in, which the library would fill
// before it noticed.
func (m *Model) fits(size int) error {
	var memory uint64
	for _, d := range Devices() {
		if m.offloaded || !d.GPU {
			memory += d.Total
		}
	}
	if need := uint64(size) * tokenBytes * uint64(C.llama_model_n_layer(m.c)); memory > 0 &&
		need > memory {
		return fmt.Errorf("%w: %d tokens take more than %d GiB, and the "+
			"devices have %d GiB", ErrMemory, size, need>>30, memory>>30)
	}
	return nil
}

// Close frees the context. It waits for a running Generate.
func (c *Context) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.c == nil {
		return nil
	}
	C.llama_free(c.c)
	C.free(unsafe.Pointer(c.abort))
	c.c, c.abort = nil, nil
	c.model.mu.Lock()
	defer c.model.mu.Unlock()
	c.model.release()
	return nil
}

// Size returns how many tokens prompt and answer may have together; 0 of a closed context.
func (c *Context) Size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.c == nil {
		return 0
	}
	return int(C.llama_n_ctx(c.c))
}

// Generate writes an answer to a prompt. Its tokens go to emit with their bytes, at least one, as
// they are known; of a token in which a stop begins the part before it, as [NoToken]. The slice is
// emit's for the time of the call only, and an error that emit returns ends the answer and is
// returned.
func (c *Context) Generate(ctx context.Context, r Request,
	emit func(Token, []byte) error) (Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	result := Result{Prompt: len(r.Prompt)}
	if c.c == nil {
		return result, fmt.Errorf("the context is %w", ErrClosed)
	}
	size := int(C.llama_n_ctx(c.c))
	switch {
	case len(r.Prompt) == 0:
		return result, fmt.Errorf("%w: the prompt has no tokens", ErrDecode)
	case len(r.Prompt) >= size:
		return result, fmt.Errorf("%w: the prompt has %d tokens, which "+
			"leaves no room in %d", ErrFull, len(r.Prompt), size)
	}
	for _, t := range r.Prompt {
		if t < 0 || t >= Token(C.llama_vocab_n_tokens(c.model.vocab)) {
			return result, fmt.Errorf("%w: the vocabulary has no token %d", ErrDecode, t)
		}
	}
	C.assay_stop(c.abort, 0)
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		C.assay_stop(c.abort, 1)
		close(stopped)
	})
	defer func() {
		if !stop() {
			<-stopped
		}
	}()
	sampler, err := c.sampler(r)
	if err != nil {
		return result, err
	}
	defer C.llama_sampler_free(sampler)
	result.Reused = c.rewind(r.Prompt)
	if err := c.decode(ctx, r.Prompt[result.Reused:]); err != nil {
		return result, err
	}
	err = c.answer(ctx, r, sampler, &result, emit)
	return result, err
}

func (c *Context) sampler(r Request) (*C.struct_llama_sampler, error) {
	var grammar *C.struct_llama_sampler
	if r.Grammar != nil {
		var err error
		if grammar, err = c.model.grammar(r.Grammar); err != nil {
			return nil, err
		}
	}
	s := r.Sampling
	return C.assay_sampler(grammar, C.int(s.TopK), C.float(s.TopP), C.float(s.MinP),
		C.float(s.Temperature), C.uint32_t(s.Seed)), nil
}

// rewind forgets the past from where it differs from a prompt, and returns how many tokens stay.
// The prompt's last token is always decoded again, since its logits are wanted.
func (c *Context) rewind(prompt []Token) int {
	n := 0
	for n < min(len(c.past), len(prompt)-1) && c.past[n] == prompt[n] {
		n++
	}
	n = int(C.assay_keep(c.c, C.int(n)))
	c.past = c.past[:n]
	return n
}

// decode adds tokens to the past, in batches.
func (c *Context) decode(ctx context.Context, tokens []Token) error {
	for len(tokens) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n := min(len(tokens), c.batch)
		failures()
		var e C.assay_error
		switch status := C.assay_decode(c.c, (*C.llama_token)(&tokens[0]), C.int(n), &e); {
		case status == 0:
			c.past = append(c.past, tokens[:n]...)
		default: // nobody knows how much of the batch was decoded, so nothing of it is kept
			c.past = c.past[:int(C.assay_keep(c.c, C.int(len(c.past))))]
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if status == 1 {
				return fail(ErrFull, fmt.Sprintf("no room for %d tokens more", n), &e)
			}
			return fail(ErrDecode, fmt.Sprintf("status %d", status), &e)
		}
		tokens = tokens[n:]
	}
	return nil
}

// answer samples until something ends the answer.
func (c *Context) answer(ctx context.Context, r Request, sampler *C.struct_llama_sampler,
	result *Result, emit func(Token, []byte) error) error {
	stops := newStopper(r.Stops)
	size := int(C.llama_n_ctx(c.c))
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if r.Max > 0 && result.Tokens == r.Max {
			result.End = EndMax
			return stops.close(emit)
		}
		if len(c.past) >= size {
			result.End = EndFull
			return stops.close(emit)
		}
		token, err := c.next(r, sampler, result.Tokens)
		if err != nil {
			return errors.Join(err, stops.close(emit))
		}
		result.Tokens++
		piece := c.model.piece(token)
		if c.model.isEnd(token) || slices.Contains(r.Ends, token) {
			result.End, result.Text = EndToken, string(piece)
			return stops.close(emit)
		}
		stop, err := stops.write(token, piece, emit)
		if err != nil {
			return err
		}
		if stop != "" {
			result.End, result.Text = EndStop, stop
			return nil
		}
		if err := c.decode(ctx, []Token{token}); err != nil {
			return errors.Join(err, stops.close(emit))
		}
	}
}

// next returns the n-th token of an answer.
func (c *Context) next(r Request, sampler *C.struct_llama_sampler, n int) (Token, error) {
	failures()
	var e C.assay_error
	if n < len(r.Begin) {
		if C.assay_accept(sampler, C.llama_token(r.Begin[n]), &e) != 0 {
			return 0, fail(ErrSample, fmt.Sprintf("the given beginning breaks the "+
				"grammar at token %d", n), &e)
		}
		return r.Begin[n], nil
	}
	constrained := C.int(0)
	if r.Grammar != nil {
		constrained = 1
	}
	token := C.assay_sample(sampler, constrained, c.c, &e)
	if token < 0 {
		return 0, fail(ErrSample, "", &e)
	}
	return Token(token), nil
}
