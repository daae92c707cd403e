package syntax

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/engine/source"
)

// kind is the type of a token.
type kind uint8

const (
	tEOF kind = iota
	tData
	tVariableBegin
	tVariableEnd
	tBlockBegin
	tBlockEnd
	tName
	tString
	tInteger
	tFloat
	tAdd
	tSub
	tDiv
	tFloorDiv
	tMul
	tMod
	tPow
	tTilde
	tLBracket
	tRBracket
	tLParen
	tRParen
	tLBrace
	tRBrace
	tEq
	tNe
	tGt
	tGtEq
	tLt
	tLtEq
	tAssign
	tDot
	tColon
	tPipe
	tComma
	tSemicolon
)

// kindNames are jinja2's descriptions of tokens in messages.
var kindNames = [...]string{
	tEOF: "end of template", tData: "template data / text",
	tVariableBegin: "begin of print statement", tVariableEnd: "end of print statement",
	tBlockBegin: "begin of statement block", tBlockEnd: "end of statement block",
	tName: "name", tString: "string", tInteger: "integer", tFloat: "float",
	tAdd: "+", tSub: "-", tDiv: "/", tFloorDiv: "//", tMul: "*", tMod: "%", tPow: "**", tTilde: "~",
	tLBracket: "[", tRBracket: "]", tLParen: "(", tRParen: ")", tLBrace: "{", tRBrace: "}",
	tEq: "==", tNe: "!=", tGt: ">", tGtEq: ">=", tLt: "<", tLtEq: "<=",
	tAssign: "=", tDot: ".", tColon: ":", tPipe: "|", tComma: ",", tSemicolon: ";",
}

// token is one token. Text is the name, the decoded string, the number's digits without
// underscores, or the data.
type token struct {
	kind kind
	off  int32 // byte offset in the source as given
	end  int32 // the offset after the token; white space that its tag strips does not count
	text string
}

func (t token) describe() string {
	if t.kind == tName {
		return t.text
	}
	return kindNames[t.kind]
}

// is reports whether the token is the given word.
func (t token) is(word string) bool { return t.kind == tName && t.text == word }

// state is the construct that the lexer is inside of.
type state uint8

const (
	inText state = iota
	inVariable
	inBlock
)

// lexer cuts a source into tokens.
type lexer struct {
	src       *source.Source
	text      string // the source with line ends normalised and the last one removed
	dropped   []int  // offsets in text after which a carriage return was dropped, ascending
	pos       int    // 0 <= pos <= len(text)
	state     state
	tag       token // the token after the text that was handed out last, if pending
	pending   bool
	lineStart bool   // the last token ended with a line feed, or there was none
	brackets  []byte // closers expected, innermost last
}

func newLexer(src *source.Source) *lexer {
	l := &lexer{src: src, text: src.Text, lineStart: true}
	if strings.IndexByte(l.text, '\r') >= 0 {
		var b strings.Builder
		b.Grow(len(l.text))
		for i := 0; i < len(l.text); i++ {
			c := l.text[i]
			if c == '\r' {
				c = '\n'
				if i+1 < len(l.text) && l.text[i+1] == '\n' {
					l.dropped = append(l.dropped, b.Len())
					i++
				}
			}
			b.WriteByte(c)
		}
		l.text = b.String()
	}
	l.text = strings.TrimSuffix(l.text, "\n")
	return l
}

// offset converts an offset in the normalised text to one in the source.
func (l *lexer) offset(pos int) int32 {
	if l.dropped == nil {
		return int32(pos)
	}
	n, _ := slices.BinarySearch(l.dropped, pos)
	return int32(pos + n)
}

// fail leaves the parser's recursion by panic, to [Parse].
func (l *lexer) fail(class Class, off int32, format string, args ...any) {
	err := source.Errorf(l.src, int(off), format, args...)
	err.Err = class
	panic(err)
}

// next returns the next token; at the end it returns tEOF for ever.
func (l *lexer) next() token {
	if l.pending {
		l.pending = false
		return l.tag
	}
	for l.state == inText {
		if t, ok := l.lexText(); ok {
			return t
		}
	}
	return l.lexTag()
}

