package edit

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// Span is a stretch of a template: the bytes from From on, up to To.
type Span struct{ From, To int }

// Edit puts a text in the place of a stretch of a template.
type Edit struct {
	From, To int
	Text     string
}

// Replaced returns the edit that puts a text in place of the span.
func (s Span) Replaced(text string) Edit { return Edit{s.From, s.To, text} }

// Covers reports whether a span has an offset.
func (s Span) Covers(off int) bool { return s.From <= off && off < s.To }

// Apply makes edits of a text, given in any order, and returns those that it has made, in theirs.
// Of several at one place the order is kept; one that begins inside another is left out.
func Apply(text string, edits ...Edit) (string, []Edit) {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Compare(a.From, b.From) })
	var b strings.Builder
	at := 0
	edits = slices.DeleteFunc(edits, func(e Edit) bool {
		if e.From < at {
			return true
		}
		b.WriteString(text[at:e.From])
		b.WriteString(e.Text)
		at = e.To
		return false
	})
	b.WriteString(text[at:])
	return b.String(), edits
}

// Insert returns the edit that puts a text in at an offset.
func Insert(at int, text string) Edit { return Edit{From: at, To: at, Text: text} }

// Sorted sorts edits by their places.
func Sorted(edits []Edit) []Edit {
	slices.SortStableFunc(edits, func(a, b Edit) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return edits
}

// Apart reports whether edits, sorted, do not overlap.
func Apart(edits []Edit) bool {
	for i := 1; i < len(edits); i++ {
		if edits[i].From < edits[i-1].To {
			return false
		}
	}
	return true
}

// Quote spells a text as a literal between marks.
func Quote(text, mark string) string {
	return mark + strings.NewReplacer(`\`, `\\`, mark, `\`+mark, "\n", `\n`, "\t", `\t`, "\r", `\r`).
		Replace(text) + mark
}

// Slot is what may stand where an expression does without parentheses around it.
type Slot uint8

// The slots, each of which takes what those before it take.
const (
	Chained Slot = iota // a primary that no filter is put on
	Operand             // a primary, or anything in parentheses
	Tested              // anything but an inline if
	Whole               // anything
)

// Slot returns the slot that an expression stands in.
func (n *Node) Slot() Slot {
	switch up := n.Up; up.Kind {
	case Output, Set, With, List, Tuple, Dict:
		return Whole
	case If, For:
		return Tested
	case Member, Item:
		return Chained
	case Call, Filter, Test:
		if up.X != n {
			return Whole
		}
	}
	return Operand
}

// Around returns the edits that put a text before an expression and one after it.
func (n *Node) Around(before, after string) []Edit {
	return []Edit{Insert(n.From, before), Insert(n.To, after)}
}

// enclosed does so, with parentheses around both where the slot takes less than a given one.
func (n *Node) enclosed(needs Slot, before, after string) []Edit {
	if n.Slot() < needs {
		before, after = "("+before, after+")"
	}
	return n.Around(before, after)
}

// Or returns the edits that give a value where an expression is false.
func (n *Node) Or(value string) []Edit {
	if n.Kind == Choice && n.Source[0] != '(' { // the operator would bind to its end alone
		return n.enclosed(Tested, "(", ") or "+value)
	}
	return n.enclosed(Tested, "", " or "+value)
}

// And returns the edits that ask for more than an expression does.
func (n *Node) And(more string) []Edit { return n.enclosed(Tested, "", " and "+more) }

// Else returns the edits that write another value instead: "value if condition".
func (n *Node) Else(value string) []Edit { return n.enclosed(Whole, value+" else ", "") }

// Through returns the edits that put an expression through a filter.
func (n *Node) Through(filter string) []Edit {
	before, after := "", "|"+filter
	switch n.Kind {
	case Name, Member, Item, Call, Filter, List, Dict:
	default:
		if n.Source[0] != '(' {
			before, after = "(", ")"+after
		}
	}
	return n.enclosed(Operand, before, after)
}

// Merge joins the edits around an expression, the first ones outside.
func Merge(outer, inner []Edit) []Edit {
	return []Edit{Insert(outer[0].From, outer[0].Text+inner[0].Text),
		Insert(inner[1].From, inner[1].Text+outer[1].Text)}
}

// Unused returns a name that does not occur in the template.
func (t *Template) Unused(name string) string {
	for regexp.MustCompile(`\b` + name + `\b`).MatchString(t.Text) {
		name += "_"
	}
	return name
}

// Sign returns the sign with which a tag at a place treats the white space before it; "+" where
// there is none.
func (t *Template) Sign(at int) string {
	rest := t.Text[at:]
	switch {
	case len(rest) < 2 || rest[0] != '{' || !strings.Contains("{%#", rest[1:2]):
		return "+"
	case len(rest) > 2 && rest[2] == '-':
		return "-"
	case rest[1] == '{' || len(rest) > 2 && rest[2] == '+':
		return "+"
	}
	return ""
}

// Like returns a tag that strips the white space before it only if the tag at the offset, before
// which it is put, does so.
func (t *Template) Like(at int, tag string) string {
	if t.Sign(at) == "-" {
		return tag
	}
	return strings.Replace(strings.Replace(tag, "{{-", "{{", 1), "{%-", "{%", 1)
}

// Indent returns the line feed and the white space that stand before a tag which strips them; ""
// where it does not, or other text stands there.
func (t *Template) Indent(at int) string {
	line := t.Text[strings.LastIndexByte(t.Text[:at], '\n')+1 : at]
	if t.Sign(at) == "-" && strings.TrimSpace(line) == "" {
		return "\n" + line
	}
	return ""
}

// Guarded returns an edit that puts an if with a statement in it before the tag at an offset.
func (t *Template) Guarded(at int, condition, body string) Edit {
	open, indent := t.Like(at, "{%- if "+condition+" %}"), t.Indent(at)
	inner := ""
	if indent != "" {
		inner = indent + "    "
	}
	return Insert(at, open+inner+body+indent+"{%- endif %}"+indent)
}

// Signs returns the signs of a {{ tag }}.
func Signs(tag string) (left, right string) {
	if len(tag) > 2 && (tag[2] == '-' || tag[2] == '+') {
		left = tag[2:3]
	}
	if strings.HasSuffix(tag, "-}}") {
		right = "-"
	}
	return left, right
}
