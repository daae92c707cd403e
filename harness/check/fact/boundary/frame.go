package boundary

import (
	"slices"
	"strings"
	"unicode"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/conversation"
)

// End is the closer with the white space that stands in most places between it and the header of a
// kind.
func End(s *probe.Subject, f Frame, after conversation.Kind) string {
	var ends []string
	for _, g := range Gaps.Of(s) {
		at := strings.LastIndex(g.Text, f.Closer)
		if at < 0 || f.Header(g) == "" || g.Before == conversation.None {
			continue
		}
		rest := g.Text[at+len(f.Closer):]
		header := strings.Index(rest, f.Header(g))
		if g.After == after && header >= 0 && strings.TrimSpace(rest[:header]) == "" {
			ends = append(ends, f.Closer+rest[:header])
		}
	}
	return mostly(ends, f.Closer)
}

// mostly is the text that a list has most often, the first of several; other, where it is empty.
func mostly(all []string, other string) string {
	count, most := map[string]int{}, 0
	for _, text := range all {
		count[text]++
	}
	for _, text := range all {
		if count[text] > most {
			other, most = text, count[text]
		}
	}
	return other
}

// Frame is how a template frames turns, learnt from its questions and answers.
type Frame struct {
	Closer  string                       // the end of a question's and an answer's turn
	Headers map[conversation.Kind]string // the opener of the turn of a kind, after a closer
}

// plainest is how many gaps a header is learnt from; the plainest conversations come first, and the
// others are compared with them.
const plainest = 8

// FrameOf returns how a template frames turns; false where it cannot be learnt.
func FrameOf(s *probe.Subject) (Frame, bool) {
	f := frames.Of(s)
	return f.Frame, f.ok
}

var frames = probe.NewFact(func(s *probe.Subject) (f struct {
	Frame
	ok bool
}) {
	f.Frame, f.ok = learnFrame(Gaps.Of(s))
	return f
})

// learnFrame finds the frame; false where questions and answers end differently, or with nothing at
// all.
func learnFrame(gaps []Gap) (Frame, bool) {
	f := Frame{Headers: map[conversation.Kind]string{}}
	// Without a generation prompt the end of a prompt is the end of a turn; after an answer that is
	// all reasoning it may be more.
	f.Closer = sameEnd(gaps, UsualEnd(gaps, conversation.Question),
		UsualEnd(gaps, conversation.Answer))
	if f.Closer == "" || strings.Contains(f.Closer, Hole) {
		return f, false
	}
	seen := map[conversation.Kind]int{}
	for _, g := range gaps { // a result has no other place than after calls and results
		header, ok := f.After(g)
		if ok && (Plain(g.Before) || g.After == conversation.Result) && seen[g.After] < plainest {
			seen[g.After]++
			meet(f.Headers, g.After, header)
		}
	}
	if call, ok := f.Headers[conversation.Call]; ok { // the speaker is the same
		f.Headers[conversation.Call] = source.CommonPrefix(call, f.Headers[conversation.Answer])
	}
	for kind, header := range f.Headers {
		if strings.TrimSpace(header) == "" || strings.HasPrefix(header, Hole) {
			delete(f.Headers, kind)
		}
	}
	return f, true
}

// sameEnd is the end of a question as well as of an answer: one of the two ends where the other
// only repeats it, or where the last answer of all ends otherwise than those before a question.
func sameEnd(gaps []Gap, question, answer string) string {
	repeats := func(long, short string) bool {
		return short != "" && strings.Contains(long, short) &&
			strings.TrimSpace(strings.ReplaceAll(long, short, "")) == ""
	}
	switch {
	case question == answer || repeats(answer, question):
		return question
	case repeats(question, answer):
		return answer
	}
	if question == "" {
		return ""
	}
	before := 0
	for _, g := range gaps {
		if g.Before != conversation.Answer || g.After != conversation.Question {
			continue
		}
		if !strings.HasPrefix(strings.TrimSpace(g.Text), question) {
			return ""
		}
		before++
	}
	if before == 0 {
		return ""
	}
	return question
}

// Plain reports whether the turn of a kind ends in the same way in every template that frames
// turns.
func Plain(k conversation.Kind) bool {
	return k == conversation.System || k == conversation.Developer || k == conversation.Question ||
		k == conversation.Answer
}

// meet keeps the common beginning of all texts of a kind.
func meet(texts map[conversation.Kind]string, k conversation.Kind, text string) {
	if known, ok := texts[k]; ok {
		text = source.CommonPrefix(known, text)
	}
	texts[k] = text
}

// After returns the text of a gap between two messages after the last closer.
func (f Frame) After(g Gap) (string, bool) {
	at := strings.LastIndex(g.Text, f.Closer)
	if at < 0 || g.Before == conversation.None || g.After == conversation.None {
		return "", false
	}
	return strings.TrimLeft(g.Text[at+len(f.Closer):], " \t\n"), true
}

// Open reports whether the turn that a gap follows has been opened by a header.
func (f Frame) Open(g Gap) bool {
	text := g.In.Text[:g.At]
	text = text[strings.LastIndex(text, f.Closer)+1:]
	for _, header := range f.Headers {
		if strings.Contains(text, header) {
			return true
		}
	}
	return false
}

