package provider

import (
	"fmt"
	"math"
	"slices"

	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/serve/provider/stat"
)

// Measure is something that is measured of a provider. Its rule is broken where the provider does
// worse than the reference.
type Measure struct {
	rule.Rule
	Title string // in a table
	Count bool   // it is a mean of counts, and no share
	Tail  stat.Tail
	// Of returns the cell that the answers to a request add. Answers are those that came, unless
	// All is set.
	Of func(*asked) stat.Cell
	// All is whether requests without an answer count as well.
	All bool
	// Labelled is whether it needs the reference's word on whether a call is right.
	Labelled bool
	// Exact is whether it has to hold for every answer: there is nothing to be left to chance.
	Exact bool
	// Shown is whether its value is shown and nothing is judged by it, as a part of the next one.
	Shown bool
}

// asked is a request with the answers to it.
type asked struct {
	answers []Outcome // those that count, in the order of the repeats
	ways    int       // answers of one repeat are beside each other
	repeats int       // of the run
	label   *bool     // whether a call is right, by the reference
	perByte float64   // the run's median of tokens of a prompt for each byte of the template's
}

// each adds an answer's numerator and denominator up.
func each(f func(o *Outcome) (y, n float64)) func(*asked) stat.Cell {
	return func(a *asked) (c stat.Cell) {
		for i := range a.answers {
			y, n := f(&a.answers[i])
			c.Y, c.N = c.Y+y, c.N+n
		}
		return c
	}
}

