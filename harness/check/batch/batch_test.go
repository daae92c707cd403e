package batch_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/goassay/assay/harness/check/batch"
)

// TestOrder demands every result in order, with a bounded number in flight and no goroutine left.
func TestOrder(t *testing.T) {
	before := runtime.NumGoroutine()
	const n = 20_000
	begun, most := 0, 0
	var taken atomic.Int64
	next := func() (int, error) {
		if begun == n {
			return 0, io.EOF
		}
		begun++
		most = max(most, begun-int(taken.Load()))
		return begun - 1, nil
	}
	want := 0
	err := batch.Run(context.Background(), next, func(i int) int {
		if i%7 == 0 {
			runtime.Gosched()
		}
		return 2 * i
	}, func(got int) {
		if got != 2*want {
			t.Fatalf("got %d, want %d", got, 2*want)
		}
		want++
		taken.Add(1)
	})
	if err != nil || want != n {
		t.Errorf("%d results, %v", want, err)
	}
	if limit := 70 * runtime.GOMAXPROCS(0); most > limit {
		t.Errorf("%d in flight, more than %d", most, limit)
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines are left", after-before)
	}
}

// TestEnds demands that work which was begun is finished when the context ends or the work breaks
// off.
func TestEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	err := batch.Run(ctx, func() (int, error) { return 1, nil }, func(i int) int { return i },
		func(int) {
			if n++; n == 100 {
				cancel()
			}
		})
	if !errors.Is(err, context.Canceled) || n < 100 {
		t.Errorf("%d results, %v", n, err)
	}
	broken := errors.New("broken")
	left, got := 3, 0
	err = batch.Run(context.Background(), func() (int, error) {
		if left--; left < 0 {
			return 0, broken
		}
		return 1, nil
	}, func(i int) int { return i }, func(i int) { got += i })
	if !errors.Is(err, broken) || got != 3 {
		t.Errorf("%d results, %v", got, err)
	}
}
