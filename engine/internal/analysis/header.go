package analysis

import (
	"github.com/goassay/assay/engine/internal/observe"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/source"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goassay/assay/engine/format"
)

// heading describes the place where turns begin, as far as it is known.
type heading struct {
	// start is the text between a user's text and the model's first byte in a conversation of one
	// user message: the end of the user's turn and the header. proper is the header alone.
	start, proper string
	// others are further starts, where a flag changes the end of the user's turn, and headless
	// reports that some answers follow that end without the header.
	others   []string
	headless bool
	// unasked reports whether the template writes its generation prompt whether it is asked to or
	// not, or has none.
	unasked bool
	// judging reports whether an assistant's message is a part of the question, at least where
	// there are no tools.
	judging bool
	// besideTools reports whether answers are written beside tools alone, and prompts without tools
	// end with their header all the same.
	besideTools bool
	// othersEnd is the text that the template writes after a user's message that ends the
	// conversation.
	othersEnd string
	prefills  []string // the texts that prompts were seen to add after the header
}

// headerPass finds the heading.
type headerPass struct{ state }

func findHeader(s state) state {
	p := headerPass{s}
	p.findHeader()
	if p.judged() {
		p.withTools()
		p.judging = true
	}
	return p.state
}

// judged reports whether an assistant's message is no answer: the template writes it before the end
// of a user's message, as the subject of the question, and no turn begins as prompts do. Where
// prompts are written unasked, the common end must contain sentences: such an end is the task of a
// judge, and not the end of a text.
func (a *headerPass) judged() bool {
	asked, bare := a.observe(observe.Probe{Plain: true, Generate: true, Tools: a.tooled}),
		a.observe(observe.Probe{Plain: true, Tools: a.tooled})
	added, ok := strings.CutPrefix(asked.String, bare.String)
	if asked.Err != nil || bare.Err != nil || !ok {
		return false
	}
	lead, i := observe.Before(a.plain.Atoms(), observe.Content)
	ends, end := squeeze(observe.After(a.plain.Atoms(), i)), observe.Text(bare.tail)
	if onlySpace(added) {
		frame := source.CommonSuffix(observe.After(a.plain.Atoms(), i), end)
		return a.unasked && source.CommonPrefix(squeeze(lead), squeeze(end)) == "" &&
			hasSentence(frame)
	}
	_, follows := cutStart(observe.FirstLiteral(a.plain.tail), end)
	return onlySpace(a.proper) && !onlySpace(end) && !follows && ends == squeeze(end)
}

// withTools looks for the header in answers beside tools, where a template writes them nowhere
// else. Where it writes them nowhere, the header is the text that prompts add.
func (a *headerPass) withTools() {
	beside := func(t *turn) {
		if t.observation != nil {
			t.observation = a.observe(t.Probe.With(func(p *observe.Probe) { p.Tools = true }))
		}
	}
	was := a.state
	a.tooled = true
	beside(&a.plain)
	beside(&a.bare)
	beside(&a.thought)
	if a.plain.Err == nil {
		a.heading = heading{}
		if a.findHeader(); !onlySpace(a.proper) {
			a.found("R2", "without tools an assistant's message is a part of the question; "+
				"answers are written beside tools alone")
			asked := a.observe(observe.Probe{Plain: true, Generate: true})
			a.besideTools = asked.Err == nil && strings.HasSuffix(asked.String, a.proper)
			return
		}
	}
	a.state = was
	a.turns = turns{}
	before := observe.Text(a.observe(observe.Probe{Plain: true}).tail)
	var added []string
	for _, p := range a.prompts() {
		if text, ok := strings.CutPrefix(observe.Text(p.tail), before); ok {
			added = append(added, text)
		}
	}
	header := snapEnd(source.CommonPrefix(added...), added...)
	for i, text := range added {
		added[i] = text[len(header):]
	}
	a.setHeader(before+header, header, added)
	a.found("R2", "the template writes an assistant's message as a part of the "+
		"question, and no answer")
}

