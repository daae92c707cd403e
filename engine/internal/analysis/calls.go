package analysis

import (
	"errors"
	"fmt"
	"github.com/goassay/assay/engine/internal/observe"
	"slices"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/source"
)

// callsPass finds how calls are written.
type callsPass struct {
	state
	open string // the opener of a turn's calls
}

func findCalls(s state) state {
	p := callsPass{state: s}
	p.compareCalls()
	return p.state
}

// compareCalls runs T1 to T7.
func (a *callsPass) compareCalls() {
	if err := a.observer.Facts.WhyUnjudged("supports_tool_calls"); err != nil &&
		a.called.observation == nil {
		why, _, _ := strings.Cut(err.Error(), "\n")
		a.unread("no probe with a call can be rendered: " + why)
		return
	}
	if a.called.observation == nil {
		a.format.Undisclosed = a.describesTools()
		a.gave("T1", "calls", format.Observed, "no call written; tools described: %v",
			a.format.Undisclosed)
		if a.format.Undisclosed {
			a.found("T1", "the template does not show how a call is spelled: it may come in any "+
				"registered spelling")
		}
		return
	}
	one, ok := a.spellings(a.called, 1)
	if !ok {
		a.unread("a call's parts are written in no order that can be read")
		return
	}
	c := format.Calls{}
	c.Object = a.objectOf(&one[0])
	two, parallel := []spelling(nil), false
	if a.double.shown(observe.Name) {
		if two, parallel = a.spellings(a.double, 2); parallel && c.Object != nil {
			for i := range two {
				parallel = parallel && a.objectOf(&two[i]) != nil
			}
		}
	}
	opening := a.opening(one[0], c.Object != nil)
	a.open = opening
	if parallel {
		a.section(&c, opening, one, two)
	} else {
		a.single(&c, opening, one[0])
	}
	if c.Object != nil {
		a.array(&c, parallel)
		a.written(&c)
		a.numbered(&c)
		a.gave("T1", "object", format.Observed, "calls are JSON objects: %s", c.Object)
	} else {
		a.parts(&c, one[0])
	}
	a.gave("T2", "calls section_start section_end per_call_start per_call_end separator", format.Observed, "section %q %q, call %q %q, separator %q, array %v",
		c.Section.Open.Full(), c.Section.Close.Full(), c.Call.Open.Full(), c.Call.Close.Full(),
		c.Sep.Full(), c.Array)
	if !parallel {
		a.gave("T2", "section_start section_end per_call_start per_call_end", format.Assumed, "%s, so nothing tells the markers around all calls from those around each; they are taken to enclose each", a.noSecond())
	}
	(&argumentsPass{a}).sortedKeys(&c)
	switch {
	case a.unreadable != "":
	case c.Object == nil && !named(c.Head):
		a.unread("the function's name is written after the arguments")
	case c.Object == nil && !c.Array && c.Section.Open.Text == "" && c.Call.Open.Text == "" &&
		!begins(c.Head):
		a.unread("nothing is written before the function's name by which a call could " +
			"be told from text")
	default:
		a.format.Calls = []format.Calls{c}
	}
}

// unread notes why calls cannot be read although the template writes them.
func (a *callsPass) unread(why string) {
	a.unreadable = why
	a.found("T1", "calls cannot be read: %s", why)
}

// named reports whether parts hold the function's name, by itself or in an id.
func named(parts []format.Part) bool {
	return slices.ContainsFunc(parts, func(p format.Part) bool {
		return p.Kind == format.SlotName || named(p.Parts)
	})
}

// begins reports whether parts begin with a literal.
func begins(parts []format.Part) bool {
	if len(parts) > 0 && parts[0].Kind == format.SlotID {
		return begins(parts[0].Parts)
	}
	return len(parts) > 0 && parts[0].Kind == format.SlotLit && parts[0].Text.Text != ""
}

