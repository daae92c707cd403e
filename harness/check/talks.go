package check

import (
	"slices"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine/caps"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/harness/conversation"
)

// talk is a conversation of the grammar as the template writes it, fitted as the engine fits it.
type talked struct {
	conversation.Conversation
	rendering
	o     chattemplate.Observation
	err   error
	kinds []conversation.Kind
	spans []span // of the messages

	holed  string   // the prompt, with holes for texts that are not the template's
	found  []marker // of that, up to maxKept; nil: not looked for yet
	many   bool     // there are more
	frames string   // the prompt, with holes for the texts of messages and tools

	unfilled error // with which tools and arguments are refused as they came

	expected []conversation.Leaf // see leaves
	from     map[origin]int      // see origins
}

// leaves returns the texts that a client would expect in the prompt; several rules ask for them.
func (t *talked) leaves() []conversation.Leaf {
	if t.expected == nil {
		t.expected = conversation.Leaves(t.in)
	}
	return t.expected
}

// span is the stretch of a prompt from the first to the last byte that came from a message, its
// role apart. The zero span is of a message that is not there.
type span struct{ from, to int }

// grammar returns the conversations on which the template is tried.
func (s *Subject) grammar() *conversation.Grammar {
	if s.Options.Grammar != nil {
		return s.Options.Grammar
	}
	return conversation.Usual()
}

// observeTalks renders the conversations of the grammar with their origins.
func (s *Subject) observeTalks() []*talked {
	all := make([]*talked, 0, len(s.grammar().Conversations))
	for _, c := range s.grammar().Conversations {
		fitted := s.Template.Caps().Fit(c.Request)
		t := s.look(fitted.Input)
		t.Conversation = c
		s.Template.ChatTemplate().Charge(t.o.Size()) // all rules look at it
		if t.err == nil {
			t.unfilled = s.unfilled(c.Request, fitted)
		}
		all = append(all, t)
	}
	return all
}

// look renders an input with its origins.
func (s *Subject) look(in chattemplate.Input) *talked {
	t := new(talked)
	t.o, t.err = s.Template.ChatTemplate().Observe(in)
	t.rendering = rendering{t.o.String, s.Template.ChatTemplate(), in}
	for _, m := range in.Messages {
		t.kinds = append(t.kinds, conversation.KindOf(m))
	}
	if t.err == nil {
		t.measure()
	}
	return t
}

// unfilled returns the error with which a template fails on the tools of a request as they came,
// or on arguments or ids, where Fit has changed them for it: other engines do not.
func (s *Subject) unfilled(r chat.Request, fitted caps.Fitted) error {
	came := s.Template.Caps().Unfilled().Fit(r)
	if slices.Equal(came.Fits, fitted.Fits) {
		return nil
	}
	_, err := s.Template.ChatTemplate().Render(came.Input)
	return err
}

// messageOf returns the message that a run of text came from, -1 where it came from none, or is its
// role.
func messageOf(r jinja.Run) int {
	rest, ok := strings.CutPrefix(r.Path, "messages[")
	if !ok || r.Role == jinja.Literal || r.Role == jinja.Computed {
		return -1
	}
	digits, rest, _ := strings.Cut(rest, "]")
	i, err := strconv.Atoi(digits)
	if err != nil || rest == ".role" {
		return -1
	}
	return i
}

// at is the place that wrote a byte; for the end of the text, its last byte. It is known already.
func (t *talked) at(off int) where { return writtenAt(t.o, off) }

// measure finds the spans of the messages.
func (t *talked) measure() {
	t.spans = make([]span, len(t.kinds))
	at := 0
	for _, r := range t.o.Runs {
		if i := messageOf(r); i >= 0 && i < len(t.spans) {
			if s := &t.spans[i]; s.to == 0 {
				*s = span{at, at + r.Len}
			} else {
				s.to = at + r.Len
			}
		}
		at += r.Len
	}
}

// gap is the text between two messages that follow each other, or between one and an end of the
// prompt.
type gap struct {
	before, after conversation.Kind // None at an end of the prompt
	asked         bool              // at the end: with a generation prompt
	text          string            // without the texts of messages
	in            *talked
	at, to        int // where in the prompt it is
}

// hole stands in a gap for text from a message.
const hole = "\x00"

// counter stands in a gap for text that the template computed, such as the number of a call.
const counter = "\x01"

// gaps returns the texts between the messages of a conversation; messages that leave nothing in the
// prompt have none.
func (t *talked) gaps() []gap {
	if t.err != nil || len(t.spans) == 0 {
		return nil
	}
	var all []gap
	add := func(before, after conversation.Kind, from, to int) {
		if from <= to {
			all = append(all, gap{before, after, after == conversation.None &&
				t.in.Generate, t.between(from, to), t, from, to})
		}
	}
	for i, s := range t.spans {
		switch {
		case s.to == 0:
		case i == 0:
			add(conversation.None, t.kinds[0], 0, s.from)
		case t.spans[i-1].to > 0:
			add(t.kinds[i-1], t.kinds[i], t.spans[i-1].to, s.from)
		}
	}
	if last := len(t.spans) - 1; t.spans[last].to > 0 {
		add(t.kinds[last], conversation.None, t.spans[last].to, len(t.text))
	}
	return all
}

// between returns a stretch of the prompt with holes where it came from messages.
func (t *talked) between(from, to int) string {
	var b strings.Builder
	at := 0
	for _, r := range t.o.Runs {
		lo, hi := max(at, from), min(at+r.Len, to)
		at += r.Len
		switch {
		case lo >= hi:
		case messageOf(r) >= 0:
			if !strings.HasSuffix(b.String(), hole) {
				b.WriteString(hole)
			}
		case r.Role == jinja.Computed:
			b.WriteString(counter)
		default:
			b.WriteString(t.text[lo:hi])
		}
	}
	return b.String()
}
