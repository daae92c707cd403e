package main

import (
	"bytes"
	"encoding/binary"
	"runtime/coverage"
)

// blocks runs something and returns how many blocks of the project's code ran: a block is a run of
// statements without a branch. The count
// is the same on every machine and under every load. A program without counters counts none.
func blocks(run func()) uint64 {
	if coverage.ClearCounters() != nil {
		run()
		return 0
	}
	run()
	var b bytes.Buffer
	if err := coverage.WriteCounters(&b); err != nil {
		panic(err)
	}
	return sum(b.Bytes())
}

// sum adds the counters of a file of counters: a header of 32 bytes, a segment with the lengths of
// its parts and two tables, then the numbers of each function that ran: how many counters, its
// package, its own number, and the counters. The flavor describes how a number is
// written (internal/coverage, "Counter data definitions").
func sum(b []byte) (total uint64) {
	const header, uleb = 32, 2
	flavor := b[24]
	functions := binary.LittleEndian.Uint64(b[header:])
	tables := binary.LittleEndian.Uint32(b[header+8:]) + binary.LittleEndian.Uint32(b[header+12:])
	at := header + 16 + int(tables+3)&^3
	next := func() uint64 {
		if flavor != uleb {
			at += 4
			return uint64(binary.LittleEndian.Uint32(b[at-4:]))
		}
		v, n := binary.Uvarint(b[at:])
		at += n
		return v
	}
	for range functions {
		counters := next()
		next()
		next()
		for range counters {
			total += next()
		}
	}
	return total
}
