package fix

import (
	"github.com/goassay/assay/engine/jinja/edit"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/repair"
	"github.com/goassay/assay/harness/check/rule"
)

// names mends the names of filters, tests and functions that the language does not have and has
// under another name. A request that rendered before renders as before.
func (m *mender) names() {
	if m.options.Only != nil && !m.wanted(kinds[0]) {
		return
	}
	text := m.result.Text
	n, err := repair.NamesIn(source.New(m.result.Source.Name, text))
	if err != nil {
		return // nothing is known of a text that is no template
	}
	edits := n.Edits
	mended, _ := edit.Apply(text, edits...)
	was, err := m.source(text).Compile()
	if _, still := m.source(mended).Compile(); still != nil {
		for _, u := range n.Unknown {
			m.leave(u.Off, u.What+" is not in the language, and nothing in it does the same")
		}
		return
	}
	if edits == nil || !edit.Apart(edits) {
		return
	}
	if err == nil { // the unknown name stands where it is rarely reached
		m.original = was.ChatTemplate()
		st, err := m.compiled(text)
		if err != nil {
			return
		}
		m.now = st
		m.survey(was)
		next, err := m.compiled(mended)
		if err != nil || !m.keeps(next) {
			m.leave(edits[0].From, "another name changes a prompt that was right")
			return
		}
		m.good, m.bases = nil, nil
	}
	m.result.Patches = append(m.result.Patches,
		Patch{Kind: UnknownName, Before: text, After: mended, Cured: len(n.Mended)})
	m.result.Steps = append(m.result.Steps, edits)
	m.result.Text = mended
}

// leave lists a name at a place of the text that is not mended.
func (m *mender) leave(off int, reason string) {
	pos := source.New("", m.result.Text).Position(off)
	at := rule.Place{File: m.result.Source.File, Line: pos.Line, Col: pos.Col}
	m.result.Left = append(m.result.Left, Left{UnknownName, at, reason})
}
