package analysis

import (
	"github.com/goassay/assay/engine/observe"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
)

// turns returns the probes that show an answer.
func (a *analyzer) answers() []*turn {
	var shown []*turn
	for _, t := range []*turn{&a.plain, &a.bare, &a.thought, &a.called, &a.acted, &a.spoken, &a.double} {
		if t.observation != nil && t.Err == nil {
			shown = append(shown, t)
		}
	}
	return shown
}

// findHeader finds what stands between the last message and the model's first byte (E9), and the prefills (R2).
//
// All answers and generation prompts share the end of the user's message and the header. Where the template writes something
// after all messages (instructions, or a generation prompt that cannot be switched off), the header is found behind it. Where
// answers and prompts differ in white space before the header is complete, white space does not count.
func (a *analyzer) findHeader() {
	base := a.observe(observe.Probe{Plain: true})
	asked := a.prompts()
	var heads []string
	for _, t := range a.answers() {
		heads = append(heads, observe.FirstLiteral(t.tail))
	}
	if base.Err != nil || len(asked) == 0 {
		shared := snapEnd(commonPrefix(heads...), heads...)
		a.setHeader(shared, shared, nil)
		return
	}
	before := observe.Text(base.tail)
	a.othersEnd = before
	prompts, moved := a.movedHeaders(heads, before, asked)
	header, end := a.alignHeader(heads, before, prompts, a.withoutOpener)
	if added, asked := strings.CutPrefix(prompts[0], before); asked && onlySpace(header[len(end):]) && !onlySpace(added) {
		if loose, from := a.alignLoosely(heads, before, prompts); loose != "" {
			header, end = loose, from
		}
	}
	if whole, from, ok := a.headerOfContent(header, before, prompts); ok {
		header, end, a.result.headless = whole, from, true
	}
	for _, m := range moved {
		if proper := snapStart(commonSuffix(header[len(end):], m.header), header, m.header); !onlySpace(proper) {
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
		a.result.otherStarts = append(a.result.otherStarts, m.header)
	}
	for _, p := range a.wordedPrompts() {
		if prefill, ok := strings.CutPrefix(observe.Text(p.tail), header); ok {
			prefills = append(prefills, prefill)
		}
	}
	if proper := header[len(end):]; !onlySpace(proper) {
		for _, p := range a.laterPrompts() {
			if last := observe.LastLiteral(p.Atoms); strings.Contains(last, proper) {
				prefills = append(prefills, last[strings.LastIndex(last, proper)+len(proper):])
			} else if goesOn := a.addedTo(p); p.Probe.Answered && !onlySpace(goesOn) {
				prefills = append(prefills, goesOn) // the turn goes on after a result, without a header
			}
		}
	}
	if gap := leadingSpace(prefills); prompts[0] != before {
		// White space with which every prompt goes on belongs to the header as prompts have it, though turns do without: the model has
		// not written it.
		header += gap
		for i, p := range prefills {
			prefills[i] = p[len(gap):]
		}
	} else {
		// Nothing is added: the template writes its generation prompt unasked, or has none. The header is not told apart from the
		// user's end, which then stands for it.
		end = ""
		a.result.unasked = true
	}
	a.setHeader(header, header[len(end):], prefills)
}

// moved is the header of a prompt before which a flag has changed the end of the user's turn, with that end, and the prefill.
type moved struct{ header, prefill string }

// movedHeaders returns the prompts, and apart from them those before which a flag has changed the end of the user's turn: an answer under the same
// flag shows it as well, and shares more with such a prompt than other answers do.
func (a *analyzer) movedHeaders(heads []string, before string, asked []*observation) (prompts []string, apart []moved) {
	first := observe.Text(asked[0].tail)
	header, _ := a.alignHeader(heads, before, []string{first}, a.withoutOpener)
	plain := observe.FirstLiteral(a.plain.tail)
	for _, o := range asked {
		p := observe.Text(o.tail)
		begun := strings.TrimPrefix(commonPrefix(header, p), commonPrefix(header, before)) // where the header begins alike, it has not moved
		if strings.HasPrefix(first, header) && !strings.HasPrefix(p, header) && bracketed(begun) == 0 {
			answer := a.observe(a.plain.Probe.With(func(p *observe.Probe) { p.Kwargs = append(p.Kwargs, o.Probe.Kwargs...) }))
			n := 0
			if answer.Err == nil {
				n = endOf(commonPrefix(observe.FirstLiteral(answer.tail), p), header)
			}
			if n == 0 {
				n = endOf(p, header) // nor does an answer show what the flag adds
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

// endOf returns where in a text the longest end of a header ends that is in it, 0 if none is. An end begins with a marker or a word.
func endOf(text, header string) int {
	for pos := 0; pos < len(header); {
		end := header[pos:]
		piece := splitMarkers(end)[0]
		if i := strings.Index(text, end); i >= 0 && !onlySpace(piece) {
			return i + len(end)
		}
		pos += len(piece)
	}
	return 0
}

// headerOfContent finds the header with the end of the user's turn before it where only answers with content have it: what every prompt
// adds and stands directly before content opens neither reasoning nor content. It must be longer than the one that all turns share.
func (a *analyzer) headerOfContent(shared, before string, prompts []string) (header, end string, ok bool) {
	heads := []string{observe.FirstLiteral(a.plain.tail)}
	header, end = a.alignHeader(heads, before, prompts, a.withoutOpener)
	if prompts[0] == before || len(squeeze(header)) <= len(squeeze(shared)) || squeeze(header) != squeeze(heads[0]) {
		return "", "", false
	}
	for _, t := range a.answers() {
		if t.shown(observe.Content) && !strings.HasPrefix(observe.FirstLiteral(t.tail), strings.TrimRight(header, format.Space)) {
			return "", "", false
		}
	}
	return header, end, true
}

// alignHeader finds the header with the end of the user's turn before it, and that end, which an answer and a prompt without generation
// share.
func (a *analyzer) alignHeader(heads []string, before string, prompts []string, trim func(string) string) (header, end string) {
	shared := commonPrefix(heads...)
	header = commonPrefix(prompts[0], shared)
	header = snapEnd(header, append([]string{prompts[0]}, heads...)...)
	shared = snapEnd(shared, heads...)
	for _, p := range prompts[1:] {
		// A flag may change the end of the user's turn; such a prompt says nothing of the header's start.
		if h := snapEnd(commonPrefix(header, p), header, p); len(h) > len(commonPrefix(before, header)) {
			header = h
		}
	}
	header = trim(header)
	if end = commonPrefix(before, header); end != before {
		end = snapEnd(end, before, header)
	}
	if prompts[0] != before && header == end && shared != header {
		// What is added stands behind other text: look for it where the answers have it.
		added := strings.TrimPrefix(commonPrefix(prompts...), before)
		header, end = a.headerBehind(shared, added)
		header = snapEnd(header, shared, header+strings.TrimPrefix(added, header[len(end):]))
	}
	return header, end
}

// alignLoosely finds the header in texts without their white space, and returns it and the end of the user's turn as the first prompt
// has them.
func (a *analyzer) alignLoosely(heads []string, before string, prompts []string) (header, end string) {
	bare := func(texts []string) []string {
		out := make([]string, len(texts))
		for i, s := range texts {
			out[i] = squeeze(s)
		}
		return out
	}
	header, end = a.alignHeader(bare(heads), squeeze(before), bare(prompts), func(h string) string { return h })
	if header == end {
		return "", ""
	}
	cut := func(text, start string) string {
		n, _ := cutStart(text, start)
		return text[:n]
	}
	header, end = cut(prompts[0], header), cut(prompts[0], end)
	// White space behind the header belongs to it as far as all have it.
	gaps := make([]string, 0, len(heads)+len(prompts))
	for _, s := range slices.Concat(heads, prompts) {
		rest := strings.TrimPrefix(s, cut(s, header))
		gaps = append(gaps, rest[:len(rest)-len(strings.TrimLeft(rest, format.Space))])
	}
	return header + commonPrefix(gaps...), end
}

// leadingSpace returns the white space that all texts begin with.
func leadingSpace(texts []string) string {
	shared := commonPrefix(texts...)
	return shared[:len(shared)-len(strings.TrimLeft(shared, format.Space))]
}

func onlySpace(s string) bool { return strings.Trim(s, format.Space) == "" }

// squeeze takes all white space out of a text.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && isSpace(byte(r)) {
			return -1
		}
		return r
	}, s)
}

// cutStart returns the length of a text's prefix that is the given one, or, where it is not there to the byte, the same but for
// white space. White space behind a prefix of the latter kind is not part of it.
func cutStart(text, start string) (int, bool) {
	if strings.HasPrefix(text, start) {
		return len(start), true
	}
	i := 0
	for j := 0; j < len(start); j++ {
		if isSpace(start[j]) {
			continue
		}
		for i < len(text) && isSpace(text[i]) {
			i++
		}
		if i == len(text) || text[i] != start[j] {
			return 0, false
		}
		i++
	}
	return i, true
}

// CutTurn returns what stands behind the header in a text that follows a user's message: the turn.
func (a *Analysis) CutTurn(text string) (turn string, ok bool) {
	n, ok := a.startOf(text)
	return text[n:], ok
}

// startOf returns how long the end of the user's turn and the header are in a text that follows a user's message.
func (a *Analysis) startOf(text string) (n int, ok bool) {
	for _, start := range append([]string{a.turnStart}, a.otherStarts...) {
		if n, ok := cutStart(text, start); ok {
			return n, true
		}
	}
	if a.headless {
		return cutStart(text, strings.TrimSuffix(a.turnStart, a.Format.Header))
	}
	return 0, false
}

// withoutOpener takes off the header's end what opens a part of the turn: a marker that answers write again before a later
// part, or what stands between two calls where nothing else opens them.
func (a *analyzer) withoutOpener(header string) string {
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
				if at.Kind == observe.Name && at.Call == 1 && i > 0 && body[i-1].Kind == observe.Literal {
					return strings.TrimSuffix(header, strings.Trim(commonSuffix(header, body[i-1].Text), format.Space))
				}
			}
		}
	}
	return header
}

