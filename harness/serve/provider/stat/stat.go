// Package stat compares shares that two sides reached on the same requests.
//
// # Model
//
// A request is a cluster: it is asked several times, an answer has several calls, and what one of
// them does the others are likely to do. So the unit of everything here is a [Cell]: the part of
// one request in the numerator and the denominator of a share. Answers of one request may
// depend on each other in any way; requests are taken to be independent.
//
// # Intervals
//
// [Share] is Wilson's score interval (Wilson 1927) on the effective number of trials: as many as
// would give, were they independent, the variance that clusters give, which is the linearised one
// of a ratio of sums (Cochran 1977, section 6.3; Cameron and Miller 2015). Where everything
// succeeded or failed that variance is 0, and each request counts as one trial. [Mean] is the
// normal interval with the same variance, for counts that are no shares. [Difference] joins the
// intervals of two sides by Newcombe's hybrid method for paired proportions (Newcombe 1998),
// with the correlation of the sides over requests.
//
// # Tests
//
// [Swap] tests that it makes no difference which side answered. For each request it takes the
// difference of the sides around the share of both together. If the sides are exchangeable, each
// difference may as well have the other sign, so its distribution is known exactly, however
// answers of a request depend on each other (Fisher 1935; Pitman 1937). If only the shares are
// equal it still holds for many requests, since the variance does not change with the signs (Chung
// and Romano 2013). Signs are drawn from a seed until twenty draws were as extreme (Besag and
// Clifford 1991), so the value is never 0 (Phipson and Smyth 2010).
//
// [Judge] keeps the chance that any test of a family blames without cause below a level: Holm's
// procedure (1979) in the form for discrete tests, which leaves out of the count those tests that
// could not have blamed at all, as a measure without a single difference (Tarone 1990; Hommel and
// Krummenauer 1998).
//
// [AtLeastOne] and [All] estimate, for one request, the chance that of k answers one is right
// (pass@k: Chen et al. 2021, arXiv:2107.03374) or all are (pass^k: Yao et al. 2024,
// arXiv:2406.12045), without bias.
//
// # Sources
//
// Wilson, JASA 22:209-212. Newcombe, Statistics in Medicine 17:857-872 and 17:2635-2650. Cochran,
// Sampling Techniques. Cameron and Miller, J. Human Resources 50:317-372. Fisher, The Design of
// Experiments. Pitman, JRSS Supplement 4:119-130. Chung and Romano, Annals of Statistics
// 41:484-507. Besag and Clifford, Biometrika 78:301-304. Phipson and Smyth, Statistical
// Applications in Genetics and Molecular Biology 9:39. Holm, Scandinavian Journal of Statistics
// 6:65-70. Tarone, Biometrics 46:515-522. Hommel and Krummenauer, Biometrics 54:673-681. Miller,
// Adding Error Bars to Evals (2024, arXiv:2411.00640), on clusters and pairs in evaluations of
// models.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package stat

import (
	"math"
	"math/rand/v2"
)

// Cell is the part of one request in a share: of the numerator and of the denominator. A request
// without a denominator adds nothing.
type Cell struct{ Y, N float64 }

// Interval is an estimate with its confidence interval.
type Interval struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Quantile returns the value that a standard normal variable exceeds with the chance 1-p.
func Quantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// sums adds cells up: numerators, denominators, and the requests that have a denominator.
func sums(cells []Cell) (y, n float64, requests int) {
	for _, c := range cells {
		y, n = y+c.Y, n+c.N
		if c.N > 0 {
			requests++
		}
	}
	return y, n, requests
}

// residual is how far a request is from the share of all.
func residual(c Cell, share float64) float64 { return c.Y - share*c.N }

// variance is that of a share of cells, linearised, with requests as clusters.
func variance(cells []Cell, share, n float64, requests int) float64 {
	if requests < 2 {
		return 0
	}
	sum := 0.0
	for _, c := range cells {
		r := residual(c, share)
		sum += r * r
	}
	m := float64(requests)
	return m / (m - 1) * sum / (n * n)
}

// Share estimates ΣY/ΣN, which is within 0 and 1. z is the quantile of its interval's level. It
// reports false where there is no denominator.
func Share(cells []Cell, z float64) (Interval, bool) {
	y, n, requests := sums(cells)
	if n == 0 {
		return Interval{}, false
	}
	share := y / n
	trials := float64(requests)
	if v := variance(cells, share, n, requests); v > 0 {
		// more trials than there are answers would be a gain by chance
		trials = min(share*(1-share)/v, n)
	}
	return wilson(share, trials, z), true
}

// wilson is the score interval of a share of n trials.
func wilson(share, n, z float64) Interval {
	zz := z * z
	middle := (share + zz/(2*n)) / (1 + zz/n)
	half := z / (1 + zz/n) * math.Sqrt(share*(1-share)/n+zz/(4*n*n))
	return Interval{share, max(0, min(share, middle-half)), min(1, max(share, middle+half))}
}

