package jinja

import (
	"slices"
)

var sequenceFilters = []entryOf{
	{"attr", "name", filterAttr},
	{"batch", "linecount fill_with?", filterBatch},
	{"default", "default_value? boolean?", func(c *call) Value {
		if c.recv.isUndefined() {
			return c.arg(0, stringValue(""))
		}
		if !c.flag(1, false) || truth(c.eval, c.recv) {
			return c.recv
		}
		return c.arg(0, stringValue(""))
	}},
	{"dictsort", "case_sensitive? by? reverse?", filterDictsort},
	{"first", "", func(c *call) Value {
		it := iterate(c.eval, c.recv)
		v, ok := it.next(c.eval)
		if !ok {
			return undefinedHint("No first item, sequence was empty.")
		}
		return v
	}},
	{"last", "", func(c *call) Value {
		next := reversed(c.eval, c.recv)
		v, ok := next(c.eval)
		if !ok {
			return undefinedHint("No last item, sequence was empty.")
		}
		return v
	}},
	{"groupby", "attribute default? case_sensitive?", filterGroupby},
	{"items", "", func(c *call) Value {
		switch c.recv.kind {
		case Undefined:
			return generatorValue("do_items",
				func(*eval) (Value, bool) { return Value{}, false })
		case Dict:
			it := iterate(c.eval, viewValue(c.eval, c.recv, viewItems))
			return generatorValue("do_items",
				func(e *eval) (Value, bool) { return it.next(e) })
		}
		return generatorValue("do_items", func(*eval) (Value, bool) {
			panic(errf(TypeError, "Can only get item pairs from a mapping."))
		})
	}},
	{"join", "d? attribute?", filterJoin},
	{"length", "/", func(c *call) Value {
		return c.computed(intValue(length(c.eval, c.recv)))
	}},
	{"list", "", func(c *call) Value {
		return c.list(collectOwn(c.eval, c.recv))
	}},
	{"map", "* **", filterMap},
	{"max", "case_sensitive? attribute?", func(c *call) Value { return extreme(c, ">") }},
	{"min", "case_sensitive? attribute?", func(c *call) Value { return extreme(c, "<") }},
	{"random", "", filterRandom},
	{"reject", "* **", func(c *call) Value { return filterSelect(c, false, false) }},
	{"rejectattr", "* **", func(c *call) Value { return filterSelect(c, false, true) }},
	{"reverse", "", filterReverse},
	{"select", "* **", func(c *call) Value { return filterSelect(c, true, false) }},
	{"selectattr", "* **", func(c *call) Value { return filterSelect(c, true, true) }},
	{"slice", "slices fill_with?", filterSlice},
	{"sort", "reverse? case_sensitive? attribute?", filterSort},
	{"sum", "attribute? start?", filterSum},
	{"unique", "case_sensitive? attribute?", filterUnique},
}

func filterAttr(c *call) Value {
	name := plain(c.eval, c.args[0])
	v, ok := attribute(c.eval, c.recv, name.text(), methodTables[c.recv.kind][name.text()])
	if !ok {
		return undefinedAttr(c.recv, name.text())
	}
	return v
}

func filterBatch(c *call) Value {
	e, size, fill := c.eval, c.args[0], c.arg(1, noneValue())
	it, err := attempt(e, func() iterator { return iterate(e, c.recv) }, TypeError)
	if err != nil {
		return failing("do_batch", err)
	}
	var batch []Value
	done := false
	return generatorValue("do_batch", func(e *eval) (Value, bool) {
		for !done {
			item, ok := it.next(e)
			if !ok {
				done = true
				break
			}
			if equalValues(e, intValue(len(batch)), size) {
				out := e.list(batch)
				batch = []Value{item}
				return out, true
			}
			batch = append(batch, item)
		}
		if len(batch) == 0 {
			return Value{}, false
		}
		if !fill.isNone() && order(e, "<", intValue(len(batch)), size) {
			n := toInt(size) - len(batch)
			e.chargeProduct(n, 40)
			batch = append(batch, slices.Repeat([]Value{fill}, n)...)
		}
		out := e.list(batch)
		batch = nil
		return out, true
	})
}

