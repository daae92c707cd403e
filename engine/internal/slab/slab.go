// Package slab spares the collector memory that is needed during one job only, such as that of a
// render's values: the next job uses the same memory again.
package slab

import "unsafe"

// Slab hands out parts of one block, zeroed. A part that does not fit comes from the heap, and
// makes the block larger for the next job. So a job that builds without end is the collector's
// business, as it would be without slabs. The zero value is ready for use.
type Slab[T any] struct {
	block []T
	used  int // of the block
	asked int // all that this job has asked for
	gauge Gauge
}

// Take returns n zeroed elements, with no room for more.
func (s *Slab[T]) Take(n int) []T {
	s.asked += n
	if n > len(s.block)-s.used {
		return make([]T, n)
	}
	s.used += n
	return s.block[s.used-n : s.used : s.used]
}

// One returns a zeroed element.
func (s *Slab[T]) One() *T {
	s.asked++
	if s.used == len(s.block) {
		return new(T)
	}
	s.used++
	return &s.block[s.used-1]
}

// Reset takes back all that was handed out; nothing may refer to it any more. The block grows to
// the size that was asked for, to most bytes at most, and goes when job after job needs little of
// it.
func (s *Slab[T]) Reset(most int) {
	var t T
	want := min(s.asked, most/int(unsafe.Sizeof(t)))
	switch keep := s.gauge.Keep(want, len(s.block)); {
	case want > len(s.block):
		s.block = make([]T, want)
	case keep:
		clear(s.block[:s.used])
	default:
		s.block = nil
	}
	s.used, s.asked = 0, 0
}

// A Gauge finds memory that is too large for the jobs that use it again and again. The zero value
// is ready for use.
type Gauge struct {
	idle int // jobs in a row that used little
}

// patience is how many jobs in a row may use little of a memory.
const patience = 64

// Keep reports whether to keep memory of some size for the next job, after one that used a part of
// it. The size that one job needed stays for a while: what a job costs must not jump where it needs
// more than others do, and jobs of one kind follow each other.
func (g *Gauge) Keep(used, size int) bool {
	if used >= size/4 {
		g.idle = 0
	} else if g.idle++; g.idle == patience {
		g.idle = 0
		return false
	}
	return true
}
