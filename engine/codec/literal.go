package codec

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/peg"
)

// Syntax selects the notation that a [Literal] scanner reads.
type Syntax struct {
	Strict bool   // JSON only
	Bare   bool   // keys without quotes
	Token  string // a further quote, opening and closing; nothing is escaped inside; empty for none
	// a scalar at the top is accepted only when its end has come, so that a caller may still read
	// it as text
	Hold   bool
	Object bool // the value must be an object
	Marked bool // the text has a [Mark] before each token
	// a value in an object or array that begins no literal, or goes on after one, is a string that
	// lacks its quotes, and so may keys
	Words bool
	// a text that no string without quotes contains, such as the marker that closes the call; empty
	// for none
	Until string
}

// Name, First and New implement [peg.ScannerType].
func (s Syntax) Name() string {
	name := "literal"
	for _, f := range [...]struct {
		on   bool
		name string
	}{{s.Strict, "strict"}, {s.Bare, "bare"}, {s.Token != "", "token"}, {s.Hold, "hold"},
		{s.Object, "object"}, {s.Marked, "marked"}, {s.Words, "words"},
		{s.Until != "", "until " + s.Until}} {
		if f.on {
			name += " " + f.name
		}
	}
	return name
}

func (s Syntax) First() (set peg.ByteSet, nullable bool) {
	set = peg.SpaceSet
	set.Add('{')
	if s.Object {
		return set, false
	}
	set = set.Or(peg.Bytes(`["-tfn`)).Or(peg.Range('0', '9'))
	if !s.Strict {
		set = set.Or(peg.Bytes("('TFN"))
	}
	if s.Token != "" {
		set.Add(s.Token[0])
	}
	return set, false
}

func (s Syntax) New() peg.Scanner { return NewLiteral(s) }

// Literal scans one value: JSON, and unless Strict, Python literals (E21 T6).
type Literal struct {
	syntax Syntax
	token  []byte
	stack  []byte // the open brackets, '{', '[' or '('
	state  literalState
	number numberState
	quote  byte // of the string: '"', '\'', 0 for the token
	triple bool // three quotes
	key    bool // the string is a key
	inner  int  // brackets that are open in a string without quotes
	w      writer
}

type literalState uint8

const (
	atValue    literalState = iota // a value must come
	atFirst                        // a value or the array's end
	atKey                          // a key must come
	atFirstKey                     // a key or the object's end
	atColon                        // after a key
	atNext                         // after a value: a comma or the bracket's end
	inString                       // between a string's quotes
	inNumber                       // in a number
	inBareKey                      // in a key without quotes
	inBareText                     // in a string without quotes
)

type numberState uint8

const (
	numStart numberState = iota
	numMinus
	numZero
	numInt
	numDot
	numFrac
	numE
	numSign
	numExp
)

// verdict is the result of reading on at a place.
type verdict uint8

const (
	goOn   verdict = iota
	held           // the next bytes must be seen first
	done           // the value is complete
	broken         // no value
)

// NewLiteral returns a scanner for one value.
func NewLiteral(s Syntax) *Literal {
	return &Literal{syntax: s, token: []byte(s.Token), stack: make([]byte, 0, 16),
		w: writer{marked: s.Marked}}
}

// Reset implements [peg.Scanner].
func (l *Literal) Reset() {
	l.stack, l.state, l.w.mixed = l.stack[:0], atValue, false
}

// plain marks the bytes that stand for themselves in a double-quoted string.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 0x20 && c != '"' && c != '\\'
	}
	return t
}()

// jsonEscape gives the length of the escape sequence of JSON that a byte after a backslash makes, 0
// for none.
var jsonEscape = func() (t [256]uint8) {
	for _, c := range []byte(`"\/bfnrt`) {
		t[c] = 2
	}
	t['u'] = 6
	return t
}()

// Step implements [peg.Scanner].
func (l *Literal) Step(buf []byte, closed bool, out peg.Out) (int, peg.Status) {
	w := &l.w
	w.begin(out, buf)
	i, v := 0, goOn
	if l.state == inString && l.quote == '"' && !l.triple {
		i = plainRun(buf, 0) // most pieces are inside a string
	}
	for i < len(buf) && v == goOn {
		if i = l.plain(buf, i, w); i < len(buf) {
			i, v = l.read(buf, i, closed, w)
		}
	}
	switch {
	case v == goOn && closed && l.state == inNumber && len(l.stack) == 0 && l.numberDone():
		v = done
	case v == held && closed: // the beginning of something: as much of it as came
		w.mix(true, i)
		i = len(buf)
	case v == goOn && l.state == inString && !closed:
		i = max(w.from, i-incomplete(buf[w.from:i]))
	}
	w.flush(i)
	switch {
	case v == done:
		return i, peg.Match
	case v == broken || closed:
		return i, peg.Fail
	}
	return i, peg.NeedMore
}