// failing is a generator whose use gives an error, where jinja2 finds it only then.
func failing(name string, err error) Value {
	return generatorValue(name, func(*eval) (Value, bool) { panic(err) })
}

func filterDictsort(c *call) Value {
	by := c.arg(1, stringValue("key"))
	place := 0
	switch {
	case by.isString() && by.text() == "key":
	case by.isString() && by.text() == "value":
		place = 1
	default:
		panic(errf(FilterArgumentError, "You can only sort by either \"key\" or \"value\""))
	}
	needs(c.recv, c.recv.kind == Dict, "items")
	sensitive := c.flag(0, false)
	reverse := toInt(c.arg(2, intValue(0)))
	items := collectOwn(c.eval, viewValue(c.eval, c.recv, viewItems))
	sortValues(c.eval, items, func(v Value) Value {
		if v = v.items()[place]; !sensitive {
			return foldString(c.eval, v)
		}
		return v
	}, reverse != 0)
	return c.list(items)
}

// sortValues sorts items by key as Python does: stable, with < only, reversed keeping equal items
// in order.
func sortValues(e *eval, items []Value, key func(Value) Value, reverse bool) {
	keys := make([]Value, len(items))
	for i, item := range items {
		keys[i] = key(item)
	}
	sortByKeys(e, items,
		func(i, j int) bool { return order(e, "<", keys[i], keys[j]) }, reverse)
}

// sortByKeys sorts items; less compares two places of the original order.
func sortByKeys(e *eval, items []Value, less func(i, j int) bool, reverse bool) {
	places := make([]int, len(items))
	for i := range places {
		places[i] = i
	}
	ordered := func(i, j int) bool {
		e.step(1)
		return less(i, j)
	}
	slices.SortStableFunc(places, func(i, j int) int {
		if reverse {
			i, j = j, i
		}
		switch {
		case ordered(i, j):
			return -1
		case ordered(j, i):
			return 1
		}
		return 0
	})
	src := slices.Clone(items)
	for at, place := range places {
		items[at] = src[place]
	}
}

func filterSort(c *call) Value {
	reverse := toInt(c.arg(0, intValue(0)))
	sensitive := c.flag(1, false)
	items := collectOwn(c.eval, c.recv)
	attributes := []Value{c.arg(2, noneValue())}
	if attributes[0].isString() {
		attributes = splitValue(c.eval, attributes[0], stringValue(","), maxIndex).items()
	}
	getters := make([]*getter, len(attributes))
	for i, a := range attributes {
		getters[i] = newGetter(c.eval, a, noneValue(), !sensitive)
	}
	keys := make([][]Value, len(items))
	for i, item := range items {
		keys[i] = make([]Value, len(getters))
		for k, g := range getters {
			keys[i][k] = g.get(item)
		}
	}
	sortByKeys(c.eval, items, func(i, j int) bool {
		k := firstDifference(c.eval, keys[i], keys[j])
		return k >= 0 && order(c.eval, "<", keys[i][k], keys[j][k])
	}, reverse != 0)
	return c.list(items)
}

func filterGroupby(c *call) Value {
	e := c.eval
	sensitive := c.flag(2, false)
	items := collectOwn(e, c.recv)
	key := newGetter(e, c.args[0], c.args[1], !sensitive)
	sortValues(e, items, key.get, false)
	exact := newGetter(e, c.args[0], c.args[1], false)
	var groups []Value
	var last Value
	for _, item := range items {
		k := key.get(item)
		if len(groups) > 0 {
			if equalValues(e, last, k) || same(last, k) {
				members := groups[len(groups)-1].items()[1].seq()
				members.items = append(members.items, item)
				continue
			}
		}
		last = k
		shown := exact.get(item)
		pair := c.pair(shown, c.list([]Value{item}))
		pair.seq().group = true
		groups = append(groups, pair)
	}
	return c.list(groups)
}

