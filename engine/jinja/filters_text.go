package jinja

import (
	"html"
	"regexp"
	"slices"
	"strings"
)

// onText returns a filter that calls the string method of the same name on the value's text.
func onText(name string, params string) entryOf {
	return entryOf{name, params, func(c *call) Value {
		v := str(c.eval, c.recv)
		c.recv = v
		return methodTables[v.kind][name].run(c)
	}}
}

var textFilters = []entryOf{
	onText("capitalize", ""),
	onText("lower", ""),
	onText("upper", ""),
	{"center", "width?", func(c *call) Value {
		v := str(c.eval, c.recv)
		return c.invoke(methodTables[v.kind]["center"], v, []Value{c.arg(0, intValue(80))}, nil)
	}},
	{"escape", "/", func(c *call) Value { return escape(c.eval, c.recv) }},
	{"forceescape", "", func(c *call) Value {
		return escape(c.eval, plain(c.eval, c.recv))
	}},
	{"format", "* **", func(c *call) Value {
		if len(c.args) > 0 && len(c.kwargs) > 0 {
			panic(errf(FilterArgumentError, "can't handle positional and keyword "+
				"arguments at the same time"))
		}
		v := str(c.eval, c.recv)
		args := c.tuple(slices.Clone(c.args)...)
		if len(c.kwargs) > 0 {
			d := c.dict(len(c.kwargs))
			for _, k := range c.kwargs {
				d.setString(k.name, k.value)
			}
			args = dictValue(d)
		}
		return formatPercent(c.eval, v, args)
	}},
	{"indent", "width? first? blank?", filterIndent},
	{"pprint", "", filterPprint},
	{"replace", "old new count?", filterReplace},
	{"safe", "", func(c *call) Value {
		v := str(c.eval, c.recv)
		v.kind = Markup
		return v
	}},
	{"string", "/", func(c *call) Value { return str(c.eval, c.recv) }},
	{"striptags", "", func(c *call) Value { return stripTags(c.eval, str(c.eval, c.recv)) }},
	{"title", "", filterTitle},
	{"trim", "chars?", func(c *call) Value {
		v := str(c.eval, c.recv)
		return c.invoke(methodTables[v.kind]["strip"], v, []Value{c.arg(0, noneValue())}, nil)
	}},
	{"truncate", "length? killwords? end? leeway?", filterTruncate},
	{"urlencode", "", filterURLEncode},
	{"urlize", "trim_url_limit? nofollow? target? rel? extra_schemes?", filterURLize},
	{"wordcount", "", func(c *call) Value {
		v := str(c.eval, c.recv)
		count, inside := 0, false
		for _, r := range v.text() {
			if word := isWord(r); word != inside {
				if inside = word; word {
					count++
				}
			}
		}
		c.step(scanSteps(v))
		return c.computed(intValue(count))
	}},
	{"wordwrap", "width? break_long_words? wrapstring? break_on_hyphens?", filterWordwrap},
	{"xmlattr", "autospace?", filterXMLAttr},
}

func filterIndent(c *call) Value {
	e, v := c.eval, c.recv
	width := c.arg(0, intValue(4))
	if !width.isString() {
		width = mul(e, stringValue(" "), width)
		width.prov = nil
	}
	if !v.isString() {
		if defined(v); v.kind == List {
			panic(errf(AttributeError, "'list' object has no attribute 'splitlines'"))
		}
		panic(errf(TypeError, "unsupported operand type(s) for +=: '%s' and 'str'", typeName(v)))
	}
	first := c.flag(1, false)
	blank := c.flag(2, false)
	s := v.text()
	b := e.builder(len(s) + 64)
	if first {
		b.str(width)
	}
	// every line ending becomes a line feed; the one at the end of the text is kept
	for at, line := 0, 0; ; line++ {
		i, j := lineEnd(s, at)
		if line > 0 {
			b.lit("\n")
			if blank || i > at {
				e.charge(int(width.num))
				b.str(width)
			}
		}
		b.sub(v, at, i)
		// jinja2 appends a line feed first, which a final CR combines with
		if i == len(s) || j == len(s) && s[j-1] == '\r' {
			break
		}
		at = j
	}
	out := b.value()
	out.kind = v.kind
	e.charge(len(s))
	return out
}

