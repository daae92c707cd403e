package jinja

import (
	"slices"
)

var sequenceFilters = []entryOf{
	{"attr", "name", filterAttr},
	{"batch", "linecount fill_with?", filterBatch},
	{"default", "default_value? boolean?", func(c *call) (Value, error) {
		if c.recv.isUndefined() {
			return c.arg(0, stringValue("")), nil
		}
		if on, err := c.flag(1, false); err != nil || !on {
			return c.recv, err
		}
		if ok, err := truth(c.eval, c.recv); ok || err != nil {
			return c.recv, err
		}
		return c.arg(0, stringValue("")), nil
	}},
	{"dictsort", "case_sensitive? by? reverse?", filterDictsort},
	{"first", "", func(c *call) (Value, error) {
		it, err := iterate(c.eval, c.recv)
		if err != nil {
			return Value{}, err
		}
		v, ok, err := it.next(c.eval)
		if !ok {
			return undefinedHint("No first item, sequence was empty."), err
		}
		return v, nil
	}},
	{"last", "", func(c *call) (Value, error) {
		next, err := reversed(c.eval, c.recv)
		if err != nil {
			return Value{}, err
		}
		v, ok, err := next(c.eval)
		if !ok {
			return undefinedHint("No last item, sequence was empty."), err
		}
		return v, nil
	}},
	{"groupby", "attribute default? case_sensitive?", filterGroupby},
	{"items", "", func(c *call) (Value, error) {
		switch c.recv.kind {
		case Undefined:
			return generatorValue("do_items",
				func(*eval) (Value, bool, error) { return Value{}, false, nil }), nil
		case Dict:
			it, err := iterate(c.eval, viewValue(c.eval, c.recv, viewItems))
			return generatorValue("do_items", it.next), err
		}
		return generatorValue("do_items", func(*eval) (Value, bool, error) {
			return Value{}, false, errf(TypeError, "Can only get item pairs from a mapping.")
		}), nil
	}},
	{"join", "d? attribute?", filterJoin},
	{"length", "/", func(c *call) (Value, error) {
		n, err := length(c.eval, c.recv)
		return c.computed(intValue(n)), err
	}},
	{"list", "", func(c *call) (Value, error) {
		items, err := collectOwn(c.eval, c.recv)
		return c.list(items), err
	}},
	{"map", "* **", filterMap},
	{"max", "case_sensitive? attribute?", func(c *call) (Value, error) { return extreme(c, ">") }},
	{"min", "case_sensitive? attribute?", func(c *call) (Value, error) { return extreme(c, "<") }},
	{"random", "", filterRandom},
	{"reject", "* **", func(c *call) (Value, error) { return filterSelect(c, false, false) }},
	{"rejectattr", "* **", func(c *call) (Value, error) { return filterSelect(c, false, true) }},
	{"reverse", "", filterReverse},
	{"select", "* **", func(c *call) (Value, error) { return filterSelect(c, true, false) }},
	{"selectattr", "* **", func(c *call) (Value, error) { return filterSelect(c, true, true) }},
	{"slice", "slices fill_with?", filterSlice},
	{"sort", "reverse? case_sensitive? attribute?", filterSort},
	{"sum", "attribute? start?", filterSum},
	{"unique", "case_sensitive? attribute?", filterUnique},
}

func filterAttr(c *call) (Value, error) {
	name, err := plain(c.eval, c.args[0])
	if err != nil {
		return Value{}, err
	}
	v, ok, err := attribute(c.eval, c.recv, name.text(), methodTables[c.recv.kind][name.text()])
	if err != nil {
		return Value{}, err
	}
	if !ok {
		return undefinedAttr(c.recv, name.text()), nil
	}
	return v, nil
}

