package report_test

import (
	"testing"

	"github.com/goassay/assay/harness/report"
)

func TestConflictMarker(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "a\nb": 0, "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x\n": 2, "a\n>>>>>>> x": 2, "| <<<<<<< HEAD": 0, "<<<<<<<<": 0,
		"=======": 0,
	} {
		if got := report.ConflictMarker(text); got != want {
			t.Errorf("%q: line %d, want %d", text, got, want)
		}
	}
}