func filterReplace(c *call) Value {
	e := c.eval
	n := -1
	if count := c.arg(2, noneValue()); !count.isNone() {
		n = toInt(count)
	}
	v, old, new := c.recv, c.args[0], c.args[1]
	convert := plain
	markup := false
	if e.autoescape {
		markup = v.kind == Markup || old.kind == Markup || new.kind == Markup
		if markup {
			convert = escape
		}
	}
	v, old, new = convert(e, v), convert(e, old), convert(e, new)
	out := replace(e, v, old, new, n)
	if markup {
		out.kind = Markup
	}
	return out
}

// filterTitle puts the first character of every word in upper case, and the others in lower case. A
// word begins after white space, a hyphen or an opening bracket.
func filterTitle(c *call) Value {
	v := plain(c.eval, c.recv)
	begins := func(r rune) bool { return isSpace(r) || strings.ContainsRune("-({[<", r) }
	s := v.text()
	c.charge(len(s))
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		r, n := decodeRune(s[i:])
		if begins(r) {
			out = append(out, s[i:i+n]...)
			i += n
			continue
		}
		end := i
		for end < len(s) {
			r, n := decodeRune(s[end:])
			if begins(r) {
				break
			}
			end += n
		}
		out = append(out, upperCase(s[i:i+n])...)
		out = append(out, lowerCase(s[i+n:end])...)
		i = end
	}
	return derived(v, string(out))
}

func filterTruncate(c *call) Value {
	e, v := c.eval, c.recv
	size, end, leeway := c.arg(0, intValue(255)), c.arg(2, stringValue("...")),
		c.arg(3, noneValue())
	kill := c.flag(1, false)
	if leeway.isNone() {
		leeway = intValue(5)
	}
	tail := length(e, end)
	if !order(e, ">=", size, intValue(tail)) {
		panic(errf(AssertionError, "expected length >= %d, got %s", tail, reprText(e, size)))
	}
	if !order(e, ">=", leeway, intValue(0)) {
		panic(errf(AssertionError, "expected leeway >= 0, got %s", reprText(e, leeway)))
	}
	n := length(e, v)
	if order(e, "<=", intValue(n), add(e, size, leeway)) {
		return v
	}
	cut := sub(e, size, intValue(tail))
	head := getslice(e, v, Value{}, cut, Value{})
	if !kill {
		if !head.isString() {
			panic(errf(AttributeError, "'%s' object has no attribute 'rsplit'", typeName(head)))
		}
		if i := strings.LastIndexByte(head.text(), ' '); i >= 0 {
			head = head.substr(0, i)
		}
	}
	return add(e, head, end)
}

// stripTags removes comments and tags, joins the words with single spaces, and resolves entities.
func stripTags(e *eval, v Value) Value {
	s := removeBetween(removeBetween(v.text(), "<!--", "-->"), "<", ">")
	words := strings.Join(strings.FieldsFunc(s, isSpace), " ")
	out := derived(v, html.UnescapeString(words))
	out.kind = String
	e.charge(int(v.num))
	return out
}

// removeBetween removes everything from each opener to the next closer.
func removeBetween(s, open, closer string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, open)
		if i < 0 {
			break
		}
		j := strings.Index(s[i+len(open):], closer)
		if j < 0 {
			break
		}
		b.WriteString(s[:i])
		s = s[i+len(open)+j+len(closer):]
	}
	b.WriteString(s)
	return b.String()
}

func unescapeValue(e *eval, v Value) Value {
	out := derived(v, html.UnescapeString(v.text()))
	out.kind = String
	e.charge(int(v.num))
	return out
}

func filterURLEncode(c *call) Value {
	e := c.eval
	b := e.builder(64)
	if c.recv.isString() || !isIterable(e, c.recv) {
		quoteURL(e, &b, c.recv, false)
		return b.value()
	}
	src := c.recv
	if src.kind == Dict {
		src = viewValue(c.eval, src, viewItems)
	}
	for item := range e.each(src) {
		pair, err := attempt(e, func() []Value { return collect(e, item) })
		if err != nil {
			panic(errf(TypeError, "cannot unpack non-iterable %s object", typeName(item)))
		}
		if len(pair) != 2 {
			panic(errf(ValueError, "expected 2 values to unpack, got %d", len(pair)))
		}
		if len(b.buf) > 0 {
			b.lit("&")
		}
		quoteURL(e, &b, pair[0], true)
		b.lit("=")
		quoteURL(e, &b, pair[1], true)
	}
	return b.value()
}

