// Package subject opens the templates that are tested, as people name them: files, standard input,
// model folders and model files.
//
// # Determinism
//
// Every template of a run sees the same clock, [Now], and the same special tokens, so that a prompt
// does not depend on when or where it was rendered.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
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
