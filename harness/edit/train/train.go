// Package train makes templates fit for training.
//
// # Terminology
//
// The model writes the content of an answer, its reasoning, its calls and the end of its turn: not
// the header, and not the part that the generation prompt has there already. The mask of a
// conversation is the bytes that the model writes. The tags are {% generation %} and {%
// endgeneration %}, of which transformers makes the mask.
//
// # Model
//
// [Render] finds the model's text by provenance: where the bytes of a message are, which header
// precedes them, which end follows. [Tag] renders many conversations, notes for each place of the
// template whether it writes the model's text, and puts the tags around those places. A place that
// writes both is split first: a chain of texts into its operands, a literal where the model's text
// begins, a branch that serves all roles into one for answers and one for the others. The edits
// touch nothing else of the source.
//
// # Proof
//
// A tagged template is offered only if every conversation renders the same bytes as before, or
// fails as before, and if the tags mark the bytes that provenance marks.
//
// # Limits
//
// transformers counts only text that a template writes at its top level, in loops and in
// conditions. So the tags never stand in macros or in captures, and they enclose no assignment,
// which would be lost after them.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package train

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja/edit"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/edit/fix"
)

// Inputs returns the conversations that a template is looked at with, fitted to it: the standard
// battery and those of a seed.
func Inputs(t *engine.Template, seed uint64) (all []chattemplate.Input) {
	for _, c := range standard.Battery() {
		in := t.Caps().Fit(c.Request).Input
		in.Generate = false
		all = append(all, in)
	}
	for _, c := range conversation.New(seed).Conversations {
		in := t.Caps().Fit(c.Request).Input
		in.Generate = false
		all = append(all, in)
	}
	return all
}

// Tagged is a template with tags.
type Tagged struct {
	Source subject.Source // as it was
	Text   string         // with tags
	Tags   bool           // it had them before
	Steps  [][]fix.Edit   // that lead to the text, one after the other
	Tested int            // conversations that render alike
	// Headers are the lines that write headers of answers within the tags: those places write parts
	// of answers too.
	Headers []int
	// Untagged are the answers that are not found where they are written, so that tags around them
	// are not proven; the first of each line, in order.
	Untagged []*Misplaced
}

// Status says what became of the tags.
type Status string

// The statuses.
const (
	Present Status = "present" // the template had tags
	Placed  Status = "placed"  // the tags mark all of the model's text, and nothing else
	Partial Status = "partial" // they leave out some answers, or mark some headers
)

// Status returns what became of the tags.
func (tagged *Tagged) Status() Status {
	switch {
	case tagged.Tags:
		return Present
	case len(tagged.Headers)+len(tagged.Untagged) > 0:
		return Partial
	}
	return Placed
}

// ErrUntaggable is why a template gets no tags.
var ErrUntaggable = errors.New("the tags cannot be placed")

// maxRounds bounds how often mixed parts are split.
const maxRounds = 8

// Tag puts tags into a template. The error wraps [ErrUntaggable] where that cannot be done, and
// [engine.ErrExhausted] where the limits of the source end the search or the proof. They bound all
// renders of the template and of its edited texts together.
func Tag(src subject.Source, seed uint64) (*Tagged, error) {
	was, err := src.Compile()
	if err != nil {
		return nil, err
	}
	tagged, err := tag(src, was, seed)
	// A search that was cut short has found too little, so none of its results holds.
	if ended := was.Exhausted(); ended != nil {
		return nil, ended
	}
	return tagged, err
}

