package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/report/visible"
)

//go:embed page.html
var pageText string

// page parses the page, which escapes markup itself; line and text make visible the characters that
// show nothing or turn text around. It is no variable, so that programs that write no page link no
// templates.
func page() *template.Template {
	return template.Must(template.New("page").
		Funcs(template.FuncMap{"line": visible.Line, "text": visible.Text}).Parse(pageText))
}

// parts are the classes of a span in the order of the page's key.
var parts = []string{"marker", "reasoning", "content", "id", "arguments", "dropped"}

// The types that page.html sees.
type (
	pageData struct {
		Title, Line, Version string
		Counts               []pageCell
		Columns, Parts       []string
		Conclusions          []string
		Cases                bool // there are outputs to look at
		Suites               []pageSuite
		Rules                []rule.Rule
	}
	pageSuite struct {
		Name, ID string
		Fine     bool // there is nothing to say of it
		Cells    []pageCell
		Groups   []pageGroup
	}
	pageCell  struct{ Text, Class, Link string }
	pageGroup struct {
		Name, ID string
		Results  []pageResult
	}
	pageResult struct {
		rule.Result
		Word, Class string
		Head, More  string
		About       string
		Declared    bool // the page explains its rule
		Cases       []pageCase
	}
	pageCase struct {
		Prompt, Opened string
		Output         []pagePiece
		Message        string
		Steps          []pageStep
		Length         int
	}
	pagePiece struct{ Text, Class string }
	pageStep  struct {
		rule.Step
		Start, Width int // per cent of the output
	}
)

// HTML writes the report as one page that needs nothing else: no scripts, no fonts, no network.
func (r *Report) HTML(w io.Writer) error {
	shown := *r.bounded()
	r = &shown
	r.Rules = r.Fired()
	data := pageData{Title: "Assay " + r.Command, Line: r.Line(), Version: r.Version,
		Rules: r.Rules, Parts: parts, Conclusions: r.Conclusions}
	for status, n := range r.Counts() {
		if n > 0 || rule.Status(status) == rule.Failed {
			class := rule.Status(status)
			if n == 0 {
				class = rule.Passed
			}
			data.Counts = append(data.Counts,
				pageCell{Text: fmt.Sprintf("%d %s", n, countWords[status]),
					Class: className(class)})
		}
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
			data.Suites = append(data.Suites,
				pageSuite{Name: res.Suite, ID: fmt.Sprintf("suite-%d", at), Fine: true})
		}
		data.Suites[at].add(r, res)
		data.Cases = data.Cases || len(res.Details) > 0
	}
	counts := NewMatrix(data.Columns...)
	counts.Add(r.Results...)
	for i := range data.Suites {
		s := &data.Suites[i]
		for _, g := range s.Groups {
			slices.SortStableFunc(g.Results, func(a, b pageResult) int {
				return cmp.Or(cmp.Compare(b.Status, a.Status), cmp.Compare(b.Severity, a.Severity))
			})
		}
		for _, column := range data.Columns {
			c := counts.cells[[2]string{s.Name, column}]
			cell := pageCell{Text: c.String(), Class: c.class()}
			if g := s.group(column); g >= 0 {
				cell.Link = s.Groups[g].ID
			}
			s.Cells = append(s.Cells, cell)
		}
	}
	return page().Execute(w, data)
}

var countWords = [...]string{"passed", "with findings", "known failures", "not judged", "failed"}

// class is the worst status of a cell, as a CSS class.
func (c *cellCount) class() string {
	if c == nil {
		return "none"
	}
	for status := rule.Failed; status > rule.Passed; status-- {
		if c[status] > 0 {
			return className(status)
		}
	}
	return className(rule.Passed)
}

// className is the CSS class of a status.
func className(s rule.Status) string { return strings.ReplaceAll(s.String(), " ", "-") }

func (s *pageSuite) group(name string) int {
	return slices.IndexFunc(s.Groups, func(g pageGroup) bool { return g.Name == name })
}

// add adds a result to its group, if there is something to see after it.
func (s *pageSuite) add(r *Report, res *rule.Result) {
	s.Fine = s.Fine && res.Status == rule.Passed
	if res.Status == rule.Passed && len(res.Details) == 0 {
		return
	}
	at := s.group(res.Group)
	if at < 0 {
		at = len(s.Groups)
		s.Groups = append(s.Groups, pageGroup{Name: res.Group, ID: fmt.Sprintf("%s-%d", s.ID, at)})
	}
	p := pageResult{Result: *res, Word: strings.TrimSpace(statusWords[res.Status]),
		Class: className(res.Status)}
	if res.Status == rule.Found {
		p.Word = res.Severity.String()
	}
	p.Head, p.More, _ = strings.Cut(res.Text, "\n")
	p.Declared = slices.ContainsFunc(r.Rules,
		func(declared rule.Rule) bool { return declared.ID == res.Rule })
	for i, d := range res.Details {
		p.About = d.About
		c := casePage(&d)
		if i > 0 && d.Prompt == res.Details[i-1].Prompt {
			c.Prompt, c.Opened = "", "" // as above
		}
		p.Cases = append(p.Cases, c)
	}
	s.Groups[at].Results = append(s.Groups[at].Results, p)
}

// casePage is the page's view of a case.
func casePage(d *rule.Detail) pageCase {
	// a report that was read from a file may say anything
	clamp := func(n, most int) int { return min(max(n, 0), most) }
	end := len(d.Prompt) - clamp(d.Prefill, len(d.Prompt))
	c := pageCase{Prompt: d.Prompt[:end], Opened: d.Prompt[end:], Message: d.Message,
		Length: len(d.Output)}
	at := 0
	piece := func(end int, class string) {
		if end = clamp(end, len(d.Output)); end > at {
			c.Output = append(c.Output, pagePiece{d.Output[at:end], class})
			at = end
		}
	}
	for _, s := range d.Parts {
		piece(s.Start, "content")
		piece(s.End, s.Class)
	}
	piece(len(d.Output), "content")
	for _, s := range d.Timeline {
		percent := func(bytes int) int {
			return 100 * clamp(bytes, len(d.Output)) / max(1, len(d.Output))
		}
		c.Steps = append(c.Steps, pageStep{s, percent(s.From - 1), max(1, percent(s.To-s.From+1))})
	}
	return c
}
