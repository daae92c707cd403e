package analysis

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/internal/observe"
	"github.com/goassay/assay/engine/source"
)

// sharedEnd returns the common end of two literals that stand at the end of a turn. Where both have
// more than the end, the end begins where the turns of others show it, unless a marker would be
// lost before it.
func (a *state) sharedEnd(x, y string) string {
	shared := source.CommonSuffix(x, y)
	end := snapStart(shared, x, y)
	if shared == x || shared == y {
		return end
	}
	for _, known := range []string{a.othersEnd, a.observer.Template().EOS} {
		known = strings.Trim(known, format.Space)
		if i := strings.LastIndex(shared, known); known != "" && i >= 0 &&
			onlySpace(shared[i+len(known):]) && bracketed(end) <= bracketed(known) {
			return shared[i:]
		}
	}
	return end
}

// turnEnd returns the text after the last answer and its close. Where the text after an answer that
// a user's message follows begins alike, it returns that common beginning: the rest (an end of the
// whole text, the beginning of a next turn) is no part of the turn. Where it does not, later is the
// end that the other answer has.
func (a *state) turnEnd() (end, later string) {
	_, at := observe.Before(a.plain.body, observe.Content)
	close := ""
	if c := a.format.Content; c.Wraps(false, false) {
		close = c.Close.Full()
	}
	behind := strings.TrimPrefix(observe.After(a.plain.body, at), close)
	o := a.observe(a.plain.Probe.With(func(p *observe.Probe) { p.Past = true }))
	if o.Err != nil {
		return behind, ""
	}
	_, at = observe.Before(o.Atoms(), observe.Content)
	between := strings.TrimPrefix(observe.After(o.Atoms(), at), close)
	opening := observe.LeadOf(o.Atoms(), o.Probe.UserPath()+".content")
	shared := snapEnd(source.CommonPrefix(behind, between), behind, between)
	if onlySpace(shared) {
		later = a.endBefore(between, opening)
	}
	if end = a.withoutNextTurn(shared); end != behind {
		end = withoutOpening(end, between, opening)
	}
	if text := strings.Trim(end, format.Space); text == "" ||
		text == strings.Trim(behind, format.Space) {
		end = behind
	}
	return end, later
}

// endBefore returns the end of an answer that stands before a user's message: the markers between
// the two, less the opener of that message. The opener is known by a user's message that opens a
// conversation; where the message before that one ends as answers do, the end is known by that of a
// user's message instead.
func (a *state) endBefore(between, opening string) string {
	shared := snapStart(source.CommonSuffix(opening, between), opening, between)
	end := between[:len(between)-len(shared)]
	if others := strings.TrimSuffix(a.start, a.proper); onlySpace(end) {
		end = snapEnd(source.CommonPrefix(others, between), others, between)
	}
	header := strings.Trim(a.proper, format.Space)
	if onlySpace(end) || !onlyMarkers(end) || strings.Contains(end, header) {
		return "" // where nothing, or the same text, heads answers, it may open the next turn
	}
	for _, t := range a.answers() { // the end of a part ends no turn
		if strings.Contains(observe.Text(t.body), strings.Trim(end, format.Space)) {
			return ""
		}
	}
	return end
}

// nextPrompt returns the text that a template writes, unasked, after the end of a last answer as it
// does after a user's message. It is the prompt for an answer, and no part of the one before it.
func (a *state) nextPrompt(end string) string {
	_, at := observe.Before(a.plain.body, observe.Content)
	_, rest, _ := strings.Cut(observe.After(a.plain.body, at), end)
	if !a.unasked || onlySpace(rest) || !strings.HasSuffix(a.othersEnd, rest) {
		return ""
	}
	a.gave("C1", "end", format.Observed, "the prompt for an answer is written unasked: %q", rest)
	return rest
}

// withoutNextTurn cuts off an end where a next turn begins: as the prompt does, after a token for
// its beginning perhaps.
func (a *state) withoutNextTurn(end string) string {
	if end == "" {
		return "" // nor need there be an answer
	}
	var opening []string
	for p := range eachPiece(observe.FirstLiteral(a.plain.Atoms())) {
		if len(opening) == 2 || markerAt(p) == 0 {
			break
		}
		opening = append(opening, p)
	}
	pos := 0
	for p := range eachPiece(end) {
		if slices.Contains(opening, p) && !onlySpace(end[:pos]) {
			return end[:pos]
		}
		pos += len(p)
	}
	return end
}