func tag(src subject.Source, was *engine.Template, seed uint64) (*Tagged, error) {
	tagged := &Tagged{Source: src, Text: src.Text}
	if hasTags(was) {
		tagged.Tags = true
		return tagged, nil
	}
	inputs := Inputs(was, seed)
	read := 0
	for _, in := range inputs {
		var m *Misplaced
		if _, err := Render(was, in); err == nil {
			read++
		} else if errors.As(err, &m) {
			tagged.leave(m)
		}
	}
	if read == 0 && len(tagged.Untagged) > 0 {
		return nil, fmt.Errorf("%w: %w", ErrUntaggable, tagged.Untagged[0])
	}
	if err := tagged.tag(was, inputs, false); err == nil {
		return tagged, nil
	}
	if err := was.Exhausted(); err != nil {
		return nil, err
	}
	// Where one place of the template writes headers and parts of answers alike, its headers count.
	tagged.Text, tagged.Steps, tagged.Tested = src.Text, nil, 0
	if err := tagged.tag(was, inputs, true); err != nil {
		return nil, err
	}
	return tagged, nil
}

// leave notes an answer that is not found.
func (tagged *Tagged) leave(m *Misplaced) {
	at, known := slices.BinarySearchFunc(tagged.Untagged, m, func(a, b *Misplaced) int {
		return cmp.Compare(a.Line, b.Line)
	})
	if !known {
		tagged.Untagged = slices.Insert(tagged.Untagged, at, m)
	}
}

// tag places the tags, and proves them.
func (tagged *Tagged) tag(was *engine.Template, inputs []chattemplate.Input, loose bool) error {
	src := tagged.Source
	for round := 0; ; round++ {
		t, err := compile(src, tagged.Text)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrUntaggable, err)
		}
		p, err := newPlan(t, inputs, loose)
		if err != nil {
			return err
		}
		left := p.mixed()
		if len(left) == 0 {
			p.place(p.Body, len(p.Text))
			if len(p.edits) == 0 {
				if len(tagged.Untagged) > 0 {
					return fmt.Errorf("%w: %w", ErrUntaggable, tagged.Untagged[0])
				}
				return fmt.Errorf("%w: no conversation shows the model's text", ErrUntaggable)
			}
			tagged.step(p.edits)
			break
		}
		ok := p.split() || p.byRole(p.Body, "")
		for i := 0; !ok && i < len(left); i++ {
			var e edit.Edit
			if e, ok = p.cutOut(left[i], p.parts[left[i]], framed(was).Header); ok {
				p.edits = []edit.Edit{e}
			}
		}
		if !ok || round == maxRounds {
			span := left[0].Print
			at := t.ChatTemplate().Source.Position(span.From)
			return fmt.Errorf("%w: the text that is written at line %d is in part the model's, "+
				"and cannot be divided: %.80q", ErrUntaggable, at.Line,
				p.Text[span.From:span.To])
		}
		tagged.step(p.edits)
	}
	return tagged.prove(was, inputs, loose)
}

// step makes edits.
func (tagged *Tagged) step(edits []edit.Edit) {
	text, made := edit.Apply(tagged.Text, edits...)
	tagged.Text, tagged.Steps = text, append(tagged.Steps, made)
}

// Mended returns the tagged template as package fix has it, which prints the diff and writes files.
func (tagged *Tagged) Mended() *fix.Mended {
	return &fix.Mended{Source: tagged.Source, Text: tagged.Text, Steps: tagged.Steps}
}

// bytesPerStep is how many bytes of a template that is read count as a step of a render.
const bytesPerStep = 32

// compile compiles another text of a template, within the limits of the template and with the steps
// that are left to it. The reading of the text takes steps too.
func compile(src subject.Source, text string) (*engine.Template, error) {
	was, err := src.Compile()
	if err != nil {
		return nil, err
	}
	was.ChatTemplate().Budget.Spend(int64(len(text) / bytesPerStep))
	if err := was.Exhausted(); err != nil {
		return nil, err
	}
	return src.WithText(text).Compile()
}

// hasTags reports whether a template has tags.
func hasTags(t *engine.Template) bool {
	m, err := marksOf(t)
	return err == nil && len(m.tagged) > 0
}

