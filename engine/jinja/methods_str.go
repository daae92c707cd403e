package jinja

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// argText returns a string argument; Python's TypeError for anything else.
func (c *call) argText(i int) string {
	if v := c.args[i]; v.isString() {
		return v.text()
	}
	panic(errf(TypeError, "%s() argument %d "+
		"must be str, not %s", c.fn.name, i+1, typeName(c.args[i])))
}

// trace records a method on the receiver with a string argument (E4).
func (c *call) traceArg(i int) {
	if c.eval.trace != nil && i < len(c.args) {
		c.traceText(c.fn.name, c.recv, c.args[i])
	}
}

// changedText is a method that maps the whole text.
func changedText(f func(string) string) func(c *call) Value {
	return func(c *call) Value {
		c.charge(int(c.recv.num))
		return derived(c.recv, f(c.recv.text()))
	}
}

// everyRune is a predicate that holds for a non-empty text all of whose code points are ok.
func everyRune(ok func(rune) bool) func(c *call) Value {
	return func(c *call) Value {
		return boolValue(c.recv.num > 0 && allRunes(c.recv.text(), ok))
	}
}

func allRunes(s string, ok func(rune) bool) bool {
	for len(s) > 0 {
		r, n := decodeRune(s)
		if !ok(r) {
			return false
		}
		s = s[n:]
	}
	return true
}

