package train

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
)

// Span is a stretch of a text, in bytes.
type Span struct {
	From, To int
}

// Rendering is a conversation as it is trained on.
type Rendering struct {
	chattemplate.Observation
	Written []Span // the model's text, in order; they do not touch
	// Held may count as the model's text or not: the beginning of an answer that the generation
	// prompt has already, and white space that ends a header, which templates write where text
	// follows.
	Held []Span
	// Answers are the numbers of the messages that are answers and are written. Headers has the
	// header of each, which is empty where the answer follows at once, as after a tool's result.
	Answers []int
	Headers []Span
	// Unended are the numbers of the answers that no end of a turn follows: nothing teaches the
	// model to stop there.
	Unended []int
}

// role returns the role of a message.
func role(m ordered.Value) string { return m.At("role").Text() }

// Render renders a conversation for training and finds the model's text in it (E3, E9): of each
// answer the text after the header, and after the part that the generation prompt has there
// already, up to and with the end of the turn. It fails with a [Misplaced] where an answer is not
// found, and where the limits of the template have ended the look at it.
func Render(t *engine.Template, in chattemplate.Input) (*Rendering, error) {
	in.Generate = false
	obs, err := t.ChatTemplate().Observe(in)
	t.ChatTemplate().Charge(obs.Trace.Size())
	if err != nil {
		return nil, err
	}
	r := &Rendering{Observation: obs}
	f := framed(t)
	first, last := edges(obs, len(in.Messages))
	at := 0 // the end of the text that is known to be of earlier messages
	for i, m := range in.Messages {
		// Some templates write an earlier message late, such as the system text in the last turn.
		if role(m) != "assistant" {
			if next := following(first[i+1:], at); next < 0 || last[i] <= next {
				at = max(at, last[i])
			}
			continue
		}
		limit := following(first[i+1:], max(at, first[i])) // else it was written out of its turn
		if limit < 0 {
			limit = len(obs.String)
		}
		from, header := r.start(f, at, first[i], limit), f.Header
		if from < 0 {
			from, header = r.afterPrompt(t, in, i, at, first[i]), ""
		}
		if from < 0 {
			if first[i] < 0 && unwritten(t, in, i, obs.String) {
				continue
			}
			return nil, r.misplaced(t, i, max(at, first[i]), fmt.Sprintf("an answer begins after "+
				"neither the header %q nor the prompt for it", f.Header))
		}
		space := len(header) - len(strings.TrimRight(header, format.Space))
		if !strings.HasSuffix(r.String[:from], header) {
			space = 0
		}
		r.Answers = append(r.Answers, i)
		r.Headers = append(r.Headers, Span{max(0, from-len(header)), from})
		r.Held = append(r.Held, Span{from - space, from})
		if n := prefilled(t, in, i, header, obs.String[from:]); n > 0 {
			r.Held = append(r.Held, Span{from, from + n})
			from += n
		}
		if last[i] > limit {
			last[i] = limit // a part of it was written once more, out of its turn
		}
		if from > limit {
			return nil, r.misplaced(t, i, from, "an answer is not written in its turn")
		}
		to, n := end(f, obs.String, max(from, last[i]), limit)
		if n == 0 {
			to = closed(f, obs.String, max(from, last[i]), limit)
			r.Unended = append(r.Unended, i)
		}
		if n < 0 { // the beginning of a tool's result, by which some formats end a turn
			r.Held = append(r.Held, Span{to + n, to})
			to += n
		}
		if from < to {
			r.Written = append(r.Written, Span{from, to})
		}
		at = max(at, to)
	}
	return r, t.Exhausted()
}

// framed returns a format with the header and the ends that stand around answers: the template's
// own ends, and as the header of a format without one the marker that every prompt ends with, which
// begins every part of a turn.
func framed(t *engine.Template) format.Format {
	a := t.Analysis()
	f := a.Format
	f.End = a.OwnEnds()
	if f.Header == "" && len(a.Prefills) == 1 &&
		strings.HasPrefix(f.Content.Open.Full(), a.Prefills[0]) {
		f.Header = a.Prefills[0]
	}
	return f
}

// following returns the first of the offsets that is not before a place, -1 where none is.
func following(offsets []int, at int) int {
	for _, off := range offsets {
		if off >= at {
			return off
		}
	}
	return -1
}

// edges returns, for each message, where its text begins and ends in a rendering, -1 where it has
// none. Roles do not count: they stand in headers.
func edges(obs chattemplate.Observation, n int) (first, last []int) {
	first, last = make([]int, n), make([]int, n)
	for i := range first {
		first[i], last[i] = -1, -1
	}
	for off, run := range obs.All() {
		var i int
		var field string
		if _, err := fmt.Sscanf(run.Path, "messages[%d].%s", &i, &field); err == nil && i < n &&
			field != "role" {
			if first[i] < 0 {
				first[i] = off
			}
			last[i] = off + run.Len
		}
	}
	return first, last
}

// Misplaced is why an answer is not found in a rendering: neither the header nor the prompt for it
// precedes its text, or it is not written in its turn.
type Misplaced struct {
	Message int // its number in the conversation
	Line    int // of the template, from 1: what writes the text
	Reason  string
}

