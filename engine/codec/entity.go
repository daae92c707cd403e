package codec

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxEntity is the length of the longest HTML entity that [Unescape] knows, in bytes: &#x10ffff;.
const MaxEntity = 10

var entities = map[string]string{"lt": "<", "gt": ">", "amp": "&", "quot": `"`, "apos": "'"}

// Unescape resolves the entities that escaping to HTML makes: &lt; &gt; &amp; &quot; &apos; and
// those with a number. Everything else, such as the & of an address, stays.
func Unescape(s string) string {
	if !strings.Contains(s, "&") {
		return s
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '&')
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		s = s[i:]
		n, text := Entity(s)
		b.WriteString(text)
		s = s[n:]
	}
}

// Entity returns the length in bytes of the HTML entity with which s begins, and its meaning; of
// another text its first byte.
func Entity(s string) (n int, text string) {
	if s == "" {
		return 0, ""
	}
	end := strings.IndexByte(s[:min(len(s), MaxEntity)], ';')
	if s[0] != '&' || end < 2 {
		return 1, s[:1]
	}
	name := s[1:end]
	if text, ok := entities[name]; ok {
		return end + 1, text
	}
	if digits, ok := strings.CutPrefix(name, "#"); ok {
		base := 10
		if digits, ok = strings.CutPrefix(strings.ToLower(digits), "x"); ok {
			base = 16
		}
		if r, err := strconv.ParseUint(digits, base, 32); err == nil && utf8.ValidRune(rune(r)) {
			return end + 1, string(rune(r))
		}
	}
	return 1, s[:1]
}
