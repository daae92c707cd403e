package script

import (
	"cmp"
	"fmt"
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

// timeline feeds an output byte by byte and notes what left when; deltas of the same part in a row are one step.
func timeline(plan *engine.Plan, c Case) []report.Step {
	var steps []report.Step
	note := func(read int, deltas []chat.Delta) {
		for _, d := range deltas {
			part, text := partOf(d)
			if last := len(steps) - 1; last >= 0 && steps[last].Part == part {
				steps[last].To = read
				steps[last].Text += text
				continue
			}
			steps = append(steps, report.Step{Part: part, From: read, To: read, Text: text})
		}
	}
	p := plan.NewParser()
	for i := range len(c.Output) {
		note(i+1, p.Write([]byte{c.Output[i]}))
	}
	note(len(c.Output), p.Close(c.Cut))
	return steps
}

// partOf names the part of the message that a delta belongs to, and its text.
func partOf(d chat.Delta) (part, text string) {
	switch {
	case d.Reasoning != "":
		return "reasoning", d.Reasoning
	case len(d.ToolCalls) == 0:
		return "content", d.Content
	}
	call := d.ToolCalls[len(d.ToolCalls)-1]
	return fmt.Sprintf("call %d", call.Index+1), call.Name + call.Arguments
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