// writer hands on the text of a step: bytes that are JSON as they stand in long runs, everything
// else at once.
type writer struct {
	out    peg.Out
	buf    []byte
	from   int    // where the open run begins
	esc    []byte // room for text that is made
	marked bool   // the text has marks
	mixed  bool   // the text at hand is Mixed
}

// begin turns to the next step.
func (w *writer) begin(out peg.Out, buf []byte) {
	if w.out, w.buf, w.from = out, buf, 0; w.mixed {
		out.Number(Mixed)
	}
}

// mix makes the text from i on Mixed, or Strings. Where it was the other, mix hands on the open run
// up to there.
func (w *writer) mix(on bool, i int) {
	if w.mixed == on {
		return
	}
	w.flush(i)
	if w.mixed = on; on {
		w.out.Number(Mixed)
	} else {
		w.out.Number(Strings)
	}
}

// flush hands on the open run up to i.
func (w *writer) flush(i int) {
	if i > w.from {
		w.out.Copy(w.from, i)
	}
	w.from = i
}

// put hands on the open run up to i, and text for the bytes [i, end).
func (w *writer) put(text string, i, end int) {
	w.flush(i)
	w.out.String(text, i, end)
	w.from = end
}

// escape hands on the open run up to i, and the bytes [i, end) as text inside a JSON string.
func (w *writer) escape(i, end int) {
	w.flush(i)
	w.esc = AppendText(w.esc[:0], w.text(w.buf[i:end]))
	w.out.Text(w.esc, i, end)
	w.from = end
}

// text returns bytes of the output as text, without the marks.
func (w *writer) text(b []byte) string {
	if !w.marked || bytes.IndexByte(b, Mark) < 0 {
		return string(b)
	}
	text := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] != Mark:
			text = append(text, b[i])
		case i+1 < len(b) && b[i+1] == Unmarked:
			text = append(text, Mark)
			i++
		}
	}
	return string(text)
}

// quoted is escape for bytes that mean a different text, which may be half a pair of surrogates.
func (w *writer) quoted(text string, i, end int) {
	w.flush(i)
	w.esc = ordered.AppendEscaped(w.esc[:0], text, false)
	w.out.Text(w.esc, i, end)
	w.from = end
}

// plain reads JSON as it is mostly written, all of which is copied, up to something that needs a
// closer look: the value's end, a token that may not be complete. It is read for the common case,
// without its calls.
func (l *Literal) plain(buf []byte, i int, w *writer) int {
	state, stack := l.state, l.stack
	for i < len(buf) {
		c := buf[i]
		if state <= atNext && isSpace(c) {
			i++
			continue
		}
		switch state {
		case inString:
			if l.quote != '"' || l.triple {
				goto out
			}
			if i = plainRun(buf, i); i == len(buf) || buf[i] != '"' || len(stack) == 0 {
				goto out
			}
			i++
			if state = atNext; l.key {
				state = atColon
			}
		case atColon:
			if c != ':' {
				goto out
			}
			i++
			state = atValue
		case atNext:
			open := stack[len(stack)-1]
			switch {
			case c == closer(open) && len(stack) > 1 && open != '(':
				stack = stack[:len(stack)-1]
				i++
			case c == ',':
				j := i + 1
				for j < len(buf) && isSpace(buf[j]) {
					j++
				}
				if j == len(buf) || buf[j] == closer(open) {
					goto out
				}
				i = j
				if state = atValue; open == '{' {
					state = atKey
				}
			default:
				goto out
			}
		case atKey, atFirstKey:
			if c != '"' || i+1 == len(buf) || buf[i+1] == '"' {
				goto out
			}
			w.mix(false, i)
			l.quote, l.triple, l.key = '"', false, true
			i++
			state = inString
		case atValue, atFirst:
			if len(stack) == 0 {
				goto out
			}
			switch {
			case c == '"':
				if i+1 == len(buf) || buf[i+1] == '"' {
					goto out
				}
				w.mix(false, i)
				l.quote, l.triple, l.key = '"', false, false
				i++
				state = inString
			case c == '{' || c == '[':
				if len(stack) == ordered.MaxDepth {
					goto out
				}
				w.mix(false, i)
				stack = append(stack, c)
				i++
				if state = atFirst; c == '{' {
					state = atFirstKey
				}
			case c == '-' || isDigit(c):
				j := i + 1
				if c != '-' {
					for j < len(buf) && isDigit(buf[j]) {
						j++
					}
				}
				// Anything but a short integer is looked at more closely.
				if j == len(buf) || c == '-' || c == '0' && j > i+1 ||
					l.syntax.Words && isSpace(buf[j]) ||
					buf[j] != ',' && buf[j] != '}' && buf[j] != ']' && !isSpace(buf[j]) {
					goto out
				}
				w.mix(true, i)
				i = j
				state = atNext
			default:
				goto out
			}
		default:
			goto out
		}
	}
out:
	l.state, l.stack = state, stack
	return i
}

