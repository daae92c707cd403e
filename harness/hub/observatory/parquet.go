//go:build cloud

package observatory

import (
	"io"

	"github.com/parquet-go/parquet-go"
)

// Parquet reports whether the program writes Parquet.
const Parquet = true

// rowGroup is how many rows are in memory before they are written to a Parquet file.
const rowGroup = 20_000

func newParquet(w io.Writer) (*Table, error) {
	out := parquet.NewGenericWriter[Row](w, parquet.Compression(&parquet.Snappy),
		parquet.CreatedBy("assay", "", ""), parquet.MaxRowsPerRowGroup(rowGroup))
	return &Table{close: out.Close, add: func(rows []Row) error {
		_, err := out.Write(rows)
		return err
	}}, nil
}