var stringMethods = []entryOf{
	{"capitalize", "", changedText(capitalCase)},
	{"casefold", "", changedText(foldCase)},
	{"lower", "", changedText(lowerCase)},
	{"upper", "", changedText(upperCase)},
	{"swapcase", "", changedText(swapCase)},
	{"title", "", changedText(titleCase)},
	{"isalnum", "", everyRune(isAlnum)},
	{"isalpha", "", everyRune(isAlpha)},
	{"isdecimal", "", everyRune(isDecimal)},
	{"isdigit", "", everyRune(isDigitRune)},
	{"isnumeric", "", everyRune(isNumeric)},
	{"isspace", "", everyRune(isSpace)},
	{"isascii", "", func(c *call) Value { return boolValue(isASCII(c.recv.text())) }},
	{"isprintable", "", func(c *call) Value { return boolValue(allRunes(c.recv.text(), isPrintable)) }},
	{"isidentifier", "", func(c *call) Value {
		s := c.recv.text()
		if s == "" {
			return boolValue(false)
		}
		r, n := decodeRune(s)
		return boolValue(isIdentifierStart(r) && allRunes(s[n:], isIdentifierPart))
	}},
	{"islower", "", func(c *call) Value { return boolValue(hasCase(c.recv.text(), isLower)) }},
	{"isupper", "", func(c *call) Value { return boolValue(hasCase(c.recv.text(), isUpper)) }},
	{"istitle", "", func(c *call) Value { return boolValue(inTitleCase(c.recv.text())) }},
	{"strip", "/ chars?", func(c *call) Value { return strip(c, true, true) }},
	{"lstrip", "/ chars?", func(c *call) Value { return strip(c, true, false) }},
	{"rstrip", "/ chars?", func(c *call) Value { return strip(c, false, true) }},
	{"startswith", "/ prefix start? end?", func(c *call) Value { return hasAffix(c, strings.HasPrefix) }},
	{"endswith", "/ suffix start? end?", func(c *call) Value { return hasAffix(c, strings.HasSuffix) }},
	{"removeprefix", "/ prefix", func(c *call) Value {
		prefix := c.argText(0)
		c.traceArg(0)
		if strings.HasPrefix(c.recv.text(), prefix) {
			return c.recv.substr(len(prefix), int(c.recv.num))
		}
		return c.recv
	}},
	{"removesuffix", "/ suffix", func(c *call) Value {
		suffix := c.argText(0)
		c.traceArg(0)
		if strings.HasSuffix(c.recv.text(), suffix) {
			return c.recv.substr(0, int(c.recv.num)-len(suffix))
		}
		return c.recv
	}},
	{"find", "/ sub start? end?", func(c *call) Value { return search(c, strings.Index, false) }},
	{"rfind", "/ sub start? end?", func(c *call) Value { return search(c, strings.LastIndex, false) }},
	{"index", "/ sub start? end?", func(c *call) Value { return search(c, strings.Index, true) }},
	{"rindex", "/ sub start? end?", func(c *call) Value { return search(c, strings.LastIndex, true) }},
	{"count", "/ sub start? end?", func(c *call) Value {
		n := 0
		if sub, s, _, ok := searchRange(c); ok && sub == "" {
			n = runeCount(s) + 1
		} else if ok {
			n = strings.Count(s, sub)
		}
		return c.computed(intValue(n))
	}},
	{"split", "sep? maxsplit?", split},
	{"rsplit", "sep? maxsplit?", rsplit},
	{"splitlines", "keepends?", func(c *call) Value {
		return splitLines(c.eval, c.recv, toInt(c.arg(0, intValue(0))) != 0)
	}},
	{"partition", "/ sep", func(c *call) Value { return partition(c, strings.Index) }},
	{"rpartition", "/ sep", func(c *call) Value { return partition(c, strings.LastIndex) }},
	{"replace", "/ old new count?", func(c *call) Value {
		for i := range 2 {
			c.argText(i)
		}
		return replace(c.eval, c.recv, c.args[0], c.args[1], toInt(c.arg(2, intValue(-1))))
	}},
	{"join", "/ iterable", func(c *call) Value {
		b := c.builder(64)
		if !isIterable(c.eval, c.args[0]) {
			panic(errf(TypeError, "can only join an iterable"))
		}
		i := 0
		for item := range c.each(c.args[0]) {
			if !item.isString() {
				panic(errf(TypeError, "sequence item %d: expected str "+
					"instance, %s found", i, typeName(item)))
			}
			size := len(b.buf)
			if i > 0 {
				b.str(c.recv)
			}
			b.str(item)
			c.charge(len(b.buf) - size)
			i++
		}
		return b.value()
	}},
	{"center", "/ width fillchar?", func(c *call) Value {
		return pad(c, func(n, width int) int { return n/2 + n&width&1 })
	}},
	{"ljust", "/ width fillchar?", func(c *call) Value { return pad(c, func(n, width int) int { return 0 }) }},
	{"rjust", "/ width fillchar?", func(c *call) Value { return pad(c, func(n, width int) int { return n }) }},
	{"zfill", "/ width", func(c *call) Value {
		width := toInt(c.args[0])
		n := width - runeCount(c.recv.text())
		if n <= 0 {
			return c.recv
		}
		c.charge(n + int(c.recv.num))
		b := c.builder(n + int(c.recv.num))
		sign := 0
		if s := c.recv.text(); strings.HasPrefix(s, "+") || strings.HasPrefix(s, "-") {
			sign = 1
		}
		b.sub(c.recv, 0, sign)
		b.lit(strings.Repeat("0", n))
		b.sub(c.recv, sign, int(c.recv.num))
		return b.value()
	}},
	{"expandtabs", "tabsize?", expandTabs},
	{"translate", "/ table", translate},
	{"maketrans", "/ x y? z?", makeTranslation},
	{"encode", "encoding? errors?", func(c *call) Value {
		name := "utf-8"
		if c.given(0) {
			name = strings.NewReplacer("_", "-", "utf8", "utf-8").
				Replace(strings.ToLower(c.argText(0)))
		}
		switch {
		case name == "ascii" && !isASCII(c.recv.text()):
			panic(errf(UnicodeEncodeError, "'ascii' codec can't encode characters: "+
				"ordinal not in range(128)"))
		case name != "utf-8" && name != "ascii":
			panic(errf(LookupError, "unknown encoding: %s", name))
		case strings.ContainsFunc(c.recv.text(), func(r rune) bool { return r == 0xFFFD }) &&
			!allRunes(c.recv.text(), func(r rune) bool { return r < 0xD800 || r > 0xDFFF }):
			panic(errf(UnicodeEncodeError, "'utf-8' codec can't encode characters: "+
				"surrogates not allowed"))
		}
		c.charge(int(c.recv.num))
		return objectValue(&bytesObject{[]byte(c.recv.text())})
	}},
	{"format", "* **", func(c *call) Value { return formatBraces(c.eval, c.recv, c.args, c.kwargs, Value{}) }},
	{"format_map", "/ mapping", func(c *call) Value { return formatBraces(c.eval, c.recv, nil, nil, c.args[0]) }},
}