// noSecond says why there are no two calls to compare.
func (a *callsPass) noSecond() string {
	var at *source.Error
	switch {
	case errors.As(a.double.Err, &at):
		return "two calls are refused (" + at.Msg + ")"
	case a.double.Err != nil:
		return "two calls are refused"
	case slices.ContainsFunc(a.double.tail,
		func(at observe.Atom) bool { return at.Kind == observe.Name && at.Call == 1 }):
		return "two calls are not written as one call is, twice"
	}
	return "a second call is not written"
}

// spelling is one call in a turn: the literal before it, its atoms from the first slot to the last,
// the literal after.
type spelling struct {
	lead    string
	core    []observe.Atom
	trail   string
	follows observe.Kind // the thing before lead
	// the bytes of the literal before the first slot that belong to the call's JSON object
	cut int
}

// spellings cuts a turn of n calls into its calls. All calls of a probe have the same shape, so the
// slots of a turn divide evenly; the names report whether they do.
func (a *callsPass) spellings(t turn, n int) ([]spelling, bool) {
	var slots []int // indexes of the atoms that belong to calls
	for i, at := range t.body {
		if slices.Contains(callKinds, at.Kind) {
			slots = append(slots, i)
		}
	}
	// A counter after the last call belongs to nothing.
	for len(slots) > 0 && len(slots)%n != 0 && t.body[slots[len(slots)-1]].Kind == observe.Counter {
		slots = slots[:len(slots)-1]
	}
	if len(slots) == 0 || len(slots)%n != 0 {
		return nil, false
	}
	size := len(slots) / n
	calls := make([]spelling, n)
	for i := range calls {
		first, last := slots[i*size], slots[(i+1)*size-1]
		core := t.body[first : last+1]
		if !slices.ContainsFunc(core,
			func(at observe.Atom) bool { return at.Kind == observe.Name }) {
			return nil, false
		}
		for _, at := range core {
			if at.Kind != observe.Literal && at.Kind != observe.Counter && at.Call != i {
				return nil, false
			}
		}
		calls[i].core = core
		if first > 0 && t.body[first-1].Kind == observe.Literal {
			calls[i].lead = t.body[first-1].Text
			if first > 1 {
				calls[i].follows = t.body[first-2].Kind
			}
		}
		calls[i].trail = observe.After(t.body, last)
	}
	return calls, true
}

// opening returns the opener of a turn's first call: the literal before it, less the parts of
// reasoning and content that a turn without content has. A turn with content shows it after the
// content; where the template drops content beside calls, the known markers are taken off.
func (a *callsPass) opening(first spelling, isObject bool) string {
	lead := a.withoutReasoning(first.lead)
	for _, m := range []format.Marker{a.format.Content.Open, a.format.Content.Close} {
		if rest, ok := strings.CutPrefix(lead, m.Full()); ok {
			lead = rest
		}
	}
	if !a.spoken.shown(observe.Content) {
		return lead
	}
	spoken, ok := a.spellings(a.spoken, 1)
	if !ok || isObject && a.objectOf(&spoken[0]) == nil || spoken[0].follows != observe.Content {
		return lead
	}
	s := snapStart(source.CommonSuffix(lead, spoken[0].lead), lead, spoken[0].lead)
	if onlySpace(s) {
		return lead
	}
	if gap := strings.TrimSuffix(spoken[0].lead, s); onlySpace(gap) {
		// white space that is written after content alone belongs to the open all the same
		s = gap + s
	}
	return s
}

// section compares one call with two (T2). Text before every call is the call's open, text before
// the first call alone the section's. The closes are found in the same way. The rest of the text
// between two calls is the separator.
func (a *callsPass) section(c *format.Calls, opening string, one, two []spelling) {
	between := two[1].lead
	if c.Object != nil {
		// The literal between two objects was cut at both ends: after the first, before the second.
		between = two[0].trail[:max(0, len(two[0].trail)-two[1].cut)]
	}
	behind := one[0].trail
	inner, _ := a.cutEnd(behind)
	open, sep, close := divide(opening, between, behind, opening, inner)
	c.Call.Open = format.Mark(open)
	c.Call.Close = format.Mark(close)
	c.Sep = format.Mark(sep)
	c.Section.Open = format.Mark(opening[:len(opening)-len(open)])
	if c.Section.Open.Text == "" {
		// White space alone is no section: it precedes the first call.
		c.Call.Open = format.Mark(opening)
		c.Section.Open = format.Marker{}
	}
	rest := ""
	if two[1].trail != behind {
		rest = strings.TrimPrefix(two[1].trail, close)
	}
	a.sectionEnd(c, behind[len(close):], rest)
}