// findHeader finds the text between the last message and the model's first byte (E9), and the
// prefills (R2).
//
// All answers and generation prompts share the end of the user's message and the header. Where the
// template writes something after all messages (instructions, or a generation prompt that cannot be
// switched off), the header is found after it. Where answers and prompts differ in white space
// before the header is complete, white space does not count.
func (a *headerPass) findHeader() {
	base := a.observe(observe.Probe{Plain: true, Tools: a.tooled})
	asked := a.prompts()
	heads := lists.Map(a.answers(), func(t *turn) string { return observe.FirstLiteral(t.tail) })
	if base.Err != nil || len(asked) == 0 {
		shared := snapEnd(source.CommonPrefix(heads...), heads...)
		a.setHeader(shared, shared, nil)
		return
	}
	before := observe.Text(base.tail)
	a.othersEnd = before
	prompts, moved := a.movedHeaders(heads, before, asked)
	header, end := a.alignHeader(heads, before, prompts, a.withoutOpener)
	if added, asked := strings.CutPrefix(prompts[0], before); asked &&
		onlySpace(header[len(end):]) && !onlySpace(added) &&
		a.withoutOpener(header+added) == header+added {
		if loose, from := a.alignLoosely(heads, before, prompts); loose != "" {
			header, end = loose, from
		}
	}
	if whole, from, ok := a.headerOfContent(header, before, prompts); ok {
		header, end, a.headless = whole, from, true
	}
	for _, m := range moved {
		if proper := snapStart(source.CommonSuffix(header[len(end):], m.header), header,
			m.header); !onlySpace(proper) {
			end = strings.TrimSuffix(header, proper)
		}
	}
	var prefills []string
	for _, p := range prompts {
		proper := header[len(end):]
		if i := strings.LastIndex(p, proper); proper != "" && i >= 0 {
			prefills = append(prefills, p[i+len(proper):])
		} else {
			prefills = append(prefills, strings.TrimPrefix(p, header))
		}
	}
	for _, m := range moved {
		prefills = append(prefills, m.prefill)
		a.others = append(a.others, m.header)
	}
	for _, p := range a.wordedPrompts() {
		if prefill, ok := strings.CutPrefix(observe.Text(p.tail), header); ok {
			prefills = append(prefills, prefill)
		}
	}
	if proper := header[len(end):]; !onlySpace(proper) {
		for _, p := range a.laterPrompts() {
			if last := observe.LastLiteral(p.Atoms()); strings.Contains(last, proper) {
				prefills = append(prefills, last[strings.LastIndex(last, proper)+len(proper):])
			} else if goesOn := a.addedTo(p); p.Probe.Answered && !onlySpace(goesOn) {
				// the turn goes on after a result, without a header
				prefills = append(prefills, goesOn)
			}
		}
	}
	if gap := leadingSpace(prefills); prompts[0] != before {
		// White space with which every prompt goes on belongs to the header as prompts have it,
		// though turns do without: the model has not written it.
		header += gap
		for i, p := range prefills {
			prefills[i] = p[len(gap):]
		}
	} else {
		// Nothing is added: the template writes its generation prompt unasked, or has none. The
		// header is not told apart from the user's end, which then stands for it.
		end = ""
		a.unasked = true
	}
	a.setHeader(header, header[len(end):], prefills)
}

// moved is the header of a prompt before which a flag has changed the end of the user's turn, with
// that end, and the prefill.
type moved struct{ header, prefill string }

// movedHeaders returns the prompts, and apart from them those before which a flag has changed the
// end of the user's turn: an answer under the same flag shows it as well, and shares more with such
// a prompt than other answers do.
func (a *headerPass) movedHeaders(heads []string, before string,
	asked []*observation) (prompts []string, apart []moved) {
	first := observe.Text(asked[0].tail)
	header, _ := a.alignHeader(heads, before, []string{first}, a.withoutOpener)
	plain := observe.FirstLiteral(a.plain.tail)
	for _, o := range asked {
		p := observe.Text(o.tail)
		// where the header begins alike, it has not moved
		begun := strings.TrimPrefix(source.CommonPrefix(header, p),
			source.CommonPrefix(header, before))
		if strings.HasPrefix(first, header) && !strings.HasPrefix(p, header) &&
			bracketed(begun) == 0 {
			with := func(p *observe.Probe) { p.Kwargs = append(p.Kwargs, o.Probe.Kwargs...) }
			answer := a.observe(a.plain.Probe.With(with))
			n := 0
			if answer.Err == nil {
				n = endOf(source.CommonPrefix(observe.FirstLiteral(answer.tail), p), header)
			}
			if n == 0 {
				n = endOf(p, header) // nor does an answer show the text that the flag adds
			}
			if n > 0 && !strings.HasPrefix(plain, p[:n]) {
				apart = append(apart, moved{p[:n], p[n:]})
				continue
			}
		}
		prompts = append(prompts, p)
	}
	return prompts, apart
}

