package standard_test

import (
	"testing"

	"github.com/goassay/assay/harness/conversation/standard"
)

// TestBattery reads every conversation of the battery, which panics where one is wrong.
func TestBattery(t *testing.T) {
	if tools := standard.ToolRequest().Tools; len(tools) != 3 || len(standard.Battery()) < 8 {
		t.Errorf("%d tools and %d conversations", len(tools), len(standard.Battery()))
	}
}