func (m *Misplaced) Error() string {
	return fmt.Sprintf("message %d, line %d: %s", m.Message, m.Line, m.Reason)
}

// misplaced returns the error of an answer whose text is at an offset of the rendering.
func (r *Rendering) misplaced(t *engine.Template, i, off int, reason string) *Misplaced {
	m := &Misplaced{Message: i, Line: 1, Reason: reason}
	if w, ok := r.Trace.PrintAt(min(off, len(r.String)-1)); ok {
		m.Line = t.ChatTemplate().Source.Position(w.Off).Line
	}
	return m
}

// start returns where an answer begins: after the header before its text, or, where it has none,
// after the next header; -1 where no header is there.
func (r *Rendering) start(f format.Format, at, text, limit int) int {
	header := f.Header
	if header == "" {
		return -1
	}
	if text >= at {
		if i := strings.LastIndex(r.String[at:text], header); i >= 0 {
			return at + i + len(header)
		}
		// Some templates write the white space at its end only where the text follows at once.
		bare := strings.TrimRight(header, format.Space)
		if i := strings.LastIndex(r.String[at:text], bare); i >= 0 && bare != "" {
			return at + i + len(bare)
		}
		return -1
	}
	if i := strings.Index(r.String[at:max(at, limit)], header); i >= 0 {
		return at + i + len(header)
	}
	return -1
}

// afterPrompt returns where an answer begins that has no header, as after a tool's result in some
// formats; else -1. The prompt for it ends with a text of an earlier message and what the template
// writes after that: where the rendering has both, the answer follows. Before them it may differ,
// since templates write some parts for the last turn only. A template without a generation prompt
// shows no such place.
func (r *Rendering) afterPrompt(t *engine.Template, in chattemplate.Input, i, at, text int) int {
	f := framed(t)
	if f.Header == "" {
		return -1
	}
	in.Messages, in.Generate = in.Messages[:i], true
	prompt, err := t.ChatTemplate().Observe(in)
	t.ChatTemplate().Charge(prompt.Trace.Size())
	if err != nil {
		return -1
	}
	path, tail := "", ""
	for off, run := range prompt.All() {
		if strings.HasPrefix(run.Path, "messages[") {
			path, tail = run.Path, prompt.String[off+run.Len:]
		}
	}
	if from := r.afterText(path, tail, at, text); from >= 0 || f.Reasoning.Open.Text == "" {
		return from
	}
	// The prompt may open a reasoning that the history does not write.
	if open := strings.LastIndex(tail, f.Reasoning.Open.Text); open >= 0 {
		return r.afterText(path, tail[:open], at, text)
	}
	return -1
}

// afterText returns where the text of a variable and another one end, the last time that they do so
// between a place and the text of an answer, which is -1 where it has none.
func (r *Rendering) afterText(path, then string, at, text int) int {
	from := -1
	for off, run := range r.All() {
		off += run.Len
		if to := off + len(then); run.Path == path && path != "" && to >= at &&
			(text < 0 || to <= text) && strings.HasPrefix(r.String[off:], then) {
			from = to
		}
	}
	return from
}

// unwritten reports whether a template writes nothing of a message.
func unwritten(t *engine.Template, in chattemplate.Input, i int, text string) bool {
	in.Messages = slices.Delete(slices.Clone(in.Messages), i, i+1)
	without, err := t.ChatTemplate().Render(in)
	return err == nil && without == text
}

// prefilled returns how much of an answer's beginning the generation prompt has already.
func prefilled(t *engine.Template, in chattemplate.Input, i int, header, text string) int {
	if header == "" {
		return 0
	}
	in.Messages, in.Generate = in.Messages[:i], true
	prompt, err := t.ChatTemplate().Render(in)
	if err != nil {
		return 0
	}
	at := strings.LastIndex(prompt, header)
	if at < 0 {
		return 0
	}
	if prefill := prompt[at+len(header):]; strings.HasPrefix(text, prefill) {
		return len(prefill)
	}
	return 0
}

// closed returns where an answer ends that no end of a turn follows: after the literals of the
// format that follow its text.
func closed(f format.Format, text string, from, limit int) int {
	f.Header, f.End = "", nil
	var literals []string
	f.Literals(func(literal string) string {
		if bare := strings.Trim(literal, format.Space); bare != "" {
			literals = append(literals, bare)
		}
		return literal
	})
	for to := from; ; {
		rest := strings.TrimLeft(text[to:limit], format.Space)
		longest := ""
		for _, literal := range literals {
			if strings.HasPrefix(rest, literal) && len(literal) > len(longest) {
				longest = literal
			}
		}
		if longest == "" {
			return to
		}
		to = limit - len(rest) + len(longest)
	}
}

// end returns the end of the turn that begins before a place, and the length of the text that ends
// it: 0 where the template writes none, negative where it is not the usual one.
func end(f format.Format, text string, from, limit int) (best, n int) {
	for k, e := range f.End {
		e = strings.Trim(e, format.Space)
		i := strings.Index(text[from:limit], e)
		if at := from + i + len(e); i >= 0 && e != "" && (n == 0 || at < best) {
			if best, n = at, len(e); k > 0 {
				n = -n
			}
		}
	}
	return best, n
}
