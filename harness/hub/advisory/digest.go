package advisory

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Digests are the SHA-256 of a template's text, in hexadecimal digits.
type Digests struct {
	Exact     string `json:"sha256"`           // of its bytes
	Canonical string `json:"canonical_sha256"` // of its canonical form
}

// DigestsOf returns the digests of a text.
func DigestsOf(text string) Digests {
	return Digests{Digest(text), Digest(Canonical(text))}
}

// Digest returns the SHA-256 of a text, in hexadecimal digits.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func (d Digests) valid() bool {
	for _, text := range []string{d.Exact, d.Canonical} {
		if b, err := hex.DecodeString(text); err != nil || len(b) != sha256.Size {
			return false
		}
	}
	return true
}

// Canonical returns a template's text without what loaders and converters change on its way: a byte
// order mark, the form of line ends, blank lines, and blanks at the end of the text. Two texts with
// one canonical form may differ in a prompt by a line feed, and never in a fault.
func Canonical(text string) string {
	text = strings.TrimPrefix(text, "\ufeff")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); strings.Trim(line, " \t") != "" {
			lines = append(lines, line)
		}
	}
	return strings.TrimRight(strings.Join(lines, "\n"), " \t")
}
