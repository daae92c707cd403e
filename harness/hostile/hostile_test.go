// Package hostile attacks every reader of foreign text, and demands that each attack ends within
// its limit with a clear error or at a cost in proportion to its size. docs/untrusted.md lists the
// attacks; `go test -v` shows what each took.
package hostile

import (
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"
)

// attack is one attack.
type attack struct {
	name string
	want string // what the error says; empty: there is none
	run  func(t *testing.T) error
}

// maxHeap bounds what an attack may add to the heap, in MiB; most stay far below.
const maxHeap = 512

// hang is when an attack counts as one that does not end. Nothing that is well takes a twentieth of
// it.
const hang = 4 * time.Minute

// attacks runs attacks and shows the peak of the heap and what was allocated in all.
func attacks(t *testing.T, all []attack) {
	manual := document(t)
	for _, a := range all {
		t.Run(a.name, func(t *testing.T) {
			if !strings.Contains(manual, "`"+t.Name()+"`") {
				t.Errorf("docs/untrusted.md does not list %s", t.Name())
			}
			goroutines := runtime.NumGoroutine()
			var err error
			peak, total := heap(func() {
				done := make(chan bool)
				go func() {
					defer close(done)
					err = a.run(t)
				}()
				select {
				case <-done:
				case <-time.After(hang):
					panic(t.Name() + " does not end")
				}
			})
			t.Logf("peak %d MiB, %d MiB in all, %v", peak, total, first(err))
			switch {
			case a.want == "" && err != nil:
				t.Errorf("failed: %v", err)
			case a.want != "" && (err == nil || !strings.Contains(err.Error(), a.want)):
				t.Errorf("got the error %v, want one with %q", err, a.want)
			case err != nil && len(err.Error()) > 10_000:
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			if peak > maxHeap {
				t.Errorf("the heap grew by %d MiB, more than %d", peak, maxHeap)
			}
			for i := 0; runtime.NumGoroutine() > goroutines && i < 100; i++ {
				time.Sleep(time.Millisecond)
			}
			if n := runtime.NumGoroutine(); n > goroutines {
				t.Errorf("%d goroutines are left behind", n-goroutines)
			}
		})
	}
}

// heap runs something and returns the peak by which the live heap grew and what was allocated in
// all, in MiB.
func heap(run func()) (peak, total uint64) {
	runtime.GC()
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/gc/heap/allocs:bytes"}}
	read := func() (uint64, uint64) {
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
			case <-time.After(2 * time.Millisecond):
				if live, _ := read(); live > top {
					top = live
				}
			}
		}
	}()
	run()
	close(stop)
	<-stopped
	live, all := read()
	return (max(top, live) - base) >> 20, (all - allocated) >> 20
}

func first(err error) string {
	if err == nil {
		return "no error"
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Sprintf("%.160s", line)
}

// document is the page that lists the attacks.
func document(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/untrusted.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
