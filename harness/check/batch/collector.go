package batch

import "runtime/debug"

// SetCollector sets the garbage collector of the process as the command assay does, for tests and
// measurements of the command's work too, and returns a function that sets it back. The command's
// runs are short and their heaps small: memory is cheaper there than time. A collection begins when
// the heap is five times what the last one left, in place of twice.
func SetCollector() (back func()) {
	was := debug.SetGCPercent(400)
	return func() { debug.SetGCPercent(was) }
}
