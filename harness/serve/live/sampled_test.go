package live

import (
	"errors"
	"fmt"
	"math/rand"
	"os"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/llama"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/testkit/share"
)

// TestSampled puts the battery to the grammars instead of to a model: every text that a plan's
// grammar allows must be read as the request wants it. Sentences are drawn, and then openers,
// closers and whole calls with arguments that no schema wants are put into them wherever the
// grammar lets them through, since a parser may read something else there than the grammar meant.
func TestSampled(t *testing.T) {
	all, err := families.Load(corpus.FS)
	if err != nil {
		t.Fatal(err)
	}
	vendor, seeds := os.Getenv("ASSAY_VENDOR"), int64(1) // quick without the vendors' templates
	if vendor != "" && share.Whole() {
		seeds = 2
	}
	for i := range all.Families {
		f := &all.Families[i]
		if f.Own && share.Has(f.Name, 4) {
			text, err := all.Text(f.Name)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(f.Name, func(t *testing.T) { t.Parallel(); sampled(t, f.Name, text, seeds) })
		}
		for _, v := range f.Vendors {
			if vendor == "" || !share.Has(v.Name, 4) {
				continue
			}
			text, err := families.ReadVendor(os.DirFS(vendor), v)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(v.Name, func(t *testing.T) { t.Parallel(); sampled(t, v.Name, text, seeds) })
		}
	}
}

// sampled judges as many sentences as there are seeds of the grammars of one template's requests.
func sampled(t *testing.T, name, text string, seeds int64) {
	tm, err := subject.New(name, text).Compile()
	if err != nil {
		t.Fatal(err)
	}
	tools := tm.Gate().Pass()
	for i := range battery {
		s := &battery[i]
		if s.tools && !tools || s.result && !tm.Caps().ToolCalls {
			continue
		}
		request, err := ordered.ParseString(expand.Replace(s.request))
		if err != nil {
			t.Fatal(err)
		}
		r, err := chat.ParseRequest(request)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := tm.Prepare(r, engine.PrepareOptions{})
		if refused := (*source.Error)(nil); errors.As(err, &refused) {
			t.Logf("%s: %v", s.name, err)
			continue
		} else if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		for _, trigger := range plan.Triggers {
			if trigger.Pattern && unbounded(t, trigger.Text) {
				t.Errorf("%s: the trigger %s has an unbounded repetition, which would exhaust a "+
					"backtracking engine's stack", s.name, trigger.Text)
			}
		}
		grammar, err := plan.Output.Grammar()
		if err != nil || grammar == nil || !constrains(r) {
			if err != nil {
				t.Errorf("%s: %v", s.name, err)
			}
			continue
		}
		matcher, err := gbnf.NewMatcher(grammar)
		if err != nil {
			t.Fatal(err)
		}
		p := &probe{t: t, s: s, r: r, plan: plan, format: tm.Analysis().Format, matcher: matcher,
			random: rand.New(rand.NewSource(int64(i))), snippets: snippets(t, tm, r, plan)}
		for seed := range seeds {
			sampler, err := gbnf.NewSampler(grammar, rand.New(rand.NewSource(seed)))
			if err != nil {
				t.Fatal(err)
			}
			sentence, err := sampler.Sample()
			if err != nil {
				t.Fatal(err)
			}
			if p.all(fmt.Sprintf("seed %d", seed), sentence); t.Failed() {
				return
			}
		}
	}
}

// unbounded reports whether a regular expression has a repetition without a bound.
func unbounded(t *testing.T, pattern string) bool {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	var in func(re *syntax.Regexp) bool
	in = func(re *syntax.Regexp) bool {
		return re.Op == syntax.OpStar || re.Op == syntax.OpPlus ||
			re.Op == syntax.OpRepeat && re.Max < 0 || slices.ContainsFunc(re.Sub, in)
	}
	return in(re)
}

