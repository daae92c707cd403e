package check

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/rule"
	"github.com/goassay/assay/harness/standard"
)

// instructionRules compare a prompt's instructions for calls with the calls that it has.
var instructionRules = []lookout{
	{Rule: rule.Rule{ID: "A084", Name: "instructions-differ", Severity: rule.Warning,
		Short: "The prompt shows how to write a call, and the calls of the history are spelt " +
			"otherwise.",
		Damage: "The model is told one spelling and sees another; it mixes the two, and no " +
			"parser reads the mixture.",
		Fix: "Copy a call as the template writes it into the instructions."},
		Group: groupLint, Find: checkInstructions},
}

// piece distinguishes a spelling: a marker, or the key of a JSON object.
type piece struct {
	marker
	word          string // by which two pieces are the same
	quote         byte   // around a key
	before, after bool   // a line feed stands right there
	text          string
}

// fence opens and closes a block of code in Markdown.
const fence = "```"

// jsonKey is a key of a JSON object.
var jsonKey = regexp.MustCompile(`(["'])([A-Za-z_]\w*)["']\s*:`)

// pieces returns the markers and keys that the template itself writes in a stretch of a prompt.
func (t *talked) pieces(from, to int) []piece {
	var all []piece
	own := t.own()[from:to]
	add := func(m marker, word string, quote byte) {
		p := piece{marker: m, word: word, quote: quote, text: t.text[from+m.at : from+m.to]}
		p.before = m.at > 0 && own[m.at-1] == '\n'
		p.after = m.to < len(own) && own[m.to] == '\n'
		all = append(all, p)
	}
	for _, m := range markersOf(own) {
		sign := "<"
		if m.side == closing {
			sign = "</"
		}
		add(m, sign+m.key, 0)
	}
	for at := strings.Index(own, fence); at >= 0; {
		word := fence
		if r, _ := utf8.DecodeRuneInString(own[at+len(fence):]); unicode.IsLetter(r) {
			word += "open"
		}
		add(marker{at: at, to: at + len(fence), side: closing}, word, 0)
		next := strings.Index(own[at+len(fence):], fence)
		if next < 0 {
			break
		}
		at += len(fence) + next
	}
	for _, found := range jsonKey.FindAllStringSubmatchIndex(own, -1) {
		add(marker{at: found[0], to: found[1]}, own[found[4]:found[5]], own[found[2]])
	}
	slices.SortFunc(all, func(a, b piece) int { return a.at - b.at })
	for i := range all {
		all[i].at, all[i].to = all[i].at+from, all[i].to+from
	}
	return all
}

// The most pieces of a call and of instructions that are compared, which costs the square of the
// former times the latter. Those of templates in public use have a third of it at most.
const maxSpelled, maxShown = 100, 1_000

// checkInstructions aligns the pieces of a call in the history with those of the instructions.
// Where most of them are found in a row and not all, or with other line feeds or quotes, the
// instructions show another spelling.
func checkInstructions(s *Subject, find finder) {
	s.checkSpoken(find)
	s.checkHalved(find)
	c := s.Template.Caps()
	if !c.ToolCalls || !c.Tools {
		return
	}
	history, ok := s.spelled()
	if !ok || len(history.pieces) < 2 {
		return
	}
	shown, ok := s.shown()
	if !ok {
		return
	}
	known := map[string]bool{}
	for _, p := range history.pieces {
		known[p.word] = true
	}
	var found []piece
	for _, p := range shown.pieces {
		if known[p.word] {
			found = append(found, p)
		}
	}
	if found = collapse(found); len(history.pieces) > maxSpelled || len(found) > maxShown {
		unjudged(find, fmt.Errorf("a call has %d pieces and the instructions have %d, more than %d "+
			"and %d that are compared", len(history.pieces), len(found), maxSpelled, maxShown))
		return
	}
	best, differences, matched := 0, 0, [][2]piece(nil)
	for i := range found {
		window := found[i:min(i+2*len(history.pieces), len(found))]
		m := align(history.pieces, window)
		if n := len(differing(m)); len(m) > best || len(m) == best && n < differences {
			best, differences, matched = len(m), n, m
		}
	}
	said := 0
	for _, m := range matched {
		if m[1].spoken {
			said++
		}
	}
	if best == 0 || 2*best < len(history.pieces) || 2*said > best {
		return // the instructions show no call
	}
	from, to := matched[0][1].at, matched[len(matched)-1][1].to
	blame := func(off int, what string) {
		find(shown.at(off), "the instructions show another spelling of calls than the history: "+
			"%s\nshown:   %s\nhistory: %s", what,
			jsonString(shown.text[from:min(to+40, shown.end)]), jsonString(history.text))
	}
	for i, p := range history.pieces {
		if !slices.ContainsFunc(matched, func(m [2]piece) bool { return m[0].at == p.at }) &&
			!history.around(i, matched) {
			blame(from, jsonString(p.text)+" is not there")
			return
		}
	}
	for _, m := range matched {
		other := func(p piece) bool {
			return p.key == m[0].key && p.side == closing && p.quote == 0 && !p.spoken &&
				p.at > m[1].at
		}
		if m[0].side == closing || m[0].quote != 0 || slices.ContainsFunc(history.pieces, other) {
			continue
		}
		if at := slices.IndexFunc(shown.pieces, other); at >= 0 {
			blame(from, jsonString(shown.pieces[at].text)+" is not in the history")
			return
		}
	}
	if at, ok := history.quotes(shown, matched); ok {
		blame(at, "a string stands there without quotes")
		return
	}
	if differ := differing(matched); differ != nil {
		found := differ[0]
		blame(found.off, found.what)
	}
}

