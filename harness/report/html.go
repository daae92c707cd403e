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
	"github.com/goassay/assay/harness/check/view"
	"github.com/goassay/assay/harness/report/visible"
)

//go:embed page.html
var pageText string

// Page parses a page, which escapes markup itself. In it line and text make visible the characters
// that show nothing or turn text around; design is the style that all pages share, and mark the
// sign in their headers. It fills no variable of this package, so that programs that write no page
// link no templates.
func Page(text string) *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"line": visible.Line, "text": visible.Text,
		"design": func() template.CSS { return template.CSS(file("design.css")) },
		"mark":   mark,
	}).Parse(text))
}

// mark is the sign of the page of one template.
func mark() template.HTML {
	_, sign, _ := strings.Cut(file("index.html"), "<svg")
	sign, _, _ = strings.Cut(sign, "</svg>")
	return template.HTML("<svg" + sign + "</svg>")
}

// parts are the classes of a span in the order of the page's key.
var parts = []string{"marker", "reasoning", "content", "id", "arguments", "dropped"}

// The types that page.html sees.
type (
	pageData struct {
		Title, Line, Version string
		Failed               int // templates
		Parts                []string
		Conclusions          []string
		Cases                bool // there are outputs to look at
		Suites               []*pageSuite
		Rules                []rule.Rule
	}
	pageSuite struct {
		Name, ID string
		Fine     bool // there is nothing to say of it
		Worst    pageResult
		More     int    // other results that are to be told
		Engines  string // that the worst concerns
		Groups   []pageGroup
	}
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
	index := map[string]int{}
	for i := range r.Results {
		res := &r.Results[i]
		at, ok := index[res.Suite]
		if !ok {
			at = len(data.Suites)
			index[res.Suite] = at
			data.Suites = append(data.Suites,
				&pageSuite{Name: res.Suite, ID: fmt.Sprintf("suite-%d", at), Fine: true})
		}
		data.Suites[at].add(r, res)
		data.Cases = data.Cases || len(res.Details) > 0
	}
	slices.SortStableFunc(data.Suites, func(a, b *pageSuite) int {
		return cmp.Or(cmp.Compare(b.Worst.Status, a.Worst.Status),
			cmp.Compare(b.Worst.Level(), a.Worst.Level()))
	})
	for _, s := range data.Suites {
		if s.Worst.Bad() {
			data.Failed++
		}
		for _, g := range s.Groups {
			slices.SortStableFunc(g.Results, func(a, b pageResult) int {
				return cmp.Or(cmp.Compare(b.Status, a.Status), cmp.Compare(b.Severity, a.Severity))
			})
		}
	}
	return Page(pageText).Execute(w, data)
}

// enginesOf names the engines that a finding names, or all.
func enginesOf(text string) string {
	var named []string
	for _, v := range view.Views() {
		if strings.Contains(text, v.Engine) && !slices.Contains(named, v.Engine) {
			named = append(named, v.Engine)
		}
	}
	return cmp.Or(strings.Join(named, ", "), "every engine")
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
	if res.Rule != "" && res.IsFinding() {
		p.Word = res.Level().String()
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
	if res.Status == rule.Passed {
		return
	}
	if s.Worst.Status != rule.Passed {
		s.More++
	}
	if cmp.Or(cmp.Compare(p.Status, s.Worst.Status), cmp.Compare(p.Level(), s.Worst.Level())) > 0 {
		s.Worst, s.Engines = p, enginesOf(p.Head)
	}
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
