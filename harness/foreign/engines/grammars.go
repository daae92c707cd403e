package engines

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand"
	"regexp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/emit"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/corpus/families"
)

// Turn is an output that a grammar takes or does not take.
type Turn struct {
	Request string // the case that it is of, and how the tools may be chosen
	Text    []byte // of any bytes
	plan    *constrained
}

// constrained is a plan with the matchers of its grammars.
type constrained struct {
	name    string
	plan    *engine.Plan
	grammar *gbnf.Grammar
	outputs []string
	markers []string
	whole   *gbnf.Matcher
	lazy    *gbnf.Matcher // where the structural tag waits for a word
}

// takes reports whether our matcher takes a turn in a language: by the grammar of all of it, or,
// where a structural tag waits for a word, by the one from that word on.
func (c *constrained) takes(language string, turn []byte) (bool, error) {
	m := c.whole
	if language == StructuralTag && c.lazy != nil {
		text, ok := c.plan.Output.Constrained(string(turn))
		if !ok {
			return true, nil
		}
		m, turn = c.lazy, []byte(text)
	}
	m.Reset()
	m.Accept(turn)
	return m.Done(), m.Err()
}

// The languages of grammars, as adapters name them.
const (
	EBNF          = "ebnf"
	Lark          = "lark"
	StructuralTag = "structural-tag"
)

// write returns the grammar of a plan in a language.
func (c *constrained) write(language string) (string, error) {
	switch language {
	case EBNF:
		return emit.EBNF(c.plan.Output)
	case Lark:
		return emit.Lark(c.plan.Output, nil)
	case StructuralTag:
		v, err := emit.StructuralTag(c.plan.Output)
		return v.String(), err
	}
	return "", fmt.Errorf("no grammar is written in %q", language)
}

// toolChoice is a way in which a case's request is changed.
type toolChoice struct {
	name  string
	apply func(request ordered.Value, tool string) ordered.Value
}

var choices = []toolChoice{
	{"as it is", func(r ordered.Value, _ string) ordered.Value { return r }},
	{"required", func(r ordered.Value, _ string) ordered.Value {
		return r.With("tool_choice", ordered.Str("required"))
	}},
	{"named", func(r ordered.Value, tool string) ordered.Value {
		function := ordered.Pairs("name", tool)
		return r.With("tool_choice", ordered.Pairs("type", "function", "function", function))
	}},
	{"one call", func(r ordered.Value, _ string) ordered.Value {
		return r.With("parallel_tool_calls", ordered.Boolean(false))
	}},
}

// Drawer draws turns from the outputs of a corpus.
type Drawer struct {
	families []string
	plans    map[string][]*constrained
	// Refused are the requests for which there is no grammar to judge by, with the reason.
	Refused []string
}

