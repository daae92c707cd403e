package analysis

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/internal/observe"
)

// contentPass finds the markers around content.
type contentPass struct{ state }

func findContent(s state) state {
	p := contentPass{s}
	p.compareContent()
	return p.state
}

// compareContent runs C1: the text around content, alone and after reasoning, that is neither the
// header nor reasoning nor the end of every turn.
func (a *contentPass) compareContent() {
	c := &a.format.Content
	if c.Mode != format.ContentPlain {
		return // found beside reasoning already
	}
	open, at := observe.Before(a.plain.body, observe.Content)
	if at < 0 {
		a.gave("C1", "content.mode", format.Observed, "no content written")
		return
	}
	if at > 1 && open != "" {
		a.gave("C1", "content.mode", format.Assumed, "before content stands %q, and %q before "+
			"that changes from turn to turn; it is "+
			"taken to be content", open, a.plain.body[at-2].Text)
		return
	}
	lead := open
	open = a.withoutReasoning(lead)
	a.emptyReasoning(strings.TrimSuffix(lead, open))
	close := a.contentClose(open, observe.After(a.plain.body, at))
	if onlySpace(open) && a.thought.observation != nil {
		if wrapped := a.openBehindReasoning(); wrapped != "" {
			c.Mode, open = format.ContentWrappedWithReasoning, wrapped
			_, at := observe.Before(a.thought.body, observe.Content)
			close = a.contentClose(wrapped, observe.After(a.thought.body, at))
		}
	}
	if beside := a.pairBesideCalls(); onlySpace(open) && c.Mode == format.ContentPlain &&
		!beside.IsZero() {
		c.Mode, c.Pair = format.ContentWrappedWithCalls, beside
		a.gave("C1", "content.mode content.open content.close", format.Observed, "content between %q and %q beside calls",
			beside.Open.Full(), beside.Close.Full())
	} else if !onlySpace(open) || c.Mode != format.ContentPlain {
		if c.Mode == format.ContentPlain {
			c.Mode = format.ContentWrapped
		}
		where := ""
		if c.Mode == format.ContentWrapped && a.plainBesideCalls() {
			c.Mode, where = format.ContentWrappedWithoutCalls, ", and plain beside calls"
		}
		c.Pair = format.Pair{Open: format.Mark(open), Close: format.Mark(close)}
		a.gave("C1", "content.mode content.open content.close", format.Observed, "content between %q and %q%s", open, close, where)
	} else {
		// White space before content is the template's, where it writes some; after content it
		// stands before an end.
		c.Open = format.Mark(open)
		a.gave("C1", "content.mode content.open", format.Observed, "content plain, after %q", open)
	}
	padded := a.observe(a.plain.Probe.With(func(p *observe.Probe) { p.Padded = true }))
	for _, at := range padded.tail {
		if at.Kind == observe.Content {
			c.Trim = at.Text == observe.ContentNeedle
		}
	}
	if c.Trim {
		a.gave("C1", "content.trim", format.Observed, "content is trimmed")
	}
}

// emptyReasoning notes the block that stands before content in an answer without reasoning: one
// that is closed, since an answer goes on in its content after it.
func (a *contentPass) emptyReasoning(block string) {
	r := &a.format.Reasoning
	if r.Close.Text == "" || !strings.Contains(block, r.Close.Text) {
		return
	}
	r.Empty = block
	a.gave("C1", "reasoning.empty", format.Observed, "an answer without reasoning begins with %q",
		block)
}

// pairBesideCalls returns the markers around content that precedes calls, which the template writes
// there even if the content is empty.
func (a *contentPass) pairBesideCalls() format.Pair {
	if !a.spoken.shown(observe.Content) || !a.called.shown(observe.Name) {
		return format.Pair{}
	}
	open, at := observe.Before(a.spoken.body, observe.Content)
	open = a.withoutReasoning(open)
	n := countMarkers(open)
	if gap := a.messageBreak(at); gap != "" && onlySpace(open) {
		return format.Pair{Open: format.Mark(open), Close: format.Mark(gap)}
	}
	close := cutMarkers(observe.After(a.spoken.body, at), n)
	opensCalls := a.betweenCalls(close) // and nothing closes content
	if opensCalls {
		close = ""
	}
	empty, _ := observe.Before(a.called.body, callKinds...)
	if n == 0 || !onlyMarkers(open) ||
		!opensCalls && (!onlyMarkers(close) || countMarkers(close) != n) ||
		!strings.HasPrefix(a.withoutReasoning(empty), open+close) {
		return format.Pair{}
	}
	return format.Pair{Open: format.Mark(open), Close: format.Mark(close)}
}