func isIterable(e *eval, v Value) bool {
	if v.kind == Object {
		_, ok := v.object().(iterable)
		return ok
	}
	switch v.kind {
	case List, Tuple, String, Markup, Range, Generator, Dict, View, Undefined:
		return true
	}
	return false
}

// quoteURL appends v percent-encoded; in query strings a slash is encoded too, and a space is a
// plus sign.
func quoteURL(e *eval, b *builder, v Value, query bool) {
	v = str(e, v)
	start := len(b.buf)
	b.encode(v, URL, func(dst []byte, s string) []byte {
		for i := range len(s) {
			switch c := s[i]; {
			case 'a' <= c && c <= 'z', 'A' <= c &&
				c <= 'Z', isDigit(c), strings.IndexByte("_.-~", c) >= 0, c == '/' && !query:
				dst = append(dst, c)
			case c == ' ' && query:
				dst = append(dst, '+')
			default:
				dst = append(dst, '%', "0123456789ABCDEF"[c>>4], "0123456789ABCDEF"[c&15])
			}
		}
		return dst
	})
	e.charge(len(b.buf) - start)
}

// Here [\pL\pN_] is Python's \w, \p{Nd} its \d, and a dot its \S, since words hold no white space.
var (
	httpPattern = regexp.MustCompile(`(?is)^((https?://|www\.)(([\pL\pN_%-]+\.)+)?([a-z]{2,63}|xn--[\pL\pN_%]{2,59})` +
		`|([\pL\pN_%-]{2,63}\.)+(com|net|int|edu|gov|org|info|mil)` +
		`|(https?://)((\p{Nd}{1,3}(\.\p{Nd}{1,3}){3})|(\[([\p{Nd}a-f]{0,4}:){2}([\p{Nd}a-f]{0,4}:?){1,6}\])))` +
		`(?::\p{Nd}{1,5})?(?:[/?#].*)?$`)
	emailPattern  = regexp.MustCompile(`(?s)^.+@[\pL\pN_][\pL\pN_.-]*\.[\pL\pN_]+$`)
	headPattern   = regexp.MustCompile(`^([(<]|&lt;)+`)
	tailPattern   = regexp.MustCompile(`([)>.,\n]|&gt;)+$`)
	schemePattern = regexp.MustCompile(`^([\pL\pN_.+-]{2,}:(/){0,2})$`)
)

func filterURLize(c *call) Value {
	e := c.eval
	v := escape(e, c.recv)
	limit := c.arg(0, noneValue())
	rels := []string{"noopener"}
	if c.flag(1, false) {
		rels = append(rels, "nofollow")
	}
	if rel := c.arg(3, noneValue()); rel.isString() {
		rels = append(rels, strings.FieldsFunc(rel.text(), isSpace)...)
	} else if truth(e, rel) {
		panic(errf(AttributeError, "'%s' object has no attribute 'split'", typeName(rel)))
	}
	slices.Sort(rels)
	attrs := ` rel="` + string(appendEscaped(nil, strings.Join(slices.Compact(rels), " "))) + `"`
	target := c.arg(2, noneValue())
	if truth(e, target) {
		attrs += ` target="` + escape(e, target).text() + `"`
	}
	var schemes []string
	if extra := c.arg(4, noneValue()); !extra.isNone() {
		for _, item := range collect(e, extra) {
			if !item.isString() {
				panic(errf(TypeError, "expected string or bytes-like "+
					"object, got '%s'", typeName(item)))
			}
			if !schemePattern.MatchString(item.text()) {
				panic(errf(FilterArgumentError, "%s is not a valid "+
					"URI scheme prefix.", quoteExcerpt(item.text())))
			}
			schemes = append(schemes, item.text())
		}
	}
	var b strings.Builder
	s := v.text()
	for s != "" {
		n := spaceEnd(s)
		b.WriteString(s[:n])
		s = s[n:]
		end := strings.IndexFunc(s, isSpace)
		if end < 0 {
			end = len(s)
		}
		if end > 0 {
			e.step(1)
			linkWord(e, &b, s[:end], attrs, limit, schemes)
		}
		s = s[end:]
	}
	out := derived(v, b.String())
	if out.kind = String; e.autoescape {
		out.kind = Markup
	}
	e.charge(b.Len())
	return out
}