// opensWord says that a literal has a marker with a word directly behind it.
func opensWord(text, marker string) bool {
	_, rest, found := strings.Cut(text, marker)
	return found && rest != "" && isWord(rest)
}

// headerBehind finds the longest start of the added text that the answers' shared text ends with or contains.
func (a *analyzer) headerBehind(shared, added string) (header, end string) {
	best, at := 0, 0
	for i := range shared {
		if n := len(commonPrefix(shared[i:], added)); n > best {
			best, at = n, i
		}
	}
	return shared[:at+best], shared[:at]
}

func (a *analyzer) setHeader(whole, proper string, prefills []string) {
	a.result.turnStart = whole
	a.result.Format.Header = proper
	slices.Sort(prefills)
	a.prefills = slices.Compact(prefills)
	a.result.Prefills = a.prefills
	a.found("R2", "header %q, prefills %q", proper, a.prefills)
	a.cutBodies()
}

// cutBodies cuts the header off the turns.
func (a *analyzer) cutBodies() {
	for _, t := range a.answers() {
		t.body, _ = a.bodyOf(t.tail)
	}
}

// bodyOf returns what follows the header in a tail.
func (a *analyzer) bodyOf(tail []observe.Atom) ([]observe.Atom, bool) {
	n, ok := a.result.startOf(observe.FirstLiteral(tail))
	if !ok {
		n = len(a.result.turnStart)
	}
	return observe.DropPrefix(tail, n), ok
}