// lexText reads text up to the next tag and the tag's begin. It says false where neither gives a
// token: a comment, or a raw block without text.
func (l *lexer) lexText() (token, bool) {
	start := l.pos
	if start == len(l.text) {
		return token{kind: tEOF, off: l.offset(start), end: l.offset(start)}, true
	}
	at := start
	for {
		i := strings.IndexByte(l.text[at:], '{')
		if i < 0 || at+i+1 >= len(l.text) {
			l.pos = len(l.text)
			return l.data(start, l.text[start:]), true
		}
		at += i
		if c := l.text[at+1]; c == '{' || c == '%' || c == '#' {
			break
		}
		at++
	}
	sign, after := byte(0), at+2
	if after < len(l.text) && (l.text[after] == '-' || l.text[after] == '+') {
		sign = l.text[after]
		after++
	}
	mark := l.text[at+1]
	data := l.data(start, l.strip(l.text[start:at], sign, mark != '{'))
	switch mark {
	case '{':
		l.tag, l.state, l.pending = token{kind: tVariableBegin, off: l.offset(at)}, inVariable, true
		l.pos, l.lineStart = after, false
	case '%':
		if body, ok := l.rawBegin(after); ok {
			l.pos, l.lineStart = body, l.text[body-1] == '\n'
			l.tag = l.lexRaw(at)
			l.pending = l.tag.text != ""
			break
		}
		l.tag, l.state, l.pending = token{kind: tBlockBegin, off: l.offset(at)}, inBlock, true
		l.pos, l.lineStart = after, false
	case '#':
		l.comment(at, after)
	}
	if data.text != "" {
		return data, true
	}
	if l.pending {
		l.pending = false
		return l.tag, true
	}
	return token{}, false
}

// data is a token of text.
func (l *lexer) data(start int, text string) token {
	return token{tData, l.offset(start), l.offset(start + len(text)), text}
}

// strip removes white space at the end of the text before a tag, as its sign and lstrip_blocks ask.
func (l *lexer) strip(text string, sign byte, block bool) string {
	if sign == '-' {
		return strings.TrimRightFunc(text, isSpace)
	}
	if sign == '+' || !block {
		return text
	}
	line := strings.LastIndexByte(text, '\n') + 1
	if (line > 0 || l.lineStart) && strings.TrimLeftFunc(text[line:], isSpace) == "" {
		return text[:line]
	}
	return text
}

// word matches a word with white space on both sides and returns the offset after it.
func (l *lexer) word(pos int, word string) (int, bool) {
	pos = l.skipSpace(pos)
	if !strings.HasPrefix(l.text[pos:], word) {
		return 0, false
	}
	return l.skipSpace(pos + len(word)), true
}

func (l *lexer) skipSpace(pos int) int {
	for pos < len(l.text) {
		c := l.text[pos]
		if c < utf8.RuneSelf {
			if !isSpace(rune(c)) {
				break
			}
			pos++
			continue
		}
		r, n := utf8.DecodeRuneInString(l.text[pos:])
		if !isSpace(r) {
			break
		}
		pos += n
	}
	return pos
}

// rawBegin matches the rest of a raw tag and returns the offset after it.
func (l *lexer) rawBegin(pos int) (int, bool) {
	pos, ok := l.word(pos, "raw")
	if !ok {
		return 0, false
	}
	rest := l.text[pos:]
	if strings.HasPrefix(rest, "-%}") {
		return l.skipSpace(pos + 3), true
	}
	return pos + 2, strings.HasPrefix(rest, "%}")
}

// blockEnd matches the end of a statement tag and returns the offset after it.
func (l *lexer) blockEnd(pos int) (int, bool) {
	rest := l.text[pos:]
	switch {
	case strings.HasPrefix(rest, "%}\n"):
		return pos + 3, true
	case strings.HasPrefix(rest, "%}"):
		return pos + 2, true
	case strings.HasPrefix(rest, "-%}"):
		return l.skipSpace(pos + 3), true
	case strings.HasPrefix(rest, "+%}"):
		return pos + 3, true
	}
	return 0, false
}