// linkWord writes a word, as a link if it is an address. Unless limit is None, it is the number of
// characters after which the address that is shown is cut.
func linkWord(e *eval, b *strings.Builder, word, attrs string, limit Value, schemes []string) {
	head := headPattern.FindString(word)
	middle := word[len(head):]
	tail := tailPattern.FindString(middle)
	middle = strings.TrimSuffix(middle, tail)
	// brackets that are open in the address are closed from the tail
	for _, pair := range [][2]string{{"(", ")"}, {"<", ">"}, {"&lt;", "&gt;"}} {
		opened := strings.Count(middle, pair[0])
		if opened <= strings.Count(middle, pair[1]) {
			continue
		}
		for range min(opened, strings.Count(tail, pair[1])) {
			end := strings.Index(tail, pair[1]) + len(pair[1])
			middle, tail = middle+tail[:end], tail[end:]
		}
	}
	switch {
	case httpPattern.MatchString(middle):
		shown := middle
		if !limit.isNone() && order(e, ">", intValue(runeCount(middle)), limit) {
			cut := getslice(e, stringValue(middle), Value{}, limit, Value{})
			shown = cut.text() + "..."
		}
		href := middle
		if !strings.HasPrefix(middle, "https://") && !strings.HasPrefix(middle, "http://") {
			href = "https://" + middle
		}
		middle = `<a href="` + href + `"` + attrs + `>` + shown + `</a>`
	case strings.HasPrefix(middle, "mailto:") && emailPattern.MatchString(middle[7:]):
		middle = `<a href="` + middle + `">` + middle[7:] + `</a>`
	case strings.Contains(middle, "@") && !strings.HasPrefix(middle, "www.") &&
		!strings.Contains(middle, ":") && emailPattern.MatchString(middle):
		middle = `<a href="mailto:` + middle + `">` + middle + `</a>`
	default:
		for _, scheme := range schemes {
			if middle != scheme && strings.HasPrefix(middle, scheme) {
				middle = `<a href="` + middle + `"` + attrs + `>` + middle + `</a>`
			}
		}
	}
	b.WriteString(head + middle + tail)
}

func filterXMLAttr(c *call) Value {
	e := c.eval
	autospace := c.flag(0, true)
	needs(c.recv, c.recv.kind == Dict, "items")
	b := e.builder(64)
	for _, entry := range c.recv.dict().all() {
		if entry.value.isNone() || entry.value.isUndefined() {
			continue
		}
		if !entry.key.isString() {
			panic(errf(TypeError, "expected string or bytes-like "+
				"object, got '%s'", typeName(entry.key)))
		}
		if strings.ContainsAny(entry.key.text(), " \t\n\r\f\v/>=") {
			panic(errf(ValueError, "Invalid character in attribute name: %s",
				quoteExcerpt(entry.key.text())))
		}
		key := escape(e, entry.key)
		value := escape(e, entry.value)
		if len(b.buf) > 0 || autospace {
			b.lit(" ")
		}
		b.str(key)
		b.lit(`="`)
		b.str(value)
		b.lit(`"`)
	}
	out := b.value()
	if e.autoescape {
		out.kind = Markup
	}
	e.charge(len(b.buf))
	return out
}

func filterWordwrap(c *call) Value {
	e, v := c.eval, c.recv
	needs(v, v.isString(), "splitlines")
	breakLong := c.flag(1, true)
	sep := c.arg(2, noneValue())
	if sep.isNone() {
		sep = stringValue("\n")
	}
	needs(sep, sep.isString(), "join")
	hyphens := c.flag(3, true)
	// each byte may be a piece, and a line, of its own
	e.step(len(v.text()))
	paragraphs := splitLines(e, v, false)
	width := 0
	if len(paragraphs.items()) > 0 {
		width = toInt(c.arg(0, intValue(79)))
		if width <= 0 {
			panic(errf(ValueError, "invalid width %d (must be > 0)", width))
		}
	}
	b := e.builder(len(v.text()) + 64)
	for i, p := range paragraphs.items() {
		if i > 0 {
			b.str(sep)
		}
		w := wrapper{e: e, v: p, width: width, breakLong: breakLong, hyphens: hyphens}
		for k, line := range w.lines() {
			if k > 0 {
				b.str(sep)
			}
			b.sub(p, line[0], line[1])
		}
	}
	out := b.value()
	out.kind = sep.kind
	e.charge(len(b.buf))
	return out
}

