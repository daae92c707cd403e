package analysis

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
)

// turns returns the probes that show an answer.
func (a *analyzer) turns() []*turn {
	var shown []*turn
	for _, t := range []*turn{&a.plain, &a.bare, &a.thought, &a.called, &a.acted, &a.spoken, &a.double} {
		if t.observation != nil && t.err == nil {
			shown = append(shown, t)
		}
	}
	return shown
}

// findHeader finds what stands between the last message and the model's first byte (E9), and the prefills (R2).
//
// All answers and generation prompts share the end of the user's message and the header. Where the template writes something
// after all messages (instructions, or a generation prompt that cannot be switched off), the header is found behind it.
func (a *analyzer) findHeader() {
	base := a.observe(probe{plain: true})
	prompts := a.prompts()
	var tails []string
	for _, t := range a.turns() {
		tails = append(tails, literalHead(t.tail))
	}
	shared := snapEnd(commonPrefix(tails...), tails...)
	if base.err != nil || len(prompts) == 0 {
		a.setHeader(shared, shared, nil)
		return
	}
	before := textOfAtoms(base.tail)
	var all []string
	for _, p := range prompts {
		all = append(all, textOfAtoms(p.tail))
	}
	header := snapEnd(commonPrefix(all[0], shared), all[0], shared)
	for _, p := range all[1:] {
		// A flag may change the end of the user's turn; such a prompt says nothing of the header's start.
		if h := snapEnd(commonPrefix(header, p), header, p); len(h) > len(commonPrefix(before, header)) {
			header = h
		}
	}
	header = a.withoutOpener(header)
	same := all[0] == before // the template writes its generation prompt unasked, or has none
	// The user's end is what an answer and a prompt without generation share; the header proper follows it.
	end := commonPrefix(before, header)
	if !same && header == end && shared != header {
		// What is added stands behind other text: look for it where the answers have it.
		added := strings.TrimPrefix(commonPrefix(all...), before)
		header, end = a.headerBehind(shared, added)
	}
	var prefills []string
	for _, p := range all {
		proper := header[len(end):]
		if i := strings.LastIndex(p, proper); proper != "" && i >= 0 {
			prefills = append(prefills, p[i+len(proper):])
		} else {
			prefills = append(prefills, strings.TrimPrefix(p, header))
		}
	}
	for _, p := range a.wordedPrompts() {
		if prefill, ok := strings.CutPrefix(textOfAtoms(p.tail), header); ok {
			prefills = append(prefills, prefill)
		}
	}
	if same {
		// Nothing is added: the header is not told apart from the user's end, which then stands for it.
		end = ""
	}
	a.setHeader(header, header[len(end):], prefills)
}

// withoutOpener takes off the header's end what opens a part of the turn: a marker that answers write again before a later
// part, or what stands between two calls where nothing else opens them.
func (a *analyzer) withoutOpener(header string) string {
	ps := splitMarkers(header)
	if len(ps) == 0 {
		return header
	}
	last := ps[len(ps)-1:]
	for _, t := range []*turn{&a.plain, &a.thought, &a.acted, &a.called} {
		if t.observation == nil || t.err != nil || markerAt(last[0]) == 0 {
			continue
		}
		body := dropPrefix(t.tail, len(header))
		end := len(body)
		for end > 0 && body[end-1].kind == literal {
			end--
		}
		for _, at := range body[:end] {
			if at.kind == literal && opensWord(at.text, last[0]) {
				return strings.TrimSuffix(header, last[0])
			}
		}
	}
	if a.double.shown(name) && a.called.shown(name) {
		first := dropPrefix(a.called.tail, len(header))
		if len(first) > 0 && first[0].kind == name {
			body := dropPrefix(a.double.tail, len(header))
			for i, at := range body {
				if at.kind == name && at.call == 1 && i > 0 && body[i-1].kind == literal {
					return strings.TrimSuffix(header, strings.Trim(commonSuffix(header, body[i-1].text), format.Space))
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
	a.header = whole
	a.result.TurnStart = whole
	a.result.Format.Header = proper
	slices.Sort(prefills)
	a.prefills = slices.Compact(prefills)
	a.result.Prefills = a.prefills
	a.found("R2", "header %q, prefills %q", proper, a.prefills)
	for _, t := range a.turns() {
		t.body = dropPrefix(t.tail, len(whole))
	}
}

// prompts renders the generation prompts: plain, and with each flag of the template on and off.
func (a *analyzer) prompts() []*observation {
	settings := [][]ordered.Member{nil}
	for _, flag := range a.flags() {
		settings = append(settings,
			[]ordered.Member{member(flag, ordered.Boolean(true))},
			[]ordered.Member{member(flag, ordered.Boolean(false))})
	}
	var prompts []*observation
	seen := map[string]bool{}
	for _, kwargs := range settings {
		o := a.observe(probe{plain: true, generate: true, kwargs: kwargs})
		if o.err != nil || o.tail == nil {
			continue
		}
		if text := textOfAtoms(o.tail); !seen[text] {
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
	for _, flag := range a.flags() {
		on := a.observe(probe{plain: true, generate: true, kwargs: []ordered.Member{member(flag, ordered.Boolean(true))}})
		if on.err != nil {
			continue
		}
		words := on.trace.Literals(flag, "==", "!=")
		for _, word := range words[:min(len(words), maxWords)] {
			o := a.observe(probe{plain: true, generate: true, kwargs: []ordered.Member{member(flag, ordered.Str(word))}})
			if o.err == nil {
				prompts = append(prompts, o)
			}
		}
	}
	return prompts
}

// literalHead returns the literal text at the start of a tail.
func literalHead(atoms []atom) string {
	if len(atoms) > 0 && atoms[0].kind == literal {
		return atoms[0].text
	}
	return ""
}

// dropPrefix returns atoms without their first n bytes, which are literal.
func dropPrefix(atoms []atom, n int) []atom {
	if n == 0 || len(atoms) == 0 {
		return atoms
	}
	first := atoms[0]
	first.text = first.text[min(n, len(first.text)):]
	if first.text == "" {
		return atoms[1:]
	}
	return append([]atom{first}, atoms[1:]...)
}

// before returns the literal text that directly precedes the first atom of a kind, and the atom's index, -1 if there is none.
func before(atoms []atom, kinds ...kind) (string, int) {
	i := slices.IndexFunc(atoms, func(at atom) bool { return slices.Contains(kinds, at.kind) })
	if i < 0 {
		return "", -1
	}
	if i > 0 && atoms[i-1].kind == literal {
		return atoms[i-1].text, i
	}
	return "", i
}

// after returns the literal text that directly follows the atom at an index.
func after(atoms []atom, i int) string {
	if i >= 0 && i+1 < len(atoms) && atoms[i+1].kind == literal {
		return atoms[i+1].text
	}
	return ""
}

// pieces returns the markers and words of a literal, white space left out.
func pieces(s string) []string {
	return slices.DeleteFunc(splitMarkers(s), func(p string) bool { return strings.Trim(p, format.Space) == "" })
}

// cutPieces returns the first part of s that holds n pieces, with the white space behind it that belongs to no later one.
func cutPieces(s string, n int) (string, string) {
	pos := 0
	for _, p := range splitMarkers(s) {
		if strings.Trim(p, format.Space) != "" {
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
