package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/formatjson"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/peg/vm"
	"github.com/goassay/assay/engine/stream"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/corpus/reduce"
	"github.com/goassay/assay/harness/corpus/split"
	"github.com/goassay/assay/harness/corpus/tokens"
	"github.com/goassay/assay/harness/report"
)

var parseCommand = command{
	group: looking, name: "parse", args: "[TEMPLATE]",
	takes: arity{0, 1, "one template, or none beside --format"}, files: templateFiles,
	short: "parse a model's output and print the message",
	long: `The output is read from a file, or from standard input. It is parsed in one go and in
every split; exit status 1 means that a split gives another message. The message is JSON, in OpenAI's
shape of a choice. Oddities of the output are reported on standard error. With --tokens and
--tokenizer the output comes in tokens: a marker that is a token of its own matches that token only,
and the splits are groups of 1 to 8 tokens and bursts. Whether text is a call depends on the
functions that the request declares: give yours with --tools.`,
	setup: func(flags *flagSet) func(*call) error {
		p := parsing{step: new(step)}
		flags.BoolVar(&p.json, "json", false, "print diagnostics, the fate of the bytes, and "+
			"the split that differs as well")
		flags.StringVar(&p.output, "output", "-", "`FILE` with the output; - is standard input")
		flags.BoolVar(&p.cut, "cut", false, "the output was cut off by a limit on its length")
		flags.BoolVar(&p.stream, "stream", false, "print the deltas of a stream of single bytes "+
			"instead of the message")
		flags.BoolVar(&p.shrink, "minimize", false, "shrink a case in which a split differs, and "+
			"print a script that shows it")
		flags.BoolVar(&p.explain, "explain", false, "print the machine's steps, and the text that "+
			"each byte is, too")
		flags.StringVar(&p.tokens, "tokens", "",
			"`FILE` with the output as tokens: JSON lines {\"id\": 1, \"text\": \"Hi\"}")
		p.tokenizerFlag(flags)
		flags.StringVar(&p.format, "format", "",
			"`FILE` with a format as JSON in place of a template; \"assay emit format\" writes one")
		flags.StringVar(&p.prefill, "prefill", "", "beside --format, the `TEXT` that "+
			"the prompt has "+
			"after the header; default: the first that the format lists")
		p.limits = limitFlag(flags, lookedAt)
		p.requestFlags(flags)
		p.reading.incompleteFlag(flags)
		return func(c *call) error {
			p.prefilled = flags.Changed("prefill")
			if err := p.oneSource(c.args); err != nil {
				return err
			}
			names := append(slices.Clone(c.args), p.format, p.request, p.tools, p.output, p.tokens)
			if err := stdinOnce(names...); err != nil {
				return err
			}
			switch {
			case p.tokens != "":
				return p.parseTokens(c)
			case p.shrink && *p.reading != (reading{tolerances: codegen.Usual}):
				return errors.New("--minimize makes a script, and scripts read as usual; leave out " +
					"--incomplete and --tolerance")
			case p.shrink:
				return p.minimize(c)
			}
			return p.parse(c)
		}
	},
}

// parsing holds the command's arguments.
type parsing struct {
	*step
	output, tokens      string
	cut, stream, shrink bool
	format, prefill     string
	prefilled           bool // the prefill is given
}

// oneSource demands a template or a format, and the flags that go with it.
func (p *parsing) oneSource(args []string) error {
	switch {
	case p.format == "" && len(args) == 0:
		return usageError{errors.New("expected a template, or --format FILE")}
	case p.format == "" && p.prefilled:
		return usageError{errors.New("--prefill goes with --format; a template's " +
			"prompt has its own")}
	case p.format != "" && len(args) > 0:
		return usageError{fmt.Errorf("--format takes the place of the template "+
			"%s; leave out one", args[0])}
	case p.format != "" && p.tokens != "":
		return usageError{errors.New("--tokens needs a template, whose markers the " +
			"vocabulary is asked " +
			"about; leave out --format")}
	case p.format != "" && p.shrink:
		return usageError{errors.New("--minimize makes a script, which has a template; " +
			"leave out --format")}
	}
	return nil
}

// plan prepares the request with the template, or with the format that is given in its place.
func (p *parsing) plan(c *call) (*engine.Plan, error) {
	if p.format == "" {
		return p.prepare(c)
	}
	v, err := subject.ReadJSON(p.format, c.stdin)
	if err != nil {
		return nil, err
	}
	d, err := formatjson.Read(v)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.format, err)
	}
	r, err := p.readRequest(c)
	if err != nil {
		return nil, err
	}
	if err := knownFallbacks(*p.fallbacks); err != nil {
		return nil, err
	}
	prefill := p.prefill
	if !p.prefilled && len(d.Prefills) > 0 {
		prefill = d.Prefills[0]
	}
	plan, err := engine.PrepareFormat(d.Format, prefill, r, p.options())
	if err != nil {
		return nil, &failure{fmt.Errorf("%s: %w", p.format, err)}
	}
	return plan, nil
}

// reason returns why the output ended.
func (p *parsing) reason() chat.FinishReason {
	if p.cut {
		return chat.FinishLength
	}
	return chat.FinishStop
}

