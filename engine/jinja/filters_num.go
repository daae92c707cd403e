package jinja

import (
	"math"
	"math/big"
	"strconv"
)

var numberFilters = []entryOf{
	{"abs", "/", func(c *call) (Value, error) {
		switch v := c.recv; {
		case v.kind == Float:
			return c.computed(floatValue(math.Abs(v.float()))), nil
		case v.isInteger():
			if bigInt(v).Sign() < 0 {
				return neg(c.eval, v)
			}
			return asInt(v), nil
		}
		return Value{}, errf(TypeError, "bad operand type for abs(): '%s'", typeName(c.recv))
	}},
	{"filesizeformat", "binary?", filterFileSize},
	{"float", "default?", func(c *call) (Value, error) {
		f, err := floatOf(c.recv)
		if isClass(err, TypeError, ValueError) {
			return c.arg(0, floatValue(0)), nil
		}
		return c.computed(floatValue(f)), err
	}},
	{"int", "default? base?", filterInt},
	{"round", "precision? method?", filterRound},
}

// floatOf is Python's float(v).
func floatOf(v Value) (float64, error) {
	switch {
	case v.isString():
		return parseFloat(v.text())
	case v.kind == Undefined:
		return 0, undefinedError(v)
	case v.isNumber():
		return toFloat(v)
	}
	return 0, errf(TypeError, "float() argument must be a string or a real "+
		"number, not '%s'", typeName(v))
}

// intOf is Python's int(v).
func intOf(v Value) (Value, error) {
	switch {
	case v.isString():
		return parseInt(v.text(), 10)
	case v.kind == Undefined:
		return Value{}, undefinedError(v)
	case v.kind == Float:
		return truncate(v.float())
	case v.isInteger():
		return asInt(v), nil
	}
	return Value{}, errf(TypeError, "int() argument must be a string, a bytes-like object or a "+
		"real number, not '%s'", typeName(v))
}

func filterInt(c *call) (Value, error) {
	v, err := intOf(c.recv)
	if base := c.arg(1, intValue(10)); c.recv.isString() &&
		!(base.kind == Int && base.int() == 10) {
		var n int
		if n, err = toInt(base); err == nil {
			v, err = parseInt(c.recv.text(), n)
		}
		if isClass(err, OverflowError) {
			return Value{}, err
		}
	}
	if isClass(err, TypeError, ValueError) {
		// "42.23" is 42
		var f float64
		if f, err = floatOf(c.recv); err == nil {
			v, err = truncate(f)
		}
		if isClass(err, TypeError, ValueError) {
			return c.arg(0, intValue(0)), nil
		}
	}
	return c.computed(v), err
}

func filterRound(c *call) (Value, error) {
	e, v := c.eval, c.recv
	precision, method := c.arg(0, intValue(0)), c.arg(1, stringValue("common"))
	if err := checkHashable(method); err != nil {
		return Value{}, err
	}
	name := ""
	if method.isString() {
		name = method.text()
	}
	switch name {
	case "common":
		return roundValue(e, v, precision)
	case "ceil", "floor":
	default:
		return Value{}, errf(FilterArgumentError, "method must be common, ceil or floor")
	}
	scale, err := pow(e, intValue(10), precision)
	if err != nil {
		return Value{}, err
	}
	if v, err = mul(e, v, scale); err != nil {
		return Value{}, err
	}
	if v.kind == Float {
		f := math.Floor(v.float())
		if name == "ceil" {
			f = math.Ceil(v.float())
		}
		if v, err = truncate(f); err != nil {
			return Value{}, err
		}
	}
	if !v.isInteger() {
		return Value{}, errf(TypeError, "must be real number, not %s", typeName(v))
	}
	return truediv(e, v, scale)
}

// roundValue is Python's round(v, precision): half to even, exactly.
func roundValue(e *eval, v, precision Value) (Value, error) {
	if !v.isNumber() {
		return Value{}, errf(TypeError, "type %s doesn't define __round__ method", typeName(v))
	}
	if precision.isNone() {
		if v.kind != Float {
			return asInt(v), nil
		}
		whole, err := truncate(math.RoundToEven(v.float()))
		return e.computed(whole), err
	}
	if precision.kind == BigInt {
		precision = int64Value(int64(precision.big().Sign()) * math.MaxInt32)
	}
	digits, err := toInt(precision)
	if err != nil {
		return Value{}, err
	}
	if v.kind == Float {
		f, err := roundFloat(v.float(), digits)
		return e.computed(floatValue(f)), err
	}
	if digits >= 0 {
		return e.computed(asInt(v)), nil
	}
	x := bigInt(v)
	if -digits > x.BitLen() { // fewer decimal digits than would be rounded away
		return e.computed(intValue(0)), nil
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-digits)), nil)
	return e.computed(bigValue(new(big.Int).Mul(roundQuotient(x, unit), unit))),
		chargeBits(e, x.BitLen())
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

func roundFloat(f float64, digits int) (float64, error) {
	switch {
	case math.IsInf(f, 0) || math.IsNaN(f) || digits > 323:
		return f, nil
	case digits < -308:
		return math.Copysign(0, f), nil
	case digits >= 0:
		out, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', digits, 64), 64)
		return out, nil
	}
	// the value is an integer multiple of a power of two; rounding only needs its exact quotient
	r := new(big.Rat)
	r.SetFloat64(f)
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-digits)), nil)
	q := roundQuotient(r.Num(), new(big.Int).Mul(unit, r.Denom()))
	out, _ := new(big.Float).SetInt(q.Mul(q, unit)).Float64()
	if math.IsInf(out, 0) {
		return 0, errf(OverflowError, "rounded value too large to represent")
	}
	if out == 0 {
		out = math.Copysign(0, f)
	}
	return out, nil
}

func filterFileSize(c *call) (Value, error) {
	size, err := floatOf(c.recv)
	if err != nil {
		return Value{}, err
	}
	binary, err := c.flag(0, false)
	if err != nil {
		return Value{}, err
	}
	base, infix := 1000.0, "B"
	if binary {
		base, infix = 1024, "iB"
	}
	text := ""
	switch {
	case size == 1:
		text = "1 Byte"
	case size < base:
		whole, err := truncate(size)
		if err != nil {
			return Value{}, err
		}
		shown, err := str(c.eval, whole)
		if err != nil {
			return Value{}, err
		}
		text = shown.text() + " Bytes"
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
	return c.computed(stringValue(text)), nil
}