// maxHeader bounds the end of a header that is looked for in other prompts, in bytes.
const maxHeader = 1 << 10

// endOf returns where in a text the longest end of a header ends that is in it, 0 if none is. An
// end begins with a marker or a word.
func endOf(text, header string) int {
	pos := max(0, len(header)-maxHeader)
	for pos > 0 && !utf8.RuneStart(header[pos]) {
		pos++
	}
	for piece := range eachPiece(header[pos:]) {
		end := header[pos:]
		if i := strings.Index(text, end); i >= 0 && !onlySpace(piece) {
			return i + len(end)
		}
		pos += len(piece)
	}
	return 0
}

// headerOfContent finds the header with the end of the user's turn before it where only answers
// with content have it: text that every prompt adds directly before content opens neither reasoning
// nor content. It must be longer than the one that all turns share.
func (a *headerPass) headerOfContent(shared, before string,
	prompts []string) (header, end string, ok bool) {
	heads := []string{observe.FirstLiteral(a.plain.tail)}
	header, end = a.alignHeader(heads, before, prompts, a.withoutOpener)
	if prompts[0] == before || len(squeeze(header)) <= len(squeeze(shared)) ||
		squeeze(header) != squeeze(heads[0]) {
		return "", "", false
	}
	for _, t := range a.answers() {
		if !t.shown(observe.Content) {
			continue
		}
		if _, ok := cutStart(observe.FirstLiteral(t.tail),
			strings.TrimRight(header, format.Space)); !ok {
			return "", "", false
		}
	}
	return header, end, true
}

// alignHeader finds the header with the end of the user's turn before it, and that end, which an
// answer and a prompt without generation share.
func (a *headerPass) alignHeader(heads []string, before string, prompts []string,
	trim func(string) string) (header, end string) {
	shared := source.CommonPrefix(heads...)
	header = source.CommonPrefix(prompts[0], shared)
	header = snapEnd(header, append([]string{prompts[0]}, heads...)...)
	shared = snapEnd(shared, heads...)
	for _, p := range prompts[1:] {
		// A flag may change the end of the user's turn; such a prompt says nothing of the header's
		// start.
		if h := snapEnd(source.CommonPrefix(header, p), header,
			p); len(h) > len(source.CommonPrefix(before, header)) {
			header = h
		}
	}
	whole := header
	header = trim(header)
	if end = source.CommonPrefix(before, header); end != before {
		end = snapEnd(end, before, header)
	}
	if prompts[0] != before && header == end && shared != header && header == whole {
		// The added text stands after other text: look for it where the answers have it.
		// A prompt without generation may end with a text of its own.
		added, asked := strings.CutPrefix(source.CommonPrefix(prompts...), before)
		if !asked && !onlySpace(end) {
			added = strings.TrimPrefix(added, end)
		}
		header, end = a.headerBehind(shared, added)
		header = snapEnd(header, shared, header+strings.TrimPrefix(added, header[len(end):]))
		// The whole piece that the header ends with may begin before the added text does.
		end = source.CommonPrefix(end, header)
	}
	return header, end
}

