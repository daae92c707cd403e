package markers

import (
	"strings"
)

func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}