func (p *parsing) parse(c *call) error {
	if p.request == "" && p.tools == "" {
		names := lists.Map(standard.ToolRequest().Tools, func(t chat.Tool) string { return t.Name })
		c.note("the request has the example tools %s; --tools FILE or --request "+
			"FILE gives your own", strings.Join(names, ", "))
	}
	plan, err := p.plan(c)
	if err != nil {
		return err
	}
	output, err := c.readInput(p.output)
	if err != nil {
		return err
	}
	if p.explain {
		explainParse(c.stderr, plan, output, p.reason())
	}
	parser := plan.NewParser()
	if p.stream {
		out := bufio.NewWriter(c.stdout)
		print := func(deltas []chat.Delta) {
			for _, d := range deltas {
				fmt.Fprintln(out, d.Value())
			}
		}
		for i := range len(output) {
			print(parser.Write([]byte{output[i]}))
		}
		print(parser.Close(p.reason()))
		p.warn(c, plan, parser.Diagnostics())
		return out.Flush()
	}
	p.warn(c, plan, plan.Parse(output, p.reason()).Diagnostics)
	answer, mismatch := split.Check(parser, output, p.reason())
	value := answerValue(answer)
	if p.json {
		value = p.details(value, parser, output, mismatch)
	}
	fmt.Fprintf(c.stdout, "%s\n", value.Append(nil, ordered.Pretty))
	if mismatch != nil {
		return &failure{mismatch}
	}
	return nil
}

// warn prints the oddities of an output.
func (p *parsing) warn(c *call, plan *engine.Plan, all []stream.Diagnostic) {
	for _, d := range all {
		c.warn("byte %d of the output: %s%s", max(0, d.Off-len(plan.Prefill)), d.Msg, about(d.Text))
	}
}

// parseTokens parses an output that comes in tokens.
func (p *parsing) parseTokens(c *call) error {
	if p.output != "-" || p.shrink || p.explain || p.stream || p.json {
		return usageError{errors.New("--tokens has the output: " +
			"leave out --output, --stream, --minimize, --explain and --json")}
	}
	if p.tokenizer == "" {
		return usageError{errors.New("--tokens needs --tokenizer FILE, which says " +
			"the meaning of the ids")}
	}
	plan, err := p.prepare(c)
	if err != nil {
		return err
	}
	text, err := c.readInput(p.tokens)
	if err != nil {
		return err
	}
	tokenizer, err := tokens.Open(p.tokenizer)
	if err != nil {
		return err
	}
	list, err := tokens.Read(p.tokens, text, tokenizer)
	if err != nil {
		return err
	}
	parser := plan.NewParser()
	answer, mismatch := tokens.Check(parser, list, p.reason())
	fmt.Fprintf(c.stdout, "%s\n", answerValue(answer).Append(nil, ordered.Pretty))
	if mismatch != nil {
		return &failure{mismatch}
	}
	return nil
}

// details adds the other known facts to an answer.
func (p *parsing) details(answer ordered.Value, parser *stream.Parser, output string,
	mismatch *split.Mismatch) ordered.Value {
	split.Feed(parser, output, nil, p.reason())
	parts := ordered.ListOf(parser.Coverage(), func(s stream.Span) ordered.Value {
		return ordered.Pairs("start", s.Off-parser.Prefill(), "end", s.End-parser.Prefill(),
			"class", s.Class.String())
	})
	diagnostics := ordered.ListOf(parser.Diagnostics(),
		func(d stream.Diagnostic) ordered.Value { return ordered.Str(d.String()) })
	answer = answer.With("diagnostics", diagnostics).With("parts", parts)
	if mismatch != nil {
		answer = answer.With("split", ordered.Str(mismatch.Error()))
	}
	return answer
}

// explainParse shows how an output is read: a line for each step of the machine, and for each run
// of bytes.
func explainParse(w io.Writer, plan *engine.Plan, output string, reason chat.FinishReason) {
	parser := stream.Options{Step: func(s vm.Step) {
		fmt.Fprintf(w, "byte %d: %s\n", s.Pos, plan.Output.Program.Inst(s.PC))
	}}.NewParser(plan.Output)
	parser.Write([]byte(output))
	parser.Close(reason)
	text := plan.Prefill + output
	for _, span := range parser.Coverage() {
		fmt.Fprintf(w, "bytes %d-%d: %s %q\n", span.Off, span.End, span.Class,
			text[span.Off:span.End])
	}
}

// about shows the beginning of a diagnostic's subject.
func about(text string) string {
	if text == "" {
		return ""
	}
	return ": " + report.Quote(text, 0)
}

// minimize shrinks the case. Finding one is a failure, since there should be none.
func (p *parsing) minimize(c *call) error {
	t, err := p.template(c)
	if err != nil {
		return err
	}
	request, err := p.requestValue(c)
	if err != nil {
		return err
	}
	output, err := c.readInput(p.output)
	if err != nil {
		return err
	}
	holds, err := c.minimize(reduce.Case{Template: t, Request: request, Fallbacks: *p.fallbacks,
		Output: output, Reason: p.reason()})
	if holds {
		fmt.Fprintln(c.stderr, reduce.ErrHolds)
	}
	return err
}

// minimize shrinks a case and prints the script that shows how it fails; holds reports that it does
// not. Its error is the failure.
func (c *call) minimize(big reduce.Case) (holds bool, err error) {
	small, fault, err := big.Reduce()
	if errors.Is(err, reduce.ErrHolds) {
		return true, nil
	} else if err != nil {
		return false, err
	}
	text, err := small.Script(fault)
	if err != nil {
		return false, err
	}
	fmt.Fprint(c.data(), text)
	return false, &failure{errors.New(fault.Text)}
}

// answerValue is an answer in OpenAI's shape of a choice.
func answerValue(a split.Answer) ordered.Value {
	return ordered.Pairs("message", a.Message.Value(), "finish_reason", string(a.Finish))
}
