package mutate

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	_ "embed" // the plants
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Plant is an edit of a published template by somebody who had not read the rules. The template is
// named by its digest: its text is its publisher's.
type Plant struct {
	Hand     int    `json:"hand"`     // who made it
	Template string `json:"template"` // its file in the Hub's set
	SHA256   string `json:"sha256"`   // of the template
	Kind     string `json:"kind"`     // "bug", "harmless", or "dialect": harmless in Jinja2 alone
	Offset   int    `json:"offset"`   // in bytes
	Delete   int    `json:"delete"`   // how many bytes go there
	Insert   string `json:"insert"`   // what comes in their place
	What     string `json:"what"`     // what goes wrong for whom, in the words of its author
}

//go:embed testdata/planted.jsonl
var planted []byte

// Plants returns the plants of all hands.
func Plants() ([]Plant, error) { return Records[Plant]("planted.jsonl", planted) }

// Records reads a list of records, a line each.
func Records[T any](name string, text []byte) ([]T, error) {
	var all []T
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one T
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("%s: record %d: %w", name, len(all)+1, err)
		}
		all = append(all, one)
	}
	return all, lines.Err()
}

// Apply makes the edit in the text of its template.
func (p Plant) Apply(text string) (string, error) {
	sum := sha256.Sum256([]byte(text))
	if digest := hex.EncodeToString(sum[:]); digest != p.SHA256 {
		return "", fmt.Errorf("%s has the digest %s, want %s", p.Template, digest, p.SHA256)
	}
	return text[:p.Offset] + p.Insert + text[p.Offset+p.Delete:], nil
}
