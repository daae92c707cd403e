package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// spec is a parsed format specification of Python's mini-language:
// [[fill]align][sign][z][#][0][width][grouping][.precision][type].
type spec struct {
	text      string // as written
	fill      string // one code point; "" where none was given
	align     byte   // '<', '>', '=', '^' or 0
	sign      byte   // '+', '-', ' ' or 0
	coerce    bool   // z: negative zero becomes zero
	alt       bool   // #
	width     int    // -1: none
	group     byte   // ',' or '_' or 0
	precision int    // -1: none
	kind      byte   // the type, or 0
	zero      bool   // 0 before the width, which set the alignment
}

// maxWidth bounds widths and precisions in formats, in characters.
const maxWidth = 1 << 24

func parseSpec(text, typeName string) spec {
	f := spec{text: text, width: -1, precision: -1}
	s := text
	isAlign := func(c byte) bool { return c == '<' || c == '>' || c == '=' || c == '^' }
	if s != "" {
		if n := runeSize(s); len(s) > n && isAlign(s[n]) {
			f.fill, f.align, s = s[:n], s[n], s[n+1:]
		} else if isAlign(s[0]) {
			f.align, s = s[0], s[1:]
		}
	}
	take := func(c byte) bool {
		if s != "" && s[0] == c {
			s = s[1:]
			return true
		}
		return false
	}
	number := func(what string) int {
		i := 0
		for i < len(s) && isDigit(s[i]) {
			i++
		}
		if i == 0 {
			return -1
		}
		n, err := strconv.Atoi(s[:i])
		s = s[i:]
		if err != nil || n > math.MaxInt32 {
			panic(errf(ValueError, "Too many decimal digits in format string"))
		}
		if n > maxWidth {
			panic(errf(LimitError, "a format %s of more than %d", what, maxWidth))
		}
		return n
	}
	if s != "" && (s[0] == '+' || s[0] == '-' || s[0] == ' ') {
		f.sign, s = s[0], s[1:]
	}
	f.coerce = take('z')
	f.alt = take('#')
	if f.fill == "" && take('0') {
		f.fill = "0"
		if f.align == 0 {
			f.align, f.zero = '=', true
		}
	}
	f.width = number("width")
	if take(',') {
		f.group = ','
	}
	if take('_') {
		if f.group != 0 {
			panic(errf(ValueError, "Cannot specify both ',' and '_'."))
		}
		f.group = '_'
	}
	if s != "" && s[0] == ',' {
		if f.group == '_' {
			panic(errf(ValueError, "Cannot specify both ',' and '_'."))
		}
		panic(errf(ValueError, "Cannot specify ',' with ','."))
	}
	if take('.') {
		if f.precision = number("precision"); f.precision < 0 {
			panic(errf(ValueError, "Format specifier missing precision"))
		}
	}
	if len(s) > 1 {
		panic(errf(ValueError, "Invalid format specifier '%s' for "+
			"object of type '%s'", text, typeName))
	}
	if s != "" {
		f.kind = s[0]
	}
	if f.group != 0 && f.kind != 0 && !strings.ContainsRune("deEfFgG%", rune(f.kind)) &&
		!(f.group == '_' && strings.ContainsRune("boxX", rune(f.kind))) {
		panic(errf(ValueError, "Cannot specify '%c' with '%c'.", f.group, f.kind))
	}
	return f
}

func (f *spec) unknown(typeName string) error {
	return errf(ValueError, "Unknown format code '%c' for object of type '%s'", f.kind, typeName)
}

// format appends Python's format(v, text).
func (b *builder) format(e *eval, v Value, text string) {
	if text == "" {
		b.print(e, v)
		return
	}
	switch {
	case v.isString():
		b.formatString(e, v, text)
		return
	case !v.isNumber():
		panic(errf(TypeError, "unsupported format string passed to %s.__format__", typeName(v)))
	}
	f := parseSpec(text, typeName(v))
	e.charge(max(f.width, 0) + max(f.precision, 0))
	start := len(b.buf)
	var out string
	switch {
	case v.kind == Float:
		out = f.float(v.float(), "float")
	case f.kind == 0 || strings.IndexByte("bcdnoxX", f.kind) >= 0:
		out = f.integer(v)
	case strings.IndexByte("eEfFgG%", f.kind) >= 0:
		out = f.float(toFloat(v), typeName(v))
	default:
		panic(f.unknown(typeName(v)))
	}
	b.buf = append(b.buf, out...)
	b.mark(start, leaf(v, Python))
}

