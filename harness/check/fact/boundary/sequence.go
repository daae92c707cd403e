// Package boundary learns where the turns of a template begin and end.
//
// A [Gap] is the text between two messages. The [Frame] is the end of a turn and the headers of
// each kind of message, learnt from the gaps. The [Sequence] divides whole prompts into turns,
// where one marker opens all of them.
//
// A [Reading] is a prompt cut into pieces: the values of the request, and the template's markers. A
// [Join] is where two pieces meet. What stands between the same two pieces hardly ever varies in a
// template that is sound, and where it does, a natural condition tells when: the tools, the first
// or the last message, a switch, the piece before. An [Outlier] is a join that its siblings
// contradict.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package boundary

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/conversation"
)

// UsualSpace is the white space that stands in most places between a closer and an opener.
func (s *Sequence) UsualSpace() string {
	all := lists.Map(s.Spaces(), func(t spaced) string { return t.Space })
	return mostly(all, "")
}

// Sequence is how turns follow each other where one marker opens all of them and another one closes
// most: opener, turn, closer, and so on. It is learnt from all conversations.
type Sequence struct {
	Opener, Closer string
	// Opener and Closer are the two halves of one marker: the closer closes what the opener opens
	Halves bool
	turns  []Turn
}

// Turn is a stretch of a prompt: from where the turn before it ends to where the next one opens.
type Turn struct {
	In     *prompts.Prompt
	From   int // the opener, or the text in its place
	To     int // the next opener, or the end of the prompt
	opened bool
	closed bool // by the closer, or by another marker that nothing in the turn opens
	first  bool // the prompt begins with it
	last   bool
	kind   conversation.Kind // of its last message; None: the template wrote it alone
}

// speaker returns the kind of message that stands for all kinds with the same header.
func speaker(k conversation.Kind) conversation.Kind {
	switch k {
	case conversation.Developer:
		return conversation.System
	case conversation.Call:
		return conversation.Answer
	}
	return k
}

// SequenceOf returns how turns follow each other where one marker opens all of them; false where
// none does.
func SequenceOf(s *probe.Subject) (Sequence, bool) {
	f := sequences.Of(s)
	return f.Sequence, f.ok
}

var sequences = probe.NewFact(func(s *probe.Subject) (f struct {
	Sequence
	ok bool
}) {
	f.Sequence, f.ok = learnSequence(prompts.All.Of(s), Gaps.Of(s))
	return f
})

// learnSequence learns the opener from the generation prompts: it is the first marker there that is
// not part of the usual end of a question. At least half of the prompts begin with text that has
// it.
func learnSequence(talks []*prompts.Prompt, gaps []Gap) (Sequence, bool) {
	s := Sequence{}
	votes, most := map[string]int{}, 0
	end := UsualEnd(gaps, conversation.Question)
	for _, g := range gaps {
		if !g.Asked || g.Before != conversation.Question {
			continue
		}
		at, to, ok := markup.Next(g.Text, 0)
		for ok && strings.Contains(end, g.Text[at:to]) {
			at, to, ok = markup.Next(g.Text, to)
		}
		if ok {
			if votes[g.Text[at:to]]++; votes[g.Text[at:to]] > most {
				s.Opener, most = g.Text[at:to], votes[g.Text[at:to]]
			}
		}
	}
	starts, have := 0, 0
	for _, g := range gaps {
		if g.Before == conversation.None {
			if starts++; strings.Contains(g.Text, s.Opener) {
				have++
			}
		}
	}
	if s.Opener == "" || 2*have < starts {
		return s, false
	}
	s.Closer = s.learnCloser(talks)
	if s.Closer == "" {
		return s, false
	}
	for _, t := range talks {
		if t.Err == nil && len(t.Spans) > 0 {
			s.Divide(t)
		}
	}
	return s, s.Halves || 2*(len(s.Unclosed())+len(s.Unopened())) < len(s.turns)
}