// single handles a template that writes one call at most: everything around the call belongs to it.
func (a *callsPass) single(c *format.Calls, opening string, one spelling) {
	c.Call.Open = format.Mark(opening)
	close, end := a.cutEnd(one.trail)
	c.Call.Close = format.Mark(close)
	a.callEnd = end
}

// sectionEnd divides the text after the last call's close into the section's close and the end of
// the turn. A template may close a section only where it holds several calls: second is the text
// after the last of two, where that differs.
func (a *callsPass) sectionEnd(c *format.Calls, rest, second string) {
	close, end := a.cutEnd(rest)
	if _, at := observe.Before(a.plain.body, observe.Content); end == "" &&
		countMarkers(observe.After(a.plain.body, at)) > 0 && countMarkers(rest) > 0 &&
		!mirrored(c.Section.Open.Full(), rest) {
		// The end of an answer is not there, so the last marker ends a turn with calls.
		// Where a marker that ends plain content precedes it, both do.
		close = rest[:lastMarker(rest)]
		if m := a.endOfMessage(); m != "" {
			close, _, _ = strings.Cut(close, m)
		}
		c.Section.Close = format.Mark(close)
		a.callEnd = rest[len(close):]
		return
	}
	if n := countMarkers(c.Section.Open.Full()); n > 0 && countMarkers(close) != n &&
		countMarkers(rest) > n {
		answers, later := a.turnEnd()
		if onlySpace(answers) {
			answers = later
		}
		if countMarkers(answers) == 0 || !strings.HasPrefix(end, answers) {
			close = cutMarkers(rest, n) // as many markers close a section as open it
			end = rest[len(close):]
		}
	}
	if end == "" && strings.Trim(c.Section.Open.Text, "[ ") == "" &&
		!strings.HasPrefix(strings.TrimLeft(close, format.Space), "]") {
		close, end = "", rest
	}
	if several, ended := a.cutEnd(second); close == "" && c.Section.Open.Text != "" &&
		!onlySpace(several) {
		if n := countMarkers(c.Section.Open.Full()); ended == "" && n > 0 &&
			countMarkers(several) > n {
			several = cutMarkers(several, n) // the rest ends the turn
			end = second[len(several):]
			a.gave("T2", "end", format.Assumed, "%q follows several calls: as many of these "+
				"markers close the section as open it, and the rest is "+
				"taken to end the turn", second)
		}
		close, c.Unclosed = several, true
		a.gave("T2", "section_end section_end.after", format.Observed, "close of the section %q, after several calls alone", close)
	}
	c.Section.Close = format.Mark(close)
	a.callEnd = end
}

// endOfMessage returns the marker that directly follows plain content, "" where there is none.
func (a *callsPass) endOfMessage() string {
	if a.format.Content.Open.Text == "" {
		_, at := observe.Before(a.plain.body, observe.Content)
		behind := strings.TrimLeft(observe.After(a.plain.body, at), format.Space)
		if n := markerAt(behind); n > 0 {
			return behind[:n]
		}
	}
	return ""
}

// mirrored reports whether the last marker of a close is the mirror of the first one of an open, so
// that it ends the part that the open begins.
func mirrored(open, close string) bool {
	first := pieces(open)
	last := strings.TrimRight(close[lastMarker(close):], format.Space)
	return len(first) > 0 && markerAt(first[0]) > 0 && slices.Contains(mirrors(first[0]), last)
}