func (b *builder) formatString(e *eval, v Value, text string) {
	f := parseSpec(text, typeName(v))
	switch {
	case f.kind != 0 && f.kind != 's':
		panic(f.unknown("str"))
	case f.sign == ' ':
		panic(errf(ValueError, "Space not allowed in string format specifier"))
	case f.sign != 0:
		panic(errf(ValueError, "Sign not allowed in string format specifier"))
	case f.coerce:
		panic(errf(ValueError, "Negative zero coercion (z) not allowed in string format specifier"))
	case f.alt:
		panic(errf(ValueError, "Alternate form (#) not allowed in string format specifier"))
	case f.group != 0:
		panic(errf(ValueError, "Cannot specify '%c' with 's'.", f.group))
	case f.align == '=' && !f.zero:
		panic(errf(ValueError, "'=' alignment not allowed in string format specifier"))
	}
	if f.align == '=' {
		f.align = '<'
	}
	if f.precision >= 0 && f.precision < runeCount(v.text()) {
		v = v.substr(0, byteOffset(v.text(), f.precision))
	}
	e.charge(max(f.width, 0))
	left, right := f.padding(runeCount(v.text()), '<')
	b.lit(left)
	b.str(v)
	b.lit(right)
}

// padding returns the fill around a text of n characters.
func (f *spec) padding(n int, align byte) (left, right string) {
	if f.align != 0 {
		align = f.align
	}
	fill := f.fill
	if fill == "" {
		fill = " "
	}
	n = max(f.width-n, 0)
	before := n
	switch align {
	case '<':
		before = 0
	case '^':
		before = n / 2
	}
	return strings.Repeat(fill, before), strings.Repeat(fill, n-before)
}

// number puts sign, prefix, grouped digits and rest (a fraction, an exponent) together and pads
// them.
func (f *spec) number(negative bool, prefix, digits, rest string) string {
	sign := ""
	switch {
	case negative:
		sign = "-"
	case f.sign == '+' || f.sign == ' ':
		sign = string(f.sign)
	}
	if f.group != 0 {
		size := 3
		if strings.IndexByte("boxX", f.kind) >= 0 && f.kind != 0 {
			size = 4
		}
		least := 0
		if f.fill == "0" && f.align == '=' {
			least = f.width - len(sign) - len(prefix) - len(rest)
		}
		digits = group(digits, f.group, size, least)
	}
	body := sign + prefix + digits + rest
	left, right := f.padding(runeCount(body), '>')
	if f.align == '=' {
		return sign + prefix + left + digits + rest + right
	}
	return left + body + right
}

// group puts a separator between groups of digits from the right, with zeros in front up to the
// least width.
func group(digits string, sep byte, size, least int) string {
	for n := len(digits); n+(n-1)/size < least; n++ {
		digits = "0" + digits
	}
	var out []byte
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%size == 0 {
			out = append(out, sep)
		}
		out = append(out, digits[i])
	}
	return string(out)
}

func (f *spec) integer(v Value) string {
	if f.precision >= 0 {
		panic(errf(ValueError, "Precision not allowed in integer format specifier"))
	}
	if f.coerce {
		panic(errf(ValueError, "Negative zero coercion (z) not allowed in format specifier "+
			"with integer format code"))
	}
	x := bigInt(v)
	if f.kind == 'c' {
		switch {
		case f.sign != 0:
			panic(errf(ValueError, "Sign not allowed with integer format specifier 'c'"))
		case f.alt:
			panic(errf(ValueError, "Alternate form (#) not allowed with integer "+
				"format specifier 'c'"))
		case !x.IsInt64() || x.Int64() < 0 || x.Int64() > 0x10FFFF:
			panic(errf(OverflowError, "%%c arg not in range(0x110000)"))
		}
		left, right := f.padding(1, '<')
		return left + string(appendRune(nil, rune(x.Int64()))) + right
	}
	prefix, digits := f.digits(x)
	return f.number(x.Sign() < 0, prefix, digits, "")
}

