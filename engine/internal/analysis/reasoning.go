package analysis

import (
	"fmt"
	"github.com/goassay/assay/engine/internal/observe"
	"github.com/goassay/assay/engine/source"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
)

// callKinds are the atoms that belong to a call.
var callKinds = []observe.Kind{observe.Name, observe.ID, observe.Counter, observe.Structure,
	observe.ArgKey, observe.ArgValue}

// reasoningPass finds the markers around reasoning.
type reasoningPass struct{ state }

func findReasoning(s state) state {
	p := reasoningPass{s}
	p.compareReasoning()
	return p.state
}

// compareReasoning runs R1, R3 and, where no rendering shows reasoning, reads the markers off the
// generation prompts (R2).
func (a *reasoningPass) compareReasoning() {
	r := &a.format.Reasoning
	if b := a.observer.Facts.Needs.Blocks; !b.IsZero() {
		a.found("R1", "reasoning is a block of the content of the kind %q, and an answer with it "+
			"has its content in one of the kind %q", b.Thought.Kind, b.Said.Kind)
	}
	switch {
	case a.thought.shown(observe.Reasoning):
		open, close := a.split(a.thought, a.bare, observe.Content)
		close = a.closeBeforeCalls(close)
		r.Pair = format.Pair{Open: format.Mark(open), Close: format.Mark(close)}
		r.Mode = format.ReasoningTagged
		a.gave("R1", "reasoning.mode reasoning.open reasoning.close", format.Observed, "reasoning between %q and %q", open, close)
	case a.acted.shown(observe.Reasoning):
		open, close := a.split(a.acted, a.called, callKinds...)
		r.Pair = format.Pair{Open: format.Mark(open), Close: format.Mark(close)}
		r.Mode = format.ReasoningToolsOnly
		a.gave("R3", "reasoning.mode reasoning.open reasoning.close", format.Observed, "reasoning only beside calls, between %q and %q", open, close)
	default:
		a.reasoningOfPrompts(r)
	}
	if r.Mode == format.ReasoningTagged && r.Open.Text == "" && r.Close.Text == "" {
		a.gave("R1", "reasoning.mode", format.Observed, "reasoning stands between %q and %q: "+
			"nothing tells it from content", r.Open.Full(), r.Close.Full())
		*r = format.Reasoning{}
		return
	}
	if r.Pair.IsZero() {
		a.gave("R1", "reasoning.mode", format.Observed, "no reasoning written")
		return
	}
	a.openInHeader(r)
	if r.Open.Text == "" {
		a.adoptPrefill(r)
	}
	a.reasoningMode(r)
	a.reasoningTrim(r)
}

// split finds the markers that open and close reasoning in a turn that shows it. Between reasoning
// and the next part stand the close of reasoning and the open of the next part; a turn without
// reasoning shows the latter alone, or after an empty block.
func (a *reasoningPass) split(with, without turn, next ...observe.Kind) (open, close string) {
	open, at := observe.Before(with.body, observe.Reasoning)
	between := observe.After(with.body, at)
	bare, _ := observe.Before(without.body, next...)
	rest := snapStart(source.CommonSuffix(between, bare), between, bare)
	last := at+2 >= len(with.body) // nothing but the turn's end is written after reasoning
	if !last && !onlySpace(strings.TrimSuffix(between, rest)) {
		if onlySpace(rest) {
			rest = "" // white space alone belongs to the close
		}
		close = strings.TrimSuffix(between, rest)
		if closed := closedAt(close, open); closed > 0 && countMarkers(close[closed:]) > 0 {
			// the text after the close opens content that follows reasoning alone
			close = close[:closed]
		}
		return open, close
	}
	if a.onlyBeforeContent(between, bare) {
		a.contentCloses = true
		return open, between
	}
	// The turn without reasoning has an empty block, or a close alone, so that nothing tells close
	// and next part apart but their shape: a close has as many markers as its open.
	if n := len(pieces(open)); n > 0 && len(pieces(between)) > n {
		close, _ = cutPieces(between, n)
		return open, close
	}
	return open, between
}

