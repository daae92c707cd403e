package check

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/report"
)

// sequence is how turns follow each other where one marker opens all of them and another one closes
// most: opener, turn, closer, and so on. It is learnt from all conversations.
type sequence struct {
	opener, closer string
	// they are the two halves of one marker: whatever the opener opens the closer closes
	halves bool
	turns  []turn
}

// turn is a stretch of a prompt: from where the turn before it ends to where the next one opens.
type turn struct {
	in     *talked
	from   int // the opener, or the text in its place
	to     int // the next opener, or the end of the prompt
	opened bool
	closed bool // by the closer, or by another marker that nothing in the turn opens
	first  bool // the prompt begins with it
	last   bool
	kind   conversation.Kind // of its last message; None: the template wrote it alone
}

// speakers are the kinds of message that share a header.
func speaker(k conversation.Kind) conversation.Kind {
	switch k {
	case conversation.Developer:
		return conversation.System
	case conversation.Call:
		return conversation.Answer
	}
	return k
}

// framed returns a prompt with holes for the texts of messages and tools; the names of roles and
// the special tokens stay.
func (t *talked) framed() string {
	if t.frames != "" || t.text == "" {
		return t.frames
	}
	b := []byte(t.text)
	at := 0
	for _, r := range t.o.Runs {
		given := r.Role != jinja.Literal && r.Role != jinja.Computed &&
			(strings.HasPrefix(r.Path, "messages") || strings.HasPrefix(r.Path, "tools"))
		if given && !strings.HasSuffix(r.Path, ".role") {
			clear(b[at : at+r.Len])
		}
		at += r.Len
	}
	t.frames = string(b)
	return t.frames
}

// learnSequence learns the opener from the generation prompts: it is the first marker there that
// does not end the question where none is asked for. Most prompts begin with it.
func learnSequence(talks []*talked, gaps []gap) (sequence, bool) {
	s := sequence{}
	votes, most := map[string]int{}, 0
	end := usualEnd(gaps, conversation.Question)
	for _, g := range gaps {
		if !g.asked || g.before != conversation.Question {
			continue
		}
		at, to, ok := nextMarker(g.text, 0)
		for ok && strings.Contains(end, g.text[at:to]) {
			at, to, ok = nextMarker(g.text, to)
		}
		if ok {
			if votes[g.text[at:to]]++; votes[g.text[at:to]] > most {
				s.opener, most = g.text[at:to], votes[g.text[at:to]]
			}
		}
	}
	starts, have := 0, 0
	for _, g := range gaps {
		if g.before == conversation.None {
			if starts++; strings.Contains(g.text, s.opener) {
				have++
			}
		}
	}
	if s.opener == "" || 2*have < starts {
		return s, false
	}
	s.closer = s.learnCloser(talks)
	if s.closer == "" {
		return s, false
	}
	for _, t := range talks {
		if t.err == nil && len(t.spans) > 0 {
			s.divide(t)
		}
	}
	return s, s.halves || 2*(len(s.unclosed())+len(s.unopened())) < len(s.turns)
}

// learnCloser returns the marker that stands before most openers and that nothing in its turn
// opens; "" where fewer than two speakers end most of their turns with it. One is enough where it
// is the other half of the opener.
func (s *sequence) learnCloser(talks []*talked) string {
	type by map[conversation.Kind]int
	ends, total, turns := map[string]by{}, map[string]int{}, by{}
	best := ""
	for _, t := range talks {
		if t.err != nil {
			continue
		}
		text := t.framed()
		from := 0
		for {
			next := strings.Index(text[min(from+1, len(text)):], s.opener)
			if next < 0 {
				break
			}
			at := from + 1 + next
			body := text[from:at]
			kind := speaker(t.kindBefore(at))
			turns[kind]++
			if m, ok := lastMarker(body); ok && m != s.opener && !s.paired(body) {
				if ends[m] == nil {
					ends[m] = by{}
				}
				ends[m][kind]++
				if total[m]++; total[m] > total[best] {
					best = m
				}
			}
			from = at
		}
	}
	speakers := 0
	for k, n := range ends[best] {
		if k != conversation.None && 4*n >= 3*turns[k] {
			speakers++
		}
	}
	if speakers == 1 {
		open, end := markersOf(s.opener), markersOf(best)
		s.halves = len(open) == 1 && len(end) == 1 && open[0].key == end[0].key &&
			open[0].side == opening && end[0].side == closing
	}
	if speakers < 2 && !s.halves {
		return ""
	}
	return best
}

