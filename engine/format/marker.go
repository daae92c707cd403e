package format

import "strings"

// Space holds the characters that count as white space beside a marker.
const Space = " \t\r\n"

// OpenBrackets and ShutBrackets are the characters between which a marker stands, such as <x>, [x]
// or ◁x▷: the ShutBracket at the same place closes an OpenBracket. Parentheses and braces are none,
// since calls, code and JSON are full of them.
const (
	OpenBrackets = "<[«‹◁◀⟨〈《【「『〔〖⟦❮＜［"
	ShutBrackets = ">]»›▷▶⟩〉》】」』〕〗⟧❯＞］"
)

// Mark splits a literal into its text and the white space at its edges. A literal of nothing but
// white space is all Before.
func Mark(literal string) Marker {
	text := strings.TrimLeft(literal, Space)
	m := Marker{Before: literal[:len(literal)-len(text)]}
	m.Text = strings.TrimRight(text, Space)
	m.After = text[len(m.Text):]
	return m
}

// Full returns the literal as the template writes it.
func (m Marker) Full() string { return m.Before + m.Text + m.After }

// IsZero reports whether there is no marker.
func (m Marker) IsZero() bool { return m == Marker{} }

// IsZero reports whether neither marker was found.
func (p Pair) IsZero() bool { return p.Open.IsZero() && p.Close.IsZero() }
