package gonja

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/nikolalohinski/gonja/v2/exec"

	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
)

// list is a list as gonja sees it. Gonja's own look-up refuses the index -n of a list of n items.
type list []any

// GetItem implements gonja's exec.ItemGetter.
func (l list) GetItem(key any) (*exec.Value, bool) {
	i, ok := key.(int)
	if !ok {
		return exec.AsValue(nil), false
	}
	if i < 0 {
		i += len(l)
	}
	if i < 0 || i >= len(l) {
		return exec.AsValue(nil), false
	}
	return exec.ToValue(l[i]), true
}

// fromJSON returns a JSON value as gonja sees it: objects as its ordered dictionary, numbers
// without point or exponent as integers.
func fromJSON(v ordered.Value) *exec.Value {
	switch v.Kind() {
	case ordered.Bool:
		return exec.AsValue(v.Bool())
	case ordered.Number:
		if n, err := strconv.Atoi(v.Text()); err == nil {
			return exec.AsValue(n)
		}
		f, _ := strconv.ParseFloat(v.Text(), 64)
		return exec.AsValue(f)
	case ordered.String:
		return exec.AsValue(v.Text())
	case ordered.Array:
		items := make(list, len(v.Items()))
		for i, item := range v.Items() {
			items[i] = fromJSON(item).Interface()
		}
		return exec.AsValue(items)
	case ordered.Object:
		d := exec.NewDict()
		for _, m := range v.Members() {
			d.Pairs = append(d.Pairs,
				&exec.Pair{Key: exec.AsValue(m.Key), Value: fromJSON(m.Value)})
		}
		return exec.AsValue(d)
	}
	return exec.AsValue(nil)
}

// maxDepth bounds the nesting of a value that is written as JSON.
const maxDepth = 1000

// jsonStyle is the style that tojson's arguments select.
type jsonStyle struct {
	comma, colon string
	indent       string
	pretty       bool
	ascii, sort  bool
}

// writeJSON appends a value as Python's json.dumps does.
func writeJSON(b *strings.Builder, v *exec.Value, s jsonStyle, depth int) error {
	if depth > maxDepth {
		return errors.New("tojson: the value is nested too deeply")
	}
	switch {
	case v.IsNil():
		b.WriteString("null")
	case v.IsBool():
		b.WriteString(strconv.FormatBool(v.Bool()))
	case v.IsInteger():
		b.WriteString(strconv.Itoa(v.Integer()))
	case v.IsFloat():
		b.WriteString(floatText(v.Float()))
	case v.IsString():
		b.Write(ordered.AppendQuoted(nil, v.String(), s.ascii))
	case v.IsDict():
		pairs := pairsOf(v)
		if s.sort {
			slices.SortStableFunc(pairs,
				func(p, q *exec.Pair) int {
					return strings.Compare(p.Key.String(), q.Key.String())
				})
		}
		return writeItems(b, "{", "}", len(pairs), s, depth, func(i int) error {
			b.Write(ordered.AppendQuoted(nil, pairs[i].Key.String(), s.ascii))
			b.WriteString(s.colon)
			return writeJSON(b, pairs[i].Value, s, depth+1)
		})
	case v.IsList():
		return writeItems(b, "[", "]", v.Len(), s, depth,
			func(i int) error { return writeJSON(b, v.Index(i), s, depth+1) })
	default:
		return fmt.Errorf("tojson: a value of type %s is not JSON", v.Val.Type())
	}
	return nil
}

func writeItems(b *strings.Builder, open, end string, n int, s jsonStyle, depth int,
	write func(int) error) error {
	line := func(depth int) {
		if s.pretty {
			b.WriteString("\n" + strings.Repeat(s.indent, depth))
		}
	}
	b.WriteString(open)
	for i := range n {
		if i > 0 {
			b.WriteString(s.comma)
		}
		line(depth + 1)
		if err := write(i); err != nil {
			return err
		}
	}
	if n > 0 {
		line(depth)
	}
	b.WriteString(end)
	return nil
}

// pairsOf returns a dictionary's pairs: in order for gonja's own, sorted by key for a Go map.
func pairsOf(v *exec.Value) []*exec.Pair {
	switch d := v.Interface().(type) {
	case *exec.Dict:
		return slices.Clone(d.Pairs)
	case exec.Dict:
		return slices.Clone(d.Pairs)
	}
	pairs := lists.Map(v.Val.MapKeys(), func(key reflect.Value) *exec.Pair {
		return &exec.Pair{Key: exec.ToValue(key), Value: exec.ToValue(v.Val.MapIndex(key))}
	})
	slices.SortFunc(pairs,
		func(p, q *exec.Pair) int { return strings.Compare(p.Key.String(), q.Key.String()) })
	return pairs
}

// floatText writes a float as Python's repr does.
func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// unwrap returns the Go value after gonja's wrappers, so that a container does not hold a value in
// a value.
func unwrap(v *exec.Value) any {
	for v != nil && v.Val.IsValid() && v.Val.Type() == reflect.TypeFor[*exec.Value]() {
		v = v.Interface().(*exec.Value)
	}
	if v == nil || v.IsNil() {
		return nil
	}
	return v.Interface()
}