// plainRun returns where a run of a double-quoted string ends that is JSON as it stands: bytes that
// stand for themselves, and complete escape sequences.
func plainRun(buf []byte, i int) int {
	for {
		if i+8 <= len(buf) {
			i = plainBytes(buf, i)
		}
		for i < len(buf) && plain[buf[i]] {
			i++
		}
		if i == len(buf) {
			return i
		}
		n := escaped(buf, i)
		if n == 0 {
			return i
		}
		i += n
	}
}

// plainBytes returns where the bytes that stand for themselves end, or less than eight bytes before
// the end of buf. It reads sixteen at a time.
func plainBytes(buf []byte, i int) int {
	for i+16 <= len(buf) {
		w := buf[i : i+16 : i+16]
		low := special(binary.LittleEndian.Uint64(w))
		high := special(binary.LittleEndian.Uint64(w[8:]))
		if low != 0 {
			return i + bits.TrailingZeros64(low)/8
		} else if high != 0 {
			return i + 8 + bits.TrailingZeros64(high)/8
		}
		i += 16
	}
	if i+8 <= len(buf) {
		if odd := special(binary.LittleEndian.Uint64(buf[i:])); odd != 0 {
			return i + bits.TrailingZeros64(odd)/8
		}
		i += 8
	}
	return i
}

// special has the high bit of the first byte of x that is a quote, a backslash or a control
// character: a byte of x is below n if x-n borrows where x has no high bit. A borrow can mark bytes
// above the first one too, never below it.
func special(x uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	controls, quotes, slashes := x-ones*0x20, (x^ones*'"')-ones, (x^ones*'\\')-ones
	return (controls | quotes | slashes) &^ x & highs
}

// escaped returns the length of the escape sequence of JSON at i, 0 where none is, or not all of
// it.
func escaped(buf []byte, i int) int {
	if i+1 >= len(buf) || buf[i] != '\\' {
		return 0
	}
	n := int(jsonEscape[buf[i+1]])
	if n == 6 && !(i+6 <= len(buf) && isHex(buf[i+2]) && isHex(buf[i+3]) && isHex(buf[i+4]) &&
		isHex(buf[i+5])) {
		return 0
	}
	return n
}

// read reads on at i, which is inside buf: one token, or a run of one.
func (l *Literal) read(buf []byte, i int, closed bool, w *writer) (int, verdict) {
	switch l.state {
	case inString:
		return l.readString(buf, i, closed, w)
	case inNumber:
		return l.readNumber(buf, i)
	case inBareKey:
		return l.readBareKey(buf, i, closed, w)
	case inBareText:
		return l.readBareText(buf, i, closed, w)
	}
	c := buf[i]
	if isSpace(c) {
		for i < len(buf) && isSpace(buf[i]) {
			i++
		}
		return i, goOn
	}
	switch l.state {
	case atColon:
		if c != ':' {
			return i, broken
		}
		l.state = atValue
		return i + 1, goOn
	case atNext:
		return l.readNext(buf, i, closed, w)
	case atKey, atFirstKey:
		return l.readKey(buf, i, closed, w)
	}
	return l.readValue(buf, i, closed, w)
}

