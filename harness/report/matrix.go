package report

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/report/visible"
)

// Matrix is a table of suites and groups, with a summary of the results in each cell, and a last
// line that counts suites. It needs no memory for single results.
type Matrix struct {
	columns []string
	rows    []string
	all     map[string]*cellCount // of a row
	cells   map[[2]string]*cellCount
}

// NewMatrix returns a table without rows. Its columns are groups.
func NewMatrix(columns ...string) *Matrix {
	return &Matrix{columns: columns, all: map[string]*cellCount{},
		cells: map[[2]string]*cellCount{}}
}

// Add counts results. A suite gets its row with its first result in one of the columns.
func (m *Matrix) Add(results ...rule.Result) {
	for i := range results {
		res := &results[i]
		if !slices.Contains(m.columns, res.Group) {
			continue
		}
		if m.all[res.Suite] == nil {
			m.all[res.Suite] = new(cellCount)
			m.rows = append(m.rows, res.Suite)
		}
		status := res.Status
		if status == rule.Unjudged && !res.Bad() {
			status = rule.Found // it fails nothing
		}
		m.all[res.Suite][status]++
		at := [2]string{res.Suite, res.Group}
		if m.cells[at] == nil {
			m.cells[at] = new(cellCount)
		}
		m.cells[at][status]++
	}
}

// String returns the table.
func (m *Matrix) String() string {
	head := []string{"template"}
	for _, column := range m.columns {
		head = append(head, visible.Line(column))
	}
	table := [][]string{head}
	clean := 0
	for _, row := range m.rows {
		line := []string{visible.Line(row)}
		for _, column := range m.columns {
			line = append(line, m.cells[[2]string{row, column}].String())
		}
		if all := m.all[row]; all[rule.Failed]+all[rule.Unjudged]+all[rule.Known] == 0 {
			clean++
		}
		table = append(table, line)
	}
	return align(table) + fmt.Sprintf("%d of %d templates pass everything\n", clean, len(m.rows))
}

// cellCount counts the results of a cell by their status.
type cellCount [rule.Statuses]int

func (c *cellCount) String() string {
	switch {
	case c == nil:
		return "-"
	case c[rule.Failed] > 0:
		return fmt.Sprintf("%d FAIL", c[rule.Failed])
	case c[rule.Unjudged] > 0:
		return fmt.Sprintf("%d not judged", c[rule.Unjudged])
	case c[rule.Known] > 0:
		return fmt.Sprintf("%d known", c[rule.Known])
	case c[rule.Found] > 0:
		return fmt.Sprintf("%d noted", c[rule.Found])
	}
	return "ok"
}

// align writes a table with its columns padded, without spaces at the ends of lines.
func align(table [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, line := range table {
		fmt.Fprintln(w, strings.Join(line, "\t"))
	}
	w.Flush()
	return b.String()
}
