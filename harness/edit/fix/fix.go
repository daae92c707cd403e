// Package fix mends the faults of a template that can be mended without judgement.
//
// # Model
//
// A fault is a request that a client may send and that the template fails on, or writes wrongly,
// beside its twin: the same request in the form that the template was written for. Null content has
// an empty string as its twin, arguments as text have the object, a tool without a description has
// an empty one. So the twin's prompt is the prompt that the request must give, and nobody has to
// guess the author's meaning.
//
// [Mend] looks for an edit of the template's tree that makes the two the same: where the render
// failed, or wrote something else, Mend wraps the expressions around the place, those that they
// were assigned from, and those that read the field elsewhere, one form after the other, until one
// is right. An edit touches the author's own text nowhere else, white-space control included.
//
// # Proof
//
// A patch is offered only if it is proven: every conversation that the template rendered well
// renders the same bytes, the requests at fault give their twins' prompts, and of the rules of
// package check those that it is for find less, and none finds a fault that it did not find before,
// but in requests that ended in an error. Rules that compare sizes, texts and days keep their
// findings where an edit only asks what a value is ([check.Options].Known). A patch that closes
// turns writes a conversation with instructions on as the same one without them: a prompt that
// looks whole can answer another fault.
//
// # Errors
//
// None. A fault that cannot be mended is listed with the reason.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package fix

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja/edit"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
)

// Options control how a template is mended. The zero value is usable.
type Options struct {
	// Refuse also offers refusals in words where the template needs arguments as an object and
	// cannot read text.
	Refuse bool
	// Only are the ids of the rules whose findings are to be mended; nil: all.
	Only []string
	// Offered leaves out the kinds of fault that are looked for only where patches are asked for.
	Offered bool
	// Findings are the findings that the check has made in the template already, with the options
	// that [Mend] is given, and with their requests; nil: it is checked.
	Findings []rule.Result
	// Rest also asks for the errors that are left ([Mended].Rest).
	Rest bool
	// Limits bound every render, and all of the search and of its proofs together; zero: the
	// defaults.
	Limits engine.Limits
}

// Edit replaces a stretch of a text.
type Edit = edit.Edit

// Patch is one fault mended.
type Patch struct {
	Kind   Kind
	Before string // the template's text
	After  string // and with the patch
	Gone   []Gone // the findings without it that are gone with it
	Cured  int    // how many of the requests that were tried it cures

	of            kindOf
	before, after *state
}

// Gone is a finding that a patch does away with.
type Gone struct {
	Rule string `json:"rule"`
	Text string `json:"text"` // the finding's first line
}

// Mends reports whether a patch does away with a finding.
func (p Patch) Mends(res *rule.Result) bool {
	return slices.Contains(p.Gone, Gone{res.Rule, firstLine(res.Text)})
}

