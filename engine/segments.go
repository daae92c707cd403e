package engine

import (
	"iter"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/caps"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/vocab"
)

// Segment is a stretch of a prompt with one origin: the template, or a field of the request.
type Segment struct {
	Text string // the bytes of the prompt that the segment has
	Off  int    // where in the prompt it begins, in bytes
	// Own reports whether the text is the template's own, or one of the special tokens that it was
	// compiled with. All other text came from the request, or was made of it.
	Own bool

	s *segmenter
	i int
}

// End is where the segment ends.
func (s Segment) End() int { return s.Off + len(s.Text) }

// Path is the field of the request that the text is from, such as "messages[2].content", "tools[0]"
// or "enable_thinking". It is empty for the template's own text, and for text that was made of the
// request as a whole, such as a count.
func (s Segment) Path() string {
	if f, role := s.s.spans.Origin(s.i); role == jinja.FromValue {
		return f.Path()
	}
	return ""
}

// Turn is the number of the message in the request that the text is from, from 0; -1 where it is
// from none.
func (s Segment) Turn() int {
	if f, role := s.s.spans.Origin(s.i); role == jinja.FromValue {
		if n, _, ok := f.Message(); ok {
			return n
		}
	}
	return -1
}

// Role is that of the message that the text is from; "" where it is from none.
func (s Segment) Role() string {
	if n := s.Turn(); n >= 0 {
		return s.s.request.Messages[n].At("role").Text()
	}
	return ""
}

// Segments are a prompt as segments, in order: those that adjoin differ in origin, and together
// they are the text.
type Segments struct {
	text string
	s    *segmenter // nil: there are none
}

// Len returns the number of segments.
func (s Segments) Len() int {
	if s.s == nil {
		return 0
	}
	return s.s.spans.Len()
}

// At returns a segment, from 0.
func (s Segments) At(i int) Segment {
	off := 0
	if i > 0 {
		off = s.s.spans.End(i - 1)
	}
	return s.segment(i, off)
}

// segment returns the segment that begins at an offset.
func (s Segments) segment(i, off int) Segment {
	spans := &s.s.spans
	return Segment{s.text[off:spans.End(i)], off, spans.IsLiteral(i), s.s, i}
}

// All returns the segments in order.
func (s Segments) All() iter.Seq[Segment] {
	return func(yield func(Segment) bool) {
		off := 0
		for i := range s.Len() {
			seg := s.segment(i, off)
			if !yield(seg) {
				return
			}
			off = seg.End()
		}
	}
}

// Piece is a part of a prompt that a tokeniser takes in one call; see [Prompt.Pieces].
type Piece = vocab.Piece

// Segments returns the prompt as segments. Text that a polyfill has folded into another message
// counts as that message's.
func (p Prompt) Segments() (Segments, error) {
	if p.segments == nil {
		return Segments{}, nil
	}
	s, err := p.segments.of(p.Text)
	return Segments{p.Text, s}, err
}

// Pieces cuts the prompt for a tokeniser, so that no special token comes from the request. The
// tokens of the prompt are those of the pieces, one after the other, each tokenised without the
// tokens that the tokeniser adds around a text, and with special tokens read only where
// Piece.Special says so (Hugging Face's split_special_tokens, llama.cpp's parse_special).
//
// Where nothing in the request spells an added token the prompt is one piece, so that honest text
// keeps its tokens. Where something does, the cuts are at special tokens of the template's own,
// where a tokeniser cuts anyway. An added token that is no special one is read in every text; of
// these, the ones that the template's format is made of are cut in two where the request spells
// them.
func (p Prompt) Pieces(v *Vocabulary) ([]Piece, error) {
	if p.segments == nil {
		return []Piece{{Text: p.Text, Special: true}}, nil
	}
	segments, err := p.Segments()
	if err != nil {
		return nil, err
	}
	spans := make([]vocab.Span, 0, segments.Len())
	for s := range segments.All() {
		own := s.Own || s.isRole()
		if n := len(spans); n > 0 && spans[n-1].Own == own {
			spans[n-1].End = s.End()
		} else {
			spans = append(spans, vocab.Span{End: s.End(), Own: own})
		}
	}
	return v.Pieces(p.Text, spans, p.segments.t.writes), nil
}

