package stat

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

func near(a, b float64) bool { return math.Abs(a-b) < 5e-4 }

// singles are n requests with one trial each, y of which succeeded.
func singles(y, n int) []Cell {
	cells := make([]Cell, n)
	for i := range cells {
		cells[i].N = 1
		if i < y {
			cells[i].Y = 1
		}
	}
	return cells
}

// TestWilson compares with Newcombe's table of Wilson's interval (Statistics in Medicine 17:857,
// table I, method 3), whose trials are independent.
func TestWilson(t *testing.T) {
	z := Quantile(0.975)
	for _, c := range []struct {
		y, n      int
		low, high float64
	}{{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611},
		{1, 29, 0.0061, 0.1718}} {
		got := wilson(float64(c.y)/float64(c.n), float64(c.n), z)
		if !near(got.Low, c.low) || !near(got.High, c.high) {
			t.Errorf("%d of %d: %+v, expected %g to %g", c.y, c.n, got, c.low, c.high)
		}
		if got, _ := Share(singles(c.y, c.n), z); !(math.Abs(got.Low-c.low) < 5e-3 &&
			math.Abs(got.High-c.high) < 5e-3) {
			t.Errorf("as requests: %+v, expected %g to %g", got, c.low, c.high)
		}
	}
}

// TestClusters demands that answers which repeat each other count as one.
func TestClusters(t *testing.T) {
	z := Quantile(0.975)
	one, _ := Share(singles(30, 100), z)
	ten := singles(30, 100)
	for i := range ten {
		ten[i].Y, ten[i].N = ten[i].Y*10, 10
	}
	copies, _ := Share(ten, z)
	if !near(one.Low, copies.Low) || !near(one.High, copies.High) {
		t.Errorf("%+v, and with each answer ten times %+v", one, copies)
	}
	if _, ok := Share(make([]Cell, 3), z); ok {
		t.Error("a share of nothing")
	}
}

// TestDifference compares with Newcombe's interval for unpaired proportions, 56 of 70 and 48 of 80
// (Statistics in Medicine 17:873, table II, method 10): 0.0524 to 0.3339. Our sides are of the same
// requests; here none of them has both.
func TestDifference(t *testing.T) {
	a, b := append(singles(56, 70), make([]Cell, 80)...), append(make([]Cell, 70),
		singles(48, 80)...)
	got, ok := Difference(a, b, Quantile(0.975), Share)
	if !ok || math.Abs(got.Low-0.0524) > 3e-3 || math.Abs(got.High-0.3339) > 3e-3 {
		t.Errorf("%+v", got)
	}
	same := singles(30, 100)
	if got, _ := Difference(same, same, Quantile(0.975), Share); got.Low < -0.02 ||
		got.High > 0.02 || got.Value != 0 {
		t.Errorf("of a side with itself: %+v", got)
	}
}

// TestSwap compares with the exact values: of d requests that differ, all in favour of one side,
// one of 2^d signs is as extreme.
func TestSwap(t *testing.T) {
	const seeds = 200
	for d := range 7 {
		a, b := singles(50-d, 50), singles(50, 50)
		want := math.Exp2(-float64(d))
		var worse, better float64
		for seed := range uint64(seeds) {
			got := Swap(a, b, Lower, seed)
			if got.Least != want || got.P < want {
				t.Errorf("%d worse: %+v, expected %g at least", d, got, want)
			}
			worse += got.P / seeds
			better += Swap(b, a, Lower, seed).P / seeds
			if got := Swap(b, a, Both, seed); d > 0 && got.Least != 2*want {
				t.Errorf("%d differ: %+v", d, got)
			}
		}
		if worse > want*1.2 || better < 1-want/2 {
			t.Errorf("%d worse: %g, better: %g; expected %g and nearly 1", d, worse, better, want)
		}
	}
	if got := Swap(make([]Cell, 5), make([]Cell, 5), Both, 1); got != (Test{1, 1}) {
		t.Errorf("of nothing: %+v", got)
	}
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		tests []Test
		want  string
	}{
		{nil, "[] []"},
		{[]Test{{0.004, 0}, {0.2, 0}, {0.9, 0}}, "[false false false] [0.0033 0.0033 0.0033]"},
		// Holm: once the first is blamed the second is held to one half
		{[]Test{{0.001, 0}, {0.004, 0}, {0.9, 0}}, "[true true false] [0.0033 0.005 0.01]"},
		// Tarone: two tests that could not blame do not count
		{[]Test{{0.009, 0}, {0.5, 0.5}, {1, 1}}, "[true false false] [0.01 0.01 0.01]"},
	} {
		blamed, bounds := Judge(c.tests, 0.01)
		rounded := make([]float64, len(bounds))
		for i, b := range bounds {
			rounded[i] = math.Round(b*1e4) / 1e4
		}
		if got := fmt.Sprint(blamed, rounded); got != c.want &&
			!(c.tests == nil && len(blamed) == 0) {
			t.Errorf("%v: %s, expected %s", c.tests, got, c.want)
		}
	}
}

// TestTries compares with counting all choices of k of n answers.
func TestTries(t *testing.T) {
	for n := 1; n <= 6; n++ {
		for right := range n + 1 {
			for k := 1; k <= n; k++ {
				all, one, choices := 0, 0, 0
				for set := range 1 << n {
					picked := []int{}
					for i := range n {
						if set>>i&1 == 1 {
							picked = append(picked, i)
						}
					}
					if len(picked) != k {
						continue
					}
					choices++
					if slices.Max(picked) < right {
						all++
					}
					if slices.Min(picked) < right {
						one++
					}
				}
				if a, o := All(n, right, k), AtLeastOne(n, right, k); !near(a,
					float64(all)/float64(choices)) || !near(o, float64(one)/float64(choices)) {
					t.Errorf("%d of %d right, %d asked: %g and %g, expected %d and %d of %d", right,
						n, k, a, o, all, one, choices)
				}
			}
		}
	}
}
