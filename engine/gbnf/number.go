package gbnf

import (
	"math/big"
	"strings"

	"github.com/goassay/assay/engine/schema"
)

// maxDigits is how many digits the integers and the fractions of a grammar have, so that a model
// cannot write digits without end; 19 hold every 64-bit integer and every double. Longer bounds
// make longer numbers.
const maxDigits = 19

func (l *lowering) digit(lo, hi byte) Element {
	return l.b.Class([]Range{{Lo: rune(lo), Hi: rune(hi)}}, false)
}

// digits matches lo to hi digits.
func (l *lowering) digits(lo, hi int) Element {
	if hi <= 0 {
		return l.b.Empty()
	}
	return l.b.Repeat(l.digit('0', '9'), lo, hi)
}

// integer matches the integers between two bounds.
func (l *lowering) integer(lo, hi *schema.Bound) Element {
	b := l.b
	if lo == nil && hi == nil {
		return b.once("integer", func() Element {
			return b.Seq(b.Opt(b.Lit("-")),
				b.Alt(b.Lit("0"), b.Seq(l.digit('1', '9'), l.digits(0, maxDigits-1))))
		})
	}
	var from, to *big.Int // inclusive
	if lo != nil {
		from = ceil(lo.Value)
		if lo.Exclusive && lo.Value.IsInt() {
			from.Add(from, one)
		}
	}
	if hi != nil {
		to = floor(hi.Value)
		if hi.Exclusive && hi.Value.IsInt() {
			to.Sub(to, one)
		}
	}
	return l.signed(from, to, func(from, to *big.Int) Element { return l.natural(from, to) })
}

var one = big.NewInt(1)

func floor(r *big.Rat) *big.Int {
	// Euclidean, which rounds down for a positive denominator
	return new(big.Int).Div(r.Num(), r.Denom())
}

func ceil(r *big.Rat) *big.Int {
	return new(big.Int).Neg(floor(new(big.Rat).Neg(r)))
}

// signed matches the integers of a range, either end of which may be open, from the pattern of
// those that are not negative.
func (l *lowering) signed(from, to *big.Int, natural func(from, to *big.Int) Element) Element {
	b := l.b
	var choices []Element
	if from == nil || from.Sign() < 0 {
		least := one
		if to != nil && to.Sign() < 0 {
			least = new(big.Int).Neg(to)
		}
		var most *big.Int
		if from != nil {
			most = new(big.Int).Neg(from)
		}
		choices = append(choices, b.Seq(b.Lit("-"), natural(least, most)))
	}
	if to == nil || to.Sign() >= 0 {
		least := new(big.Int)
		if from != nil && from.Sign() > 0 {
			least = from
		}
		choices = append(choices, natural(least, to))
	}
	return b.Alt(choices...)
}

// natural matches the integers from a number that is not negative to another, or on.
func (l *lowering) natural(from, to *big.Int) Element {
	b := l.b
	if to != nil && from.Cmp(to) > 0 {
		return b.Never()
	}
	lo := from.String()
	if longest := max(maxDigits, len(lo)); to == nil && lo == "1"+strings.Repeat("0", len(lo)-1) {
		return b.Seq(l.digit('1', '9'), l.digits(len(lo)-1, longest-1))
	}
	if to == nil {
		// Those with as many digits, and those with more.
		choices := []Element{l.between(lo, strings.Repeat("9", len(lo)))}
		if longest := max(maxDigits, len(lo)); len(lo) < longest {
			choices = append(choices, b.Seq(l.digit('1', '9'), l.digits(len(lo), longest-1)))
		}
		return b.Alt(choices...)
	}
	hi := to.String()
	var choices []Element
	if len(lo) == len(hi) {
		return l.between(lo, hi)
	}
	choices = append(choices, l.between(lo, strings.Repeat("9", len(lo))))
	if len(hi)-len(lo) > 1 {
		choices = append(choices, b.Seq(l.digit('1', '9'), l.digits(len(lo), len(hi)-2)))
	}
	choices = append(choices, l.between("1"+strings.Repeat("0", len(hi)-1), hi))
	return b.Alt(choices...)
}