// hasCase reports whether a text has cased characters and all of them are ok.
func hasCase(s string, ok func(rune) bool) bool {
	found := false
	return allRunes(s, func(r rune) bool {
		if !isCased(r) {
			return true
		}
		found = true
		return ok(r)
	}) && found
}

func inTitleCase(s string) bool {
	found, cased := false, false
	return allRunes(s, func(r rune) bool {
		switch {
		case isUpper(r) || isTitle(r):
			if cased {
				return false
			}
			found, cased = true, true
		case isLower(r):
			if !cased {
				return false
			}
			found, cased = true, true
		default:
			cased = false
		}
		return true
	}) && found
}

func strip(c *call, left, right bool) Value {
	chars := c.arg(0, noneValue())
	if !chars.isNone() && !chars.isString() {
		panic(errf(TypeError, "%s arg must be None or str", c.fn.name))
	}
	c.traceArg(0)
	return stripValue(c.recv, chars, left, right)
}

// stripValue strips white space, or the characters of chars where that is a string.
func stripValue(v, chars Value, left, right bool) Value {
	s := v.text()
	i, j := 0, len(s)
	if chars.isString() {
		set := codePoints(chars.text())
		for left && i < j {
			r, n := decodeRune(s[i:])
			if !set.has(r) {
				break
			}
			i += n
		}
		for right && i < j {
			r, n := decodeLastRune(s[i:j])
			if !set.has(r) {
				break
			}
			j -= n
		}
	} else {
		if left {
			i = spaceEnd(s)
		}
		if right {
			j = i + spaceStart(s[i:])
		}
	}
	if i == 0 && j == len(s) {
		return v
	}
	return v.substr(i, j)
}

// codePointSet is a set of code points. Looking one up costs the same however many there are: a
// step of a template must not multiply the lengths of two texts.
type codePointSet struct {
	ascii  [2]uint64 // bit r%64 of word r/64
	others map[rune]struct{}
}

// codePoints returns the set of the code points of s.
func codePoints(s string) (set codePointSet) {
	for len(s) > 0 {
		r, n := decodeRune(s)
		switch {
		case r < utf8.RuneSelf:
			set.ascii[r/64] |= 1 << (r % 64)
		case set.others == nil:
			set.others = map[rune]struct{}{r: {}}
		default:
			set.others[r] = struct{}{}
		}
		s = s[n:]
	}
	return set
}

func (s *codePointSet) has(r rune) bool {
	if r < utf8.RuneSelf {
		return s.ascii[r/64]&(1<<(r%64)) != 0
	}
	_, ok := s.others[r]
	return ok
}

// hasAffix is startswith and endswith.
func hasAffix(c *call, has func(s, affix string) bool) Value {
	affixes := c.args[:1]
	if c.args[0].kind == Tuple {
		affixes = c.args[0].items()
	}
	s, _, ok := textRange(c.recv.text(), c.args[1], c.args[2])
	for _, affix := range affixes {
		if !affix.isString() {
			panic(errf(TypeError, "%s first arg must be str or a "+
				"tuple of str, not %s", c.fn.name, typeName(c.args[0])))
		}
		if c.eval.trace != nil {
			c.traceText(c.fn.name, c.recv, affix)
		}
		if ok && has(s, affix.text()) {
			return boolValue(true)
		}
	}
	return boolValue(false)
}

// textRange cuts s to the code points [start:end]; offset is start in code points. ok is false
// where start is after the end of the text, in which not even "" is found.
func textRange(s string, start, end Value) (part string, offset int, ok bool) {
	if (start.isMissing() || start.isNone()) && (end.isMissing() || end.isNone()) {
		return s, 0, true
	}
	n := runeCount(s)
	from := sliceIndex(start, 0)
	to := sliceIndex(end, n)
	if from < 0 {
		from = max(from+n, 0)
	}
	if to < 0 {
		to = max(to+n, 0)
	}
	to = min(to, n)
	if from > to {
		return "", 0, false
	}
	i := byteOffset(s, from)
	return s[i : i+byteOffset(s[i:], to-from)], from, true
}