func (f *spec) float(x float64, typeName string) string {
	kind, precision := f.kind, f.precision
	percent := ""
	switch kind {
	case 0:
		kind = 'r'
		if precision >= 0 {
			kind = 'G' + 1 // g with a point
		}
	case 'n':
		kind = 'g'
	case '%':
		kind, percent = 'f', "%"
		x *= 100
	case 'e', 'E', 'f', 'F', 'g', 'G':
	default:
		panic(f.unknown(typeName))
	}
	if precision < 0 {
		precision = 6
	}
	text := formatFloat(x, kind, precision, f.alt)
	negative := strings.HasPrefix(text, "-")
	text = strings.TrimPrefix(text, "-")
	if negative && f.coerce && strings.Trim(text, "0.e+-E") == "" {
		negative = false
	}
	i := 0
	for i < len(text) && isDigit(text[i]) {
		i++
	}
	if i == 0 { // inf and nan have no digits to group
		plain := *f
		plain.group = 0
		return plain.number(negative, "", text, percent)
	}
	return f.number(negative, "", text[:i], text[i:]+percent)
}

// formatFloat writes a float as C's printf does, for the kinds e, E, f, F, g and G; 'r' is repr,
// and 'H' is g that keeps a point. alt keeps the point and, for g, trailing zeros.
func formatFloat(x float64, kind byte, precision int, alt bool) string {
	upper := kind == 'E' || kind == 'F' || kind == 'G'
	var s string
	switch {
	case math.IsInf(x, 0) || math.IsNaN(x):
		s = string(appendFloat(nil, x))
	case kind == 'r':
		s = string(appendFloat(nil, x))
		if alt && !strings.Contains(s, ".") {
			s = strings.Replace(s, "e", ".e", 1)
		}
	case kind == 'f' || kind == 'F':
		s = strconv.FormatFloat(x, 'f', precision, 64)
		if alt && precision == 0 {
			s += "."
		}
	case kind == 'e' || kind == 'E':
		s = strconv.FormatFloat(x, 'e', precision, 64)
		if alt && precision == 0 {
			s = strings.Replace(s, "e", ".e", 1)
		}
	default:
		precision = max(precision, 1)
		point := kind == 'H'
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(x, 'e', precision-1, 64), "e")
		exp, _ := strconv.Atoi(exponent)
		limit := precision
		if point {
			limit--
		}
		trim := func(s string) string {
			if strings.Contains(s, ".") && !alt {
				s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
			}
			if alt && !strings.Contains(s, ".") {
				s += "."
			}
			return s
		}
		if exp < -4 || exp >= limit {
			s = trim(mantissa) + "e" + exponent
		} else {
			s = trim(strconv.FormatFloat(x, 'f', precision-1-exp, 64))
			if point && !strings.Contains(s, ".") {
				s += ".0"
			}
		}
	}
	if upper {
		s = strings.ToUpper(s)
	}
	return s
}

// formatter runs str.format as the sandbox does: fields are looked up with getattr and getitem of
// the sandbox.
type formatter struct {
	e      *eval
	markup bool
	args   []Value
	kwargs []kwarg
	lookup Value // format_map's mapping, or Missing
	auto   int   // the next automatic field; -1: fields are numbered by hand
}

// formatBraces is str.format, or str.format_map where mapping is given. v's kind reports whether
// markup is made.
func formatBraces(e *eval, v Value, args []Value, kwargs []kwarg, mapping Value) Value {
	f := formatter{e: e, markup: v.kind == Markup, args: args, kwargs: kwargs, lookup: mapping}
	b := e.builder(len(v.text()) + 16)
	v.kind = String
	f.run(&b, v, 2)
	e.charge(len(b.buf))
	return b.value()
}

