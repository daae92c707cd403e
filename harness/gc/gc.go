// Package gc sets Go's garbage collector as the command assay does, for tests and measurements of
// the command's works too.
//
// # Model
//
// The command's runs are short and their heaps small: memory is cheaper there than time. A
// collection begins when the heap is five times what the last one left, in place of twice.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package gc

import "runtime/debug"

// Set sets the collector of the process, and returns a function that sets it back.
func Set() (back func()) {
	was := debug.SetGCPercent(400)
	return func() { debug.SetGCPercent(was) }
}
