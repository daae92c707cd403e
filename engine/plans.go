package engine

import (
	"encoding/binary"
	"sync"

	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/ordered"
)

// maxPlans bounds how many generated parsers a template keeps. A server sees few sets of tools at a
// time; when there are more, all are forgotten and the current ones come back.
const maxPlans = 64

// plans keeps generated parsers, by everything that they depend on. Prompts differ from request to
// request, parsers do not.
type plans struct {
	once      sync.Once
	generator *codegen.Generator // of programs for bytes
	byTokens  *codegen.Generator // and for tokens
	mu        sync.Mutex
	out       map[string]*codegen.Output
	keys      sync.Pool // of *[]byte, with room for a key
}

// generate returns the output for a format and options, generating it if need be. An output is
// never changed afterwards.
func (p *plans) generate(t *Template, o codegen.Options) (*codegen.Output, error) {
	room, _ := p.keys.Get().(*[]byte)
	if room == nil {
		room = new([]byte)
	}
	defer p.keys.Put(room)
	key := appendPlanKey((*room)[:0], &o)
	*room = key
	p.mu.Lock()
	out := p.out[string(key)]
	p.mu.Unlock()
	if out != nil {
		return out, nil
	}
	p.once.Do(func() {
		f := t.Analysis().Format
		p.generator, p.byTokens = codegen.NewGenerator(f), codegen.NewGenerator(f)
	})
	generator := p.generator
	if o.Literal != nil {
		generator = p.byTokens
	}
	out, err := generator.Generate(o)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out == nil || len(p.out) >= maxPlans {
		p.out = map[string]*codegen.Output{}
	}
	p.out[string(key)] = out
	return out, nil
}

// appendPlanKey spells options out: fixed fields as bytes, texts with their length before them, so
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