func (f *formatter) run(b *builder, v Value, depth int) {
	if depth < 0 {
		panic(errf(ValueError, "Max string recursion exceeded"))
	}
	s := v.text()
	for i := 0; i < len(s); {
		n := strings.IndexAny(s[i:], "{}")
		if n < 0 {
			b.sub(v, i, len(s))
			return
		}
		n += i
		b.sub(v, i, n)
		c := s[n]
		i = n + 1
		switch {
		case c == '}' && (i == len(s) || s[i] != '}'):
			panic(errf(ValueError, "Single '}' encountered in format string"))
		case i == len(s):
			panic(errf(ValueError, "Single '{' encountered in format string"))
		case s[i] == c:
			b.sub(v, n, i)
			i++
			continue
		}
		field := parseField(s[i:])
		specValue := v.substr(i+field.specAt, i+field.specAt+len(field.spec))
		i += field.size
		f.field(b, field, specValue, depth)
	}
}

// field is one replacement field.
type field struct {
	name       string
	conversion string // "" or one character
	spec       string
	specAt     int // where spec begins
	size       int // of the whole, with the closing brace
}

// parseField reads the text after an opening brace.
func parseField(s string) field {
	var f field
	i := 0
	c := byte(0)
scan:
	for i < len(s) {
		c = s[i]
		i++
		switch c {
		case '{':
			panic(errf(ValueError, "unexpected '{' in field name"))
		case '[':
			for i < len(s) && s[i] != ']' {
				i++
			}
		case '}', ':', '!':
			break scan
		}
	}
	if c != '}' && c != ':' && c != '!' {
		panic(errf(ValueError, "expected '}' before end of string"))
	}
	f.name = s[:i-1]
	if c == '}' {
		f.specAt, f.size = i, i
		return f
	}
	if c == '!' {
		if i == len(s) {
			panic(errf(ValueError, "end of string while looking for conversion specifier"))
		}
		n := runeSize(s[i:])
		f.conversion = s[i : i+n]
		i += n
		if i < len(s) {
			c = s[i]
			i++
			if c == '}' {
				f.specAt, f.size = i, i
				return f
			}
			if c != ':' {
				panic(errf(ValueError, "expected ':' after conversion specifier"))
			}
		}
	}
	f.specAt = i
	for depth := 1; i < len(s); i++ {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				f.spec, f.size = s[f.specAt:i], i+1
				return f
			}
		}
	}
	panic(errf(ValueError, "unmatched '{' in format spec"))
}

func (f *formatter) field(b *builder, fd field, specValue Value, depth int) {
	e := f.e
	name := fd.name
	switch {
	case name == "":
		if f.auto < 0 {
			panic(errf(ValueError, "cannot switch from manual field specification to automatic "+
				"field numbering"))
		}
		name = strconv.Itoa(f.auto)
		f.auto++
	case allRunes(name, isDigitRune):
		if f.auto > 0 {
			panic(errf(ValueError, "cannot switch from manual field specification to automatic "+
				"field numbering"))
		}
		f.auto = -1
	}
	v := f.value(name)
	switch fd.conversion {
	case "":
	case "s":
		v = str(e, v)
	case "r":
		v = repr(e, v)
	case "a":
		v = ascii(e, v)
	default:
		panic(errf(ValueError, "Unknown conversion specifier %s", fd.conversion))
	}
	text := builder{}
	f.run(&text, specValue, depth-1)
	format := string(text.buf)
	if !f.markup {
		b.format(e, v, format)
		return
	}
	if v.kind == Markup {
		if format != "" {
			panic(errf(ValueError, "Unsupported format specification for Markup."))
		}
		b.str(v)
		return
	}
	inner := e.builder(16)
	inner.format(e, v, format)
	b.str(escape(e, inner.value()))
}