// Mean estimates ΣY/ΣN of any size.
func Mean(cells []Cell, z float64) (Interval, bool) {
	y, n, requests := sums(cells)
	if n == 0 {
		return Interval{}, false
	}
	mean := y / n
	half := z * math.Sqrt(variance(cells, mean, n, requests))
	return Interval{mean, mean - half, mean + half}, true
}

// Difference estimates the share of a less that of b, whose cells are of the same requests in the
// same order, from the intervals that estimate gives: [Share] or [Mean].
func Difference(a, b []Cell, z float64,
	estimate func([]Cell, float64) (Interval, bool)) (Interval, bool) {
	ia, ok := estimate(a, z)
	ib, both := estimate(b, z)
	if !ok || !both {
		return Interval{}, false
	}
	var ab, aa, bb float64
	for i := range a {
		ra, rb := residual(a[i], ia.Value), residual(b[i], ib.Value)
		ab, aa, bb = ab+ra*rb, aa+ra*ra, bb+rb*rb
	}
	rho := 0.0
	if aa > 0 && bb > 0 {
		rho = ab / math.Sqrt(aa*bb)
	}
	arm := func(x, y float64) float64 { return math.Sqrt(max(0, x*x-2*rho*x*y+y*y)) }
	d := ia.Value - ib.Value
	return Interval{d,
		d - arm(ia.Value-ia.Low, ib.High-ib.Value),
		d + arm(ia.High-ia.Value, ib.Value-ib.Low)}, true
}

// Tail is which differences count against the equality of two sides.
type Tail uint8

// The tails.
const (
	Lower Tail = iota // the first side is lower
	Both              // the sides differ
)

// The draws of a test: at most, and as extreme ones until it ends.
const (
	maxDraws = 20_000
	extreme  = 20
)

// Test is the outcome of a test.
type Test struct {
	P     float64 // the chance of such a difference, or a greater one, where there is none
	Least float64 // the least that P could have been
}

// Swap tests that sides a and b, with cells of the same requests in the same order, are
// exchangeable.
func Swap(a, b []Cell, tail Tail, seed uint64) Test {
	ya, na, _ := sums(a)
	yb, nb, _ := sums(b)
	if na+nb == 0 {
		return Test{1, 1}
	}
	both := (ya + yb) / (na + nb)
	var differences []float64
	total, scale := 0.0, 0.0
	for i := range a {
		d := residual(a[i], both) - residual(b[i], both)
		if math.Abs(d) > 1e-12 {
			differences = append(differences, d)
			total += d
			scale += math.Abs(d)
		}
	}
	least := math.Exp2(-float64(len(differences)))
	if tail == Both {
		least = min(1, 2*least)
		total = math.Abs(total)
	}
	near := scale * 1e-12 // sums of the same numbers in another order
	rng := rand.New(rand.NewPCG(seed, seed))
	hits := 0
	for draw := 1; draw <= maxDraws; draw++ {
		sum, bits := 0.0, uint64(0)
		for i, d := range differences {
			if i%64 == 0 {
				bits = rng.Uint64()
			}
			if bits&1 == 0 {
				d = -d
			}
			bits >>= 1
			sum += d
		}
		if tail == Both && math.Abs(sum) >= total-near || tail == Lower && sum <= total+near {
			if hits++; hits == extreme {
				return Test{max(least, float64(hits)/float64(draw)), least}
			}
		}
	}
	return Test{max(least, float64(hits+1)/(maxDraws+1)), least}
}

// Judge returns which tests blame, where the chance that any of them does so without cause is at
// most level, and the bound that the value of each was held to.
func Judge(tests []Test, level float64) (blamed []bool, bounds []float64) {
	blamed, bounds = make([]bool, len(tests)), make([]float64, len(tests))
	for {
		// the smallest k for which at most k of the tests that are left can reach level/k
		k := 0
		for counted := len(tests) + 1; counted > k; {
			k++
			counted = 0
			for i, t := range tests {
				if !blamed[i] && t.Least <= level/float64(k) {
					counted++
				}
			}
		}
		more := false
		for i, t := range tests {
			if blamed[i] {
				continue
			}
			if bounds[i] = level / float64(k); t.P <= bounds[i] {
				blamed[i], more = true, true
			}
		}
		if !more {
			return blamed, bounds
		}
	}
}

// AtLeastOne estimates the chance that of k answers to a request one is right, where right ones of
// n were. k is at most n.
func AtLeastOne(n, right, k int) float64 { return 1 - All(n, n-right, k) }

// All estimates the chance that all of k answers to a request are right, where right ones of n
// were. k is at most n.
func All(n, right, k int) float64 {
	p := 1.0
	for i := range k {
		p *= float64(max(0, right-i)) / float64(n-i)
	}
	return p
}