// readNext reads the comma or bracket after a value.
func (l *Literal) readNext(buf []byte, i int, closed bool, w *writer) (int, verdict) {
	open := l.stack[len(l.stack)-1]
	if buf[i] == closer(open) {
		return l.close(i, w)
	}
	if buf[i] != ',' {
		return i, broken
	}
	if !l.syntax.Strict {
		j := i + 1
		for j < len(buf) && isSpace(buf[j]) {
			j++
		}
		if j == len(buf) && !closed && j-i < MaxHeld {
			return i, held
		}
		if j < len(buf) && j-i < MaxHeld && buf[j] == closer(open) {
			w.put("", i, i+1)
			return j, goOn
		}
	}
	if l.state = atValue; open == '{' {
		l.state = atKey
	}
	return i + 1, goOn
}

func closer(open byte) byte {
	switch open {
	case '{':
		return '}'
	case '[':
		return ']'
	}
	return ')'
}

// close reads the closing bracket at i.
func (l *Literal) close(i int, w *writer) (int, verdict) {
	open := l.stack[len(l.stack)-1]
	l.stack = l.stack[:len(l.stack)-1]
	if open == '(' {
		w.put("]", i, i+1)
	}
	return i + 1, l.end()
}

// end reports whether a value is complete.
func (l *Literal) end() verdict {
	if l.state = atNext; len(l.stack) == 0 {
		return done
	}
	return goOn
}

// readKey reads the first bytes of a key, or the end of an object.
func (l *Literal) readKey(buf []byte, i int, closed bool, w *writer) (int, verdict) {
	c := buf[i]
	switch {
	case c == '}' && l.state == atFirstKey:
		return l.close(i, w)
	case c == '"', c == '\'' && !l.syntax.Strict:
		return l.openString(buf, i, closed, true, w)
	case len(l.token) > 0 && c == l.token[0]:
		return l.openToken(buf, i, closed, true, w)
	case l.syntax.Bare && bareKey[c], l.syntax.Words && isWordByte(c),
		!l.syntax.Strict && (c == '-' || isDigit(c)):
		w.mix(false, i)
		w.put(`"`, i, i)
		l.state = inBareKey
		return i, goOn
	}
	return i, broken
}

// bareKey marks the bytes of a key without quotes.
var bareKey = func() (t [256]bool) {
	for c := range t {
		t[c] = !isSpace(byte(c)) && !bytes.ContainsRune([]byte(`:,{}[]()"'`), rune(c))
	}
	return t
}()

func (l *Literal) readBareKey(buf []byte, i int, closed bool, w *writer) (int, verdict) {
	j := i
	for j < len(buf) && bareKey[buf[j]] {
		j++
	}
	if j == len(buf) && !closed {
		if j -= incomplete(buf[i:j]); j == i {
			return i, held
		}
	}
	if j > i {
		w.escape(i, j)
		return j, goOn
	}
	// White space belongs to the key where the key goes on after it.
	for j < len(buf) && j-i < MaxHeld && isSpace(buf[j]) {
		j++
	}
	switch {
	case j == len(buf) && !closed && j-i < MaxHeld:
		return i, held
	case j > i && j-i < MaxHeld && j < len(buf) && bareKey[buf[j]]:
		w.escape(i, j)
		return j, goOn
	}
	w.put(`"`, i, i)
	l.state = atColon
	return i, goOn
}

// readValue reads the first bytes of a value, or the end of an array.
func (l *Literal) readValue(buf []byte, i int, closed bool, w *writer) (int, verdict) {
	c := buf[i]
	switch {
	case len(l.stack) == 0 && l.syntax.Object && c != '{':
		return i, broken
	case c == '{', c == '[', c == '(' && !l.syntax.Strict:
		if len(l.stack) == ordered.MaxDepth {
			return i, broken
		}
		w.mix(false, i)
		l.stack = append(l.stack, c)
		if l.state = atFirst; c == '{' {
			l.state = atFirstKey
		}
		if c == '(' {
			w.put("[", i, i+1)
		}
		return i + 1, goOn
	case l.state == atFirst && c == closer(l.stack[len(l.stack)-1]):
		return l.close(i, w)
	case c == '"', c == '\'' && !l.syntax.Strict:
		return l.openString(buf, i, closed, false, w)
	case len(l.token) > 0 && c == l.token[0] && !l.syntax.Words:
		return l.openToken(buf, i, closed, false, w)
	case len(l.token) > 0 && c == l.token[0]:
		if end, v := l.openToken(buf, i, closed, false, w); v != broken {
			return end, v
		}
	}
	if l.syntax.Words && len(l.stack) > 0 {
		switch l.scalarAhead(buf, i, closed) {
		case held:
			return i, held
		case broken:
			return l.openBareText(buf, i, w)
		}
	}
	if c == '-' || isDigit(c) {
		return l.openNumber(buf, i, closed, w)
	}
	return l.readWord(buf, i, closed, w)
}

