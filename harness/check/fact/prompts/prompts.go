// Package prompts renders the conversations of the grammar with the origin of each byte.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package prompts

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine/caps"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/conversation/standard"
)

// Observe renders messages with their origins.
func Observe(s *probe.Subject, messages []ordered.Value, tools, generate bool) (*Prompt, error) {
	r := chat.Request{Messages: messages, NoGeneration: !generate}
	if tools {
		r.Tools = standard.ToolRequest().Tools
	}
	in := s.Template.Caps().Fit(r).Input
	t := &Prompt{}
	var err error
	t.Seen, err = s.Template.ChatTemplate().Observe(in)
	t.Rendering = s.Rendered(t.Seen.String, in)
	return t, err
}

// Rendered yields the conversations that rendered.
func Rendered(s *probe.Subject) iter.Seq[*Prompt] {
	return func(yield func(*Prompt) bool) {
		for _, t := range All.Of(s) {
			if t.Err == nil && !yield(t) {
				return
			}
		}
	}
}

// Heard reports whether some conversation rendered in which a message of one of the kinds speaks,
// any kind where none is named; where none did, the rule is not judged.
func Heard(s *probe.Subject, find probe.Finder, kinds ...conversation.Kind) bool {
	var why error
	for _, t := range All.Of(s) {
		has := func(k conversation.Kind) bool { return slices.Contains(t.Kinds, k) }
		switch {
		case len(kinds) > 0 && !slices.ContainsFunc(kinds, has):
		case t.Err == nil:
			return true
		case why == nil:
			why = t.Err
		}
	}
	if why != nil {
		probe.Unjudged(find, why)
	}
	return why == nil
}

// IfHeard returns the function of a rule that is judged where some conversation rendered.
func IfHeard(check func(*probe.Subject, probe.Finder)) func(*probe.Subject, probe.Finder) {
	return func(s *probe.Subject, find probe.Finder) {
		if Heard(s, find) {
			check(s, find)
		}
	}
}

// talk is a conversation of the grammar as the template writes it, fitted as the engine fits it.
type Prompt struct {
	conversation.Conversation
	probe.Rendering
	Seen  chattemplate.Observation
	Err   error
	Kinds []conversation.Kind
	Spans []Span // of the messages

	holed  string          // the prompt, with holes for texts that are not the template's
	found  []markup.Marker // of that, up to maxKept; nil: not looked for yet
	many   bool            // there are more
	frames string          // the prompt, with holes for the texts of messages and tools

	Unfilled error // with which tools and arguments are refused as they came

	expected []conversation.Leaf // see leaves
	from     map[Origin]int      // see origins
}

// Leaves returns the texts that a client would expect in the prompt; several rules ask for them.
func (t *Prompt) Leaves() []conversation.Leaf {
	if t.expected == nil {
		t.expected = conversation.Leaves(t.In)
	}
	return t.expected
}

// Media returns what the parts of messages are beside text: "type" with each type, "image", "audio"
// and "video" for the sorts of types, and "media". A template may know some types of a sort alone.
func (t *Prompt) Media() map[string]bool {
	all := map[string]bool{}
	for _, m := range t.In.Messages {
		for _, part := range m.At("content").Items() {
			kind := part.At("type").Text()
			if kind != "" && kind != "text" {
				all["media"], all["type "+kind] = true, true
			}
			for _, sort := range []string{"image", "audio", "video"} {
				if strings.Contains(kind, sort) {
					all[sort] = true
				}
			}
		}
	}
	return all
}

// Span is the stretch of a prompt from the first to the last byte that came from a message, its
// role apart. The zero span is of a message that is not there.
type Span struct{ From, To int }

// All are the conversations of the grammar as the template writes them.
var All = probe.NewFact(observeAll)

// observeAll renders the conversations of the grammar with their origins.
func observeAll(s *probe.Subject) []*Prompt {
	all := make([]*Prompt, 0, len(s.Grammar().Conversations))
	for _, c := range s.Grammar().Conversations {
		fitted := s.Template.Caps().Fit(c.Request)
		t := Look(s, fitted.Input)
		c.Name = t.Name
		t.Conversation = c
		s.Template.ChatTemplate().Charge(t.Seen.Size()) // all rules look at it
		if t.Err == nil {
			t.Unfilled = unfilled(s, c.Request, fitted)
		}
		all = append(all, t)
	}
	return all
}

// Look renders an input with its origins and branches.
func Look(s *probe.Subject, in chattemplate.Input) *Prompt {
	t := new(Prompt)
	t.Name = s.Told(in)
	t.Seen, t.Err = s.Template.ChatTemplate().ObserveBranches(in)
	t.Rendering = s.Rendered(t.Seen.String, in)
	for _, m := range in.Messages {
		t.Kinds = append(t.Kinds, conversation.KindOf(m))
	}
	if t.Err == nil {
		t.measure()
	}
	return t
}

// unfilled returns the error with which a template fails on the tools of a request as they came,
// or on arguments or ids, where Fit has changed them for it: other engines do not.
func unfilled(s *probe.Subject, r chat.Request, fitted caps.Fitted) error {
	came := s.Template.Caps().Unfilled().Fit(r)
	if slices.Equal(came.Fits, fitted.Fits) {
		return nil
	}
	_, err := s.Template.ChatTemplate().Render(came.Input)
	return err
}

// MessageOf returns the message that a run of text came from, -1 where it came from none, or is its
// role.
func MessageOf(r jinja.Run) int {
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

// At is the place that wrote a byte; for the end of the text, its last byte. It is known already.
func (t *Prompt) At(off int) probe.Where { return t.Rendering.Seen(t.Seen, off) }

// measure finds the spans of the messages.
func (t *Prompt) measure() {
	t.Spans = make([]Span, len(t.Kinds))
	for at, r := range t.Seen.All() {
		if i := MessageOf(r); i >= 0 && i < len(t.Spans) {
			if s := &t.Spans[i]; s.To == 0 {
				*s = Span{at, at + r.Len}
			} else {
				s.To = at + r.Len
			}
		}
	}
}