// lastMarker returns the marker that a text ends with.
func lastMarker(text string) (string, bool) {
	text = strings.TrimRight(text, " \t\n")
	found := markersOf(text[max(0, len(text)-longest):])
	if n := len(found); n > 0 && found[n-1].to == min(longest, len(text)) {
		m := found[n-1]
		return text[len(text)-(m.to-m.at):], true
	}
	return "", false
}

// kindBefore is the kind of the last message that has text before an offset of the prompt.
func (t *talked) kindBefore(off int) conversation.Kind {
	kind := conversation.None
	for i, s := range t.spans {
		if s.to > 0 && s.to <= off {
			kind = t.kinds[i]
		}
	}
	return kind
}

// divide divides a prompt into turns.
func (s *sequence) divide(t *talked) {
	text := t.framed()
	var starts []int // of the stretches between two closers or before an opener
	for at := 0; at < len(text); {
		starts = append(starts, at)
		next := len(text)
		from := at
		if strings.HasPrefix(text[at:], s.opener) {
			from += len(s.opener)
		}
		if i := strings.Index(text[from:], s.opener); i >= 0 {
			next = from + i
		}
		if i := strings.Index(text[from:next], s.closer); i >= 0 {
			end := from + i + len(s.closer)
			end += len(text[end:next]) - len(strings.TrimLeft(text[end:next], " \t\n"))
			next = end
		}
		at = next
	}
	for i, from := range starts {
		to := len(text)
		if i+1 < len(starts) {
			to = starts[i+1]
		}
		one := turn{in: t, from: from, to: to, first: i == 0, last: i+1 == len(starts),
			opened: strings.HasPrefix(text[from:], s.opener)}
		body := text[from:to]
		end, ok := lastMarker(body)
		one.closed = ok && (end == s.closer || !s.paired(body))
		for j, span := range t.spans {
			if span.to > from && span.to <= to {
				one.kind = t.kinds[j]
			}
		}
		s.turns = append(s.turns, one)
	}
}

// paired reports whether a turn's last marker is the opener, or the other half of another one.
func (s *sequence) paired(body string) bool {
	body = strings.TrimPrefix(body, s.opener)
	found := markersOf(body)
	if len(found) == 0 {
		return true
	}
	last := found[len(found)-1]
	for _, m := range found[:len(found)-1] {
		if m.key == last.key && m.side != last.side {
			return true
		}
	}
	return last.side == opening
}

// unclosed returns the turns that another one follows while they are open.
func (s *sequence) unclosed() []turn {
	var all []turn
	for _, t := range s.turns {
		if t.opened && !t.closed && !t.last && !t.bos() {
			all = append(all, t)
		}
	}
	return all
}

// bos reports whether a prompt only begins there: its first token may be the opener.
func (t turn) bos() bool {
	return t.first && strings.TrimSpace(t.in.text[t.from:t.to]) == t.in.t.BOS
}

// unopened returns the turns without a header: text after a closer, or at the start of a
// prompt and before a closer.
func (s *sequence) unopened() []turn {
	var all []turn
	for _, t := range s.turns {
		body := t.in.framed()[t.from:t.to]
		only := strings.TrimSpace(body)
		_, to, marker := nextMarker(only, 0)
		switch {
		case t.opened || only == "" || marker && to == len(only): // of the text, or a second closer
		case !t.first || t.closed && strings.Contains(body, s.closer):
			all = append(all, t)
		}
	}
	return all
}

// spaced is a turn with the white space after its closer.
type spaced struct {
	turn
	space string
}

