package probe

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/check/view"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/conversation/sent"
	"github.com/goassay/assay/harness/report"
)

// Lacks returns the needles that a prompt does not have.
func (r Rendering) Lacks(needles ...string) []string {
	return lists.Filter(needles, func(needle string) bool {
		return !strings.Contains(r.Text, needle)
	})
}

// Has reports whether a prompt has a text.
func (r Rendering) Has(text string) bool { return strings.Contains(r.Text, text) }

// Quote shows a prompt around a text in it.
func (r Rendering) Quote(text string) string {
	return report.Quote(r.Text, strings.Index(r.Text, text))
}

// Where is a place in a template, and the request that shows the fault there, if one is known. A
// finding is placed at its cause, where one is known ([Rendering.Cause], [Rendering.Lost]), else
// where the template wrote the wrong text. The zero value is [Nowhere].
type Where struct {
	_       [0]func() // two places of different requests are compared by their offsets
	past    int       // the byte offset into the source and one; 0: the template as a whole
	also    int       // the same of another place, which shows the damage; 0: none
	role    string    // of that: "printed"
	lost    string    // what the request loses there, as [Where.Losing] has it
	request *chattemplate.Input
	seen    string              // evidence: what the model sees, or what is lost
	note    string              // a further line of every finding there; "" where there is none
	help    string              // the remedy of a finding there; "": that of its rule
	decides bool                // a condition there decides about the fault
	needed  bool                // the request has nothing that the fault does without
	part    func(place int) int // narrows the place down; nil: there is nothing to narrow
}

// Nowhere is the template as a whole, unless the finding's error has a place of its own.
var Nowhere = Where{}

// Offset is the place of a byte of the source.
func Offset(off int) Where { return Where{past: off + 1} }

// Off is the byte offset into the source, -1 for the template as a whole.
func (w Where) Off() int { return w.past - 1 }

// Known reports whether it is a place and not the template as a whole.
func (w Where) Known() bool { return w.past > 0 }

// Shown is the place with the request that shows the fault.
func (w Where) Shown(by chattemplate.Input) Where {
	w.request = &by
	return w
}

// Losing is the place with what the request loses there: the path of a leaf, or the name of a
// feature in package sent.
func (w Where) Losing(what string) Where {
	w.lost = what
	return w
}

// Needing is the place with a request that has nothing which the fault can do without: what sets it
// apart from others is the condition of the fault.
func (w Where) Needing() Where {
	w.needed = true
	return w
}

// Mended is the place with the remedy of a finding there, in place of that of its rule.
func (w Where) Mended(by string) Where {
	w.help = by
	return w
}

// Bare is the place without evidence, for a finding that has its own.
func (w Where) Bare() Where {
	w.seen = ""
	return w
}

// Beside is the place with another one that belongs to it, named by what happens there: "printed".
// A place without evidence takes that of the other one.
func (w Where) Beside(role string, other Where) Where {
	if w.past != other.past {
		w.also, w.role = other.past, role
	}
	w.seen = cmp.Or(w.seen, other.seen)
	return w
}

// Rendering is a prompt, with the input that it was rendered for.
type Rendering struct {
	Text    string
	Program *chattemplate.Template
	In      chattemplate.Input
}

// Render renders an input.
func (s *Subject) Render(in chattemplate.Input) (Rendering, error) {
	text, err := s.Template.ChatTemplate().Render(in)
	return s.Rendered(text, in), err
}

// Rendered returns the prompt that an input has been rendered to.
func (s *Subject) Rendered(text string, in chattemplate.Input) Rendering {
	return Rendering{text, s.Template.ChatTemplate(), in}
}

// With renders the input of a prompt again, with further variables.
func (s *Subject) With(r Rendering, more ...ordered.Member) (Rendering, error) {
	r.In.Kwargs = slices.Concat(r.In.Kwargs, more)
	return s.Render(r.In)
}

// Ask renders a request as the engine does, fitted to the template.
func (s *Subject) Ask(r chat.Request) (Rendering, error) {
	return s.Render(s.Template.Caps().Fit(r).Input)
}

// Observe renders again, with provenance; a rule asks for it only where it has found something.
func (r Rendering) Observe() (chattemplate.Observation, bool) {
	if r.Program == nil {
		return chattemplate.Observation{}, false
	}
	o, err := r.Program.Observe(r.In)
	return o, err == nil
}

// At is the place that wrote a byte; for the end of the text, its last byte.
func (r Rendering) At(off int) Where {
	o, ok := r.Observe()
	if !ok {
		return Nowhere.Shown(r.In)
	}
	return r.Seen(o, off)
}

// Seen is the place that wrote a byte of an observed prompt: the part of a sum that it is of.
func (r Rendering) Seen(o chattemplate.Observation, off int) Where {
	w := WrittenAt(o, off).Shown(r.In)
	w.part = func(place int) int { return r.operand(o, place, off) }
	return w
}

// WrittenAt is the place that wrote a byte of a prompt; for the end of the text, its last byte.
// Where a statement prints what others have gathered, it is that of the text.
func WrittenAt(o chattemplate.Observation, off int) Where {
	off = min(off, len(o.String)-1)
	pos, ok := o.WrittenAt(off)
	if !ok {
		return Nowhere
	}
	w := Offset(pos)
	if origin, ok := o.OriginAt(off); ok {
		w = Offset(origin).Beside("printed", w)
	}
	w.seen = "the model sees: " + report.Quote(o.String, off)
	return w
}

