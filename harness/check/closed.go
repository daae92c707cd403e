package check

import (
	"strings"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/subject"
)

// Turns are how a template frames its turns, for a program that mends them.
type Turns struct{ subject *Subject }

// TurnsOf learns how a template frames its turns, as rule A058 does. The error is that of a
// template that does not compile.
func TurnsOf(src subject.Source, o Options) (*Turns, error) {
	s := newSubject(src, o)
	return &Turns{s}, s.err
}

// Open reports whether the template leaves a turn open in some conversation (A058).
func (t *Turns) Open() bool { return !t.subject.quiet(checkClosed) }

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
	one := s.look(in)
	if one.err != nil {
		return "", nil, one.err
	}
	add := func(at int, end, before, after string, doubt bool) {
		w, ok := one.o.Trace.PrintAt(at)
		last, _ := one.o.Trace.PrintAt(at - 1)
		if ok && end != "" {
			places = append(places, Unclosed{at, w.Off, last.Off, doubt, end, before, after})
		}
	}
	if f, ok := s.frame(); ok {
		for _, g := range one.gaps() {
			if _, at := g.of(f.header(g)); at >= 0 && f.lacksEnd(s.gaps(), g) {
				add(at, s.end(f, g.after), one.role(g.at, true), one.role(g.to, false),
					!f.open(g))
			}
		}
	}
	if q, ok := s.sequence(); ok && places == nil {
		alone := sequence{opener: q.opener, closer: q.closer, halves: q.halves}
		alone.divide(one)
		for _, open := range alone.unclosed() {
			add(open.to, q.closer+q.usualSpace(), one.role(open.to, true), one.role(open.to, false),
				false)
		}
	}
	return one.text, places, nil
}

// Marks notes of the statements that write headers and ends of turns, by their offset in the
// template, whether a turn is open after them; false where a statement leaves one open at times.
func (t *Turns) Marks(in chattemplate.Input, open map[int]bool) bool {
	s := t.subject
	start, closer := "", ""
	if f, ok := s.frame(); ok {
		start, closer = f.start(), f.closer
	} else if q, ok := s.sequence(); ok {
		start, closer = q.opener, q.closer
	}
	one := s.look(in)
	if one.err != nil || start == "" {
		return one.err != nil
	}
	text := one.framed()
	now := map[int]bool{}
	print := jinja.Write{To: -1}
	for at := 0; at < len(text); at++ {
		opens := strings.HasPrefix(text[at:], start)
		if !opens && !strings.HasPrefix(text[at:], closer) {
			continue
		}
		w, ok := one.o.Trace.PrintAt(at)
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
func (t *talked) role(off int, before bool) string {
	role := ""
	for i, s := range t.spans {
		switch {
		case s.to == 0:
		case before && s.to <= off:
			role = t.in.Messages[i].At("role").Text()
		case !before && s.from >= off:
			return t.in.Messages[i].At("role").Text()
		}
	}
	return role
}

// end is the closer with the white space that stands in most places between it and the header of a
// kind.
func (s *Subject) end(f frame, after conversation.Kind) string {
	var ends []string
	for _, g := range s.gaps() {
		at := strings.LastIndex(g.text, f.closer)
		if at < 0 || f.header(g) == "" || g.before == conversation.None {
			continue
		}
		rest := g.text[at+len(f.closer):]
		header := strings.Index(rest, f.header(g))
		if g.after == after && header >= 0 && strings.TrimSpace(rest[:header]) == "" {
			ends = append(ends, f.closer+rest[:header])
		}
	}
	return mostly(ends, f.closer)
}

// usualSpace is the white space that stands in most places between a closer and an opener.
func (s *sequence) usualSpace() string {
	var all []string
	for _, t := range s.spaces() {
		all = append(all, t.space)
	}
	return mostly(all, "")
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