func filterBatch(c *call) (Value, error) {
	e, size, fill := c.eval, c.args[0], c.arg(1, noneValue())
	it, err := iterate(e, c.recv)
	if err != nil {
		return failing("do_batch", err), nil
	}
	var batch []Value
	done := false
	return generatorValue("do_batch", func(e *eval) (Value, bool, error) {
		for !done {
			item, ok, err := it.next(e)
			if err != nil {
				return Value{}, false, err
			}
			if !ok {
				done = true
				break
			}
			full, err := equalValues(e, intValue(len(batch)), size)
			if err != nil {
				return Value{}, false, err
			}
			if full {
				out := e.list(batch)
				batch = []Value{item}
				return out, true, nil
			}
			batch = append(batch, item)
		}
		if len(batch) == 0 {
			return Value{}, false, nil
		}
		if !fill.isNone() {
			short, err := order(e, "<", intValue(len(batch)), size)
			if err != nil {
				return Value{}, false, err
			}
			if short {
				n, err := toInt(size)
				if err != nil {
					return Value{}, false, err
				}
				n -= len(batch)
				if err := e.chargeProduct(n, 40); err != nil {
					return Value{}, false, err
				}
				batch = append(batch, slices.Repeat([]Value{fill}, n)...)
			}
		}
		out := e.list(batch)
		batch = nil
		return out, true, nil
	}), nil
}

// failing is a generator whose use gives an error, where jinja2 finds it only then.
func failing(name string, err error) Value {
	return generatorValue(name, func(*eval) (Value, bool, error) { return Value{}, false, err })
}

func filterDictsort(c *call) (Value, error) {
	by := c.arg(1, stringValue("key"))
	place := 0
	switch {
	case by.isString() && by.text() == "key":
	case by.isString() && by.text() == "value":
		place = 1
	default:
		return Value{}, errf(FilterArgumentError, "You can only sort by either "+
			"\"key\" or \"value\"")
	}
	if c.recv.kind == Undefined {
		return Value{}, undefinedError(c.recv)
	}
	if c.recv.kind != Dict {
		return Value{}, errf(AttributeError, "'%s' object has no attribute 'items'",
			typeName(c.recv))
	}
	sensitive, err := c.flag(0, false)
	if err != nil {
		return Value{}, err
	}
	reverse, err := toInt(c.arg(2, intValue(0)))
	if err != nil {
		return Value{}, err
	}
	items, err := collectOwn(c.eval, viewValue(c.eval, c.recv, viewItems))
	if err != nil {
		return Value{}, err
	}
	err = sortValues(c.eval, items, func(v Value) (Value, error) {
		if v = v.items()[place]; !sensitive {
			return foldString(c.eval, v)
		}
		return v, nil
	}, reverse != 0)
	return c.list(items), err
}

// sortValues sorts items by key as Python does: stable, with < only, reversed keeping equal items
// in order.
func sortValues(e *eval, items []Value, key func(Value) (Value, error), reverse bool) error {
	keys := make([]Value, len(items))
	for i, item := range items {
		var err error
		if keys[i], err = key(item); err != nil {
			return err
		}
	}
	return sortByKeys(e, items,
		func(i, j int) (bool, error) { return order(e, "<", keys[i], keys[j]) }, reverse)
}

// sortByKeys sorts items; less compares two places of the original order.
func sortByKeys(e *eval, items []Value, less func(i, j int) (bool, error), reverse bool) error {
	places := make([]int, len(items))
	for i := range places {
		places[i] = i
	}
	var failed error
	ordered := func(i, j int) bool {
		if failed != nil {
			return false
		}
		if failed = e.step(1); failed != nil {
			return false
		}
		var ok bool
		ok, failed = less(i, j)
		return ok
	}
	slices.SortStableFunc(places, func(i, j int) int {
		if reverse {
			i, j = j, i
		}
		switch {
		case ordered(i, j):
			return -1
		case failed == nil && ordered(j, i):
			return 1
		}
		return 0
	})
	if failed != nil {
		return failed
	}
	src := slices.Clone(items)
	for at, place := range places {
		items[at] = src[place]
	}
	return nil
}