// Header returns the opener of the turn after a gap; the model's where the prompt ends.
func (f Frame) Header(g Gap) string {
	if g.After == conversation.None {
		return f.Headers[conversation.Answer]
	}
	return f.Headers[g.After]
}

// LeftOpen reports whether the header after a gap stands where the turn before it is open.
func (f Frame) LeftOpen(gaps []Gap, g Gap) bool {
	return f.Open(g) && f.LacksEnd(gaps, g) || f.ownOpen(gaps, g)
}

// ownOpen reports whether the template opens the instructions before the first message itself, with
// the header that sent ones have, and does not close them as those are closed there.
func (f Frame) ownOpen(gaps []Gap, g Gap) bool {
	at := strings.LastIndex(g.Text, f.Header(g))
	own := strings.TrimSpace(f.Headers[conversation.System])
	if at < 0 || f.Header(g) == "" || own == "" || g.Before != conversation.None ||
		g.After == conversation.System {
		return false
	}
	open := strings.LastIndex(g.Text[:at], own)
	return open >= 0 && !strings.Contains(g.Text[open:], f.Closer) &&
		strings.TrimSpace(g.Text[open+len(own):at]) != "" &&
		slices.ContainsFunc(gaps, func(g Gap) bool {
			return g.Before == conversation.System && g.At == g.In.Spans[0].To &&
				strings.Contains(g.Text, f.Closer)
		})
}

// LacksEnd reports whether the end of a turn is missing before the header after a gap.
func (f Frame) LacksEnd(gaps []Gap, g Gap) bool {
	header := f.Header(g)
	at := strings.LastIndex(g.Text, header)
	if header == "" || at < 0 || g.Before == conversation.None ||
		strings.Contains(g.Text, f.Closer) {
		return false
	}
	before := g.Text[:at]
	return strings.TrimSpace(before) == "" || goesOn(gaps, g.Before, before) ||
		f.closes(gaps, g.Before, before) || g.ownEnd(before)
}

// Start is the text that the headers of questions, answers and instructions begin with, "" where
// they have none in common, or a part of a marker.
func (f Frame) Start() string {
	start, n := "", 0
	for _, kind := range []conversation.Kind{conversation.System, conversation.Question,
		conversation.Answer} {
		header := f.Headers[kind]
		if header == "" {
			continue
		}
		if n++; n == 1 {
			start = header
		}
		start = source.CommonPrefix(start, header)
	}
	start = strings.TrimSpace(start)
	open := strings.LastIndexAny(start, "<[")
	if n < 2 || len(start) < 2 || open >= 0 && !strings.ContainsAny(start[open:], ">]") {
		return ""
	}
	return start
}

// closes reports whether the closer follows a kind's message and this text elsewhere.
func (f Frame) closes(gaps []Gap, kind conversation.Kind, end string) bool {
	end = strings.TrimSpace(end)
	return slices.ContainsFunc(gaps, func(g Gap) bool {
		rest, ok := strings.CutPrefix(strings.TrimSpace(g.Text), end)
		return ok && g.Before == kind && strings.HasPrefix(strings.TrimSpace(rest), f.Closer)
	})
}

// Strays reports whether the template writes words between the end of its own first turn and the
// header of the first message.
func (f Frame) Strays(g Gap) bool {
	at := strings.LastIndex(g.Text, f.Closer)
	header := strings.TrimSpace(f.Headers[g.After])
	if at < 0 || header == "" {
		return false
	}
	rest := g.Text[at+len(f.Closer):]
	end := strings.LastIndex(rest, header)
	return end > 0 && strings.ContainsFunc(rest[:end], unicode.IsLetter)
}

// Bare reports whether nothing but BOS stands before the first message of a prompt, though the
// closer follows it and others have headers.
func (f Frame) Bare(s *probe.Subject, g Gap) bool {
	before := strings.TrimPrefix(strings.TrimSpace(g.Text), s.Template.ChatTemplate().BOS)
	if strings.TrimSpace(before) != "" || len(f.Headers) == 0 || strings.Contains(g.Text, Hole) {
		return false
	}
	end := g.In.Spans[0].To
	return strings.HasPrefix(strings.TrimSpace(g.In.Text[end:]), f.Closer)
}

// Closing is the place that ends the turn of the same kind of message elsewhere; where there is
// none, that of the same speaker.
func Closing(s *probe.Subject, gaps []Gap, f Frame, bad Gap) probe.Where {
	speaker := func(k conversation.Kind) bool {
		return k == bad.Before ||
			bad.Before == conversation.Result &&
				(k == conversation.Answer || k == conversation.Call) ||
			bad.Before == conversation.Call && k == conversation.Answer
	}
	before := func(k conversation.Kind) bool { return k == bad.Before }
	for _, same := range []func(conversation.Kind) bool{before, speaker, Plain} {
		for _, g := range gaps {
			if at, _ := g.Of(f.Closer); at >= 0 && same(g.Before) {
				return g.In.At(at)
			}
		}
	}
	return bad.In.At(bad.At)
}
