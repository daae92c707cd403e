package source

import (
	"strings"
	"unicode/utf8"
)

// CommonPrefix returns the longest common prefix of texts that ends between characters.
func CommonPrefix(texts ...string) string {
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

// CommonSuffix returns the longest common suffix of texts that starts between characters.
func CommonSuffix(texts ...string) string {
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

// Between returns what stands in text after the first after and before the next before; an empty
// before means the end. It is false if either is missing.
func Between(text, after, before string) (string, bool) {
	_, rest, ok := strings.Cut(text, after)
	if before == "" || !ok {
		return rest, ok
	}
	part, _, ok := strings.Cut(rest, before)
	return part, ok
}
