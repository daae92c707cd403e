//go:build !cloud

package observatory

import (
	"errors"
	"io"
)

// Parquet reports whether the program writes Parquet.
const Parquet = false

func newParquet(io.Writer) (*Table, error) {
	return nil, errors.New("this program writes no Parquet; name a file that ends in .jsonl, take " +
		"the archive assay_cloud of a release, or build it with `go build -tags cloud ./cmd/assay`")
}