// betweenCalls reports whether a marker after content stands before a second call as well, and thus
// opens calls.
func (a *contentPass) betweenCalls(marker string) bool {
	second := slices.IndexFunc(a.double.body,
		func(at observe.Atom) bool { return at.Kind == observe.Name && at.Call == 1 })
	marker = strings.Trim(marker, format.Space)
	return marker != "" && second > 0 && strings.Contains(a.double.body[second-1].Text, marker)
}

// messageBreak returns the text between content and calls that are messages of their own: the end
// of plain content, and the header once more. After it the calls are written as without content.
func (a *contentPass) messageBreak(content int) string {
	between := observe.After(a.spoken.body, content)
	_, at := observe.Before(a.plain.body, observe.Content)
	i := strings.LastIndex(between, a.proper)
	if i < 0 || onlySpace(a.proper) || onlySpace(between[:i]) {
		return ""
	}
	end := strings.Trim(between[:i], format.Space)
	if !strings.HasPrefix(observe.After(a.plain.body, at), end) {
		return ""
	}
	gap := between[:i+len(a.proper)]
	if calls, _ := observe.Before(a.called.body, callKinds...); calls != between[len(gap):] {
		return ""
	}
	return gap
}

// plainBesideCalls reports whether the template writes content that precedes calls without markers.
func (a *contentPass) plainBesideCalls() bool {
	if !a.spoken.shown(observe.Content) || !a.spoken.shown(observe.Name) {
		return false
	}
	open, at := observe.Before(a.spoken.body, observe.Content)
	return at <= 1 && onlySpace(a.withoutReasoning(open))
}

// contentClose returns the close of content: the literal after it, less the end of the turn. Turns
// of different kinds share their end; text that follows content alone is its close. A close has as
// many markers as its open, even where the end happens to begin like it, provided that the end
// keeps a marker.
func (a *contentPass) contentClose(open, behind string) string {
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
		longer := cutMarkers(behind, n)
		if markerAt(strings.TrimLeft(behind[len(longer):], format.Space)) > 0 {
			close = longer
		}
	}
	if close == "" && !onlySpace(open) {
		close = a.closeBesideCalls(behind)
	}
	return close
}

// closeBesideCalls returns the text between content and the opener of the calls after it, where the
// text after content alone begins with it as well: it closes content, and only the rest ends the
// turn, though a call closes alike.
func (a *contentPass) closeBesideCalls(behind string) string {
	if !a.spoken.shown(observe.Content) {
		return ""
	}
	_, at := observe.Before(a.spoken.body, observe.Content)
	opener, _ := observe.Before(a.called.body, callKinds...)
	close, ok := strings.CutSuffix(observe.After(a.spoken.body, at), a.withoutReasoning(opener))
	if !ok || onlySpace(opener) || onlySpace(close) || !onlyMarkers(close) ||
		!strings.HasPrefix(behind, close) {
		return ""
	}
	return close
}

// withoutReasoning takes an empty block of reasoning, or its close alone, off the start of a
// literal. A marker that a generation prompt opens reasoning with counts as such a block's start.
func (a *state) withoutReasoning(s string) string {
	r := a.format.Reasoning
	for i, m := range [...]format.Marker{r.Open, r.Close} {
		if m.Text == "" || i > 0 && a.contentCloses {
			continue
		}
		trimmed := strings.TrimLeft(s, format.Space)
		if rest, ok := strings.CutPrefix(trimmed, m.Text); ok {
			s = rest
			if after := strings.TrimPrefix(rest, m.After); after != rest {
				s = after
			} else if i == 0 {
				s = rest[len(a.spaceOfPrompt(rest)):]
			}
		}
	}
	return s
}

// spaceOfPrompt returns the white space that a generation prompt ends with after the marker which
// opens reasoning, where a text begins with it. It belongs to the prompt, and opens no content.
func (a *state) spaceOfPrompt(s string) string {
	longest := ""
	for _, p := range a.prefills {
		_, space, ok := strings.Cut(p, a.format.Reasoning.Open.Text)
		if ok && onlySpace(space) && strings.HasPrefix(s, space) && len(space) > len(longest) {
			longest = space
		}
	}
	return longest
}

// openBehindReasoning returns the marker that opens content only after reasoning.
func (a *contentPass) openBehindReasoning() string {
	_, at := observe.Before(a.thought.body, observe.Reasoning)
	if at+2 >= len(a.thought.body) || a.thought.body[at+2].Kind != observe.Content {
		return ""
	}
	between := observe.After(a.thought.body, at)
	rest, ok := strings.CutPrefix(between, a.format.Reasoning.Close.Full())
	if !ok || onlySpace(rest) {
		return ""
	}
	return rest
}
