package flow

import "github.com/goassay/assay/engine/jinja/syntax"

// Edit puts a text in the place of a stretch of a template.
type Edit = syntax.Edit

// Apply makes edits of a template, given in any order, and returns those that it has made, in
// theirs. Of several at one place the order is kept; one that begins inside another is left out.
func Apply(text string, edits ...Edit) (string, []Edit) { return syntax.Apply(text, edits...) }