// plainWords are a value without quotes: no placeholder in brackets, and no literal of JSON.
var plainWords = regexp.MustCompile(`^[A-Za-z]\w*( [\w,.]+)*$`)

// quotes returns where the instructions show a string between two markers as it is, where the
// history has it in quotes between the same ones.
func (s spelling) quotes(shown spelling, matched [][2]piece) (int, bool) {
	for i := 1; i < len(matched); i++ {
		open, end := matched[i-1], matched[i]
		if open[0].key != end[0].key || open[0].side == closing || end[0].side != closing ||
			open[0].quote != 0 || open[1].to > end[1].at {
			continue
		}
		value := strings.TrimSpace(shown.rendering.text[open[1].to:end[1].at])
		if strings.TrimSpace(s.rendering.text[open[0].to:end[0].at]) == `"CITYNEEDLE"` &&
			plainWords.MatchString(value) {
			return open[1].to, true
		}
	}
	return 0, false
}

// checkSpoken looks for an opening marker that the instructions speak of without its closing one,
// though turns have both.
func (s *Subject) checkSpoken(find finder) {
	closed := map[string]bool{} // keys that some turn closes
	for _, t := range s.talks() {
		for m := range t.markers() {
			if m.side == closing && !m.slash && !m.spoken {
				closed[m.key] = true
			}
		}
	}
	for _, t := range s.talks() {
		if t.err != nil || len(t.spans) == 0 {
			continue
		}
		said := map[string]bool{}
		var opened []marker
		for m := range t.markers() {
			switch {
			case m.at >= t.spans[0].from:
			case m.side == closing:
				said[m.key] = true
			case m.side == opening && m.spoken && closed[m.key]:
				opened = append(opened, m)
			}
		}
		for _, m := range opened {
			if !said[m.key] {
				find(t.at(m.at), "the instructions speak of %s and not of its other half: "+
					"%s\nconversation: %s", jsonString(t.text[m.at:m.to]),
					report.Quote(t.text, m.at), t.Name)
				return
			}
		}
	}
}

// checkHalved looks for the same words around a pair of markers and around a half of one.
func (s *Subject) checkHalved(find finder) {
	type words struct{ before, after string }
	for _, p := range s.preambles() {
		pairs, halves := map[words]bool{}, map[words]marker{}
		var order []words
		found := markersOf(p.own)
		for i := 0; i < len(found); i++ {
			m, to := found[i], found[i].to
			pair := i+1 < len(found) && found[i+1].at == to && found[i+1].key == m.key &&
				found[i+1].side == closing
			if pair {
				to = found[i+1].to
			}
			before, after := strings.Fields(p.own[max(0, m.at-longest):m.at]),
				strings.Fields(p.own[to:min(len(p.own), to+longest)])
			if !m.spoken || len(before) == 0 || len(after) < 2 {
				continue
			}
			around := words{before[len(before)-1], after[0] + " " + after[1]}
			if pair {
				pairs[around] = true
				i++
			} else if _, known := halves[around]; !known {
				halves[around] = m
				order = append(order, around)
			}
		}
		for _, around := range order {
			if m := halves[around]; pairs[around] {
				find(p.in.at(m.at), "the instructions speak of %s alone where they speak of both "+
					"halves of another marker in the same words: %s\nconversation: %s",
					jsonString(p.own[m.at:m.to]), report.Quote(p.in.text, m.at), p.in.Name)
				return
			}
		}
	}
}

// difference is where two spellings of the same pieces differ.
type difference struct {
	off  int
	what string
}

