package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/dialect"
	"github.com/goassay/assay/engine/model/tokenizer"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/report/spelling"
)

// step has the parts shared by the commands that look at one step of a request's life: a template,
// a request and how to print.
type step struct {
	request   string
	tools     string
	fallbacks *[]string
	reading   *reading
	insist    bool
	limits    *limits
	now       func() time.Time // the clock of templates; nil: that of package subject
	json      bool
	explain   bool
	tokenizer string // where the vocabulary is; "": nowhere

	vocabulary *engine.Vocabulary // of the tokenizer
}

// nowFlag adds the flag of the clock that templates read.
func nowFlag(flags *flagSet, now *func() time.Time) {
	flags.Func("now", "the `TIME` that templates read, a day or RFC 3339; default: "+
		subject.Now().Format(time.RFC3339)+", which is every run's", func(text string) error {
		at, err := time.Parse(time.DateOnly, text)
		if err != nil {
			at, err = time.Parse(time.RFC3339, text)
		}
		if err != nil {
			return errors.New("expected a day such as 2026-01-31, or 2026-01-31T12:00:00Z")
		}
		*now = func() time.Time { return at }
		return nil
	})
}

// flags adds the flags of all those commands.
func (s *step) flags(flags *flagSet) *step {
	flags.BoolVar(&s.json, "json", false, "print JSON")
	s.limits = limitFlag(flags, lookedAt)
	return s
}

// requestFlags adds the flags of commands that take a request.
func (s *step) requestFlags(flags *flagSet) *step {
	flags.category("The request")
	flags.StringVar(&s.request, "request", "", "`FILE` with the request, OpenAI's JSON; default: "+
		"the battery's request with tools")
	flags.StringVar(&s.tools, "tools", "", "`FILE` with tools, a JSON array, in place "+
		"of the request's")
	s.fallbacks = fallbackFlag(flags)
	s.reading = toleranceFlag(flags)
	flags.BoolVar(&s.insist, "insist", false, "go on with tools though no verified spelling of "+
		"calls was found")
	return s
}

// tokenizerFlag adds the flag for a vocabulary.
func (s *step) tokenizerFlag(flags *flagSet) {
	flags.StringVar(&s.tokenizer, "tokenizer", "",
		"`FILE` with the added tokens: tokenizer.json, tokenizer_config.json, a GGUF, "+
			"or a model folder")
}

// stdinOnce refuses a command line that wants standard input for more than one thing.
func stdinOnce(names ...string) error {
	wants := 0
	for _, name := range names {
		if file, _, _ := strings.Cut(name, "#"); file == "-" {
			wants++
		}
	}
	if wants > 1 {
		return errors.New("standard input can be one of template, request, tools and output, not " +
			"more; give files for the others (--request, --tools, --output)")
	}
	return nil
}

// template compiles the command's first argument. A template that does not compile is a verdict,
// not wrong usage.
func (s *step) template(c *call) (*engine.Template, error) {
	src, err := s.source(c)
	if err != nil {
		return nil, err
	}
	t, err := src.Compile()
	if err != nil {
		return nil, &failure{err}
	}
	return t, exhausted(t)
}

// source opens the template with the options that were asked for.
func (s *step) source(c *call) (src subject.Source, err error) {
	if err := stdinOnce(c.args[0], s.request, s.tools); err != nil {
		return src, err
	}
	src, err = c.open(c.args[0])
	if err != nil {
		return src, err
	}
	o := engine.Options{Limits: s.limits.Limits, Now: s.now}
	if s.tokenizer != "" {
		if o.Vocabulary, err = tokenizer.Vocabulary(s.tokenizer); err != nil {
			return src, err
		}
		s.vocabulary = o.Vocabulary
	}
	return subject.With(c.ctx, []subject.Source{src}, o)[0], nil
}

// open opens a template, and names the one of several.
func (c *call) open(name string) (subject.Source, error) {
	src, err := subject.Open(name, c.stdin)
	if err == nil {
		c.noteShadowed(name, src)
	}
	return src, err
}

// noteShadowed names the templates that were left out for one.
func (c *call) noteShadowed(name string, src subject.Source) {
	if len(src.Shadowed) > 0 {
		c.note("of %s this takes %s, as transformers does for requests with tools, and leaves "+
			"out %s; to choose another one type its name, %[4]s",
			name, src.Name, strings.Join(src.Shadowed, ", "), src.Shadowed[0])
	}
}

// note says something on stderr that is no error.
func (c *call) note(format string, args ...any) { c.say("note", format, args...) }

// warn reports on stderr that something is likely a mistake.
func (c *call) warn(format string, args ...any) { c.say("warning", format, args...) }

func (c *call) say(kind, format string, args ...any) {
	fmt.Fprintf(c.stderr, "assay: %s: %s\n", kind, fmt.Sprintf(format, args...))
}

// requestValue is the request as JSON.
func (s *step) requestValue(c *call) (ordered.Value, error) {
	request := standard.Tools().JSON()
	if s.request != "" {
		var err error
		if request, err = subject.ReadJSON(s.request, c.stdin); err != nil {
			return ordered.Value{}, err
		}
	}
	if s.tools == "" {
		return request, nil
	}
	tools, err := subject.ReadJSON(s.tools, c.stdin)
	return request.With("tools", tools), err
}

func (s *step) readRequest(c *call) (chat.Request, error) {
	v, err := s.requestValue(c)
	if err != nil {
		return chat.Request{}, err
	}
	r, err := chat.ParseRequest(v)
	if err != nil {
		return r, fmt.Errorf("%s: %w", s.request, err)
	}
	c.warnFields(v)
	return r, nil
}

