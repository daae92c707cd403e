// Package lists makes lists of lists, as the package slices does not.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package lists

// Map returns f of each item; nil for nil.
func Map[T, U any](items []T, f func(T) U) []U {
	if items == nil {
		return nil
	}
	out := make([]U, len(items))
	for i, item := range items {
		out[i] = f(item)
	}
	return out
}

// Filter returns the items that are to be kept, nil for none.
func Filter[T any](items []T, keep func(T) bool) []T {
	var out []T
	for _, item := range items {
		if keep(item) {
			out = append(out, item)
		}
	}
	return out
}