// closeBeforeCalls returns the part of a close that stands between reasoning and calls, too: the
// rest of it encloses both. Where that part is no marker, reasoning beside calls ends otherwise,
// and the close stays as it was.
func (a *reasoningPass) closeBeforeCalls(close string) string {
	if !a.acted.shown(observe.Reasoning) {
		return close
	}
	_, at := observe.Before(a.acted.body, observe.Reasoning)
	acts := observe.After(a.acted.body, at)
	shared := snapEnd(source.CommonPrefix(close, acts), close, acts)
	if rest := close[len(shared):]; countMarkers(shared) == 0 || onlySpace(rest) {
		return close
	}
	a.gave("R3", "reasoning.close", format.Observed, "reasoning beside calls ends with %q", shared)
	return shared
}

// onlyBeforeContent reports whether reasoning has no close of its own: the text between it and
// content opens content in every turn, and before a call reasoning ends without it.
func (a *reasoningPass) onlyBeforeContent(between, bare string) bool {
	ps := pieces(between)
	if len(ps) == 0 || !a.thought.shown(observe.Reasoning) || !a.acted.shown(observe.Reasoning) ||
		strings.TrimLeft(between, format.Space) != strings.TrimLeft(bare, format.Space) {
		return false
	}
	_, at := observe.Before(a.acted.body, observe.Reasoning)
	acts := pieces(observe.After(a.acted.body, at))
	return len(acts) > 0 && acts[0] != ps[0]
}

// reasoningOfPrompts reads the markers off the generation prompts: a prompt that opens a block, one
// that closes it as well, and the literals with which the template takes reasoning out of content
// (E4).
func (a *reasoningPass) reasoningOfPrompts(r *format.Reasoning) {
	open, close := "", ""
	proven := a.closesOfTrace()
	closes := func(marker string) bool {
		return isClosing(marker) || slices.Contains(proven, marker)
	}
	for _, p := range a.prefills {
		if !onlyMarkers(p) {
			continue
		}
		for _, q := range a.prefills {
			if rest, ok := strings.CutPrefix(q, p); ok && onlyMarkers(rest) {
				open, close = p, rest
			}
		}
	}
	if open == "" {
		for _, p := range a.prefills {
			switch n := len(pieces(p)); {
			case !onlyMarkers(p):
			case n == 1 && !closes(pieces(p)[0]):
				open = p
			case n == 2 && closes(pieces(p)[1]):
				open, close = cutPieces(p, 1)
			}
		}
	}
	if open != "" && a.headsContent(open) {
		open, close = "", "" // content stands where it would have opened reasoning
	}
	known, mirrored := format.Observed, ""
	var opens, shuts string
	if open != "" && close == "" {
		opens, shuts = a.answerOfTrace()
	}
	if opens != "" {
		r.Pair, r.Mode = format.Pair{Open: format.Mark(open), Close: format.Mark(opens)},
			format.ReasoningTagged
		a.format.Content = format.Content{Mode: format.ContentWrappedWithReasoning,
			Pair: format.Pair{Open: r.Close, Close: format.Mark(shuts)}}
		a.gave("R2", "reasoning.mode reasoning.open reasoning.close", format.Traced, "prompts "+
			"open reasoning with %q, and of a past answer nothing stays but the text after %q", open,
			opens)
		a.gave("C1", "content.mode content.open content.close", format.Traced, "content after "+
			"reasoning is between %q and %q, by the text taken out of a past answer", opens, shuts)
		return
	}
	if close == "" {
		if close = a.closeOfTrace(open, proven); close != "" {
			known = format.Traced
		}
	}
	if open == "" && close == "" {
		open, close = a.pairOfTrace()
		known = format.Traced
	}
	if open == "" && close == "" {
		if a.pairsOfFlags(r); r.Pair.IsZero() {
			a.emptyBlock(r)
		}
		return
	}
	if open == "" && isClosing(close) {
		var seen bool
		if open, seen = a.opens(close); !seen {
			mirrored = "reasoning.open"
		}
	}
	if close == "" {
		if close = counterpart(open); close == "" {
			a.gave("R2", "header", format.Assumed, "prompts end with %q, and nothing shows which part "+
				"would close it; it is taken for a part of the prompt", open)
			return
		}
		mirrored = "reasoning.close"
	}
	r.Pair = format.Pair{Open: format.Mark(open), Close: format.Mark(close)}
	r.Mode = format.ReasoningTagged
	a.gave("R2", "reasoning.mode reasoning.open reasoning.close", known, "reasoning between %q and %q, by the generation prompts and the text split off content", open, close)
	if mirrored != "" {
		a.gave("R2", mirrored, format.Mirrored, "the one of these markers is taken to be the "+
			"counterpart of the other")
	}
}