// learnCloser returns the marker that stands before most openers and that nothing in its turn
// opens; "" where fewer than two speakers end most of their turns with it. One is enough where it
// is the other half of the opener.
func (s *Sequence) learnCloser(talks []*prompts.Prompt) string {
	type by map[conversation.Kind]int
	ends, total, turns := map[string]by{}, map[string]int{}, by{}
	best := ""
	for _, t := range talks {
		if t.Err != nil {
			continue
		}
		text := t.Framed()
		from := 0
		for {
			next := strings.Index(text[min(from+1, len(text)):], s.Opener)
			if next < 0 {
				break
			}
			at := from + 1 + next
			body := text[from:at]
			kind := speaker(t.KindBefore(at))
			turns[kind]++
			if m, ok := markup.Last(body); ok && m != s.Opener && !s.paired(body) {
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
		open, end := markup.In(s.Opener), markup.In(best)
		s.Halves = len(open) == 1 && len(end) == 1 && open[0].Key == end[0].Key &&
			open[0].Side == markup.Opening && end[0].Side == markup.Closing
	}
	if speakers < 2 && !s.Halves {
		return ""
	}
	return best
}

// Divide divides a prompt into turns.
func (s *Sequence) Divide(t *prompts.Prompt) {
	text := t.Framed()
	var starts []int // of turns: after a closer, or at an opener
	for at := 0; at < len(text); {
		starts = append(starts, at)
		next := len(text)
		from := at
		if strings.HasPrefix(text[at:], s.Opener) {
			from += len(s.Opener)
		}
		if i := strings.Index(text[from:], s.Opener); i >= 0 {
			next = from + i
		}
		if i := strings.Index(text[from:next], s.Closer); i >= 0 {
			end := from + i + len(s.Closer)
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
		one := Turn{In: t, From: from, To: to, first: i == 0, last: i+1 == len(starts),
			opened: strings.HasPrefix(text[from:], s.Opener)}
		body := text[from:to]
		end, ok := markup.Last(body)
		one.closed = ok && (end == s.Closer || !s.paired(body))
		for j, span := range t.Spans {
			if span.To > from && span.To <= to {
				one.kind = t.Kinds[j]
			}
		}
		s.turns = append(s.turns, one)
	}
}

// paired reports whether the last marker of a turn opens something, or is the other half of a
// marker before it. A turn without markers is paired.
func (s *Sequence) paired(body string) bool {
	body = strings.TrimPrefix(body, s.Opener)
	found := markup.In(body)
	if len(found) == 0 {
		return true
	}
	last := found[len(found)-1]
	for _, m := range found[:len(found)-1] {
		if m.Key == last.Key && m.Side != last.Side {
			return true
		}
	}
	return last.Side == markup.Opening
}

// Unclosed returns the turns that are still open when the next one begins.
func (s *Sequence) Unclosed() []Turn {
	return lists.Filter(s.turns, func(t Turn) bool {
		return t.opened && !t.closed && !t.last && !t.bos()
	})
}

// bos reports whether a turn is just the first token of a prompt, which may be the opener.
func (t Turn) bos() bool {
	return t.first && strings.TrimSpace(t.In.Text[t.From:t.To]) == t.In.Program.BOS
}

// Unopened returns the turns without a header: text after a closer, or at the start of a
// prompt and before a closer.
func (s *Sequence) Unopened() []Turn {
	var all []Turn
	for _, t := range s.turns {
		body := t.In.Framed()[t.From:t.To]
		only := strings.TrimSpace(body)
		_, to, marker := markup.Next(only, 0)
		switch {
		case t.opened || only == "" || marker && to == len(only): // a lone marker or second closer
		case !t.first || t.closed && strings.Contains(body, s.Closer):
			all = append(all, t)
		}
	}
	return all
}

// spaced is a turn with the white space after its closer.
type spaced struct {
	Turn
	Space string
}

// Spaces returns the turns that the closer ends and another one follows.
func (s *Sequence) Spaces() []spaced {
	var all []spaced
	for i, t := range s.turns {
		body := t.In.Framed()[t.From:t.To]
		bare := strings.TrimRight(body, " \t\n")
		if t.opened && !t.last && s.turns[i+1].opened && strings.HasSuffix(bare, s.Closer) {
			all = append(all, spaced{t, body[len(bare):]})
		}
	}
	return all
}

// Nameless returns the turns whose opener is not followed by a word, where those of two speakers
// are.
func (s *Sequence) Nameless() []Turn {
	named := map[conversation.Kind]int{}
	var all []Turn
	for _, t := range s.turns {
		if !t.opened || t.bos() {
			continue
		}
		r, _ := utf8.DecodeRuneInString(t.In.Text[t.From+len(s.Opener) : t.To])
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

// Name says whose turn it is.
func (t Turn) Name() string {
	if t.kind == conversation.None {
		return "a message without text (an empty one, or the template's own)"
	}
	return probe.Article(t.kind.String())
}

// FirstOfKinds are the first turns of each kind of message; one that the template adds itself only
// where there is no other.
func FirstOfKinds(turns []Turn) []Turn {
	var first []Turn
	for kind := conversation.None; kind <= conversation.Other; kind++ {
		i := slices.IndexFunc(turns, func(t Turn) bool { return t.kind == kind })
		if i >= 0 {
			first = append(first, turns[i])
		}
	}
	if len(first) > 1 && first[0].kind == conversation.None {
		return first[1:]
	}
	return first
}

// Unmarked returns a turn whose header lacks the marker that names its speaker: the marker right
// after its opener is the second one in the headers of other speakers.
func (s *Sequence) Unmarked() (Turn, bool) {
	first := map[conversation.Kind]map[string]bool{}
	second := map[string]map[conversation.Kind]bool{}
	some := map[conversation.Kind]Turn{}
	for _, t := range s.turns {
		if !t.opened || t.bos() || t.kind == conversation.None {
			continue
		}
		kind, text := speaker(t.kind), t.In.Framed()[:t.To]
		at := t.From + len(s.Opener)
		one, to, ok := markup.Next(text, at)
		if !ok || one != at {
			continue
		}
		if first[kind] == nil {
			first[kind], some[kind] = map[string]bool{}, t
		}
		first[kind][text[one:to]] = true
		if two, end, ok := markup.Next(text, to); ok && two == to {
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
	return Turn{}, false
}

// Unfed returns a turn whose header has no line feed after its name, where the headers of all
// others have one.
func (s *Sequence) Unfed() (Turn, bool) {
	feeds, lacks := map[conversation.Kind]bool{}, map[conversation.Kind]Turn{}
	for _, t := range s.turns {
		if !t.opened || t.bos() || t.kind == conversation.None {
			continue
		}
		text := t.In.Framed()[t.From+len(s.Opener) : t.To]
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
		if t, ok := lacks[kind]; ok && len(lacks) == 1 && !feeds[kind] && len(feeds) > prompts.Few {
			return t, true
		}
	}
	return Turn{}, false
}