// between matches the digit strings from lo to hi, which have the same length.
func (l *lowering) between(lo, hi string) Element {
	b := l.b
	switch {
	case lo == hi:
		return b.Lit(lo)
	case strings.Trim(lo, "0") == "" && strings.Trim(hi, "9") == "":
		return l.digits(len(lo), len(lo))
	case len(lo) == 1:
		return l.digit(lo[0], hi[0])
	case lo[0] == hi[0]:
		return b.Seq(b.Lit(lo[:1]), l.between(lo[1:], hi[1:]))
	}
	rest := len(lo) - 1
	zeros, nines := strings.Repeat("0", rest), strings.Repeat("9", rest)
	first, last := lo[0], hi[0]
	var low, high Element
	if strings.Trim(lo[1:], "0") != "" {
		low = b.Seq(b.Lit(lo[:1]), l.between(lo[1:], nines))
		first++
	}
	if strings.Trim(hi[1:], "9") != "" {
		high = b.Seq(b.Lit(hi[:1]), l.between(zeros, hi[1:]))
		last--
	}
	var middle Element
	if first <= last {
		middle = b.Seq(l.digit(first, last), l.digits(rest, rest))
	}
	e := b.Alt(low, middle, high)
	if rest%64 == 0 {
		e = b.Rule("digits", e) // long bounds nest deep
	}
	return e
}

// number matches the numbers between two bounds; without bounds also those with an exponent.
func (l *lowering) number(lo, hi *schema.Bound) Element {
	b := l.b
	if lo == nil && hi == nil {
		return b.once("number", func() Element {
			integral := b.Alt(b.Lit("0"), b.Seq(l.digit('1', '9'), l.digits(0, maxDigits-1)))
			return b.Seq(b.Opt(b.Lit("-")), integral,
				b.Opt(b.Seq(b.Lit("."), l.digits(1, maxDigits))),
				b.Opt(b.Seq(b.Class(runes("eE"), false), b.Opt(b.Class(runes("+-"), false)),
					l.digits(1, 3))))
		})
	}
	var choices []Element
	if lo == nil || lo.Value.Sign() < 0 {
		// The mirror image: from -hi to -lo, above zero.
		least := &schema.Bound{Value: new(big.Rat), Exclusive: true}
		if hi != nil && hi.Value.Sign() <= 0 {
			least = &schema.Bound{Value: new(big.Rat).Neg(hi.Value), Exclusive: hi.Exclusive ||
				hi.Value.Sign() == 0}
		}
		var most *schema.Bound
		if lo != nil {
			most = &schema.Bound{Value: new(big.Rat).Neg(lo.Value), Exclusive: lo.Exclusive}
		}
		choices = append(choices, b.Seq(b.Lit("-"), l.decimal(least, most)))
	}
	if hi == nil || hi.Value.Sign() >= 0 {
		least := &schema.Bound{Value: new(big.Rat)}
		if lo != nil && lo.Value.Sign() >= 0 {
			least = lo
		}
		choices = append(choices, l.decimal(least, hi))
	}
	return b.Alt(choices...)
}

// decimal matches the decimal fractions from a bound that is not negative to another, or on.
func (l *lowering) decimal(lo, hi *schema.Bound) Element {
	b := l.b
	loInt, loFrac := split(lo)
	if hi == nil {
		return b.Alt(
			b.Seq(b.Lit(loInt.String()), l.fraction(loFrac, nil)),
			b.Seq(l.natural(new(big.Int).Add(loInt, one), nil), l.fraction(nil, nil)))
	}
	if c := lo.Value.Cmp(hi.Value); c > 0 || c == 0 && (lo.Exclusive || hi.Exclusive) {
		return b.Never()
	}
	hiInt, hiFrac := split(hi)
	if loInt.Cmp(hiInt) == 0 {
		return b.Seq(b.Lit(loInt.String()), l.fraction(loFrac, hiFrac))
	}
	return b.Alt(
		b.Seq(b.Lit(loInt.String()), l.fraction(loFrac, nil)),
		b.Seq(l.natural(new(big.Int).Add(loInt, one), new(big.Int).Sub(hiInt, one)),
			l.fraction(nil, nil)),
		b.Seq(b.Lit(hiInt.String()), l.fraction(nil, hiFrac)))
}