// wrapper is Python's textwrap.TextWrapper with tabs and white space kept.
type wrapper struct {
	e                  *eval
	v                  Value
	width              int // in characters
	breakLong, hyphens bool
}

// chunk is a byte range of the text, with its length in characters.
type chunk struct{ from, to, size int }

func wrapSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// chunks cuts the text where a line may end.
func (w *wrapper) chunks() []chunk {
	s := w.v.text()
	var out []chunk
	add := func(from, to int) { out = append(out, chunk{from, to, runeCount(s[from:to])}) }
	at := func(i int) rune { // the code point that begins at i
		if i >= len(s) {
			return -1
		}
		r, _ := decodeRune(s[i:])
		return r
	}
	before := func(i int) rune { // the code point that ends at i
		if i <= 0 {
			return -1
		}
		r, _ := decodeLastRune(s[:i])
		return r
	}
	letter := func(r rune) bool { return r >= 0 && isWord(r) && !isDecimal(r) }
	punct := func(r rune) bool {
		return r >= 0 && (isWord(r) || strings.ContainsRune("!\"'&.,?", r))
	}
	dashes := func(i int) int { // the end of a run of two or more hyphens before a word, or i
		j := i
		for j < len(s) && s[j] == '-' {
			j++
		}
		if j-i >= 2 && j < len(s) && isWord(at(j)) {
			return j
		}
		return i
	}
	for i := 0; i < len(s); {
		j := i
		if wrapSpace(s[i]) {
			for j < len(s) && wrapSpace(s[j]) {
				j++
			}
		} else if !w.hyphens {
			for j < len(s) && !wrapSpace(s[j]) {
				j++
			}
		} else if end := dashes(i); end > i && punct(before(i)) {
			j = end
		} else {
			for j += runeSize(s[i:]); j < len(s) && !wrapSpace(s[j]); j += runeSize(s[j:]) {
				if s[j] == '-' {
					one := before(j)
					k := j - len(string(one))
					two := before(k)
					joined := letter(one) && (letter(two) || two == '-' && letter(before(k-1)))
					next := at(j + 1)
					if joined && letter(next) {
						after := j + 1 + runeSize(s[j+1:])
						if at(after) == '-' {
							after++
						}
						if letter(at(after)) {
							j++
							break
						}
					}
					if punct(one) && dashes(j) > j {
						break
					}
				}
			}
		}
		add(i, j)
		i = j
	}
	return out
}

// lines returns the byte ranges of the lines.
func (w *wrapper) lines() [][2]int {
	s := w.v.text()
	chunks := w.chunks()
	blank := func(c chunk) bool { return spaceEnd(s[c.from:c.to]) == c.to-c.from }
	var lines [][2]int
	for len(chunks) > 0 {
		if len(lines) > 0 && blank(chunks[0]) {
			chunks = chunks[1:]
		}
		var line []chunk
		size := 0
		for len(chunks) > 0 && size+chunks[0].size <= w.width {
			line, size, chunks = append(line, chunks[0]), size+chunks[0].size, chunks[1:]
		}
		if len(chunks) > 0 && chunks[0].size > w.width {
			switch c := &chunks[0]; {
			case w.breakLong:
				end := w.width - size
				if text := s[c.from:c.to]; w.hyphens {
					head := text[:byteOffset(text, end)]
					if i := strings.LastIndexByte(head, '-'); i > 0 &&
						strings.Trim(head[:i], "-") != "" {
						end = runeCount(head[:i]) + 1
					}
				}
				cut := c.from + byteOffset(s[c.from:c.to], end)
				line = append(line, chunk{c.from, cut, end})
				c.from, c.size = cut, c.size-end
			case len(line) == 0:
				line, chunks = append(line, *c), chunks[1:]
			}
		}
		if n := len(line) - 1; n >= 0 && blank(line[n]) {
			line = line[:n]
		}
		if len(line) > 0 {
			lines = append(lines, [2]int{line[0].from, line[len(line)-1].to})
		}
	}
	return lines
}