func searchRange(c *call) (sub, s string, offset int, ok bool) {
	sub = c.argText(0)
	c.traceArg(0)
	s, offset, ok = textRange(c.recv.text(), c.args[1], c.args[2])
	return
}

// search is find, rfind, index and rindex.
func search(c *call, find func(s, sub string) int, must bool) Value {
	sub, s, offset, ok := searchRange(c)
	i := -1
	if ok {
		i = find(s, sub)
	}
	switch {
	case i >= 0:
		return c.computed(intValue(offset + runeCount(s[:i])))
	case must:
		panic(errf(ValueError, "substring not found"))
	}
	return c.computed(intValue(-1))
}

// splitArgs reads sep and maxsplit. sep is None for white space.
func splitArgs(c *call) (sep Value, limit int) {
	sep = c.arg(0, noneValue())
	if limit = toInt(c.arg(1, intValue(-1))); limit < 0 {
		limit = maxIndex
	}
	if !sep.isNone() {
		if !sep.isString() {
			panic(errf(TypeError, "must be str or None, not %s", typeName(sep)))
		}
		if sep.num == 0 {
			panic(errf(ValueError, "empty separator"))
		}
		if c.eval.trace != nil {
			c.traceText(c.fn.name, c.recv, sep)
		}
	}
	return
}

func split(c *call) Value {
	sep, limit := splitArgs(c)
	return splitValue(c.eval, c.recv, sep, limit)
}

// splitValue is str.split with at most limit cuts.
func splitValue(e *eval, v, sep Value, limit int) Value {
	s := v.text()
	if sep.isString() {
		cut := sep.text()
		n := min(strings.Count(s, cut), limit)
		e.step(n)
		parts := make([]Value, 0, n+1)
		at := 0
		for range n {
			i := at + strings.Index(s[at:], cut)
			parts = append(parts, v.substr(at, i))
			at = i + len(cut)
		}
		return e.list(append(parts, v.substr(at, len(s))))
	}
	var parts []Value
	at := spaceEnd(s)
	for at < len(s) {
		if len(parts) == limit {
			parts = append(parts, v.substr(at, len(s)))
			break
		}
		end := at
		for end < len(s) {
			r, n := decodeRune(s[end:])
			if isSpace(r) {
				break
			}
			end += n
		}
		parts = append(parts, v.substr(at, end))
		at = end + spaceEnd(s[end:])
	}
	e.step(len(parts))
	return e.list(parts)
}

func rsplit(c *call) Value {
	sep, limit := splitArgs(c)
	v := c.recv
	s := v.text()
	var parts []Value
	if sep.isString() {
		cut := sep.text()
		end := len(s)
		for len(parts) < limit {
			i := strings.LastIndex(s[:end], cut)
			if i < 0 {
				break
			}
			parts = append(parts, v.substr(i+len(cut), end))
			end = i
		}
		parts = append(parts, v.substr(0, end))
	} else {
		end := spaceStart(s)
		for end > 0 {
			if len(parts) == limit {
				parts = append(parts, v.substr(0, end))
				break
			}
			at := end
			for at > 0 {
				r, n := decodeLastRune(s[:at])
				if isSpace(r) {
					break
				}
				at -= n
			}
			parts = append(parts, v.substr(at, end))
			end = spaceStart(s[:at])
		}
	}
	slices.Reverse(parts)
	c.step(len(parts))
	return c.list(parts)
}

// lineEnd returns the extent [i:j] of the first line end at or after at, or the end of s twice.
func lineEnd(s string, at int) (i, j int) {
	for i = at; i < len(s); {
		r, n := decodeRune(s[i:])
		switch r {
		case '\r':
			if strings.HasPrefix(s[i+1:], "\n") {
				return i, i + 2
			}
			return i, i + 1
		case '\n', '\v', '\f', 0x1C, 0x1D, 0x1E, 0x85, 0x2028, 0x2029:
			return i, i + n
		}
		i += n
	}
	return len(s), len(s)
}