// cutEnd cuts the end of every turn off a literal after calls.
func (a *callsPass) cutEnd(rest string) (close, end string) {
	_, at := observe.Before(a.plain.body, observe.Content)
	behind := observe.After(a.plain.body, at)
	x, y := strings.TrimRight(rest, format.Space), strings.TrimRight(behind, format.Space)
	shared := a.sharedEnd(x, y)
	marker := strings.Trim(shared, format.Space)
	i := len(x) - len(strings.TrimLeft(shared, format.Space))
	if eos := a.observer.Template().EOS; marker == "" && eos != "" && strings.Contains(rest, eos) {
		marker, i = eos, strings.Index(rest, eos)
	}
	if marker == "" {
		return rest, ""
	}
	for i > 0 && isSpace(rest[i-1]) && len(rest)-i < len(shared) {
		i--
	}
	return rest[:i], rest[i:]
}

// array finds out whether the calls are the items of a JSON array: then its brackets are no part of
// the section's markers. Where several calls were seen, commas separate them.
func (a *callsPass) array(c *format.Calls, several bool) {
	open, close := &c.Section.Open, &c.Section.Close
	if c.Section.IsZero() {
		open, close = &c.Call.Open, &c.Call.Close
	}
	text, opened := strings.CutSuffix(open.Text, "[")
	rest, closed := strings.CutPrefix(close.Text, "]")
	if !opened || !closed || several && c.Sep.Text != "," {
		return
	}
	c.Array = true
	*open = format.Mark(open.Before + text)
	*close = format.Mark(rest + close.After)
	c.Sep = format.Marker{}
	if c.Section.IsZero() {
		c.Section, c.Call = c.Call, format.Pair{}
	}
}

// parts reads a call that is no JSON object: head, arguments, tail (T3, T7, A1, A2).
func (a *callsPass) parts(c *format.Calls, one spelling) {
	first, last := argsRange(one.core)
	head, tail := one.core, []observe.Atom(nil)
	if first >= 0 {
		head, tail = one.core[:first], one.core[last+1:]
	}
	c.Head = a.slots(nil, head)
	c.Tail = a.slots(one.core[:len(one.core)-len(tail)], tail)
	outer, inner := cutLast(c.Call.Open.Full())
	if !slices.ContainsFunc(pieces(outer), isWhole) { // signs without a marker or word open no call
		outer, inner = "", outer+inner
	}
	if inner != "" {
		c.Head = append([]format.Part{format.Lit(inner)}, c.Head...)
	}
	c.Call.Open = format.Mark(outer)
	c.Head = composeID(c.Head)
	(&argumentsPass{a}).arguments(c, one)
	a.divideClose(c)
	if i := attribute(c.Head, format.SlotName); i >= 0 {
		named := a.observe(a.called.Probe.With(func(p *observe.Probe) {
			p.Calls = slices.Clone(p.Calls)
			p.Calls[0].Name = escapable
		}))
		c.Head[i].Escapes = entities(observe.Text(named.tail))
	}
	a.gave("T3", "head tail", format.Observed, "head %v, tail %v", c.Head, c.Tail)
	if a.observer.Facts.Needs.NameInID {
		a.gave("T7", "head", format.Assumed, "the template writes any id, and a call's name "+
			"nowhere else; ids are taken to be %s", chat.NamedID("NAME", 0))
	}
}

// divideClose gives the call as many closing markers as it has opening ones; the rest closes the
// arguments and belongs to the tail.
func (a *callsPass) divideClose(c *format.Calls) {
	close := c.Call.Close.Full()
	n := countMarkers(c.Call.Open.Full())
	ps := splitMarkers(close)
	at := len(ps)
	for at > 0 && n > 0 {
		at--
		if markerAt(ps[at]) > 0 {
			n--
		}
	}
	for at > 0 && at < len(ps) && onlySpace(ps[at-1]) {
		at--
	}
	if tail := strings.Join(ps[:at], ""); !onlySpace(tail) {
		c.Tail = append(c.Tail, format.Lit(tail))
		c.Call.Close = format.Mark(strings.Join(ps[at:], ""))
	}
}