func filterSort(c *call) (Value, error) {
	reverse, err := toInt(c.arg(0, intValue(0)))
	if err != nil {
		return Value{}, err
	}
	sensitive, err := c.flag(1, false)
	if err != nil {
		return Value{}, err
	}
	items, err := collectOwn(c.eval, c.recv)
	if err != nil {
		return Value{}, err
	}
	attributes := []Value{c.arg(2, noneValue())}
	if attributes[0].isString() {
		parts, err := splitValue(c.eval, attributes[0], stringValue(","), maxIndex)
		if err != nil {
			return Value{}, err
		}
		attributes = parts.items()
	}
	getters := make([]*getter, len(attributes))
	for i, a := range attributes {
		getters[i] = newGetter(c.eval, a, noneValue(), !sensitive)
	}
	keys := make([][]Value, len(items))
	for i, item := range items {
		keys[i] = make([]Value, len(getters))
		for k, g := range getters {
			if keys[i][k], err = g.get(item); err != nil {
				return Value{}, err
			}
		}
	}
	err = sortByKeys(c.eval, items, func(i, j int) (bool, error) {
		k, err := firstDifference(c.eval, keys[i], keys[j])
		if k < 0 || err != nil {
			return false, err
		}
		return order(c.eval, "<", keys[i][k], keys[j][k])
	}, reverse != 0)
	return c.list(items), err
}

func filterGroupby(c *call) (Value, error) {
	e := c.eval
	sensitive, err := c.flag(2, false)
	if err != nil {
		return Value{}, err
	}
	items, err := collectOwn(e, c.recv)
	if err != nil {
		return Value{}, err
	}
	key := newGetter(e, c.args[0], c.args[1], !sensitive)
	if err := sortValues(e, items, key.get, false); err != nil {
		return Value{}, err
	}
	exact := newGetter(e, c.args[0], c.args[1], false)
	var groups []Value
	var last Value
	for _, item := range items {
		k, err := key.get(item)
		if err != nil {
			return Value{}, err
		}
		if len(groups) > 0 {
			eq, err := equalValues(e, last, k)
			if err != nil {
				return Value{}, err
			}
			if eq || same(last, k) {
				members := groups[len(groups)-1].items()[1].seq()
				members.items = append(members.items, item)
				continue
			}
		}
		last = k
		shown, err := exact.get(item)
		if err != nil {
			return Value{}, err
		}
		pair := c.pair(shown, c.list([]Value{item}))
		pair.seq().group = true
		groups = append(groups, pair)
	}
	return c.list(groups), nil
}

func filterJoin(c *call) (Value, error) {
	e := c.eval
	sep := c.arg(0, stringValue(""))
	getter := newGetter(e, c.args[1], noneValue(), false)
	markup := false
	items := c.recv
	if e.autoescape {
		// markup among separator and items makes the result markup, and the others escaped
		list, err := collectOwn(e, items)
		if err != nil {
			return Value{}, err
		}
		markup = sep.kind == Markup
		for i := range list {
			if list[i], err = getter.get(list[i]); err != nil {
				return Value{}, err
			}
			markup = markup || list[i].kind == Markup
		}
		items, getter.parts = c.list(list), nil
	}
	text := func(v Value) (Value, error) {
		if markup {
			return escape(e, v)
		}
		return str(e, v)
	}
	sep, err := text(sep)
	if err != nil {
		return Value{}, err
	}
	it, err := iterate(e, items)
	if err != nil {
		return Value{}, err
	}
	b := e.builder(64)
	for first := true; ; first = false {
		item, ok, err := it.next(e)
		if err != nil {
			return Value{}, err
		}
		if !ok {
			break
		}
		if item, err = getter.get(item); err != nil {
			return Value{}, err
		}
		size := len(b.buf)
		if !first {
			b.str(sep)
		}
		if markup {
			if item, err = escape(e, item); err != nil {
				return Value{}, err
			}
		}
		if err := b.print(e, item); err != nil {
			return Value{}, err
		}
		if err := e.charge(len(b.buf) - size); err != nil {
			return Value{}, err
		}
	}
	out := b.value()
	if markup {
		out.kind = Markup
	}
	return out, nil
}

func filterMap(c *call) (Value, error) {
	e, v := c.eval, c.recv
	args, kwargs := slices.Clone(c.args), slices.Clone(c.kwargs)
	var it iterator
	var f func(Value) (Value, error)
	return generatorValue("sync_do_map", func(e *eval) (Value, bool, error) {
		if f == nil {
			ok, err := truth(e, v)
			if !ok {
				return Value{}, false, err
			}
			if f, err = prepareMap(e, args, kwargs); err != nil {
				return Value{}, false, err
			}
			if it, err = iterate(e, v); err != nil {
				return Value{}, false, err
			}
		}
		item, ok, err := it.next(e)
		if !ok {
			return Value{}, false, err
		}
		out, err := f(item)
		return out, err == nil, err
	}), e.step(1)
}

