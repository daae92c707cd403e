package main

import (
	"os"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/llama"
)

// TestLiveWithoutLlama says how to get a binary that can do it.
func TestLiveWithoutLlama(t *testing.T) {
	if llama.Available() {
		t.Skip("llama.cpp is in this binary")
	}
	var out, err strings.Builder
	c := &call{stdin: strings.NewReader(""), stdout: &out, stderr: &err, getenv: os.Getenv}
	if status := c.main([]string{"live", "--tiny", "--run", "qwen3"}); status != exitUsage || !strings.Contains(err.String(), "make llama") {
		t.Errorf("status %d, %s%s", status, out.String(), err.String())
	}
}