// composeID joins a name and a counter that are glued together, without white space, quote or
// marker between them, with the word before them: so this template makes its ids (T7).
func composeID(parts []format.Part) []format.Part {
	for i := 0; i+2 < len(parts); i++ {
		glue := parts[i+1]
		if parts[i].Kind != format.SlotName || glue.Kind != format.SlotLit ||
			parts[i+2].Kind != format.SlotIndex ||
			countMarkers(glue.Text.Full()) > 0 || strings.ContainsAny(glue.Text.Full(), format.Space+`"'<`) {
			continue
		}
		made, from := slices.Clone(parts[i:i+3]), i
		if i > 0 && parts[i-1].Kind == format.SlotLit && countMarkers(parts[i-1].Text.Full()) == 0 {
			made, from = slices.Clone(parts[i-1:i+3]), i-1
		}
		return slices.Replace(slices.Clone(parts), from, i+3,
			format.Part{Kind: format.SlotID, Parts: made})
	}
	return parts
}

// argsRange returns the indexes of the first and last atom of the arguments, -1 where there are
// none.
func argsRange(core []observe.Atom) (first, last int) {
	first, last = -1, -1
	for i, at := range core {
		if at.Kind == observe.Structure || at.Kind == observe.ArgKey ||
			at.Kind == observe.ArgValue {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	return first, last
}

// countersIn returns how many numbers that the template computes are among atoms.
func countersIn(atoms []observe.Atom) int {
	n := 0
	for _, at := range atoms {
		n += boolInt(at.Kind == observe.Counter)
	}
	return n
}

// counts returns the number at which the nth computed number in a call begins to count the calls of
// a turn. yes reports whether it counts them: one call, two and three have the numbers of their
// places (T7).
func (a *callsPass) counts(nth int) (base int, yes bool) {
	for calls := 1; calls <= len(observe.NameNeedles); calls++ {
		with := func(p *observe.Probe) { p.Calls = a.observer.CallsWith(calls, p.Calls[0].Args...) }
		t := turn{observation: a.observe(a.called.Probe.With(with))}
		if !t.shown(observe.Name) {
			return base, calls > 2
		}
		t.body, _ = a.bodyOf(t.tail)
		cut, ok := a.spellings(t, calls)
		for i, s := range cut {
			numbers := slices.DeleteFunc(slices.Clone(s.core),
				func(at observe.Atom) bool { return at.Kind != observe.Counter })
			if len(numbers) <= nth {
				return 0, false
			}
			number, err := strconv.Atoi(numbers[nth].Text)
			if calls == 1 {
				base = number
			}
			if err != nil || number != base+i {
				return 0, false
			}
		}
		if !ok {
			return 0, false
		}
	}
	return base, true
}

// keptIDs says which ids are written as they are, where not all are.
func keptIDs(ids format.IDs) string {
	if ids.IsZero() {
		return ""
	}
	return ", where it has " + ids.String()
}

// slots turns atoms of a call into parts; before are those that precede them.
func (a *callsPass) slots(before, atoms []observe.Atom) []format.Part {
	var parts []format.Part
	for i, at := range atoms {
		switch at.Kind {
		case observe.Name:
			parts = append(parts, format.Part{Kind: format.SlotName})
		case observe.ID:
			ids := a.observer.Facts.IDs.Kept
			parts = append(parts, format.Part{Kind: format.SlotID, IDs: ids})
			a.gave("T7", "head tail", format.Observed, "the call's id is written%s", keptIDs(ids))
		case observe.Counter:
			if base, counts := a.counts(countersIn(before) + countersIn(atoms[:i])); counts {
				parts = append(parts, format.Part{Kind: format.SlotIndex, Base: base})
				continue
			}
			parts = append(parts, format.Part{Kind: format.SlotNumber})
			a.gave("T7", "head tail", format.Observed, "a number is computed that does not "+
				"count the calls")
		case observe.Literal:
			parts = append(parts, format.Lit(at.Text))
		default:
			a.unread(fmt.Sprintf("%q of the conversation stands among a call's markers", at.Text))
		}
	}
	return parts
}
