package analysis

import (
	"github.com/goassay/assay/engine/observe"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/format"
)

// compareContent runs C1: what stands around content, alone and behind reasoning, that is neither the header nor reasoning nor
// what ends every turn.
func (a *analyzer) compareContent() {
	c := &a.result.Format.Content
	if c.Mode != format.ContentPlain {
		return // found beside reasoning already
	}
	open, at := observe.Before(a.plain.body, observe.Content)
	if at < 0 {
		a.found("C1", "no content written")
		return
	}
	if at > 1 && open != "" {
		a.found("C1", "undecided: before content stands %q, and %q before that changes from turn to turn; it is taken to be content", open, a.plain.body[at-2].Text)
		return
	}
	open = a.withoutReasoning(open)
	close := a.contentClose(open, observe.After(a.plain.body, at))
	if onlySpace(open) && a.thought.observation != nil {
		if wrapped := a.openBehindReasoning(); wrapped != "" {
			c.Mode, open = format.ContentWrappedWithReasoning, wrapped
			_, at := observe.Before(a.thought.body, observe.Content)
			close = a.contentClose(wrapped, observe.After(a.thought.body, at))
		}
	}
	if beside := a.pairBesideCalls(); onlySpace(open) && c.Mode == format.ContentPlain && !beside.IsZero() {
		c.Mode, c.Pair = format.ContentWrappedWithCalls, beside
		a.found("C1", "content between %q and %q beside calls", beside.Open.Full(), beside.Close.Full())
	} else if !onlySpace(open) || c.Mode != format.ContentPlain {
		if c.Mode == format.ContentPlain {
			c.Mode = format.ContentWrapped
		}
		c.Pair = format.Pair{Open: format.Mark(open), Close: format.Mark(close)}
		a.found("C1", "content between %q and %q", open, close)
	} else {
		// White space before content is the template's, where it writes some; behind content it stands before an end.
		c.Open = format.Mark(open)
		a.found("C1", "content plain, behind %q", open)
	}
	padded := a.observe(a.plain.Probe.With(func(p *observe.Probe) { p.Padded = true }))
	for _, at := range padded.tail {
		if at.Kind == observe.Content {
			c.Trim = at.Text == observe.ContentNeedle
		}
	}
}

// pairBesideCalls returns the markers around content that precedes calls, which the template writes there even if the content is empty.
func (a *analyzer) pairBesideCalls() format.Pair {
	if !a.spoken.shown(observe.Content) || !a.called.shown(observe.Name) {
		return format.Pair{}
	}
	open, at := observe.Before(a.spoken.body, observe.Content)
	open = a.withoutReasoning(open)
	n := countMarkers(open)
	close := cutMarkers(observe.After(a.spoken.body, at), n)
	empty, _ := observe.Before(a.called.body, callKinds...)
	if n == 0 || !onlyMarkers(open) || !onlyMarkers(close) || countMarkers(close) != n || !strings.HasPrefix(a.withoutReasoning(empty), open+close) {
		return format.Pair{}
	}
	return format.Pair{Open: format.Mark(open), Close: format.Mark(close)}
}

// contentClose returns what closes content: the literal behind it without what ends the turn. Turns of different kinds share
// their end; what only content is followed by is its close. A close has as many markers as its open, even where the end
// happens to begin like it.
func (a *analyzer) contentClose(open, behind string) string {
	if a.called.observation == nil {
		return ""
	}
	calls := observe.LastLiteral(a.called.body)
	end := a.sharedEnd(behind, calls)
	if onlySpace(end) {
		return ""
	}
	close := strings.TrimSuffix(behind, end)
	if n := countMarkers(open); close != "" && countMarkers(close) < n {
		close = cutMarkers(behind, n)
	}
	return close
}

// sharedEnd returns what two literals end with that both stand at the end of a turn. Where neither of them is nothing but the end, it
// begins where the turns of others show that theirs begins, if they do, and no marker is lost before it.
func (a *analyzer) sharedEnd(x, y string) string {
	shared := commonSuffix(x, y)
	end := snapStart(shared, x, y)
	if shared == x || shared == y {
		return end
	}
	for _, known := range []string{a.othersEnd, a.observer.Template().EOS} {
		known = strings.Trim(known, format.Space)
		if i := strings.LastIndex(shared, known); known != "" && i >= 0 && onlySpace(shared[i+len(known):]) && bracketed(end) <= bracketed(known) {
			return shared[i:]
		}
	}
	return end
}

