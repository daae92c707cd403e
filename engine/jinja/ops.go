package jinja

import (
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
	"unsafe"
)

func ptr[T any](p *T) unsafe.Pointer { return unsafe.Pointer(p) }

// maxBits bounds the size of an integer, in bits: more than CPython prints (4,300 digits), and
// cheap to compute with.
const maxBits = 1 << 14

// defined raises the error of an operator with an undefined operand.
func defined(operands ...Value) {
	for _, v := range operands {
		if v.kind == Undefined {
			panic(undefinedError(v))
		}
	}
}

// add is Python's a + b.
func add(e *eval, a, b Value) Value {
	switch {
	case a.kind == String && b.kind == String:
		e.charge(int(a.num + b.num))
		return concat2(e, a, b)
	case a.isString() && b.isString(): // at least one is markup, so both become it
		x := escape(e, a)
		y := escape(e, b)
		e.charge(int(x.num + y.num))
		return concat2(e, x, y)
	case a.kind == Int && b.kind == Int:
		x, y := a.int(), b.int()
		if sum := x + y; (sum > x) == (y > 0) {
			return e.computed(int64Value(sum))
		}
	case a.kind == b.kind && a.isSeq():
		x, y := a.items(), b.items()
		e.step(len(x) + len(y))
		items := make([]Value, 0, len(x)+len(y))
		return e.seq(append(append(items, x...), y...)).value(a.kind)
	}
	if e.dialect != nil && (a.isString() || b.isString()) {
		return concat(e, []Value{a, b})
	}
	if !a.isNumber() || !b.isNumber() {
		defined(a, b)
		if a.isString() {
			panic(errf(TypeError, "can only concatenate str (not \"%s\") to str", typeName(b)))
		}
		if a.isSeq() {
			panic(errf(TypeError, "can only concatenate %s "+
				"(not \"%s\") to %s", typeName(a), typeName(b), typeName(a)))
		}
	}
	return arithmetic(e, "+", a, b)
}

// sub is Python's a - b.
func sub(e *eval, a, b Value) Value {
	if a.kind == Int && b.kind == Int {
		x, y := a.int(), b.int()
		if diff := x - y; (diff < x) == (y > 0) {
			return e.computed(int64Value(diff))
		}
	}
	if isSetView(a) || isSetView(b) && isIterable(e, a) {
		return viewDifference(e, a, b)
	}
	return arithmetic(e, "-", a, b)
}

// mul is Python's a * b.
func mul(e *eval, a, b Value) Value {
	switch {
	case a.kind == Int && b.kind == Int:
		x, y := a.int(), b.int()
		hi, lo := bits.Mul64(magnitude(x), magnitude(y))
		if hi == 0 && lo <= math.MaxInt64 {
			return e.computed(int64Value(x * y))
		}
	case (a.isString() || a.isSeq()) && b.isInteger():
		return repeat(e, a, b)
	case (b.isString() || b.isSeq()) && a.isInteger():
		return repeat(e, b, a)
	case a.isString() || a.isSeq():
		defined(a, b)
		panic(errf(TypeError, "can't multiply sequence by non-int of type '%s'", typeName(b)))
	}
	return arithmetic(e, "*", a, b)
}

func magnitude(i int64) uint64 {
	if i < 0 {
		return -uint64(i)
	}
	return uint64(i)
}

// repeat is a sequence times a number.
func repeat(e *eval, v, times Value) Value {
	if times.kind == BigInt {
		panic(errf(OverflowError, "cannot fit 'int' into an index-sized integer"))
	}
	n := int(max(times.int(), 0))
	if v.isString() {
		if n == 1 {
			return v
		}
		e.chargeProduct(n, int(v.num))
		if v.num == 0 {
			n = 0
		}
		out := stringValue(strings.Repeat(v.text(), n))
		out.kind = v.kind
		if v.prov != nil {
			b := builder{on: true}
			for range n {
				b.prov(v.prov, int(v.num))
			}
			out.prov = e.prov(b.runs)
		}
		return out
	}
	src := v.items()
	if len(src) == 0 {
		n = 0
	}
	e.chargeProduct(n, len(src)*int(unsafe.Sizeof(Value{})))
	items := make([]Value, 0, n*len(src))
	for range n {
		items = append(items, src...)
	}
	return e.seq(items).value(v.kind)
}

// truediv is Python's a / b.
func truediv(e *eval, a, b Value) Value { return arithmetic(e, "/", a, b) }

// floordiv is Python's a // b.
func floordiv(e *eval, a, b Value) Value { return arithmetic(e, "//", a, b) }

