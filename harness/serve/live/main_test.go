package live

import (
	"os"
	"testing"

	"github.com/goassay/assay/harness/check/batch"
)

// TestMain lets garbage wait as the command does: memory is cheaper than time.
func TestMain(m *testing.M) {
	batch.SetCollector()
	os.Exit(m.Run())
}
