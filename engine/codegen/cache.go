package codegen

import (
	"fmt"
	"strings"
	"sync"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
)

// Cache keeps what [Generate] made for one format, since requests of one client mostly bring the same tools. It is safe for
// concurrent use; the zero value is empty.
type Cache struct {
	mu      sync.Mutex
	outputs map[string]*Output
	order   []string // keys, the one used least recently first
}

// maxCached bounds the outputs that a cache keeps.
const maxCached = 64

// Generate returns what [Generate] returns for these options. The format must be the same in every call.
func (c *Cache) Generate(f format.Format, o Options) (*Output, error) {
	key := o.key()
	c.mu.Lock()
	out := c.outputs[key]
	if out != nil {
		c.use(key)
	}
	c.mu.Unlock()
	if out != nil {
		return out, nil
	}
	out, err := Generate(f, o)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.outputs[key]; known != nil {
		return known, nil
	}
	if len(c.order) == maxCached {
		delete(c.outputs, c.order[0])
		c.order = append(c.order[:0], c.order[1:]...)
	}
	if c.outputs == nil {
		c.outputs = map[string]*Output{}
	}
	c.outputs[key] = out
	c.order = append(c.order, key)
	return out, nil
}

// use moves a key to the end of the order.
func (c *Cache) use(key string) {
	for i, k := range c.order {
		if k == key {
			copy(c.order[i:], c.order[i+1:])
			c.order[len(c.order)-1] = key
			return
		}
	}
}

// key is a text that is the same for options that mean the same.
func (o *Options) key() string {
	var dst []byte
	for i := range o.Tools {
		t := &o.Tools[i]
		dst = ordered.AppendQuoted(dst, t.Name, false)
		dst = append(t.Parameters.Append(dst, ordered.Compact), '\n')
	}
	dst = fmt.Appendf(dst, "%d %q %t %d %t %d %d %q %q", o.Choice.Mode, o.Choice.Name, o.Parallel, o.Reasoning, o.HasJSONSchema, o.Continue, o.Tolerances,
		o.Prefill, strings.Join(o.Fallbacks, " "))
	if o.HasJSONSchema {
		dst = o.JSONSchema.Append(dst, ordered.Compact)
	}
	return string(dst)
}