// words are the literals that are words; the first three are JSON's.
var words = [...]struct {
	text, json string
}{{text: "true"}, {text: "false"}, {text: "null"}, {"True", "true"}, {"False", "false"},
	{"None", "null"}}

func (l *Literal) readWord(buf []byte, i int, closed bool, w *writer) (int, verdict) {
	for n, word := range words {
		if buf[i] != word.text[0] || n > 2 && l.syntax.Strict {
			continue
		}
		end := i + len(word.text)
		if end > len(buf) {
			if word.text[:len(buf)-i] == string(buf[i:]) {
				return i, held
			}
			return i, broken
		}
		if string(buf[i:end]) != word.text {
			return i, broken
		}
		if len(l.stack) == 0 && l.syntax.Hold { // "trueish" is no value
			if end == len(buf) && !closed {
				return i, held
			}
			if end < len(buf) && isWordByte(buf[end]) {
				return i, broken
			}
		}
		w.mix(true, i)
		if word.json != "" {
			w.put(word.json, i, end)
		}
		return end, l.end()
	}
	return i, broken
}

// scalarAhead reports whether a number or a word stands at i, alone up to the next comma, bracket
// or marker: done, or broken where something else does.
func (l *Literal) scalarAhead(buf []byte, i int, closed bool) verdict {
	if c := buf[i]; c != '-' && !isDigit(c) && bytes.IndexByte([]byte("tfnTFN"), c) < 0 {
		return broken
	}
	j := i
	for j < len(buf) && j-i < MaxHeld && bytes.IndexByte([]byte(",}])"), buf[j]) < 0 {
		j++
	}
	if n := bytes.Index(buf[i:j], []byte(l.syntax.Until)); l.syntax.Until != "" && n >= 0 {
		j = i + n // what is around it lacks its bracket
	} else if j == len(buf) && !closed && j-i < MaxHeld {
		return held
	}
	if _, ok := Read(string(buf[i:j]), false); !ok {
		// as much of a value as came
		if _, n, _ := Prefix(string(buf[i:j]), Syntax{}); j < len(buf) || n < j-i {
			return broken
		}
	}
	return done
}

// openBareText begins a string without quotes; nothing at all is none.
func (l *Literal) openBareText(buf []byte, i int, w *writer) (int, verdict) {
	if bytes.IndexByte([]byte(",:}])"), buf[i]) >= 0 {
		return i, broken
	}
	w.mix(false, i)
	w.put(`"`, i, i)
	l.state, l.inner = inBareText, 0
	return i, goOn
}

// readBareText reads a run of a string without quotes, or its end: the bracket around it, a comma
// in an array, and in an object a comma with a key behind it. White space before the end is not the
// string's.
func (l *Literal) readBareText(buf []byte, i int, closed bool, w *writer) (int, verdict) {
	open := l.stack[len(l.stack)-1]
	shut, until := closer(open), l.syntax.Until
	j := i
	for j < len(buf) && buf[j] != open && buf[j] != shut && buf[j] != ',' && !isSpace(buf[j]) &&
		(until == "" || buf[j] != until[0]) {
		j++
	}
	if j > i {
		if j == len(buf) && !closed {
			if j -= incomplete(buf[i:j]); j == i {
				return i, held
			}
		}
		w.escape(i, j)
		return j, goOn
	}
	for j < len(buf) && j-i < MaxHeld && isSpace(buf[j]) {
		j++
	}
	if j == len(buf) && !closed && j-i < MaxHeld {
		return i, held
	}
	ends := broken
	if j < len(buf) && l.inner == 0 {
		switch {
		case buf[j] == shut, buf[j] == ',' && open != '{':
			ends = done
		case buf[j] == ',':
			ends = keyAhead(buf[j+1:], closed)
		}
	}
	switch {
	case ends == done:
		w.put(`"`, i, j)
		l.state = atNext
		return j, goOn
	case ends == held:
		return i, held
	case j > i:
		w.escape(i, j)
		return j, goOn
	}
	switch c := buf[i]; {
	case c == open:
		l.inner++
	case c == shut:
		l.inner--
	case until != "" && c == until[0]:
		if _, v := match(buf[i:], closed, until); v == done || v == held && closed {
			return i, broken
		} else if v == held {
			return i, held
		}
	}
	w.escape(i, i+1)
	return i + 1, goOn
}

