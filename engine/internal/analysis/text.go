package analysis

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/source"
)

// maxMarker bounds a bracketed marker, in bytes.
const maxMarker = 80

// splitMarkers cuts a literal into markers and the texts between them. A marker is a bracketed
// word, <...> or [...] or <<...>>, without white space at its start and without a bracket inside,
// or a word between two equal runs of a glyph, ⁂...⁂ or ##...##. Everything else is cut into runs
// of white space, words (letters, digits and underscores, of one script each) and single signs.
func splitMarkers(s string) []string { return slices.Collect(eachPiece(s)) }

// eachPiece yields the pieces of [splitMarkers] one by one: a loop that ends early leaves the rest
// uncut.
func eachPiece(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for s := s; s != ""; {
			n := markerAt(s)
			if n == 0 {
				n = plainAt(s)
			}
			if !yield(s[:n]) {
				return
			}
			s = s[n:]
		}
	}
}

func isSpace(c byte) bool { return strings.IndexByte(format.Space, c) >= 0 }

// markerAt returns the length of the marker at the start of s, or 0.
func markerAt(s string) int {
	if s == "" || classAt(s) != sign {
		return 0
	}
	if n := bracketedAt(s); n > 0 {
		return n
	}
	return fencedAt(s)
}

// bracketedAt returns the length of the marker between brackets at the start of s, or 0.
func bracketedAt(s string) int {
	open, shut := bracketsAt(s)
	if open == "" || len(s) == len(open) || isSpace(s[len(open)]) ||
		strings.HasPrefix(s[len(open):], shut) {
		return 0
	}
	for i, r := range s[:min(len(s), maxMarker)] {
		switch {
		case i < len(open):
		case strings.HasPrefix(s[i:], shut):
			return i + len(shut)
		case strings.HasPrefix(open, string(r)) || r == '\n' || r == '{' || r == '}' ||
			r != '[' && r != ']' && isBracket(r):
			return 0
		}
	}
	return 0
}

// bracketsAt returns the bracket at the start of s, or two if it is doubled, and the brackets that
// close it; "" where there is none.
func bracketsAt(s string) (open, shut string) {
	r, size := utf8.DecodeRuneInString(s)
	i := strings.IndexRune(format.OpenBrackets, r)
	if i < 0 {
		return "", ""
	}
	closing := []rune(format.ShutBrackets)[utf8.RuneCountInString(format.OpenBrackets[:i])]
	open, shut = s[:size], string(closing)
	if strings.HasPrefix(s[size:], open) {
		return open + open, shut + shut
	}
	return open, shut
}

func isBracket(r rune) bool {
	return strings.ContainsRune(format.OpenBrackets, r) ||
		strings.ContainsRune(format.ShutBrackets, r)
}

// A word between two of the same ASCII signs is a marker: one of fences on each side is enough, of
// doubleFences there must be two. The other signs are quotes, brackets and the punctuation of JSON
// and code.
const fences, doubleFences = "|#@%~*$^", "=-!+:"

