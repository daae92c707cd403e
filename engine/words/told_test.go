package words_test

import (
	"strings"
	"testing"

	"github.com/goassay/assay/engine/words"
)

// TestTeller tells a text with needles for templates with and without the usual words.
func TestTeller(t *testing.T) {
	const text = `USERNEEDLE, userneedle, CITYNEEDLE, SECONDCITY, SECONDNEEDLETHIRDNEEDLE, vq_first`
	plain := words.NewTeller("{{ messages }}").Tell(text)
	for _, needle := range []string{"NEEDLE", "needle", "SECOND", "vq"} {
		if strings.Contains(plain, needle) {
			t.Errorf("%q is in %q", needle, plain)
		}
	}
	told := strings.Split(plain, ", ")
	if told[1] != strings.ToLower(told[0]) {
		t.Errorf("in small letters %q is told as %q", told[0], told[1])
	}
	other := strings.Split(words.NewTeller(plain).Tell(text), ", ")
	for i, word := range other {
		if strings.Contains(plain, word) {
			t.Errorf("%q is told as %q, which the template has", told[i], word)
		}
	}
}
