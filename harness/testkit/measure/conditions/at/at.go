// Package at is linked into instrumented packages: it notes how each of their conditions was
// decided, and turns one of them round when it is asked to.
//
// The environment variable ASSAY_CONDITIONS names a file, in which byte 2n becomes 1 when the
// condition n was false, and byte 2n+1 when it was true; ASSAY_NEGATE is the number of the
// condition that is turned round.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package at

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
)

// Most is how many conditions a program may have.
const Most = 1 << 15

var (
	seen    [2 * Most]atomic.Bool
	file    = open(os.Getenv("ASSAY_CONDITIONS"))
	negated = number(os.Getenv("ASSAY_NEGATE"))
)

// Decided notes that the condition n is what it is, and returns what is to be done.
func Decided(n int, is bool) bool {
	side := 2 * n
	if is {
		side++
	}
	if !seen[side].Load() && !seen[side].Swap(true) && file != nil {
		if _, err := file.WriteAt([]byte{1}, int64(side)); err != nil {
			stop(err)
		}
	}
	return is != (n == negated)
}

// open opens the file of the conditions, nil where none is named.
func open(name string) *os.File {
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		stop(err)
	}
	return f
}

// number reads the number of a condition, -1 where none is named.
func number(text string) int {
	if text == "" {
		return -1
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		stop(err)
	}
	return n
}

// stop ends the program: a measurement that cannot be noted must not pass for one.
func stop(err error) {
	fmt.Fprintln(os.Stderr, "conditions:", err)
	os.Exit(3)
}