// snippets are put into sentences: markers, openers, and calls as they come where the functions
// take any argument.
func snippets(t *testing.T, tm *engine.Template, r chat.Request, plan *engine.Plan) []string {
	out := append(slices.Clone(plan.Preserved), " ", "\n", "\n\n", ",", "]", "}", "```", "x")
	for _, trigger := range plan.Triggers {
		if !trigger.Pattern {
			out = append(out, trigger.Text)
		}
	}
	free := r
	free.ToolChoice, free.OneCall, free.HasJSONSchema = chat.ToolChoice{Mode: chat.ChoiceRequired},
		false, false
	free.Tools = slices.Clone(r.Tools)
	for i := range free.Tools {
		v, err := ordered.ParseString(`{"type": "object", "properties": {"city": {"type": "integer"}, "unit": {"type": "string"}, "wrong": {"type": "boolean"}}}`)
		if err != nil {
			t.Fatal(err)
		}
		free.Tools[i].Parameters = v
	}
	if len(free.Tools) == 0 {
		return out
	}
	loose, err := tm.Prepare(free, engine.PrepareOptions{})
	if err != nil {
		return out
	}
	grammar, err := loose.Output.Grammar()
	if err != nil || grammar == nil {
		return out
	}
	for seed := range int64(8) {
		sampler, err := gbnf.NewSampler(grammar, rand.New(rand.NewSource(seed)))
		if err != nil {
			t.Fatal(err)
		}
		sampler.Max = 60
		if text, err := sampler.Sample(); err == nil {
			out = append(out, text)
			for _, m := range plan.Preserved { // a call without its surroundings
				if _, tail, ok := strings.Cut(text, m); ok {
					out = append(out, m+tail, tail)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// probe judges the answers to one request.
type probe struct {
	t        *testing.T
	s        *scenario
	r        chat.Request
	plan     *engine.Plan
	format   format.Format
	matcher  *gbnf.Matcher
	random   *rand.Rand
	snippets []string
}

// all judges a sentence and its reading.
func (p *probe) all(what, sentence string) {
	prefixes := []string{""}
	if p.plan.Lazy {
		prefixes = append(prefixes, "I look that up. ", "\n")
		for _, m := range p.plan.Preserved {
			if p.ends(m) { // then nothing comes that matters
				continue
			}
			prefixes = append(prefixes, m, "Well. "+m+" hm ")
		}
	}
	judge := func(what, prefix, sentence string) {
		text := prefix + sentence
		if p.plan.Lazy {
			if armed, ok := p.plan.Output.Constrained(text); !ok || armed != sentence {
				return
			}
		}
		p.judge(what, text)
	}
	for _, prefix := range prefixes {
		if judge(what, prefix, sentence); p.t.Failed() {
			return
		}
	}
	for _, once := range p.changed(sentence) {
		judge(what+", changed", prefixes[p.random.Intn(len(prefixes))], once)
		if p.random.Intn(4) == 0 {
			for _, twice := range p.changed(once) {
				judge(what+", changed twice", prefixes[p.random.Intn(len(prefixes))], twice)
			}
		}
		if p.t.Failed() {
			return
		}
	}
}

// ends reports whether a marker ends the turn.
func (p *probe) ends(marker string) bool {
	return slices.ContainsFunc(p.format.End,
		func(end string) bool { return strings.HasPrefix(strings.TrimSpace(end), marker) })
}

// changed puts snippets into a sentence at some places, and returns the part of the result that the
// grammar allows.
func (p *probe) changed(sentence string) (all []string) {
	const places, tries = 16, 8
	at := make([]int, places)
	for i := range at {
		at[i] = p.random.Intn(len(sentence) + 1)
	}
	slices.Sort(at)
	m := p.matcher
	for _, n := range at {
		for range tries {
			text := sentence[:n] + p.snippets[p.random.Intn(len(p.snippets))] + sentence[n:]
			if m.Reset(); m.AcceptString(text) && m.Done() {
				all = append(all, text)
			}
		}
	}
	return all
}

// judge reads an answer in pieces, as a run does, and fails the test if anything does not hold.
func (p *probe) judge(what, text string) {
	out := &Outcome{Scenario: p.s.name, Grammar: true}
	for _, stop := range p.plan.Stops { // as a server does
		if before, _, found := strings.Cut(text, stop); found {
			text, out.Result.End, out.Cut = before, llama.EndStop, true
		}
	}
	out.Output = text
	parser := p.plan.NewParser()
	streamed := new(collector)
	for rest := text; rest != ""; {
		n := 1 + p.random.Intn(min(len(rest), 12))
		streamed.add(parser.Write([]byte(rest[:n])))
		rest = rest[n:]
	}
	streamed.add(parser.Close(ending(out.Cut)))
	out.Message = parser.Message()
	out.check(p.plan, p.r, parser, streamed, nil, p.s, true)
	if len(out.Faults) > 0 {
		p.t.Errorf("%s, %s, lazy %t: %s\n  prefill "+
			"%q\n  answer  %q\n  message %s", p.s.name, what, p.plan.Lazy,
			strings.Join(out.Faults, "\n  "), p.plan.Prefill, text, out.Message.Value())
	}
}
