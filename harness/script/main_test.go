package script_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage wait as the command does: memory is cheaper than time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
