package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goassay/assay/harness/visible"
)

// Matrix is a table of suites and groups, with a line of counts for each cell, and a last line that counts suites.
func (r *Report) Matrix(columns []string) string {
	rows, seen := []string{}, map[string]bool{}
	for i := range r.Results {
		if res := &r.Results[i]; slices.Contains(columns, res.Group) && !seen[res.Suite] {
			seen[res.Suite] = true
			rows = append(rows, res.Suite)
		}
	}
	cells := r.cells()
	head := []string{"template"}
	for _, column := range columns {
		head = append(head, visible.Line(column))
	}
	table := [][]string{head}
	clean := 0
	for _, row := range rows {
		line, ok := []string{visible.Line(row)}, true
		for _, column := range columns {
			c := cells[[2]string{row, column}]
			line = append(line, c.String())
			ok = ok && (c == nil || c[Failed] == 0 && c[Known] == 0)
		}
		if ok {
			clean++
		}
		table = append(table, line)
	}
	return align(table) + fmt.Sprintf("%d of %d templates pass everything\n", clean, len(rows))
}

// cells counts the results of each suite and group.
func (r *Report) cells() map[[2]string]*cellCount {
	cells := map[[2]string]*cellCount{}
	for i := range r.Results {
		at := [2]string{r.Results[i].Suite, r.Results[i].Group}
		if cells[at] == nil {
			cells[at] = new(cellCount)
		}
		cells[at][r.Results[i].Status]++
	}
	return cells
}

// cellCount counts the results of a cell by their status.
type cellCount [Failed + 1]int

func (c *cellCount) String() string {
	switch {
	case c == nil:
		return "-"
	case c[Failed] > 0:
		return fmt.Sprintf("%d FAIL", c[Failed])
	case c[Known] > 0:
		return fmt.Sprintf("%d known", c[Known])
	case c[Found] > 0:
		return fmt.Sprintf("%d noted", c[Found])
	}
	return "ok"
}

// align writes a table with its columns padded, without spaces at the ends of lines.
func align(table [][]string) string {
	widths := make([]int, len(table[0]))
	for _, line := range table {
		for i, text := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	var b strings.Builder
	for _, line := range table {
		row := ""
		for i, text := range line {
			row += text + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)+2)
		}
		b.WriteString(strings.TrimRight(row, " ") + "\n")
	}
	return b.String()
}
