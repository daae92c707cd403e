package codegen

import (
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/format"
)

// primed returns the part of a prefill that an answer's parser reads first: the text that decides
// in which state the answer begins, and the text that may reach the message (E29). That is
//
//   - reasoning that the prompt leaves open, from its opener on;
//   - the opener of content or of a call, or the beginning of one, that nothing closes;
//   - the markers of reasoning that the prompt closes, without the text between them; nothing where
//     reasoning is kept in the content.
//
// All else is the prompt's own text, which the model did not write. A message that is continued is
// read from its first byte on; where reasoning is kept, after an empty block of it.
func (t *turn) primed(prefill string) string {
	if t.o.Continue != chat.ContinueNone {
		if t.keepsReasoning() {
			prefill = strings.TrimPrefix(prefill, t.f.Reasoning.Empty)
		}
		return prefill
	}
	if len(t.f.Routes) > 0 {
		return t.primedRoute(prefill)
	}
	r := &t.f.Reasoning
	if t.leavesOpen(prefill) {
		return prefill[max(0, lastOf(prefill, variants(r.Open.Text))):]
	}
	closed := ""
	if r.Close.Text != "" {
		for _, text := range variants(r.Close.Text) {
			if i := strings.LastIndex(prefill, text); i >= 0 {
				prefill, closed = prefill[i+len(text):], r.Open.Text+text
			}
		}
	}
	if t.keepsReasoning() {
		closed = ""
	}
	return closed + t.begun(prefill)
}

// begun returns the end of a text that begins content or a call, or a marker of theirs; empty if
// there is none.
func (t *turn) begun(text string) string {
	bare := strings.TrimRight(text, format.Space)
	openers := []string{t.f.Content.Open.Text}
	for _, s := range t.calls {
		openers = append(openers, s.Section.Open.Text, s.Call.Open.Text, headLiteral(s.Calls).Text)
	}
	if i := lastOf(bare, openers); i >= 0 {
		if close := t.f.Content.Close.Text; close == "" || !strings.Contains(bare[i:], close) {
			return text[i:]
		}
	}
	for i := range bare {
		for _, open := range openers {
			if strings.HasPrefix(open, bare[i:]) {
				return text[i:]
			}
		}
	}
	return ""
}

// lastOf returns where the last of some texts begins in s, -1 if none is there.
func lastOf(s string, texts []string) int {
	at := -1
	for _, text := range texts {
		if text != "" {
			at = max(at, strings.LastIndex(s, text))
		}
	}
	return at
}

// primedRoute returns the end of a prefill, from the start or the head of its last part on, where
// that part is open.
func (t *turn) primedRoute(prefill string) string {
	for i := range prefill {
		for k := range t.f.Routes {
			if r := &t.f.Routes[k]; headOf(r.Head, prefill[i:]) ||
				strings.HasPrefix(prefill[i:], r.Start.Text) && r.Start.Text != "" {
				return prefill[i:]
			}
		}
	}
	return ""
}
