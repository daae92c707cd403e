package check_test

import (
	"os"
	"testing"

	"github.com/goassay/assay/harness/gc"
)

// TestMain lets garbage wait as the command does: memory is cheaper than time.
func TestMain(m *testing.M) {
	gc.Set()
	os.Exit(m.Run())
}