// Of is the place that wrote a text, the first one.
func (r Rendering) Of(text string) Where {
	if i := strings.Index(r.Text, text); i >= 0 {
		return r.At(i)
	}
	return Nowhere.Shown(r.In)
}

// Near is the place where a text of the input, a value or a key, got lost, as [Rendering.Lost] has
// it. Of one that the prompt has, it is where the template last looked at it.
func (r Rendering) Near(text string) Where {
	if r.Program == nil {
		return Nowhere
	}
	if path := pathOf(r.Program.Vars(r.In), text); path != "" {
		return r.Lost(path, text)
	}
	return Nowhere.Shown(r.In)
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

// place is where a finding is, and its text without the place. An error with a place in the
// template has the last word. The text has what people send in the place of the probes' needles.
func (s *Subject) place(at Where, err error) (rule.Place, string) {
	place, text := Place(s.Source, err)
	text = Plain(s.teller.Tell(s.evidence(at, text)))
	if s.Options.Evidence != nil && at.request != nil && at.lost != "" {
		text += s.Options.Evidence(s, *at.request, at.lost)
	}
	if place == (rule.Place{File: s.Source.File}) && at.Known() {
		off := at.Off()
		if at.part != nil {
			off = at.part(off)
		}
		place = PlaceAt(s.Source, off)
		if !at.decides {
			place.Condition = ""
		}
		if at.also == 0 {
			return place, text
		}
		if other := PlaceAt(s.Source, at.also-1); other.Line != place.Line {
			text += fmt.Sprintf("\n%s at line %d, column %d", at.role, other.Line, other.Col)
		}
	}
	return place, text
}

// ownEvidence matches the lines of a finding that shows a prompt itself.
var ownEvidence = regexp.MustCompile(`(?m)^(- |with: |the (model|template|prompt|history) )`)

// evidence adds to the text of a finding what it does not say itself: what the model sees, or what
// is lost, and the request.
func (s *Subject) evidence(at Where, text string) string {
	first, more, _ := strings.Cut(text, "\n")
	if ownEvidence.MatchString(more) {
		at.seen = ""
	}
	for _, line := range []string{at.seen, more, at.note} {
		if line != "" {
			first += "\n" + line
		}
	}
	if at.request != nil && !strings.Contains("\n"+more, "\nrequest: ") {
		first += "\nrequest: " + s.Told(*at.request)
	}
	return first
}

// Told is an input in a line of words, with its variables. Where a template takes parts alone, they
// are told of messages that have several.
func (s *Subject) Told(in chattemplate.Input) string {
	caps := s.Template.Caps()
	if caps.TypedOnly() {
		in.Messages = sent.Joined(in.Messages)
	}
	text := conversation.Told(chat.Request{Messages: in.Messages,
		Tools: make([]chat.Tool, len(in.Tools))})
	for _, v := range in.Kwargs {
		if !v.Value.IsNull() && len(caps.Needs.Bound) == 0 {
			text += "; " + v.Key + "=" + v.Value.String()
		}
	}
	return text
}

// when is the condition of a finding, as the beginning of its text, where that lacks it.
func (s *Subject) when(at Where, text string) string {
	if at.needed {
		first, _, _ := strings.Cut(text, "\n")
		if unsaid := conversation.Unsaid(s.Told(*at.request), first); unsaid != nil {
			return "with " + strings.Join(unsaid, " and ") + ", "
		}
	}
	return ""
}

// requestOf is the request that shows the fault at a place, as JSON, with what people send in the
// place of the probes' needles; "" where none is known.
func (s *Subject) requestOf(at Where) string {
	if at.request == nil {
		return ""
	}
	request := view.RequestOf(*at.request)
	if !at.request.Generate {
		request = request.With("add_generation_prompt", ordered.Boolean(false))
	}
	if len(at.request.Kwargs) > 0 {
		request = request.With("chat_template_kwargs", ordered.ObjectOf(at.request.Kwargs...))
	}
	return s.teller.Tell(request.String())
}

// Place returns the place of an error in a template, and its message without the place; for an
// error that has no place there, the template as a whole.
func Place(src subject.Source, err error) (rule.Place, string) {
	for _, e := range Positioned(err, nil) {
		if e.Src != nil && e.Src.Name == src.Name {
			return PlaceAt(src, src.Operand(e.Off, e.Msg)),
				strings.Replace(err.Error(), e.Error(), e.Msg, 1)
		}
	}
	return rule.Place{File: src.File}, err.Error()
}

// PlaceAt returns the place of a byte offset of a template, in the text as it was opened.
func PlaceAt(src subject.Source, off int) rule.Place {
	src, off = src.Original(off)
	from, to := src.Extent(off)
	at := rule.At(src.File, src.Places(), off).Underlined(src.Places(), from, to)
	if test, ok := src.Condition(off); ok {
		pos := src.Places().Position(test)
		at.Condition = fmt.Sprintf("%d:%d", pos.Line, pos.Col)
	}
	// the file has the template as a string
	if part, ok := strings.CutPrefix(src.Name, src.File+"#"); ok {
		at.Part = fmt.Sprintf("%s:%d:%d", part, at.Line, at.Col)
		at.Line, at.Col = 0, 0
	}
	return at
}

// Positioned are the positioned errors in an error's tree, the outermost first.
func Positioned(err error, found []*source.Error) []*source.Error {
	if e, ok := err.(*source.Error); ok {
		found = append(found, e)
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			found = Positioned(inner, found)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			found = Positioned(inner, found)
		}
	}
	return found
}