// isRole reports whether the segment is the role of its message, and that is a word of the
// protocol: templates make headers of it, and nobody can say anything by it.
func (s Segment) isRole() bool {
	f, role := s.s.spans.Origin(s.i)
	n, key, ok := f.Message()
	return role == jinja.FromValue && ok && key == "role" &&
		s.Text == s.s.request.Messages[n].At("role").Text() && slices.Contains(roles[:], s.Text)
}

// roles are those of OpenAI's protocol.
var roles = [...]string{"system", "developer", "user", "assistant", "tool", "function"}

// writes reports whether a literal of the template's format, or its header or end, has a text in
// it.
func (t *Template) writes(text string) bool {
	found := false
	t.Analysis().Format.Literals(func(literal string) string {
		found = found || strings.Contains(literal, text)
		return literal
	})
	return found
}

// segmenter knows where the bytes of a prompt are from, or how to find out.
type segmenter struct {
	t       *Template
	request chat.Request
	fitted  caps.Fitted
	in      chattemplate.Input
	noted   bool // spans are those of the rendered text
	spans   jinja.Spans
	kept    int // how much of the rendered text the prompt of a continued message has
}

// render renders the input and notes where the bytes are from.
func (s *segmenter) render() (text string, err error) {
	s.noted = true
	return s.t.chat.RenderSpans(s.in, &s.spans, s)
}

// of returns the segmenter whose spans are those of the prompt, which may have another text than
// the rendered one.
func (s *segmenter) of(text string) (*segmenter, error) {
	if s.noted && s.request.Continue == chat.ContinueNone {
		return s, nil
	}
	other := *s
	if !s.noted {
		if _, err := other.render(); err != nil {
			return nil, err
		}
	}
	if s.request.Continue != chat.ContinueNone {
		other.spans = other.continued(text)
	}
	return &other, nil
}

// ownEnd returns the text at the end of the rendering that is the template's own, as
// [observe.OwnEnd] does.
func (s *segmenter) ownEnd(text string) string {
	for i := s.spans.Len() - 1; i >= 0; i-- {
		f, role := s.spans.Origin(i)
		if role == jinja.FromValue &&
			!chattemplate.IsOwn(jinja.Origin{Path: f.Path(), Role: role}) {
			return text[s.spans.End(i):]
		}
	}
	return text
}

// Origin implements [jinja.FieldTaker]: a field of the input is one of the request, a special token
// that the template was compiled with, or a part of a message that a polyfill has put in.
func (s *segmenter) Origin(f jinja.Field) (jinja.Field, jinja.Role) {
	n, _, ok := f.Message()
	switch {
	case !ok && s.special(f):
		return f, jinja.Literal
	case !ok:
		return f, jinja.FromValue
	case n >= len(s.in.Messages):
		return f, jinja.Computed
	}
	if n = s.fitted.Place(n); n < 0 {
		return f, jinja.Computed
	}
	return f.OfMessage(n), jinja.FromValue
}

// continued returns the spans of a prompt with the message that is continued, as the format spells
// it: the texts of the message, and the markers around them.
func (s *segmenter) continued(text string) jinja.Spans {
	turn := len(s.request.Messages) - 1
	// No text in UTF-8 has the two bytes.
	const open, shut = "\xff", "\xfe"
	spelled := continued(s.t.Analysis().Format, s.request,
		func(text string) string { return open + text + shut })
	fields := []string{"reasoning_content", "content"}
	if s.request.Messages[turn].At(fields[0]).Text() == "" {
		fields = fields[1:]
	}
	spans, at := s.spans.Until(s.kept), s.kept
	for _, field := range fields {
		before, rest, ok := strings.Cut(spelled, open)
		if !ok {
			break
		}
		at += len(before)
		spans.Add(at, jinja.Field{}, jinja.Literal)
		var said string
		said, spelled, _ = strings.Cut(rest, shut)
		at += len(said)
		spans.Add(at, jinja.MessageField(turn, field), jinja.FromValue)
	}
	spans.Add(len(text), jinja.Field{}, jinja.Literal)
	return spans
}

// special reports whether a field is the text of a special token that the template was compiled
// with.
func (s *segmenter) special(f jinja.Field) bool {
	name, ok := f.Variable()
	return ok && (name == "bos_token" || name == "eos_token") && !slices.ContainsFunc(s.in.Kwargs,
		func(m ordered.Member) bool { return m.Key == name })
}