// fracBound is the part of a bound after the point.
type fracBound struct {
	digits    string
	exclusive bool
}

// maxFraction bounds the digits of a bound's fraction; a longer one is cut, which moves the bound
// by less than its last digit.
const maxFraction = 40

func split(bound *schema.Bound) (*big.Int, *fracBound) {
	whole := floor(bound.Value)
	rest := new(big.Rat).Sub(bound.Value, new(big.Rat).SetInt(whole))
	digits := ""
	if rest.Sign() > 0 {
		n, exact := rest.FloatPrec()
		if !exact || n > maxFraction {
			n = maxFraction
		}
		scaled := floor(rest.Mul(rest, new(big.Rat).
			SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil))))
		digits = scaled.String()
		digits = strings.Repeat("0", n-len(digits)) + digits
	}
	return whole, &fracBound{digits, bound.Exclusive}
}

// fraction matches an optional fraction, such that the number is not below lo and not above hi,
// whose integral parts it shares; nil bounds nothing.
func (l *lowering) fraction(lo, hi *fracBound) Element {
	b := l.b
	e := b.Seq(b.Lit("."), l.fractionDigits(lo, hi, 0, false))
	if ends(lo, hi, 0) {
		return b.Opt(e)
	}
	return e
}

// ends reports whether the number may end after i digits that are those of the bounds.
func ends(lo, hi *fracBound, i int) bool {
	rest := func(f *fracBound) string { return strings.Trim(f.digits[min(i, len(f.digits)):], "0") }
	return (lo == nil || rest(lo) == "" && !lo.exclusive) &&
		(hi == nil || rest(hi) != "" || !hi.exclusive)
}

// fractionDigits matches the digits from place i on, where all before are those of the bounds that
// are not nil. It may be empty only if ok.
func (l *lowering) fractionDigits(lo, hi *fracBound, i int, ok bool) Element {
	b := l.b
	longest := maxDigits
	for _, f := range []*fracBound{lo, hi} {
		if f != nil {
			longest = max(longest, len(f.digits)+1)
		}
	}
	if lo != nil && i >= len(lo.digits) && !lo.exclusive {
		lo = nil // whatever follows is not below
	}
	left := longest - i
	least := 1
	if ok {
		least = 0
	}
	switch {
	case lo == nil && hi == nil:
		return l.digits(least, left)
	case hi == nil && i >= len(lo.digits): // above lo: zeros may come before another digit
		e := b.Seq(b.Repeat(b.Lit("0"), 0, left-1), l.digit('1', '9'), l.digits(0, left))
		if ok {
			return b.Opt(e)
		}
		return e
	case hi != nil && i >= len(hi.digits):
		if hi.exclusive || lo != nil {
			if ok {
				return b.Empty()
			}
			return b.Never()
		}
		return b.Repeat(b.Lit("0"), least, left) // equal to hi
	}
	// The digit at this place: equal to a bound's, or freely between.
	low, high := byte('0'), byte('9')
	if lo != nil && i < len(lo.digits) {
		low = lo.digits[i]
	}
	if hi != nil {
		high = hi.digits[i]
	}
	var choices []Element
	next := func(digit byte) {
		var nextLo, nextHi *fracBound
		if lo != nil && digit == low {
			nextLo = lo
		}
		if hi != nil && digit == high {
			nextHi = hi
		}
		choices = append(choices,
			b.Seq(b.Lit(string(digit)),
				l.fractionDigits(nextLo, nextHi, i+1, ends(nextLo, nextHi, i+1))))
	}
	first, last := low, high
	if lo != nil {
		next(low)
		first++
	}
	if hi != nil && (lo == nil || high != low) {
		next(high)
	}
	if hi != nil {
		last--
	}
	if first <= last {
		choices = append(choices, b.Seq(l.digit(first, last), l.digits(0, left-1)))
	}
	if ok {
		choices = append(choices, b.Empty())
	}
	return b.Alt(choices...)
}
