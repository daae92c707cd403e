package probe

import (
	"fmt"
	"strings"

	"github.com/goassay/assay/engine/ordered"
)

func Plural(n int, noun string) string {
	if n == 1 {
		return "one " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// FirstLine is the first line of an error.
func FirstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func JSON(s string) string { return ordered.Str(s).String() }

func Article(name string) string {
	if strings.ContainsRune("aeiou", rune(name[0])) {
		return "an " + name
	}
	return "a " + name
}