// settings are the ways to set the template's flags: none, and each of them on and off.
func (a *analyzer) settings() [][]ordered.Member {
	settings := [][]ordered.Member{nil}
	for _, flag := range a.observer.Flags() {
		settings = append(settings,
			[]ordered.Member{ordered.MemberOf(flag, ordered.Boolean(true))},
			[]ordered.Member{ordered.MemberOf(flag, ordered.Boolean(false))})
	}
	return settings
}

// laterPrompts renders the generation prompts where there are tools, behind a user's message and behind a call's result: a template may open
// or close reasoning there alone.
func (a *analyzer) laterPrompts() []*observation {
	probes := []observe.Probe{{Plain: true, Generate: true, Tools: true}}
	if a.called.observation != nil {
		answered := a.called.Probe.With(func(p *observe.Probe) { p.Answered, p.Generate = true, true })
		for _, tools := range []bool{true, false} {
			probes = append(probes, answered.With(func(p *observe.Probe) { p.Tools = tools }))
		}
	}
	var prompts []*observation
	for _, p := range probes {
		for _, kwargs := range a.settings() {
			if o := a.observe(p.With(func(p *observe.Probe) { p.Kwargs = append(p.Kwargs, kwargs...) })); o.Err == nil {
				prompts = append(prompts, o)
			}
		}
	}
	return prompts
}

