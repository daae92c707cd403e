package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// memoryNote is a command's last message where it ends for want of memory.
const memoryNote = "%s: needs more than the %d MiB that --limit memory allows; " +
	"nothing is judged. " +
	"The input asks for too much, or the limit is too low: memory=%dM is twice as much\n"

// bounded holds the memory of a command as a whole to a limit in bytes. The collector works harder
// from three quarters of it on; where that does not help, the command reports that and ends, before
// the system ends it without a word. Files that it was about to write are not there.
func (c *call) bounded(limit int64) (stop func()) {
	was := debug.SetMemoryLimit(limit / 4 * 3)
	done := make(chan struct{})
	go func() {
		heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for {
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
			}
			if metrics.Read(heap); heap[0].Value.Uint64() <= uint64(limit) {
				continue
			}
			// On a busy machine the collector may come late: only what it leaves counts.
			runtime.GC()
			if metrics.Read(heap); heap[0].Value.Uint64() > uint64(limit) {
				fmt.Fprintf(c.rawErr, memoryNote, c.command.CommandPath(), limit>>20, limit>>19)
				c.end(exitUsage)
				return
			}
		}
	}()
	return func() {
		close(done)
		debug.SetMemoryLimit(was)
	}
}
