package train

import (
	"fmt"
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
	// Headers are the headers of the answers, one for each.
	Headers []Span
	// Unended are the numbers of the answers that no end of a turn follows: nothing teaches the
	// model to stop there.
	Unended []int
}

// role returns the role of a message.
func role(m ordered.Value) string { return m.At("role").Text() }

// Render renders a conversation for training and finds the model's text in it (E3, E9): of each
// answer the text after the header, and after the part that the generation prompt has there
// already, up to and with the end of the turn. It fails where the header of an answer is not found,
// and where the limits of the template have ended the look at it.
func Render(t *engine.Template, in chattemplate.Input) (*Rendering, error) {
	in.Generate = false
	obs, err := t.ChatTemplate().Observe(in)
	t.ChatTemplate().Charge(obs.Trace.Size())
	if err != nil {
		return nil, err
	}
	r := &Rendering{Observation: obs}
	f := t.Analysis().Format
	first, last := edges(obs, len(in.Messages))
	at := 0 // the end of the text that is known to be of earlier messages
	for i, m := range in.Messages {
		if role(m) != "assistant" {
			at = max(at, last[i])
			continue
		}
		limit := len(obs.String)
		for _, next := range first[i+1:] {
			if next >= max(at, first[i]) { // else it was written out of its turn
				limit = next
				break
			}
		}
		from, err := r.start(f, at, first[i], limit)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		space := len(f.Header) - len(strings.TrimRight(f.Header, format.Space))
		if !strings.HasSuffix(r.String[:from], f.Header) {
			space = 0
		}
		r.Headers = append(r.Headers, Span{max(0, from-len(f.Header)), from})
		r.Held = append(r.Held, Span{from - space, from})
		if n := prefilled(t, in, i, f.Header, obs.String[from:]); n > 0 {
			r.Held = append(r.Held, Span{from, from + n})
			from += n
		}
		if last[i] > limit {
			last[i] = limit // a part of it was written once more, out of its turn
		}
		if from > limit {
			return nil, fmt.Errorf("message %d: it is not written in its turn", i)
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

// edges returns, for each message, where its text begins and ends in a rendering, -1 where it has
// none. Roles do not count: they stand in headers.
func edges(obs chattemplate.Observation, n int) (first, last []int) {
	first, last = make([]int, n), make([]int, n)
	for i := range first {
		first[i], last[i] = -1, -1
	}
	off := 0
	for _, run := range obs.Runs {
		var i int
		var field string
		if _, err := fmt.Sscanf(run.Path, "messages[%d].%s", &i, &field); err == nil && i < n &&
			field != "role" {
			if first[i] < 0 {
				first[i] = off
			}
			last[i] = off + run.Len
		}
		off += run.Len
	}
	return first, last
}

// start returns where an answer begins: after the header before its text, or, where it has none,
// after the next header.
func (r *Rendering) start(f format.Format, at, text, limit int) (int, error) {
	header := f.Header
	if text >= at {
		if i := strings.LastIndex(r.String[at:text], header); i >= 0 && header != "" {
			return at + i + len(header), nil
		}
		// Some templates write the white space at its end only where the text follows at once.
		bare := strings.TrimRight(header, format.Space)
		if i := strings.LastIndex(r.String[at:text], bare); i >= 0 && bare != "" {
			return at + i + len(bare), nil
		}
		return 0, fmt.Errorf("no header %q stands before the text", header)
	}
	if i := strings.Index(r.String[at:max(at, limit)], header); i >= 0 && header != "" {
		return at + i + len(header), nil
	}
	return 0, fmt.Errorf("no header %q and no text", header)
}

// prefilled returns how much of an answer's beginning the generation prompt has already.
func prefilled(t *engine.Template, in chattemplate.Input, i int, header, text string) int {
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
