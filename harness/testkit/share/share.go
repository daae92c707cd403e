// Package share draws the cases that `make test` runs of a test that has one case for each of many
// templates. `make test-whole`, which CI runs, sets ASSAY_WHOLE and runs all.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package share

import (
	"crypto/sha256"
	"encoding/binary"
	"os"
)

// Has reports whether a case belongs to the share of one in n, by the digest of its name: the same
// cases are drawn in every run.
func Has(name string, n uint64) bool {
	sum := sha256.Sum256([]byte(name))
	return Whole() || binary.BigEndian.Uint64(sum[:])%n == 0
}

// Whole reports whether every case is run.
func Whole() bool { return os.Getenv("ASSAY_WHOLE") != "" }