// lexRaw reads the body of a raw block, from after its begin tag, which stands at the offset at.
func (l *lexer) lexRaw(at int) token {
	start := l.pos
	for i := start; ; i++ {
		n := strings.Index(l.text[i:], "{%")
		if n < 0 {
			// As in jinja2 a raw tag with nothing after it is no fault.
			if start < len(l.text) {
				l.fail(SyntaxError, l.offset(at), "Missing end of raw directive")
			}
			l.pos = start
			return token{}
		}
		i += n
		sign, after := byte(0), i+2
		if after < len(l.text) && (l.text[after] == '-' || l.text[after] == '+') {
			sign = l.text[after]
			after++
		}
		if end, ok := l.word(after, "endraw"); ok {
			if end, ok = l.blockEnd(end); ok {
				text := l.strip(l.text[start:i], sign, true)
				l.pos, l.lineStart = end, l.text[end-1] == '\n'
				return l.data(start, text)
			}
		}
	}
}

// comment skips a comment that begins at the offset at.
func (l *lexer) comment(at, start int) {
	n := strings.Index(l.text[start:], "#}")
	if n < 0 {
		// As in jinja2 a comment that begins at the very end is no fault.
		if start < len(l.text) {
			l.fail(SyntaxError, l.offset(at), "Missing end of comment tag")
		}
		l.pos, l.lineStart = start, false
		return
	}
	end := start + n + 2
	sign := byte(0)
	if n > 0 {
		sign = l.text[start+n-1]
	}
	switch {
	case sign == '-':
		end = l.skipSpace(end)
	case sign != '+' && strings.HasPrefix(l.text[end:], "\n"):
		end++
	}
	l.pos, l.lineStart = end, l.text[end-1] == '\n'
}

// lexTag reads a token inside a tag.
func (l *lexer) lexTag() token {
	l.pos = l.skipSpace(l.pos)
	pos := l.pos
	tok := token{off: l.offset(pos)}
	if pos == len(l.text) {
		return tok
	}
	if len(l.brackets) == 0 {
		if l.state == inBlock {
			if end, ok := l.blockEnd(pos); ok {
				tok.kind, l.state = tBlockEnd, inText
				tok.end = tok.off + int32(strings.IndexByte(l.text[pos:], '}')) + 1
				l.pos, l.lineStart = end, l.text[end-1] == '\n'
				return tok
			}
		} else {
			end := 0
			if rest := l.text[pos:]; strings.HasPrefix(rest, "}}") {
				end = pos + 2
			} else if strings.HasPrefix(rest, "-}}") {
				end = l.skipSpace(pos + 3)
			}
			if end > 0 {
				tok.kind, l.state = tVariableEnd, inText
				tok.end = tok.off + int32(strings.Index(l.text[pos:], "}}")) + 2
				l.pos, l.lineStart = end, l.text[end-1] == '\n'
				return tok
			}
		}
	}
	switch c := l.text[pos]; {
	case '0' <= c && c <= '9':
		l.number(&tok)
	case c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' || c >= utf8.RuneSelf:
		l.name(&tok)
	case c == '\'' || c == '"':
		l.str(&tok, c)
	default:
		l.operator(&tok)
	}
	tok.end = l.offset(l.pos)
	return tok
}

// digits returns the offset after digits at pos, single underscores between them allowed; pos
// itself where there are none.
func (l *lexer) digits(pos int, is func(byte) bool) int {
	for start, end := pos, pos; ; {
		if end < len(l.text) && l.text[end] == '_' && end > start {
			end++
		}
		if end == len(l.text) || !is(l.text[end]) {
			return pos
		}
		for end < len(l.text) && is(l.text[end]) {
			end++
		}
		pos = end
	}
}

func isDecimal(c byte) bool { return '0' <= c && c <= '9' }

func (l *lexer) number(tok *token) {
	pos := l.pos
	end := 0
	if pos == 0 || l.text[pos-1] != '.' {
		end = l.float(pos)
	}
	tok.kind = tFloat
	if end == 0 {
		tok.kind = tInteger
		end = l.integer(pos)
	}
	tok.text = strings.ReplaceAll(l.text[pos:end], "_", "")
	l.pos = end
	if tok.kind == tInteger && len(tok.text) > maxDigits {
		l.fail("ValueError", tok.off, "Exceeds the limit (%d digits) for integer string "+
			"conversion: value has %d digits", maxDigits, len(tok.text))
	}
}

// maxDigits is Python's limit on the digits of an integer literal.
const maxDigits = 4300

