package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/foreign/gonja"
	"github.com/goassay/assay/harness/hub/templates"
)

// limits are the flags --untrusted and --limit NAME=VALUE, which mean the same in every command
// that renders a stranger's template. docs/untrusted.md has all limits.
type limits struct {
	engine.Limits
	memory    int64 // of the command as a whole, in bytes; 0: no bound
	untrusted bool  // templates may mean harm
}

// untrustedMemory is the bound of --untrusted.
const untrustedMemory = 1 << 30

// memoryName is the limit that is no template's.
const memoryName = "memory"

// The limits of --untrusted, of commands that look at a template, and of those that patch one.
var untrusted, lookedAt, edited = subject.Untrusted, subject.LookedAt, subject.Edited

func limitFlag(flags *flagSet, defaults engine.Limits) *limits {
	flags.category("Limits")
	l := &limits{Limits: defaults}
	flags.limits = l
	flags.BoolFunc("untrusted", "expect templates that mean harm: tight limits, no second "+
		"renderer; a --limit after it changes its limits", func(string) error {
		l.untrusted, l.Limits, l.memory = true, untrusted, untrustedMemory
		return nil
	})
	flags.Var(l, "limit",
		"`NAME=VALUE`: change a limit, "+strings.Join(limitNames(), ", ")+"; may be given again")
	return l
}

// judging is how a command that serves another program checks templates: as "assay check" does,
// with the second renderer where they are trusted. end ends that one.
func (l *limits) judging() (o check.Options, end func()) {
	o.Differ = templates.Differ
	if l.untrusted {
		return o, func() {}
	}
	second := new(gonja.Renderer)
	o.Renderer = second
	return o, second.Close
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
	{"source", func(l *engine.Limits, n int) { l.Source = n }},
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

// maxSize bounds a limit, so that no sum or product of it overflows.
const maxSize = 1 << 50

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
	if n > maxSize>>shift {
		return 0, fmt.Errorf("expected at most %dG", maxSize>>30)
	}
	return int(n) << shift, nil
}
