package schema

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goassay/assay/engine/internal/bailout"
	"github.com/goassay/assay/engine/internal/slab"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
)

// Parse reads a schema. Null (a missing schema) allows anything.
func Parse(v ordered.Value) (*Schema, error) { return ParseAt("", v) }

// ParseAt is [Parse] for a schema that is part of something larger; path, such as
// "tools[2].parameters", goes before every path in errors and notes.
func ParseAt(path string, v ordered.Value) (*Schema, error) { return parseAt(path, v, false) }

// ParseObjectAt is [ParseAt] for the parameters of a function: whatever the schema says besides,
// only objects satisfy it.
func ParseObjectAt(path string, v ordered.Value) (*Schema, error) { return parseAt(path, v, true) }

func parseAt(path string, v ordered.Value, object bool) (s *Schema, err error) {
	defer bailout.Catch[*Error](&err)
	if v.IsNull() && !object {
		s := Any()
		s.at = begun(path)
		return s, nil
	} else if v.IsNull() {
		v = objectOnly
	}
	nodes := nodePool.Get().(*slab.Slab[node])
	r := &reader{doc: v, root: begun(path), notes: new([]Note), nodes: nodes}
	defer func() {
		r.nodes.Reset(maxBlock)
		nodePool.Put(r.nodes)
	}()
	roots := []*node{r.node(v, r.root)}
	if object && roots[0].kw.types != Object {
		roots = append(roots, r.node(objectOnly, r.root))
	}
	r.resolve()
	n := &normalizer{reader: r, memo: map[string]*work{}}
	s = n.run(roots)
	if r.referred { // nothing else leads back
		markRecursive(s)
	}
	return s, nil
}

// nodePool has the nodes that no parsing needs at the moment. A pool changes no result, so it may
// belong to the package.
var nodePool = sync.Pool{New: func() any { return new(slab.Slab[node]) }}

// maxBlock bounds the memory that is kept for nodes, in bytes.
const maxBlock = 1 << 20

// objectOnly is the schema of any object.
var objectOnly = ordered.Pairs("type", "object")

// fail leaves the reader; ParseAt returns the error.
func fail(at *path, format string, args ...any) {
	panic(&Error{Path: at.String(), Msg: fmt.Sprintf(format, args...)})
}

// node is a schema as written. Its own keywords and the schemas that it is combined with are kept
// apart.
type node struct {
	id     int
	path   *path
	value  ordered.Value
	kw     keywords
	empty  bool // no keyword of its own
	ref    string
	target *node
	all    []*node
	any    [][]*node
	work   *work // of the normalizer: the parts made of this node alone
	bare   *node // of the normalizer
}

// keywords are the demands that apply to a value directly.
type keywords struct {
	never                bool
	types                TypeSet // 0: not given
	about                TypeSet // the types that the keywords are about
	enum                 []ordered.Value
	minLength, maxLength int
	patterns             []*Pattern
	format               string
	minimum, maximum     *Bound
	prefix               []*node
	items                *node
	minItems, maxItems   int
	minItemsGiven        bool
	properties           []nodeProperty
	required             []string
	patternProperties    []patternNode
	additional           *node
	minProps, maxProps   int
}

type nodeProperty struct {
	name   string
	schema *node
}

type patternNode struct {
	pattern *Pattern
	schema  *node
}

type reader struct {
	doc   ordered.Value
	root  *path
	nodes *slab.Slab[node]
	all   []*node
	// the nodes of objects with keywords; nil until the first reference is resolved
	known map[ordered.Value]*node
	// the members of objects that references lead through
	indexes map[ordered.Value]map[string]ordered.Value
	// nodes whose reference is still to be resolved
	refs     []*node
	referred bool // there were such
	notes    *[]Note
}

func (r *reader) note(at *path, format string, args ...any) {
	*r.notes = append(*r.notes, Note{Path: at.String(), Msg: fmt.Sprintf(format, args...)})
}

// fresh returns a new node.
func (r *reader) fresh() *node {
	n := r.nodes.One()
	r.all = append(r.all, n)
	n.id = len(r.all)
	return n
}