// differing compares quotes and line feeds of pieces that belong together. The text before the
// first and after the last is no part of a call.
func differing(matched [][2]piece) []difference {
	var all []difference
	for i, m := range matched {
		h, p := m[0], m[1]
		switch {
		case h.quote != p.quote:
			all = append(all, difference{p.at, "other quotes around " + h.word})
		case h.quote == 0 && h.after != p.after && i < len(matched)-1 && !p.spoken:
			all = append(all, difference{p.at, lineFeed(h.after) + " after " + jsonString(p.text)})
		case h.quote == 0 && h.before != p.before && i > 0 && h.side == closing && !p.spoken:
			all = append(all, difference{p.at,
				lineFeed(h.before) + " before " + jsonString(p.text)})
		}
	}
	return all
}

func lineFeed(wanted bool) string {
	if wanted {
		return "the line feed is missing"
	}
	return "there is a line feed"
}

// spelling is a stretch of a prompt with its pieces.
type spelling struct {
	rendering
	text   string
	end    int
	pieces []piece
}

// around reports whether a piece is a marker around all that the instructions show: the section of
// calls, say, of which they may speak elsewhere. Its other half is not shown either.
func (s spelling) around(i int, matched [][2]piece) bool {
	p := s.pieces[i]
	if p.quote != 0 || matched[0][0].at < p.at && p.at < matched[len(matched)-1][0].at {
		return false
	}
	return !slices.ContainsFunc(matched, func(m [2]piece) bool {
		return m[0].key == p.key &&
			m[0].side != p.side
	})
}

// spelled returns a call as the history has it: the part of a turn with nothing but a call that an
// answer does not have.
func (s *Subject) spelled() (spelling, bool) {
	one := callIn("callid001", "CITYNEEDLE")
	call, err1 := s.observed(talk(userTurn, calling(one)), true, false)
	answer, err2 := s.observed(talk(userTurn, answerTurn), true, false)
	if err1 != nil || err2 != nil {
		return spelling{}, false
	}
	cut := func(t *talked) []piece {
		at := strings.Index(t.text, "USERNEEDLE")
		if at < 0 {
			return nil
		}
		return t.pieces(at+len("USERNEEDLE"), len(t.text))
	}
	other := map[string]bool{}
	for _, p := range cut(answer) {
		other[p.word] = true
	}
	found := slices.DeleteFunc(cut(call), func(p piece) bool { return other[p.word] })
	for n := len(found); n > 0 && found[n-1].quote == 0 && found[n-1].side == alone; n-- {
		found = found[:n-1] // it ends the turn
	}
	if len(found) == 0 {
		return spelling{}, false
	}
	return spelling{call.rendering, call.text[found[0].at:found[len(found)-1].to],
		len(call.text), found}, true
}

// shown returns the text that a prompt has before the first question because of the tools.
func (s *Subject) shown() (spelling, bool) {
	with, err1 := s.observed(talk(userTurn), true, true)
	without, err2 := s.observed(talk(userTurn), false, true)
	if err1 != nil || err2 != nil {
		return spelling{}, false
	}
	end := strings.Index(with.text, "USERNEEDLE")
	if end < 0 {
		return spelling{}, false
	}
	from := report.Parting(with.text, without.text)
	from = min(from, end)
	return spelling{with.rendering, with.text, end, with.pieces(from, end)}, true
}

// observed renders messages with their origins.
func (s *Subject) observed(messages []ordered.Value, tools, generate bool) (*talked, error) {
	r := chat.Request{Messages: messages, NoGeneration: !generate}
	if tools {
		r.Tools = standard.ToolRequest().Tools
	}
	in := s.Template.Caps().Fit(r).Input
	t := &talked{}
	var err error
	t.o, err = s.Template.ChatTemplate().Observe(in)
	t.rendering = rendering{t.o.String, s.Template.ChatTemplate(), in}
	return t, err
}

// collapse leaves one of pieces that repeat in a row: an example often has two parameters.
func collapse(all []piece) []piece {
	same := func(a, b piece) bool { return a.word == b.word }
	for n := 1; n <= 4; n++ {
		var kept []piece
		for _, p := range all {
			kept = append(kept, p)
			if k := len(kept); k >= 2*n && slices.EqualFunc(kept[k-2*n:k-n], kept[k-n:], same) {
				kept = kept[:k-n]
			}
		}
		all = kept
	}
	return all
}

// align returns the longest common subsequence of pieces.
func align(a, b []piece) [][2]piece {
	n := make([][]int, len(a)+1)
	for i := range n {
		n[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i].word == b[j].word {
				n[i][j] = n[i+1][j+1] + 1
			} else {
				n[i][j] = max(n[i+1][j], n[i][j+1])
			}
		}
	}
	var matched [][2]piece
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i].word == b[j].word:
			matched = append(matched, [2]piece{a[i], b[j]})
			i, j = i+1, j+1
		case n[i+1][j] >= n[i][j+1]:
			i++
		default:
			j++
		}
	}
	return matched
}
