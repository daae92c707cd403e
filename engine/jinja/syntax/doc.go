// Package syntax reads the source of a template into a tree: lexer, parser, tree and its text.
//
// # Terminology
//
// A template is text with three kinds of tags: {{ expression }}, {% statement %} and {# comment #}.
// A tag strips the white space beside it where it carries a minus sign. The environment is the one
// chat templates are written for: the line feed after a statement or comment goes (trim_blocks),
// and so does the indentation before one that stands first on its line (lstrip_blocks), unless the
// tag carries a plus sign; one line feed at the end of the template goes; CR LF and CR count as LF.
// There are the statements of jinja2 3.1, break, continue and generation; no line statements.
//
// # Model
//
// The lexer runs on demand, one token ahead of the parser (two where it must look), so that the
// first fault of either is the one reported. [Parse] takes time linear in the source. Names are not
// resolved here, and filters and tests are not checked: a tree holds the source as it is written.
//
// # Limits
//
// A source of more than [MaxSource] bytes, or one that is no UTF-8, is an error. Nesting deeper
// than [MaxDepth] and more than [MaxOperators] operators in one tag are errors, so that recursion
// over a tree is bounded.
//
// # Errors
//
// A fault is a [source.Error] whose cause is a [Class], the name of the exception that Python's
// jinja2 raises for it, and whose text is jinja2's where jinja2 has one.
//
// The language is that of jinja2 3.1.2 (lexer.py, parser.py).
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package syntax

import "strings"

// Limits of a tree.
const (
	MaxSource = 16 << 20 // bytes of a template
	MaxDepth  = 200      // nested statements, brackets, calls and unary operators, in levels
	// operators, look-ups, calls and filters in one tag; each may add a level to the tree
	MaxOperators = 2_000
)

// Class is the name of a Python exception, as the cause of an error.
type Class string

// The classes of errors in the source.
const (
	SyntaxError    Class = "TemplateSyntaxError"
	AssertionError Class = "TemplateAssertionError"
)

func (c Class) Error() string { return string(c) }

// quote spells a word of a message as Python's repr does.
func quote(s string) string {
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		return `"` + s + `"`
	}
	return "'" + strings.ReplaceAll(s, "'", `\'`) + "'"
}
