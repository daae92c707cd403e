//go:build cgo && libassay

package main

import (
	"sync"
	"sync/atomic"
)

// A handle is the number of a place and of its use: places are used again, and the handles of their
// earlier contents stay wrong. The lower half is the place, from 1; the upper half counts its uses,
// and wraps around after 2^32 of them.
type handle uint64

// The places lie in blocks, which are made as they are needed and never moved, so that a look-up
// takes no lock.
const (
	blockSize = 1 << 10
	maxBlocks = 1 << 12 // four million live handles
)

// entry is what a handle names.
type entry struct {
	handle handle
	object any // *template, *plan or *parser
}

type block [blockSize]atomic.Pointer[entry]

// table has the objects of all handles.
type table struct {
	blocks [maxBlocks]atomic.Pointer[block]

	mu   sync.Mutex
	uses []uint32 // of each place so far
	free []uint32 // places without an object
}

// handles are those of the process: the caller's numbers mean something nowhere else.
var handles table

// add returns a handle of an object.
func (t *table) add(object any) (handle, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var at uint32
	if n := len(t.free); n > 0 {
		at, t.free = t.free[n-1], t.free[:n-1]
	} else {
		if at = uint32(len(t.uses)); at == maxBlocks*blockSize {
			return 0, failf(statusLimit, "%d handles are in use; free some", at)
		}
		if at%blockSize == 0 {
			t.blocks[at/blockSize].Store(new(block))
		}
		t.uses = append(t.uses, 0)
	}
	t.uses[at]++
	h := handle(t.uses[at])<<32 | handle(at+1)
	t.place(at).Store(&entry{h, object})
	return h, nil
}

// place returns a place that was in use before.
func (t *table) place(at uint32) *atomic.Pointer[entry] {
	return &t.blocks[at/blockSize].Load()[at%blockSize]
}

// find returns the entry of a handle, nil where there is none.
func (t *table) find(h handle) *entry {
	at := uint32(h) - 1
	if at >= maxBlocks*blockSize {
		return nil
	}
	b := t.blocks[at/blockSize].Load()
	if b == nil {
		return nil
	}
	if e := b[at%blockSize].Load(); e != nil && e.handle == h {
		return e
	}
	return nil
}

// remove frees a handle and reports whether it was there.
func (t *table) remove(h handle) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.find(h) == nil {
		return false
	}
	at := uint32(h) - 1
	t.place(at).Store(nil)
	t.free = append(t.free, at)
	return true
}

// of returns the object of a handle, which has to be a T.
func of[T any](h handle) (T, error) {
	var none T
	e := handles.find(h)
	if e == nil {
		return none, failf(statusHandle, "there is no %s with the handle %#x; it was freed, "+
			"or never made", kindOf(none), uint64(h))
	}
	if object, ok := e.object.(T); ok {
		return object, nil
	}
	return none, failf(statusHandle, "expected a %s, found the handle of a %s", kindOf(none),
		kindOf(e.object))
}

// kindOf names an object's kind.
func kindOf(object any) string {
	switch object.(type) {
	case *template:
		return "template"
	case *plan:
		return "plan"
	}
	return "parser"
}
