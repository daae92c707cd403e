package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
)

// Detail is what a page shows of a case behind its verdict. Offsets are bytes of the output.
type Detail struct {
	Prompt   string `json:"prompt"`
	Output   string `json:"output"`
	Marks    []Span `json:"marks,omitempty"`    // the markers in the output, ascending and apart from each other
	Timeline []Step `json:"timeline,omitempty"` // the output streamed byte by byte
}

// Span is a part of an output.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Step is a part of the message as it left: the first and last delta's time in bytes of the output that had been read, and the
// deltas' texts together.
type Step struct {
	Part string `json:"part"` // "reasoning", "content" or "call 1"
	From int    `json:"from"`
	To   int    `json:"to"`
	Text string `json:"text"`
}

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// The types that page.html sees.
type (
	pageData struct {
		Title, Line, Version string
		OK                   bool
		Columns              []string
		Suites               []pageSuite
		Rules                []Rule
	}
	pageSuite struct {
		Name, ID string
		Cells    []pageCell
		Results  []pageResult
	}
	pageCell   struct{ Text, Class string }
	pageResult struct {
		Result
		Word, Class string
		Head, More  string
		Output      []pagePiece
		Steps       []pageStep
	}
	pagePiece struct {
		Text   string
		Marker bool
	}
	pageStep struct {
		Step
		Start, Width int // per cent of the output
	}
)

// HTML writes the report as one page that needs nothing else: no scripts, no fonts, no network.
func (r *Report) HTML(w io.Writer) error {
	data := pageData{Title: "assay " + r.Command, Line: r.Line(), Version: r.Version, OK: r.OK(), Rules: r.Rules}
	index := map[string]int{}
	for i := range r.Results {
		res := &r.Results[i]
		if !slices.Contains(data.Columns, res.Group) {
			data.Columns = append(data.Columns, res.Group)
		}
		at, ok := index[res.Suite]
		if !ok {
			at = len(data.Suites)
			index[res.Suite] = at
			data.Suites = append(data.Suites, pageSuite{Name: res.Suite, ID: fmt.Sprintf("suite-%d", at)})
		}
		if res.Status != Passed || res.Detail != nil {
			data.Suites[at].Results = append(data.Suites[at].Results, res.page())
		}
	}
	counts := map[[2]string]*cellCount{}
	for i := range r.Results {
		at := [2]string{r.Results[i].Suite, r.Results[i].Group}
		if counts[at] == nil {
			counts[at] = new(cellCount)
		}
		counts[at][r.Results[i].Status]++
	}
	for i := range data.Suites {
		for _, column := range data.Columns {
			c := counts[[2]string{data.Suites[i].Name, column}]
			data.Suites[i].Cells = append(data.Suites[i].Cells, pageCell{c.String(), c.class()})
		}
	}
	return page.Execute(w, data)
}

// class is the worst status of a cell, as a CSS class.
func (c *cellCount) class() string {
	if c == nil {
		return "none"
	}
	for status := Failed; status > Passed; status-- {
		if c[status] > 0 {
			return status.String()
		}
	}
	return Passed.String()
}

func (res *Result) page() pageResult {
	p := pageResult{Result: *res, Word: strings.TrimSpace(statusWords[res.Status]), Class: res.Status.String()}
	if res.Status == Found {
		p.Word = res.Severity.String()
	}
	p.Head, p.More, _ = strings.Cut(res.Text, "\n")
	d := res.Detail
	if d == nil {
		return p
	}
	at := 0
	for _, m := range d.Marks {
		p.Output = append(p.Output, pagePiece{d.Output[at:m.Start], false}, pagePiece{d.Output[m.Start:m.End], true})
		at = m.End
	}
	p.Output = append(p.Output, pagePiece{d.Output[at:], false})
	for _, s := range d.Timeline {
		n := max(1, len(d.Output))
		p.Steps = append(p.Steps, pageStep{s, 100 * (s.From - 1) / n, max(1, 100*(s.To-s.From+1)/n)})
	}
	return p
}