// node reads the schema at a path. One that was read is known by its object: a reference leads back
// to it.
func (r *reader) node(v ordered.Value, at *path) *node {
	if known := r.known[v]; known != nil {
		return known
	}
	if len(r.all) >= MaxNodes {
		fail(at, "more than %d schemas in one document", MaxNodes)
	}
	n := r.fresh()
	n.path, n.value, n.empty = at, v, true
	n.kw.maxLength, n.kw.maxItems, n.kw.maxProps = -1, -1, -1
	if r.known != nil {
		r.know(n)
	}
	switch v.Kind() {
	case ordered.Bool:
		n.empty, n.kw.never = v.Bool(), !v.Bool()
	case ordered.Object:
		nullable := false
		for _, m := range v.Members() {
			r.keyword(n, m.Key, m.Value, &nullable)
		}
		if nullable && n.kw.types != 0 {
			n.kw.types |= Null
		}
	default:
		fail(at, "a schema is an object or a boolean, found %s", v.Kind())
	}
	return n
}

// know remembers a node by its object, unless that is empty: all empty ones are alike.
func (r *reader) know(n *node) {
	if len(n.value.Members()) > 0 {
		r.known[n.value] = n
	}
}

// list reads the schemas in the list that a keyword of n has.
func (r *reader) list(n *node, key string, v ordered.Value) []*node {
	if v.Kind() != ordered.Array || len(v.Items()) == 0 {
		fail(n.path.step(key), "expected a list of schemas, found %s", found(v))
	}
	nodes := make([]*node, len(v.Items()))
	for i, item := range v.Items() {
		nodes[i] = r.node(item, n.path.step(key).at(i))
	}
	return nodes
}

// members returns the members of the object of schemas that a keyword of n has.
func members(n *node, key string, v ordered.Value) []ordered.Member {
	if v.Kind() != ordered.Object {
		fail(n.path.step(key), "expected an object of schemas, found %s", found(v))
	}
	return v.Members()
}