// share is the share of answers that a property holds for.
func share(property func(*Outcome) bool) func(*asked) stat.Cell {
	return each(func(o *Outcome) (float64, float64) { return truth(property(o)), 1 })
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// The parts of a decision that a label is compared with.
const (
	precision = iota
	recall
	f1
)

// decision is a ratio of answers that are called right by a label: true positives of positives,
// of labels, or twice of both together.
func decision(part int, label func(*asked, *Outcome) (call, known bool)) func(*asked) stat.Cell {
	return func(a *asked) (c stat.Cell) {
		for i := range a.answers {
			o := &a.answers[i]
			call, known := label(a, o)
			if !known {
				continue
			}
			hit, called, due := truth(call && o.Called), truth(o.Called), truth(call)
			switch part {
			case precision:
				c.Y, c.N = c.Y+hit, c.N+called
			case recall:
				c.Y, c.N = c.Y+hit, c.N+due
			case f1:
				c.Y, c.N = c.Y+2*hit, c.N+called+due
			}
		}
		return c
	}
}

func byReference(a *asked, _ *Outcome) (call, known bool) {
	if a.label == nil {
		return false, false
	}
	return *a.label, true
}

func byDataset(_ *asked, o *Outcome) (call, known bool) { return o.Expected > 0, o.Expected != 0 }

// right counts the answers to a request that are right.
func (a *asked) right() (n int) {
	for i := range a.answers {
		if a.answers[i].Right() {
			n++
		}
	}
	return n
}

// tokensWithin is how far a provider's count of a prompt's tokens may be from the length of the
// template's prompt at the run's usual tokens for each byte. Languages differ by less.
const tokensWithin = 2.5

const damageOther = "Agents work with the publisher's endpoint and fail with this one."

// measures has every measure, in the order of their ids.
var measures = []Measure{
	{Rule: rule.Rule{ID: "V001", Name: "answered", Severity: rule.Error,
		Short:  "A request has an answer, after retries.",
		Damage: "Requests are lost.",
		Fix:    "Look at the statuses in the log: limits, timeouts, crashes."},
		Title: "requests with an answer", All: true,
		Of: share(func(o *Outcome) bool { return o.State == Answered })},
	{Rule: rule.Rule{ID: "V002", Name: "first-try", Severity: rule.Warning,
		Short:  "A request has its answer at the first try.",
		Damage: "Answers are late, and cost more where failed tries are charged.",
		Fix:    "Lower --concurrency, or ask the provider for a higher limit."},
		Title: "answers at the first try", All: true,
		Of: share(func(o *Outcome) bool { return o.State == Answered && o.Tries <= 1 })},
	{Rule: rule.Rule{ID: "V003", Name: "ended", Severity: rule.Error,
		Short:  "An answer comes to its end.",
		Damage: "A call that is cut off cannot be made.",
		Fix:    "Raise the provider's own limit on tokens; look for an end token that is missed."},
		Title: "answers that come to an end", Of: share(func(o *Outcome) bool { return o.Ended })},
	{Rule: rule.Rule{ID: "V004", Name: "substance", Severity: rule.Error,
		Short:  "An answer has content or a call, and not reasoning alone or nothing.",
		Damage: "The loop of an agent ends without a result.",
		Fix:    "Look at the parser of reasoning: an end that it misses takes the answer with it."},
		Title: "answers with content or a call",
		Of:    share(func(o *Outcome) bool { return o.Substance })},
	{Title: "answers that are reasoning only", Shown: true,
		Rule: rule.Rule{ID: "V004", Name: "reasoning-only"},
		Of:   share(func(o *Outcome) bool { return o.Reasoning && !o.Substance })},
	{Rule: rule.Rule{ID: "V005", Name: "calls", Severity: rule.Error,
		Short:  "As many answers end in a call as the reference's.",
		Damage: damageOther,
		Fix: "Compare the prompt with the template's; look for calls that the parser leaves in " +
			"the content."},
		Title: "answers that end in a call", Tail: stat.Both,
		Of: share(func(o *Outcome) bool { return o.Called })},
	{Rule: rule.Rule{ID: "V006", Name: "expected-call", Severity: rule.Error,
		Short: "An answer ends in a call where the data set expects one, and nowhere else " +
			"(F1).",
		Damage: damageOther,
		Fix:    "As for V005."},
		Title: "calls as the data set expects, F1", Of: decision(f1, byDataset)},
	{Title: "calls as the reference, precision", Labelled: true, Shown: true,
		Rule: rule.Rule{ID: "V007", Name: "reference-call-precision"},
		Of:   decision(precision, byReference)},
	{Title: "calls as the reference, recall", Labelled: true, Shown: true,
		Rule: rule.Rule{ID: "V007", Name: "reference-call-recall"},
		Of:   decision(recall, byReference)},
	{Rule: rule.Rule{ID: "V007", Name: "reference-call", Severity: rule.Error,
		Short: "An answer ends in a call where the reference's does, as often as two answers of " +
			"the reference agree on that (F1).",
		Damage: damageOther,
		Fix:    "As for V005."},
		Title: "calls as the reference, F1", Labelled: true, Of: decision(f1, byReference)},
	{Rule: rule.Rule{ID: "V008", Name: "functions", Severity: rule.Error,
		Short:  "A call is of a function that the request has.",
		Damage: "The call cannot be made.",
		Fix:    "Look at the names in the log: a marker in a name is the parser's fault."},
		Title: "calls of functions that exist",
		Of: each(func(o *Outcome) (float64, float64) {
			return float64(o.Exist), float64(o.Calls)
		})},
	{Rule: rule.Rule{ID: "V009", Name: "arguments", Severity: rule.Error,
		Short:  "A call's arguments keep the schema of their function.",
		Damage: "The call cannot be made, or does something else.",
		Fix: "Constrain the arguments by a grammar (docs/formats.md); look at the causes below " +
			"the table."},
		Title: "calls that keep their schema",
		Of: each(func(o *Outcome) (float64, float64) {
			return float64(o.Valid), float64(o.Exist - o.Unjudged)
		})},
	{Rule: rule.Rule{ID: "V010", Name: "reasoning", Severity: rule.Error,
		Short: "As many answers have reasoning as the reference's, where it is not switched " +
			"off.",
		Damage: "The model does not think, or its thinking is lost and cannot be handed back.",
		Fix:    "Look at the parser of reasoning, and at the template's variables."},
		Title: "answers with reasoning", Tail: stat.Both,
		Of: each(func(o *Outcome) (float64, float64) {
			return truth(o.Reasoning && !o.Off), truth(!o.Off)
		})},
	{Rule: rule.Rule{ID: "V011", Name: "reasoning-off", Severity: rule.Error,
		Short:  "An answer has no reasoning where it is switched off.",
		Damage: "The caller waits and pays for tokens that it asked not to have.",
		Fix:    "Hand chat_template_kwargs to the template."},
		Title: "no reasoning where it is off",
		Of: each(func(o *Outcome) (float64, float64) {
			return truth(o.Off && !o.Reasoning), truth(o.Off)
		})},
	{Rule: rule.Rule{ID: "V012", Name: "no-leak", Severity: rule.Error,
		Short:  "The content has no marker of reasoning or of a call.",
		Damage: "Users read markers; the call beside them is lost.",
		Fix:    "Use the parser of the model's format (`assay engines pick`)."},
		Title: "content without markers", Of: share(func(o *Outcome) bool { return !o.Leaked })},
	{Rule: rule.Rule{ID: "V013", Name: "prompt-tokens", Severity: rule.Error,
		Short: "A prompt has as many tokens as the reference's.",
		Damage: "The prompt is another one: the template, the tokeniser or the system message " +
			"is not the publisher's.",
		Fix: "Compare the prompts: `assay render` has the template's."},
		Title: "tokens of a prompt", Count: true, Tail: stat.Both,
		Of: each(func(o *Outcome) (float64, float64) {
			return float64(o.Prompt), truth(o.Prompt > 0)
		})},
	{Rule: rule.Rule{ID: "V014", Name: "template-tokens", Severity: rule.Error,
		Short: "A prompt has as many tokens as the template's prompt lets expect: within a " +
			"factor of 2.5 of its bytes at the run's median of tokens for a byte.",
		Damage: "A part of the prompt is missing: tools, earlier turns, the system message.",
		Fix:    "As for V013."},
		Title: "prompts as long as the template's",
		Of: func(a *asked) (c stat.Cell) {
			for i := range a.answers {
				if o := &a.answers[i]; o.Prompt > 0 && o.Bytes > 0 && a.perByte > 0 {
					of := float64(o.Prompt) / (float64(o.Bytes) * a.perByte)
					c.Y += truth(of < tokensWithin && of > 1/tokensWithin)
					c.N++
				}
			}
			return c
		}},
	{Rule: rule.Rule{ID: "V015", Name: "stream-equal", Severity: rule.Error,
		Short: "The answer in one piece and the stream of one request have equal parts: the " +
			"functions called, whether they keep their schemas, reasoning, end.",
		Damage: damageOther,
		Fix:    "Parse both with one parser."},
		Title: "streams equal to one piece",
		Of: func(a *asked) (c stat.Cell) {
			if a.ways == 2 {
				for i := 0; i+1 < len(a.answers); i += 2 {
					c.Y, c.N = c.Y+truth(a.answers[i].Shape == a.answers[i+1].Shape), c.N+1
				}
			}
			return c
		}},
	{Title: "right at least once (pass@k)", Shown: true,
		Rule: rule.Rule{ID: "V017", Name: "pass-at-k"},
		Of: func(a *asked) stat.Cell {
			return stat.Cell{Y: stat.AtLeastOne(len(a.answers), a.right(), len(a.answers)), N: 1}
		}},
	{Rule: rule.Rule{ID: "V017", Name: "right", Severity: rule.Error,
		Short: "All answers to a request are right: they come to an end, have substance and no " +
			"markers, their calls can be made, and they call where the data set says so " +
			"(pass^k, of the answers to each request).",
		Damage: damageOther,
		Fix:    "Look at the measures above that fail."},
		Title: "right every time (pass^k)",
		Of: func(a *asked) stat.Cell {
			return stat.Cell{Y: stat.All(len(a.answers), a.right(), len(a.answers)), N: 1}
		}},
	{Rule: rule.Rule{ID: "V018", Name: "exact-tokens", Severity: rule.Error,
		Short: "A prompt has as many tokens as the data set says; a single one that has not is " +
			"a fault, whatever the reference does.",
		Damage: "As for V013.",
		Fix:    "As for V013."},
		Title: "prompts of the data set's tokens", Exact: true,
		Of: each(func(o *Outcome) (float64, float64) {
			return truth(o.Exact > 0), truth(o.Exact != 0)
		})},
}

// streamGap is the measure that compares a run with itself.
var streamGap = rule.Rule{ID: "V016", Name: "stream-gap", Severity: rule.Error,
	Short: "Streams are right as often as answers in one piece to the same requests.",
	Damage: "An agent fails only when it streams, or only when it does not, which no test of " +
		"the other shows.",
	Fix: "Parse both with one parser."}

// Rules returns the rules of all measures, in the order of their ids.
func Rules() []rule.Rule {
	var rules []rule.Rule
	for i := range measures {
		if !measures[i].Shown {
			rules = append(rules, measures[i].Rule)
		}
		if measures[i].ID == "V015" {
			rules = append(rules, streamGap)
		}
	}
	return rules
}

// Book has the rules of `assay provider`: docs/reference/provider-rules.md.
func Book() *rule.Book {
	return &rule.Book{Title: "Rules for providers", Intro: "The measures of `assay provider`; " +
		"[providers.md](../providers.md) describes how to run it, and how they are compared with a " +
		"reference. A rule is broken where the provider does worse than the reference, or " +
		"differs from it, and chance is no explanation. An error fails the run, a warning does " +
		"not.", Rules: Rules()}
}

// perByte is the median of tokens of a prompt for each byte of the template's, 0 where there is
// none.
func (t *Table) perByte() float64 {
	var ratios []float64
	for i := range t.Outcomes {
		if o := &t.Outcomes[i]; o.Prompt > 0 && o.Bytes > 0 {
			ratios = append(ratios, float64(o.Prompt)/float64(o.Bytes))
		}
	}
	if len(ratios) == 0 {
		return 0
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

// The verdicts on a measure.
const (
	VerdictEqual     = "no difference found"
	VerdictWorse     = "worse"
	VerdictDifferent = "different"
	VerdictExact     = "right"
	VerdictWrong     = "wrong"
	VerdictNone      = "not judged"
)

// Line is a measure with its values and its verdict.
type Line struct {
	rule.Rule
	Title    string
	Count    bool
	Own      *stat.Interval // nil: no answer has anything to do with it
	Of       float64        // the denominator: answers, calls, requests
	Requests int            // the requests that add to it
	Ref      *stat.Interval
	Diff     *stat.Interval // the provider's less the reference's, of the answers that both have
	Test     *stat.Test
	Bound    float64 // of the test's value, below which it blames
	Verdict  string
	Why      string // for VerdictNone
}

// Broken reports whether the rule is broken.
func (l *Line) Broken() bool {
	return l.Verdict == VerdictWorse || l.Verdict == VerdictDifferent || l.Verdict == VerdictWrong
}

// Level is the chance that a provider which is as the reference is blamed for anything.
const Level = 0.01

// Confidence is the level of the intervals, each on its own.
const Confidence = 0.95

// Compare measures a run, against a reference where there is one. seed draws the signs of the
// tests.
func Compare(own, ref *Table, seed uint64) ([]Line, error) {
	if ref != nil {
		if err := paired(own, ref); err != nil {
			return nil, err
		}
	}
	z := stat.Quantile(1 - (1-Confidence)/2)
	c := comparison{own: own, ref: ref, z: z, seed: seed, perByte: own.perByte()}
	if ref != nil {
		c.refPerByte = ref.perByte()
	}
	var lines []Line
	for i := range measures {
		lines = append(lines, c.line(&measures[i], uint64(i)))
		if measures[i].ID == "V015" {
			lines = append(lines, c.gap())
		}
	}
	var tests []stat.Test
	for i := range lines {
		if lines[i].Test != nil {
			tests = append(tests, *lines[i].Test)
		}
	}
	blamed, bounds := stat.Judge(tests, Level)
	n := 0
	for i := range lines {
		l := &lines[i]
		if l.Test == nil {
			continue
		}
		l.Bound = bounds[n]
		if l.Verdict = VerdictEqual; blamed[n] {
			l.Verdict = VerdictWorse
			if c.tails[l.Name] == stat.Both {
				l.Verdict = VerdictDifferent
			}
		}
		n++
	}
	return lines, nil
}

// paired returns why two runs cannot be compared.
func paired(own, ref *Table) error {
	if ref.Dataset != "" && own.Dataset != ref.Dataset {
		return fmt.Errorf("it is of the data set %.16s, and the run of %.16s", ref.Dataset,
			own.Dataset)
	}
	return nil
}

// comparison is a comparison under way.
type comparison struct {
	own, ref            *Table
	z                   float64
	seed                uint64
	perByte, refPerByte float64
	tails               map[string]stat.Tail
	cells               [4][]stat.Cell // used again by each measure
}

// fresh returns n slices with an empty cell for each request.
func (c *comparison) fresh(n int) [][]stat.Cell {
	for i := range n {
		if c.cells[i] == nil {
			c.cells[i] = make([]stat.Cell, c.own.Requests)
		}
		clear(c.cells[i])
	}
	return c.cells[:n]
}

// answers returns the outcomes of a request that count, of a way or of all.
func (t *Table) answers(n int, all bool) []Outcome {
	if n >= t.Requests {
		return nil
	}
	ways := t.Send.ways()
	of := t.Outcomes[t.key(n, 0, false) : t.key(n, 0, false)+t.Repeats*ways]
	var kept []Outcome
	for i := 0; i < len(of); i += ways {
		whole := true // a repeat counts as a whole, so that ways stay beside each other
		for k := range ways {
			o := &of[i+k]
			whole = whole && (o.State == Answered || all && o.State == Failed)
		}
		if whole {
			kept = append(kept, of[i:i+ways]...)
		}
	}
	return kept
}

// line measures one measure.
func (c *comparison) line(m *Measure, index uint64) Line {
	if c.tails == nil {
		c.tails = map[string]stat.Tail{}
	}
	c.tails[m.Name] = m.Tail
	l := Line{Rule: m.Rule, Title: m.Title, Count: m.Count, Verdict: VerdictNone}
	estimate := stat.Share
	if m.Count {
		estimate = stat.Mean
	}
	ways := c.own.Send.ways()
	use := 1
	if c.ref != nil {
		use = 4
	}
	cells := c.fresh(use)[0]
	whole, pairOwn, pairRef := c.cells[1], c.cells[2], c.cells[3]
	for n := range c.own.Requests {
		a := &asked{answers: c.own.answers(n, m.All), ways: ways, repeats: c.own.Repeats,
			perByte: c.perByte}
		var b *asked
		if c.ref != nil {
			b = &asked{answers: c.ref.answers(n, m.All), ways: c.ref.Send.ways(),
				repeats: c.ref.Repeats, perByte: c.refPerByte}
			if m.Labelled {
				b.label = b.takeLabel()
				a.label = b.label
			}
		}
		if len(a.answers) > 0 {
			cells[n] = m.Of(a)
		}
		if b == nil || len(b.answers) == 0 && !m.Labelled {
			continue
		}
		if len(b.answers) > 0 {
			whole[n] = m.Of(b)
		}
		a, b = alike(a, b)
		if len(a.answers) > 0 && len(b.answers) > 0 {
			pairOwn[n], pairRef[n] = m.Of(a), m.Of(b)
		}
	}
	if own, ok := estimate(cells, c.z); ok {
		l.Own = &own
	}
	for _, cell := range cells {
		l.Of += cell.N
		l.Requests += int(truth(cell.N > 0))
	}
	switch {
	case l.Own == nil:
		l.Why = "no answer has anything to do with it"
		return l
	case m.Exact:
		if l.Verdict = VerdictExact; l.Own.Value < 1 {
			l.Verdict = VerdictWrong
		}
		return l
	case c.ref == nil:
		l.Why = "there is no reference"
		return l
	}
	if ref, ok := estimate(whole, c.z); ok {
		l.Ref = &ref
	}
	d, ok := stat.Difference(pairOwn, pairRef, c.z, estimate)
	switch {
	case !ok && m.Labelled:
		l.Why = "the reference has one answer to a request; two of them would show how often it " +
			"agrees with itself"
		return l
	case m.Labelled && c.ref.parrot():
		l.Why = "the reference answers most requests in the same words each time (a temperature " +
			"of 0, or a cache), which shows nothing of how often it agrees with itself"
		return l
	case !ok:
		l.Why = "the reference has nothing to compare it with"
		return l
	}
	if l.Diff = &d; m.Shown {
		l.Why = "it is a part of " + m.ID
		return l
	}
	test := stat.Swap(pairOwn, pairRef, m.Tail, c.seed^index<<32)
	l.Test = &test
	return l
}

// takeLabel takes the last answer away, as the label for all others.
func (a *asked) takeLabel() *bool {
	if len(a.answers) == 0 {
		return nil
	}
	last := len(a.answers) - a.ways
	label := a.answers[last].Called
	a.answers = a.answers[:last]
	return &label
}

// parrot reports whether most requests have the same words for an answer twice.
func (t *Table) parrot() bool {
	same, pairs := 0, 0
	for n := range t.Requests {
		if answers := t.answers(n, false); len(answers) > t.Send.ways() {
			pairs++
			if answers[0].Words == answers[t.Send.ways()].Words {
				same++
			}
		}
	}
	return 2*same > pairs
}

// alike returns as many answers of each side as both have, in the ways that both have.
func alike(a, b *asked) (*asked, *asked) {
	x, y := *a, *b
	if x.ways != y.ways { // one side was sent in both ways: its answers in one piece
		x.answers, y.answers = x.first(), y.first()
		x.ways, y.ways = 1, 1
	}
	n := min(len(x.answers), len(y.answers))
	x.answers, y.answers = x.answers[:n], y.answers[:n]
	return &x, &y
}

// first returns the first way of each repeat.
func (a *asked) first() []Outcome {
	if a.ways == 1 {
		return a.answers
	}
	var first []Outcome
	for i := 0; i < len(a.answers); i += a.ways {
		first = append(first, a.answers[i])
	}
	return first
}

// gap compares the streams of a run with its answers in one piece.
func (c *comparison) gap() Line {
	l := Line{Rule: streamGap, Title: "streams less one piece, right", Verdict: VerdictNone}
	c.tails[l.Name] = stat.Both
	if c.own.Send != Either {
		l.Why = "requests were not sent in both ways"
		return l
	}
	buffers := c.fresh(2)
	streamed, piece := buffers[0], buffers[1]
	for n := range c.own.Requests {
		answers := c.own.answers(n, false)
		for i := 0; i+1 < len(answers); i += 2 {
			piece[n].Y += truth(answers[i].Right())
			streamed[n].Y += truth(answers[i+1].Right())
			piece[n].N++
			streamed[n].N++
		}
		l.Of += streamed[n].N
		l.Requests += int(truth(streamed[n].N > 0))
	}
	own, ok := stat.Share(streamed, c.z)
	if !ok {
		l.Why = "no answer has anything to do with it"
		return l
	}
	ref, _ := stat.Share(piece, c.z)
	d, _ := stat.Difference(streamed, piece, c.z, stat.Share)
	test := stat.Swap(streamed, piece, stat.Both, c.seed^math.MaxUint32<<32)
	l.Own, l.Ref, l.Diff, l.Test = &own, &ref, &d, &test
	return l
}
