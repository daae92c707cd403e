package engine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine/caps"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/vocab"
)

// Segment is a stretch of a prompt with one origin: the template, or a field of the request.
type Segment struct {
	Text string
	Off  int // where in the prompt it begins, in bytes
	// Own reports whether the text is the template's own, or one of the special tokens that it was
	// compiled with. All other text came from the request, or was made of it.
	Own bool
	// Path is the field of the request that the text is from, such as "messages[2].content",
	// "tools[0]" or "enable_thinking". It is empty for the template's own text, and for text that
	// was made of the request as a whole, such as a count.
	Path string
	Role string // of the message that the text is from; "" where it is from none
	Turn int    // the number of that message in the request, from 0; -1 where it is from none
}

// End is where the segment ends.
func (s Segment) End() int { return s.Off + len(s.Text) }

// Piece is a part of a prompt that a tokeniser takes in one call; see [Prompt.Pieces].
type Piece = vocab.Piece

// Segments returns the prompt as segments, in order: those that adjoin differ in origin, and
// together they are the text. Text that a polyfill has folded into another message counts as that
// message's. The caller must not change the segments.
func (p Prompt) Segments() ([]Segment, error) {
	if p.segments == nil {
		return nil, nil
	}
	return p.segments.of(p.Text)
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
	segments, err := p.Segments()
	if err != nil {
		return nil, err
	}
	if segments == nil {
		return []Piece{{Text: p.Text, Special: true}}, nil
	}
	spans := make([]vocab.Span, len(segments))
	for i, s := range segments {
		spans[i] = vocab.Span{End: s.End(), Own: s.Own || s.isRole()}
	}
	return v.Pieces(p.Text, spans, p.segments.t.writes), nil
}

// isRole reports whether the segment is the role of its message, and that is a word of the
// protocol: templates make headers of it, and nobody can say anything by it.
func (s Segment) isRole() bool {
	return s.Turn >= 0 && s.Text == s.Role && s.Path == messagePath(s.Turn, ".role") &&
		slices.Contains(roles[:], s.Role)
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
	noted   *segments // of the rendered text; nil: not noted

	kept    int    // how much of the rendered text the prompt of a continued message has
	spelled string // and the text after it
}

// render renders the input and notes where the bytes are from.
func (s *segmenter) render() (jinja.Text, error) {
	s.noted = &segments{s: s, last: Segment{Turn: -1}}
	text, err := s.t.chat.RenderFields(s.in, s.noted)
	if err != nil {
		return text, err
	}
	list := s.noted.list
	for i := range list {
		end := len(text.String)
		if i+1 < len(list) {
			end = list[i+1].Off
		}
		list[i].Text = text.String[list[i].Off:end]
	}
	return text, nil
}

func (s *segmenter) of(text string) ([]Segment, error) {
	if s.noted == nil {
		again := *s
		if _, err := again.render(); err != nil {
			return nil, err
		}
		s = &again
	}
	if s.request.Continue == chat.ContinueNone {
		return s.noted.list, nil
	}
	b := segments{s: s, text: text}
	for _, seg := range s.noted.list {
		if seg.Off >= s.kept {
			break
		}
		b.put(min(seg.End(), s.kept), seg)
	}
	b.continued()
	return b.list, nil
}

// segments puts segments together.
type segments struct {
	s    *segmenter
	text string // "": it is not known yet
	list []Segment
	at   int // the end of the last one

	path string // the last one from the request, and its text
	last Segment
}

// Expect implements [jinja.RunTaker].
func (b *segments) Expect(n int) { b.list = make([]Segment, 0, n) }

// Take implements [jinja.RunTaker]: it adds a stretch of the rendered text.
func (b *segments) Take(r jinja.Run) {
	if r.Len == 0 {
		return
	}
	if r.Role == jinja.Literal || b.s.special(r.Path) {
		b.put(b.at+r.Len, ownSegment)
		return
	}
	if b.path != r.Path {
		b.path, b.last = r.Path, b.s.field(r.Path)
	}
	b.put(b.at+r.Len, b.last)
}

func (b *segments) put(end int, seg Segment) {
	n := len(b.list)
	if n == 0 || b.list[n-1].Own != seg.Own || b.list[n-1].Path != seg.Path {
		if b.at == end {
			return
		}
		seg.Off = b.at
		b.list = append(b.list, seg)
		n++
	}
	if b.at = end; b.text != "" {
		b.list[n-1].Text = b.text[b.list[n-1].Off:end]
	}
}

// continued adds the message that is continued, as the format spells it: the texts of the message,
// and the markers around them.
func (b *segments) continued() {
	r := b.s.request
	turn := len(r.Messages) - 1
	// No text in UTF-8 has the two bytes.
	const open, shut = "\xff", "\xfe"
	spelled := continued(
		b.s.t.Analysis().Format,
		r,
		func(text string) string { return open + text + shut },
	)
	fields := []string{"reasoning_content", "content"}
	if r.Messages[turn].At(fields[0]).Text() == "" {
		fields = fields[1:]
	}
	for _, field := range fields {
		before, rest, ok := strings.Cut(spelled, open)
		if !ok {
			break
		}
		b.put(b.at+len(before), ownSegment)
		var text string
		text, spelled, _ = strings.Cut(rest, shut)
		b.put(b.at+len(text), Segment{Path: messagePath(turn, "."+field),
			Role: r.Messages[turn].At("role").Text(), Turn: turn})
	}
	b.put(len(b.text), ownSegment)
}

// ownSegment is the template's own text.
var ownSegment = Segment{Own: true, Turn: -1}

// messagePath is the path of a field of a message.
func messagePath(message int, field string) string {
	return "messages[" + strconv.Itoa(message) + "]" + field
}

// field returns a segment of a field of the input. Its path is that of the request's field.
func (s *segmenter) field(path string) Segment {
	seg := Segment{Path: path, Turn: -1}
	rest, ok := strings.CutPrefix(path, "messages[")
	if !ok {
		return seg
	}
	digits, field, ok := strings.Cut(rest, "]")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n >= len(s.in.Messages) {
		return seg
	}
	if seg.Role = s.in.Messages[n].At("role").Text(); s.fitted.From == nil {
		seg.Turn = n
		return seg
	}
	if seg.Turn = s.fitted.Place(n); seg.Turn >= 0 {
		seg.Path = messagePath(seg.Turn, field)
		seg.Role = s.request.Messages[seg.Turn].At("role").Text()
	}
	return seg
}

// special reports whether a path is that of a special token's text, which the template was compiled
// with.
func (s *segmenter) special(path string) bool {
	if path != "bos_token" && path != "eos_token" {
		return false
	}
	for _, m := range s.in.Kwargs {
		if m.Key == path {
			return false
		}
	}
	return true
}
