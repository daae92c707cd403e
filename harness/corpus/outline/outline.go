// Package outline reads the small hand-written lists of the corpus: families.txt and the lists of
// known failures.
//
// # Format
//
// A line that starts with white space is an item of the heading above it; any other line is a
// heading. Empty lines and lines that start with '#' are ignored.
//
// # Errors
//
// Items without a heading, headings without items and items listed twice are positioned errors
// ([source.Error]).
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package outline

import (
	"strings"

	"github.com/goassay/assay/engine/source"
)

// Group is a heading with its items.
type Group struct {
	Head  string
	Line  int // of the heading, 1-based
	Items []Item
}

// Item is one line under a heading.
type Item struct {
	Text string
	Line int // 1-based
}

// Parse reads an outline.
func Parse(src *source.Source) ([]Group, error) {
	var groups []Group
	seen := map[string]int{}
	number, off := 0, 0
	for line := range strings.Lines(src.Text) {
		start := off
		off += len(line)
		number++
		text := strings.TrimSpace(line)
		switch {
		case text == "" || strings.HasPrefix(line, "#"):
		case line[0] != ' ' && line[0] != '\t':
			if n := len(groups); n > 0 && len(groups[n-1].Items) == 0 {
				return nil, source.Errorf(src, start, "the heading %q has no items; "+
					"items are indented", groups[n-1].Head)
			}
			groups = append(groups, Group{Head: text, Line: number})
		case len(groups) == 0:
			return nil, source.Errorf(src, start, "an item without a heading; headings "+
				"are not indented")
		case seen[text] > 0:
			return nil, source.Errorf(src, start, "%s is listed twice, "+
				"first in line %d", text, seen[text])
		default:
			seen[text] = number
			last := &groups[len(groups)-1]
			last.Items = append(last.Items, Item{text, number})
		}
	}
	if n := len(groups); n > 0 && len(groups[n-1].Items) == 0 {
		return nil, source.Errorf(src, len(src.Text), "the heading %q has no items; "+
			"items are indented", groups[n-1].Head)
	}
	return groups, nil
}

// Reasons reads a list whose headings are reasons, such as a list of known failures, and returns
// the reason of each item.
func Reasons(src *source.Source) (map[string]string, error) {
	groups, err := Parse(src)
	reasons := map[string]string{}
	for _, g := range groups {
		for _, item := range g.Items {
			reasons[item.Text] = g.Head
		}
	}
	return reasons, err
}
