package engines

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/hub/manifest"
)

// Digest is the first 16 digits of the SHA-256 of the engine's name, a zero byte and the case's id.
// So nobody chooses the faults that come first.
func (r *Result) Digest() string {
	return manifest.Digest(r.Engine + "\x00" + r.Case)[:16]
}

// Faults returns the faults in outputs in the order of their digests, one for a case in an engine:
// in one go where that shows it, else in tokens, else rune by rune.
func (m *Matrix) Faults() []Result {
	first := map[string]Result{}
	for _, r := range m.Results() {
		if r.Verdict != Fault || r.Cut == prompt {
			continue
		}
		was, ok := first[r.Digest()]
		if !ok || slices.Index(cuts, r.Cut) < slices.Index(cuts, was.Cut) {
			first[r.Digest()] = r
		}
	}
	return slices.SortedFunc(maps.Values(first), func(a, b Result) int {
		return cmp.Compare(a.Digest(), b.Digest())
	})
}

// maxPart bounds each part of a line, in bytes: results may come from anybody.
const maxPart = 1 << 10

// Line is a fault in a line: its digest, the engine with its parsers, the case and the difference.
func (r *Result) Line() string {
	part := func(text string) string { return source.Cut(text, maxPart) }
	who := part(r.Engine) + " " + part(r.Version)
	if r.Parser != (Parser{}) {
		who += fmt.Sprintf(" (tool %s, reasoning %s)", part(cmp.Or(r.Parser.Tool, "none")),
			part(cmp.Or(r.Parser.Reasoning, "none")))
	}
	return fmt.Sprintf("%s %s: %s, %s: %s: %s", r.Digest(), who, part(r.Case), part(string(r.Cut)),
		part(string(r.Kind)), part(r.Text))
}

// Reproduction is a fault with all that its engine needs to show it again, without an adapter.
type Reproduction struct {
	Digest  string   `json:"digest"`
	Engine  string   `json:"engine"`
	Version string   `json:"version"`
	Case    string   `json:"case"`
	Kind    string   `json:"kind"`
	Text    string   `json:"text"`
	Request Request  `json:"request"`
	Want    *Message `json:"want"`
	Got     *Message `json:"got,omitempty"` // none where the engine fails
}

// Reproduction returns a fault with the request of its case.
func (r *Result) Reproduction(c *Case) Reproduction {
	request := c.Request
	request.Parser, request.Chunks = &r.Parser, r.Chunks
	return Reproduction{Digest: r.Digest(), Engine: r.Engine, Version: r.Version, Case: r.Case,
		Kind: r.Kind, Text: r.Text, Request: request, Want: r.Want, Got: r.Got}
}