// addedTo returns what a generation prompt adds to a rendering; "" where it changes more.
func (a *analyzer) addedTo(p *observation) string {
	bare := a.observe(p.Probe.With(func(p *observe.Probe) { p.Generate = false }))
	added, ok := strings.CutPrefix(p.String, bare.String)
	if bare.Err != nil || !ok {
		return ""
	}
	return added
}

// prompts renders the generation prompts: plain, and with each flag of the template on and off.
func (a *analyzer) prompts() []*observation {
	var prompts []*observation
	seen := map[string]bool{}
	for _, kwargs := range a.settings() {
		o := a.observe(observe.Probe{Plain: true, Generate: true, Kwargs: kwargs})
		if o.Err != nil || o.tail == nil {
			continue
		}
		if text := observe.Text(o.tail); !seen[text] {
			seen[text] = true
			prompts = append(prompts, o)
		}
	}
	return prompts
}

// wordedPrompts renders the generation prompts with each flag set to the words that the template compares it with (E4). Such a word
// may ask for anything, so that these prompts say nothing of the header.
func (a *analyzer) wordedPrompts() []*observation {
	var prompts []*observation
	for _, flag := range a.observer.Flags() {
		on := a.observe(observe.Probe{Plain: true, Generate: true, Kwargs: []ordered.Member{ordered.MemberOf(flag, ordered.Boolean(true))}})
		if on.Err != nil {
			continue
		}
		words := on.Trace.Literals(flag, "==", "!=")
		for _, word := range words[:min(len(words), maxWords)] {
			o := a.observe(observe.Probe{Plain: true, Generate: true, Kwargs: []ordered.Member{ordered.MemberOf(flag, ordered.Str(word))}})
			if o.Err == nil {
				prompts = append(prompts, o)
			}
		}
	}
	return prompts
}

// pieces returns the markers and words of a literal, white space left out.
func pieces(s string) []string {
	return slices.DeleteFunc(splitMarkers(s), func(p string) bool { return onlySpace(p) })
}

// cutPieces returns the first part of s that holds n pieces, with the white space behind it that belongs to no later one.
func cutPieces(s string, n int) (string, string) {
	pos := 0
	for _, p := range splitMarkers(s) {
		if !onlySpace(p) {
			if n == 0 {
				break
			}
			n--
		}
		pos += len(p)
	}
	return s[:pos], s[pos:]
}

// onlyMarkers says that a literal is made of bracketed markers and white space.
func onlyMarkers(s string) bool {
	ps := pieces(s)
	return len(ps) > 0 && !slices.ContainsFunc(ps, func(p string) bool { return markerAt(p) == 0 })
}
