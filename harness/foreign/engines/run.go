package engines

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/goassay/assay/harness/foreign/responsetemplate"
)

// Result is the outcome of one case in one engine, cut in one way.
type Result struct {
	Engine  string `json:"engine"`
	Version string `json:"version"`
	Family  string `json:"family"`
	Case    string `json:"case"`
	About   string `json:"about,omitempty"`
	Cut     cut    `json:"cut"`
	Parser  Parser `json:"parser"`
	Judgement
	// Of faults and policies: the output, the chunks that show the difference, both messages.
	Output string   `json:"output,omitempty"`
	Chunks []string `json:"chunks,omitempty"`
	Want   *Message `json:"want,omitempty"`
	Got    *Message `json:"got,omitempty"`
	// Of faults in prompts: the template's variables, and both prompts.
	Vars       json.RawMessage `json:"vars,omitempty"`
	WantPrompt string          `json:"want_prompt,omitempty"`
	GotPrompt  string          `json:"got_prompt,omitempty"`
}

// key identifies the subject of a result, so that a later run replaces it.
func (r *Result) key() string { return r.Engine + "\x00" + r.Case + "\x00" + string(r.Cut) }

// Run runs the cases of a template in an engine, with the parsers that read the most of the
// template's turns.
func (a *Adapter) Run(ctx context.Context, s *Subject, cases []Case, choice Choice,
	found func(Result)) error {
	p, err := a.favour(ctx, cases, choice)
	if err != nil {
		return err
	}
	for i := range cases {
		c := &cases[i]
		if lacks := a.lacks(c, choice, p); lacks != "" {
			found(a.unread(c, p, lacks))
			continue
		}
		if err := a.all(ctx, c, p, uint64(i), found); err != nil {
			return err
		}
	}
	return nil
}

// RunEmitted runs cases in an engine that parses with an object given in the request: the one that
// is emitted from the template's format. The results name an engine of their own, "NAME with ours".
func (a *Adapter) RunEmitted(ctx context.Context, s *Subject, cases []Case,
	found func(Result)) error {
	name := a.Engine + " with ours"
	rename := func(r Result) {
		r.Engine = name
		found(r)
	}
	object, err := responsetemplate.Emit(s.Template)
	if err != nil {
		for i := range cases {
			rename(a.unread(&cases[i], Parser{}, err.Error()))
		}
		return nil
	}
	for i, c := range cases {
		c.Request.ResponseTemplate = json.RawMessage(object.String())
		if err := a.all(ctx, &c, Parser{}, uint64(i), rename); err != nil {
			return err
		}
	}
	return nil
}

// result begins the result of a case.
func (a *Adapter) result(c *Case, how cut, p Parser) Result {
	return Result{Engine: a.Engine, Version: a.Version, Family: c.Family, Case: c.ID,
		About: c.About, Cut: how, Parser: p}
}

// unread is the result of a case for which there is no parser.
func (a *Adapter) unread(c *Case, p Parser, why string) Result {
	r := a.result(c, whole, p)
	r.Judgement = Judgement{NoParser, "", why}
	return r
}

