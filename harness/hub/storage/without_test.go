//go:build !cloud

package storage_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/goassay/assay/harness/hub/storage"
)

// TestWithout demands of a program without buckets that it names the one that has them.
func TestWithout(t *testing.T) {
	ctx, files := t.Context(), new(storage.Store)
	_, open := files.Open(ctx, "s3://bucket/x")
	_, list := files.List(ctx, "gs://bucket/x", "")
	write := files.Write(ctx, "s3://bucket/x", func(io.Writer) error { return nil })
	for _, err := range []error{open, list, write} {
		var failed *storage.Error
		if !errors.As(err, &failed) || failed.Again ||
			!strings.Contains(err.Error(), "-tags cloud") {
			t.Errorf("a bucket: %v", err)
		}
	}
}