// Rules returns the ids of the rules that find less with a patch.
func (p Patch) Rules() []string {
	ids := []string{}
	for _, g := range p.Gone {
		if !slices.Contains(ids, g.Rule) {
			ids = append(ids, g.Rule)
		}
	}
	return ids
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// Left is a fault that is not mended.
type Left struct {
	Kind   Kind
	Place  rule.Place
	Reason string
}

// Mended is the result for a template.
type Mended struct {
	Source  subject.Source
	Text    string   // the template with all patches
	Steps   [][]Edit // that lead there, one after the other
	Patches []Patch
	Left    []Left
	// Rest are the errors of the check, with the patches, that Left says nothing about, where
	// [Options].Rest asks for them.
	Rest []rule.Result
	// Unjudged is why not all of the template was looked at: it does not compile, it renders no
	// request, or the limits on all renders cut the search off, which wraps [engine.ErrExhausted].
	// Each patch is proven all the same. nil: the search was whole.
	Unjudged error
}

// Rules returns the ids of the rules whose findings a patch may mend.
func Rules() []string { return rulesOf(func(kindOf) bool { return true }) }

// rulesOf returns the ids of the rules of some kinds.
func rulesOf(are func(kindOf) bool) []string {
	var ids []string
	for _, k := range append(slices.Clip(kinds), unclosed) {
		if are(k) {
			ids = append(ids, k.rules...)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Mend looks for patches of a template. The options of the check are those that the proof runs the
// rules with. The end of ctx ends the search.
func Mend(ctx context.Context, src subject.Source, o Options, of check.Options) *Mended {
	together := engine.Options{Limits: o.Limits}.Together()
	of.Requests = true
	m := &mender{options: o, check: of, result: &Mended{Source: src, Text: src.Text},
		base: src, sources: map[string]subject.Source{},
		limited: func(src subject.Source) subject.Source {
			return subject.With(ctx, []subject.Source{src}, together)[0]
		}}
	if o.Findings == nil { // nobody has explored the template
		m.base = m.source(src.Text)
	}
	m.names()
	if m.result.Text == src.Text {
		m.findings = o.Findings
	} else {
		m.base = m.source(m.result.Text)
	}
	first := m.source(m.result.Text)
	named := *m.result
	m.together = true
	err := m.start(first)
	if err == nil {
		m.mendAll()
		if !m.proveAll(len(named.Patches)) { // some patch is none: which one?
			*m.result, m.together = named, false
			m.good, m.bases = nil, nil
			if err = m.start(first); err == nil {
				m.mendAll()
			}
		}
	}
	if err == nil && m.wanted(unclosed) {
		m.together = false
		m.closeTurns()
	}
	m.result.Unjudged = cmp.Or(first.Exhausted(), err)
	if o.Rest && m.result.Unjudged == nil {
		m.rest()
	}
	return m.result
}

// mendAll looks for patches of all kinds.
func (m *mender) mendAll() {
	for _, k := range kinds {
		if k.faults != nil && m.wanted(k) {
			m.mend(k)
		}
	}
}

// known are the results of the check before the patches that are proven next.
func (m *mender) known() []rule.Result {
	if m.findings == nil {
		m.findings = check.Template(m.source(m.was.text), m.check)
	}
	return m.findings
}

// finds reports whether the check finds an error or a warning by one of the rules in the template
// as it is.
func (m *mender) finds(rules []string) bool {
	by := func(results []rule.Result) bool {
		return slices.ContainsFunc(results, func(res rule.Result) bool {
			return res.IsFinding() && res.Level() > rule.Note && slices.Contains(rules, res.Rule)
		})
	}
	return by(m.known()) && (m.now == m.was || // an earlier patch may have mended that
		by(check.Template(m.source(m.now.text), m.check)))
}

// proveAll proves the patches that were found together, from one on. It reports whether they stand,
// and notes what each does away with: findings of its own rules, and the last one all others.
func (m *mender) proveAll(from int) bool {
	patches := m.result.Patches[from:]
	if len(patches) == 0 {
		return true
	}
	m.together = false
	gone, reason := m.proves(m.now)
	if reason != "" || slices.ContainsFunc(patches,
		func(p Patch) bool { return !p.of.answers(gone) }) {
		return false
	}
	for _, g := range gone {
		patches[mending(patches, g)].gone(g)
	}
	m.was, m.findings = m.now, m.proven
	return true
}

// mending returns which of some patches that lead from one to the next does away with a finding: of
// those that change what the finding's own request gives the one that edits next to it. Where none
// does, it is one for the finding's rule, else the last one.
func mending(patches []Patch, res *rule.Result) int {
	best, least := -1, 0
	in, ok := requestOf(res)
	for i, p := range patches {
		if !ok || !p.before.differs(p.after, in) {
			continue
		}
		if n := p.away(res.Place); best < 0 || n <= least {
			best, least = i, n
		}
	}
	if best >= 0 {
		return best
	}
	of := func(p Patch) bool { return slices.Contains(p.of.rules, res.Rule) }
	if best = slices.IndexFunc(patches, of); best < 0 {
		best = len(patches) - 1
	}
	return best
}

// away is how many lines the patch edits away from a place, the same for all where it has none.
func (p Patch) away(from rule.Place) int {
	line, _ := from.Position()
	least := math.MaxInt
	for st := p.after; st != p.before && line > 0; st = st.from {
		for _, e := range st.step {
			is := st.from.t.Source.Position(e.From).Line
			least = min(least, max(is-line, line-is))
		}
	}
	return least
}

// gone notes a finding that the patch does away with.
func (p *Patch) gone(res *rule.Result) {
	p.Gone = append(p.Gone, Gone{res.Rule, firstLine(res.Text)})
}

// rest notes the errors that are left and that no reason names.
func (m *mender) rest() {
	named := func(id string) bool {
		return slices.ContainsFunc(m.result.Left, func(l Left) bool {
			return slices.Contains(rulesOf(func(k kindOf) bool { return k.kind == l.Kind }), id)
		})
	}
	for _, res := range m.known() {
		if res.Status == rule.Failed && !named(res.Rule) {
			m.result.Rest = append(m.result.Rest, res)
		}
	}
}

// mender mends one template.
type mender struct {
	options Options
	check   check.Options
	// limited gives a source the one bound on all renders of the search and of the proofs
	limited func(subject.Source) subject.Source
	base    subject.Source            // the template before the search, as it was explored
	sources map[string]subject.Source // limited, by their texts
	result  *Mended

	original *chattemplate.Template // with the limits that all renders have
	now      *state                 // the template with the patches so far
	form     form                   // of arguments that the template was written for
	calls    bool                   // the template writes calls
	good     []kept
	bases    []base
	was      *state        // the template before the patches that are proven next
	findings []rule.Result // of that; nil: not known yet
	proven   []rule.Result // of the patch that was proven last
	tries    int           // edits left to try for the fault
	together bool          // the patches are proven once all are found
	moves    bool          // an edit was tried that does more than ask what a value is
}

// kept is a conversation that the template renders well, and its prompt.
type kept struct {
	in   chattemplate.Input
	text string
	or   string // the prompt that it must have, where that is another one; "": the same
}

// wanted reports whether any rule of a kind is to be mended.
func (m *mender) wanted(k kindOf) bool {
	return (!m.options.Offered || !k.asked) && (m.options.Only == nil ||
		slices.ContainsFunc(k.rules,
			func(id string) bool { return slices.Contains(m.options.Only, id) }))
}

// source returns the source with another text.
func (m *mender) source(text string) subject.Source {
	src, ok := m.sources[text]
	if !ok {
		src = m.limited(m.base.WithText(text))
		m.sources[text] = src
	}
	return src
}

// start compiles the template and notes the conversations that it renders well. Its error is why
// that is not possible.
func (m *mender) start(src subject.Source) error {
	t, err := src.Compile()
	if err != nil {
		return err
	}
	m.original = t.ChatTemplate()
	st, err := m.compiled(m.result.Text)
	if err != nil {
		return err
	}
	m.now, m.was = st, st
	m.survey(t)
	return nil
}

// bytesPerStep is how many bytes of a template that is read count as a step of a render.
const bytesPerStep = 32

// spend takes the steps for the reading of a template.
func (m *mender) spend(text string) {
	m.original.Budget.Spend(int64(len(text) / bytesPerStep))
}

// exhausted reports whether there are no steps left.
func (m *mender) exhausted() bool {
	return m.original.Budget != nil && m.original.Budget.Left() == 0
}

// compiled compiles a text with the limits of the template.
func (m *mender) compiled(text string) (*state, error) {
	if m.spend(text); m.exhausted() {
		return nil, m.original.Exhausted()
	}
	src := source.New(m.result.Source.Name, text)
	t, err := m.original.Edited(src)
	if err != nil {
		return nil, err
	}
	return &state{text: text, t: t}, nil
}

// keeps reports whether a template renders the conversations that were rendered well as before. A
// prompt that must change may be any, since it can take several edits.
func (m *mender) keeps(st *state) bool {
	for i, k := range m.good {
		if text, err := st.t.Render(k.in); err != nil || text != k.text && k.or == "" {
			// A request that failed once is likely to fail again: it comes first.
			copy(m.good[1:i+1], m.good[:i])
			m.good[0] = k
			return false
		}
	}
	return true
}

// mends reports whether the prompts that must change are what they must be, or as they were.
func (m *mender) mends(st *state) bool {
	return !slices.ContainsFunc(m.good, func(k kept) bool {
		text := st.render(k.in).text
		return k.or != "" && text != k.or && text != k.text
	})
}

// mend looks for a patch of one kind, proves it, and offers it.
func (m *mender) mend(k kindOf) {
	if k.asked && !m.finds(k.rules) {
		return
	}
	defer func() {
		for i := range m.good {
			m.good[i].or = ""
		}
	}()
	faults := k.faults(m)
	if len(faults) == 0 {
		return
	}
	before, st := m.now, m.now
	var cured []fault
	var stuck *fault
	dead := map[string]bool{} // places at which a search has failed
	for i, f := range faults {
		was := st.render(f.in)
		if f.matches(was) {
			cured = append(cured, f)
			continue
		}
		at := ""
		if k.asked {
			if at = fmt.Sprint(st.damage(f, was), was.msg); dead[at] {
				continue
			}
		}
		m.tries = maxTries
		if next, ok := m.search(k, st, f, maxDepth); ok {
			st = next
			cured = append(cured, f)
		} else if dead[at] = true; stuck == nil {
			stuck = &faults[i]
		}
	}
	if st != before && !m.mends(st) {
		st = before
		stuck = &faults[0]
	}
	if st != before && (stuck == nil || !k.whole) {
		m.moves = m.moves || k.more != nil
		st = m.fewer(before, st, cured)
		gone, reason := m.proves(st)
		if reason == "" && !m.together && !k.answers(gone) {
			reason = "the finding stays with it, so it is due to something else"
		}
		if reason == "" {
			m.accept(k, before, st, gone, len(cured))
		} else {
			m.refuse(k, faults[0], reason)
			stuck = nil
		}
	}
	if stuck != nil && !k.silent {
		m.left(k, *stuck)
	}
}

// left says why a fault stays, and offers a refusal in words for arguments that only an object can
// be.
func (m *mender) left(k kindOf, f fault) {
	if k.kind != TextArguments || m.writesJSON(f) {
		m.refuse(k, f, "no edit was found that keeps every other prompt")
		return
	}
	if worded(f.failure(m.now)) {
		return // it reports that itself
	}
	st, ok := m.refusal(k, f)
	switch {
	case !ok:
		m.refuse(k, f, "the template needs an object")
	case !m.options.Refuse:
		m.refuse(k, f, "the template needs an object, and its language cannot read text as "+
			"JSON; --refuse adds a refusal in words")
	default:
		if gone, reason := m.proves(st); reason == "" {
			m.accept(kindOf{kind: Refused, rules: k.rules}, m.now, st, gone, 1)
		} else {
			m.refuse(k, f, reason)
		}
	}
}

// writesJSON reports whether a template writes the arguments of calls as JSON.
func (m *mender) writesJSON(f fault) bool {
	return strings.Contains(squeezed(f.wants[0]),
		squeezed(arguments(formed(f.in, formObject)).String()))
}

// accept offers a patch and goes on from it.
func (m *mender) accept(k kindOf, before, st *state, gone []*rule.Result, cured int) {
	p := Patch{Kind: k.kind, Before: before.text, After: st.text, Cured: cured,
		of: k, before: before, after: st}
	for _, g := range gone {
		p.gone(g)
	}
	m.result.Patches = append(m.result.Patches, p)
	m.result.Text = st.text
	m.result.Steps = append(m.result.Steps, st.steps(before)...)
	m.now = st
	for i, k := range m.good {
		if k.or != "" {
			m.good[i].text = st.render(k.in).text
		}
	}
	if !m.together {
		m.was, m.findings = st, m.proven
	}
}

func (m *mender) refuse(k kindOf, f fault, reason string) {
	r := Left{k.kind, rule.Place{File: m.result.Source.File}, reason}
	if err := f.failure(m.now); err != nil {
		r.Place, _ = probe.Place(m.source(m.now.text), err)
		r.Place.Excerpt = ""
	}
	m.result.Left = append(m.result.Left, r)
}

// proves tests a patch with the conversations that were rendered well and with the rules. It
// returns the findings that are gone with it, or the reason why it is not offered.
func (m *mender) proves(st *state) (gone []*rule.Result, reason string) {
	if !m.keeps(st) {
		return nil, "the edit changes a prompt that was right"
	}
	if m.together {
		return nil, ""
	}
	of := m.check
	if was := m.known(); !m.moves {
		of.Known = was
	}
	m.proven = check.Template(m.source(st.text), of)
	if m.exhausted() {
		return nil, "the renders that look for it take more steps than allowed"
	}
	was, is := found(m.known()), found(m.proven)
	fewer := map[string]int{} // by their rules
	for _, res := range was {
		fewer[res.Rule]++
	}
	for _, res := range is {
		if _, ok := fewer[res.Rule]; !ok && !m.hidden(res, st) {
			return nil, "with it " + res.Rule + " is found, which was not found before"
		}
	}
	for _, res := range is {
		fewer[res.Rule]--
	}
	was = slices.DeleteFunc(was, func(res *rule.Result) bool {
		return slices.ContainsFunc(is, res.Same)
	})
	// A finding that says something else now is none less: those go first whose prompt changes.
	for _, changed := range []bool{true, false} {
		for _, res := range was {
			in, ok := requestOf(res)
			if fewer[res.Rule] > 0 && changed == (ok && m.was.differs(st, in)) {
				fewer[res.Rule]--
				gone = append(gone, res)
			}
		}
	}
	return gone, ""
}

// answers reports whether a patch of a kind that answers findings does away with one of them.
func (k kindOf) answers(gone []*rule.Result) bool {
	return !k.asked || slices.ContainsFunc(gone,
		func(g *rule.Result) bool { return slices.Contains(k.rules, g.Rule) })
}

// hidden reports whether a request that shows a finding ended in an error before the patches and
// gives a prompt with them: there was none to show it in.
func (m *mender) hidden(res *rule.Result, st *state) bool {
	in, ok := requestOf(res)
	if !ok || res.Level() > rule.Warning {
		return false
	}
	before := m.was.render(in)
	return before.err != nil && !worded(before.err) && st.render(in).err == nil
}

// requestOf is the request that shows a finding; false where none is known.
func requestOf(res *rule.Result) (in chattemplate.Input, ok bool) {
	request, err := ordered.ParseString(string(res.Request))
	return chattemplate.Input{Messages: request.At("messages").Items(),
		Tools:    request.At("tools").Items(),
		Generate: request.At("add_generation_prompt").IsNull(),
		Kwargs:   request.At("chat_template_kwargs").Members(),
	}, err == nil && !request.At("messages").IsNull()
}

// found are the findings among results.
func found(results []rule.Result) []*rule.Result {
	var all []*rule.Result
	for i := range results {
		if results[i].IsFinding() {
			all = append(all, &results[i])
		}
	}
	return all
}