func (r *reader) keyword(n *node, key string, v ordered.Value, nullable *bool) {
	kw := &n.kw
	here := func() *path { return n.path.step(key) }
	own := true // the keyword constrains a value directly
	switch key {
	case "type":
		kw.types = r.types(v, here())
	case "nullable":
		*nullable, own = v.Bool(), false
	case "enum":
		if v.Kind() != ordered.Array {
			fail(here(), "expected a list of values, found %s", found(v))
		}
		if len(v.Items()) > MaxEnum {
			fail(here(), "%d values, at most %d are supported", len(v.Items()), MaxEnum)
		}
		kw.enum = restrict(kw.enum, v.Items())
	case "const":
		kw.enum = restrict(kw.enum, []ordered.Value{v})
	case "minLength":
		kw.minLength = r.lower(v, here())
		kw.about |= String
	case "maxLength":
		kw.maxLength = r.upper(v, here())
		kw.about |= String
	case "pattern":
		if p := r.pattern(v.Kind() == ordered.String, v.Text(), here()); p != nil {
			kw.patterns = append(kw.patterns, p)
		}
		kw.about |= String
	case LarkKeyword:
		p, err := ParseLark(v.Text())
		if err != nil {
			fail(here(), "the grammar: %v", err)
		}
		kw.patterns = append(kw.patterns, p)
		kw.about |= String
	case "format":
		if text, ok := formats[v.Text()]; ok {
			p, _ := ParsePattern(text) // the table is ours
			kw.format = v.Text()
			kw.patterns = append(kw.patterns, p)
			kw.about |= String
		} else {
			r.note(here(), "the format %s is not checked", found(v))
			own = false
		}
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		r.bound(kw, key, v, here())
		kw.about |= Number
	case "properties":
		kw.properties = slices.Grow(kw.properties, len(v.Members()))
		at := here()
		for _, m := range members(n, key, v) {
			kw.properties = append(kw.properties,
				nodeProperty{m.Key, r.node(m.Value, at.step(m.Key))})
		}
		kw.about |= Object
	case "required":
		if v.Kind() == ordered.Bool {
			r.note(here(), "a boolean means nothing here; required is a list of names")
			return
		}
		if v.Kind() != ordered.Array {
			fail(here(), "expected a list of names, found %s", found(v))
		}
		known := make(map[string]bool, len(v.Items()))
		for _, name := range kw.required {
			known[name] = true
		}
		for i, item := range v.Items() {
			if item.Kind() != ordered.String {
				fail(here().at(i), "expected a name, found %s", found(item))
			}
			if name := item.Text(); !known[name] {
				kw.required, known[name] = append(kw.required, name), true
			}
		}
		kw.about |= Object
	case "patternProperties":
		for _, m := range members(n, key, v) {
			at := n.path.step(key).step(m.Key)
			sub := r.node(m.Value, at)
			if p := r.pattern(true, m.Key, at); p != nil {
				kw.patternProperties = append(kw.patternProperties, patternNode{p, sub})
			}
		}
		kw.about |= Object
	case "additionalProperties", "unevaluatedProperties":
		if kw.additional == nil || key == "additionalProperties" {
			kw.additional = r.node(v, n.path.step(key))
		}
		kw.about |= Object
	case "minProperties":
		kw.minProps = r.lower(v, here())
		kw.about |= Object
	case "maxProperties":
		kw.maxProps = r.upper(v, here())
		kw.about |= Object
	case "prefixItems":
		kw.prefix = r.list(n, key, v)
		kw.about |= Array
	case "items":
		if v.Kind() == ordered.Array {
			if len(v.Items()) > 0 {
				kw.prefix = r.list(n, key, v)
			}
		} else {
			kw.items = r.node(v, n.path.step(key))
		}
		kw.about |= Array
	case "additionalItems":
		if kw.items == nil {
			kw.items = r.node(v, n.path.step(key))
		}
		kw.about |= Array
	case "minItems":
		kw.minItems, kw.minItemsGiven = r.lower(v, here()), true
		kw.about |= Array
	case "maxItems":
		kw.maxItems = r.upper(v, here())
		kw.about |= Array
	case "anyOf", "oneOf":
		n.any, own = append(n.any, r.list(n, key, v)), false
	case "allOf":
		n.all, own = r.list(n, key, v), false
	case "$ref", "$dynamicRef":
		if v.Kind() != ordered.String {
			fail(here(), "expected a reference, found %s", found(v))
		}
		n.ref, own = v.Text(), false
		r.refs = append(r.refs, n)
	case "not", "if", "multipleOf", "uniqueItems", "contains", "minContains", "maxContains",
		"propertyNames", "dependentSchemas",
		"dependentRequired", "dependencies", "unevaluatedItems":
		if v.Kind() != ordered.Bool || v.Bool() {
			r.note(here(), "%s is not supported and ignored", key)
		}
		own = false
	default:
		own = false // prose, definitions, and keywords that this version does not know
	}
	if own {
		n.empty = false
	}
}

// found describes a value for a message.
func found(v ordered.Value) string {
	if v.Kind() == ordered.Array && len(v.Items()) == 0 {
		return "an empty list"
	}
	if text := ordered.Excerpt(v, 41); len(text) <= 40 {
		return text
	}
	return v.Kind().String()
}

// restrict intersects the values of two enums; the first may be nil, which allows all.
func restrict(have, more []ordered.Value) []ordered.Value {
	out := []ordered.Value{}
	known := map[string]bool{}
	for _, v := range have {
		known[ordered.Canonical(v)] = true
	}
	seen := map[string]bool{}
	for _, v := range more {
		key := ordered.Canonical(v)
		if !seen[key] && (have == nil || known[key]) {
			out = append(out, v)
		}
		seen[key] = true
	}
	return out
}

func (r *reader) types(v ordered.Value, at *path) TypeSet {
	if v.Kind() == ordered.String {
		return r.typeNamed(v.Text(), at)
	}
	if v.Kind() != ordered.Array || len(v.Items()) == 0 {
		fail(at, "expected the name of a type or a list of names, found %s", found(v))
	}
	var set TypeSet
	for i, item := range v.Items() {
		here := at.at(i)
		if item.Kind() != ordered.String {
			fail(here, "expected the name of a type, found %s", found(item))
		}
		set |= r.typeNamed(item.Text(), here)
	}
	return set
}