func prepareMap(e *eval, args []Value, kwargs []kwarg) (func(Value) (Value, error), error) {
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
			return nil, errf(FilterArgumentError, "map requires a filter argument")
		}
		if unexpected != "" {
			return nil, errf(FilterArgumentError, "Unexpected keyword argument %s",
				pyQuote(unexpected))
		}
		return newGetter(e, attribute, def, false).get, nil
	}
	return func(v Value) (Value, error) {
		b, err := named(e, filters, "filter", args[0])
		if err != nil {
			return Value{}, err
		}
		return e.invoke(b, v, args[1:], kwargs)
	}, nil
}

// filterSelect is select, reject, selectattr and rejectattr: items are kept whose test, or truth,
// is as wanted.
func filterSelect(c *call, want, byAttribute bool) (Value, error) {
	v := c.recv
	args, kwargs := slices.Clone(c.args), slices.Clone(c.kwargs)
	var it iterator
	var get *getter
	return generatorValue("select_or_reject", func(e *eval) (Value, bool, error) {
		if get == nil {
			ok, err := truth(e, v)
			if !ok {
				return Value{}, false, err
			}
			attribute := noneValue()
			if byAttribute {
				if len(args) == 0 {
					return Value{}, false,
						errf(FilterArgumentError, "Missing parameter for attribute name")
				}
				attribute, args = args[0], args[1:]
			}
			get = newGetter(e, attribute, noneValue(), false)
			if it, err = iterate(e, v); err != nil {
				return Value{}, false, err
			}
		}
		for {
			item, ok, err := it.next(e)
			if !ok {
				return Value{}, false, err
			}
			got, err := get.get(item)
			if err == nil && len(args) > 0 {
				var b *builtin
				if b, err = named(e, tests, "test", args[0]); err == nil {
					got, err = e.invoke(b, got, args[1:], kwargs)
				}
			}
			if err != nil {
				return Value{}, false, err
			}
			if ok, err = truth(e, got); err != nil {
				return Value{}, false, err
			}
			if ok == want {
				return item, true, nil
			}
		}
	}), nil
}

// extreme is min and max: the first item whose key no other's key is before, by op.
func extreme(c *call, op string) (Value, error) {
	e := c.eval
	sensitive, err := c.flag(0, false)
	if err != nil {
		return Value{}, err
	}
	get := newGetter(e, c.args[1], noneValue(), !sensitive)
	it, err := iterate(e, c.recv)
	if err != nil {
		return Value{}, err
	}
	var best, bestKey Value
	for {
		item, ok, err := it.next(e)
		if err != nil {
			return Value{}, err
		}
		if !ok {
			break
		}
		key, err := get.get(item)
		if err != nil {
			return Value{}, err
		}
		if !best.isMissing() {
			if ok, err := order(e, op, key, bestKey); !ok {
				if err != nil {
					return Value{}, err
				}
				continue
			}
		}
		best, bestKey = item, key
	}
	if best.isMissing() {
		return undefinedHint("No aggregated item, sequence was empty."), nil
	}
	return best, nil
}

func filterRandom(c *call) (Value, error) {
	n, err := length(c.eval, c.recv)
	if err != nil {
		return Value{}, err
	}
	if n == 0 {
		return undefinedHint("No random item, sequence was empty."), nil
	}
	key := intValue(c.eval.rand.IntN(n))
	if c.recv.kind == Dict {
		return mappingItem(c.eval, c.recv, key)
	}
	v, ok, err := subscript(c.eval, c.recv, key)
	if !ok && err == nil {
		err = errf(TypeError, "'%s' object is not subscriptable", typeName(c.recv))
	}
	return v, err
}