// ascii is Python's ascii(v).
func ascii(e *eval, v Value) Value {
	v = repr(e, v)
	if isASCII(v.text()) {
		return v
	}
	b := e.builder(int(v.num))
	b.encode(v, Python, func(dst []byte, s string) []byte {
		for s != "" {
			r, n := decodeRune(s)
			if r < 0x80 {
				dst = append(dst, byte(r))
			} else {
				dst = appendEscape(dst, r)
			}
			s = s[n:]
		}
		return dst
	})
	return b.value()
}

// value looks a field's name up: an argument, then attributes and items of it.
func (f *formatter) value(name string) Value {
	end := strings.IndexAny(name, ".[")
	if end < 0 {
		end = len(name)
	}
	v := f.argument(name[:end])
	for rest := name[end:]; rest != ""; {
		if rest[0] == '.' {
			end := strings.IndexAny(rest[1:], ".[") + 1
			if end == 0 {
				end = len(rest)
			}
			if end == 1 {
				panic(errf(ValueError, "Empty attribute in format string"))
			}
			v = getattr(f.e, v, newAttr(rest[1:end]))
			rest = rest[end:]
			continue
		}
		if rest[0] != '[' {
			panic(errf(ValueError, "Only '.' or '[' may follow ']' in format field specifier"))
		}
		end := strings.IndexByte(rest, ']')
		if end < 0 {
			panic(errf(ValueError, "Missing ']' in format string"))
		}
		if end == 1 {
			panic(errf(ValueError, "Empty attribute in format string"))
		}
		key := stringValue(rest[1:end])
		if i, ok := fieldIndex(rest[1:end]); ok {
			key = intValue(i)
		}
		v = getitem(f.e, v, key)
		rest = rest[end+1:]
	}
	return v
}

// fieldIndex reads a name made of digits.
func fieldIndex(s string) (int, bool) {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return 0, false
		}
	}
	if s == "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(errf(ValueError, "Too many decimal digits in format string"))
	}
	return n, true
}

func (f *formatter) argument(name string) Value {
	i, ok := fieldIndex(name)
	if ok {
		if i >= len(f.args) {
			panic(errf(IndexError, "Replacement index %d out of range for "+
				"positional args tuple", i))
		}
		return f.args[i]
	}
	if !f.lookup.isMissing() {
		return mappingItem(f.e, f.lookup, stringValue(name))
	}
	for _, k := range f.kwargs {
		if k.name == name {
			return k.value
		}
	}
	panic(errf(KeyError, "%s", quoteExcerpt(name)))
}

// mappingItem is Python's m[key] with its errors.
func mappingItem(e *eval, m, key Value) Value {
	if v, ok := subscript(e, m, key); ok {
		return v
	}
	if m.kind == Dict {
		panic(errf(KeyError, "%s", reprText(e, key)))
	}
	panic(errf(TypeError, "'%s' object cannot be indexed by %s", typeName(m), typeName(key)))
}

// formatPercent is printf-style formatting, str % args; with markup on the left its arguments are
// escaped.
func formatPercent(e *eval, v, args Value) Value {
	p := percent{e: e, markup: v.kind == Markup}
	switch args.kind {
	case Tuple:
		p.args = args.items()
	default:
		p.args = []Value{args}
		p.mapping = args.kind == Dict || args.kind == List || args.kind == Range ||
			args.kind == Undefined
	}
	if p.mapping {
		p.source = args
	}
	b := e.builder(len(v.text()) + 16)
	p.run(&b, v)
	if p.next < len(p.args) && !p.mapping {
		panic(errf(TypeError, "not all arguments converted during string formatting"))
	}
	out := b.value()
	if p.markup {
		out.kind = Markup
	}
	e.charge(len(b.buf))
	return out
}

// percent is the state of printf-style formatting.
type percent struct {
	e       *eval
	markup  bool
	args    []Value
	next    int
	mapping bool // %(key)s is possible, and unused arguments are no error
	source  Value
}

func (p *percent) take() Value {
	if p.next >= len(p.args) {
		panic(errf(TypeError, "not enough arguments for format string"))
	}
	p.next++
	return p.args[p.next-1]
}