// fencedAt returns the length of the marker at the start of s that the same glyphs open and close,
// or 0. s must start with a sign.
func fencedAt(s string) int {
	if isBracket(firstRune(s)) {
		return 0
	}
	glyph := s[:glyphAt(s[:min(len(s), maxMarker)])]
	fence := glyph
	s = s[:min(len(s), 3*maxMarker)]
	for len(fence) < maxMarker && strings.HasPrefix(s[len(fence):], glyph) {
		fence = s[:len(fence)+len(glyph)]
	}
	ascii := glyph[0] < utf8.RuneSelf
	if ascii && strings.IndexByte(fences, glyph[0]) < 0 &&
		(len(fence) < 2 || strings.IndexByte(doubleFences, glyph[0]) < 0) {
		return 0
	}
	inner, _, closed := strings.Cut(s[len(fence):], fence)
	spaced := strings.Trim(inner, format.Space) != inner ||
		ascii && strings.ContainsAny(inner, format.Space)
	if !closed || spaced || len(inner) > maxMarker || strings.IndexFunc(inner, isWordRune) < 0 ||
		strings.ContainsAny(inner, "\n{}\"'") || strings.IndexFunc(inner, isBracket) >= 0 {
		return 0
	}
	return len(fence) + len(inner) + len(fence)
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// glyphAt returns the length of the grapheme cluster at the start of s: a character with its marks
// and variation selectors, and the characters that a joiner joins to it (UAX 29, without its
// tables).
func glyphAt(s string) int {
	joined := true
	for i, r := range s {
		if !joined && r != joiner && !unicode.Is(unicode.M, r) {
			return i
		}
		joined = r == joiner
	}
	return len(s)
}

// joiner is U+200D, ZERO WIDTH JOINER.
const joiner = '\u200d'

// plainAt returns the length of the run of white space, the word or the sign at the start of s.
func plainAt(s string) int {
	class := classAt(s)
	if class == sign {
		return glyphAt(s)
	}
	var written *unicode.RangeTable
	for i, r := range s {
		if i > 0 && classOf(r) != class {
			return i
		}
		if script := scriptOf(r); script != nil {
			if written != nil && script != written {
				return i
			}
			written = script
		}
	}
	return len(s)
}

// scripts are the ones that separate words: a word is written in one of them, so that another
// begins where the script changes.
var scripts = []*unicode.RangeTable{unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Arabic,
	unicode.Devanagari, eastern, unicode.Hebrew, unicode.Thai}

// eastern are the scripts that words of Chinese, Japanese and Korean mix.
var eastern = rangetable(unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
	unicode.Bopomofo)

// rangetable joins tables.
func rangetable(tables ...*unicode.RangeTable) *unicode.RangeTable {
	all := &unicode.RangeTable{}
	for _, t := range tables {
		all.R16, all.R32 = append(all.R16, t.R16...), append(all.R32, t.R32...)
	}
	slices.SortFunc(all.R16, func(a, b unicode.Range16) int { return int(a.Lo) - int(b.Lo) })
	slices.SortFunc(all.R32, func(a, b unicode.Range32) int { return int(a.Lo) - int(b.Lo) })
	return all
}

// scriptOf returns the script of a letter, nil for what may be in words of any script: digits,
// marks, the underscore.
func scriptOf(r rune) *unicode.RangeTable {
	switch {
	case r < utf8.RuneSelf:
		if 'a' <= r|0x20 && r|0x20 <= 'z' {
			return unicode.Latin
		}
		return nil
	case !unicode.IsLetter(r):
		return nil
	}
	for _, s := range scripts {
		if unicode.Is(s, r) {
			return s
		}
	}
	return nil
}

const (
	sign = iota
	space
	word
)

// classAt returns the class of the character at the start of s.
func classAt(s string) int { return classOf(firstRune(s)) }

func classOf(r rune) int {
	switch {
	case r < utf8.RuneSelf && isSpace(byte(r)):
		return space
	case isWordRune(r):
		return word
	}
	return sign
}

// isWordRune reports whether r can stand inside a word of some script: a letter, a digit, a mark,
// or a format character such as the joiners of Arabic and Indic scripts.
func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9'
	}
	return unicode.In(r, unicode.L, unicode.N, unicode.M, unicode.Cf)
}

// divide divides the text between two items of a kind: the close of the first, a separator, the
// open of the second. The lead of the first item shows the open; the text behind the last one shows
// the close. Where the two overlap, white space goes to the open. So does a marker where all calls
// begin with it, since it then precedes every tag, or where the open is nothing else; elsewhere it
// ends every tag and goes to the close. inner is the part of behind that precedes the turn's end,
// where that is known.
func divide(lead, between, behind, opening string, inner ...string) (open, sep, close string) {
	open, close = source.CommonSuffix(lead, between), source.CommonPrefix(between, behind)
	if close+open == between && !onlySpace(open) && !onlySpace(close) {
		return open, "", close // they meet, so neither is cut inside a word
	}
	open = snapStart(open, lead, between)
	for _, s := range inner {
		if rest, longer := strings.CutPrefix(close, s); longer && !onlySpace(s) &&
			bracketed(rest) == 0 {
			close = s // the rest begins the turn's end and the next call alike
		}
	}
	close = snapEnd(close, append(inner, between, behind)...)
	if over := len(open) + len(close) - len(between); over > 0 {
		shared := between[len(between)-len(open) : len(close)]
		marker := strings.Trim(shared, format.Space)
		precedes := strings.HasPrefix(strings.TrimLeft(opening, format.Space), marker)
		if marker != "" && !precedes && !onlySpace(open[over:]) {
			open = open[over:]
		} else {
			close = close[:len(close)-over]
		}
	}
	if onlySpace(open) {
		open = ""
	}
	if onlySpace(close) {
		close = ""
	}
	return open, between[len(close) : len(between)-len(open)], close
}

// snapEnd shortens a common prefix so that it does not end inside a marker of any of the texts that
// it begins. If it is the whole of one text, it stays: its end is seen.
func snapEnd(prefix string, texts ...string) string {
	if slices.Contains(texts, prefix) {
		return prefix
	}
	for _, text := range texts {
		pos := 0
		for piece := range eachPiece(text) {
			if pos+len(piece) > len(prefix) {
				if isWhole(piece) {
					prefix = prefix[:min(pos, len(prefix))]
				}
				break
			}
			pos += len(piece)
		}
	}
	return prefix
}

