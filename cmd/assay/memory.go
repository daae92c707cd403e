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
// from five eighths of it on; where more than three quarters are in use it is run at once. Where
// objects still take five eighths, the command reports that and ends, before the system ends
// it without a word: what is left is for what the command takes meanwhile. Files that it was about
// to write are not there.
func (c *call) bounded(limit int64) (stop func()) {
	objects := limit / 8 * 5
	was := debug.SetMemoryLimit(objects)
	done := make(chan struct{})
	go func() {
		used := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"},
			{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		pause := 5 * time.Millisecond
		for {
			select {
			case <-done:
				return
			case <-time.After(pause):
			}
			pause = 5 * time.Millisecond
			metrics.Read(used)
			if used[1].Value.Uint64()-used[2].Value.Uint64() <= uint64(limit/4*3) {
				continue
			}
			// On a busy machine the collector may come late: only what it leaves counts.
			runtime.GC()
			if metrics.Read(used); used[0].Value.Uint64() > uint64(objects) {
				fmt.Fprintf(c.rawErr, memoryNote, c.command.CommandPath(), limit>>20, limit>>19)
				c.end(exitUsage)
				return
			}
			pause = 100 * time.Millisecond // a collection has just been
		}
	}()
	return func() {
		close(done)
		debug.SetMemoryLimit(was)
	}
}