// warnMessages names the parts of the caller's own request that do not reach the prompt.
func (s *step) warnMessages(c *call, t *engine.Template, r chat.Request) {
	if s.request != "" {
		c.warnMessages(t, r)
	}
}

// prepare compiles the template and prepares the request.
func (s *step) prepare(c *call) (*engine.Plan, error) {
	t, err := s.template(c)
	if err != nil {
		return nil, err
	}
	r, err := s.readRequest(c)
	if err != nil {
		return nil, err
	}
	if err := knownFallbacks(*s.fallbacks); err != nil {
		return nil, err
	}
	plan, err := t.Prepare(r, s.options())
	if incomplete := exhausted(t); incomplete != nil {
		return nil, incomplete
	}
	if errors.Is(err, engine.ErrUnverified) {
		err = fmt.Errorf("%s\n--fallback NAME allows a spelling: %s; --insist "+
			"goes on as it is", strings.TrimSpace(err.Error()), strings.Join(dialect.Names(), ", "))
	}
	if err != nil {
		return nil, &failure{err}
	}
	s.warnMessages(c, t, r)
	return plan, nil
}

// options returns how answers are to be read.
func (s *step) options() engine.PrepareOptions {
	o := s.reading.options(*s.fallbacks)
	o.Insist = s.insist
	return o
}

// reading is how answers are read where engines differ: docs/reference/policies.md has the names.
type reading struct {
	tolerances engine.Tolerances
	incomplete codegen.Incomplete
}

// options returns them with the fallback spellings that are allowed.
func (r *reading) options(fallbacks []string) engine.PrepareOptions {
	return engine.PrepareOptions{Fallbacks: fallbacks, Incomplete: r.incomplete,
		Tolerances: &r.tolerances}
}

// toleranceFlag adds the flag that switches tolerances: --tolerance NAME=on|off.
func toleranceFlag(flags *flagSet) *reading {
	r := &reading{tolerances: codegen.Usual}
	flags.Var((*toleranceValue)(&r.tolerances), "tolerance", "`NAME=on|off`: switch a tolerance "+
		"of the parser, "+strings.Join(codegen.ToleranceNames(), ", ")+"; may be given again")
	flags.completes("tolerance", func() []string {
		var words []string
		for _, name := range codegen.ToleranceNames() {
			words = append(words, name+"=on", name+"=off")
		}
		return words
	})
	return r
}

// incompleteFlag adds the flag for the policy.
func (r *reading) incompleteFlag(flags *flagSet) {
	flags.Var((*incompleteValue)(&r.incomplete), "incomplete", "`POLICY` for calls that break off "+
		"or are malformed: "+strings.Join(codegen.IncompleteNames(), ", "))
	flags.completes("incomplete", codegen.IncompleteNames)
}

// toleranceValue is the set of the tolerances that are on.
type toleranceValue engine.Tolerances

func (v *toleranceValue) String() string { return "" }

// Type implements pflag.Value.
func (v *toleranceValue) Type() string { return "tolerance" }

func (v *toleranceValue) Set(text string) error {
	name, state, _ := strings.Cut(text, "=")
	one, err := codegen.ParseTolerance(name)
	if err != nil || state != "on" && state != "off" {
		names := codegen.ToleranceNames()
		return fmt.Errorf("expected NAME=on or NAME=off with a NAME of %s%s",
			strings.Join(names, ", "), spelling.Meant(name, names))
	}
	if *v &^= toleranceValue(one); state == "on" {
		*v |= toleranceValue(one)
	}
	return nil
}

// incompleteValue is the policy for incomplete calls.
type incompleteValue codegen.Incomplete

func (v *incompleteValue) String() string { return codegen.Incomplete(*v).String() }

// Type implements pflag.Value.
func (v *incompleteValue) Type() string { return "policy" }

func (v *incompleteValue) Set(text string) error {
	policy, err := codegen.ParseIncomplete(text)
	if err != nil {
		return fmt.Errorf("expected one of %s", strings.Join(codegen.IncompleteNames(), ", "))
	}
	*v = incompleteValue(policy)
	return nil
}

// fallbackFlag is the flag that allows fallback spellings.
func fallbackFlag(flags *flagSet) *[]string {
	names := flags.StringArray("fallback", nil, "allow the fallback spelling of this `NAME`; "+
		"may be given again")
	flags.completes("fallback", dialect.Names)
	return names
}

// knownFallbacks refuses a name that no fallback spelling has.
func knownFallbacks(names []string) error {
	for _, name := range names {
		if _, ok := dialect.Lookup(name); !ok {
			return fmt.Errorf("there is no fallback spelling "+
				"%q; there are %s%s", name, strings.Join(dialect.Names(), ", "),
				spelling.Meant(name, dialect.Names()))
		}
	}
	return nil
}

// maxInput bounds an output, a list or a key that is read into memory whole, in bytes. A device, or
// a program that writes without end, would take all memory.
const maxInput = 64 << 20

// readInput reads a file, or stdin where the name is "-".
func (c *call) readInput(name string) (string, error) {
	if name != "-" {
		text, err := readFile(name)
		return string(text), err
	}
	text, err := readAll("standard input", c.stdin)
	return string(text), err
}

// readFile reads a file that is named on the command line.
func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(name, f)
}

func readAll(name string, r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err == nil && len(text) > maxInput {
		err = fmt.Errorf("%s: larger than %d MiB", name, maxInput>>20)
	}
	return text, err
}