// snapStart shortens a common suffix so that it does not start inside a marker of any of the texts
// that it ends. If it is the whole of one text, it may start inside a word, as in snapEnd; a marker
// in brackets stays whole even then, since no template is known that writes a call from inside one.
func snapStart(suffix string, texts ...string) string {
	seen := slices.Contains(texts, suffix)
	for _, text := range texts {
		pos := 0
		for piece := range eachPiece(text) {
			start := len(text) - len(suffix)
			if pos < start && start < pos+len(piece) &&
				(bracketedAt(piece) > 0 || !seen && isWhole(piece)) {
				suffix = text[pos+len(piece):]
			}
			pos += len(piece)
		}
	}
	return suffix
}

// isWhole reports whether a piece must not be cut: it is a marker or a word.
func isWhole(piece string) bool { return piece != "" && (markerAt(piece) > 0 || isWord(piece)) }

func isWord(piece string) bool { return piece != "" && classAt(piece) == word }

// pieces returns the markers and words of a literal, white space left out.
func pieces(s string) []string {
	return slices.DeleteFunc(splitMarkers(s), func(p string) bool { return onlySpace(p) })
}

// cutPieces cuts s after its first n pieces and the white space that follows them.
func cutPieces(s string, n int) (string, string) {
	pos := 0
	for p := range eachPiece(s) {
		if !onlySpace(p) {
			if n == 0 {
				break
			}
			n--
		}
		pos += len(p)
	}
	return s[:pos], s[pos:]
}

// onlyMarkers reports whether a literal is made of markers and white space.
func onlyMarkers(s string) bool {
	ps := pieces(s)
	return len(ps) > 0 && !slices.ContainsFunc(ps, func(p string) bool { return markerAt(p) == 0 })
}

func onlySpace(s string) bool { return strings.Trim(s, format.Space) == "" }

// squeeze takes all white space out of a text.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && isSpace(byte(r)) {
			return -1
		}
		return r
	}, s)
}

// leadingSpace returns the white space that all texts begin with.
func leadingSpace(texts []string) string {
	shared := source.CommonPrefix(texts...)
	return shared[:len(shared)-len(strings.TrimLeft(shared, format.Space))]
}

// cutStart returns the length of the prefix of a text that is start, exactly or, failing that,
// except for white space. White space after a prefix of the second kind is not part of it.
func cutStart(text, start string) (int, bool) {
	if strings.HasPrefix(text, start) {
		return len(start), true
	}
	i := 0
	for j := 0; j < len(start); j++ {
		if isSpace(start[j]) {
			continue
		}
		for i < len(text) && isSpace(text[i]) {
			i++
		}
		if i == len(text) || text[i] != start[j] {
			return 0, false
		}
		i++
	}
	return i, true
}

func countMarkers(s string) int {
	n := 0
	for p := range eachPiece(s) {
		n += boolInt(markerAt(p) > 0)
	}
	return n
}

// cutMarkers returns the start of s that ends with its n-th marker.
func cutMarkers(s string, n int) string {
	pos := 0
	for p := range eachPiece(s) {
		if n == 0 {
			break
		}
		pos += len(p)
		n -= boolInt(markerAt(p) > 0)
	}
	return s[:pos]
}

// sentence is how many words in a row, with single blanks between them, make a sentence.
const sentence = 4

// hasSentence reports whether a text has more words in a row than any marker.
func hasSentence(s string) bool {
	words := 0
	for p := range eachPiece(s) {
		switch {
		case isWord(p):
			if words++; words == sentence {
				return true
			}
		case p != " ":
			words = 0
		}
	}
	return false
}

// lastMarker returns where the last marker of s begins, len(s) where there is none.
func lastMarker(s string) int {
	last, pos := len(s), 0
	for p := range eachPiece(s) {
		if markerAt(p) > 0 {
			last = pos
		}
		pos += len(p)
	}
	return last
}

// cutLast cuts the last marker or word group off an open: the rest encloses it.
func cutLast(open string) (outer, inner string) {
	ps := splitMarkers(open)
	i := len(ps)
	for i > 0 && onlySpace(ps[i-1]) {
		i--
	}
	if i == 0 {
		return open, ""
	}
	if markerAt(ps[i-1]) > 0 {
		i--
	} else {
		for i > 0 && markerAt(ps[i-1]) == 0 && !onlySpace(ps[i-1]) {
			i--
		}
		// An attribute's words belong to their tag: <invoke name=" is one open, cut where the
		// bracket stands.
		if j := strings.LastIndexAny(strings.Join(ps[:i], ""), format.OpenBrackets); j >= 0 {
			pos := 0
			for k, p := range ps[:i] {
				if pos == j && markerAt(p) == 0 {
					i = k
					break
				}
				pos += len(p)
			}
		}
	}
	return strings.Join(ps[:i], ""), strings.Join(ps[i:], "")
}

