package jinja

import (
	"math"
	"math/big"
	"strconv"
)

var numberFilters = []entryOf{
	{"abs", "/", func(c *call) Value {
		switch v := c.recv; {
		case v.kind == Float:
			return c.computed(floatValue(math.Abs(v.float())))
		case v.isInteger():
			if bigInt(v).Sign() < 0 {
				return neg(c.eval, v)
			}
			return asInt(v)
		}
		panic(errf(TypeError, "bad operand type for abs(): '%s'", typeName(c.recv)))
	}},
	{"filesizeformat", "binary?", filterFileSize},
	{"float", "default?", func(c *call) Value {
		f, err := attempt(c.eval, func() float64 { return floatOf(c.recv) }, TypeError, ValueError)
		if err != nil {
			return c.arg(0, floatValue(0))
		}
		return c.computed(floatValue(f))
	}},
	{"int", "default? base?", filterInt},
	{"round", "precision? method?", filterRound},
}

// floatOf is Python's float(v).
func floatOf(v Value) float64 {
	switch {
	case v.isString():
		return parseFloat(v.text())
	case v.kind == Undefined:
		panic(undefinedError(v))
	case v.isNumber():
		return toFloat(v)
	}
	panic(errf(TypeError, "float() argument must be a string or a real "+
		"number, not '%s'", typeName(v)))
}

// intOf is Python's int(v).
func intOf(v Value) Value {
	switch {
	case v.isString():
		return parseInt(v.text(), 10)
	case v.kind == Undefined:
		panic(undefinedError(v))
	case v.kind == Float:
		return truncate(v.float())
	case v.isInteger():
		return asInt(v)
	}
	panic(errf(TypeError, "int() argument must be a string, a bytes-like object or a "+
		"real number, not '%s'", typeName(v)))
}

func filterInt(c *call) Value {
	v, err := attempt(c.eval, func() Value {
		if base := c.arg(1, intValue(10)); c.recv.isString() {
			return parseInt(c.recv.text(), toInt(base))
		}
		return intOf(c.recv)
	}, TypeError, ValueError)
	if err != nil { // "42.23" is 42
		v, err = attempt(c.eval, func() Value { return truncate(floatOf(c.recv)) },
			TypeError, ValueError)
	}
	if err != nil {
		return c.arg(0, intValue(0))
	}
	return c.computed(v)
}

func filterRound(c *call) Value {
	e, v := c.eval, c.recv
	precision, method := c.arg(0, intValue(0)), c.arg(1, stringValue("common"))
	checkHashable(method)
	name := ""
	if method.isString() {
		name = method.text()
	}
	switch name {
	case "common":
		return roundValue(e, v, precision)
	case "ceil", "floor":
	default:
		panic(errf(FilterArgumentError, "method must be common, ceil or floor"))
	}
	scale := pow(e, intValue(10), precision)
	v = mul(e, v, scale)
	if v.kind == Float {
		f := math.Floor(v.float())
		if name == "ceil" {
			f = math.Ceil(v.float())
		}
		v = truncate(f)
	}
	if !v.isInteger() {
		panic(errf(TypeError, "must be real number, not %s", typeName(v)))
	}
	return truediv(e, v, scale)
}

// roundValue is Python's round(v, precision): half to even, exactly.
func roundValue(e *eval, v, precision Value) Value {
	if !v.isNumber() {
		panic(errf(TypeError, "type %s doesn't define __round__ method", typeName(v)))
	}
	if precision.isNone() {
		if v.kind != Float {
			return asInt(v)
		}
		return e.computed(truncate(math.RoundToEven(v.float())))
	}
	if precision.kind == BigInt {
		precision = int64Value(int64(precision.big().Sign()) * math.MaxInt32)
	}
	digits := toInt(precision)
	if v.kind == Float {
		return e.computed(floatValue(roundFloat(v.float(), digits)))
	}
	if digits >= 0 {
		return e.computed(asInt(v))
	}
	x := bigInt(v)
	if -digits > x.BitLen() { // fewer decimal digits than would be rounded away
		return e.computed(intValue(0))
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-digits)), nil)
	chargeBits(e, x.BitLen())
	return e.computed(bigValue(new(big.Int).Mul(roundQuotient(x, unit), unit)))
}

// roundQuotient is x/unit rounded half to even; unit is positive.
func roundQuotient(x, unit *big.Int) *big.Int {
	q, r := new(big.Int).DivMod(x, unit, new(big.Int)) // r >= 0
	switch r.Lsh(r, 1).Cmp(unit) {
	case 1:
		q.Add(q, big.NewInt(1))
	case 0:
		q.Add(q, big.NewInt(int64(q.Bit(0))))
	}
	return q
}

func roundFloat(f float64, digits int) float64 {
	switch {
	case math.IsInf(f, 0) || math.IsNaN(f) || digits > 323:
		return f
	case digits < -308:
		return math.Copysign(0, f)
	case digits >= 0:
		out, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', digits, 64), 64)
		return out
	}
	// the value is an integer multiple of a power of two; rounding only needs its exact quotient
	r := new(big.Rat)
	r.SetFloat64(f)
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-digits)), nil)
	q := roundQuotient(r.Num(), new(big.Int).Mul(unit, r.Denom()))
	out, _ := new(big.Float).SetInt(q.Mul(q, unit)).Float64()
	if math.IsInf(out, 0) {
		panic(errf(OverflowError, "rounded value too large to represent"))
	}
	if out == 0 {
		out = math.Copysign(0, f)
	}
	return out
}

func filterFileSize(c *call) Value {
	size := floatOf(c.recv)
	binary := c.flag(0, false)
	base, infix := 1000.0, "B"
	if binary {
		base, infix = 1024, "iB"
	}
	text := ""
	switch {
	case size == 1:
		text = "1 Byte"
	case size < base:
		text = str(c.eval, truncate(size)).text() + " Bytes"
	default:
		prefixes := "kMGTPEZY"
		if binary {
			prefixes = "KMGTPEZY"
		}
		for i := range len(prefixes) {
			unit := math.Pow(base, float64(i+2))
			if size < unit || i == len(prefixes)-1 {
				text = formatFloat(base*size/unit, 'f', 1, false) + " " + prefixes[i:i+1] + infix
				break
			}
		}
	}
	return c.computed(stringValue(text))
}
