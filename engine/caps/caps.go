// Package caps judges a chat template's capabilities, and fits requests to it.
//
// # Model
//
// The capabilities are facts that package observe found: a capability is there if the text in
// question reaches the prompt as itself. This follows the probes of llama.cpp's documented
// capability detection, and goes further where that one only looks at reads.
//
// # Tool-capable
//
// A template that describes tools and replays calls is tool-capable (E26): [Caps.ToolCapable].
//
// # Fit
//
// [Caps.Fit] turns a request into one that the template can take, one named function per polyfill
// (E27), and returns the ones that it needed.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package caps

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goassay/assay/engine/internal/observe"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
)

// Caps are the capabilities of a template, and the needs that Fit serves.
type Caps struct{ observe.Facts }

// Of returns the capabilities of the template that was observed.
func Of(o *observe.Observer) Caps { return Caps{o.Facts} }

// field is one capability with its name.
type field struct {
	name string
	get  func(*Caps) *bool
}

// fields lists the capabilities in the order in which they are printed.
var fields = []field{
	{"supports_tools", func(c *Caps) *bool { return &c.Tools }},
	{"supports_tool_calls", func(c *Caps) *bool { return &c.ToolCalls }},
	{"supports_system_role", func(c *Caps) *bool { return &c.SystemRole }},
	{"supports_parallel_tool_calls", func(c *Caps) *bool { return &c.ParallelToolCalls }},
	{preserves, func(c *Caps) *bool { return &c.PreserveReasoning }},
	{"supports_string_content", func(c *Caps) *bool { return &c.StringContent }},
	{"supports_typed_content", func(c *Caps) *bool { return &c.TypedContent }},
	{"supports_object_arguments", func(c *Caps) *bool { return &c.ObjectArguments }},
	{heeds, func(c *Caps) *bool { return &c.ReasoningEffort }},
}

// Value returns the capabilities as a JSON object of booleans, in their fixed order.
func (c Caps) Value() ordered.Value {
	members := lists.Map(fields, func(f field) ordered.Member {
		return ordered.MemberOf(f.name, ordered.Boolean(*f.get(&c)))
	})
	return ordered.ObjectOf(members...)
}

// String returns a line per capability, "name: true" or "name: false". Where a template keeps
// reasoning, or heeds an effort, only under some variables, the line names them:
// "supports_preserve_reasoning: true, by clear_thinking=false".
func (c Caps) String() string {
	var b strings.Builder
	for _, f := range fields {
		fmt.Fprintf(&b, "%s: %v", f.name, *f.get(&c))
		by := map[string][]ordered.Member{preserves: c.PreservedBy, heeds: c.EffortBy}[f.name]
		if len(by) > 0 {
			b.WriteString(", by " + switches(by))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// preserves and heeds are the capabilities that a template may have under some variables alone.
const preserves, heeds = "supports_preserve_reasoning", "supports_reasoning_effort"

// switches writes variables as name=value, with spaces between them.
func switches(variables []ordered.Member) string {
	words := lists.Map(variables, func(v ordered.Member) string {
		return v.Key + "=" + v.Value.String()
	})
	return strings.Join(words, " ")
}

// Supports returns a capability by its name, and whether there is one of that name.
func (c Caps) Supports(name string) (value, known bool) {
	for _, f := range fields {
		if f.name == name {
			return *f.get(&c), true
		}
	}
	return false, false
}

// ErrToolsUnsupported is why a template is not tool-capable.
var ErrToolsUnsupported = errors.New("chat template does not support tool calling")

// ToolCapable returns nil where the template describes tools and replays calls, else an error that
// reports which capability is missing, or why it is not known (E26, E32). It says nothing of how
// calls are spelled; the gate, which proves that, is the façade's.
func (c Caps) ToolCapable() error {
	var missing []string
	for _, need := range []struct {
		name string
		has  bool
	}{{"supports_tools", c.Tools}, {"supports_tool_calls", c.ToolCalls}} {
		switch err := c.WhyUnjudged(need.name); {
		case err != nil:
			missing = append(missing, need.name+" not judged: "+firstLine(err))
		case !need.has:
			missing = append(missing, need.name+"=false")
		}
	}
	if missing == nil {
		return nil
	}
	return fmt.Errorf("%w (%s)", ErrToolsUnsupported, strings.Join(missing, ", "))
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