// float returns the offset after a number with a fraction or an exponent, or 0.
func (l *lexer) float(pos int) int {
	end := l.digits(pos, isDecimal)
	fraction := end
	if end < len(l.text) && l.text[end] == '.' {
		if f := l.digits(end+1, isDecimal); f > end+1 {
			fraction = f
		}
	}
	if fraction < len(l.text) && l.text[fraction]|0x20 == 'e' {
		e := fraction + 1
		if e < len(l.text) && (l.text[e] == '+' || l.text[e] == '-') {
			e++
		}
		if f := l.digits(e, isDecimal); f > e {
			return f
		}
	}
	if fraction > end {
		return fraction
	}
	return 0
}

func (l *lexer) integer(pos int) int {
	if l.text[pos] != '0' {
		return l.digits(pos, isDecimal)
	}
	if pos+2 < len(l.text) {
		var is func(byte) bool
		switch l.text[pos+1] | 0x20 {
		case 'b':
			is = func(c byte) bool { return c == '0' || c == '1' }
		case 'o':
			is = func(c byte) bool { return '0' <= c && c <= '7' }
		case 'x':
			is = func(c byte) bool { return isDecimal(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
		}
		if is != nil {
			start := pos + 2
			if l.text[start] == '_' {
				start++
			}
			if end := l.digits(start, is); end > start {
				return end
			}
		}
	}
	return l.digits(pos, func(c byte) bool { return c == '0' })
}

func (l *lexer) name(tok *token) {
	end := l.pos
	ascii := true
	for end < len(l.text) {
		c := l.text[end]
		if c < utf8.RuneSelf {
			if c != '_' && !isDecimal(c) && (c|0x20 < 'a' || c|0x20 > 'z') {
				break
			}
			end++
			continue
		}
		r, n := utf8.DecodeRuneInString(l.text[end:])
		if !wordRune(r) {
			break
		}
		ascii = false
		end += n
	}
	if end == l.pos {
		l.unexpected(tok.off)
	}
	tok.kind, tok.text = tName, l.text[l.pos:end]
	l.pos = end
	if !ascii {
		for i, r := range tok.text {
			if !identStart(r) && (i == 0 || !identRune(r)) {
				l.fail(SyntaxError, tok.off, "Invalid character in identifier")
			}
		}
	}
}

func identStart(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.Is(unicode.Nl, r) }

func identRune(r rune) bool {
	return identStart(r) ||
		unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue)
}

func wordRune(r rune) bool { return identRune(r) || unicode.IsNumber(r) }

func (l *lexer) unexpected(off int32) {
	r, _ := utf8.DecodeRuneInString(l.text[l.pos:])
	char := strconv.QuoteRune(r)
	if r == '\'' {
		char = `"'"`
	}
	l.fail(SyntaxError, off, "unexpected char %s at %d", char,
		utf8.RuneCountInString(l.text[:l.pos]))
}

// str reads a string literal. As in jinja2 escapes are those of Python, unknown ones keep their
// backslash, and a character beyond ASCII after a backslash turns into the text of its own escape.
func (l *lexer) str(tok *token, quote byte) {
	i := l.pos + 1
	escaped := false
	for ; ; i++ {
		if i >= len(l.text) {
			l.unexpected(tok.off)
		}
		if c := l.text[i]; c == quote {
			break
		} else if c == '\\' {
			escaped = true
			i++
		}
	}
	tok.kind, tok.text = tString, l.text[l.pos+1:i]
	if escaped {
		tok.text = l.unescape(tok.text, l.offset(l.pos))
	}
	l.pos = i + 1
}

func (l *lexer) unescape(s string, off int32) string {
	var b strings.Builder
	b.Grow(len(s))
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		s0 := s[i+1:] // from after the backslash
		c := s0[0]
		s = s0[1:]
		switch c {
		case '\n':
		case '\\', '\'', '"':
			b.WriteByte(c)
		case 'a':
			b.WriteByte('\a')
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'v':
			b.WriteByte('\v')
		case '0', '1', '2', '3', '4', '5', '6', '7':
			v, n := rune(c-'0'), 0
			for n < 2 && n < len(s) && '0' <= s[n] && s[n] <= '7' {
				v = v*8 + rune(s[n]-'0')
				n++
			}
			s = s[n:]
			b.WriteRune(v)
		case 'x', 'u', 'U':
			width := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
			n := 0
			for n < width && n < len(s) &&
				(isDecimal(s[n]) || 'a' <= s[n]|0x20 && s[n]|0x20 <= 'f') {
				n++
			}
			if n < width {
				l.fail(SyntaxError, off, "truncated \\%c%s escape", c, strings.Repeat("X", width))
			}
			v, _ := strconv.ParseUint(s[:width], 16, 32)
			if v > unicode.MaxRune {
				l.fail(SyntaxError, off, "illegal Unicode character")
			}
			s = s[width:]
			writeRune(&b, rune(v))
		case 'N':
			l.fail(SyntaxError, off, "Unicode character names are not supported in string "+
				"literals: write \\uXXXX")
		default:
			b.WriteByte('\\')
			r, n := utf8.DecodeRuneInString(s0)
			switch {
			case r < utf8.RuneSelf || r == utf8.RuneError:
				b.WriteString(s0[:n])
			case r < 0x100:
				fmt.Fprintf(&b, "x%02x", r)
			case r < 0x10000:
				fmt.Fprintf(&b, "u%04x", r)
			default:
				fmt.Fprintf(&b, "U%08x", r)
			}
			s = s0[n:]
		}
	}
}

