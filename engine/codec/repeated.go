package codec

import (
	"bytes"

	"github.com/goassay/assay/engine/schema"
)

// Repeated has the values of entries that follow each other with one key, where objects are spelled
// as tags: one value, or the items of an array (E18). The zero value has none.
type Repeated struct {
	json []byte
	ends []int // of all values but the last
	some bool
}

// Begin begins a value.
func (r *Repeated) Begin() {
	if r.some {
		r.ends = append(r.ends, len(r.json))
	}
	r.some = true
}

// Add adds to the JSON of the value at hand.
func (r *Repeated) Add(text []byte) { r.json = append(r.json, text...) }

// Append appends the JSON of the values that have come, and forgets them. The schema is that of the
// entry. Of an array whose items are none, a value that is one holds several items. Where the last
// value is not whole, neither is the JSON.
func (r *Repeated) Append(dst []byte, s *schema.Schema, whole bool) []byte {
	isArray := func(value []byte) bool { return bytes.HasPrefix(value, []byte("[")) }
	defer func() { *r = Repeated{json: r.json[:0], ends: r.ends[:0]} }()
	if len(r.ends) == 0 && (!whole || isArray(r.json) || s.Types() != schema.Array &&
		(s.Types() != schema.Array|schema.Null || string(r.json) == "null")) {
		return append(dst, r.json...)
	}
	flat := s.Item().Types()&schema.Array == 0
	dst = append(dst, '[')
	items, from := 0, 0
	for i := range len(r.ends) + 1 {
		to := len(r.json)
		if i < len(r.ends) {
			to = r.ends[i]
		}
		value, last := r.json[from:to], i == len(r.ends)
		from = to
		if flat && isArray(value) {
			if value = value[1:]; !last || whole {
				value = value[:len(value)-1]
			}
		}
		if len(value) == 0 && !(last && !whole) {
			continue
		}
		if items > 0 {
			dst = append(dst, ", "...)
		}
		dst, items = append(dst, value...), items+1
	}
	if whole {
		dst = append(dst, ']')
	}
	return dst
}
