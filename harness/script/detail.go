package script

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/subject"
)

// detail is what a page shows of a script's first case; nil where it has none that can be prepared.
func (s *Suite) detail(src subject.Source, file string) *report.Detail {
	cases, err := Read(s.Corpus.FS, file)
	if err != nil || len(cases) == 0 || !cases[0].Parsed {
		return nil
	}
	c := cases[0]
	t, err := src.Compile()
	if err != nil {
		return nil
	}
	r, err := chat.ParseRequest(c.Request)
	if err != nil {
		return nil
	}
	plan, err := t.Prepare(r, engine.PrepareOptions{Insist: true, Fallbacks: c.Fallbacks})
	if err != nil {
		return nil
	}
	return &report.Detail{Prompt: plan.Prompt.Text, Output: c.Output, Marks: marks(c.Output, plan.Preserved), Timeline: timeline(plan, c)}
}

// timeline feeds an output byte by byte and notes when which delta left.
func timeline(plan *engine.Plan, c Case) []report.Step {
	var steps []report.Step
	note := func(read int, deltas []chat.Delta) {
		for _, d := range deltas {
			steps = append(steps, report.Step{Bytes: read, Delta: d.Value().String()})
		}
	}
	p := plan.NewParser()
	for i := range len(c.Output) {
		note(i+1, p.Write([]byte{c.Output[i]}))
	}
	note(len(c.Output), p.Close(c.Cut))
	return steps
}

// marks finds the markers in an output, the longest where several begin.
func marks(output string, markers []string) []report.Span {
	markers = slices.SortedFunc(slices.Values(markers), func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var spans []report.Span
	for at := 0; at < len(output); {
		i := slices.IndexFunc(markers, func(m string) bool { return m != "" && strings.HasPrefix(output[at:], m) })
		if i < 0 {
			at++
			continue
		}
		spans = append(spans, report.Span{Start: at, End: at + len(markers[i])})
		at += len(markers[i])
	}
	return spans
}