// writeRune writes a code point; a surrogate in its three-byte form, as package ordered does.
func writeRune(b *strings.Builder, r rune) {
	if 0xd800 <= r && r < 0xe000 {
		b.Write([]byte{0xed, byte(0x80 | r>>6&0x3f), byte(0x80 | r&0x3f)})
		return
	}
	b.WriteRune(r)
}

// operators has the kind of each operator by its first byte, and the longer one that a second byte
// makes of it.
var operators = [128]struct {
	kind, long kind
	second     byte
}{
	'+': {kind: tAdd}, '-': {kind: tSub}, '%': {kind: tMod}, '~': {kind: tTilde},
	'.': {kind: tDot}, ':': {kind: tColon}, '|': {kind: tPipe}, ',': {kind: tComma},
	';': {kind: tSemicolon}, '/': {tDiv, tFloorDiv, '/'}, '*': {tMul, tPow, '*'},
	'=': {tAssign, tEq, '='}, '!': {tEOF, tNe, '='}, '>': {tGt, tGtEq, '='}, '<': {tLt, tLtEq, '='},
	'(': {kind: tLParen}, '[': {kind: tLBracket}, '{': {kind: tLBrace},
	')': {kind: tRParen}, ']': {kind: tRBracket}, '}': {kind: tRBrace},
}

func (l *lexer) operator(tok *token) {
	c := l.text[l.pos]
	op := operators[c&0x7f]
	if c >= utf8.RuneSelf {
		op.kind = tEOF
	}
	n := 1
	tok.kind = op.kind
	if op.second != 0 && strings.HasPrefix(l.text[l.pos+1:], string(op.second)) {
		tok.kind, n = op.long, 2
	}
	if tok.kind == tEOF {
		l.unexpected(tok.off)
	}
	switch c {
	case '(':
		l.brackets = append(l.brackets, ')')
	case '[':
		l.brackets = append(l.brackets, ']')
	case '{':
		l.brackets = append(l.brackets, '}')
	case ')', ']', '}':
		if len(l.brackets) == 0 {
			l.fail(SyntaxError, tok.off, "unexpected '%c'", c)
		}
		want := l.brackets[len(l.brackets)-1]
		l.brackets = l.brackets[:len(l.brackets)-1]
		if want != c {
			l.fail(SyntaxError, tok.off, "unexpected '%c', expected '%c'", c, want)
		}
	}
	l.pos += n
}

// isSpace is Python's str.isspace, which \s matches, too.
func isSpace(r rune) bool {
	switch {
	case r <= ' ':
		return r == ' ' || '\t' <= r && r <= '\r' || 0x1c <= r && r <= 0x1f
	case r < 0x1680:
		return r == 0x85 || r == 0xa0
	}
	return r == 0x1680 || 0x2000 <= r && r <= 0x200a || r == 0x2028 || r == 0x2029 || r == 0x202f ||
		r == 0x205f || r == 0x3000
}