// mod is Python's a % b: the remainder, or printf-style formatting.
func mod(e *eval, a, b Value) Value {
	if a.isString() {
		return formatPercent(e, a, b)
	}
	return arithmetic(e, "%", a, b)
}

// pow is Python's a ** b.
func pow(e *eval, a, b Value) Value { return arithmetic(e, "** or pow()", a, b) }

// neg is Python's -a.
func neg(e *eval, a Value) Value {
	switch {
	case a.kind == Float:
		return e.computed(floatValue(-a.float()))
	case a.kind == BigInt || a.kind == Int && a.int() == math.MinInt64:
		return e.computed(bigValue(new(big.Int).Neg(bigInt(a))))
	case a.isInteger():
		return e.computed(int64Value(-a.int()))
	}
	return unary("-", a)
}

// pos is Python's +a.
func pos(e *eval, a Value) Value {
	switch {
	case a.kind == Bool:
		return e.computed(int64Value(a.int()))
	case a.isNumber():
		return a
	}
	return unary("+", a)
}

func unary(op string, a Value) Value {
	defined(a)
	panic(errf(TypeError, "bad operand type for unary %s: '%s'", op, typeName(a)))
}

// arithmetic does the operators on numbers of any kind.
func arithmetic(e *eval, op string, a, b Value) Value {
	if !a.isNumber() || !b.isNumber() {
		defined(a, b)
		panic(errf(TypeError, "unsupported operand type(s) for "+
			"%s: '%s' and '%s'", op, typeName(a), typeName(b)))
	}
	switch {
	case a.kind == Float || b.kind == Float:
		return e.computed(floatArithmetic(op, a, b))
	case a.kind == BigInt || b.kind == BigInt:
		return e.computed(bigArithmetic(e, op, bigInt(a), bigInt(b)))
	}
	return e.computed(intArithmetic(e, op, a.int(), b.int()))
}

func intArithmetic(e *eval, op string, x, y int64) Value {
	switch op {
	case "/":
		if y != 0 && magnitude(x) < 1<<53 && magnitude(y) < 1<<53 {
			return floatValue(float64(x) / float64(y))
		}
	case "//":
		if y != 0 && y != -1 {
			q := x / y
			if x%y != 0 && (x < 0) != (y < 0) {
				q--
			}
			return int64Value(q)
		}
	case "%":
		if y != 0 && y != -1 {
			r := x % y
			if r != 0 && (r < 0) != (y < 0) {
				r += y
			}
			return int64Value(r)
		}
	}
	return bigArithmetic(e, op, big.NewInt(x), big.NewInt(y))
}

func bigArithmetic(e *eval, op string, x, y *big.Int) Value {
	switch op {
	case "+", "-":
		chargeBits(e, max(x.BitLen(), y.BitLen()))
		if op == "+" {
			return bigValue(new(big.Int).Add(x, y))
		}
		return bigValue(new(big.Int).Sub(x, y))
	case "*":
		chargeBits(e, x.BitLen()+y.BitLen())
		return bigValue(new(big.Int).Mul(x, y))
	case "** or pow()":
		return bigPower(e, x, y)
	}
	if y.Sign() == 0 {
		switch op {
		case "/":
			panic(errf(ZeroDivisionError, "division by zero"))
		case "//":
			panic(errf(ZeroDivisionError, "integer division or modulo by zero"))
		}
		panic(errf(ZeroDivisionError, "integer modulo by zero"))
	}
	if op == "/" {
		chargeBits(e, max(x.BitLen(), y.BitLen()))
		f, _ := new(big.Rat).SetFrac(x, y).Float64()
		if math.IsInf(f, 0) {
			panic(errf(OverflowError, "integer division result too large for a float"))
		}
		if f == 0 && (x.Sign() < 0) != (y.Sign() < 0) {
			f = math.Copysign(0, -1)
		}
		return floatValue(f)
	}
	chargeBits(e, x.BitLen())
	q, r := new(big.Int).QuoRem(x, y, new(big.Int))
	if r.Sign() != 0 && r.Sign() != y.Sign() {
		q.Sub(q, big.NewInt(1))
		r.Add(r, y)
	}
	if op == "//" {
		return bigValue(q)
	}
	return bigValue(r)
}

// chargeBits charges work on an integer of n bits, and refuses too large ones.
func chargeBits(e *eval, n int) {
	if n > maxBits {
		panic(errf(LimitError, "an integer of more than %d bits", maxBits))
	}
	e.step(n / 64)
}