// alignLoosely finds the header in texts without their white space, and returns it and the end of
// the user's turn as the first prompt has them.
func (a *headerPass) alignLoosely(heads []string, before string,
	prompts []string) (header, end string) {
	bare := func(texts []string) []string {
		return lists.Map(texts, squeeze)
	}
	header, end = a.alignHeader(bare(heads), squeeze(before), bare(prompts),
		func(h string) string { return h })
	if header == end {
		return "", ""
	}
	cut := func(text, start string) string {
		n, _ := cutStart(text, start)
		return text[:n]
	}
	header, end = cut(prompts[0], header), cut(prompts[0], end)
	// White space after the header belongs to it as far as all have it.
	gaps := make([]string, 0, len(heads)+len(prompts))
	for _, s := range slices.Concat(heads, prompts) {
		rest := strings.TrimPrefix(s, cut(s, header))
		gaps = append(gaps, rest[:len(rest)-len(strings.TrimLeft(rest, format.Space))])
	}
	header += source.CommonPrefix(gaps...)
	return header, source.CommonPrefix(end, header)
}

// CutTurn returns the turn: the text after the header in a text that follows a user's message.
func (a *Analysis) CutTurn(text string) (turn string, ok bool) {
	n, ok := a.startOf(text)
	return text[n:], ok
}

// startOf returns how long the end of the user's turn and the header are in a text that follows a
// user's message.
func (a *heading) startOf(text string) (n int, ok bool) {
	for _, start := range append([]string{a.start}, a.others...) {
		if n, ok := cutStart(text, start); ok {
			return n, true
		}
	}
	if a.headless {
		return cutStart(text, strings.TrimSuffix(a.start, a.proper))
	}
	return 0, false
}

// withoutOpener takes the opener of a part of the turn off the header's end: a marker that answers
// write again before a later part, or the text between two calls where nothing else opens them.
func (a *headerPass) withoutOpener(header string) string {
	bare := strings.TrimRight(header, format.Space)
	ps := splitMarkers(bare)
	if len(ps) == 0 {
		return header
	}
	last := ps[len(ps)-1]
	for _, t := range []*turn{&a.plain, &a.thought, &a.acted, &a.called} {
		if t.observation == nil || t.Err != nil || markerAt(last) == 0 {
			continue
		}
		body := observe.DropPrefix(t.tail, len(header))
		end := len(body)
		for end > 0 && body[end-1].Kind == observe.Literal {
			end--
		}
		for _, at := range body[:end] {
			if at.Kind == observe.Literal && opensWord(at.Text, last+header[len(bare):]) {
				return strings.TrimSuffix(bare, last)
			}
		}
	}
	if a.double.shown(observe.Name) && a.called.shown(observe.Name) {
		first := observe.DropPrefix(a.called.tail, len(header))
		if len(first) > 0 && first[0].Kind == observe.Name {
			body := observe.DropPrefix(a.double.tail, len(header))
			for i, at := range body {
				if at.Kind == observe.Name && at.Call == 1 && i > 0 &&
					body[i-1].Kind == observe.Literal {
					added := strings.TrimPrefix(header, a.othersEnd)
					return strings.TrimSuffix(header,
						strings.Trim(source.CommonSuffix(added, body[i-1].Text), format.Space))
				}
			}
		}
	}
	return header
}

// headerBehind finds the longest start of the added text that the answers' shared text ends with or
// contains.
func (a *headerPass) headerBehind(shared, added string) (header, end string) {
	best, at := 0, 0
	for i := range shared {
		if n := len(source.CommonPrefix(shared[i:], added)); n > best {
			best, at = n, i
		}
	}
	return shared[:at+best], shared[:at]
}

func (a *headerPass) setHeader(whole, proper string, prefills []string) {
	a.start = whole
	a.proper = proper
	slices.Sort(prefills)
	a.prefills = slices.Compact(prefills)
	a.gave("R2", "header", format.Observed, "header %q, prefills %q", proper, a.prefills)
	a.cutBodies()
}

// cutBodies cuts the header off the turns.
func (a *state) cutBodies() {
	for _, t := range a.answers() {
		t.body, _ = a.bodyOf(t.tail)
	}
}

// bodyOf returns the text after the header in a tail.
func (a *state) bodyOf(tail []observe.Atom) ([]observe.Atom, bool) {
	n, ok := a.startOf(observe.FirstLiteral(tail))
	if !ok {
		n = len(a.start)
	}
	return observe.DropPrefix(tail, n), ok
}
