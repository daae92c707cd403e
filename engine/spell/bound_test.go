package spell

import (
	"errors"
	"strings"
	"testing"
)

// TestBound matches a turn that white space could be split in 2^60 ways for: it is a mismatch,
// soon.
func TestBound(t *testing.T) {
	var parts seq
	for range 60 {
		parts = append(parts, space("\n"), lit("a"), space("\n"), space("\n"))
	}
	s := &Spelling{root: append(parts, lit("end"))}
	var miss *Mismatch
	if _, err := s.Match(strings.Repeat("\na\n\n", 60)); !errors.As(err, &miss) {
		t.Errorf("matched: %v", err)
	}
}