// NewDrawer makes the grammars of a corpus: for each family those of all requests of its cases, as
// they are, with a call required, with a tool named, and with one call at most.
func NewDrawer(ctx context.Context, c *families.Corpus, only string) (*Drawer, error) {
	d := &Drawer{plans: map[string][]*constrained{}}
	for i := range c.Families {
		f := &c.Families[i]
		if !strings.Contains(f.Name, only) {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if err := d.family(c, f); err != nil {
			return nil, err
		}
		if len(d.plans[f.Name]) > 0 {
			d.families = append(d.families, f.Name)
		}
	}
	return d, nil
}

func (d *Drawer) family(c *families.Corpus, f *families.Family) error {
	s, cases, err := familyOf(c, f)
	if err != nil {
		return err
	}
	known := map[string]*constrained{} // two cases mostly have one grammar
	for _, one := range cases {
		tools := one.Request.At("tools").Items()
		for i, choice := range choices {
			tool := ""
			if len(tools) > 0 {
				tool = tools[0].At("function").At("name").Text()
			} else if i > 0 {
				break
			}
			name := f.Name + "/" + one.Name + ", " + choice.name
			at, key, err := s.constrained(choice.apply(one.Request, tool))
			if err != nil {
				d.Refused = append(d.Refused, name+": "+err.Error())
				continue
			}
			if known[key] == nil {
				known[key], at.name = at, name
				d.plans[f.Name] = append(d.plans[f.Name], at)
			}
			known[key].outputs = append(known[key].outputs, one.Output)
		}
	}
	return nil
}

// constrained makes the grammars of a request, with a key that those of a request alike share.
func (s *Subject) constrained(request ordered.Value) (*constrained, string, error) {
	r, err := chat.ParseRequest(request)
	if err != nil {
		return nil, "", err
	}
	plan, err := s.Template.Prepare(r, engine.PrepareOptions{Insist: true})
	if err != nil {
		return nil, "", err
	}
	c := &constrained{plan: plan,
		markers: slices.Concat(plan.Preserved, plan.Stops, []string{"\n", "{"})}
	whole, err := plan.Output.Whole()
	if err != nil {
		return nil, "", err
	}
	if c.whole, err = gbnf.NewMatcher(whole); err != nil {
		return nil, "", err
	}
	c.grammar = whole
	key := whole.String()
	if emit.Tagged(plan.Output) {
		lazy, err := plan.Output.Grammar()
		if err != nil {
			return nil, "", err
		}
		if c.lazy, err = gbnf.NewMatcher(lazy); err != nil {
			return nil, "", err
		}
		key += lazy.String()
	}
	return c, key, nil
}

// Draw returns n turns, as many of each family as of any other: outputs of the corpus and sentences
// of the grammars, most of them changed. The same seed gives the same turns.
func (d *Drawer) Draw(ctx context.Context, n int, seed int64) ([]Turn, error) {
	rng := rand.New(rand.NewSource(seed))
	var turns []Turn
	for i := range n {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		plans := d.plans[d.families[i%len(d.families)]]
		c := plans[rng.Intn(len(plans))]
		text := c.outputs[rng.Intn(len(c.outputs))]
		if rng.Intn(3) == 0 {
			if sentence, err := c.sample(rng); err == nil {
				text = sentence
			}
		}
		turn := []byte(text)
		for times := rng.Intn(4); times > 0; times-- {
			turn = c.mutate(rng, turn)
		}
		turns = append(turns, Turn{c.name, turn, c})
	}
	return turns, nil
}

// sample returns a sentence of the grammar of whole turns.
func (c *constrained) sample(rng *rand.Rand) (string, error) {
	s, err := gbnf.NewSampler(c.grammar, rng)
	if err != nil {
		return "", err
	}
	return s.Sample()
}

// word matches the stand-in for a token where no marker is one.
var word = regexp.MustCompile(`[A-Za-z0-9_]+|\s+|[^A-Za-z0-9_\s]`)

// mutate changes a turn in one place: a byte, a token or a marker is taken out, doubled, replaced
// or swapped with another one.
func (c *constrained) mutate(rng *rand.Rand, turn []byte) []byte {
	if len(turn) == 0 {
		return []byte(c.markers[rng.Intn(len(c.markers))])
	}
	spans := word.FindAllIndex(turn, -1)
	switch rng.Intn(4) {
	case 0: // bytes, one long
		at := rng.Intn(len(turn))
		spans = [][]int{{at, at + 1}}
	case 1, 2: // markers
		var found [][]int
		for _, m := range c.markers {
			for at := 0; ; {
				i := bytes.Index(turn[at:], []byte(m))
				if i < 0 {
					break
				}
				found = append(found, []int{at + i, at + i + len(m)})
				at += i + len(m)
			}
		}
		if len(found) > 0 {
			spans = found
		}
	}
	if len(spans) == 0 {
		return turn[:len(turn)-1]
	}
	span := spans[rng.Intn(len(spans))]
	before, part, after := turn[:span[0]], turn[span[0]:span[1]], turn[span[1]:]
	switch rng.Intn(6) {
	case 0:
		part = nil
	case 1:
		part = slices.Concat(part, part)
	case 2:
		part = []byte(c.markers[rng.Intn(len(c.markers))])
	case 3:
		other := spans[rng.Intn(len(spans))]
		part = turn[other[0]:other[1]]
	case 4:
		part = append(slices.Clone(part), byte(rng.Intn(256)))
	case 5: // cut off
		after = nil
	}
	return append(append(append([]byte{}, before...), part...), after...)
}

// Judged is the result of judging turns in one language.
type Judged struct {
	Engine   string `json:"engine"`
	Version  string `json:"version"`
	Language string `json:"language"`
	Grammars int    `json:"grammars"`
	Turns    int    `json:"turns"`
	Taken    int    `json:"taken"` // of the turns, by our matcher

	Differences []Difference `json:"differences"`
}

// Difference is a turn that an engine judges unlike our matcher, or a grammar that it refuses.
type Difference struct {
	// ID is the engine, the language and a digest of the request's name and the turn.
	ID      string `json:"id"`
	Request string `json:"request"`
	Turn    string `json:"turn"`
	Taken   bool   `json:"taken"`           // by our matcher
	Error   string `json:"error,omitempty"` // of the engine
}

func (d Difference) String() string {
	switch {
	case d.Error != "":
		return fmt.Sprintf("%s (%s): %s", d.ID, d.Request, d.Error)
	case d.Taken:
		return fmt.Sprintf("%s (%s): refused, and our matcher takes it: %q", d.ID, d.Request, d.Turn)
	}
	return fmt.Sprintf("%s (%s): taken, and our matcher refuses it: %q", d.ID, d.Request, d.Turn)
}

// JudgeTurns has an adapter judge turns in each of its languages, and compares it with our matcher.
func (a *Adapter) JudgeTurns(ctx context.Context, turns []Turn) ([]Judged, error) {
	byPlan := map[*constrained][]int{}
	var plans []*constrained
	for i, t := range turns {
		if byPlan[t.plan] == nil {
			plans = append(plans, t.plan)
		}
		byPlan[t.plan] = append(byPlan[t.plan], i)
	}
	var all []Judged
	for _, language := range a.Grammars {
		j := Judged{Engine: a.Engine, Version: a.Version, Language: language, Grammars: len(plans)}
		differs := func(t Turn, taken bool, text string) {
			sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s", t.Request, t.Text))
			id := fmt.Sprintf("%s/%s/%x", a.Engine, language, sum[:6])
			j.Differences = append(j.Differences,
				Difference{id, t.Request, string(t.Text), taken, text})
		}
		for _, c := range plans {
			text, err := c.write(language)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			request := Request{Op: "judge", Language: language, Grammar: text}
			for _, i := range byPlan[c] {
				request.Turns = append(request.Turns, turns[i].Text)
			}
			answer, err := a.Ask(ctx, request)
			if err != nil {
				return nil, err
			}
			if answer.Error == "" && len(answer.Verdicts) != len(request.Turns) {
				return nil, fmt.Errorf("%s: %d verdicts for %d turns", a.Engine,
					len(answer.Verdicts), len(request.Turns))
			}
			for k, i := range byPlan[c] {
				taken, err := c.takes(language, turns[i].Text)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", c.name, err)
				}
				j.Turns++
				if taken {
					j.Taken++
				}
				switch {
				case answer.Error != "":
					differs(turns[i], taken, answer.Error)
				case answer.Verdicts[k] != taken:
					differs(turns[i], taken, "")
				}
			}
		}
		all = append(all, j)
	}
	return all, nil
}
