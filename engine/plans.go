package engine

import (
	"encoding/binary"
	"sync"

	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/ordered"
)

// The bounds of the generated parsers that a template keeps: their number, and the tools, keys and
// values of their requests together, which take 56 MiB at most. A server sees few sets of tools at
// a time; when there are more, all are dropped, and those still in use are made again.
const (
	maxPlans  = 64
	maxValues = 56 << 20 / codegen.ValueBytes
)

// plans caches generated parsers by everything that they depend on. Prompts differ from request to
// request; parsers do not.
type plans struct {
	once   sync.Once
	bytes  *codegen.Generator // of programs for bytes
	tokens *codegen.Generator // and for tokens
	mu     sync.Mutex
	made   map[string]func() (*codegen.Output, error) // each generates once
	values int                                        // of all of them
	keys   sync.Pool                                  // of *[]byte, with room for a key
}

// generate returns the output for a format and options, generating it if need be. Concurrent
// requests for the same output wait for one generation. An output is never changed afterwards.
func (p *plans) generate(t *Template, o codegen.Options) (*codegen.Output, error) {
	room, _ := p.keys.Get().(*[]byte)
	if room == nil {
		room = new([]byte)
	}
	defer p.keys.Put(room)
	key := appendPlanKey((*room)[:0], &o)
	*room = key
	p.mu.Lock()
	generate := p.made[string(key)]
	p.mu.Unlock()
	if generate == nil {
		generate = p.add(t, key, o)
	}
	return generate()
}

// add stores the function that generates an output under a key, unless there is one already, and
// returns it. An error is not kept, nor is an output that is too large to be kept beside others.
func (p *plans) add(t *Template, key []byte, o codegen.Options) func() (*codegen.Output, error) {
	values := o.Values()
	if values > maxValues/2 || len(o.Prefill) > codegen.MaxKeptPrefill {
		return func() (*codegen.Output, error) {
			return p.generator(t, o.Literal != nil).Generate(o)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if there := p.made[string(key)]; there != nil {
		return there
	}
	if p.values += values; p.made == nil || len(p.made) >= maxPlans || p.values > maxValues {
		p.made, p.values = map[string]func() (*codegen.Output, error){}, values
	}
	name := string(key)
	o = o.Clone() // what is kept must not keep the request
	generate := sync.OnceValues(func() (*codegen.Output, error) {
		out, err := p.generator(t, o.Literal != nil).Generate(o)
		if err != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.made[name] != nil {
				delete(p.made, name)
				p.values -= values
			}
		}
		return out, err
	})
	p.made[name] = generate
	return generate
}

// generator returns the generator of programs for bytes or for tokens.
func (p *plans) generator(t *Template, byTokens bool) *codegen.Generator {
	p.once.Do(func() {
		f := t.Analysis().Format
		p.bytes, p.tokens = codegen.NewGenerator(f), codegen.NewGenerator(f)
	})
	if byTokens {
		return p.tokens
	}
	return p.bytes
}

// appendPlanKey encodes options: fixed fields as bytes, texts with their length before them, so
// that no two options share a key.
func appendPlanKey(key []byte, o *codegen.Options) []byte {
	key = append(key,
		byte(o.Choice.Mode), byte(o.Reasoning), byte(o.Continue), flag(o.Parallel),
		flag(o.HasJSONSchema),
		byte(o.Incomplete), flag(o.Literal != nil),
	)
	key = binary.AppendUvarint(key, uint64(o.Tolerances))
	key = appendText(appendText(key, o.Choice.Name), o.Prefill)
	key = ordered.AppendKey(key, &o.JSONSchema)
	key = binary.AppendUvarint(key, uint64(len(o.Fallbacks)))
	for _, name := range o.Fallbacks {
		key = appendText(key, name)
	}
	key = binary.AppendUvarint(key, uint64(len(o.Tools)))
	for i := range o.Tools {
		tool := &o.Tools[i]
		key = ordered.AppendKey(appendText(key, tool.Name), &tool.Parameters)
	}
	return key
}

func appendText(key []byte, text string) []byte {
	return append(binary.AppendUvarint(key, uint64(len(text))), text...)
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}
