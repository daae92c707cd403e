package schema

import (
	"slices"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine/source"
)

// path is a place in a schema or a value: a step from its container. Steps are shared and become
// text only where somebody reads them, so that depth costs nothing. Nil is the root.
type path struct {
	up    *path
	key   string // of a member; "" for an item
	index int    // of an item, from 0
}

// step returns the path of a member, at that of an item.
func (p *path) step(key string) *path { return &path{up: p, key: key} }
func (p *path) at(i int) *path        { return &path{up: p, index: i} }

// below returns the path from a root that it begins with.
func (p *path) below(root *path) *path {
	if p == root {
		return nil
	}
	return &path{up: p.up.below(root), key: p.key, index: p.index}
}

// begun returns the path that begins with a text.
func begun(text string) *path {
	if text == "" {
		return nil
	}
	return &path{key: text}
}

// maxPath bounds how many bytes of a path are shown, those of its beginning and of its end half
// each.
const maxPath = 400

// String returns keys joined by points with the numbers of items in brackets. The middle of a long
// path is left out.
func (p *path) String() string {
	var steps []string // from the end
	n, root := 0, p
	for ; root != nil && n < maxPath; root = root.up {
		text := "[" + strconv.Itoa(root.index) + "]"
		if root.key != "" {
			text = root.key
			if root.up != nil {
				text = "." + root.key
			}
		}
		steps = append(steps, source.CutMiddle(text, maxPath))
		n += len(text)
	}
	if root != nil {
		for root.up != nil {
			root = root.up
		}
		steps = append(steps, source.CutMiddle(root.key, maxPath)+"...")
	}
	slices.Reverse(steps)
	return strings.Join(steps, "")
}
