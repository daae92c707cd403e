package turns

import (
	"strings"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/harness/check/fact/boundary"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
)

// Turns are how a template frames its turns, for a program that mends them.
type Turns struct{ subject *probe.Subject }

// Of returns the turns of a template that is checked by all rules.
func Of(s *probe.Subject) *Turns { return &Turns{s} }

// Open reports whether the template leaves a turn open in some conversation (A058).
func (t *Turns) Open() bool { return t.subject.Fires("A058") }

// Unclosed is a place of a prompt where the header of a turn stands while the turn before it is
// open.
type Unclosed struct {
	At     int    // of the header, a byte offset of the prompt
	Off    int    // of the statement that wrote it, a byte offset of the template
	Last   int    // of the statement that wrote the text before
	Doubt  bool   // nothing opens the turn before, which is a fault of another kind
	End    string // the text that is missing there
	Before string // the role of the message before; "" where there is none
	After  string // and of the one after
}

// Unclosed renders an input and returns the places where a turn is left open, in their order.
func (t *Turns) Unclosed(in chattemplate.Input) (text string, places []Unclosed, err error) {
	s := t.subject
	one := prompts.Look(s, in)
	if one.Err != nil {
		return "", nil, one.Err
	}
	add := func(at int, end, before, after string, doubt bool) {
		w, ok := one.Seen.Trace.PrintAt(at)
		last, _ := one.Seen.Trace.PrintAt(at - 1)
		if ok && end != "" {
			places = append(places, Unclosed{at, w.Off, last.Off, doubt, end, before, after})
		}
	}
	if f, ok := boundary.FrameOf(s); ok {
		for _, g := range boundary.GapsIn(one) {
			if _, at := g.Of(f.Header(g)); at >= 0 && f.LacksEnd(boundary.Gaps.Of(s), g) {
				add(at, boundary.End(s, f, g.After), role(one, g.At, true), role(one, g.To, false),
					!f.Open(g))
			}
		}
	}
	if q, ok := boundary.SequenceOf(s); ok && places == nil {
		alone := boundary.Sequence{Opener: q.Opener, Closer: q.Closer, Halves: q.Halves}
		alone.Divide(one)
		for _, open := range alone.Unclosed() {
			add(open.To, q.Closer+q.UsualSpace(), role(one, open.To, true), role(one, open.To,
				false), false)
		}
	}
	return one.Text, places, nil
}

// Marks notes of the statements that write headers and ends of turns, by their offset in the
// template, whether a turn is open after them; false where a statement leaves one open at times.
func (t *Turns) Marks(in chattemplate.Input, open map[int]bool) bool {
	s := t.subject
	start, closer := "", ""
	if f, ok := boundary.FrameOf(s); ok {
		start, closer = f.Start(), f.Closer
	} else if q, ok := boundary.SequenceOf(s); ok {
		start, closer = q.Opener, q.Closer
	}
	one := prompts.Look(s, in)
	if one.Err != nil || start == "" {
		return one.Err != nil
	}
	text := one.Framed()
	now := map[int]bool{}
	print := jinja.Write{To: -1}
	for at := 0; at < len(text); at++ {
		opens := strings.HasPrefix(text[at:], start)
		if !opens && !strings.HasPrefix(text[at:], closer) {
			continue
		}
		w, ok := one.Seen.Trace.PrintAt(at)
		if known, found := now[w.Off]; !ok || found && known != opens && w.From != print.From {
			return false
		}
		print = w
		now[w.Off] = opens
	}
	for off, opens := range now {
		if known, found := open[off]; found && known != opens {
			return false
		}
		open[off] = opens
	}
	return true
}

// role is the role of the last message that has text before an offset of the prompt, or of the
// first that has any from there on.
func role(t *prompts.Prompt, off int, before bool) string {
	role := ""
	for i, s := range t.Spans {
		switch {
		case s.To == 0:
		case before && s.To <= off:
			role = t.In.Messages[i].At("role").Text()
		case !before && s.From >= off:
			return t.In.Messages[i].At("role").Text()
		}
	}
	return role
}
