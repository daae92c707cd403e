// Package hostile attacks every reader of foreign text, and demands that each attack ends within
// its limit with a clear error or at a cost in proportion to its size. docs/internals/attacks.md
// lists the attacks; `go test -v` shows the cost of each.
package hostile

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/goassay/assay/harness/testkit/measure/heap"
)

// attack is one attack.
type attack struct {
	name string
	want string // a part of the error; empty: no error
	run  func(t *testing.T) error
}

// maxHeap bounds the memory that an attack may add to the heap, in MiB; most stay far below.
const maxHeap = 512

// hang is when an attack counts as one that does not end. Nothing that is well takes a twentieth of
// it.
const hang = 4 * time.Minute

// attacks runs attacks and shows the peak of the heap and the bytes allocated in all.
func attacks(t *testing.T, all []attack) {
	manual := document(t)
	for _, a := range all {
		t.Run(a.name, func(t *testing.T) {
			if !strings.Contains(manual, "`"+t.Name()+"`") {
				t.Errorf("docs/internals/attacks.md does not list %s", t.Name())
			}
			goroutines := runtime.NumGoroutine()
			var err error
			peak, total := heap.Growth(func() {
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
			}, math.MaxUint64, nil)
			peak, total = peak>>20, total>>20
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
	text, err := os.ReadFile("../../../docs/internals/attacks.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