// prove renders every conversation with and without tags, with and without a generation prompt, and
// compares the tags' marks with provenance.
func (g *Tagged) prove(was *engine.Template, inputs []chattemplate.Input, loose bool) error {
	is, err := compile(g.Source, g.Text)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUntaggable, err)
	}
	marks, err := marksOf(is)
	if err != nil {
		return err
	}
	for i, in := range inputs {
		for _, generate := range []bool{false, true} {
			in.Generate = generate
			want, wantErr := was.ChatTemplate().Render(in)
			got, gotErr := is.ChatTemplate().Render(in)
			if (wantErr == nil) != (gotErr == nil) || got != want {
				return fmt.Errorf("%w: conversation %d renders "+
					"differently with them", ErrUntaggable, i)
			}
			if wantErr == nil {
				g.Tested++
			}
		}
		in.Generate = false
		r, err := Render(was, in)
		if err != nil {
			continue
		}
		if loose {
			r.Held = append(r.Held, r.Headers...)
		}
		marked, err := marks.of(in)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrUntaggable, err)
		}
		if loose {
			g.noteHeaders(was, r, marked)
		}
		if !r.matches(marked) {
			return fmt.Errorf("%w: in conversation %d they mark %v, and the model writes %v of %q",
				ErrUntaggable, i, marked, r.Written, r.String)
		}
	}
	return nil
}

// noteHeaders notes the lines that write the headers that spans mark.
func (g *Tagged) noteHeaders(t *engine.Template, r *Rendering, marked []Span) {
	for _, h := range r.Headers {
		for _, s := range marked {
			if s.From >= h.To || s.To <= h.From {
				continue
			}
			w, _ := r.Trace.PrintAt(max(s.From, h.From))
			line := t.ChatTemplate().Source.Position(w.Off).Line
			if at, known := slices.BinarySearch(g.Headers, line); !known {
				g.Headers = slices.Insert(g.Headers, at, line)
			}
		}
	}
}

// matches reports whether spans are the model's text, with or without the part that the generation
// prompt has already.
func (r *Rendering) matches(marked []Span) bool {
	const yes, either = 1, 2
	want := make([]byte, len(r.String))
	fill := func(spans []Span, v byte) {
		for _, s := range spans {
			for i := s.From; i < s.To; i++ {
				want[i] = v
			}
		}
	}
	fill(r.Written, yes)
	fill(r.Held, either)
	got := make([]bool, len(r.String))
	for _, s := range marked {
		for i := s.From; i < s.To; i++ {
			got[i] = true
		}
	}
	for i := range want {
		if want[i] != either && got[i] != (want[i] == yes) {
			return false
		}
	}
	return true
}

// marks are the tags of a template.
type marks struct {
	t      *engine.Template
	tagged []edit.Span // in order; they do not overlap
}

// marksOf reads the tags of a template.
func marksOf(t *engine.Template) (*marks, error) {
	tree, err := edit.Parse(t.ChatTemplate().Source)
	if err != nil {
		return nil, err
	}
	m := &marks{t: t}
	for s := range within(tree.Body) {
		n := len(m.tagged)
		if s.Is(edit.Generation) && (n == 0 || m.tagged[n-1].To <= s.From) {
			m.tagged = append(m.tagged, s.Span)
		}
	}
	return m, nil
}

// of returns the spans that the tags mark in a conversation.
func (m *marks) of(in chattemplate.Input) (out []Span, err error) {
	obs, err := m.t.ChatTemplate().Observe(in)
	if err != nil {
		return nil, err
	}
	for off := 0; off < len(obs.String); {
		w, ok := obs.Trace.PrintAt(off)
		if !ok {
			break
		}
		i, _ := slices.BinarySearchFunc(m.tagged, w.Off, func(s edit.Span, off int) int {
			return cmp.Compare(s.To, off+1)
		})
		if i < len(m.tagged) && m.tagged[i].From <= w.Off {
			if n := len(out); n > 0 && out[n-1].To == w.From {
				out[n-1].To = w.To
			} else {
				out = append(out, Span{w.From, w.To})
			}
		}
		off = w.To
	}
	return out, nil
}