// favour breaks ties between parsers that read equally many of the template's turns: it takes those
// that read the most cases, so that each engine is judged at its best.
func (a *Adapter) favour(ctx context.Context, cases []Case, choice Choice) (Parser, error) {
	best := choice.Best
	tied := func(readings []Reading) []string {
		var names []string
		for _, r := range readings {
			if r.Read > 0 && r.Read == readings[0].Read {
				names = append(names, r.Parser)
			}
		}
		return names
	}
	try := func(cases []Case, names []string, with func(string) Parser) (string, error) {
		if len(names) < 2 {
			return "", nil
		}
		top, most := "", -1
		for _, name := range names {
			right := 0
			for i := range cases {
				good := true
				for _, how := range cuts {
					if how == runes || how != whole && !a.Streams {
						continue // the results with tokens are enough to choose
					}
					r, err := a.one(ctx, &cases[i], with(name), how, uint64(i))
					if err != nil {
						return "", err
					}
					good = good && (r.Verdict == Equal || r.Verdict == Spaced)
				}
				if good {
					right++
				}
			}
			if right > most {
				top, most = name, right
			}
		}
		return top, nil
	}
	if a.OneParser {
		name, err := try(cases, tied(choice.Tools), func(n string) Parser { return Parser{n, n} })
		if name != "" {
			best = Parser{name, name}
		}
		return best, err
	}
	tools, with := tied(choice.Tools), cases
	if choice.Undisclosed {
		// Only the family's outputs show which parser reads its calls: "" comes first, and wins if
		// none does.
		with = those(cases, Case.calls)
		tools = append([]string{""}, a.ToolParsers...)
	}
	name, err := try(with, tools, func(n string) Parser { return Parser{n, best.Reasoning} })
	if err != nil {
		return best, err
	}
	if name != "" {
		best.Tool = name
	}
	thoughts := tied(choice.Thoughts)
	if len(choice.Thoughts) == 0 &&
		slices.ContainsFunc(cases, func(c Case) bool { return c.Want.Reasoning != "" }) {
		// The template strips reasoning from its history and never writes it.
		if thoughts = append([]string{""}, a.ReasoningParsers...); choice.Detected != nil &&
			choice.Detected.Reasoning != "" {
			thoughts = []string{choice.Detected.Reasoning}
			best.Reasoning = thoughts[0]
		}
	}
	name, err = try(cases, thoughts, func(n string) Parser { return Parser{best.Tool, n} })
	if name != "" {
		best.Reasoning = name
	}
	return best, err
}

// lacks returns the part of a case that no parser of the engine reads; "" where none is missing.
func (a *Adapter) lacks(c *Case, choice Choice, p Parser) string {
	switch {
	case a.ByTemplate:
		return ""
	case c.Tools && p.Tool == "" && len(choice.Tools) > 0:
		return "no parser reads the calls that the template writes"
	case c.Tools && p.Tool == "" && choice.Undisclosed:
		return "no parser reads a call of the family's outputs, and the template writes none"
	case c.Want.Reasoning != "" && p.Reasoning == "":
		return "no parser reads the reasoning that the template writes"
	}
	return ""
}

// all runs a case in an engine, cut in every way.
func (a *Adapter) all(ctx context.Context, c *Case, p Parser, seed uint64,
	found func(Result)) error {
	var batch *Message
	for _, how := range cuts {
		if how != whole && !a.Streams {
			continue
		}
		r, err := a.one(ctx, c, p, how, seed)
		if err != nil {
			return err
		}
		switch {
		case how == whole:
			batch = r.Got
		case r.Got != nil && batch != nil &&
			(r.Verdict == Equal || r.Verdict == Spaced || r.Verdict == Policy):
			// The result of the whole output has been judged; a stream must give the same.
			if text := streamDiffers(*batch, *r.Got); text != "" {
				r.Judgement = Judgement{Fault, "stream differs", text}
			}
		}
		if r.Verdict != Fault && r.Verdict != Policy {
			r.Output, r.Chunks, r.Want, r.Got = "", nil, nil, nil
		}
		found(r)
	}
	return nil
}

// one runs a case in an engine, cut in one way.
func (a *Adapter) one(ctx context.Context, c *Case, p Parser, how cut,
	seed uint64) (Result, error) {
	r := c.Request
	r.Parser = &p
	r.Chunks = how.chunks(r.Output, r.SpecialTokens, seed)
	answer, err := a.Ask(ctx, r)
	if err != nil {
		return Result{}, err
	}
	res := a.result(c, how, p)
	res.Output, res.Chunks, res.Want, res.Got = r.Output, r.Chunks, &c.Want, answer.Message
	res.Judgement = Judge(c, answer)
	if how != whole && answer.Deltas != nil && res.Verdict != Fault {
		if breach := Breach(answer.Deltas); breach != "" {
			res.Judgement = Judgement{Fault, "delta protocol", breach}
		}
	}
	return res, nil
}

// streamDiffers describes the difference between a batch and a stream that were both judged right:
// in the number of calls, or in the texts apart from white space.
func streamDiffers(batch, stream Message) string {
	switch {
	case len(batch.Calls) != len(stream.Calls):
		return fmt.Sprintf("%d calls in one go, %d streamed", len(batch.Calls), len(stream.Calls))
	case squeezed(batch.Reasoning) != squeezed(stream.Reasoning):
		return fmt.Sprintf("reasoning %q in one go, %q streamed", batch.Reasoning, stream.Reasoning)
	case squeezed(batch.Content) != squeezed(stream.Content):
		return fmt.Sprintf("content %q in one go, %q streamed", batch.Content, stream.Content)
	}
	return ""
}

