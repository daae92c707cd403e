package gbnf

import (
	"fmt"
	"strings"
)

// Refusal returns the place where a grammar stops taking a text, and the elements that it expects
// there; "" if the text is a sentence.
func (g *Grammar) Refusal(text string) (string, error) {
	m, err := NewMatcher(g)
	if err != nil {
		return "", err
	}
	return m.Refusal(text)
}

// Refusal is [Grammar.Refusal] with a matcher of the grammar, which it resets.
func (m *Matcher) Refusal(text string) (string, error) {
	m.Reset()
	m.AcceptString(text)
	if m.Err() != nil || m.Done() {
		return "", m.Err()
	}
	at := len(text)
	if m.Dead() {
		at = m.Offset()
		m.Reset()
		m.AcceptString(text[:at])
	}
	return fmt.Sprintf("the grammar takes %q\nand not "+
		"%q\nit expects %s", text[:at], text[at:], strings.Join(m.Expected(), " or ")), nil
}