func (r *reader) typeNamed(name string, at *path) TypeSet {
	if name == "any" {
		return AnyType
	}
	for _, t := range typeNames {
		if t.name == name {
			return t.set
		}
	}
	if set, ok := typeAliases[strings.ToLower(name)]; ok {
		r.note(at, "%q is no type of JSON Schema; it is read as %s", source.CutMiddle(name, maxPath), set)
		return set
	}
	r.note(at, "unknown type %q, read as any; the types are string, number, integer, boolean, "+
		"null, array and object", source.CutMiddle(name, maxPath))
	(*r.notes)[len(*r.notes)-1].Fault = true
	return AnyType
}

// typeAliases are names that tools made from the types of a programming language have for those of
// JSON Schema.
var typeAliases = map[string]TypeSet{
	"str": String, "text": String, "char": String, "varchar": String,
	"float": Number, "double": Number, "decimal": Number, "number": Number, "real": Number,
	"int": Integer, "int32": Integer, "int64": Integer, "uint": Integer, "long": Integer,
	"integer": Integer,
	"bool":    Boolean, "boolean": Boolean,
	"list": Array, "tuple": Array, "set": Array, "array": Array,
	"dict": Object, "map": Object, "object": Object, "string": String,
	"none": Null, "nil": Null, "null": Null,
}

// lower and upper read a count. A count may be written as 1.0.
func (r *reader) lower(v ordered.Value, at *path) int {
	n := r.countOf(v, at)
	if n > MaxCount {
		fail(at, "%s is more than the %d that are supported", found(v), MaxCount)
	}
	return n
}

func (r *reader) upper(v ordered.Value, at *path) int {
	n := r.countOf(v, at)
	if n > MaxCount {
		r.note(at, "%s is beyond the %d that are checked, taken as no bound", found(v), MaxCount)
		return -1
	}
	return n
}

func (r *reader) countOf(v ordered.Value, at *path) int {
	x, ok := ordered.Rational(v.Text())
	if v.Kind() != ordered.Number || ok && (!x.IsInt() || x.Sign() < 0) {
		fail(at, "expected a count, found %s", found(v))
	}
	if !ok || !x.Num().IsInt64() || x.Num().Int64() > MaxCount {
		return MaxCount + 1
	}
	return int(x.Num().Int64())
}

func (r *reader) pattern(isString bool, text string, at *path) *Pattern {
	if !isString {
		fail(at, "expected a regular expression as a string")
	}
	p, err := ParsePattern(text)
	switch {
	case errors.Is(err, errUnsupported):
		r.note(at, "the pattern is ignored: %v is not in the regular subset", err)
		return nil
	case err != nil:
		fail(at, "%v", err)
	}
	return p
}

func (r *reader) bound(kw *keywords, key string, v ordered.Value, at *path) {
	lower := strings.HasSuffix(strings.ToLower(key), "minimum")
	exclusive := strings.HasPrefix(key, "exclusive")
	if exclusive && v.Kind() == ordered.Bool { // draft 4: a flag of the other keyword
		if v.Bool() {
			if lower {
				kw.minimum = tighter(kw.minimum, &Bound{Exclusive: true}, lower)
			} else {
				kw.maximum = tighter(kw.maximum, &Bound{Exclusive: true}, lower)
			}
		}
		return
	}
	if v.Kind() != ordered.Number {
		fail(at, "expected a number, found %s", found(v))
	}
	x, ok := ordered.Rational(v.Text())
	if !ok {
		r.note(at, "%s is too large or too small to be checked", found(v))
		return
	}
	b := &Bound{Value: x, Exclusive: exclusive}
	if lower {
		kw.minimum = tighter(kw.minimum, b, lower)
	} else {
		kw.maximum = tighter(kw.maximum, b, lower)
	}
}

// tighter returns the stricter of two bounds, of which the first may be nil. A bound without a
// value is draft 4's flag, which makes the other one exclusive.
func tighter(a, b *Bound, lower bool) *Bound {
	switch {
	case a == nil:
		return b
	case a.Value == nil || b.Value == nil:
		value := a.Value
		if value == nil {
			value = b.Value
		}
		return &Bound{Value: value, Exclusive: true}
	}
	c := a.Value.Cmp(b.Value)
	if !lower {
		c = -c
	}
	switch {
	case c > 0:
		return a
	case c < 0:
		return b
	}
	return &Bound{Value: a.Value, Exclusive: a.Exclusive || b.Exclusive}
}

