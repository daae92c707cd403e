package main

import "strings"

// nearest is the name that somebody may have meant who typed another one: that with the fewest letters added, left out or changed, at
// most a quarter of them and one; "" where none is so near.
func nearest(typed string, names []string) string {
	best, fewest := "", len(typed)/4+2
	for _, name := range names {
		if n := edits(strings.ToLower(typed), name); n < fewest {
			best, fewest = name, n
		}
	}
	return best
}

// edits is the number of bytes to add, leave out or change that turn one text into another.
func edits(a, b string) int {
	row := make([]int, len(b)+1) // row[j]: from what was read of a to b[:j]
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// meant is the end of a sentence that says what was meant.
func meant(name string) string {
	if name == "" {
		return ""
	}
	return "; did you mean " + name + "?"
}