// Choice is the result of [Adapter.Pick]: the engine's own detection, the parsers that read most,
// and how many turns each parser reads.
type Choice struct {
	Best Parser `json:"best"`
	// Undisclosed reports whether the template shows tools to its model and never writes a call, so
	// that there are no calls to try.
	Undisclosed bool      `json:"undisclosed,omitempty"`
	Detected    *Parser   `json:"detected,omitempty"` // the engine's own choice, where it makes one
	Tools       []Reading `json:"tools"`              // by how much they read, best first
	Thoughts    []Reading `json:"reasoning"`
}

// Reading is how many of a template's turns a parser reads.
type Reading struct {
	Parser string `json:"parser"`
	Read   int    `json:"read"`
	Of     int    `json:"of"`
	// First reports whether it reads the first turn, the plainest.
	First bool `json:"first"`
	// Other is how many of those that it reads it reads in the order of models alone, which is not
	// that of the template's history.
	Other int `json:"other,omitempty"`
	// Witness is the first turn that it misreads, and how.
	Witness string `json:"witness,omitempty"`
}

// reads reports whether a parser reads all turns.
func (r Reading) reads() bool { return r.Of > 0 && r.Read == r.Of }

// Fits reports whether a parser of the given name reads every turn. A name that is not among the
// readings does not fit.
func Fits(readings []Reading, name string) (Reading, bool) {
	i := slices.IndexFunc(readings, func(r Reading) bool { return r.Parser == name })
	if i < 0 {
		return Reading{Parser: name}, false
	}
	return readings[i], readings[i].reads()
}

func (c Case) calls() bool  { return len(c.Want.Calls) > 0 }
func (c Case) thinks() bool { return c.Want.Reasoning != "" && !c.calls() }
func (c Case) plain() bool  { return c.Want.Reasoning == "" && !c.calls() }

// those returns the cases of a kind.
func those(cases []Case, kind func(Case) bool) []Case {
	return slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return !kind(c) })
}

// Pick tries every parser of the engine on the turns of a template.
func (a *Adapter) Pick(ctx context.Context, s *Subject) (Choice, error) {
	turns, err := s.Turns()
	if err != nil {
		return Choice{}, err
	}
	choice := Choice{Undisclosed: s.Template.Analysis().Format.Undisclosed}
	if a.ByTemplate {
		return a.own(ctx, turns, choice)
	}
	answer, err := a.Ask(ctx, Request{Op: "detect", Template: s.Source.Text,
		Vocabulary: s.vocabulary()})
	if err != nil {
		return Choice{}, err
	}
	choice.Detected = answer.Parser
	first := Parser{}
	if choice.Detected != nil {
		first = *choice.Detected
	}
	if a.OneParser {
		both := func(c *Case, got Message) string {
			return cmp.Or(readsCalls(c, got), readsThoughts(c, got))
		}
		if choice.Tools, err = a.readings(ctx, leading(a.ToolParsers, first.Tool), turns,
			func(name string) Parser { return Parser{name, name} }, both); err != nil {
			return Choice{}, err
		}
		if len(choice.Tools) > 0 && choice.Tools[0].Read > 0 {
			choice.Best = Parser{choice.Tools[0].Parser, choice.Tools[0].Parser}
		}
		return choice, nil
	}
	if thoughts := those(turns, Case.thinks); len(thoughts) > 0 {
		thoughts = append(thoughts, those(turns, Case.plain)...)
		if choice.Thoughts, err = a.readings(ctx, leading(a.ReasoningParsers, first.Reasoning),
			thoughts, func(name string) Parser { return Parser{Reasoning: name} },
			readsThoughts); err != nil {
			return Choice{}, err
		}
		if len(choice.Thoughts) > 0 && choice.Thoughts[0].Read > 0 {
			choice.Best.Reasoning = choice.Thoughts[0].Parser
		}
	}
	reads := first.Reasoning // a parser that misreads reasoning would spoil the calls
	if len(choice.Thoughts) > 0 && choice.Thoughts[0].reads() {
		reads = choice.Best.Reasoning
	}
	calls := those(turns, Case.calls)
	if len(calls) == 0 {
		return choice, nil
	}
	if choice.Tools, err = a.readings(ctx, leading(leading(a.ToolParsers, reads), first.Tool),
		calls, func(name string) Parser { return Parser{name, reads} }, readsCalls); err != nil {
		return Choice{}, err
	}
	if len(choice.Tools) > 0 && choice.Tools[0].Read > 0 {
		choice.Best.Tool = choice.Tools[0].Parser
	}
	return choice, nil
}