func (p *percent) run(b *builder, v Value) {
	s := v.text()
	for i := 0; i < len(s); {
		n := strings.IndexByte(s[i:], '%')
		if n < 0 {
			b.sub(v, i, len(s))
			return
		}
		b.sub(v, i, i+n)
		i += n + 1
		i = p.conversion(b, s, i)
	}
}

// conversion does one conversion; i is after its percent sign. It returns the offset after the
// conversion.
func (p *percent) conversion(b *builder, s string, i int) int {
	f := spec{width: -1, precision: -1}
	var value Value
	if i < len(s) && s[i] == '%' {
		b.lit("%")
		return i + 1
	}
	if i < len(s) && s[i] == '(' {
		if !p.mapping {
			panic(errf(TypeError, "format requires a mapping"))
		}
		start, depth := i+1, 1
		for i++; i < len(s) && depth > 0; i++ {
			switch s[i] {
			case '(':
				depth++
			case ')':
				depth--
			}
		}
		if depth > 0 {
			panic(errf(ValueError, "incomplete format key"))
		}
		value = mappingItem(p.e, p.source, stringValue(s[start:i-1]))
		p.args, p.next = []Value{value}, 0
	}
	left := false
flags:
	for ; i < len(s); i++ {
		switch s[i] {
		case '-':
			left = true
		case '+':
			f.sign = '+'
		case ' ':
			if f.sign == 0 {
				f.sign = ' '
			}
		case '#':
			f.alt = true
		case '0':
			f.zero = true
		default:
			break flags
		}
	}
	number := func(what string) int {
		if i < len(s) && s[i] == '*' {
			i++
			v := p.take()
			if !v.isInteger() || p.markup { // the wrapper of markup's arguments is no integer
				panic(errf(TypeError, "* wants int"))
			}
			if v.kind == BigInt {
				panic(errf(OverflowError, "Python int too large to convert to C int"))
			}
			if v.int() > maxWidth {
				panic(errf(LimitError, "a format %s of more than %d", what, maxWidth))
			}
			return int(max(v.int(), -maxWidth))
		}
		n := 0
		for ; i < len(s) && isDigit(s[i]); i++ {
			if n = n*10 + int(s[i]-'0'); n > math.MaxInt32 {
				panic(errf(ValueError, "%s too big", what))
			}
		}
		if n > maxWidth {
			panic(errf(LimitError, "a format %s of more than %d", what, maxWidth))
		}
		return n
	}
	f.width = number("width")
	if f.width < 0 {
		left, f.width = true, -f.width
	}
	if i < len(s) && s[i] == '.' {
		i++
		f.precision = max(number("precision"), 0)
	}
	if i < len(s) && (s[i] == 'h' || s[i] == 'l' || s[i] == 'L') {
		i++
	}
	if i >= len(s) {
		panic(errf(ValueError, "incomplete format"))
	}
	f.kind = s[i]
	if f.zero && !left {
		f.fill, f.align = "0", '='
	}
	if left {
		f.align = '<'
	}
	p.e.charge(f.width + max(f.precision, 0))
	value = p.take()
	if strings.IndexByte("sraciduoxXeEfFgG", f.kind) < 0 {
		r, _ := decodeRune(s[i:])
		panic(errf(ValueError, "unsupported format character '%s' "+
			"(0x%x) at index %d", string(appendRune(nil, r)), r, runeCount(s[:i])))
	}
	p.convert(b, f, value)
	return i + 1
}

func (p *percent) convert(b *builder, f spec, v Value) {
	e := p.e
	start := len(b.buf)
	out := ""
	switch f.kind {
	case 's', 'r', 'a', 'c':
		p.convertText(b, f, v)
		return
	case 'd', 'i', 'u', 'o', 'x', 'X':
		out = f.printfInteger(p.integer(f.kind, v))
	default:
		x := p.float(v)
		precision := f.precision
		if precision < 0 {
			precision = 6
		}
		text := formatFloat(x, f.kind, precision, f.alt)
		out = f.number(strings.HasPrefix(text, "-"), "", strings.TrimPrefix(text, "-"), "")
	}
	b.buf = append(b.buf, out...)
	b.mark(start, leaf(v, Python))
	e.charge(len(out))
}

