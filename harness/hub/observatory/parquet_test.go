//go:build cloud

package observatory_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/goassay/assay/harness/hub/observatory"
)

// TestParquet reads a table of Parquet back: it has the rows of one of JSON lines.
func TestParquet(t *testing.T) {
	columns := written(t, "a.parquet")
	rows, err := parquet.Read[observatory.Row](bytes.NewReader(columns.Bytes()),
		int64(columns.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(want) {
		t.Fatalf("Parquet has %d rows", len(rows))
	}
	for i, row := range rows {
		got, _ := json.Marshal(row)
		exp, _ := json.Marshal(want[i])
		if text := strings.ReplaceAll(string(got), "null", "[]"); text != string(exp) {
			t.Errorf("Parquet has\n%s\nexpected\n%s", text, exp)
		}
	}
}