// byTemplate is the name of the parser that an engine derives from the template itself.
const byTemplate = "the one that it makes of the template"

// own tries the parser that an engine derives from a template, and records it as the one detected.
func (a *Adapter) own(ctx context.Context, turns []Case, choice Choice) (Choice, error) {
	var err error
	choice.Detected = &Parser{byTemplate, byTemplate}
	try := func(cases []Case, reads func(*Case, Message) string) ([]Reading, error) {
		if len(cases) == 0 {
			return nil, nil
		}
		return a.readings(ctx, []string{byTemplate}, cases,
			func(string) Parser { return Parser{} }, reads)
	}
	if choice.Tools, err = try(those(turns, Case.calls), readsCalls); err != nil {
		return Choice{}, err
	}
	choice.Thoughts, err = try(those(turns, Case.thinks), readsThoughts)
	return choice, err
}

// leading returns names with one of them first, so that it wins ties.
func leading(names []string, first string) []string {
	i := slices.Index(names, first)
	if i < 0 {
		return names
	}
	return slices.Concat(names[i:i+1], names[:i], names[i+1:])
}

// readings tries parsers on cases, best first; ties are in the engine's order.
func (a *Adapter) readings(ctx context.Context, names []string, cases []Case,
	parser func(string) Parser, reads func(*Case, Message) string) ([]Reading, error) {
	var all []Reading
	for _, name := range names {
		r := Reading{Parser: name, Of: len(cases)}
		failed := 0
		for i := range cases {
			c := &cases[i]
			request, p := c.Request, parser(name)
			request.Parser = &p
			text, err := a.misread(ctx, c, request, reads)
			again := func(output string) bool {
				if err != nil || text == "" || output == "" {
					return false
				}
				request.Output = output
				var other string
				if other, err = a.misread(ctx, c, request, reads); other == "" {
					text = ""
				}
				return other == ""
			}
			if c.End != "" { // servers that keep the end token pass it to the parser
				again(c.Request.Output + c.End)
			}
			if again(c.Other) {
				r.Other++
			}
			if err != nil {
				return nil, err
			}
			if text == "" {
				r.Read++
				r.First = r.First || i == 0
				failed = 0
				continue
			}
			if r.Witness == "" {
				r.Witness = fmt.Sprintf("%s: %s\noutput: %q", c.About, text, c.Request.Output)
			}
			if failed++; failed == 4 && r.Read == 0 {
				break // it reads nothing of this spelling
			}
		}
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(x, y Reading) int { return y.Read - x.Read })
	return all, nil
}

// misread returns the fault in an engine's reading of a request; "" where there is none.
func (a *Adapter) misread(ctx context.Context, c *Case, r Request,
	reads func(*Case, Message) string) (string, error) {
	answer, err := a.Ask(ctx, r)
	if err != nil || answer.Message == nil {
		return answer.Error + answer.Unsupported, err
	}
	return reads(c, *answer.Message), nil
}

// readsCalls returns the first fault in the calls of a message. Reasoning beside calls is left to
// another parser.
func readsCalls(c *Case, got Message) string {
	_, text := callsDiffer(c, got.Calls)
	return text
}

// readsThoughts returns the first fault in reasoning or content.
func readsThoughts(c *Case, got Message) string {
	if squeezed(c.Want.Reasoning) != squeezed(got.Reasoning) {
		return fmt.Sprintf("reasoning_content is %q, want %q", got.Reasoning, c.Want.Reasoning)
	}
	if squeezed(c.Want.Content) != squeezed(got.Content) {
		return fmt.Sprintf("content is %q, want %q", got.Content, c.Want.Content)
	}
	return ""
}