// isClosing reports whether a marker has the shape of a closing one: </x>, [/x], <|/x|>, <|END_x|>,
// <|x_end|>, <x:close>.
func isClosing(marker string) bool {
	inner := strings.TrimLeft(marker, format.OpenBrackets+"|｜")
	words := strings.FieldsFunc(strings.ToLower(inner),
		func(r rune) bool { return !unicode.IsLetter(r) })
	closes := func(word string) bool { return word == "end" || word == "close" }
	return strings.HasPrefix(inner, "/") || strings.HasPrefix(strings.ToLower(inner), "end") ||
		len(words) > 1 && (closes(words[0]) || closes(words[len(words)-1]))
}

// opposites are pairs of words that distinguish an opening marker from the closing one.
var opposites = [...][2]string{{"start", "end"}, {"begin", "end"}, {"open", "close"}}

// mirrors returns the markers that may close an opening marker or open a closing one: with the
// opposite word, if there is more to the marker than this word, and with a slash added or removed.
// The likeliest is first.
func mirrors(marker string) []string {
	text := format.Mark(marker).Text
	var found []string
	for _, pair := range opposites {
		for i, from := range pair {
			to := pair[1-i]
			for _, c := range [...]func(string) string{strings.ToLower, strings.ToUpper, capital} {
				if at := wordAt(text, c(from)); at >= 0 {
					found = append(found, text[:at]+c(to)+text[at+len(from):])
				}
			}
		}
	}
	for _, opening := range [...]string{format.OpenBrackets, format.OpenBrackets + "|｜"} {
		rest := strings.TrimLeft(text, opening)
		opener := text[:len(text)-len(rest)]
		if bare, closed := strings.CutPrefix(rest, "/"); closed {
			return append(found, opener+bare)
		}
	}
	if rest := strings.TrimLeft(text, format.OpenBrackets); rest != text {
		rest = strings.TrimLeft(rest, "|｜")
		found = append(found, text[:len(text)-len(rest)]+"/"+rest)
	}
	return found
}

// mirror returns the likeliest of a marker's mirrors; "" where it has none.
func mirror(marker string) string {
	if all := mirrors(marker); len(all) > 0 {
		return all[0]
	}
	return ""
}

func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// wordAt returns where a word stands in a marker that has other letters as well, -1 where it does
// not.
func wordAt(marker, word string) int {
	at := strings.Index(marker, word)
	if at < 0 {
		return -1
	}
	before, behind := marker[:at], marker[at+len(word):]
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(behind)
	if unicode.IsLetter(last) || unicode.IsLetter(next) ||
		strings.IndexFunc(before+behind, unicode.IsLetter) < 0 {
		return -1
	}
	return at
}

// closedAt returns where the mirror of an open ends in a literal that begins with it, after white
// space; 0 if it does not.
func closedAt(literal, open string) int {
	text := strings.TrimLeft(literal, format.Space)
	for _, m := range mirrors(open) {
		if strings.HasPrefix(text, m) {
			return len(literal) - len(text) + len(m)
		}
	}
	return 0
}

// emptyPairs returns the pairs of an opening marker and its mirror that stand in a text with
// nothing but white space between them. The end of a turn and the start of the next one are none.
func emptyPairs(text string) []format.Pair {
	var pairs []format.Pair
	ps := pieces(text)
	for i := 1; i < len(ps); i++ {
		if markerAt(ps[i-1]) > 0 && markerAt(ps[i]) > 0 && !isClosing(ps[i-1]) &&
			slices.Contains(mirrors(ps[i-1]), ps[i]) {
			pairs = append(pairs,
				format.Pair{Open: format.Mark(ps[i-1]), Close: format.Mark(ps[i])})
		}
	}
	return pairs
}

// bracketed returns how many markers between brackets a literal has.
func bracketed(s string) int {
	n := 0
	for p := range eachPiece(s) {
		n += boolInt(bracketedAt(p) > 0)
	}
	return n
}

// opensWord reports whether a literal has a marker with a word directly after it.
func opensWord(text, marker string) bool {
	_, rest, found := strings.Cut(text, marker)
	return found && rest != "" && isWord(rest)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
