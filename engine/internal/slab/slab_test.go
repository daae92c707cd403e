package slab

import "testing"

// TestSlab takes parts of several sizes, writes to them, and looks whether they are apart from each
// other and zeroed, whether the block has room for them or not.
func TestSlab(t *testing.T) {
	const most = 40 * 8
	var s Slab[int]
	for round := range 4 {
		var parts [][]int
		for n := range 10 {
			part := s.Take(n)
			if len(part) != n || cap(part) != n {
				t.Fatalf("round %d: asked for %d, got %d "+
					"with room for %d", round, n, len(part), cap(part))
			}
			parts = append(parts, part, []int{0}[:0])
			one := s.One()
			if *one != 0 {
				t.Errorf("round %d: an element is %d", round, *one)
			}
			*one = -1
			for i := range part {
				if part[i] != 0 {
					t.Errorf("round %d: element %d of %d is %d", round, i, n, part[i])
				}
				part[i] = n
			}
		}
		for _, part := range parts {
			for i := range part {
				if part[i] != len(part) {
					t.Errorf("round %d: element %d of %d became %d", round, i, len(part), part[i])
				}
			}
		}
		s.Reset(most)
		if got := len(s.block) * 8; got == 0 || got > most {
			t.Errorf("round %d: the block has %d bytes, not up to %d", round, got, most)
		}
	}
}

// TestNoGarbage needs no allocation once the block is large enough.
func TestNoGarbage(t *testing.T) {
	var s Slab[*int]
	job := func() {
		for range 100 {
			*s.One() = new(int)
			copy(s.Take(3), []*int{nil, nil, nil})
		}
		s.Reset(1 << 20)
	}
	job()
	if n := testing.AllocsPerRun(10, job); n > 100 {
		t.Errorf("%v allocations where the elements themselves are 100", n)
	}
}

// TestShrinks lets a block go after many jobs that need little of it, and keeps it where every now
// and then one needs much.
func TestShrinks(t *testing.T) {
	var s Slab[int]
	job := func(n int) {
		s.Take(n)
		s.Reset(1 << 20)
	}
	job(1000)
	for i := range 10 * patience {
		if job(10); i%(patience/2) == 0 {
			job(500)
		}
		if len(s.block) != 1000 {
			t.Fatalf("the block has %d elements after %d jobs, not 1000", len(s.block), i)
		}
	}
	for range 2 * patience {
		job(10)
	}
	if len(s.block) != 10 {
		t.Errorf("the block has %d elements, not the 10 that the jobs need", len(s.block))
	}
}