// spaces returns the turns that the closer ends and another one follows.
func (s *sequence) spaces() []spaced {
	var all []spaced
	for i, t := range s.turns {
		body := t.in.framed()[t.from:t.to]
		bare := strings.TrimRight(body, " \t\n")
		if t.opened && !t.last && s.turns[i+1].opened && strings.HasSuffix(bare, s.closer) {
			all = append(all, spaced{t, body[len(bare):]})
		}
	}
	return all
}

// nameless returns the turns whose opener is followed by no word, where those of two speakers are.
func (s *sequence) nameless() []turn {
	named := map[conversation.Kind]int{}
	var all []turn
	for _, t := range s.turns {
		if !t.opened || t.bos() {
			continue
		}
		r, _ := utf8.DecodeRuneInString(t.in.text[t.from+len(s.opener) : t.to])
		if unicode.IsLetter(r) {
			named[speaker(t.kind)]++
		} else {
			all = append(all, t)
		}
	}
	if len(named) < 2 {
		return nil
	}
	return all
}

// blank returns where the template writes a marker that is all brackets: <||>.
func (t *talked) blank() (int, bool) {
	text := t.framed()
	for at, to, ok := nextMarker(text, 0); ok; at, to, ok = nextMarker(text, to) {
		if strings.Trim(text[at:to], "<>|[]/_") == "" && strings.Contains(text[at:to], "|") {
			return at, true
		}
	}
	return 0, false
}

// name says whose turn it is.
func (t turn) name() string {
	if t.kind == conversation.None {
		return "the template's own turn"
	}
	return "the turn of " + article(t.kind.String())
}

// turnFaults are the turns with one fault, by the kinds of their messages.
type turnFaults struct {
	first map[conversation.Kind]turn
	count map[conversation.Kind]int
}

func (f *turnFaults) add(t turn) {
	if f.first == nil {
		f.first, f.count = map[conversation.Kind]turn{}, map[conversation.Kind]int{}
	}
	if f.count[t.kind]++; f.count[t.kind] == 1 {
		f.first[t.kind] = t
	}
}

// report reports the first fault of each kind, and how many there are.
func (f *turnFaults) report(find func(t turn, times string)) {
	for kind := conversation.None; kind <= conversation.Other; kind++ {
		if t, ok := f.first[kind]; ok && (kind != conversation.None || len(f.first) == 1) {
			find(t, plural(f.count[kind], "time")+"; conversation: "+t.in.Name)
		}
	}
}

// unmarked returns the turns of a speaker whose name is a marker after the opener, where it is
// missing: the next marker in the headers of two others follows the opener at once.
func (s *sequence) unmarked() (turn, bool) {
	first := map[conversation.Kind]map[string]bool{}
	second := map[string]map[conversation.Kind]bool{}
	some := map[conversation.Kind]turn{}
	for _, t := range s.turns {
		if !t.opened || t.bos() || t.kind == conversation.None {
			continue
		}
		kind, text := speaker(t.kind), t.in.framed()[:t.to]
		at := t.from + len(s.opener)
		one, to, ok := nextMarker(text, at)
		if !ok || one != at {
			continue
		}
		if first[kind] == nil {
			first[kind], some[kind] = map[string]bool{}, t
		}
		first[kind][text[one:to]] = true
		if two, end, ok := nextMarker(text, to); ok && two == to {
			if second[text[two:end]] == nil {
				second[text[two:end]] = map[conversation.Kind]bool{}
			}
			second[text[two:end]][kind] = true
		}
	}
	for kind := conversation.None; kind <= conversation.Other; kind++ {
		if len(first[kind]) != 1 {
			continue
		}
		for marker := range first[kind] {
			others := second[marker]
			if n := len(others); n > 1 || n == 1 && !others[kind] && len(first) > 1 {
				return some[kind], true
			}
		}
	}
	return turn{}, false
}