// keyAhead reports whether a text goes on with a key and a colon: done, or broken if it does not.
func keyAhead(text []byte, closed bool) verdict {
	i, from := 0, 0
	for i < len(text) && isSpace(text[i]) {
		i++
	}
	for from = i; i < len(text) && i < MaxHeld && !isSpace(text[i]) &&
		bytes.IndexByte([]byte(",:{}[]()"), text[i]) < 0; {
		i++
	}
	some := i > from
	for i < len(text) && i < MaxHeld && isSpace(text[i]) {
		i++
	}
	switch {
	case i == len(text) && !closed && i < MaxHeld:
		return held
	case some && i < len(text) && text[i] == ':':
		return done
	}
	return broken
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isWordByte reports whether a word or number cannot end before c.
func isWordByte(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '.' ||
		c >= 0x80
}

// openString reads the opening quote of a string at i.
func (l *Literal) openString(buf []byte, i int, closed, key bool, w *writer) (int, verdict) {
	quote, n := buf[i], 1
	if !l.syntax.Strict {
		switch rest := buf[i+1:]; {
		case len(rest) == 0 && !closed:
			return i, held
		case len(rest) > 0 && rest[0] == quote:
			if len(rest) == 1 && !closed {
				return i, held
			}
			if len(rest) > 1 && rest[1] == quote {
				n = 3
			}
		}
	}
	w.mix(false, i)
	l.quote, l.triple, l.key, l.state = quote, n == 3, key, inString
	if quote == '\'' || l.triple {
		w.put(`"`, i, i+n)
	}
	return i + n, goOn
}

// openToken reads the token that stands for a quote.
func (l *Literal) openToken(buf []byte, i int, closed, key bool, w *writer) (int, verdict) {
	rest := buf[i:]
	if n := len(rest); n < len(l.token) && bytes.HasPrefix(l.token, rest) {
		return i, held
	}
	if !bytes.HasPrefix(rest, l.token) {
		return i, broken
	}
	w.mix(false, i)
	l.quote, l.key, l.state = 0, key, inString
	w.put(`"`, i, i+len(l.token))
	return i + len(l.token), goOn
}

// readString reads a run of a string, an escape sequence, or its closing quote.
func (l *Literal) readString(buf []byte, i int, closed bool, w *writer) (int, verdict) {
	switch {
	case l.quote == 0:
		return l.readTokenString(buf, i, closed, w)
	case l.quote == '"' && !l.triple: // JSON's own: copied as it stands
		i = plainRun(buf, i)
	default:
		j := i
		for j < len(buf) && buf[j] != l.quote && buf[j] != '\\' {
			j++
		}
		if j == len(buf) && !closed {
			if j -= incomplete(buf[i:j]); j == i {
				return i, held
			}
		}
		if j > i {
			w.escape(i, j)
			return j, goOn
		}
	}
	if i == len(buf) {
		return i, goOn
	}
	switch c := buf[i]; {
	case c == '\\':
		return l.readEscape(buf, i, closed, w)
	case c != l.quote: // a raw control character
		if l.syntax.Strict {
			return i, broken
		}
		w.escape(i, i+1)
		return i + 1, goOn
	case l.triple:
		rest := buf[i:]
		if len(rest) < 3 && !closed && len(bytes.Trim(rest, string(l.quote))) == 0 {
			return i, held
		}
		if len(rest) < 3 || rest[1] != l.quote || rest[2] != l.quote {
			w.escape(i, i+1)
			return i + 1, goOn
		}
		w.put(`"`, i, i+3)
		return i + 3, l.endString()
	case l.quote == '\'':
		w.put(`"`, i, i+1)
	}
	return i + 1, l.endString()
}

func (l *Literal) endString() verdict {
	if l.key {
		l.state = atColon
		return goOn
	}
	return l.end()
}

func (l *Literal) readTokenString(buf []byte, i int, closed bool, w *writer) (int, verdict) {
	rest := buf[i:]
	n := bytes.Index(rest, l.token)
	if n == 0 {
		w.put(`"`, i, i+len(l.token))
		return i + len(l.token), l.endString()
	}
	if n < 0 {
		if n = len(rest); !closed {
			for k := min(len(l.token)-1, n); k > 0; k-- {
				if bytes.HasSuffix(rest, l.token[:k]) {
					n -= k
					break
				}
			}
			n -= incomplete(rest[:n])
		}
	}
	if n == 0 {
		return i, held
	}
	w.escape(i, i+n)
	return i + n, goOn
}

// escapeLen gives the length of the escape sequences of a Python string that are longer than two
// bytes.
var escapeLen = map[byte]int{'x': 4, 'U': 10}

// readEscape reads the escape sequence at i. One that JSON knows is copied.
func (l *Literal) readEscape(buf []byte, i int, closed bool, w *writer) (int, verdict) {
	rest := buf[i:]
	if len(rest) < 2 {
		return i, held
	}
	c := rest[1]
	if n := escaped(buf, i); n > 0 {
		l.copyEscape(i, n, w)
		return i + n, goOn
	}
	if c == 'u' {
		n := 2
		for n < len(rest) && isHex(rest[n]) {
			n++
		}
		if n == len(rest) {
			return i, held
		}
	}
	if l.syntax.Strict {
		return i, broken
	}
	n := 2
	switch {
	case isDigit(c) && c < '8':
		for n < min(len(rest), 4) && isDigit(rest[n]) && rest[n] < '8' {
			n++
		}
		if n == len(rest) && n < 4 && !closed {
			return i, held
		}
	case escapeLen[c] > 0:
		for n < min(len(rest), escapeLen[c]) && isHex(rest[n]) {
			n++
		}
		if n == len(rest) && n < escapeLen[c] {
			return i, held
		}
		if n < escapeLen[c] {
			n = 2
		}
	case c >= 0x80: // the backslash stands for itself
		n = 1
	}
	w.quoted(unescapePython(string(rest[:n])), i, i+n)
	return i + n, goOn
}

// copyEscape hands on an escape sequence that is JSON as it stands.
func (l *Literal) copyEscape(i, n int, w *writer) {
	if l.quote != '"' || l.triple {
		w.put(string(w.buf[i:i+n]), i, i+n)
	}
}

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// openNumber begins the number at i; with Hold, one at the top is accepted whole.
func (l *Literal) openNumber(buf []byte, i int, closed bool, w *writer) (int, verdict) {
	state := l.state
	l.state = inNumber
	j := i
	l.number = numStart
	for j < len(buf) && l.digit(buf[j]) {
		j++
	}
	if len(l.stack) == 0 && l.syntax.Hold {
		switch {
		case j-i >= MaxHeld:
		case j == len(buf) && !closed:
			l.state = state
			return i, held
		case j < len(buf) && isWordByte(buf[j]), !l.numberDone():
			return i, broken
		}
	}
	w.mix(true, i)
	return j, goOn
}

func (l *Literal) readNumber(buf []byte, i int) (int, verdict) {
	for i < len(buf) && l.digit(buf[i]) {
		i++
	}
	if i == len(buf) {
		return i, goOn
	}
	if !l.numberDone() {
		return i, broken
	}
	return i, l.end()
}

// digit takes one more byte of a number, if it is one.
func (l *Literal) digit(c byte) bool {
	next := l.number
	switch {
	case isDigit(c):
		switch l.number {
		case numStart, numMinus:
			if next = numInt; c == '0' {
				next = numZero
			}
		case numInt, numFrac, numExp:
		case numDot:
			next = numFrac
		case numE, numSign:
			next = numExp
		default: // no digit after a leading zero
			return false
		}
	case c == '-' && l.number == numStart:
		next = numMinus
	case c == '.' && (l.number == numZero || l.number == numInt):
		next = numDot
	case c|0x20 == 'e' && (l.number == numZero || l.number == numInt || l.number == numFrac):
		next = numE
	case (c == '+' || c == '-') && l.number == numE:
		next = numSign
	default:
		return false
	}
	l.number = next
	return true
}

// numberDone reports whether the number may end here.
func (l *Literal) numberDone() bool {
	return l.number == numZero || l.number == numInt || l.number == numFrac || l.number == numExp
}