// headsContent reports whether answers with content alone begin as a prompt does that goes on with
// a marker, and do not close it: then it opens the answer, and no reasoning.
func (a *reasoningPass) headsContent(open string) bool {
	lead, at := observe.Before(a.plain.body, observe.Content)
	return at >= 0 && strings.TrimSpace(lead) == strings.TrimSpace(open)
}

// opens returns the opener of the reasoning that a marker closes: the mirror with which every turn
// begins, or the likely one, which is not seen.
func (a *reasoningPass) opens(close string) (open string, seen bool) {
	header := pieces(a.start)
	if n := len(header); n > 0 && slices.Contains(mirrors(close), header[n-1]) {
		return header[n-1], true
	}
	return mirror(close), false
}

// counterpart returns the closing tag of an opening one, <x> or [x], or a marker with the opposite
// word; "" for every other marker, since nothing in its shape shows how it is closed.
func counterpart(open string) string {
	for _, m := range mirrors(open) {
		if slash := strings.Contains(m, "/"); !slash || !strings.ContainsAny(m, "|｜") {
			return m
		}
	}
	return ""
}

// maxPairs bounds how many markers of the trace are tried as open and close of reasoning, each with
// each.
const maxPairs = 6

// pairOfTrace returns the markers of the trace between which the template takes text out of
// content, and no other text, so that they enclose text that is not to be shown again. Where a
// prompt writes both with nothing of a message between them, all that it writes there belongs to
// the open.
func (a *reasoningPass) pairOfTrace() (open, close string) {
	markers := a.markersOfTrace()
	for _, lit := range a.observer.Searched() { // of any shape, since it is tried
		if len(markers) >= maxPairs {
			break
		}
		if lit = strings.TrimSpace(lit); len(lit) > 1 && !slices.Contains(markers, lit) {
			markers = append(markers, lit)
		}
	}
	markers = markers[:min(len(markers), maxPairs)]
	for _, o := range markers {
		for _, c := range markers {
			text := observe.ContentNeedle + o + observe.ReasoningNeedle + c + observe.ValueNeedle
			r := a.past(text)
			if o == c || r.Err != nil || strings.Contains(r.String, observe.ReasoningNeedle) ||
				!strings.Contains(r.String, observe.ContentNeedle) ||
				!strings.Contains(r.String, observe.ValueNeedle) {
				continue
			}
			for _, p := range a.prefills {
				if at := strings.Index(p, c); at > 0 &&
					strings.HasPrefix(strings.TrimLeft(p, format.Space), o) {
					return p[:at], c
				}
			}
			return o, c
		}
	}
	return "", ""
}

// past observes an answer with a text that another turn follows: templates take reasoning out of
// such answers.
func (a *reasoningPass) past(text string) *observation {
	return a.observe(observe.Probe{Content: new(text), Past: true, Followed: true})
}

// answerOfTrace returns the markers of the trace between which a past answer stands: of its text
// the template keeps that alone. White space is a part of them, since they are searched with it.
func (a *reasoningPass) answerOfTrace() (open, close string) {
	searched := func() []string {
		markers := slices.DeleteFunc(a.observer.Searched(), func(lit string) bool {
			text := strings.TrimSpace(lit)
			return text == "" || markerAt(text) != len(text)
		})
		return markers[:min(len(markers), maxPairs)]
	}
	for _, o := range searched() { // the close is searched where the open is
		a.past(observe.ReasoningNeedle + o + observe.ContentNeedle)
	}
	markers := searched()
	for _, o := range markers {
		for _, c := range markers {
			r := a.past(observe.ReasoningNeedle + o + observe.ContentNeedle + c +
				observe.ValueNeedle)
			if o != c && r.Err == nil && strings.Contains(r.String, observe.ContentNeedle) &&
				!strings.Contains(r.String, observe.ReasoningNeedle) &&
				!strings.Contains(r.String, observe.ValueNeedle) {
				return o, c
			}
		}
	}
	return "", ""
}