// resolve follows the references of all nodes, reading the schemas that only references lead to.
func (r *reader) resolve() {
	if r.referred = len(r.refs) > 0; r.referred {
		r.known = map[ordered.Value]*node{}
		for _, n := range r.all {
			r.know(n)
		}
	}
	for len(r.refs) > 0 {
		n := r.refs[0]
		r.refs = r.refs[1:]
		n.target = r.lookup(n.ref, n.path.step("$ref"))
	}
}

// anything is the schema of any value, in place of one that a reference does not lead to.
func (r *reader) anything(ref string, at *path, format string, args ...any) *node {
	r.note(at, "%q is read as any value: "+format,
		append([]any{source.CutMiddle(ref, maxPath)}, args...)...)
	return r.node(ordered.ObjectOf(), at)
}

// unescaped returns the text of a URI's fragment with its percent-encoded bytes decoded (RFC 3986,
// section 2.1), and the text itself where an escape is malformed. Package net/url would do it, and
// links four packages more.
func unescaped(fragment string) string {
	parts := strings.Split(fragment, "%")
	for i, part := range parts[1:] {
		if len(part) < 2 {
			return fragment
		}
		b, err := strconv.ParseUint(part[:2], 16, 8)
		if err != nil {
			return fragment
		}
		parts[i+1] = string([]byte{byte(b)}) + part[2:]
	}
	return strings.Join(parts, "")
}

// lookup returns the schema that a reference leads to: a JSON pointer (RFC 6901) inside the
// document.
func (r *reader) lookup(ref string, at *path) *node {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return r.anything(ref, at, "only references inside the document, such as "+
			"#/$defs/name, are supported")
	}
	pointer = unescaped(pointer)
	v, where := r.doc, r.root
	if pointer == "" {
		return r.node(v, where)
	} else if pointer[0] != '/' {
		return r.anything(ref, at, "anchors are not supported; write a path such as #/$defs/name")
	}
	for key := range strings.SplitSeq(pointer[1:], "/") {
		key = strings.ReplaceAll(strings.ReplaceAll(key, "~1", "/"), "~0", "~")
		next, ok := r.member(v, key)
		if i, err := strconv.Atoi(key); err == nil && v.Kind() == ordered.Array && i >= 0 &&
			i < len(v.Items()) {
			next, ok = v.Items()[i], true
			where = where.at(i)
		} else {
			where = where.step(key)
		}
		if !ok {
			return r.anything(ref, at, "it leads nowhere, there is no %s",
				strings.TrimPrefix(where.below(r.root).String(), "."))
		}
		v = next
	}
	return r.node(v, where)
}

// indexFrom is the number of members from which those of an object are found by a map.
const indexFrom = 16

// member is [ordered.Value.Get] for an object that many references lead through.
func (r *reader) member(v ordered.Value, key string) (ordered.Value, bool) {
	members := v.Members()
	if len(members) < indexFrom {
		return v.Get(key)
	}
	index := r.indexes[v]
	if index == nil {
		index = make(map[string]ordered.Value, len(members))
		for _, m := range members {
			index[m.Key] = m.Value
		}
		if r.indexes == nil {
			r.indexes = map[ordered.Value]map[string]ordered.Value{}
		}
		r.indexes[v] = index
	}
	found, ok := index[key]
	return found, ok
}

// SortProperties returns a schema with all properties in alphabetical order, as jinja2's dictsort
// has it: without regard to case.
func SortProperties(v ordered.Value) ordered.Value {
	return ordered.Rewrite(v, func(v ordered.Value) ordered.Value {
		for _, m := range v.Members() {
			if m.Key == "properties" {
				slices.SortStableFunc(m.Value.Members(), func(x, y ordered.Member) int {
					return strings.Compare(strings.ToLower(x.Key), strings.ToLower(y.Key))
				})
			}
		}
		return v
	})
}