// reversed is Python's reversed(v), as the next function of an iterator.
func reversed(e *eval, v Value) (func(*eval) (Value, bool, error), error) {
	var n int
	switch v.kind {
	case Undefined:
		return func(*eval) (Value, bool, error) { return Value{}, false, nil }, nil
	case List, Tuple, String, Markup, Dict, View, Range:
		n, _ = length(e, v)
	default:
		return nil, errf(TypeError, "'%s' object is not reversible", typeName(v))
	}
	if v.isString() {
		s := v
		return func(e *eval) (Value, bool, error) {
			if s.num == 0 {
				return Value{}, false, nil
			}
			_, size := decodeLastRune(s.text())
			at := int(s.num) - size
			out := s.substr(at, int(s.num))
			s = s.substr(0, at)
			return out, true, e.step(1)
		}, nil
	}
	return func(e *eval) (Value, bool, error) {
		if n--; n < 0 {
			return Value{}, false, nil
		}
		if err := e.step(1); err != nil {
			return Value{}, false, err
		}
		switch v.kind {
		case Dict:
			if entries := v.dict().all(); n < len(entries) {
				return entries[n].key, true, nil
			}
		case View:
			if entries := v.view().d.all(); n < len(entries) {
				return v.view().item(e.memory, &entries[n]), true, nil
			}
		case Range:
			return v.rng().at(int64(n)), true, nil
		default:
			if items := v.items(); n < len(items) {
				return items[n], true, nil
			}
		}
		return Value{}, false, nil
	}, nil
}

func filterReverse(c *call) (Value, error) {
	if c.recv.isString() {
		return getslice(c.eval, c.recv, noneValue(), noneValue(), intValue(-1))
	}
	if next, err := reversed(c.eval, c.recv); err == nil {
		return generatorValue(typeName(c.recv)+"_reverseiterator", next), nil
	}
	items, err := collectOwn(c.eval, c.recv)
	if isClass(err, TypeError) {
		return Value{}, errf(FilterArgumentError, "argument must be iterable")
	}
	slices.Reverse(items)
	return c.list(items), err
}

func filterSlice(c *call) (Value, error) {
	count, fill, v := c.args[0], c.arg(1, noneValue()), c.recv
	var items []Value
	at, offset, slices_, size, extra := -1, 0, 0, 0, 0
	return generatorValue("sync_do_slice", func(e *eval) (Value, bool, error) {
		if at < 0 {
			var err error
			if items, err = collectOwn(e, v); err != nil {
				return Value{}, false, err
			}
			if _, err := floordiv(e, intValue(len(items)), count); err != nil {
				return Value{}, false, err
			}
			if slices_, err = toInt(count); err != nil {
				return Value{}, false, err
			}
			at = 0
			if slices_ > 0 {
				size, extra = len(items)/slices_, len(items)%slices_
			}
		}
		if at >= slices_ {
			return Value{}, false, nil
		}
		if err := e.step(1); err != nil {
			return Value{}, false, err
		}
		start := offset + at*size
		if at < extra {
			offset++
		}
		part := slices.Clone(items[start : offset+(at+1)*size])
		if !fill.isNone() && at >= extra {
			part = append(part, fill)
		}
		at++
		return e.list(part), true, nil
	}), nil
}

func filterSum(c *call) (Value, error) {
	e := c.eval
	total := c.arg(1, intValue(0))
	if total.isString() {
		return Value{}, errf(TypeError, "sum() can't sum strings [use ''.join(seq) instead]")
	}
	get := newGetter(e, c.args[0], noneValue(), false)
	it, err := iterate(e, c.recv)
	for err == nil {
		var item Value
		var ok bool
		if item, ok, err = it.next(e); !ok {
			return total, err
		}
		if item, err = get.get(item); err == nil {
			total, err = add(e, total, item)
		}
	}
	return Value{}, err
}

func filterUnique(c *call) (Value, error) {
	e := c.eval
	sensitive, err := c.flag(0, false)
	if err != nil {
		return Value{}, err
	}
	get := newGetter(e, c.args[1], noneValue(), !sensitive)
	it, err := iterate(e, c.recv)
	if err != nil {
		return failing("do_unique", err), nil
	}
	seen := c.dict(0)
	return generatorValue("do_unique", func(e *eval) (Value, bool, error) {
		for {
			item, ok, err := it.next(e)
			if !ok {
				return Value{}, false, err
			}
			key, err := get.get(item)
			if err != nil {
				return Value{}, false, err
			}
			_, old, err := seen.get(e, key)
			if err != nil {
				return Value{}, false, err
			}
			if !old {
				return item, true, seen.set(e, key, noneValue())
			}
		}
	}), nil
}
