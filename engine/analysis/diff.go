package analysis

import (
	"strings"
	"unicode/utf8"

	"github.com/goassay/assay/engine/format"
)

// commonPrefix returns the longest common prefix of texts that ends between characters.
func commonPrefix(texts ...string) string {
	if len(texts) == 0 {
		return ""
	}
	p := texts[0]
	for _, s := range texts[1:] {
		n := 0
		for n < len(p) && n < len(s) && p[n] == s[n] {
			n++
		}
		p = p[:n]
	}
	for p != "" {
		if r, n := utf8.DecodeLastRuneInString(p); r != utf8.RuneError || n != 1 {
			break
		}
		p = p[:len(p)-1]
	}
	return p
}

// commonSuffix returns the longest common suffix of texts that starts between characters.
func commonSuffix(texts ...string) string {
	if len(texts) == 0 {
		return ""
	}
	p := texts[0]
	for _, s := range texts[1:] {
		n := 0
		for n < len(p) && n < len(s) && p[len(p)-1-n] == s[len(s)-1-n] {
			n++
		}
		p = p[len(p)-n:]
	}
	for p != "" && !utf8.RuneStart(p[0]) {
		p = p[1:]
	}
	return p
}

// maxMarker bounds a bracketed marker, in bytes.
const maxMarker = 80

// splitMarkers cuts a literal into markers and what stands between them. A marker is a bracketed word, <...> or [...] or <<...>>,
// without white space at its start and without a bracket inside; everything else is cut into runs of white space, words
// (letters, digits, underscores, anything beyond ASCII but brackets) and single punctuation marks.
func splitMarkers(s string) []string {
	var pieces []string
	for s != "" {
		n := markerAt(s)
		if n == 0 {
			n = plainAt(s)
		}
		pieces = append(pieces, s[:n])
		s = s[n:]
	}
	return pieces
}

func isSpace(c byte) bool { return strings.IndexByte(format.Space, c) >= 0 }

// markerAt returns the length of the marker at the start of s, or 0.
func markerAt(s string) int {
	open, shut := bracketsAt(s)
	if open == "" || len(s) == len(open) || isSpace(s[len(open)]) || strings.HasPrefix(s[len(open):], shut) {
		return 0
	}
	for i, r := range s[:min(len(s), maxMarker)] {
		switch {
		case i < len(open):
		case strings.HasPrefix(s[i:], shut):
			return i + len(shut)
		case strings.HasPrefix(open, string(r)) || r == '\n' || r == '{' || r == '}' || r != '[' && r != ']' && isBracket(r):
			return 0
		}
	}
	return 0
}

// bracketsAt returns the bracket, or the two of a kind, at the start of s and what closes them; "" where there is none.
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
	return strings.ContainsRune(format.OpenBrackets, r) || strings.ContainsRune(format.ShutBrackets, r)
}

// plainAt returns the length of the run of white space, the word or the punctuation mark at the start of s.
func plainAt(s string) int {
	class := classAt(s)
	for i := range s {
		if i > 0 && (class == punctuation || classAt(s[i:]) != class) {
			return i
		}
	}
	return len(s)
}

const (
	punctuation = iota
	space
	word
)

// classAt returns the class of the character at the start of s.
func classAt(s string) int {
	r, _ := utf8.DecodeRuneInString(s)
	switch {
	case r < utf8.RuneSelf && isSpace(byte(r)):
		return space
	case r >= utf8.RuneSelf && !isBracket(r), r == '_' || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z':
		return word
	}
	return punctuation
}

// divide divides what stands between two like things: the close of the first, a separator, the open of the second. The first
// thing's lead shows the open, what stands behind the last one shows the close. Where the two overlap, white space goes
// to the open; a marker does so where all calls begin with it (it then precedes every tag), or where the open is nothing
// else, and to the close elsewhere (it then ends every tag).
func divide(lead, between, behind, opening string) (open, sep, close string) {
	open = snapStart(commonSuffix(lead, between), lead, between)
	close = snapEnd(commonPrefix(between, behind), between, behind)
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

// snapEnd shortens a common prefix so that it does not end inside a marker of any of the texts that it begins.
func snapEnd(prefix string, texts ...string) string {
	for _, text := range texts {
		pos := 0
		for _, piece := range splitMarkers(text) {
			if pos+len(piece) > len(prefix) {
				if markerAt(piece) > 0 || isWord(piece) {
					prefix = prefix[:min(pos, len(prefix))]
				}
				break
			}
			pos += len(piece)
		}
	}
	return prefix
}

// snapStart shortens a common suffix so that it does not start inside a marker of any of the texts that it ends.
func snapStart(suffix string, texts ...string) string {
	for _, text := range texts {
		pos := 0
		for _, piece := range splitMarkers(text) {
			start := len(text) - len(suffix)
			if pos < start && start < pos+len(piece) && (markerAt(piece) > 0 || isWord(piece)) {
				suffix = text[pos+len(piece):]
			}
			pos += len(piece)
		}
	}
	return suffix
}

// isWord says that a piece is one which a cut would split in the middle.
func isWord(piece string) bool { return piece != "" && classAt(piece) == word }
