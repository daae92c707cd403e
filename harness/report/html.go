package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/goassay/assay/harness/visible"
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
		suite    string
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
	data := pageData{Title: visible.Line("assay " + r.Command), Line: r.Line(), Version: visible.Line(r.Version), OK: r.OK()}
	for _, rule := range r.Rules {
		data.Rules = append(data.Rules, rule.visible())
	}
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
			data.Suites = append(data.Suites, pageSuite{suite: res.Suite, Name: visible.Line(res.Suite), ID: fmt.Sprintf("suite-%d", at)})
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
			c := counts[[2]string{data.Suites[i].suite, column}]
			data.Suites[i].Cells = append(data.Suites[i].Cells, pageCell{c.String(), c.class()})
		}
	}
	for i, column := range data.Columns {
		data.Columns[i] = visible.Line(column)
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

// page makes a result ready for the page: html/template escapes markup, and what shows nothing or turns text around is made
// visible here.
func (res *Result) page() pageResult {
	p := pageResult{Result: *res, Word: strings.TrimSpace(statusWords[res.Status]), Class: res.Status.String()}
	p.Name, p.Rule, p.Place.File = visible.Line(res.Name), visible.Line(res.Rule), visible.Line(res.Place.File)
	if res.Status == Found {
		p.Word = res.Severity.String()
	}
	p.Head, p.More, _ = strings.Cut(visible.Text(res.Text), "\n")
	if res.Detail == nil {
		return p
	}
	d := *res.Detail
	d.Prompt = visible.Text(d.Prompt)
	p.Detail = &d
	at := 0
	piece := func(end int, marker bool) {
		if end > at {
			p.Output = append(p.Output, pagePiece{visible.Text(d.Output[at:end]), marker})
			at = end
		}
	}
	for _, m := range d.Marks { // a report that was read from a file may say anything
		piece(min(m.Start, len(d.Output)), false)
		piece(min(m.End, len(d.Output)), true)
	}
	piece(len(d.Output), false)
	for _, s := range d.Timeline {
		n := max(1, len(d.Output))
		percent := func(bytes int) int { return 100 * min(max(bytes, 0), n) / n }
		s.Part, s.Text = visible.Line(s.Part), visible.Text(s.Text)
		p.Steps = append(p.Steps, pageStep{s, percent(s.From - 1), max(1, percent(s.To-s.From+1))})
	}
	return p
}
