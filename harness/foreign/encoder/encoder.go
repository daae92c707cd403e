// Package encoder runs encoders: programs that write a model's prompts without its template, as the
// publisher of its format does.
//
// # Model
//
// An encoder is an adapter (docs/reference/adapters.md): it gets the variables of a
// template and answers with the prompt, and with its tokens where it has a tokeniser. [Start] takes
// a command, or the name of an encoder whose adapter the command carries, harmony or
// mistral-common: that one runs in the python3 of the search path, which must have the package.
//
// An encoder also stands for a template ([Encoder.Template]): its format is learnt as one of a
// template is.
//
// # Errors
//
// Start fails where the program does not start or is no encoder. A request that the encoder refuses
// is an answer; a program that breaks the protocol is an error.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package encoder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"sync"

	adapters "github.com/goassay/assay/ci/engines"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/foreign/engines"
)

// Encoder is a running encoder. It is safe for concurrent use; one request runs at a time.
type Encoder struct {
	ctx     context.Context
	guard   sync.Mutex
	adapter *engines.Adapter
	failure error // the first with which the program broke the protocol
}

// bootstrap runs an adapter's program from its text, and the loop that it imports.
// The current folder, which -c has Python search first, is left out: its files are anybody's.
const bootstrap = `import sys, types
sys.path = [folder for folder in sys.path if folder]
loop = types.ModuleType("assay_adapter")
exec(compile(%s, "assay_adapter.py", "exec"), loop.__dict__)
sys.modules["assay_adapter"] = loop
exec(compile(%s, "adapter.py", "exec"))
`

// command returns the words that start an encoder.
func command(text string) ([]string, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil, nil
	}
	program, err := adapters.Adapters.ReadFile(words[0] + "/adapter.py")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return words, nil
	}
	loop, err2 := adapters.Adapters.ReadFile("assay_adapter.py")
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	code := fmt.Sprintf(bootstrap, strconv.QuoteToASCII(string(loop)),
		strconv.QuoteToASCII(string(program)))
	return append([]string{"python3", "-c", code}, words[1:]...), nil
}

// Start starts an encoder by its name or command, with arguments after spaces; "" is none, nil. The
// end of the context ends its answers.
func Start(ctx context.Context, text string) (*Encoder, error) {
	words, err := command(text)
	if err != nil || len(words) == 0 {
		return nil, err
	}
	a, err := engines.Start(ctx, words, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	if !a.Encodes {
		a.Close()
		return nil, fmt.Errorf(`%s: its answer to {"op": "describe"} does not say that it `+
			`is an encoder ("encodes": true); docs/reference/adapters.md has the protocol`, text)
	}
	return &Encoder{ctx: ctx, adapter: a}, nil
}

// Close ends the program; there may be none.
func (e *Encoder) Close() {
	if e == nil {
		return
	}
	e.guard.Lock()
	defer e.guard.Unlock()
	e.adapter.Close()
}

// String implements [probe.Encoder].
func (e *Encoder) String() string {
	const longest = 80 // bytes; it stands in every finding
	return source.Cut(strings.TrimSpace(e.adapter.Engine+" "+e.adapter.Version), longest)
}

// Tokens implements [probe.Encoder].
func (e *Encoder) Tokens() (bos, eos string) { return e.adapter.BOS, e.adapter.EOS }

// ask puts a request to the program.
func (e *Encoder) ask(r engines.Request) (engines.Answer, error) {
	e.guard.Lock()
	defer e.guard.Unlock()
	a, err := e.adapter.Ask(e.ctx, r)
	e.failure = cmp.Or(e.failure, err)
	return a, err
}

// Template returns the template that the encoder stands for, and probes its capabilities. Where the
// program breaks the protocol, the error is that, since refusals would be taken for answers.
func (e *Encoder) Template(o engine.Options) (*engine.Template, error) {
	bos, eos := e.Tokens()
	t, err := engine.CompileEncoder(e.ctx, engine.Source{Name: e.String(), BOS: bos, EOS: eos},
		func(vars ordered.Value) (string, error) {
			encoded, err := e.Encode(vars)
			if refuse := encoded.Refuse + encoded.Beyond; err == nil && refuse != "" {
				err = errors.New(refuse)
			}
			return encoded.Text, err
		}, o)
	return t, cmp.Or(e.Err(), err)
}

// Err returns the first error with which the program broke the protocol; there may be no program.
func (e *Encoder) Err() error {
	if e == nil {
		return nil
	}
	e.guard.Lock()
	defer e.guard.Unlock()
	return e.failure
}

// Encode implements [probe.Encoder].
func (e *Encoder) Encode(vars ordered.Value) (probe.Encoded, error) {
	a, err := e.ask(engines.Request{Op: "render", Vars: []byte(vars.String())})
	const longest = 500 // bytes of a reason
	switch {
	case err != nil:
		return probe.Encoded{}, err
	case a.Unsupported != "":
		return probe.Encoded{Beyond: source.Cut(a.Unsupported, longest)}, nil
	case a.Error != "":
		return probe.Encoded{Refuse: source.Cut(a.Error, longest), At: a.At}, nil
	case a.Text == nil:
		return probe.Encoded{}, fmt.Errorf(`%s: an answer to {"op": "render"} has neither "text" `+
			`nor "error"; docs/reference/adapters.md has the protocol`, e)
	}
	return probe.Encoded{Text: *a.Text, IDs: a.IDs}, nil
}

// Tokenize implements [probe.Encoder].
func (e *Encoder) Tokenize(text string) ([]int, error) {
	if !e.adapter.Tokenizes {
		return nil, nil
	}
	a, err := e.ask(engines.Request{Op: "tokenize", Text: text})
	if err == nil && a.Error != "" {
		err = fmt.Errorf("%s: it cannot tell the tokens of its own prompt: %s", e, a.Error)
	}
	return a.IDs, err
}
