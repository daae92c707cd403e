package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/peg/vm"
)

// limits is the flag that changes limits: --limit NAME=VALUE. docs/untrusted.md has them all.
type limits struct {
	engine.Limits
	memory int64 // of the command as a whole, in bytes; 0: no bound
}

// untrustedMemory is the bound of `assay check --untrusted`.
const untrustedMemory = 1 << 30

// memoryName is the limit that is no template's.
const memoryName = "memory"

// untrusted are the limits of `assay check --untrusted`. All renders of the most costly template in
// public use take 44,192 steps.
var untrusted = engine.Limits{
	Render:     jinja.Limits{Steps: 200_000, OutputBytes: 1 << 20, Depth: 100},
	TotalSteps: 2_000_000,
	Output:     vm.Limits{Held: 1 << 18, Depth: 2_000, Rereads: 16},
}

// lookedAt are the limits of commands that look at a template once: the defaults, and for all
// renders together some hundred times the cost of a usual template.
var lookedAt = engine.Limits{TotalSteps: 20_000_000}

// maxUntrusted is how large a template from a stranger may be, in bytes.
const maxUntrusted = 1 << 20

func limitFlag(flags *flagSet, defaults engine.Limits) *limits {
	flags.category("Limits")
	l := &limits{Limits: defaults}
	flags.limits = l
	flags.Var(l, "limit",
		"`NAME=VALUE`: change a limit, "+strings.Join(limitNames(), ", ")+"; may be given again")
	return l
}

// of returns the limits for templates that a command looks at: an interrupt ends their renders, one
// that is under way too.
func (l *limits) of(c *call) engine.Limits { return within(c, l.Limits) }

// within lets an interrupt of a command end renders as well.
func within(c *call, limits engine.Limits) engine.Limits {
	limits.Context = c.ctx
	return limits
}

// exhausted is a failure where a template ran into the limit on all its renders together.
func exhausted(templates ...*engine.Template) error {
	for _, t := range templates {
		if t == nil { // it does not compile, as another check reports
			continue
		}
		if err := t.Exhausted(); err != nil {
			return &failure{err}
		}
	}
	return nil
}

// limitFields names the limits. 0 stands for the default.
var limitFields = [...]struct {
	name string
	set  func(*engine.Limits, int)
}{
	{"steps", func(l *engine.Limits, n int) { l.Render.Steps = n }},
	{"output", func(l *engine.Limits, n int) { l.Render.OutputBytes = n }},
	{"depth", func(l *engine.Limits, n int) { l.Render.Depth = n }},
	{"total", func(l *engine.Limits, n int) { l.TotalSteps = int64(n) }},
	{"held", func(l *engine.Limits, n int) { l.Output.Held = n }},
	{"frames", func(l *engine.Limits, n int) { l.Output.Depth = n }},
	{"rereads", func(l *engine.Limits, n int) { l.Output.Rereads = n }},
}

func limitNames() []string {
	names := make([]string, len(limitFields))
	for i := range limitFields {
		names[i] = limitFields[i].name
	}
	return append(names, memoryName)
}

func (l *limits) String() string { return "" }

// Type implements pflag.Value.
func (l *limits) Type() string { return "limit" }

func (l *limits) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if ok && name == memoryName {
		n, err := parseSize(value)
		l.memory = int64(n)
		return err
	}
	for i := range limitFields {
		if limitFields[i].name != name || !ok {
			continue
		}
		n, err := parseSize(value)
		if err != nil {
			return err
		}
		limitFields[i].set(&l.Limits, n)
		return nil
	}
	return fmt.Errorf("expected NAME=VALUE with a NAME of %s", strings.Join(limitNames(), ", "))
}

// parseSize reads a number with an optional K, M or G after it, each 1024 times the one before.
func parseSize(text string) (int, error) {
	digits, shift := text, 0
	if n := len(text); n > 0 {
		if i := strings.IndexByte("KMG", text[n-1]); i >= 0 {
			digits, shift = text[:n-1], 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("expected a number up to %d, with K, M or G "+
			"after it if need be", 1<<31-1)
	}
	return int(n) << shift, nil
}