// pairsOfFlags looks at the text that a flag adds to the prompt: where it names a pair of markers
// with nothing between them, the model is told to think between these; a second pair encloses its
// answer.
func (a *reasoningPass) pairsOfFlags(r *format.Reasoning) {
	off := a.observe(observe.Probe{Plain: true, Generate: true})
	for _, flag := range a.observer.Flags() {
		on := a.observe(observe.Probe{Plain: true, Generate: true,
			Kwargs: []ordered.Member{ordered.MemberOf(flag, ordered.Boolean(true))}})
		if off.Err != nil || on.Err != nil || on.String == off.String {
			continue
		}
		head := source.CommonPrefix(off.String, on.String)
		tail := source.CommonSuffix(off.String[len(head):], on.String[len(head):])
		pairs := emptyPairs(on.String[len(head) : len(on.String)-len(tail)])
		if len(pairs) == 0 {
			continue
		}
		r.Pair, r.Mode = pairs[0], format.ReasoningTagged
		a.gave("R2", "reasoning.mode reasoning.open reasoning.close", format.Observed, "%s tells the model to think between %s", flag,
			pairs[0])
		if len(pairs) > 1 {
			a.format.Content = format.Content{Mode: format.ContentWrappedWithReasoning,
				Pair: pairs[1]}
			a.gave("C1", "content.mode content.open content.close", format.Observed, "%s tells the model to answer between %s", flag, pairs[1])
		}
		return
	}
}

// emptyBlock looks for a pair of markers with nothing between them at the very start of a turn: a
// template that knows no reasoning writes the block empty.
func (a *reasoningPass) emptyBlock(r *format.Reasoning) {
	turns := []turn{a.plain, a.called}
	if a.spoken.shown(observe.Content) {
		turns[1] = a.spoken // markers that are empty without content may be content's
	}
	header := pieces(a.start)
	for _, t := range turns {
		ps := pieces(observe.FirstLiteral(t.body))
		if len(header) > 0 && len(ps) > 0 {
			// A prompt that opens the block as every turn does has taken its open into the header.
			if last := header[len(header)-1]; markerAt(last) > 0 && isClosing(ps[0]) &&
				slices.Contains(mirrors(last), ps[0]) {
				close := observe.FirstLiteral(t.body)
				rest := strings.TrimLeft(close, format.Space)
				close = close[:len(close)-len(strings.TrimLeft(rest[len(ps[0]):], format.Space))]
				r.Pair, r.Mode = format.Pair{Open: format.Mark(last), Close: format.Mark(close)},
					format.ReasoningTagged
				a.gave("R1", "reasoning.mode reasoning.open reasoning.close", format.Observed, "every turn closes with %q at once the block that the prompt opens with %q", close, last)
				return
			}
		}
		if len(ps) < 2 {
			continue
		}
		if pairs := emptyPairs(ps[0] + ps[1]); len(pairs) > 0 {
			r.Pair, r.Mode = pairs[0], format.ReasoningTagged
			a.gave("R1", "reasoning.mode reasoning.open reasoning.close", format.Observed, "every turn begins with an empty block between %s", pairs[0])
			return
		}
	}
}

// closeOfTrace returns a marker with which the template searches or splits content and that can
// close reasoning: the mirror of the open where that is known, else one that it takes off with all
// text before it, else a closing tag.
func (a *reasoningPass) closeOfTrace(open string, proven []string) string {
	want := mirrors(open)
	var found string
	for _, lit := range a.markersOfTrace() {
		switch {
		case slices.Contains(want, lit):
			return lit
		case slices.Contains(proven, lit) && !slices.Contains(proven, found), open == "" &&
			isClosing(lit) && found == "":
			found = lit
		}
	}
	return found
}

// closesOfTrace returns the markers that the template takes off content together with all that
// stands before them: whatever their form, they close text that is not to be shown again.
func (a *reasoningPass) closesOfTrace() []string {
	return slices.DeleteFunc(a.markersOfTrace(), func(lit string) bool {
		o := a.past(observe.ReasoningNeedle + lit + observe.ContentNeedle)
		return o.Err != nil || !strings.Contains(o.String, observe.ContentNeedle) ||
			strings.Contains(o.String, observe.ReasoningNeedle)
	})
}

// maxSearched is with how many markers a template may search content. Those in public use have at
// most five.
const maxSearched = 64

// markersOfTrace returns the markers with which the template searches or splits content, sorted.
func (a *reasoningPass) markersOfTrace() []string {
	a.past(observe.ContentNeedle)
	var markers []string
	for _, lit := range a.observer.Searched() {
		if lit = strings.TrimSpace(lit); lit != "" && markerAt(lit) == len(lit) &&
			!slices.Contains(markers, lit) {
			markers = append(markers, lit)
		}
		if len(markers) > maxSearched { // each is tried with a probe of its own
			a.observer.GiveUp(fmt.Sprintf("the template searches content for more "+
				"than %d markers", maxSearched))
			return nil
		}
	}
	slices.Sort(markers)
	return markers
}

