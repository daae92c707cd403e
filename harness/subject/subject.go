// Package subject loads what is tested: single templates, the corpus with its families, and the vendors' templates.
//
// # Terminology
//
// A family is one output format in full. Its own template is <family>/template.jinja of the corpus; its vendor templates are
// those that families.txt lists, files of a directory outside the repository whose SHA-256 vendor.lock pins.
//
// # Determinism
//
// Every template of a run sees the same clock, [Now], and the same special tokens, so that a prompt does not depend on when
// or where it was rendered.
//
// # Errors
//
// A list that does not read is a positioned error ([source.Error]); a vendor template whose bytes are not those of
// vendor.lock is an error that names both hashes.
package subject

import "time"

// The special tokens of templates under test.
const (
	BOS = "<s>"
	EOS = "</s>"
)

// Now is the clock of templates under test.
func Now() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// Later is a clock that differs from [Now] in every field.
func Later() time.Time { return time.Date(2027, 11, 30, 16, 17, 18, 0, time.UTC) }