// bracketed returns how many markers between brackets a literal has.
func bracketed(s string) int {
	n := 0
	for _, p := range splitMarkers(s) {
		n += boolInt(bracketedAt(p) > 0)
	}
	return n
}

// withoutReasoning takes an empty block of reasoning, or its close alone, off the start of a literal. A marker that a
// generation prompt opens reasoning with counts as such a block's start.
func (a *analyzer) withoutReasoning(s string) string {
	r := a.result.Format.Reasoning
	for i, m := range [...]format.Marker{r.Open, r.Close} {
		if m.Text == "" || i > 0 && a.contentCloses {
			continue
		}
		trimmed := strings.TrimLeft(s, format.Space)
		if rest, ok := strings.CutPrefix(trimmed, m.Text); ok {
			s = rest
			if after := strings.TrimPrefix(rest, m.After); after != rest {
				s = after
			}
		}
	}
	return s
}

// openBehindReasoning returns what opens content only where reasoning precedes it.
func (a *analyzer) openBehindReasoning() string {
	_, at := observe.Before(a.thought.body, observe.Reasoning)
	if at+2 >= len(a.thought.body) || a.thought.body[at+2].Kind != observe.Content {
		return ""
	}
	between := observe.After(a.thought.body, at)
	rest, ok := strings.CutPrefix(between, a.result.Format.Reasoning.Close.Full())
	if !ok || onlySpace(rest) {
		return ""
	}
	return rest
}

// turnEnd returns what stands behind the last answer and its close, shortened to what stands behind an answer that a user's message
// follows, where that begins alike: what comes after it (an end of the whole text, the beginning of a next turn) is no part of
// the turn.
func (a *analyzer) turnEnd() string {
	_, at := observe.Before(a.plain.body, observe.Content)
	close := ""
	if c := a.result.Format.Content; c.Mode == format.ContentWrapped {
		close = c.Close.Full()
	}
	behind := strings.TrimPrefix(observe.After(a.plain.body, at), close)
	o := a.observe(a.plain.Probe.With(func(p *observe.Probe) { p.Past = true }))
	if o.Err != nil {
		return behind
	}
	_, at = observe.Before(o.Atoms, observe.Content)
	between := strings.TrimPrefix(observe.After(o.Atoms, at), close)
	end := a.withoutNextTurn(snapEnd(commonPrefix(behind, between), behind, between))
	if text := strings.Trim(end, format.Space); text == "" || text == strings.Trim(behind, format.Space) {
		return behind
	}
	return end
}

// withoutNextTurn cuts off an end where a next turn begins: as the prompt does, behind a token for its beginning perhaps.
func (a *analyzer) withoutNextTurn(end string) string {
	var opening []string
	for _, p := range splitMarkers(observe.FirstLiteral(a.plain.Atoms)) {
		if len(opening) == 2 || markerAt(p) == 0 {
			break
		}
		opening = append(opening, p)
	}
	pos := 0
	for _, p := range splitMarkers(end) {
		if slices.Contains(opening, p) && !onlySpace(end[:pos]) {
			return end[:pos]
		}
		pos += len(p)
	}
	return end
}

// findEnds collects what ends turns: the literal behind content or calls that belongs to neither.
func (a *analyzer) findEnds() {
	f := &a.result.Format
	add := func(end string) {
		if !onlySpace(end) && !slices.Contains(f.End, end) {
			f.End = append(f.End, end)
		}
	}
	add(a.turnEnd())
	plain := f.End
	calls := a.withoutNextTurn(a.callEnd)
	add(calls)
	known := func(end string) bool {
		end, calls := strings.Trim(end, format.Space), strings.Trim(calls, format.Space)
		return strings.Contains(end, calls) || strings.Contains(calls, end)
	}
	if len(plain) > 0 && len(f.End) > len(plain) && !slices.ContainsFunc(plain, known) {
		a.found("T2", "undecided: every turn with calls ends with %q, and other turns do not; it is taken to end the turn, and may as well close the calls", calls)
	}
	if !a.observer.Template().StandIns {
		add(a.observer.Template().EOS)
	}
	a.found("C1", "turns end with %q", f.End)
}
