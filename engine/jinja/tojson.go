package jinja

import (
	"math"
	"sort"
	"strconv"
	"strings"
	"unsafe"

	"github.com/goassay/assay/engine/ordered"
)

// encoder writes json.dumps(v, ensure_ascii, indent, separators, sort_keys).
type encoder struct {
	builder
	e            *eval
	ascii        bool
	pretty       bool
	indent       string
	comma, colon string
	sortKeys     bool
	active       []unsafe.Pointer
	depth        int
}

// filterJSON is tojson as transformers defines it: json.dumps with ensure_ascii off.
func filterJSON(c *call) Value {
	j := encoder{builder: builder{buf: c.scratch[:0], runs: c.scratchRuns[:0], on: c.origins},
		e: c.eval, comma: ", ", colon: ": "}
	field := c.recv.prov.field()
	if field != nil {
		j.on = false
	}
	j.ascii = truth(c.eval, c.args[0])
	j.sortKeys = truth(c.eval, c.args[3])
	if !c.arg(1, noneValue()).isNone() {
		j.pretty, j.comma = true, ","
	}
	if v := c.arg(2, noneValue()); !v.isNone() {
		pair := collect(c.eval, v)
		if len(pair) != 2 {
			panic(errf(ValueError, "separators must be a pair (item_separator, key_separator)"))
		}
		for i, part := range []*string{&j.comma, &j.colon} {
			if !pair[i].isString() && !c.recv.isString() {
				panic(errf(TypeError, "a separator must be str, not %s", typeName(pair[i])))
			} else if pair[i].isString() {
				*part = pair[i].text()
			}
		}
	}
	if c.recv.isString() { // json.dumps looks at nothing else then
		j.text(c.recv)
		c.charge(len(j.buf))
		return j.finish(field)
	}
	switch v := c.arg(1, noneValue()); {
	case v.isNone():
	case v.isString():
		j.indent = v.text()
	default:
		j.indent = mul(c.eval, stringValue(" "), v).text()
	}
	j.value(c.recv)
	return j.finish(field)
}

// maxScratch bounds the buffer that is kept, in bytes.
const maxScratch = 1 << 20

// finish returns the text, all of which is from a field where there is one, and gives the buffer
// back.
func (j *encoder) finish(field *prov) Value {
	v := stringValue(j.e.text(j.buf)).withProv(field)
	if j.on {
		v.prov = j.e.prov(append(j.e.runs.Take(len(j.runs))[:0], j.runs...))
		j.e.scratchRuns = j.runs
	}
	if cap(j.buf) <= maxScratch {
		j.e.scratch = j.buf
	}
	return v
}

func (j *encoder) put(s string, r run) {
	start := len(j.buf)
	j.buf = append(j.buf, s...)
	j.mark(start, r)
}

func (j *encoder) newline(r run) {
	if !j.pretty {
		return
	}
	j.e.chargeProduct(j.depth, len(j.indent)+1)
	start := len(j.buf)
	j.rawNewline()
	j.mark(start, r)
}

func (j *encoder) value(v Value) {
	start := len(j.buf)
	switch v.kind {
	case String, Markup:
		j.text(v)
	case List, Tuple, Dict:
		if field := v.prov.field(); j.on && field != nil { // all of the text is from there
			j.on = false
			j.container(v)
			j.on = true
			j.mark(start, field.run)
			return
		}
		j.container(v)
		return
	case None:
		j.put("null", leaf(v, JSON))
	case Bool:
		j.put(strconv.FormatBool(v.bool()), leaf(v, JSON))
	case Int:
		j.buf = strconv.AppendInt(j.buf, v.int(), 10)
		j.mark(start, leaf(v, JSON))
	case BigInt:
		j.put(bigText(v), leaf(v, JSON))
	case Float:
		j.put(jsonFloat(v.float()), leaf(v, JSON))
	default:
		panic(errf(TypeError, "Object of type %s is not JSON serializable", typeName(v)))
	}
	j.e.charge(len(j.buf) - start)
}

// jsonFloat is json's text of a float.
func jsonFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return string(appendFloat(nil, f))
}

// text writes a string; its quotes are structure.
func (j *encoder) text(v Value) {
	if !j.on {
		j.buf = ordered.AppendQuoted(j.buf, v.text(), j.ascii)
		return
	}
	quotes := run{}
	if n := v.origin(); n != nil {
		quotes = structure(Value{prov: &n.val}, JSON)
	}
	j.put(`"`, quotes)
	j.encode(v, JSON, func(dst []byte, s string) []byte {
		return ordered.AppendEscaped(dst, s, j.ascii)
	})
	j.put(`"`, quotes)
}