// unfed returns a turn whose header has no line feed after its name, where the headers of all
// others have.
func (s *sequence) unfed() (turn, bool) {
	feeds, lacks := map[conversation.Kind]bool{}, map[conversation.Kind]turn{}
	for _, t := range s.turns {
		if !t.opened || t.bos() || t.kind == conversation.None {
			continue
		}
		text := t.in.framed()[t.from+len(s.opener) : t.to]
		name := strings.IndexFunc(text, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-'
		})
		switch {
		case name <= 0:
		case text[name] == '\n':
			feeds[t.kind] = true
		default:
			if _, known := lacks[t.kind]; !known {
				lacks[t.kind] = t
			}
		}
	}
	for kind := conversation.None; kind <= conversation.Other; kind++ {
		if t, ok := lacks[kind]; ok && len(lacks) == 1 && !feeds[kind] && len(feeds) > few {
			return t, true
		}
	}
	return turn{}, false
}

func checkNamed(s *Subject, find finder) {
	if !s.heard(find) {
		return
	}
	for _, t := range s.talks() {
		if at, ok := t.blank(); ok {
			find(t.at(at), "a marker has no name: %s\nconversation: %s",
				report.Quote(t.text, at), t.Name)
			return
		}
	}
	s.checkMarked(find)
	q, ok := s.sequence()
	if !ok {
		return
	}
	if t, ok := q.unmarked(); ok {
		find(t.in.at(t.from), "the header of %s lacks the marker that names the role: %s\n"+
			"conversation: %s", t.name(), t.show(t.from+len(q.opener)), t.in.Name)
	}
	var nameless turnFaults
	for _, t := range q.nameless() {
		nameless.add(t)
	}
	nameless.report(func(t turn, times string) {
		find(t.in.at(t.from), "the header of %s names no role: %s\n%s", t.name(),
			t.show(t.from), times)
	})
}

// checkMarked looks for a kind of message whose header begins with a word, where those of others
// begin with a marker, and for text of the template's own that the end of a turn follows and that
// lacks the marker which all headers have.
func (s *Subject) checkMarked(find finder) {
	f, ok := s.frame()
	if !ok {
		return
	}
	marked, common := 0, map[string]int{}
	for _, header := range f.headers {
		seen := map[string]bool{}
		for m := range eachMarker(header) {
			if text := header[m.at:m.to]; !seen[text] {
				seen[text] = true
				common[text]++
			}
			if m.at == 0 {
				marked++
			}
		}
	}
	for kind := conversation.System; kind <= conversation.Result; kind++ {
		header := f.headers[kind]
		r, _ := utf8.DecodeRuneInString(header)
		if marked <= few || marked+1 < len(f.headers) || !unicode.IsLetter(r) {
			continue
		}
		for _, g := range s.gaps() {
			if rest, ok := f.after(g); ok && g.after == kind && strings.HasPrefix(rest, header) {
				_, at := g.of(header)
				find(g.in.at(at), "the header of %s begins with no marker, as those of others "+
					"do: %s\nconversation: %s", article(kind.String()),
					report.Quote(g.in.text, at), g.in.Name)
				return
			}
		}
	}
	for _, marker := range slices.Sorted(maps.Keys(common)) {
		if n := common[marker]; n == len(f.headers) && n > few && s.lacksMarker(find, f, marker) {
			return
		}
	}
}

// lacksMarker reports whether a turn of the template's own lacks the marker that all headers have.
func (s *Subject) lacksMarker(find finder, f frame, marker string) bool {
	for _, g := range s.gaps() {
		if !strings.Contains(g.text, f.closer) {
			continue
		}
		off := g.at
		for {
			n := strings.Index(g.in.text[off:g.to], f.closer)
			if n < 0 {
				break
			}
			body := g.in.text[off : off+n]
			if off > g.at && strings.ContainsFunc(body, unicode.IsLetter) &&
				!strings.Contains(body, marker) {
				find(g.in.at(off), "a turn of the template's own lacks %s, which the headers of "+
					"others have: %s\nconversation: %s", jsonString(marker),
					report.Quote(g.in.text, off), g.in.Name)
				return true
			}
			off += n + len(f.closer)
		}
	}
	return false
}

// show quotes a prompt where a turn ends or begins.
func (t turn) show(off int) string { return report.Quote(t.in.text, off) }