// withoutOpening takes the opening of a user's message off an end that runs into it. between is the
// text between an answer and a user's message; opening is the text with which a conversation opens
// such a message. Both end alike; where their common end begins in the middle of the turn's end,
// the turn ends there. A marker between brackets is left: it may as well end the text before it.
func withoutOpening(end, between, opening string) string {
	at := len(between) - len(snapStart(source.CommonSuffix(opening, between), opening, between))
	if at >= len(end) || onlySpace(between[:at]) || onlySpace(end[at:]) || bracketed(end[at:]) > 0 {
		return end
	}
	return end[:at]
}

// nextMessages returns the tokens with which a template begins the messages that may follow an
// answer: a user's after a text, and a result after a call. Where it writes no end of a turn, the
// model has learnt to write such a token in its place.
func (a *state) nextMessages() (tokens []string) {
	if a.plain.observation == nil {
		return nil
	}
	add := func(end, further string) {
		next, ok := strings.CutPrefix(further, end)
		next = strings.TrimLeft(next, format.Space)
		n := bracketedAt(next)
		if !ok || n == 0 || !isToken(next[:n]) || slices.Contains(tokens, next[:n]) {
			return
		}
		next = next[:n]
		inside := func(t *turn) bool { return strings.Contains(observe.Text(t.body), next) }
		if !strings.Contains(a.proper, next) && !slices.ContainsFunc(a.answers(), inside) {
			tokens = append(tokens, next)
		}
	}
	past := a.observe(a.plain.Probe.With(func(p *observe.Probe) { p.Past = true }))
	if _, at := observe.Before(past.Atoms(), observe.Content); past.Err == nil && at >= 0 {
		add(observe.LastLiteral(a.plain.body), observe.After(past.Atoms(), at))
	}
	if !a.called.shown(observe.Name) {
		return tokens
	}
	answered := a.observe(a.called.Probe.With(func(p *observe.Probe) { p.Answered = true }))
	for i, at := range slices.Backward(answered.Atoms()) {
		if slices.Contains(callKinds, at.Kind) && answered.Err == nil {
			add(observe.LastLiteral(a.called.body), observe.After(answered.Atoms(), i))
			break
		}
	}
	return tokens
}

// isToken reports whether a marker between brackets cannot be markup of a text: a sign stands after
// the bracket.
func isToken(marker string) bool {
	inner := strings.TrimLeft(marker, format.OpenBrackets)
	return inner != "" && classAt(inner) == sign && inner[0] != '/'
}

// findEnds collects the ends of turns: the literal after content or calls that belongs to neither.
func (a *state) findEnds() {
	f := &a.format
	add := func(end string) {
		if !onlySpace(end) && !slices.Contains(f.End, end) {
			f.End = append(f.End, end)
		}
	}
	if a.plain.observation != nil {
		end, later := a.turnEnd()
		add(end)
		if later != "" {
			a.found("C1", "%q ends an answer where another message follows, and %q where none "+
				"follows", later, end)
			add(later)
		}
		a.appended = a.nextPrompt(end)
	}
	plain := f.End
	calls := a.withoutNextTurn(a.callEnd)
	add(calls)
	known := func(end string) bool {
		end, calls := strings.Trim(end, format.Space), strings.Trim(calls, format.Space)
		return strings.Contains(end, calls) || strings.Contains(calls, end)
	}
	apart := len(plain) > 0 && len(f.End) > len(plain) && !slices.ContainsFunc(plain, known)
	if !a.observer.Template().StandIns {
		add(a.observer.Template().EOS)
	}
	if next := a.nextMessages(); len(plain) == 0 && len(next) > 0 {
		a.gave("C1", "end", format.Observed, "nothing ends a turn but the markers of the messages "+
			"that may follow: %q", next)
		a.nextTokens = next
		for _, token := range next {
			add(token)
		}
	} else {
		a.gave("C1", "end", format.Observed, "turns end with %q", f.End)
	}
	if apart {
		a.gave("T2", "end", format.Assumed, "every turn with calls ends with %q, and other turns "+
			"do not; it is taken to end the turn, and may as well close the calls", calls)
	}
	for _, end := range f.End { // the end of a turn closes no content
		if text, ok := strings.CutSuffix(f.Content.Close.Text,
			strings.Trim(end, format.Space)); ok {
			f.Content.Close = format.Mark(f.Content.Close.Before + text)
		}
	}
}
