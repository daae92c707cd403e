package fix

import (
	"errors"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/jinja/edit"
	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/source"
)

// state is the template after some edits.
type state struct {
	text string
	t    *chattemplate.Template
	from *state // that was edited
	step []Edit // of from's text, in its order

	parts *edit.Template
}

// parsed returns the parts of the text.
func (st *state) parsed() *edit.Template {
	if st.parts == nil {
		st.parts, _ = edit.Parse(st.t.Source) // it compiles
	}
	return st.parts
}

// moved returns where a place of a text stands after edits of it.
func moved(off int, edits []Edit) int {
	for _, e := range edits {
		if e.From <= off {
			off += len(e.Text) - (e.To - e.From)
		}
	}
	return off
}

// unseen returns the stretches of the text that a render does not get to: the bodies of conditions
// that did not hold, and of loops without a round. An edit there changes nothing of it.
func (st *state) unseen(in chattemplate.Input) (all []edit.Span) {
	var seen jinja.Coverage
	_, _ = st.t.Cover(in, &seen, nil) // if it fails, the branches up to there count
	missed := map[int]bool{}
	for i, site := range st.t.Sites() {
		missed[site.Off] = !seen.Reached(i, flow.True) && !seen.Reached(i, flow.Entered)
	}
	for n := range st.parsed().All() {
		if (n.Is(edit.If) || n.Is(edit.For)) && missed[n.Off] && len(n.Bodies[0]) > 0 {
			body := n.Bodies[0]
			all = append(all, edit.Span{From: body[0].From, To: body[len(body)-1].To})
		}
	}
	return all
}

// steps returns the edits from an earlier state to this one, the first one first.
func (st *state) steps(from *state) [][]Edit {
	var all [][]Edit
	for s := st; s != from; s = s.from {
		all = append(all, s.step)
	}
	slices.Reverse(all)
	return all
}

// without returns the state that the steps from an earlier one make when one of them is left out;
// false where a later one builds on it, or the result does not compile.
func (m *mender) without(from *state, steps [][]Edit, left int) (*state, bool) {
	st := from
	for i, step := range steps {
		if i == left {
			continue
		}
		if i > left {
			rebased := make([]Edit, len(step))
			for j, e := range step {
				// The steps between the two are in the places of both.
				off, ok := back(moves(steps, left, i), e)
				if !ok {
					return nil, false
				}
				rebased[j] = off
			}
			step = rebased
		}
		next, ok := m.apply(st, step)
		if !ok {
			return nil, false
		}
		st = next
	}
	return st, true
}

// moves returns the edits of a step in the places that they have after the steps up to another one.
func moves(steps [][]Edit, of, upTo int) []Edit {
	var all []Edit
	shift := 0
	for _, e := range steps[of] {
		// its text
		at := Edit{From: e.From + shift, To: e.From + shift + len(e.Text), Text: ""}
		shift += len(e.Text) - (e.To - e.From)
		for _, step := range steps[of+1 : upTo] {
			from, to := moved(at.From, step), moved(at.To, step)
			at.From, at.To = from, to
		}
		at.Text = strings.Repeat("x", e.To-e.From) // the expression that stood there
		all = append(all, at)
	}
	return all
}

// back returns an edit as it stands where other edits are undone; false where it touches them.
func back(undone []Edit, e Edit) (Edit, bool) {
	shift := 0
	for _, u := range undone {
		switch {
		case e.From >= u.To:
			shift += len(u.Text) - (u.To - u.From)
		case e.To <= u.From:
		default:
			return e, false
		}
	}
	e.From, e.To = e.From+shift, e.To+shift
	return e, true
}

// outcome is a render: the prompt, or where it failed.
type outcome struct {
	text string
	err  error
	off  int    // of the failure; -1: it has no place
	msg  string // of the failure
}

// render renders an input.
func (st *state) render(in chattemplate.Input) outcome {
	text, err := st.t.Render(in)
	o := outcome{text: text, err: err, off: -1}
	if err != nil {
		o.msg = err.Error()
		if at := (*source.Error)(nil); errors.As(err, &at) {
			o.off, o.msg = at.Off, at.Msg
		}
	}
	return o
}

// differs reports whether an input gives another prompt, or another error, with another template.
func (st *state) differs(other *state, in chattemplate.Input) bool {
	was, is := st.render(in), other.render(in)
	return was.text != is.text || (was.err == nil) != (is.err == nil) || was.msg != is.msg
}
