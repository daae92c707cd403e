package fix

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja/edit"
	"github.com/goassay/assay/engine/ordered"
)

// untold returns a conversation without the instructions that it begins with, and the text of the
// message that follows them; false where it does not begin so.
func untold(in chattemplate.Input) (out chattemplate.Input, text string, ok bool) {
	first := slices.IndexFunc(in.Messages, func(msg ordered.Value) bool {
		role := msg.At("role").Text()
		return role != "system" && role != "developer"
	})
	if first < 1 || in.Messages[0].At("role").Text() != "system" {
		return in, "", false
	}
	in.Messages = in.Messages[first:]
	text = strings.Join(words(in.Messages[0]), "")
	return in, text, text != ""
}

// asUntold returns the prompt that a conversation with instructions has where all from the first
// question on is written as without them. Instructions say nothing about later turns, so a
// template whose prompt differs there miscounts the messages.
func asUntold(st *state, in chattemplate.Input, text string) (want string, ok bool) {
	other, question, ok := untold(in)
	if !ok || strings.Count(text, question) != 1 {
		return "", false
	}
	is := st.render(other)
	if is.err != nil || strings.Count(is.text, question) != 1 {
		return "", false
	}
	_, rest, _ := strings.Cut(is.text, question)
	return text[:strings.Index(text, question)] + question + rest, true
}

// contextFaults are conversations that are written otherwise after instructions.
func contextFaults(m *mender) []fault {
	var faults []fault
	thinking := spoken(true, func(msg ordered.Value) ordered.Value {
		return msg.With("reasoning_content", ordered.Str("Wabuna."))
	})
	for _, b := range m.bases {
		for _, in := range []chattemplate.Input{b.in, thinking(b.in)} {
			if in.Messages[0].At("role").Text() != "system" {
				in.Messages = append([]ordered.Value{chat.System("Velano.")}, in.Messages...)
			}
			in = formed(in, m.form)
			text, err := m.now.t.Render(in)
			if want, ok := asUntold(m.now, in, text); err == nil && ok && want != text {
				faults = append(faults, fault{name: b.name, in: in, wants: []string{want}})
			}
		}
	}
	for i, k := range m.good {
		if want, ok := asUntold(m.now, k.in, k.text); ok && want != k.text {
			m.good[i].or = want
		}
	}
	return faults
}

// ofSlice returns edits that read the part of a list that a loop goes through in place of the whole
// list, after the statements that take the part.
func ofSlice(a *atlas) [][]Edit {
	var all [][]Edit
	for loop := range a.All() {
		if !loop.Is(edit.For) || !loop.X.Is(edit.Name) {
			continue
		}
		list, from := a.sliced(loop.X.Word)
		var after, inside []Edit
		for r := range a.Flow().Reads(list) {
			if list == "" || r.Off() < from {
				continue
			}
			e := Edit{From: r.Off(), To: r.Off() + len(list), Text: loop.X.Word}
			all = append(all, []Edit{e})
			after = append(after, e)
			if loop.Covers(e.From) {
				inside = append(inside, e)
			}
		}
		all = append(all, edit.Sorted(inside), edit.Sorted(after))
	}
	return slices.DeleteFunc(all, func(edits []Edit) bool { return len(edits) == 0 })
}

// sliced returns the list that a variable has a slice of, and where the last statement ends that
// takes it; "" where it has none.
func (a *atlas) sliced(part string) (list string, from int) {
	for r := range a.Flow().Definitions(part) {
		value := a.Of(r.Value)
		if !value.IsExpr() {
			continue
		}
		from = max(from, value.To)
		if value.Is(edit.Item) && value.Y.Is(edit.Cut) && value.X.Is(edit.Name) {
			list = value.X.Word
		}
	}
	return list, from
}