func filterJoin(c *call) Value {
	e := c.eval
	sep := c.arg(0, stringValue(""))
	getter := newGetter(e, c.args[1], noneValue(), false)
	markup := false
	items := c.recv
	if e.autoescape {
		// markup among separator and items makes the result markup, and the others escaped
		list := collectOwn(e, items)
		markup = sep.kind == Markup
		for i := range list {
			list[i] = getter.get(list[i])
			markup = markup || list[i].kind == Markup
		}
		items, getter.parts = c.list(list), nil
	}
	if sep = str(e, sep); markup {
		sep = escape(e, sep)
	}
	it := iterate(e, items)
	b := e.builder(64)
	for first := true; ; first = false {
		item, ok := it.next(e)
		if !ok {
			break
		}
		item = getter.get(item)
		size := len(b.buf)
		if !first {
			b.str(sep)
		}
		if markup {
			item = escape(e, item)
		}
		b.print(e, item)
		e.charge(len(b.buf) - size)
	}
	out := b.value()
	if markup {
		out.kind = Markup
	}
	return out
}

func filterMap(c *call) Value {
	e, v := c.eval, c.recv
	args, kwargs := slices.Clone(c.args), slices.Clone(c.kwargs)
	var it iterator
	var f func(Value) Value
	e.step(1)
	return generatorValue("sync_do_map", func(e *eval) (Value, bool) {
		if f == nil {
			if !truth(e, v) {
				return Value{}, false
			}
			f = prepareMap(e, args, kwargs)
			it = iterate(e, v)
		}
		item, ok := it.next(e)
		if !ok {
			return Value{}, false
		}
		return f(item), true
	})
}

func prepareMap(e *eval, args []Value, kwargs []kwarg) func(Value) Value {
	if len(args) == 0 {
		var attribute, def Value
		given := false
		unexpected := ""
		for _, k := range kwargs {
			switch k.name {
			case "attribute":
				attribute, given = k.value, true
			case "default":
				def = k.value
			default:
				if unexpected == "" {
					unexpected = k.name
				}
			}
		}
		if !given {
			panic(errf(FilterArgumentError, "map requires a filter argument"))
		}
		if unexpected != "" {
			panic(errf(FilterArgumentError, "Unexpected keyword argument %s", pyQuote(unexpected)))
		}
		return newGetter(e, attribute, def, false).get
	}
	return func(v Value) Value {
		b := named(e, filters, "filter", args[0])
		return e.invoke(b, v, args[1:], kwargs)
	}
}

// filterSelect is select, reject, selectattr and rejectattr: items are kept whose test, or truth,
// is as wanted.
func filterSelect(c *call, want, byAttribute bool) Value {
	v := c.recv
	args, kwargs := slices.Clone(c.args), slices.Clone(c.kwargs)
	var it iterator
	var get *getter
	return generatorValue("select_or_reject", func(e *eval) (Value, bool) {
		if get == nil {
			if !truth(e, v) {
				return Value{}, false
			}
			attribute := noneValue()
			if byAttribute {
				if len(args) == 0 {
					panic(errf(FilterArgumentError, "Missing parameter for attribute name"))
				}
				attribute, args = args[0], args[1:]
			}
			get = newGetter(e, attribute, noneValue(), false)
			it = iterate(e, v)
		}
		for {
			item, ok := it.next(e)
			if !ok {
				return Value{}, false
			}
			got := get.get(item)
			if len(args) > 0 {
				got = e.invoke(named(e, tests, "test", args[0]), got, args[1:], kwargs)
			}
			if truth(e, got) == want {
				return item, true
			}
		}
	})
}

// extreme is min and max: the first item whose key no other's key is before, by op.
func extreme(c *call, op string) Value {
	e := c.eval
	sensitive := c.flag(0, false)
	get := newGetter(e, c.args[1], noneValue(), !sensitive)
	var best, bestKey Value
	for item := range e.each(c.recv) {
		if key := get.get(item); best.isMissing() || order(e, op, key, bestKey) {
			best, bestKey = item, key
		}
	}
	if best.isMissing() {
		return undefinedHint("No aggregated item, sequence was empty.")
	}
	return best
}

func filterRandom(c *call) Value {
	n := length(c.eval, c.recv)
	if n == 0 {
		return undefinedHint("No random item, sequence was empty.")
	}
	key := intValue(c.eval.rand.IntN(n))
	if c.recv.kind == Dict {
		return mappingItem(c.eval, c.recv, key)
	}
	v, ok := subscript(c.eval, c.recv, key)
	if !ok {
		panic(errf(TypeError, "'%s' object is not subscriptable", typeName(c.recv)))
	}
	return v
}