func bigPower(e *eval, x, y *big.Int) Value {
	if y.Sign() < 0 {
		if x.Sign() == 0 {
			panic(errf(ZeroDivisionError, "0.0 cannot be raised to a negative power"))
		}
		return floatArithmetic("** or pow()", bigValue(x), bigValue(y))
	}
	if x.BitLen() > 1 {
		n := maxBits + 1
		if y.IsInt64() && y.Int64() <= maxBits {
			n = (x.BitLen() - 1) * int(y.Int64())
		}
		chargeBits(e, n)
	} else if x.Sign() < 0 {
		y = big.NewInt(int64(y.Bit(0))) // (-1)**y
	} else {
		y = big.NewInt(int64(min(y.BitLen(), 1))) // 0**y and 1**y
	}
	return bigValue(new(big.Int).Exp(x, y, nil))
}

// toFloat is Python's float(v) of a number.
func toFloat(v Value) float64 {
	switch v.kind {
	case Float:
		return v.float()
	case BigInt:
		f, _ := new(big.Float).SetInt(v.big()).Float64()
		if math.IsInf(f, 0) {
			panic(errf(OverflowError, "int too large to convert to float"))
		}
		return f
	}
	return float64(v.int())
}

func floatArithmetic(op string, a, b Value) Value {
	x := toFloat(a)
	y := toFloat(b)
	switch op {
	case "+":
		return floatValue(x + y)
	case "-":
		return floatValue(x - y)
	case "*":
		return floatValue(x * y)
	case "** or pow()":
		return floatPower(x, y)
	}
	if y == 0 {
		switch op {
		case "/":
			panic(errf(ZeroDivisionError, "float division by zero"))
		case "//":
			panic(errf(ZeroDivisionError, "float floor division by zero"))
		}
		panic(errf(ZeroDivisionError, "float modulo"))
	}
	switch op {
	case "/":
		return floatValue(x / y)
	case "%":
		return floatValue(floatMod(x, y))
	}
	return floatValue(floatFloor(x, y))
}

// floatMod is CPython's float remainder: its sign is the divisor's.
func floatMod(x, y float64) float64 {
	m := math.Mod(x, y)
	if m == 0 {
		return math.Copysign(0, y)
	}
	if (y < 0) != (m < 0) {
		m += y
	}
	return m
}

// floatFloor is CPython's float floor division.
func floatFloor(x, y float64) float64 {
	m := math.Mod(x, y)
	div := (x - m) / y
	if m != 0 && (y < 0) != (m < 0) {
		div--
	}
	if div == 0 {
		return math.Copysign(0, x/y)
	}
	floor := math.Floor(div)
	if div-floor > 0.5 {
		floor++
	}
	return floor
}

func floatPower(x, y float64) Value {
	if x == 0 && y < 0 {
		panic(errf(ZeroDivisionError, "0.0 cannot be raised to a negative power"))
	}
	if x < 0 && !math.IsInf(x, 0) && !math.IsInf(y, 0) && y != math.Trunc(y) {
		panic(errf(ValueError, "a negative number raised to a fraction is complex, "+
			"which templates here do not have"))
	}
	f := math.Pow(x, y)
	if math.IsInf(f, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		panic(errf(OverflowError, "(34, 'Numerical result out of range')"))
	}
	if f != 0 && !math.IsInf(f, 0) && !math.IsNaN(f) && x != 1 && x != -1 && y != 0 {
		f = math.Copysign(exactPower(math.Abs(x), y), f)
	}
	return floatValue(f)
}

// powerBits is the precision of exactPower's intermediate results: a float's 53 bits, 64 that
// repeated squaring may lose, and some more.
const powerBits = 192

// exactPower is x**y rounded as C's pow does it, which math.Pow misses by some units in the last
// place; x is positive, and the result is a normal number.
func exactPower(x, y float64) float64 {
	whole, part := math.Modf(math.Abs(y))
	base := new(big.Float).SetPrec(powerBits).SetFloat64(x)
	out := new(big.Float).SetPrec(powerBits).SetInt64(1)
	n, _ := big.NewFloat(whole).Int(nil)
	for i := n.BitLen() - 1; i >= 0; i-- {
		if out.Mul(out, out); n.Bit(i) == 1 {
			out.Mul(out, base)
		}
	}
	for root := base; part != 0; { // each bit of the fraction is one more square root
		root = new(big.Float).SetPrec(powerBits).Sqrt(root)
		if part *= 2; part >= 1 {
			out.Mul(out, root)
			part--
		}
		diff := new(big.Float).Sub(root, big.NewFloat(1))
		if diff.Sign() == 0 || diff.MantExp(nil) < -120 {
			break // further roots cannot change a float
		}
	}
	if y < 0 {
		out.Quo(big.NewFloat(1).SetPrec(powerBits), out)
	}
	f, _ := out.Float64()
	return f
}

