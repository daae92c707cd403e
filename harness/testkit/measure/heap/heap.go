// Package heap measures how much memory a piece of work takes, for the tests of package hostile and
// the program that they run.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package heap

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// every is how often the live heap is looked at.
const every = 2 * time.Millisecond

// Growth runs something and returns the largest growth of the live heap and the bytes allocated in
// all. It calls over, from another goroutine, when the live heap has more than most bytes.
func Growth(run func(), most uint64, over func()) (peak, total uint64) {
	runtime.GC()
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/gc/heap/allocs:bytes"},
	}
	read := func() (live, allocated uint64) {
		metrics.Read(samples)
		return samples[0].Value.Uint64(), samples[1].Value.Uint64()
	}
	base, allocated := read()
	top := base
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(every):
				live, _ := read()
				if top = max(top, live); top > most {
					over()
				}
			}
		}
	}()
	run()
	close(stop)
	<-stopped
	live, all := read()
	return max(top, live) - base, all - allocated
}