func (j *encoder) container(v Value) {
	if !j.on && !j.sortKeys && len(j.indent) <= 64 {
		start := len(j.buf)
		if v.kind == Dict && v.dict().src != nil {
			j.rawMembers(v.dict().src)
			j.e.charge(len(j.buf) - start)
			return
		}
		if v.kind == List && v.seq().src != nil {
			j.rawItems(v.seq().src)
			j.e.charge(len(j.buf) - start)
			return
		}
	}
	j.e.enter()
	defer j.e.leave()
	if j.e.mutable {
		for _, p := range j.active {
			if p == v.ref {
				panic(errf(ValueError, "Circular reference detected"))
			}
		}
		j.active = append(j.active, v.ref)
		defer func() { j.active = j.active[:len(j.active)-1] }()
	}
	around := structure(v, JSON)
	first, last := "[", "]"
	n := 0
	if v.kind == Dict {
		first, last = "{", "}"
		n = v.dict().len()
	} else {
		n = v.seq().len()
	}
	j.e.step(n)
	if n == 0 {
		j.put(first+last, around)
		return
	}
	j.put(first, around)
	j.depth++
	if v.kind == Dict {
		j.members(v, around)
	} else {
		for i, item := range v.items() {
			if i > 0 {
				j.put(j.comma, around)
			}
			j.newline(around)
			j.value(item)
		}
	}
	j.depth--
	j.newline(around)
	j.put(last, around)
	j.e.charge(2)
}

func (j *encoder) members(v Value, around run) {
	entries := v.dict().all()
	if j.sortKeys {
		sorted := append([]entry(nil), entries...)
		sort.SliceStable(sorted, func(a, b int) bool {
			return order(j.e, "<", sorted[a].key, sorted[b].key)
		})
		entries = sorted
	}
	first := true
	for i := range entries {
		key, value := entries[i].key, entries[i].value
		text, start := "", len(j.buf)
		switch key.kind {
		case String, Markup:
		case None:
			text = "null"
		case Bool:
			text = strconv.FormatBool(key.bool())
		case Int:
			text = strconv.FormatInt(key.int(), 10)
		case Float:
			text = jsonFloat(key.float())
		case BigInt:
			text = bigText(key)
		default:
			panic(errf(TypeError, "keys must be str, int, float, bool "+
				"or None, not %s", typeName(key)))
		}
		if !first {
			j.put(j.comma, around)
		}
		first = false
		j.newline(around)
		if key.isString() {
			j.text(key)
		} else {
			j.put(`"`+text+`"`, leaf(key, JSON))
		}
		j.e.charge(len(j.buf) - start)
		j.put(j.colon, around)
		j.value(value)
	}
}

// raw writes JSON that has not been converted to template values yet.
func (j *encoder) raw(v *ordered.Value) {
	switch v.Kind() {
	case ordered.String:
		j.buf = ordered.AppendQuoted(j.buf, v.Text(), j.ascii)
	case ordered.Array:
		j.rawItems(v.Items())
	case ordered.Object:
		j.rawMembers(v.Members())
	case ordered.Number:
		text := v.Text()
		if text == "-0" {
			text = "0"
		} else if strings.ContainsAny(text, ".eE") {
			text = jsonFloat(parseNumber(text).float())
		}
		j.buf = append(j.buf, text...)
	case ordered.Bool:
		j.buf = strconv.AppendBool(j.buf, v.Bool())
	default:
		j.buf = append(j.buf, "null"...)
	}
}

func (j *encoder) rawItems(items []ordered.Value) {
	if len(items) == 0 {
		j.buf = append(j.buf, "[]"...)
		return
	}
	j.buf = append(j.buf, '[')
	j.depth++
	for i := range items {
		j.rawSeparator(i)
		j.raw(&items[i])
	}
	j.depth--
	j.rawNewline()
	j.buf = append(j.buf, ']')
}

func (j *encoder) rawMembers(members []ordered.Member) {
	if len(members) == 0 {
		j.buf = append(j.buf, "{}"...)
		return
	}
	j.buf = append(j.buf, '{')
	j.depth++
	for i := range members {
		j.rawSeparator(i)
		j.buf = append(ordered.AppendQuoted(j.buf, members[i].Key, j.ascii), j.colon...)
		j.raw(&members[i].Value)
	}
	j.depth--
	j.rawNewline()
	j.buf = append(j.buf, '}')
}

func (j *encoder) rawSeparator(i int) {
	if i > 0 {
		j.buf = append(j.buf, j.comma...)
	}
	j.rawNewline()
}

func (j *encoder) rawNewline() {
	if j.pretty {
		j.buf = append(j.buf, '\n')
		for range j.depth {
			j.buf = append(j.buf, j.indent...)
		}
	}
}