// splitLines is str.splitlines.
func splitLines(e *eval, v Value, keep bool) Value {
	s := v.text()
	var lines []Value
	for at := 0; at < len(s); {
		i, j := lineEnd(s, at)
		if keep {
			i = j
		}
		lines = append(lines, v.substr(at, i))
		at = j
	}
	e.step(len(lines))
	return e.list(lines)
}

func partition(c *call, find func(s, sub string) int) Value {
	sep := c.argText(0)
	if sep == "" {
		panic(errf(ValueError, "empty separator"))
	}
	c.traceArg(0)
	v := c.recv
	i := find(v.text(), sep)
	switch {
	case i >= 0:
		return c.tuple(v.substr(0, i), v.substr(i, i+len(sep)), v.substr(i+len(sep), int(v.num)))
	case c.fn.name == "partition":
		return c.tuple(v, stringValue(""), stringValue(""))
	}
	return c.tuple(stringValue(""), stringValue(""), v)
}

// replace is str.replace with at most limit replacements, any number where limit is negative. The
// replacements keep the origin of new.
func replace(e *eval, v, old, new Value, limit int) Value {
	if e.trace != nil {
		e.traceText("replace", v, old)
	}
	s, cut := v.text(), old.text()
	n := strings.Count(s, cut)
	if cut == "" {
		n = runeCount(s) + 1
	}
	if limit >= 0 {
		n = min(n, limit)
	}
	if n == 0 {
		return v
	}
	e.charge(len(s))
	e.chargeProduct(n, int(new.num))
	if !e.origins {
		return stringValue(strings.Replace(s, cut, new.text(), n))
	}
	b := e.builder(len(s) + n*int(new.num))
	at := 0
	for i := range n {
		next := at
		switch {
		case cut != "":
			next += strings.Index(s[at:], cut)
		case i > 0:
			next += runeSize(s[at:])
		}
		b.sub(v, at, next)
		b.str(new)
		at = next + len(cut)
	}
	b.sub(v, at, len(s))
	return b.value()
}

// pad is center, ljust and rjust; left describes how many of n fill characters go before the text.
func pad(c *call, left func(n, width int) int) Value {
	width := toInt(c.args[0])
	fill := c.arg(1, stringValue(" "))
	if !fill.isString() {
		panic(errf(TypeError, "The fill character must be a unicode "+
			"character, not %s", typeName(fill)))
	}
	if runeCount(fill.text()) != 1 {
		panic(errf(TypeError, "The fill character must be exactly one character long"))
	}
	n := width - runeCount(c.recv.text())
	if n <= 0 {
		return c.recv
	}
	c.chargeProduct(n, int(fill.num))
	b := c.builder(n*int(fill.num) + int(c.recv.num))
	before := left(n, width)
	b.lit(strings.Repeat(fill.text(), before))
	b.str(c.recv)
	b.lit(strings.Repeat(fill.text(), n-before))
	return b.value()
}

func expandTabs(c *call) Value {
	size := toInt(c.arg(0, intValue(8)))
	s := c.recv.text()
	b := c.builder(len(s))
	col, from := 0, 0
	for i := 0; i < len(s); {
		n := runeSize(s[i:])
		switch s[i] {
		case '\t':
			b.sub(c.recv, from, i)
			from = i + 1
			if size > 0 {
				pad := size - col%size
				col += pad
				c.charge(pad)
				b.lit(strings.Repeat(" ", pad))
			}
		case '\n', '\r':
			col = 0
		default:
			col++
		}
		i += n
	}
	b.sub(c.recv, from, len(s))
	c.charge(len(s))
	return b.value()
}

