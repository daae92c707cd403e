package check

import (
	"fmt"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/rule"
	"github.com/goassay/assay/harness/subject"
)

// where is a place in a template, a byte offset into its source. A finding is placed where the
// template wrote the wrong text, or where it last looked at the text that it should have written.
type where int

// nowhere is the template as a whole, unless the finding's error has a place of its own.
const nowhere where = -1

// rendering is a prompt, with the input that it was rendered for.
type rendering struct {
	text string
	t    *chattemplate.Template
	in   chattemplate.Input
}

// render renders an input.
func (s *Subject) render(in chattemplate.Input) (rendering, error) {
	text, err := s.Template.ChatTemplate().Render(in)
	return rendering{text, s.Template.ChatTemplate(), in}, err
}

// ask renders a request as the engine does, fitted to the template.
func (s *Subject) ask(r chat.Request) (rendering, error) {
	return s.render(s.Template.Caps().Fit(r).Input)
}

// observe renders again, with provenance; a rule asks for it only where it has found something.
func (r rendering) observe() (chattemplate.Observation, bool) {
	if r.t == nil {
		return chattemplate.Observation{}, false
	}
	o, err := r.t.Observe(r.in)
	return o, err == nil
}

// at is the place that wrote a byte; for the end of the text, its last byte.
func (r rendering) at(off int) where {
	o, ok := r.observe()
	if !ok {
		return nowhere
	}
	return writtenAt(o, off)
}

// writtenAt is the place that wrote a byte of a prompt; for the end of the text, its last byte.
func writtenAt(o chattemplate.Observation, off int) where {
	if pos, ok := o.WrittenAt(min(off, len(o.String)-1)); ok {
		return where(pos)
	}
	return nowhere
}

// of is the place that wrote a text, the first one.
func (r rendering) of(text string) where {
	if i := strings.Index(r.text, text); i >= 0 {
		return r.at(i)
	}
	return nowhere
}

// near is the place that last looked at a text of the input, a value or a key, or at its
// neighbours.
func (r rendering) near(text string) where {
	if r.t == nil {
		return nowhere
	}
	path := pathOf(r.t.Vars(r.in), text)
	if path == "" {
		return nowhere
	}
	o, _ := r.t.Observe(r.in) // the trace is there even where rendering fails
	if pos, ok := o.Trace.Nearest(path); ok {
		return where(pos)
	}
	return nowhere
}

// pathOf is the path of the first string or key in a value that contains a text, "" where there is
// none.
func pathOf(v ordered.Value, text string) string {
	for _, m := range v.Members() {
		if path, ok := pathIn(m.Value, m.Key, text); ok {
			return path
		}
	}
	return ""
}

func pathIn(v ordered.Value, path, text string) (string, bool) {
	if v.Kind() == ordered.String && strings.Contains(v.Text(), text) {
		return path, true
	}
	for _, m := range v.Members() {
		inner := path + "." + m.Key
		if m.Key == text {
			return inner, true
		}
		if found, ok := pathIn(m.Value, inner, text); ok {
			return found, true
		}
	}
	for i, item := range v.Items() {
		if found, ok := pathIn(item, fmt.Sprintf("%s[%d]", path, i), text); ok {
			return found, true
		}
	}
	return "", false
}

// of is the place that wrote a text in the first conversation that has it: one with reasoning,
// content and a call, or less.
func (s *Subject) of(text string) where {
	null := callTurn.With("content", ordered.Value{})
	for _, turn := range []ordered.Value{fullTurn(callValue), callTurn, null, answerTurn} {
		r, err := s.fitted(talk(userTurn, turn), true, true)
		if err == nil && strings.Contains(r.text, text) {
			return r.of(text)
		}
	}
	return nowhere
}

// turn is the place that writes a turn: its call, where it has one, else its content.
func (s *Subject) turn(tools bool) where {
	if tools {
		return s.of("CITYNEEDLE")
	}
	return s.of("ANSWERNEEDLE")
}

// place is where a finding is, and its text without the place. An error with a place in the
// template has the last word.
func (s *Subject) place(at where, err error) (rule.Place, string) {
	place, text := Place(s.Source, err)
	if place == (rule.Place{File: s.Source.File}) && at >= 0 {
		place = PlaceAt(s.Source, int(at))
	}
	return place, text
}

// Place returns the place of an error in a template, and its message without the place; for an
// error that has no place there, the template as a whole.
func Place(src subject.Source, err error) (rule.Place, string) {
	for _, e := range positioned(err, nil) {
		if e.Src != nil && e.Src.Name == src.Name {
			return PlaceAt(src, e.Off), strings.Replace(err.Error(), e.Error(), e.Msg, 1)
		}
	}
	return rule.Place{File: src.File}, err.Error()
}

// PlaceAt returns the place of a byte offset of a template.
func PlaceAt(src subject.Source, off int) rule.Place {
	at := rule.At(src.File, src.Places(), off)
	// the file has the template as a string
	if part, ok := strings.CutPrefix(src.Name, src.File+"#"); ok {
		at.Part = fmt.Sprintf("%s:%d:%d", part, at.Line, at.Col)
		at.Line, at.Col = 0, 0
	}
	return at
}

// positioned are the positioned errors in an error's tree, the outermost first.
func positioned(err error, found []*source.Error) []*source.Error {
	if e, ok := err.(*source.Error); ok {
		found = append(found, e)
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			found = positioned(inner, found)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			found = positioned(inner, found)
		}
	}
	return found
}