// reversed is Python's reversed(v), as the next function of an iterator.
func reversed(e *eval, v Value) func(*eval) (Value, bool) {
	var n int
	switch v.kind {
	case Undefined:
		return func(*eval) (Value, bool) { return Value{}, false }
	case List, Tuple, String, Markup, Dict, View, Range:
		n = length(e, v)
	default:
		panic(errf(TypeError, "'%s' object is not reversible", typeName(v)))
	}
	if v.isString() {
		s := v
		return func(e *eval) (Value, bool) {
			if s.num == 0 {
				return Value{}, false
			}
			_, size := decodeLastRune(s.text())
			at := int(s.num) - size
			out := s.substr(at, int(s.num))
			s = s.substr(0, at)
			e.step(1)
			return out, true
		}
	}
	return func(e *eval) (Value, bool) {
		if n--; n < 0 {
			return Value{}, false
		}
		e.step(1)
		switch v.kind {
		case Dict:
			if entries := v.dict().all(); n < len(entries) {
				return entries[n].key, true
			}
		case View:
			if entries := v.view().d.all(); n < len(entries) {
				return v.view().item(e.memory, &entries[n]), true
			}
		case Range:
			return v.rng().at(int64(n)), true
		default:
			if items := v.items(); n < len(items) {
				return items[n], true
			}
		}
		return Value{}, false
	}
}

func filterReverse(c *call) Value {
	if c.recv.isString() {
		return getslice(c.eval, c.recv, noneValue(), noneValue(), intValue(-1))
	}
	e := c.eval
	next, err := attempt(e, func() func(*eval) (Value, bool) { return reversed(e, c.recv) })
	if err == nil {
		return generatorValue(typeName(c.recv)+"_reverseiterator", next)
	}
	items, err := attempt(e, func() []Value { return collectOwn(e, c.recv) }, TypeError)
	if err != nil {
		panic(errf(FilterArgumentError, "argument must be iterable"))
	}
	slices.Reverse(items)
	return c.list(items)
}

func filterSlice(c *call) Value {
	count, fill, v := c.args[0], c.arg(1, noneValue()), c.recv
	var items []Value
	at, offset, slices_, size, extra := -1, 0, 0, 0, 0
	return generatorValue("sync_do_slice", func(e *eval) (Value, bool) {
		if at < 0 {
			items = collectOwn(e, v)
			floordiv(e, intValue(len(items)), count)
			slices_ = toInt(count)
			at = 0
			if slices_ > 0 {
				size, extra = len(items)/slices_, len(items)%slices_
			}
		}
		if at >= slices_ {
			return Value{}, false
		}
		e.step(1)
		start := offset + at*size
		if at < extra {
			offset++
		}
		part := slices.Clone(items[start : offset+(at+1)*size])
		if !fill.isNone() && at >= extra {
			part = append(part, fill)
		}
		at++
		return e.list(part), true
	})
}

func filterSum(c *call) Value {
	e := c.eval
	total := c.arg(1, intValue(0))
	if total.isString() {
		panic(errf(TypeError, "sum() can't sum strings [use ''.join(seq) instead]"))
	}
	get := newGetter(e, c.args[0], noneValue(), false)
	for item := range e.each(c.recv) {
		total = add(e, total, get.get(item))
	}
	return total
}

func filterUnique(c *call) Value {
	e := c.eval
	sensitive := c.flag(0, false)
	get := newGetter(e, c.args[1], noneValue(), !sensitive)
	it, err := attempt(e, func() iterator { return iterate(e, c.recv) }, TypeError)
	if err != nil {
		return failing("do_unique", err)
	}
	seen := c.dict(0)
	return generatorValue("do_unique", func(e *eval) (Value, bool) {
		for {
			item, ok := it.next(e)
			if !ok {
				return Value{}, false
			}
			key := get.get(item)
			if _, old := seen.get(e, key); !old {
				seen.set(e, key, noneValue())
				return item, true
			}
		}
	})
}