// translate maps code points through a table: to a code point, to a string, or, with None, to
// nothing.
func translate(c *call) Value {
	b := c.builder(int(c.recv.num))
	s := c.recv.text()
	c.step(len(s) / 16)
	for i := 0; i < len(s); {
		r, n := decodeRune(s[i:])
		to, ok := subscript(c.eval, c.args[0], intValue(int(r)))
		if k := c.args[0].kind; k != Dict && !c.args[0].isSeq() && !c.args[0].isString() {
			panic(errf(TypeError, "'%s' object is not subscriptable", typeName(c.args[0])))
		}
		size := len(b.buf)
		switch {
		case !ok:
			b.sub(c.recv, i, i+n)
		case to.isString():
			b.str(to)
		case to.isInteger() && to.kind != BigInt && to.int() >= 0 && to.int() <= 0x10FFFF:
			b.lit(string(appendRune(nil, rune(to.int()))))
		case to.isInteger():
			panic(errf(ValueError, "character mapping must be in range(0x110000)"))
		case !to.isNone():
			panic(errf(TypeError, "character mapping must return integer, None or str"))
		}
		c.charge(len(b.buf) - size)
		i += n
	}
	return b.value()
}

func makeTranslation(c *call) Value {
	out := c.dict(8)
	code := func(s string) Value {
		r, _ := decodeRune(s)
		return intValue(int(r))
	}
	if !c.given(1) {
		if c.args[0].kind != Dict {
			panic(errf(TypeError, "if you give only one argument to maketrans it must be a dict"))
		}
		for _, e := range c.args[0].dict().all() {
			key := e.key
			if key.isString() {
				if runeCount(key.text()) != 1 {
					panic(errf(ValueError, "string keys in translate table must be of length 1"))
				}
				key = code(key.text())
			} else if key.kind != Int && key.kind != Bool {
				panic(errf(TypeError, "keys in translate table must be strings or integers"))
			}
			out.set(c.eval, key, e.value)
		}
		c.step(out.len())
		return dictValue(out)
	}
	from := c.argText(0)
	to := c.argText(1)
	if runeCount(from) != runeCount(to) {
		panic(errf(ValueError, "the first two maketrans arguments must have equal length"))
	}
	for from != "" {
		out.set(c.eval, code(from), code(to))
		from, to = from[runeSize(from):], to[runeSize(to):]
	}
	if c.given(2) {
		none := c.argText(2)
		for ; none != ""; none = none[runeSize(none):] {
			out.set(c.eval, code(none), noneValue())
		}
	}
	c.step(out.len())
	return dictValue(out)
}

// markupMethods derives Markup's methods from those of str, as markupsafe 2.1 does: some escape
// their arguments and give markup, some give markup, the rest give plain strings.
func markupMethods(base map[string]*builtin) map[string]*builtin {
	m := make(map[string]*builtin, len(base)+3)
	for name, b := range base {
		derived := *b
		m[name] = &derived
		switch name {
		case "capitalize", "title", "lower", "upper", "replace", "ljust", "rjust", "lstrip",
			"rstrip", "center", "strip",
			"translate", "expandtabs", "swapcase", "zfill", "partition", "rpartition":
			derived.run = func(c *call) Value {
				for i, a := range c.args {
					if a.isString() {
						c.args[i] = escape(c.eval, a)
					}
				}
				return asMarkup(b.run(c))
			}
		case "split", "rsplit", "splitlines", "format", "format_map":
			derived.run = func(c *call) Value { return asMarkup(b.run(c)) }
		case "join":
			derived.run = func(c *call) Value {
				items := collectOwn(c.eval, c.args[0])
				for i := range items {
					items[i] = escape(c.eval, items[i])
				}
				c.args[0] = c.list(items)
				return asMarkup(b.run(c))
			}
		default:
			derived.run = func(c *call) Value {
				c.recv.kind = String
				return b.run(c)
			}
		}
	}
	for _, t := range []entryOf{
		{"unescape", "", func(c *call) Value { return unescapeValue(c.eval, c.recv) }},
		{"striptags", "", func(c *call) Value { return stripTags(c.eval, c.recv) }},
		{"escape", "/ s", func(c *call) Value { return escape(c.eval, c.args[0]) }},
	} {
		m[t.name] = t.builtin()
	}
	return m
}

// asMarkup marks a string, or the strings of a list or tuple.
func asMarkup(v Value) Value {
	switch {
	case v.kind == String:
		v.kind = Markup
	case v.isSeq():
		for i := range v.items() {
			v.items()[i].kind = Markup
		}
	}
	return v
}
