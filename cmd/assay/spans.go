package main

import (
	"fmt"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/report/visible"
)

// spans prints the segments of a prompt.
func (s *step) spans(c *call) error {
	prompt, err := s.rendered(c)
	if err != nil {
		return err
	}
	segments, err := prompt.Segments()
	if err != nil {
		return &failure{err}
	}
	if !s.json && c.colors(c.raw) {
		_, err = fmt.Fprint(c.raw, painted(segments))
		return err
	}
	var list []ordered.Value
	for seg := range segments.All() {
		list = append(list, segmentValue(seg))
	}
	out := ordered.Pairs("spans", list)
	if s.vocabulary != nil {
		pieces, err := prompt.Pieces(s.vocabulary)
		if err != nil {
			return &failure{err}
		}
		list = nil
		for _, p := range pieces {
			list = append(list, ordered.Pairs("text", p.Text, "special", p.Special))
		}
		out = out.With("pieces", ordered.ArrayOf(list...))
	}
	_, err = fmt.Fprintf(c.stdout, "%s\n", out.Append(nil, ordered.Pretty))
	return err
}

// segmentValue is a segment as JSON: the template's own has neither path nor role.
func segmentValue(s engine.Segment) ordered.Value {
	v := ordered.Pairs("start", s.Off, "end", s.End(), "own", s.Own)
	if path := s.Path(); path != "" {
		v = v.With("path", ordered.Str(path))
	}
	if turn := s.Turn(); turn >= 0 {
		v = v.With("role", ordered.Str(s.Role())).With("turn", ordered.Int(turn))
	}
	return v.With("text", ordered.Str(s.Text))
}

// The colours of roles, as a terminal has them; the template's own text has none.
var roleColors = map[string]string{
	"system": "35", "developer": "35", "user": "32", "assistant": "34", "tool": "33", "": "36",
}

// painted shows segments in the colours of their roles.
func painted(segments engine.Segments) string {
	var b strings.Builder
	for s := range segments.All() {
		color, ok := roleColors[s.Role()]
		if s.Own || !ok {
			color = "0"
		}
		lines := strings.SplitAfter(s.Text, "\n")
		for _, line := range lines {
			text, rest := strings.CutSuffix(line, "\n")
			if text != "" {
				fmt.Fprintf(&b, "\x1b[%sm%s\x1b[0m", color, visible.Text(text))
			}
			if rest {
				b.WriteByte('\n')
			}
		}
	}
	b.WriteByte('\n')
	return b.String()
}