// maxOpen is of how many markers and words an open in the header may consist.
const maxOpen = 4

// openInHeader moves the open of reasoning out of the header: where every answer and every prompt
// opens a block, all of them share its open, and it looks like a part of the header. It shows by
// its mirror, which begins the close.
func (a *reasoningPass) openInHeader(r *format.Reasoning) {
	ps := splitMarkers(a.start)
	for i, n := len(ps)-1, 0; i >= 0 && n < maxOpen; i-- {
		if onlySpace(ps[i]) {
			continue
		}
		n++
		moved := strings.Join(ps[i:], "")
		text := strings.TrimRight(moved, format.Space)
		if markerAt(ps[i]) == 0 || r.Close.Text == "" {
			continue
		}
		closed := closedAt(r.Close.Text, text)
		switch {
		case text == r.Open.Text:
			r.Open = format.Mark(moved)
		case r.Open.Text == "" && closed == len(r.Close.Text):
			r.Open = format.Mark(moved + r.Open.Full())
		case r.Open.Text == "" && closed > 0:
			r.Open, r.Close = format.Mark(moved+r.Open.Full()),
				format.Mark(r.Close.Before+r.Close.Text[:closed])
		default:
			continue
		}
		a.moveFromHeader(moved)
		a.gave("R2", "header reasoning.open reasoning.close", format.Observed,
			"every turn opens reasoning with %q", moved)
		return
	}
}

// moveFromHeader shortens the header by a suffix, which then begins every turn and prefill.
func (a *reasoningPass) moveFromHeader(suffix string) {
	a.start = strings.TrimSuffix(a.start, suffix)
	a.proper = strings.TrimSuffix(a.proper, suffix)
	for i, start := range a.others {
		a.others[i] = strings.TrimSuffix(start, suffix)
	}
	for i := range a.prefills {
		a.prefills[i] = suffix + a.prefills[i]
	}
	a.cutBodies()
}

// adoptPrefill takes the open from a generation prompt where answers show a close alone.
func (a *reasoningPass) adoptPrefill(r *format.Reasoning) {
	for _, p := range a.prefills {
		if ps := pieces(p); onlyMarkers(p) && len(ps) == 1 && ps[0] != r.Close.Text {
			r.Open = format.Mark(p)
			a.gave("R2", "reasoning.open", format.Observed, "open of reasoning %q, by the "+
				"generation prompt", p)
			return
		}
	}
	r.Mode = format.ReasoningDelimiter
}

// reasoningMode tells the modes apart by the generation prompts (R2).
func (a *reasoningPass) reasoningMode(r *format.Reasoning) {
	if r.Open.Text == "" {
		r.Mode = format.ReasoningDelimiter
		a.gave("R1", "reasoning.mode", format.Observed, "nothing opens reasoning")
		return
	}
	defer func(was format.ReasoningMode) {
		if r.Mode != was {
			a.gave("R2", "reasoning.mode", format.Observed, "some prompt opens "+
				"reasoning; the mode is %s", r.Mode)
		}
	}(r.Mode)
	opened := slices.ContainsFunc(a.prefills, func(p string) bool {
		return strings.Contains(p, r.Open.Text) && !strings.Contains(p, r.Close.Text)
	})
	closed := slices.ContainsFunc(a.prefills,
		func(p string) bool { return r.Close.Text != "" && strings.Contains(p, r.Close.Text) })
	switch {
	case opened && closed:
		r.Mode = format.ReasoningForcedClosed
	case opened:
		r.Mode = format.ReasoningForcedOpen
	case closed && r.Mode == format.ReasoningTagged:
		r.Mode = format.ReasoningForcedClosed
	}
}

// reasoningTrim finds out whether the template trims reasoning.
func (a *reasoningPass) reasoningTrim(r *format.Reasoning) {
	for _, t := range []turn{a.thought, a.acted} {
		if t.observation == nil {
			continue
		}
		o := a.observe(t.Probe.With(func(p *observe.Probe) { p.Padded = true }))
		for _, at := range o.tail {
			if at.Kind == observe.Reasoning {
				r.Trim = at.Text == observe.ReasoningNeedle
			}
		}
		if r.Trim {
			a.gave("R1", "reasoning.trim", format.Observed, "reasoning is trimmed")
		}
		return
	}
}