// concat is the ~ operator: the values' texts joined. With autoescape on, markup among them makes
// the others escaped.
func concat(e *eval, vals []Value) Value {
	markup := false
	if e.autoescape {
		for _, v := range vals {
			markup = markup || v.kind == Markup
		}
	}
	size := 0
	for _, v := range vals {
		if v.isString() {
			size += int(v.num)
		} else {
			size += 8
		}
	}
	b := e.builder(size)
	for _, v := range vals {
		if e.dialect != nil && v.isNone() {
			continue
		}
		if markup {
			v = escape(e, v)
		}
		b.print(e, v)
	}
	e.charge(len(b.buf))
	out := b.value()
	if markup {
		out.kind = Markup
	}
	return out
}

// toInt returns an integer argument; Python's TypeError for anything else.
func toInt(v Value) int {
	switch v.kind {
	case Bool, Int:
		return int(v.int())
	case BigInt:
		panic(errf(OverflowError, "Python int too large to convert to C ssize_t"))
	}
	panic(errf(TypeError, "'%s' object cannot be interpreted as an integer", typeName(v)))
}

// parseInt is Python's int(text, base): white space and single underscores between digits are
// allowed, and any Unicode decimal digits.
func parseInt(s string, base int) Value {
	fail := func() Value {
		panic(errf(ValueError, "invalid literal for int() with base %d: %s", base, quoteExcerpt(s)))
	}
	if base != 0 && (base < 2 || base > 36) {
		panic(errf(ValueError, "int() base must be >= 2 and <= 36, or 0"))
	}
	t := trimSpace(s)
	// with underscores and digits of four bytes, still more than has a value
	if len(t) > 8*maxDigits {
		if base != 10 {
			panic(errf(LimitError, "an integer of more than %d bits", maxBits))
		}
		return fail()
	}
	t = asciiDigits(t)
	negative := strings.HasPrefix(t, "-")
	if negative || strings.HasPrefix(t, "+") {
		t = t[1:]
	}
	if len(t) > 2 && t[0] == '0' {
		if b := map[byte]int{'x': 16, 'o': 8, 'b': 2}[t[1]|0x20]; b != 0 &&
			(base == b || base == 0) {
			base, t = b, t[2:]
			t = strings.TrimPrefix(t, "_")
		}
	}
	if base == 0 {
		base = 10
		if strings.HasPrefix(t, "0") && strings.Trim(t, "0_") != "" {
			base = 0
			return fail()
		}
	}
	digits := strings.ReplaceAll(t, "_", "")
	if digits == "" || t[0] == '_' || t[len(t)-1] == '_' || strings.Contains(t, "__") ||
		digits[0] == '+' || digits[0] == '-' {
		return fail()
	}
	if base == 10 && len(digits) > maxDigits {
		for i := range len(digits) {
			if digits[i] < '0' || digits[i] > '9' {
				return fail()
			}
		}
		panic(errf(ValueError, "Exceeds the limit (%d digits) for integer string "+
			"conversion: value has %d digits; use sys.set_int_max_str_digits() to "+
			"increase the limit", maxDigits, len(digits)))
	}
	if i, err := strconv.ParseInt(digits, base, 64); err == nil {
		if negative {
			i = -i
		}
		return int64Value(i)
	}
	if len(digits)*6 > maxBits {
		panic(errf(LimitError, "an integer of more than %d bits", maxBits))
	}
	n, ok := new(big.Int).SetString(digits, base)
	if !ok {
		return fail()
	}
	if negative {
		n.Neg(n)
	}
	return bigValue(n)
}

// maxDigits is CPython's limit for conversions between integers and decimal text.
const maxDigits = 4300

// parseFloat is Python's float(text).
func parseFloat(s string) float64 {
	t := asciiDigits(trimSpace(s))
	fail := errf(ValueError, "could not convert string to float: %s", quoteExcerpt(s))
	body := strings.TrimLeft(t, "+-")
	if len(t)-len(body) > 1 {
		panic(fail)
	}
	word := strings.ToLower(body)
	if word == "nan" {
		return math.NaN()
	}
	if word != "inf" && word != "infinity" &&
		(body == "" || strings.ContainsAny(body, "xXpPiInN")) {
		panic(fail)
	}
	if strings.Contains(body, "_") { // only between digits
		for i := range len(body) {
			if body[i] == '_' &&
				(i == 0 || i == len(body)-1 || !isDigit(body[i-1]) || !isDigit(body[i+1])) {
				panic(fail)
			}
		}
		t = strings.ReplaceAll(t, "_", "")
	}
	f, err := strconv.ParseFloat(t, 64)
	if err != nil && !math.IsInf(f, 0) {
		panic(fail)
	}
	return f
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