func (p *percent) convertText(b *builder, f spec, v Value) {
	e := p.e
	switch f.kind {
	case 's':
		if p.markup {
			v = escape(e, v)
		} else {
			v = str(e, v)
		}
	case 'r', 'a':
		if f.kind == 'r' {
			v = repr(e, v)
		} else {
			v = ascii(e, v)
		}
		if p.markup {
			v = escape(e, v)
		}
	case 'c':
		switch {
		case p.markup:
			panic(errf(TypeError, "%%c requires int or char"))
		case v.isString() && runeCount(v.text()) == 1:
		case v.kind == BigInt || v.isInteger() && (v.int() < 0 || v.int() > 0x10FFFF):
			panic(errf(OverflowError, "%%c arg not in range(0x110000)"))
		case v.isInteger():
			v = stringValue(string(appendRune(nil, rune(v.int()))))
		default:
			panic(errf(TypeError, "%%c requires int or char"))
		}
		f.precision = -1
	}
	if f.precision >= 0 && f.precision < runeCount(v.text()) {
		v = v.substr(0, byteOffset(v.text(), f.precision))
	}
	f.fill = ""
	if f.align == '=' {
		f.align = '>'
	}
	left, right := f.padding(runeCount(v.text()), '>')
	b.lit(left)
	b.str(v)
	b.lit(right)
}

// integer converts the argument of an integer conversion.
func (p *percent) integer(kind byte, v Value) Value {
	hex := kind == 'o' || kind == 'x' || kind == 'X'
	switch {
	case v.isInteger() && !(hex && p.markup):
		return v
	case hex:
		panic(errf(TypeError, "%%%c format: an integer is required, not %s", kind, typeName(v)))
	case v.kind == Float:
		return truncate(v.float())
	case v.kind == Undefined:
		panic(undefinedError(v))
	case p.markup && v.isString():
		return parseInt(v.text(), 10)
	}
	panic(errf(TypeError, "%%%c format: a real number is required, not %s", kind, typeName(v)))
}

// truncate is Python's int(f).
func truncate(f float64) Value {
	if math.IsInf(f, 0) {
		panic(errf(OverflowError, "cannot convert float infinity to integer"))
	}
	if math.IsNaN(f) {
		panic(errf(ValueError, "cannot convert float NaN to integer"))
	}
	if math.Abs(f) < 1<<62 {
		return int64Value(int64(f))
	}
	n, _ := big.NewFloat(f).Int(nil)
	return bigValue(n)
}

// float converts the argument of a floating-point conversion.
func (p *percent) float(v Value) float64 {
	switch {
	case p.markup && v.isString():
		return parseFloat(v.text())
	case v.isNumber():
		return toFloat(v)
	case v.kind == Undefined:
		panic(undefinedError(v))
	}
	panic(errf(TypeError, "must be real number, not %s", typeName(v)))
}

// digits returns an integer's digits in the base of the conversion, without sign, and the prefix
// that the alternate form writes before them.
func (f *spec) digits(x *big.Int) (prefix, digits string) {
	base := 10
	switch f.kind {
	case 'b':
		base, prefix = 2, "0b"
	case 'o':
		base, prefix = 8, "0o"
	case 'x', 'X':
		base, prefix = 16, "0"+string(f.kind)
	}
	if !f.alt {
		prefix = ""
	}
	if base == 10 {
		return prefix, strings.TrimPrefix(bigText(Value{kind: BigInt, ref: ptr(x)}), "-")
	}
	if digits = new(big.Int).Abs(x).Text(base); f.kind == 'X' {
		digits = strings.ToUpper(digits)
	}
	return prefix, digits
}

// printfInteger writes an integer for d, i, u, o, x and X, where a precision is a least number of
// digits.
func (f *spec) printfInteger(v Value) string {
	x := bigInt(v)
	prefix, digits := f.digits(x)
	if n := f.precision - len(digits); n > 0 {
		digits = strings.Repeat("0", n) + digits
	}
	return f.number(x.Sign() < 0, prefix, digits, "")
}
