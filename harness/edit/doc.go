// Package edit changes templates.
//
// # Contents
//
// fix proves patches for the faults that need no judgement, train puts generation tags into
// templates, and mutate makes the mistakes of authors, to measure the checks.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package edit
